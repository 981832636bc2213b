"""Shapes: a question and its SQL with the literals taken out, so that what many ask can be seen without what anybody
asked. "sales in Berlin for 2023" and its statement become "sales in {{p1}} for {{p2}}". Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from recollect.apps.ask.patterns import normalize_question

LONG_NUMBER = re.compile(r"\d{5,}")  # may be somebody's
DATE = re.compile(r"^(\d{4})-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Shape:
    prompt: str
    sql: str
    parameters: tuple[dict[str, Any], ...]


def shape_of(question: str, sql: str, dialect: str) -> Shape | None:
    """None where a text of the statement is not in the question, so that nobody could say what it should be, or where a
    long number would stay in it. Numbers that are not in the question belong to the statement (LIMIT 5); days stay."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return None
    prompt = normalize_question(question)
    parameters: list[dict[str, Any]] = []
    for literal in list(tree.find_all(exp.Literal)):
        value = str(literal.this)
        said = (
            re.search(rf"(?<![\w.]){re.escape(normalize_question(value))}(?![\w.])", prompt)
            if normalize_question(value)
            else None
        )
        if said is None or DATE.match(value):
            if literal.is_string and not DATE.match(value):
                return None
            continue
        name = f"p{len(parameters) + 1}"
        prompt = f"{prompt[: said.start()]}{{{{{name}}}}}{prompt[said.end() :]}"
        literal.replace(exp.Literal.string(f"{{{{{name}}}}}"))
        parameters.append({"name": name, "type": "text" if literal.is_string else "number"})
    return None if LONG_NUMBER.search(prompt) else Shape(prompt, tree.sql(dialect=dialect), tuple(parameters))
