"""Check every node of a statement against the lists in functions.toml: what is not listed is refused.

`check_nodes` applies RULES to each node, before any name is looked up. Besides the kind of a node, its texts are
checked, because sqlglot writes some of them out unchanged. Functions that can make much out of little need a literal
size; functions that are each within bounds multiply where one is applied to the result of another, so `check_growth`
looks at the whole statement.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod

from sqlglot import exp

from recollect.errors import StatementDenied

MOST_NODES = 6_000
LONGEST = 1_000  # characters that a function may make out of a number
MOST_STEPS = 10_000  # rows of a generate_series of numbers
MOST_GROWTH = 10_000  # times that a value may become longer in a whole statement
UNKNOWN = 30  # times that a text may become longer where each match is replaced by the value of a column
BACKSLASH_IS_PLAIN = {"sqlite", "postgres", "duckdb"}  # in '...'
PLAIN = re.compile(r"[A-Za-z0-9_ ]*")
UNQUOTED = re.compile(r"[^\W\d][\w$]*")
ODD_IN_NAME = re.compile(r"[\"`\]\\]")
WIDTH = re.compile(r"\d+")
WIDE_FORMAT = re.compile(r"\*|\d{4}|\{[^}]*\{")  # the last: DuckDB takes a width from an argument
COARSE = re.compile(r"^\s*\d{0,4}\s*(day|week|month|quarter|year|decade|hour)s?\s*$", re.IGNORECASE)
SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)
WORDY = (exp.Kwarg, exp.Collate, exp.WindowSpec, exp.Limit)  # where a word is no name of a column
QUERY = {"with_", "order", "limit", "offset"}
PARTS: dict[type[exp.Expr], set[str]] = {  # what these may be made of; the rest is locks, samples, pivots, hints
    exp.Select: QUERY | {"expressions", "distinct", "from_", "joins", "where", "group", "having", "qualify", "windows"},
    exp.SetOperation: QUERY | {"this", "expression", "distinct"},
    exp.Subquery: QUERY | {"this", "alias"},
    exp.Table: {"this", "db", "catalog", "alias", "joins", "ordinality"},
    exp.Join: {"this", "on", "side", "kind", "using"},
    exp.Lateral: {"this", "alias", "ordinality"},
    exp.Unnest: {"expressions", "alias", "offset"},
    exp.With: {"expressions", "recursive"},
    exp.Star: set(),
}
STATEMENTS = {"delete", "insert", "update", "merge", "into", "copy"}  # named in a refusal by their first word
REASONS: dict[type[exp.Expr], str] = {  # why a kind of node is refused, the first that fits
    exp.Dot: "{}: a function with a schema, or a part of a row, is not allowed",
    **dict.fromkeys(
        (exp.Placeholder, exp.Parameter, exp.SessionParameter),
        "the placeholder {} has no value; write the value itself",
    ),
    exp.Func: "the function {} is not on the list of allowed functions",
    exp.Expr: "{} is not allowed in a statement that only reads",
}
# Functions whose result is as long as all that goes into it; of others, as the longest.
JOINS = (
    *(exp.DPipe, exp.Concat, exp.ConcatWs, exp.Format, exp.Array, exp.ArrayConcat, exp.ArrayAppend, exp.ArrayPrepend),
    *(exp.JSONObject, exp.JSONArray, exp.ArrayToString),
)
BUILDER = re.compile(r"_build_|^json_array$")  # the same, by name
GROWING = (exp.Repeat, exp.Pad, exp.Replace, exp.RegexpReplace, exp.Format, exp.Anonymous)
DOUBLES = ("hex", "quote", "json_quote")
SOURCES = (exp.With, exp.CTE, exp.From, exp.Join)


@dataclass(frozen=True, slots=True)
class AllowLists:
    dialect: str
    nodes: frozenset[str]
    types: frozenset[str]
    words: frozenset[str]
    functions: frozenset[str]
    table_functions: Mapping[str, tuple[str, ...]]  # with the columns they return


@cache
def load_allow_lists(dialect: str) -> AllowLists:
    """Return the lists for a dialect as sqlglot names it."""
    data = tomllib.loads(files("recollect.apps.ask.gate").joinpath("functions.toml").read_text("utf-8"))
    functions = data["functions"].get(dialect, [])
    nodes, types, words = frozenset([*data["nodes"], *functions]), frozenset(data["types"]), frozenset(data["words"])
    table_functions = {name: tuple(columns) for name, columns in data["table_functions"].get(dialect, {}).items()}
    return AllowLists(dialect, nodes, types, words, frozenset(functions), table_functions)


def check_nodes(tree: exp.Expr, lists: AllowLists) -> None:
    """Raise StatementDenied for the first node that a rule refuses."""
    for count, node in enumerate(tree.walk(bfs=False)):
        if count > MOST_NODES:
            raise StatementDenied(f"it has more than {MOST_NODES:,} parts; ask for less at once")
        kind: type = type(node)
        for refuse in list_rules(kind):
            if reason := refuse(node, lists):
                raise StatementDenied(reason)


@cache
def list_rules(kind: type) -> list[Callable[[exp.Expr, AllowLists], str | None]]:
    """Return the rules for nodes of one kind, in order."""
    return [refuse for kinds, refuse in RULES if issubclass(kind, kinds)]


def is_table_function(node: exp.Expr) -> bool:
    """Whether a node is a function in a place where a table could be."""
    if isinstance(node, exp.Unnest) and isinstance(node.parent, (exp.From, exp.Join)):
        return True
    is_source = isinstance(node.parent, (exp.Table, exp.Lateral)) and node.arg_key == "this"
    return is_source and isinstance(node, exp.Func)


def name_function(node: exp.Expr) -> str:
    if isinstance(node, SERIES):
        return "generate_series"
    return node.name.lower() if isinstance(node, exp.Anonymous) else node.key


def shorten(node: exp.Expr, dialect: str = "") -> str:
    """Return the SQL of a node for an error message."""
    text = " ".join(node.sql(dialect, comments=False).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


# Rules: each returns why a node is refused, or nothing ----------------------------------------------------------------


def _refuse_table_function(node: exp.Expr, lists: AllowLists) -> str | None:
    if not is_table_function(node):
        return None
    is_listed = name_function(node) in lists.table_functions and not (node.parent and node.parent.args.get("db"))
    return None if is_listed else f"the function {shorten(node, lists.dialect)} may not be used in FROM"


def _refuse_kind(node: exp.Expr, lists: AllowLists) -> str | None:
    if isinstance(node, exp.Anonymous):
        is_listed = node.name.lower() in lists.functions
    else:
        is_listed = node.key in lists.nodes and not isinstance(node, exp.Unnest)
    if is_listed or is_table_function(node):  # these have a rule of their own
        return None
    text = node.key.upper() if node.key in STATEMENTS else shorten(node, lists.dialect)
    return next(reason for kind, reason in REASONS.items() if isinstance(node, kind)).format(text)


def _refuse_word(node: exp.Expr, lists: AllowLists) -> str | None:
    is_known = isinstance(node.parent, WORDY) or node.name.upper() in lists.words
    return None if is_known else f"{node.name[:60]} is not a known unit of time"


def _refuse_type(node: exp.Expr, lists: AllowLists) -> str | None:
    is_listed = node.this.name in lists.types
    return None if is_listed else f"the type {shorten(node, lists.dialect)} is not on the list of allowed types"


def _refuse_parts(node: exp.Expr, lists: AllowLists) -> str | None:
    known = next(parts for kind, parts in PARTS.items() if isinstance(node, kind))
    for name, value in node.args.items():
        if value and name not in known:
            return _explain_part(node, name, value, lists.dialect)
    return None


def _explain_part(node: exp.Expr, name: str, value: object, dialect: str) -> str:
    first = value[0] if isinstance(value, list) else value
    if value == "NATURAL":
        return "NATURAL JOIN hides what is compared; name the columns with ON or USING"
    text = shorten(first, dialect) if isinstance(first, exp.Expr) else name.strip("_").upper()
    if isinstance(first, exp.Lock):
        return f"{text} locks rows; that is not allowed"
    if isinstance(first, exp.Into):
        return f"{text} writes a table; that is not allowed"
    return f"{text} is not allowed in {node.key.upper()}"


def _refuse_name(node: exp.Expr, lists: AllowLists) -> str | None:
    if not node.this:
        return "a name is empty"
    if not node.args.get("quoted") and not UNQUOTED.fullmatch(node.this):
        return f"the name {node.this[:60]} needs double quotes"
    return f"the name {node.this[:60]} holds a quote or a backslash" if ODD_IN_NAME.search(node.this) else None


def _refuse_text(node: exp.Expr, lists: AllowLists) -> str | None:
    is_plain = not node.is_string or "\\" not in node.this or lists.dialect in BACKSLASH_IS_PLAIN
    return None if is_plain else f"the text {node.this[:40]!r} holds a backslash, which databases read differently"


def _refuse_words(node: exp.Expr, lists: AllowLists) -> str | None:
    if isinstance(node, (exp.Identifier, exp.Literal, exp.JSONPathKey, exp.Anonymous)):
        return None
    for value in node.args.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not PLAIN.fullmatch(text):
                return f"{text[:60]!r} is not a plain word"
    return None


def _refuse_length(node: exp.Expr, lists: AllowLists) -> str | None:
    number = read_number(node.args.get("times") if isinstance(node, exp.Repeat) else node.expression)
    is_small = number is not None and number <= LONGEST
    return None if is_small else f"{node.key.upper()} needs a length written as a number, at most {LONGEST:,}"


def _refuse_format(node: exp.Expr, lists: AllowLists) -> str | None:
    pattern = _find_pattern(node)
    is_text = isinstance(pattern, exp.Literal) and pattern.is_string
    is_safe = pattern is None or (is_text and not WIDE_FORMAT.search(pattern.name))
    return None if is_safe else "FORMAT needs a pattern written as a text, without a width of four digits or *"


def _refuse_series(node: exp.Expr, lists: AllowLists) -> str | None:
    """Numbers must be literal and not too far apart; times need a step of an hour or more."""
    step = node.args.get("step")
    if isinstance(step, (exp.Interval, exp.Cast)):
        is_coarse = _is_coarse(step)
        return None if is_coarse else "GENERATE_SERIES over time needs a step such as INTERVAL '1 day', an hour or more"
    start, end, by = (read_number(each) for each in (node.args.get("start"), node.args.get("end"), step))
    if start is None or end is None or (step is not None and not by):
        return "GENERATE_SERIES needs its bounds and its step written as numbers"
    is_short = abs(end - start) / abs(by or 1) <= MOST_STEPS
    return None if is_short else f"GENERATE_SERIES gives more than {MOST_STEPS:,} rows; bring its bounds closer"


Kinds = type[exp.Expr] | tuple[type[exp.Expr], ...]
RULES: tuple[tuple[Kinds, Callable[[exp.Expr, AllowLists], str | None]], ...] = (
    ((exp.Func, exp.Unnest), _refuse_table_function),
    (exp.Expr, _refuse_kind),
    (exp.Var, _refuse_word),
    (exp.DataType, _refuse_type),
    (tuple(PARTS), _refuse_parts),
    (exp.Identifier, _refuse_name),
    (exp.Literal, _refuse_text),
    (exp.Expr, _refuse_words),
    ((exp.Repeat, exp.Pad), _refuse_length),
    ((exp.Format, exp.Anonymous), _refuse_format),
    (SERIES, _refuse_series),
)


def _find_pattern(node: exp.Expr) -> exp.Expr | None:
    """Return the pattern of a FORMAT or PRINTF, NULL if it has none; None for any other node."""
    if isinstance(node, exp.Format):
        return node.this or exp.Null()
    is_format = isinstance(node, exp.Anonymous) and node.name.lower() in ("printf", "format")
    return next(iter(node.expressions), exp.Null()) if is_format else None


def _is_coarse(step: exp.Expr) -> bool:
    unit = step.args.get("unit")
    if not isinstance(step.this, exp.Literal) or (isinstance(step, exp.Cast) and not step.is_type("interval")):
        return False
    text = f"{step.this.this} {unit.name if isinstance(unit, exp.Var) else ''}"
    return COARSE.match(text) is not None and not text.lstrip().startswith("0")


def read_number(node: object) -> float | None:
    """Return the number that a literal is, with its sign; None for anything else."""
    if isinstance(node, exp.Neg):
        number = read_number(node.this)
        return None if number is None else -number
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


# Growth ---------------------------------------------------------------------------------------------------------------


def check_growth(tree: exp.Expr) -> None:
    """Refuse a statement in which values may become too many times longer, through whatever subqueries and CTEs."""
    if _rate(tree) > MOST_GROWTH:
        raise StatementDenied(
            f"it makes a text more than {MOST_GROWTH:,} times longer; use smaller numbers in REPEAT, LPAD and REPLACE,"
            " and join fewer texts"
        )


def _rate(node: exp.Expr) -> float:
    """Return how many times longer than the values it is made of a value of a node may be. What a query selects from is
    made of longer values already; each CTE may read the one before."""
    sources, values = [1.0], [1.0]
    for child in node.iter_expressions():
        (sources if isinstance(child, SOURCES) else values).append(_rate(child))
    joins = isinstance(node, JOINS) or (isinstance(node, exp.Anonymous) and BUILDER.search(node.name.lower()))
    whole = max(1.0, sum(values) - 1.0) if joins else max(values)
    return (_rate_function(node, whole) if isinstance(node, GROWING) else whole) * prod(sources)


def _rate_function(node: exp.Expr, whole: float) -> float:
    match node:
        case exp.Repeat():
            return max(1.0, read_number(node.args.get("times")) or 1.0) * whole
        case exp.Pad():
            return max(read_number(node.expression) or 1.0, whole)
        case exp.Replace() | exp.RegexpReplace():
            return whole * _rate_replacement(node)
    if isinstance(pattern := _find_pattern(node), exp.Literal):
        return whole + sum(map(int, WIDTH.findall(pattern.name)))
    return whole * (2.0 if node.name.lower() in DOUBLES else 1.0)


def _rate_replacement(node: exp.Expr) -> float:
    """Each match may be a single character, unless it is a longer literal."""
    new, old = node.args.get("replacement"), node.expression
    if not isinstance(new, exp.Literal):
        return 1.0 if new is None else UNKNOWN
    is_plain = isinstance(node, exp.Replace) and isinstance(old, exp.Literal)
    return max(1.0, len(new.name) / max(1, len(old.name) if is_plain else 1))
