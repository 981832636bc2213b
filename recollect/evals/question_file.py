"""Question sets: what is asked of a database, and what is right. TOML, read by evals/questions.py.

    today = 2025-12-31                  # what "last month" is counted from

    [[definition]]                      # what somebody taught; questions say which of it is known to them
    names = ["active"]
    table = "customers"
    condition = "last_login_at >= '2025-12-01'"

    [[question]]
    ask = "How many customers are there?"
    gold = "SELECT count(*) FROM customers"     # or a list, where several answers are right

    [[question.then]]                   # what is asked next, in the same conversation
    ask = "And in the north?"
    gold = "SELECT ..."

    [[question]]
    ask = "How many of them are happy?"
    expect = "clarify"                  # to be asked back or refused: the data does not say it

`ordered = true` where the order of the rows is part of the answer; `known = ["active"]` for a definition by its first
name; `language = "zh"` to count a question apart. Another word for a table or a column is a definition that `means` it:
`names = ["地区"]`, `means = "regions"`, or `means = "sales.amount"`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput

OF_A_QUESTION = {"ask", "gold", "expect", "ordered", "known", "language", "then"}


@dataclass(frozen=True, slots=True)
class Taught:
    """A word: a condition on a table, or another name of a table or of a `table.column`."""

    names: tuple[str, ...]
    table: str = ""
    condition: str = ""
    means: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` is empty where the question must not be answered. `step` is 0, or the place among the follow-ups."""

    ask: str
    gold: tuple[str, ...] = ()
    ordered: bool = False
    known: tuple[Taught, ...] = ()
    language: str = "en"
    step: int = 0


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    today: date
    chains: tuple[tuple[Question, ...], ...]  # a question and what follows it

    @property
    def questions(self) -> list[Question]:
        return [question for chain in self.chains for question in chain]


def read(path: Path) -> QuestionSet:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("file", f"{path} is not TOML: {error}") from None
    try:
        taught = {each.names[0]: each for each in map(taught_from, data.get("definition", ()))}
        chains = tuple(chain_from(each, taught) for each in data.get("question", ()))
        return QuestionSet(path.stem, data.get("today") or date.today(), chains)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput("file", f"{path} is not a set of questions: {error}") from None


def taught_from(data: Mapping[str, Any]) -> Taught:
    return Taught(**{**data, "names": tuple(data["names"])})


def chain_from(data: Mapping[str, Any], taught: Mapping[str, Taught]) -> tuple[Question, ...]:
    """Follow-ups know what the question before them knew, and are asked in its language."""
    first = question_from(data, taught, Question(""), 0)
    return first, *(question_from(each, taught, first, n) for n, each in enumerate(data.get("then", ()), 1))


def question_from(data: Mapping[str, Any], taught: Mapping[str, Taught], first: Question, step: int) -> Question:
    if unknown := set(data) - OF_A_QUESTION:
        raise ValueError(f"{data.get('ask')!r} has {', '.join(sorted(unknown))}")
    gold = golds(data.get("gold", ()))
    if bool(gold) == (data.get("expect") == "clarify"):
        raise ValueError(f'{data["ask"]!r} needs either gold or expect = "clarify"')
    known = (*first.known, *(taught[name] for name in data.get("known", ())))
    language = data.get("language", first.language)
    return Question(data["ask"], gold, data.get("ordered", False), known, language, step)


def golds(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
