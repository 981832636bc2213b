"""Question sets: questions to a database with gold SQL, as TOML. `read_questions` reads one; questions.py asks them.

    today = 2025-12-31                  # the date that "last month" refers to

    [[definition]]                      # a taught meaning; `known` of a question names those it uses
    names = ["active"]
    table = "customers"
    condition = "last_login_at >= '2025-12-01'"

    [[question]]
    ask = "How many customers are there?"
    gold = "SELECT count(*) FROM customers"     # or a list, if several answers are right

    [[question.then]]                   # a follow-up in the same conversation
    ask = "And in the north?"
    gold = "SELECT ..."

    [[question]]
    ask = "How many of them are happy?"
    expect = "clarify"                  # expect a clarification or refusal: the data has no answer

`ordered = true` if the order of the rows is part of the answer; `known = ["active"]` for a definition by its first
name; `language = "zh"` to count a question separately. A synonym of a table or column is a definition with `means`:
`names = ["地区"]`, `means = "regions"`, or `means = "sales.amount"`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput

QUESTION_FIELDS = {"ask", "gold", "expect", "ordered", "known", "language", "then"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A taught word: a condition on a table, or a synonym of a table or `table.column`."""

    names: tuple[str, ...]
    table: str = ""
    condition: str = ""
    means: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` is empty if the question must not be answered. `step` is 0, or the number of the follow-up."""

    ask: str
    gold: tuple[str, ...] = ()
    ordered: bool = False
    known: tuple[Definition, ...] = ()
    language: str = "en"
    step: int = 0


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    today: date
    chains: tuple[tuple[Question, ...], ...]  # a question and its follow-ups

    @property
    def questions(self) -> list[Question]:
        return [question for chain in self.chains for question in chain]


def read_questions(path: Path) -> QuestionSet:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("file", f"{path} is not TOML: {error}") from None
    try:
        definitions = {each.names[0]: each for each in map(parse_definition, data.get("definition", ()))}
        chains = tuple(parse_chain(each, definitions) for each in data.get("question", ()))
        return QuestionSet(path.stem, data.get("today") or date.today(), chains)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("file", f"{path} is not a set of questions: {error}") from None


def parse_definition(data: Mapping[str, Any]) -> Definition:
    return Definition(**{**data, "names": tuple(data["names"])})


def parse_chain(data: Mapping[str, Any], definitions: Mapping[str, Definition]) -> tuple[Question, ...]:
    """Follow-ups use the definitions and the language of the first question."""
    first = parse_question(data, definitions, Question(""), 0)
    return first, *(parse_question(each, definitions, first, n) for n, each in enumerate(data.get("then", ()), 1))


def parse_question(
    data: Mapping[str, Any], definitions: Mapping[str, Definition], first: Question, step: int
) -> Question:
    if unknown := set(data) - QUESTION_FIELDS:
        raise ValueError(f"{data.get('ask')!r} has unknown fields: {', '.join(sorted(unknown))}")
    gold = data.get("gold", ())
    gold = (gold,) if isinstance(gold, str) else tuple(gold)
    if bool(gold) == (data.get("expect") == "clarify"):
        raise ValueError(f'{data["ask"]!r} needs either gold or expect = "clarify"')
    known = (*first.known, *(definitions[name] for name in data.get("known", ())))
    language = data.get("language", first.language)
    return Question(data["ask"], gold, data.get("ordered", False), known, language, step)
