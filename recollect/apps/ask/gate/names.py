"""Every table and column of a statement, bound to what it was checked as.

The Binder goes through a statement from the inside of each WITH and FROM outwards. A column must be found in one source
alone; it is then written with that source's name wherever another reading is thinkable, because the database knows
columns that this person may not see, and would prefer them. For the same reason `*` over a table is written out, an
alias used in GROUP BY becomes its position, and elsewhere outside ORDER BY what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from recollect.apps.ask.gate.allow_lists import Lists
from recollect.apps.ask.gate.from_sources import Columns, Cte, Scope, Source, is_small, name_of, output_name, renamed
from recollect.apps.ask.gate.name_catalog import Catalog, Seen
from recollect.apps.ask.gate.nodes import function_name, stands_in_from, written
from recollect.apps.ask.gate.stars import expanded
from recollect.errors import StatementDenied

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
GROUPING = (exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets)
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Glob, exp.In, exp.Between)
Ctes = Mapping[str, Cte]


class Binder:
    def __init__(self, catalog: Catalog, lists: Lists, sql: str) -> None:
        self.catalog, self.lists, self.sql = catalog, lists, sql
        self.tables: dict[str, None] = {}
        self.columns: dict[str, None] = {}
        self.scopes: list[Scope] = []
        self.bound: dict[int, exp.Expr] = {}  # the nodes that were looked at, kept so that no id comes twice
        self.nameless = 0

    # ---- queries

    def query(self, node: exp.Expr, outer: Scope | None, ctes: Ctes) -> Columns:
        """Binds everything inside; the columns that it gives."""
        ctes = self.with_ctes(node, outer, ctes)
        if isinstance(node, exp.Select):
            return self.select(node, Scope(outer, ctes, select=node))
        if isinstance(node, exp.Values):
            return self.values(node, Scope(outer, ctes))
        if not isinstance(node, (exp.Subquery, exp.SetOperation)):
            raise StatementDenied(f"{written(node)} is no query")
        columns = self.query(node.this, outer, ctes)
        if isinstance(node, exp.SetOperation):
            self.query(node.expression, outer, ctes)
        self.order(node, Scope(outer, ctes, outputs=list(columns)))
        return columns

    def with_ctes(self, node: exp.Expr, outer: Scope | None, ctes: Ctes) -> Ctes:
        clause = node.args.get("with_") or exp.With(expressions=[])
        for cte in clause.expressions:
            alias = cte.args["alias"]
            columns = self.cte_columns(cte, outer, ctes, recursive=bool(clause.args.get("recursive")))
            ctes = {**ctes, alias.name.lower(): Cte(alias.this, renamed(columns, alias), is_small(cte.this))}
        return ctes

    def cte_columns(self, cte: exp.Expr, outer: Scope | None, ctes: Ctes, recursive: bool) -> Columns:
        """A recursive one sees itself in its second part, with the columns of its first."""
        body, alias = cte.this, cte.args["alias"]
        if not isinstance(body, exp.SetOperation) or not (recursive or self.catalog.dialect == "sqlite"):
            return self.query(body, outer, ctes)
        ctes = self.with_ctes(body, outer, ctes)
        columns = self.query(body.this, outer, ctes)
        inside = {**ctes, alias.name.lower(): Cte(alias.this, renamed(columns, alias), is_small=False)}
        self.query(body.expression, outer, inside)
        self.order(body, Scope(outer, ctes, outputs=list(columns)))
        return columns

    def values(self, node: exp.Values, scope: Scope) -> Columns:
        self.walk(node.expressions, scope)
        width = len(node.expressions[0].expressions)
        return [exp.to_identifier(f"column{number}") for number in range(1, width + 1)]

    def select(self, node: exp.Select, scope: Scope) -> Columns:
        self.scopes.append(scope)
        for item, join in from_items(node):
            self.source(item, scope)
            if join:
                self.merge(join, scope)
        for _, join in from_items(node):
            self.walk(join.args.get("on") if join else None, scope)
        self.project(node, scope)
        for clause in ("where", "group", "having", "qualify", "windows"):
            self.walk(node.args.get(clause), scope, after_select=True)
        self.distinct_on(node, scope)
        self.order(node, scope)
        return scope.outputs

    def project(self, node: exp.Select, scope: Scope) -> None:
        projections: list[exp.Expr] = []
        for each in node.expressions:
            if each.is_star:
                projections += self.star(each, scope)
            else:
                self.walk(each, scope)
                scope.outputs.append(output_name(each, self.catalog.dialect))
                projections.append(each)
        node.set("expressions", projections)

    def star(self, node: exp.Expr, scope: Scope) -> Sequence[exp.Expr]:
        self.bound[id(node)] = node
        found = expanded(node, scope, self.catalog.dialect)
        for source, column in found.reads:
            self.read(source, column)
        self.bound.update((id(each), each) for each in found.projections)
        scope.outputs += found.outputs
        return found.projections

    def distinct_on(self, node: exp.Select, scope: Scope) -> None:
        distinct = node.args.get("distinct")
        on = distinct.args.get("on") if distinct else None
        for each in on.expressions if on else ():
            self.output_or_walk(each, scope)

    def order(self, node: exp.Expr, scope: Scope) -> None:
        order = node.args.get("order")
        for each in order.expressions if order else ():
            self.output_or_walk(each.this if isinstance(each, exp.Ordered) else each, scope)
        self.walk([node.args.get("limit"), node.args.get("offset")], scope)

    def output_or_walk(self, node: exp.Expr, scope: Scope) -> None:
        """Here a bare name is a column of the result, if there is one of that name."""
        name = node.this if isinstance(node, exp.Column) and not node.table else None
        output = scope.output(name) if isinstance(name, exp.Identifier) else None
        if output:
            node.set("this", output.copy())
            self.bound[id(node)] = node
        else:
            self.walk(node, scope, after_select=True)

    # ---- sources

    def source(self, item: exp.Expr, scope: Scope) -> None:
        make: Callable[[exp.Expr, Scope], Source]
        self.bound[id(item)] = item
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table):
            if item.alias:
                raise StatementDenied(f"the alias {item.alias} stands for a whole join; alias its tables instead")
            self.source(item.this, scope)
            return
        inner = item.this if isinstance(item, (exp.Table, exp.Lateral)) else item
        if stands_in_from(inner):
            make = self.function_source
        elif isinstance(item, exp.Table):
            make = self.table_source
        else:
            make = self.query_source
        source = make(item, scope)
        source.item = item
        scope.add(source)

    def table_source(self, item: exp.Expr, scope: Scope) -> Source:
        if not isinstance(item.this, exp.Identifier):
            raise StatementDenied(f"{written(item)} is not the name of a table")
        cte = scope.ctes.get(item.this.this.lower()) if not item.args.get("db") else None
        if cte:
            item.set("this", cte.alias.copy())
            columns = renamed(cte.columns, item.args.get("alias"))
            return Source(self.alias(item, cte.alias), columns, is_small=cte.is_small)
        return self.catalog_source(item)

    def catalog_source(self, item: exp.Expr) -> Source:
        seen = self.catalog.find(item) if isinstance(item, exp.Table) else None
        if not seen:
            named = ".".join(part.name for part in item.parts) if isinstance(item, exp.Table) else written(item)
            raise StatementDenied(f"the table {named} is not among those you may see")
        alias = item.args.get("alias")
        if alias and alias.args.get("columns"):
            raise StatementDenied(f"{written(item)}: the columns of a table may not be renamed in FROM")
        self.tables.setdefault(seen.name)
        self.write_name(item, seen)
        columns = [exp.to_identifier(column, quoted=True) for column in seen.columns]
        return Source(self.alias(item, item.this), columns, table=seen)

    def write_name(self, item: exp.Expr, seen: Seen) -> None:
        for key, name in zip(("this", "db", "catalog"), reversed(seen.parts), strict=False):
            given = item.args.get(key)
            item.set(key, self.catalog.bound(given, name) if given else exp.to_identifier(name, quoted=True))

    def query_source(self, item: exp.Expr, scope: Scope) -> Source:
        inside = item.this if isinstance(item, exp.Lateral) else item
        outer = scope if isinstance(item, exp.Lateral) else scope.parent
        columns = self.query(inside, outer, scope.ctes)
        name = self.alias(item, None)
        return Source(name, renamed(columns, item.args["alias"]), is_small=is_small(inside))

    def function_source(self, item: exp.Expr, scope: Scope) -> Source:
        function = item.this if isinstance(item, (exp.Table, exp.Lateral)) else item
        self.walk(function.expressions if isinstance(item, exp.Unnest) else function, scope)
        name = function_name(function)
        given = item.args.get("alias")
        alias = given.this if given and given.this else exp.to_identifier(name)
        columns: Columns = [exp.to_identifier(each) for each in self.lists.table_functions[name]] or [alias]
        if item.args.get("ordinality") or item.args.get("offset"):
            columns = [*columns, exp.to_identifier("ordinality")]
        names = given.args.get("columns") if given else None
        if "_to_record" in name:
            columns = [name_of(each) for each in names or ()]
        return Source(alias, renamed(columns, given), is_small=True, is_function=True)

    def alias(self, item: exp.Expr, otherwise: exp.Identifier | None) -> exp.Identifier:
        """The name under which the query knows it; a subquery without one gets one."""
        alias = item.args.get("alias")
        if alias and isinstance(alias.this, exp.Identifier):
            return alias.this
        if otherwise:
            return otherwise
        self.nameless += 1
        name = exp.to_identifier(f"_query{self.nameless}")
        item.set("alias", exp.TableAlias(this=name, columns=alias.args.get("columns") if alias else None))
        return name

    def merge(self, join: exp.Expr, scope: Scope) -> None:
        right = scope.sources[-1]
        for name in join.args.get("using") or ():
            column = right.column(name)
            left = next((each for each in scope.sources[:-1] if each.column(name)), None)
            if not column or not left:
                raise StatementDenied(f"USING ({name.name}): you may not see that column in both tables")
            if right.table:
                name.replace(self.catalog.bound(name, column.this).copy())
            self.read(right, column)
            self.read(left, left.column(name) or column)
            scope.merged[column.this.lower()] = self.catalog.bound(name, column.this)

    # ---- columns

    def walk(self, nodes: object, scope: Scope, after_select: bool = False) -> None:
        """Binds the columns in an expression; `after_select`: where the aliases of the select list are known."""
        stack = list(reversed(nodes)) if isinstance(nodes, list) else [nodes]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Column):
                self.column(node, scope, after_select)
            elif isinstance(node, QUERIES):
                self.query(node, scope, scope.ctes)
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                raise StatementDenied("* may stand only as a whole column or in COUNT(*)")
            elif isinstance(node, exp.Expr):
                stack += node.iter_expressions(reverse=True)

    def column(self, node: exp.Column, scope: Scope, after_select: bool) -> None:
        self.bound[id(node)] = node
        if not isinstance(node.this, exp.Identifier) or node.args.get("catalog"):
            raise StatementDenied(f"{written(node)} is not the name of a column")
        if node.args.get("table"):
            self.qualified(node, scope)
        elif not self.unqualified(node, scope, after_select) and not self.text(node):
            hint = "; write texts in single quotes" if node.this.quoted else ""
            raise StatementDenied(f"the column {node.name} is in none of the tables you may see here{hint}")

    def text(self, node: exp.Column) -> bool:
        """SQLite takes a name in double quotes for a text where there is no such column. Here only beside a comparison:
        elsewhere it is more likely a column that does not exist. It is written as a text, so a column that this person
        may not see is not read."""
        start = node.this.meta.get("start")
        is_quoted = self.catalog.dialect == "sqlite" and start is not None and self.sql[start] == '"'
        if not is_quoted or not isinstance(node.parent, COMPARISONS):
            return False
        node.replace(exp.Literal.string(node.name))
        return True

    def qualified(self, node: exp.Column, scope: Scope) -> None:
        name = node.args["table"]
        source = next(filter(None, (each.named(name) for each in scope.outward())), None)
        schema = node.args.get("db")
        if not source or (schema and not (source.table and schema.name.lower() in map(str.lower, source.table.parts))):
            raise StatementDenied(f"{written(node)}: there is no table or alias {name.name} here")
        column = source.column(node.this)
        if not column:
            raise StatementDenied(f"{written(node)}: there is no such column, or you may not see it")
        self.bind(node, source, column, qualify=True)

    def unqualified(self, node: exp.Column, scope: Scope, after_select: bool) -> bool:
        for each in scope.outward():
            if each is scope and node.name.lower() in each.merged:
                node.set("this", each.merged[node.name.lower()].copy())
                return True
            if found := self.found(node, each):
                self.check_not_shadowed(node, found[0], scope, each)
                single = each is scope and not each.parent and len(each.sources) == 1
                self.bind(node, *found, qualify=not single)
                return True
            if each is scope and after_select and self.alias_of_output(node, each):
                return True
        return False

    def found(self, node: exp.Column, scope: Scope) -> tuple[Source, exp.Identifier] | None:
        hits = [(each, column) for each in scope.sources if (column := each.column(node.this))]
        hits = hits or [(each, value) for each in scope.sources if (value := each.value(node.this))]
        if len(hits) > 1 and node.name.lower() not in scope.merged:
            names = " and ".join(each.alias.this for each, _ in hits)
            raise StatementDenied(f"the column {node.name} is in {names}; write which one you mean")
        return hits[0] if hits else None

    def check_not_shadowed(self, node: exp.Column, source: Source, inner: Scope, home: Scope) -> None:
        for each in inner.outward():
            if each is home:
                return
            if each.named(source.alias):
                raise StatementDenied(
                    f"the column {node.name} belongs to an outer {source.alias.this}; rename one of them"
                )

    def bind(self, node: exp.Column, source: Source, column: exp.Identifier, qualify: bool) -> None:
        node.set("this", self.catalog.bound(node.this, column.this) if source.table else column.copy())
        node.set("db", None)
        if qualify:
            node.set("table", source.alias.copy())
        self.read(source, column)

    def read(self, source: Source, column: exp.Identifier) -> None:
        if source.table:
            self.columns.setdefault(f"{source.table.name}.{column.this}")

    def alias_of_output(self, node: exp.Column, scope: Scope) -> bool:
        """An alias of the select list outside of it: its position in GROUP BY, elsewhere what it stands for."""
        projections = scope.select.expressions if scope.select else []
        for position, each in enumerate(projections, start=1):
            if isinstance(each, exp.Alias) and each.alias.lower() == node.name.lower():
                grouped = is_grouped(node) and not any(before.is_star for before in projections[:position])
                stands_for = exp.Literal.number(position) if grouped else exp.Paren(this=each.this.copy())
                node.replace(stands_for)
                self.bound.update((id(inner), inner) for inner in stands_for.find_all(exp.Column, exp.Table))
                return True
        return False


def is_grouped(node: exp.Expr) -> bool:
    """Whether it stands in GROUP BY by itself, not inside an expression."""
    parent = node.parent
    while isinstance(parent, (exp.Tuple, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, GROUPING)


def from_items(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr | None]]:
    """What stands in FROM, each with the join that brought it; parenthesised joins flattened."""
    clause = node.args.get("from_")
    items = with_inner(clause.this, None) if clause else []
    for join in node.args.get("joins") or ():
        items += with_inner(join.this, join)
    return items


def with_inner(item: exp.Expr, join: exp.Expr | None) -> list[tuple[exp.Expr, exp.Expr | None]]:
    items = [(item, join)]
    inside = item.this if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) else item
    for inner in inside.args.get("joins") or ():
        items += with_inner(inner.this, inner)
    return items
