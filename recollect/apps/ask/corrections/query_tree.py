"""Parse a query into a tree that can be compared with another one. `parse_pair` is the entry point.

Aliases are replaced by what they stand for, and columns are qualified by table. A column without a qualifier belongs to
the only table of its FROM, to the one the schema gives it to, or to the one that the other query of the pair names;
otherwise it stays unqualified. The second use of a table in one FROM is called `name_2`; derived tables and common
table expressions are called `query_1`, `query_2`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import find_all_in_scope

from recollect.errors import InvalidInput
from recollect.values.text import check_text

MAX_SQL_CHARS = 6_000  # two of them and the question have to fit into the data of one lesson
DERIVED = "query_"
OWN_SCHEMAS = ("", "public", "main")
Schema = Mapping[str, Iterable[str]]  # tables with their columns


def parse_pair(generated: str, corrected: str, dialect: str, schema: Schema | None) -> tuple[exp.Query, exp.Query]:
    """Return both trees with qualified columns, or raise an InvalidInput that names the wrong field."""
    before, after = parse_query("generated_sql", generated, dialect), parse_query("corrected_sql", corrected, dialect)
    columns = {table.lower(): frozenset(map(str.lower, names)) for table, names in (schema or {}).items()}
    qualifier = Qualifier(columns)
    # The copies are qualified to learn what each query tells about the other's columns.
    for query in (before.copy(), after.copy(), before, after):
        qualifier.qualify(query)
    return before, after


def parse_query(field: str, sql: str, dialect: str) -> exp.Query:
    """Return the tree of one query, without comments and quotes; names are folded as the dialect folds them."""
    check_text(field, sql, MAX_SQL_CHARS)
    statements = [one for one in _parse_statements(field, sql, dialect) if one and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        raise InvalidInput(field, f"{len(statements)} statements; give exactly one query")
    query = statements[0].unnest() if isinstance(statements[0], exp.Subquery) else statements[0]
    if not isinstance(query, (exp.Select, exp.SetOperation)):
        raise InvalidInput(field, f"is a {query.key.upper()} statement; only a SELECT can be compared")
    for node in normalize_identifiers(query, dialect=dialect).walk():
        node.comments = None
        if isinstance(node, exp.Identifier):
            node.set("quoted", False)
    _check_joins(field, query)
    for select in query.find_all(exp.Select):
        _inline_aliases(select)
    return query


def _check_joins(field: str, query: exp.Query) -> None:
    if any(list_joins(select) and not select.args.get("from_") for select in query.find_all(exp.Select)):
        raise InvalidInput(field, "has a JOIN without a FROM")


def _parse_statements(field: str, sql: str, dialect: str) -> list[exp.Expr | None]:
    try:
        chosen = sqlglot.Dialect.get_or_raise(dialect)
    except ValueError:
        known = "sqlite, postgres, mysql or duckdb"
        raise InvalidInput("dialect", f"{dialect!r} is not a supported SQL dialect; use {known}") from None
    try:
        return list(chosen.parse(sql))
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        near = f" near {first['highlight']!r}" if first.get("highlight") else ""
        place = f"line {first.get('line', 1)}, column {first.get('col', 1)}{near}"
        raise InvalidInput(field, f"cannot be parsed as {dialect} SQL: {place} is not understood") from None
    except SqlglotError:
        raise InvalidInput(field, f"cannot be parsed as {dialect} SQL: a quotation or comment has no end") from None
    except RecursionError:
        raise InvalidInput(field, "is nested too deeply to be parsed; simplify it") from None


def list_joins(select: exp.Select) -> list[Any]:
    """Return the joins of a SELECT, without those of its subqueries."""
    return select.args.get("joins") or []


def list_sources(select: exp.Select) -> list[exp.Expr]:
    """Return the tables and derived tables of a SELECT, in the order they are named."""
    start = select.args.get("from_")
    return [node.this for node in ([start] if start else []) + list_joins(select)]


def is_inner_join(join: Any) -> bool:
    return not join.args.get("side") and join.args.get("kind") not in ("SEMI", "ANTI", "OUTER")


def _inline_aliases(select: exp.Select) -> None:
    """Replace GROUP BY 1 and ORDER BY total by the expression they refer to."""
    outputs = [projection.unalias() for projection in select.expressions]
    aliased = {one.alias: one.this for one in select.expressions if isinstance(one, exp.Alias)}
    for clause in filter(None, map(select.args.get, ("group", "having", "order"))):
        _replace_aliases(clause, aliased)
        for item in list(clause.expressions):
            place = item.this if isinstance(item, exp.Ordered) else item
            if isinstance(place, exp.Literal) and place.is_int and 0 < int(place.name) <= len(outputs):
                place.replace(outputs[int(place.name) - 1].copy())


def _replace_aliases(clause: exp.Expr, aliased: Mapping[str, exp.Expr]) -> None:
    """Replace aliases by their expressions; outside ORDER BY, a column comes before an alias of the same name."""
    for column in list(clause.find_all(exp.Column)):
        meant = None if column.table else aliased.get(column.name)
        if meant is None:
            continue
        if isinstance(clause, exp.Order) or column.name not in {one.name for one in meant.find_all(exp.Column)}:
            column.replace(meant.copy())


# Column names ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Qualifier:
    """`schema` has the columns of each table, `known` the (table, column) pairs that the queries so far imply."""

    schema: Mapping[str, frozenset[str]]
    known: set[tuple[str, str]] = field(default_factory=set)

    def qualify(self, query: exp.Query) -> None:
        """Qualify the columns of a query and of those inside it, in place; aliases of tables go."""
        names: dict[int, dict[str, str]] = {}  # alias to table in each SELECT, with those around it
        ctes = {cte.alias for cte in query.find_all(exp.CTE)}
        for select in list(query.find_all(exp.Select, bfs=False)):
            select.set("expressions", [one.unalias() for one in select.expressions])
            own, outer = _label_sources(select, ctes), names.get(id(select.parent_select), {})
            names[id(select)] = {**outer, **own}
            for column in list(find_all_in_scope(select, exp.Column)):
                if column.is_star:
                    continue
                table = names[id(select)].get(column.table) or column.table or self._find_owner(column.name, own)
                column.replace(exp.column(column.this, table or None))
                self.known.add((table, column.name))
        for source in query.find_all(exp.Table, exp.Subquery):
            source.set("alias", None)

    def _find_owner(self, column: str, own: Mapping[str, str]) -> str:
        tables = {*own.values()}
        by_schema = {table for table in tables if column in self.schema.get(table, ())}
        by_pair = {table for table in tables if (table, column) in self.known}
        return next((min(owners) for owners in (tables, by_schema, by_pair) if len(owners) == 1), "")


def _label_sources(select: exp.Select, ctes: set[str]) -> dict[str, str]:
    """Return alias to table name, and store the name as the label of each source."""
    names: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for source in list_sources(select):
        base = DERIVED
        if isinstance(source, exp.Table) and (source.db or source.name not in ctes):
            base = source.name if source.db in OWN_SCHEMAS else f"{source.db}.{source.name}"
        uses[base] += 1
        label = f"{base}{uses[base]}" if base == DERIVED else base if uses[base] == 1 else f"{base}_{uses[base]}"
        names[source.alias_or_name] = source.meta["label"] = label
    return names


def rename_tables(query: exp.Query, names: Mapping[str, str]) -> None:
    """Give tables of a qualified query other names, so that what is left to compare does not follow from the names."""
    for column in query.find_all(exp.Column):
        if column.table in names:
            column.set("table", exp.to_identifier(names[column.table]))
    for table in query.find_all(exp.Table):
        label = table.meta.get("label", "")
        if label in names:
            table.meta["label"] = names[label]
