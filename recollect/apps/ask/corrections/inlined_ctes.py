"""The first step of reading a query for comparison: text to one tree without common table expressions.

`parsed` refuses what is not one query; `without_ctes` puts each common table expression where it is used, and `merged`
dissolves derived tables that only choose columns and rows, so that the three ways to write them become one.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from recollect.errors import InvalidInput
from recollect.values.text import check_text

MAX_SQL_CHARS = 6_000  # two of them and the question have to fit into the data of one lesson
MAX_COPIES = 12
NOT_MERGED = ("group", "having", "distinct", "order", "limit", "offset", "qualify", "windows", "with_", "laterals")


def parsed(field: str, sql: str, dialect: str) -> exp.Query:
    """One query, names folded as the dialect folds them; otherwise an error that names the field."""
    check_text(field, sql, MAX_SQL_CHARS)
    statements = [one for one in _statements(field, sql, dialect) if one and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        raise InvalidInput(field, f"{len(statements)} statements; give exactly one query")
    query = statements[0]
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    if not isinstance(query, (exp.Select, exp.SetOperation)):
        raise InvalidInput(field, f"is a {query.key.upper()} statement; only a SELECT can be compared")
    return folded(query, dialect)


def _statements(field: str, sql: str, dialect: str) -> list[exp.Expr | None]:
    try:
        chosen = sqlglot.Dialect.get_or_raise(dialect)
    except ValueError:
        raise InvalidInput(
            "dialect", f"{dialect!r} is not an SQL dialect we read; say sqlite, postgres, mysql or duckdb"
        ) from None
    try:
        return list(chosen.parse(sql))
    except ParseError as error:
        raise InvalidInput(field, f"cannot be read as {dialect} SQL: {_where(error)}") from None
    except SqlglotError:
        raise InvalidInput(field, f"cannot be read as {dialect} SQL: a quotation or a comment has no end") from None
    except RecursionError:
        raise InvalidInput(field, "is nested too deeply to be read; simplify it") from None


def _where(error: ParseError) -> str:
    first = error.errors[0] if error.errors else {}
    near = f" near {first['highlight']!r}" if first.get("highlight") else ""
    return f"line {first.get('line', 1)}, column {first.get('col', 1)}{near} is not understood"


def folded(query: exp.Query, dialect: str) -> exp.Query:
    """Case as the dialect sees it; quotes and comments, which say nothing more, are gone."""
    rules = sqlglot.Dialect.get_or_raise(dialect)
    for node in query.walk():
        node.comments = None
        if isinstance(node, exp.Identifier):
            rules.normalize_identifier(node)
            node.set("quoted", False)
    return query


def without_ctes(query: exp.Query) -> exp.Query:
    """Each reference becomes a derived table. Recursive ones, and those used very often, stay."""
    for clause in reversed(list(query.find_all(exp.With))):
        holder = clause.parent
        if holder is None or clause.args.get("recursive") or _uses(holder, clause) > MAX_COPIES:
            continue
        clause.pop()
        bodies: dict[str, exp.Expr] = {}
        for cte in clause.expressions:
            _put(cte, bodies)
            bodies[cte.alias] = cte.this
        _put(holder, bodies)
    return query


def _uses(holder: exp.Expr, clause: exp.With) -> int:
    names = {cte.alias for cte in clause.expressions}
    return sum(table.name in names for table in holder.find_all(exp.Table))


def _put(into: exp.Expr, bodies: dict[str, exp.Expr]) -> None:
    for table in list(into.find_all(exp.Table)):
        body = bodies.get(table.name) if not table.db else None
        if body is not None:
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
            table.replace(exp.Subquery(this=body.copy(), alias=alias))


def merged(query: exp.Query) -> exp.Query:
    """Inner ones first, so that a chain of them dissolves whole."""
    for select in reversed(list(query.find_all(exp.Select))):
        _unwrap(select)
        for source in sources(select):
            if isinstance(source, exp.Subquery) and _can_merge(select, source):
                _merge(select, source)
    return query


def _unwrap(select: exp.Select) -> None:
    """Parentheses around tables that are joined; outer joins inside them would need them."""
    for source in sources(select):
        table, holder = source.unnest() if isinstance(source, exp.Subquery) else source, source.parent
        if holder is not None and isinstance(table, exp.Table) and table.args.get("joins"):
            joins = table.args["joins"]
            table.set("joins", None)
            holder.set("this", table)
            select.set("joins", [*joins, *(select.args.get("joins") or [])])


def sources(select: exp.Select) -> list[exp.Expr]:
    """Tables and derived tables, in the order they are named."""
    start = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [node.this for node in ([start] if start else []) + joins]


def is_inner(join: Any) -> bool:
    return not join.args.get("side") and join.args.get("kind") not in ("SEMI", "ANTI", "OUTER")


def _can_merge(select: exp.Select, source: exp.Subquery) -> bool:
    body = source.this
    if not isinstance(body, exp.Select) or any(body.args.get(name) for name in NOT_MERGED):
        return False
    if not all(isinstance(table, exp.Table) for table in sources(body)) or not sources(body):
        return False
    joins = [*(body.args.get("joins") or []), *(select.args.get("joins") or [])]
    others = {other.alias_or_name for other in sources(select) if other is not source}
    is_plain = not any(projection.find(exp.AggFunc, exp.Window, exp.Query) for projection in body.expressions)
    return is_plain and all(map(is_inner, joins)) and not others & {table.alias_or_name for table in sources(body)}


def _merge(select: exp.Select, source: exp.Subquery) -> None:
    body, name, holder = source.this, source.alias_or_name, source.parent
    tables = sources(body)
    if len(tables) == 1:
        _qualify(body, tables[0].alias_or_name)
    is_alone = len(sources(select)) == 1
    given = {column.alias_or_name: column.unalias() for column in body.expressions if not column.is_star}
    _point(select, source, given, name, tables[0].alias_or_name, is_alone)
    if is_alone and given and any(isinstance(column, exp.Star) for column in select.expressions):
        select.set("expressions", [column.copy() for column in body.expressions])
    if holder is not None:
        holder.set("this", tables[0])
    select.set("joins", [*(body.args.get("joins") or []), *(select.args.get("joins") or [])])
    if body.args.get("where"):
        select.where(body.args["where"].this, copy=False)


def _qualify(body: exp.Select, table: str) -> None:
    for column in body.find_all(exp.Column):
        if not column.table and column.find_ancestor(exp.Select) is body:
            column.set("table", exp.to_identifier(table))


def _point(
    select: exp.Select, source: exp.Subquery, given: dict[str, exp.Expr], name: str, first: str, is_alone: bool
) -> None:
    """Columns of the derived table become what they stand for."""
    inside = {id(column) for column in source.find_all(exp.Column)}
    for column in list(select.find_all(exp.Column)):
        is_ours = column.table == name or (not column.table and (is_alone or column.name in given))
        if id(column) in inside or not is_ours:
            continue
        if column.name in given:
            column.replace(given[column.name].copy())
        elif column.table == name:
            column.set("table", exp.to_identifier(first))
