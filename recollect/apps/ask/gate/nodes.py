"""Every node of a statement against the lists: what is not on them is refused, wherever it stands.

Called by gate_checks before names are looked at. Besides the kind of a node, its texts are checked: sqlglot writes some
of them out as they are, so none may hold anything but a plain word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from recollect.apps.ask.gate.allow_lists import Lists
from recollect.apps.ask.gate.bounds import check_size
from recollect.errors import StatementDenied

MOST_NODES = 6_000
PLAIN = re.compile(r"[A-Za-z0-9_ ]*")
UNQUOTED = re.compile(r"[^\W\d][\w$]*")
ODD_IN_NAME = re.compile(r"[\"`\]\\]")
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
SAID = {"delete": "DELETE", "insert": "INSERT", "update": "UPDATE", "merge": "MERGE", "into": "INTO", "copy": "COPY"}


def check_nodes(tree: exp.Expr, lists: Lists, backslash: bool) -> None:
    """`backslash`: whether it is an ordinary character in this dialect's strings."""
    for count, node in enumerate(tree.walk(bfs=False)):
        if count > MOST_NODES:
            raise StatementDenied(f"it has more than {MOST_NODES:,} parts; ask for less at once")
        check_kind(node, lists)
        check_parts(node, lists.dialect)
        check_strings(node, backslash)
        check_size(node)


def check_kind(node: exp.Expr, lists: Lists) -> None:
    if stands_in_from(node):
        name = function_name(node)
        if name not in lists.table_functions or (node.parent and node.parent.args.get("db")):
            raise StatementDenied(f"the function {written(node, lists.dialect)} may not stand in FROM")
    elif isinstance(node, exp.Anonymous):
        if node.name.lower() not in lists.functions:
            raise StatementDenied(f"the function {node.name[:60]} is not on the list of allowed functions")
    elif node.key not in lists.nodes or isinstance(node, exp.Unnest):
        raise StatementDenied(refusal(node, lists.dialect))
    elif isinstance(node, exp.Var) and not isinstance(node.parent, WORDY) and node.name.upper() not in lists.words:
        raise StatementDenied(f"{node.name[:60]} is no part of a time that is known here")
    elif isinstance(node, exp.DataType) and node.this.name not in lists.types:
        raise StatementDenied(f"the type {written(node, lists.dialect)} is not on the list of allowed types")


def stands_in_from(node: exp.Expr) -> bool:
    """A function where a table could stand."""
    if not isinstance(node, exp.Func):
        return False
    if isinstance(node, exp.Unnest) and isinstance(node.parent, (exp.From, exp.Join)):
        return True
    return isinstance(node.parent, (exp.Table, exp.Lateral)) and node.arg_key == "this"


def function_name(node: exp.Expr) -> str:
    if isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
        return "generate_series"
    return node.name.lower() if isinstance(node, exp.Anonymous) else node.key


def refusal(node: exp.Expr, dialect: str) -> str:
    text = written(node, dialect)
    if isinstance(node, exp.Dot):
        return f"{text}: a function with a schema, or a part of a row, is not allowed"
    if isinstance(node, (exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        return f"the placeholder {text} has no value; write the value itself"
    if isinstance(node, exp.Func):
        return f"the function {text} is not on the list of allowed functions"
    return f"{SAID.get(node.key, text)} is not allowed in a statement that only reads"


def written(node: exp.Expr, dialect: str = "") -> str:
    """The node as a person would recognise it, in short."""
    text = " ".join(node.sql(dialect, comments=False).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def check_parts(node: exp.Expr, dialect: str) -> None:
    for kind, parts in PARTS.items():
        if isinstance(node, kind):
            for name, value in node.args.items():
                if value and name not in parts:
                    raise StatementDenied(part_refusal(node, name, value, dialect))


def part_refusal(node: exp.Expr, name: str, value: object, dialect: str) -> str:
    first = value[0] if isinstance(value, list) else value
    if isinstance(first, exp.Lock):
        return f"{written(first, dialect)} locks rows; that is not allowed"
    if isinstance(first, exp.Into):
        return f"{written(first, dialect)} writes a table; that is not allowed"
    if value == "NATURAL":
        return "NATURAL JOIN hides what is compared; name the columns with ON or USING"
    said = written(first, dialect) if isinstance(first, exp.Expr) else name.strip("_").upper()
    return f"{said} is not allowed in {node.key.upper()}"


def check_strings(node: exp.Expr, backslash: bool) -> None:
    if isinstance(node, exp.Identifier):
        check_name(node)
    elif isinstance(node, exp.Literal):
        if node.is_string and not backslash and "\\" in node.this:
            raise StatementDenied(f"the text {node.this[:40]!r} holds a backslash, which databases read differently")
    elif not isinstance(node, (exp.JSONPathKey, exp.Anonymous)):
        for text in texts(node):
            if not PLAIN.fullmatch(text):
                raise StatementDenied(f"{text[:60]!r} is not a plain word")


def texts(node: exp.Expr) -> Iterator[str]:
    for value in node.args.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))


def check_name(name: exp.Identifier) -> None:
    if not name.this:
        raise StatementDenied("a name is empty")
    if not name.quoted and not UNQUOTED.fullmatch(name.this):
        raise StatementDenied(f"the name {name.this[:60]} needs double quotes")
    if ODD_IN_NAME.search(name.this):
        raise StatementDenied(f"the name {name.this[:60]} holds a quote or a backslash")
