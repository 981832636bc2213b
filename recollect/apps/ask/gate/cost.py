"""Refuse what would never end or return too much: joins without a condition, recursion without an end; cap the rows.

Called by statement.py. These are rules of thumb; the time limit when the statement is run is the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from recollect.apps.ask.gate.scopes import Scope
from recollect.errors import StatementDenied

MOST_UNJOINED = 1  # joins of all with all, in the whole statement


def check_joins(scopes: Iterable[Scope]) -> None:
    """Refuse a statement that joins too many sources to all rows of others."""
    unjoined = [name for scope in scopes for name in _find_unjoined(scope)]
    if len(unjoined) > MOST_UNJOINED:
        names = ", ".join(unjoined)
        raise StatementDenied(
            f"{names}: joined to everything without a condition; say with ON or WHERE what belongs together"
        )


def _find_unjoined(scope: Scope) -> list[str]:
    """Return the first source of each group that no condition ties to the groups before it."""
    if len(scope.sources) < 2 or not scope.select:
        return []
    group = {source.alias.this: source.alias.this for source in scope.sources}
    for names in _list_ties(scope, scope.select):
        joined = {group[name] for name in names & group.keys()}
        group = {name: min(joined) if home in joined else home for name, home in group.items()}
    heavy = {group[source.alias.this]: source.alias.this for source in reversed(scope.sources) if not source.is_small}
    return list(reversed(heavy.values()))[1:]


def _list_ties(scope: Scope, select: exp.Select) -> Iterator[set[str]]:
    """Yield the names of sources that one condition is about."""
    for condition in _list_conditions(select):
        yield {column.table for column in condition.find_all(exp.Column)}
    for source in scope.sources:
        if isinstance(source.item, (exp.Lateral, exp.Unnest, exp.Table)):
            yield {source.alias.this, *(column.table for column in source.item.find_all(exp.Column))}
    for name in scope.merged.values():
        yield {source.alias.this for source in scope.sources if source.find_column(name)}


def _list_conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions of WHERE and ON, each side of an AND by itself."""
    where = select.args.get("where")
    clauses = [where.this] if where else []
    clauses += [join.args.get("on") for join in select.find_all(exp.Join) if join.parent_select is select]
    while clauses:
        each = clauses.pop()
        if isinstance(each, (exp.And, exp.Paren)):
            clauses += each.iter_expressions()
        elif each:
            yield each


def check_recursion(tree: exp.Expr) -> None:
    """Refuse a CTE that reads itself without a WHERE over columns and without joining anything else to it, and one that
    joins a text to itself, which doubles with each round."""
    for cte in tree.find_all(exp.CTE):
        alias = cte.alias.lower()
        for table in cte.this.find_all(exp.Table):
            if table.name.lower() == alias and not table.args.get("db") and not _is_bounded(table.parent_select):
                raise StatementDenied(f"the recursive {cte.alias} has no end; give its recursive part a WHERE")
        if isinstance(cte.this, exp.SetOperation) and _has_doubling(cte.this.expression, alias):
            raise StatementDenied(f"the recursive {cte.alias} joins a text to itself and grows without bound")


def _has_doubling(part: exp.Expr, alias: str) -> bool:
    """Whether the recursive part of a CTE joins a text to itself."""
    if all(table.name.lower() != alias for table in part.find_all(exp.Table)):
        return False
    for node in part.find_all(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Replace, exp.ArrayConcat):
        columns = [column.name.lower() for column in node.find_all(exp.Column)]
        if isinstance(node, exp.Replace) or len(columns) > len(set(columns)):
            return True
    return False


def _is_bounded(select: exp.Expr | None) -> bool:
    if select is None:
        return False
    where = select.args.get("where")
    is_limited = bool(where and where.find(exp.Column))
    return is_limited or any(join.args.get("on") or join.args.get("using") for join in select.args.get("joins") or ())


def cap_rows(tree: exp.Expr, rows: int) -> exp.Expr:
    """Return the same query with at most `rows` rows."""
    while isinstance(tree, exp.Subquery) and {each for each, value in tree.args.items() if value} == {"this"}:
        tree = tree.this
    own = _read_limit(tree.args.get("limit"))
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows if own is None else min(own, rows))))
    return tree


def _read_limit(limit: exp.Expr | None) -> int | None:
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options and (options.args.get("with_ties") or options.args.get("percent")):
            raise StatementDenied("FETCH with TIES or PERCENT is not accepted; use LIMIT and a number")
        return _read_count(limit.args.get("count") or exp.Literal.number(1))
    value = limit.expression if isinstance(limit, exp.Limit) else exp.Null()
    is_endless = isinstance(value, (exp.Null, exp.Neg)) or (isinstance(value, exp.Var) and value.name.upper() == "ALL")
    return None if is_endless else _read_count(value)


def _read_count(value: exp.Expr) -> int:
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isdecimal() and len(value.this) < 19:
        return int(value.this)
    raise StatementDenied(f"LIMIT {value.sql()[:40]}: write it as a number")
