"""Bind every table and column of a statement to what it was checked as.

The Binder goes through a statement from the inside of each WITH and FROM outwards. A column must be found in exactly
one source. It is then written with that source's name wherever the database could read it otherwise, because the
database knows columns that the caller may not see and would prefer them. For the same reason `*` over a table is
written out, an alias used in GROUP BY becomes its position, and elsewhere outside ORDER BY the expression it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from sqlglot import exp

from recollect.apps.ask.gate.nodes import AllowLists, is_table_function, name_function, shorten
from recollect.apps.ask.gate.scopes import (
    Columns,
    Scope,
    Source,
    VisibleTables,
    find_identifier,
    is_small_query,
    list_from_items,
    name_output,
    read_column_name,
    rename_columns,
)
from recollect.errors import StatementDenied

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
GROUPING = (exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets)
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Glob, exp.In, exp.Between)
Ctes = Mapping[str, Source]


class Binder:
    """`tables` and `columns` are those of the catalog that the statement reads, in order of first use."""

    def __init__(self, visible: VisibleTables, lists: AllowLists, sql: str) -> None:
        self.visible, self.lists, self.sql = visible, lists, sql
        self.tables: dict[str, None] = {}
        self.columns: dict[str, None] = {}
        self.scopes: list[Scope] = []
        self.bound: dict[int, exp.Expr] = {}  # the nodes that were looked at, kept so that no id comes twice
        self.nameless = 0

    def mark_bound(self, *nodes: exp.Expr) -> None:
        for node in nodes:
            self.bound[id(node)] = node

    # Queries

    def bind_query(self, node: exp.Expr, outer: Scope | None, ctes: Ctes, recursive: exp.Expr | None = None) -> Columns:
        """Bind everything inside, and return the columns of the result. `recursive` is the alias of a CTE that sees
        itself in its second part, with the columns of its first."""
        ctes = self.bind_ctes(node, outer, ctes)
        if isinstance(node, exp.Select):
            return self.bind_select(node, Scope(outer, ctes, select=node))
        if isinstance(node, exp.Values):
            self.bind_expression(node.expressions, Scope(outer, ctes))
            width = len(node.expressions[0].expressions)
            return [exp.to_identifier(f"column{number}") for number in range(1, width + 1)]
        if not isinstance(node, (exp.Subquery, exp.SetOperation)):
            raise StatementDenied(f"{shorten(node)} is no query")
        columns = self.bind_query(node.this, outer, ctes)
        if isinstance(node, exp.SetOperation):
            inner = ctes
            if recursive is not None:
                itself = Source(recursive.this, rename_columns(columns, recursive))
                inner = {**ctes, recursive.name.lower(): itself}
            self.bind_query(node.expression, outer, inner)
        self.bind_order(node, Scope(outer, ctes, outputs=list(columns)))
        return columns

    def bind_ctes(self, node: exp.Expr, outer: Scope | None, ctes: Ctes) -> Ctes:
        clause = node.args.get("with_") or exp.With(expressions=[])
        for cte in clause.expressions:
            alias, body = cte.args["alias"], cte.this
            is_recursive = clause.args.get("recursive") or self.visible.dialect == "sqlite"
            columns = self.bind_query(body, outer, ctes, alias if is_recursive else None)
            source = Source(alias.this, rename_columns(columns, alias), is_small=is_small_query(body))
            ctes = {**ctes, alias.name.lower(): source}
        return ctes

    def bind_select(self, node: exp.Select, scope: Scope) -> Columns:
        self.scopes.append(scope)
        items = list_from_items(node)
        for item, join in items:
            self.bind_source(item, scope)
            if join:
                self.merge_columns(join, scope)
        for _, join in items:
            self.bind_expression(join.args.get("on") if join else None, scope)
        self.bind_projections(node, scope)
        for clause in ("where", "group", "having", "qualify", "windows"):
            self.bind_expression(node.args.get(clause), scope, after_select=True)
        distinct = node.args.get("distinct")
        on = distinct.args.get("on") if distinct else None
        for each in on.expressions if on else ():
            self.bind_output(each, scope)
        self.bind_order(node, scope)
        return scope.outputs

    def bind_projections(self, node: exp.Select, scope: Scope) -> None:
        projections: list[exp.Expr] = []
        for each in node.expressions:
            if each.is_star:
                projections += self.expand_star(each, scope)
            else:
                self.bind_expression(each, scope)
                scope.outputs.append(name_output(each, self.visible.dialect))
                projections.append(each)
        node.set("expressions", projections)

    def bind_order(self, node: exp.Expr, scope: Scope) -> None:
        order = node.args.get("order")
        for each in order.expressions if order else ():
            self.bind_output(each.this if isinstance(each, exp.Ordered) else each, scope)
        self.bind_expression([node.args.get("limit"), node.args.get("offset")], scope)

    def bind_output(self, node: exp.Expr, scope: Scope) -> None:
        """Bind an expression of ORDER BY, where a bare name is a column of the result if there is one of that name."""
        name = node.this if isinstance(node, exp.Column) and not node.table else None
        output = find_identifier(name, scope.outputs) if isinstance(name, exp.Identifier) else None
        if output:
            node.set("this", output.copy())
            self.mark_bound(node)
        else:
            self.bind_expression(node, scope, after_select=True)

    # Stars: written out for the tables of the catalog, because the database knows columns that may not be seen

    def expand_star(self, star: exp.Expr, scope: Scope) -> list[exp.Expr]:
        self.mark_bound(star)
        if qualifier := star.args.get("table"):
            named = scope.find_source(qualifier)
            if not named:
                raise StatementDenied(f"{qualifier.this}.*: there is no table or alias {qualifier.this} here")
            return self.expand_source(named, scope)
        if not scope.sources:
            raise StatementDenied("* needs a FROM")
        if scope.merged:
            return self.expand_merged(scope)
        if any(source.table for source in scope.sources.values()):
            return [each for source in scope.sources.values() for each in self.expand_source(source, scope)]
        scope.outputs += chain.from_iterable(source.columns for source in scope.sources.values())
        return [star]

    def expand_source(self, source: Source, scope: Scope) -> list[exp.Expr]:
        if not source.table:
            scope.outputs += source.columns
            star = exp.Column(this=exp.Star(), table=source.alias.copy())
            self.mark_bound(star)
            return [star]
        if not source.columns:
            raise StatementDenied(f"{source.alias.this}.*: you may not see any column of {source.table.name}")
        return [self.add_output(scope, column, source) for column in source.columns if column is not None]

    def expand_merged(self, scope: Scope) -> list[exp.Expr]:
        """Columns of USING come once: first of all, or in SQLite where the first table has them."""
        pending, made = dict(scope.merged), []
        if self.visible.dialect != "sqlite":
            made, pending = [self.add_output(scope, column) for column in pending.values()], {}
        for source in scope.sources.values():
            for column in source.columns:
                if column is None:
                    raise StatementDenied(f"* over {source.alias.this} with USING: give each of its columns a name")
                if column.this.lower() not in scope.merged:
                    made.append(self.add_output(scope, column, source))
                elif column.this.lower() in pending:
                    made.append(self.add_output(scope, pending.pop(column.this.lower())))
        return made

    def add_output(self, scope: Scope, column: exp.Identifier, source: Source | None = None) -> exp.Expr:
        made = exp.Column(this=column.copy(), **({"table": source.alias.copy()} if source else {}))
        self.mark_bound(made)
        scope.outputs.append(column)
        if source:
            self.record_read(source, column)
        return made

    # Sources

    def bind_source(self, item: exp.Expr, scope: Scope) -> None:
        self.mark_bound(item)
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table):
            if item.alias:
                raise StatementDenied(f"the alias {item.alias} stands for a whole join; alias its tables instead")
            self.bind_source(item.this, scope)
            return
        if is_table_function(item.this if isinstance(item, (exp.Table, exp.Lateral)) else item):
            source = self.bind_function(item, scope)
        elif isinstance(item, exp.Table):
            source = self.bind_table(item, scope)
        else:
            inside, outer = (item.this, scope) if isinstance(item, exp.Lateral) else (item, scope.parent)
            columns = self.bind_query(inside, outer, scope.ctes)
            alias = self.name_source(item, None)
            source = Source(alias, rename_columns(columns, item.args["alias"]), is_small=is_small_query(inside))
        source.item = item
        if scope.find_source(source.alias):
            raise StatementDenied(f"{source.alias.this} names two tables in one FROM; give one of them another alias")
        scope.sources[source.alias.this.lower()] = source

    def bind_table(self, item: exp.Table, scope: Scope) -> Source:
        if not isinstance(item.this, exp.Identifier):
            raise StatementDenied(f"{shorten(item)} is not the name of a table")
        cte = scope.ctes.get(item.this.this.lower()) if not item.args.get("db") else None
        if cte is None:
            return self.bind_catalog_table(item)
        item.set("this", cte.alias.copy())
        columns = rename_columns(cte.columns, item.args.get("alias"))
        return Source(self.name_source(item, cte.alias), columns, is_small=cte.is_small)

    def bind_catalog_table(self, item: exp.Table) -> Source:
        table, alias = self.visible.find(item), item.args.get("alias")
        if not table:
            named = ".".join(part.name for part in item.parts)
            raise StatementDenied(f"the table {named} is not among those you may see")
        if alias and alias.args.get("columns"):
            raise StatementDenied(f"{shorten(item)}: the columns of a table may not be renamed in FROM")
        self.tables.setdefault(table.name)
        for key, name in zip(("this", "db", "catalog"), reversed(table.parts), strict=False):
            given = item.args.get(key)
            item.set(key, self.visible.spell(given, name) if given else exp.to_identifier(name, quoted=True))
        columns = [exp.to_identifier(column, quoted=True) for column in table.columns]
        return Source(self.name_source(item, item.this), columns, table=table)

    def bind_function(self, item: exp.Expr, scope: Scope) -> Source:
        function = item.this if isinstance(item, (exp.Table, exp.Lateral)) else item
        self.bind_expression(function.expressions if isinstance(item, exp.Unnest) else function, scope)
        name = name_function(function)
        given = item.args.get("alias") or exp.TableAlias()
        alias = given.this or exp.to_identifier(name)
        columns: Columns = list(map(exp.to_identifier, self.lists.table_functions[name])) or [alias]
        if item.args.get("ordinality") or item.args.get("offset"):
            columns = [*columns, exp.to_identifier("ordinality")]
        if "_to_record" in name:
            columns = list(map(read_column_name, given.args.get("columns") or ()))
        return Source(alias, rename_columns(columns, given), is_small=True, is_function=True)

    def name_source(self, item: exp.Expr, default: exp.Identifier | None) -> exp.Identifier:
        """Return the name under which the query knows a source; a subquery without one gets one."""
        alias = item.args.get("alias")
        if alias and isinstance(alias.this, exp.Identifier):
            return alias.this
        if default:
            return default
        self.nameless += 1
        name = exp.to_identifier(f"_query{self.nameless}")
        item.set("alias", exp.TableAlias(this=name, columns=alias.args.get("columns") if alias else None))
        return name

    def merge_columns(self, join: exp.Expr, scope: Scope) -> None:
        *lefts, right = scope.sources.values()
        for name in join.args.get("using") or ():
            column = right.find_column(name)
            left = next((each for each in lefts if each.find_column(name)), None)
            if not column or not left:
                raise StatementDenied(f"USING ({name.name}): you may not see that column in both tables")
            spelled = self.visible.spell(name, column.this)
            if right.table:
                name.replace(spelled.copy())
            self.record_read(right, column)
            self.record_read(left, left.find_column(name) or column)
            scope.merged[column.this.lower()] = spelled

    # Columns

    def bind_expression(self, nodes: object, scope: Scope, after_select: bool = False) -> None:
        """Bind the columns in an expression; `after_select`: where the aliases of the select list are known."""
        stack = list(reversed(nodes)) if isinstance(nodes, list) else [nodes]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Column):
                self.bind_column(node, scope, after_select)
            elif isinstance(node, QUERIES):
                self.bind_query(node, scope, scope.ctes)
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
                raise StatementDenied("* may stand only as a whole column or in COUNT(*)")
            elif isinstance(node, exp.Expr):
                stack += node.iter_expressions(reverse=True)

    def bind_column(self, node: exp.Column, scope: Scope, after_select: bool) -> None:
        self.mark_bound(node)
        if not isinstance(node.this, exp.Identifier) or node.args.get("catalog"):
            raise StatementDenied(f"{shorten(node)} is not the name of a column")
        if node.args.get("table"):
            self.bind_qualified(node, scope)
        elif not self.bind_unqualified(node, scope, after_select) and not self.replace_text(node):
            hint = "; write texts in single quotes" if node.this.quoted else ""
            raise StatementDenied(f"the column {node.name} is in none of the tables you may see here{hint}")

    def replace_text(self, node: exp.Column) -> bool:
        """Replace a name in double quotes by a text, as SQLite reads it where there is no such column; only beside a
        comparison, because elsewhere it is more likely a column that does not exist. As a text it reads no hidden
        column."""
        start = node.this.meta.get("start")
        is_quoted = self.visible.dialect == "sqlite" and start is not None and self.sql[start] == '"'
        if not is_quoted or not isinstance(node.parent, COMPARISONS):
            return False
        node.replace(exp.Literal.string(node.name))
        return True

    def bind_qualified(self, node: exp.Column, scope: Scope) -> None:
        name, schema = node.args["table"], node.args.get("db")
        source = next(filter(None, (each.find_source(name) for each in scope.walk_outward())), None)
        if not source or (schema and not (source.table and schema.name.lower() in map(str.lower, source.table.parts))):
            raise StatementDenied(f"{shorten(node)}: there is no table or alias {name.name} here")
        column = source.find_column(node.this)
        if not column:
            raise StatementDenied(f"{shorten(node)}: there is no such column, or you may not see it")
        self.write_column(node, source, column, qualify=True)

    def bind_unqualified(self, node: exp.Column, scope: Scope, after_select: bool) -> bool:
        """Whether the column was found, in this scope or in one around it."""
        if merged := scope.merged.get(node.name.lower()):
            node.set("this", merged.copy())
            return True
        inner: list[Scope] = []
        for each in scope.walk_outward():
            if found := self.find_column(node, each):
                source, column = found
                if any(other.find_source(source.alias) for other in inner):
                    raise StatementDenied(
                        f"the column {node.name} belongs to an outer {source.alias.this}; rename one of them"
                    )
                is_single = not scope.parent and len(each.sources) == 1
                self.write_column(node, source, column, qualify=not is_single)
                return True
            if each is scope and after_select and self.replace_alias(node, each):
                return True
            inner.append(each)
        return False

    def find_column(self, node: exp.Column, scope: Scope) -> tuple[Source, exp.Identifier] | None:
        hits = [(each, column) for each in scope.sources.values() if (column := each.find_column(node.this))]
        hits = hits or [(each, value) for each in scope.sources.values() if (value := each.find_value(node.this))]
        if len(hits) > 1 and node.name.lower() not in scope.merged:
            names = " and ".join(each.alias.this for each, _ in hits)
            raise StatementDenied(f"the column {node.name} is in {names}; write which one you mean")
        return hits[0] if hits else None

    def write_column(self, node: exp.Column, source: Source, column: exp.Identifier, qualify: bool) -> None:
        node.set("this", self.visible.spell(node.this, column.this) if source.table else column.copy())
        node.set("db", None)
        if qualify:
            node.set("table", source.alias.copy())
        self.record_read(source, column)

    def record_read(self, source: Source, column: exp.Identifier) -> None:
        if source.table:
            self.columns.setdefault(f"{source.table.name}.{column.this}")

    def replace_alias(self, node: exp.Column, scope: Scope) -> bool:
        """Replace an alias of the select list: by its position in GROUP BY, elsewhere by the expression it names."""
        projections = scope.select.expressions if scope.select else []
        for position, each in enumerate(projections, start=1):
            if isinstance(each, exp.Alias) and each.alias.lower() == node.name.lower():
                is_countable = not any(before.is_star for before in projections[:position])
                new: exp.Expr = exp.Paren(this=each.this.copy())
                if is_countable and is_grouped(node):
                    new = exp.Literal.number(position)
                node.replace(new)
                self.mark_bound(*new.find_all(exp.Column, exp.Table))
                return True
        return False


def is_grouped(node: exp.Expr) -> bool:
    """Whether a column is an item of GROUP BY, not inside an expression."""
    parent = node.parent
    while isinstance(parent, (exp.Tuple, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, GROUPING)
