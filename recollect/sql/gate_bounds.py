"""Functions that can make something huge out of little: allowed with a literal size, within bounds.

Called by gate_nodes for each node.
"""

from __future__ import annotations

import re

from sqlglot import exp

from recollect.errors import StatementDenied

LONGEST = 1_000  # characters that a function may make out of a number
MOST_STEPS = 10_000  # rows of a generate_series of numbers
WIDE_FORMAT = re.compile(r"\*|\d{4}")
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
