"""Functions that can make something huge out of little: allowed with a literal size, within bounds.

`check_size` is called by gate_nodes for each node, `check_growth_of` by gate_checks for the whole statement: functions
that are each within bounds multiply where one is applied to the result of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from recollect.errors import StatementDenied

LONGEST = 1_000  # characters that a function may make out of a number
MOST_STEPS = 10_000  # rows of a generate_series of numbers
MOST_GROWTH = 10_000  # times that a value may become longer in a whole statement
UNKNOWN = 30  # times that a text may become longer where each match is replaced by the value of a column
WIDTH = re.compile(r"\d+")
# Functions whose result is as long as all that goes into it; of others, as the longest.
JOINS = (
    *(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Format, exp.Array, exp.ArrayConcat, exp.ArrayAppend, exp.ArrayPrepend),
    *(exp.JSONObject, exp.JSONArray, exp.ArrayToString),
)
DOUBLES = ("hex", "quote", "json_quote")
WIDE_FORMAT = re.compile(r"\*|\d{4}|\{[^}]*\{")  # the last: DuckDB takes a width from an argument
COARSE = re.compile(r"^\s*\d{0,4}\s*(day|week|month|quarter|year|decade|hour)s?\s*$", re.IGNORECASE)


def check_size(node: exp.Expr) -> None:
    if isinstance(node, exp.Repeat):
        check_length(node, node.args.get("times"))
    elif isinstance(node, exp.Pad):
        check_length(node, node.expression)
    elif isinstance(node, exp.Format) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in ("printf", "format")
    ):
        check_format(node)
    elif isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
        check_series(node)


def check_length(node: exp.Expr, size: object) -> None:
    number = number_of(size)
    if number is None or number > LONGEST:
        raise StatementDenied(f"{node.key.upper()} needs a length written as a number, at most {LONGEST:,}")


def check_format(node: exp.Expr) -> None:
    pattern = node.this if isinstance(node, exp.Format) else next(iter(node.expressions), None)
    if not (isinstance(pattern, exp.Literal) and pattern.is_string) or WIDE_FORMAT.search(pattern.this):
        raise StatementDenied("FORMAT needs a pattern written as a text, without a width of four digits or *")


def check_series(node: exp.Expr) -> None:
    """Numbers must be literal and not too far apart; times need a step of an hour or more."""
    step = node.args.get("step")
    if isinstance(step, (exp.Interval, exp.Cast)):
        if is_coarse(step):
            return
        raise StatementDenied("GENERATE_SERIES over time needs a step such as INTERVAL '1 day', an hour or more")
    start, end, by = number_of(node.args.get("start")), number_of(node.args.get("end")), number_of(step)
    if start is None or end is None or (step is not None and not by):
        raise StatementDenied("GENERATE_SERIES needs its bounds and its step written as numbers")
    if abs(end - start) / abs(by or 1) > MOST_STEPS:
        raise StatementDenied(f"GENERATE_SERIES gives more than {MOST_STEPS:,} rows; bring its bounds closer")


def is_coarse(step: exp.Expr) -> bool:
    unit = step.args.get("unit")
    if not isinstance(step.this, exp.Literal) or (isinstance(step, exp.Cast) and not step.is_type("interval")):
        return False
    text = f"{step.this.this} {unit.name if isinstance(unit, exp.Var) else ''}"
    return COARSE.match(text) is not None and not text.lstrip().startswith("0")


def number_of(node: object) -> float | None:
    if isinstance(node, exp.Neg):
        number = number_of(node.this)
        return None if number is None else -number
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return None


def check_growth_of(tree: exp.Expr) -> None:
    """Refuse a statement in which values may become too many times longer, through whatever subqueries and CTEs."""
    if longest_growth(tree, {}) > MOST_GROWTH:
        raise StatementDenied(
            f"it makes a text more than {MOST_GROWTH:,} times longer; use smaller numbers in REPEAT, LPAD and REPLACE,"
            " and join fewer texts"
        )


def longest_growth(query: exp.Expr, ctes: Mapping[str, float]) -> float:
    """How many times longer than the values it reads the values of a query may be."""
    known = dict(ctes)
    for cte in query.args["with_"].expressions if query.args.get("with_") else ():
        known[cte.alias.lower()] = longest_growth(cte.this, known)
    if isinstance(query, exp.SetOperation):
        return max(longest_growth(query.this, known), longest_growth(query.expression, known))
    inner = [longest_growth(each, known) for each in inner_queries(query)]
    named = [known.get(table.name.lower(), 1.0) for table in own_nodes(query) if isinstance(table, exp.Table)]
    own = [growth(each) for key, value in query.args.items() if key != "with_" for each in listed(value)]
    return max([1.0, *own]) * max([1.0, *inner, *named])


def own_nodes(query: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a query without those of queries within it and of its CTEs."""
    stack = [each for key, value in query.args.items() if key != "with_" for each in listed(value)]
    while stack:
        node = stack.pop()
        yield node
        if not is_query(node):
            stack += node.iter_expressions()


def inner_queries(query: exp.Expr) -> Iterator[exp.Expr]:
    yield from (node for node in own_nodes(query) if is_query(node))


def is_query(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Select, exp.SetOperation))


def listed(value: object) -> list[exp.Expr]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, exp.Expr)]


def growth(node: exp.Expr) -> float:
    """How many times longer than the values it is made of an expression may be."""
    if is_query(node):
        return 1.0
    inner = [growth(each) for each in node.iter_expressions()]
    whole = sum(inner) if isinstance(node, JOINS) or is_builder(node) else max([1.0, *inner])
    if isinstance(node, exp.Repeat):
        return max(1.0, number_of(node.args.get("times")) or 1.0) * whole
    if isinstance(node, exp.Pad):
        return max(1.0, number_of(node.expression) or 1.0, whole)
    if isinstance(node, (exp.Replace, exp.RegexpReplace)):
        return whole * replaced_growth(node)
    if isinstance(node, exp.Format) or (isinstance(node, exp.Anonymous) and node.name.lower() in ("printf", "format")):
        pattern = node.this if isinstance(node, exp.Format) else next(iter(node.expressions), None)
        return whole + sum(map(int, WIDTH.findall(pattern.name if isinstance(pattern, exp.Literal) else "")))
    return max(1.0, whole) * (2.0 if isinstance(node, exp.Anonymous) and node.name.lower() in DOUBLES else 1.0)


def is_builder(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and ("_build_" in node.name.lower() or node.name.lower() == "json_array")


def replaced_growth(node: exp.Expr) -> float:
    """Each match may be a single character, unless it is a longer literal."""
    new = node.args.get("replacement")
    if not isinstance(new, exp.Literal):
        return 1.0 if new is None else UNKNOWN
    old = node.expression
    is_plain = isinstance(node, exp.Replace) and isinstance(old, exp.Literal)
    return max(1.0, len(new.name) / max(1, len(old.name) if is_plain else 1))
