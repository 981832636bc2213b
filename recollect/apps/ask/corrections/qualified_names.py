"""The second step: every column knows its table by its real name, and every alias is gone.

A column without a qualifier belongs to the only table there is, to the one the schema gives it to, or to the one that
the other query of the pair names; otherwise it stays as it is. The second use of a table in one FROM is `name_2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from recollect.apps.ask.corrections.inlined_ctes import sources

DERIVED = "query_"
OWN_SCHEMAS = ("", "public", "main")
Known = set[tuple[str, str]]  # table and column, as somebody wrote or implied them


@dataclass(frozen=True, slots=True)
class Names:
    """What a name can stand for: in this FROM, around it, in the schema, and in the other query."""

    here: Mapping[str, str]
    around: Mapping[str, str]
    schema: Mapping[str, frozenset[str]]
    known: Known

    def table_of(self, column: exp.Column) -> str:
        if column.table:
            return self.here.get(column.table) or self.around.get(column.table) or column.table
        if len(self.here) == 1:
            return next(iter(self.here.values()))
        for owners in (self._by_schema(column.name), self._by_hint(column.name)):
            if len(owners) == 1:
                return owners.pop()
        return ""

    def _by_schema(self, column: str) -> set[str]:
        return {table for table in self.here.values() if column in self.schema.get(table, ())}

    def _by_hint(self, column: str) -> set[str]:
        return {table for table in self.here.values() if (table, column) in self.known}


def plain_schema(schema: Mapping[str, Iterable[str]] | None) -> dict[str, frozenset[str]]:
    return {table.lower(): frozenset(map(str.lower, columns)) for table, columns in (schema or {}).items()}


def resolved(query: exp.Query, schema: Mapping[str, frozenset[str]], known: Known) -> exp.Query:
    """Changes the tree in place, and adds to `known` what it finds."""
    _resolve(query, {}, schema, known)
    return query


def is_plain(query: exp.Query) -> bool:
    """Whether every column says whose it is, or can be only one table's."""
    selects = (select for select in query.find_all(exp.Select) if len(sources(select)) > 1)
    return all(column.table for select in selects for column in own_columns(select))


def _resolve(query: exp.Expr, around: Mapping[str, str], schema: Mapping[str, frozenset[str]], known: Known) -> None:
    if not isinstance(query, exp.Select):
        for inner in _next_queries(query):
            _resolve(inner, around, schema, known)
        return
    _write_out_aliases(query)
    names = Names(_real_names(query), around, schema, known)
    for column in own_columns(query):
        _name(column, names)
    for inner in _next_queries(query):
        _resolve(inner, {**around, **names.here}, schema, known)
    for source in sources(query):
        source.set("alias", None)


def _name(column: exp.Column, names: Names) -> None:
    table = names.table_of(column)
    column.set("db", None)
    column.set("catalog", None)
    column.set("table", exp.to_identifier(table) if table else None)
    if table:
        names.known.add((table, column.name))


def own_columns(select: exp.Select) -> list[exp.Column]:
    """Columns of this SELECT and not of those inside it."""
    return [node for node in _own_nodes(select) if isinstance(node, exp.Column) and not node.is_star]


def _own_nodes(query: exp.Expr) -> Iterator[exp.Expr]:
    return query.walk(prune=lambda node: node is not query and _is_query(node))


def _next_queries(query: exp.Expr) -> Iterator[exp.Expr]:
    return (node for node in list(_own_nodes(query)) if node is not query and _is_query(node))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Select, exp.SetOperation))


def _real_names(select: exp.Select) -> dict[str, str]:
    """Alias to name. The tree is changed too: each source is called by that name."""
    names: dict[str, str] = {}
    taken: list[str] = []
    for source in sources(select):
        base = table_name(source) if isinstance(source, exp.Table) else DERIVED
        taken.append(base)
        count = taken.count(base)
        name = f"{base}{count}" if base == DERIVED else base if count == 1 else f"{base}_{count}"
        names[source.alias_or_name] = name
        source.meta["label"] = name
    return names


def table_name(table: exp.Table) -> str:
    return table.name if table.db in OWN_SCHEMAS else f"{table.db}.{table.name}"


def _write_out_aliases(select: exp.Select) -> None:
    """GROUP BY 1 and ORDER BY total become the expression they point at; then the aliases go."""
    outputs = [projection.unalias() for projection in select.expressions]
    named = {one.alias: one.this for one in select.expressions if isinstance(one, exp.Alias)}
    for clause in ("group", "having", "order"):
        node = select.args.get(clause)
        if node is not None:
            _point_at(node, outputs, named, clause)
    select.set("expressions", [one.copy() for one in outputs])


def _point_at(node: exp.Expr, outputs: list[exp.Expr], named: dict[str, exp.Expr], clause: str) -> None:
    for column in list(node.find_all(exp.Column)):
        meant = named.get(column.name) if not column.table else None
        if meant is not None and (clause == "order" or not _speaks_of(meant, column.name)):
            column.replace(meant.copy())
    if clause == "having":
        return
    for item in list(node.expressions):
        place = item.this if isinstance(item, exp.Ordered) else item
        if isinstance(place, exp.Literal) and place.is_int and 0 < int(place.name) <= len(outputs):
            place.replace(outputs[int(place.name) - 1].copy())


def _speaks_of(expression: exp.Expr, column: str) -> bool:
    """Outside ORDER BY, a column of the table comes before an alias of the same name."""
    return any(found.name == column for found in expression.find_all(exp.Column))


def renamed(query: exp.Query, names: Mapping[str, str]) -> exp.Query:
    """Other tables under the columns: what is left to compare is what is not explained by that."""
    for column in query.find_all(exp.Column):
        if column.table in names:
            column.set("table", exp.to_identifier(names[column.table]))
    for source in query.find_all(exp.Table):
        label = source.meta.get("label", "")
        if label in names:
            source.meta["label"] = names[label]
    return query
