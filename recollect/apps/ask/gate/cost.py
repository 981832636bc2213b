"""What would never end or return too much: joins without a condition, recursion without an end, no row cap.

Called by gate_checks when all names are bound. These are rules of thumb; the timeout of hosts/sql is the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from recollect.apps.ask.gate.from_sources import Scope, Source
from recollect.errors import StatementDenied

MOST_UNJOINED = 1  # joins of all with all, in the whole statement


def check_joins(scopes: Iterable[Scope]) -> None:
    unjoined: list[str] = []
    for scope in scopes:
        unjoined += loose_sources(scope)
    if len(unjoined) > MOST_UNJOINED:
        names = ", ".join(unjoined)
        raise StatementDenied(
            f"{names}: joined to everything without a condition; say with ON or WHERE what belongs together"
        )


def loose_sources(scope: Scope) -> list[str]:
    """The first source of each group that no condition ties to the groups before it."""
    if len(scope.sources) < 2 or not scope.select:
        return []
    group = {source.alias.this: source.alias.this for source in scope.sources}
    for names in ties(scope):
        joined = {group[name] for name in names}
        group = {name: min(joined) if home in joined else home for name, home in group.items()}
    heavy = {group[source.alias.this]: source.alias.this for source in reversed(scope.sources) if not source.is_small}
    return list(reversed(heavy.values()))[1:]


def ties(scope: Scope) -> Iterator[set[str]]:
    """Names of sources that one condition speaks of together."""
    own = {source.alias.this for source in scope.sources}
    for condition in conditions(scope.select):
        yield {column.table for column in condition.find_all(exp.Column)} & own
    for source in scope.sources:
        yield lateral_tie(source) & own
    for name in scope.merged.values():
        yield {source.alias.this for source in scope.sources if source.column(name)}


def lateral_tie(source: Source) -> set[str]:
    if isinstance(source.item, (exp.Lateral, exp.Unnest, exp.Table)):
        return {source.alias.this, *(column.table for column in source.item.find_all(exp.Column))}
    return {source.alias.this}


def conditions(select: exp.Expr | None) -> Iterator[exp.Expr]:
    if select is None:
        return
    where = select.args.get("where")
    if where:
        yield from conjuncts(where.this)
    for join in select.find_all(exp.Join):
        if join.parent_select is select and join.args.get("on"):
            yield from conjuncts(join.args["on"])


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, (exp.And, exp.Paren)):
            stack += each.iter_expressions()
        else:
            yield each


def check_recursion(tree: exp.Expr) -> None:
    """A part of a CTE that reads the CTE itself must have a WHERE over columns, or join something else to it."""
    for cte in tree.find_all(exp.CTE):
        for table in cte.this.find_all(exp.Table):
            select = table.parent_select
            if table.name.lower() == cte.alias.lower() and not table.args.get("db") and not is_bounded(select):
                raise StatementDenied(f"the recursive {cte.alias} has no end; give its recursive part a WHERE")
        check_growth(cte)


def is_bounded(select: exp.Expr | None) -> bool:
    if select is None:
        return False
    where = select.args.get("where")
    if where and where.find(exp.Column):
        return True
    return any(join.args.get("on") or join.args.get("using") for join in select.args.get("joins") or ())


def check_growth(cte: exp.CTE) -> None:
    """A text that is joined to itself doubles with each round."""
    part = cte.this.expression if isinstance(cte.this, exp.SetOperation) else None
    if not part or all(table.name.lower() != cte.alias.lower() for table in part.find_all(exp.Table)):
        return
    for node in part.find_all(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Replace, exp.ArrayConcat):
        columns = [column.name.lower() for column in node.find_all(exp.Column)]
        if isinstance(node, exp.Replace) or len(columns) > len(set(columns)):
            raise StatementDenied(f"the recursive {cte.alias} joins a text to itself and grows without bound")


def capped(tree: exp.Expr, rows: int) -> exp.Expr:
    """The same query with at most `rows` rows."""
    while isinstance(tree, exp.Subquery) and {each for each, value in tree.args.items() if value} == {"this"}:
        tree = tree.this
    own = own_limit(tree.args.get("limit"))
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows if own is None else min(own, rows))))
    return tree


def own_limit(limit: exp.Expr | None) -> int | None:
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options and (options.args.get("with_ties") or options.args.get("percent")):
            raise StatementDenied("FETCH with TIES or PERCENT is not accepted; use LIMIT and a number")
        return whole_number(limit.args["count"]) if limit.args.get("count") else 1
    if not isinstance(limit, exp.Limit):
        return None
    value = limit.expression
    if isinstance(value, (exp.Null, exp.Neg)) or (isinstance(value, exp.Var) and value.name.upper() == "ALL"):
        return None
    return whole_number(value)


def whole_number(node: exp.Expr) -> int:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal() and len(node.this) < 19:
        return int(node.this)
    raise StatementDenied(f"LIMIT {node.sql()[:40]}: write it as a number")
