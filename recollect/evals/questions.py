"""Evaluation of asking a database in words: every question of a set is read, its SQL is run beside the gold SQL, and
the rows are compared (same_rows.py). What is asked back is counted apart from what is wrong: a wrong number that looks
right costs more than a question.

Who answers is handed in: `answer(question, state)`, with the state of the answer before it in the conversation. The
door (doors/cli/measure_questions.py) builds it; this room does not know how a question is read. Nothing is written:
the database is opened read-only.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.evals.question_file import Question, QuestionSet
from recollect.evals.same_rows import Row, same_rows

Verdict = Literal["right", "wrong", "clarified", "clarified as expected", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
STATEMENT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question: SQL, or what is asked back (a refusal too). `state` is for the question after it."""

    sql: str = ""
    asks: tuple[str, ...] = ()
    state: Any = None
    error: str = ""


Answer = Callable[[Question, Any], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Judged:
    question: Question
    verdict: Verdict
    outcome: Outcome
    detail: str = ""
    before: tuple[str, ...] = ()  # what was asked before it in the conversation
    after_right: bool = True  # the question before it was answered rightly

    def to_dict(self) -> dict[str, Any]:
        return {
            "ask": self.question.ask,
            "before": list(self.before),
            "verdict": self.verdict,
            "detail": self.detail,
            "sql": self.outcome.sql,
            "asks": list(self.outcome.asks),
            "gold": list(self.question.gold),
        }


@dataclass(slots=True)
class Result:
    """One set's verdicts, in the order asked."""

    name: str
    judged: list[Judged] = field(default_factory=list)
    seconds: float = 0.0

    def of(self, kind: str) -> list[Judged]:
        return [each for each in self.judged if kind in kinds(each)]

    def to_dict(self) -> dict[str, Any]:
        shown = ["asked first", "follow-ups", "not to be answered"]
        languages = sorted({each.question.language for each in self.judged} - {"en"})
        return {
            "set": self.name,
            **counted(self.judged),
            "ms_per_question": round(self.seconds * 1000 / max(len(self.judged), 1), 2),
            "by_kind": {kind: counted(self.of(kind)) for kind in [*shown, "follow-ups of right answers", *languages]},
            "questions": [each.to_dict() for each in self.judged],
        }


def kinds(judged: Judged) -> set[str]:
    question = judged.question
    found = {question.language}
    if not question.gold:
        return found | {"not to be answered"}
    if not question.step:
        return found | {"asked first"}
    return found | {"follow-ups"} | ({"follow-ups of right answers"} if judged.after_right else set())


def counted(judged: Sequence[Judged]) -> dict[str, Any]:
    """`right_share` is of the questions that have an answer, `wrong_share` of those that got one."""
    of = Counter(each.verdict for each in judged)
    answerable = sum(bool(each.question.gold) for each in judged)
    answered = of["right"] + of["wrong"]
    return {
        "asked": len(judged),
        **{verdict.replace(" ", "_"): of[verdict] for verdict in VERDICTS},
        "right_share": round(of["right"] / answerable, 4) if answerable else None,
        "wrong_share": round(of["wrong"] / answered, 4) if answered else None,
    }


async def evaluate(questions: QuestionSet, database: Path, answer: Answer) -> Result:
    result = Result(questions.name)
    with opened(database) as connection:
        for chain in questions.chains:
            result.judged += await asked(chain, connection, answer, result)
    return result


async def asked(
    chain: Sequence[Question], connection: sqlite3.Connection, answer: Answer, result: Result
) -> list[Judged]:
    """What a question leaves to the next, whether it was answered or not, is for whoever answers to say."""
    state, judged, was_right = None, list[Judged](), True
    for question in chain:
        started = time.process_time()
        outcome = await tried(answer, question, state)
        result.seconds += time.process_time() - started
        verdict, detail = judge(question, outcome, connection)
        before = tuple(each.ask for each in chain[: question.step])
        judged.append(Judged(question, verdict, outcome, detail, before, was_right))
        state = outcome.state
        was_right = verdict in ("right", "clarified as expected")
    return judged


async def tried(answer: Answer, question: Question, state: Any) -> Outcome:
    # Broad: whatever a reader of questions throws is a verdict on it, and the next question is still to be asked.
    try:
        return await answer(question, state)
    # Whatever a reader raises is what is being measured: its question failed, the others go on.
    except Exception as error:  # noqa: BLE001
        return Outcome(error=f"{type(error).__name__}: {error}")


def judge(question: Question, outcome: Outcome, connection: sqlite3.Connection) -> tuple[Verdict, str]:
    if outcome.error:
        return "failed", outcome.error
    if not outcome.sql:
        return ("clarified" if question.gold else "clarified as expected"), "; ".join(outcome.asks)
    if not question.gold:
        return "wrong", "answered, and should have asked"
    try:
        found = fetched(connection, outcome.sql)
    except sqlite3.Error as error:
        return "failed", str(error)
    golds = {gold: fetched(connection, gold) for gold in question.gold}
    same = [gold for gold, rows in golds.items() if same_rows(rows, found, ordered=question.ordered)]
    if any(figures(outcome.sql) <= max(1, figures(gold)) for gold in same):
        return "right", ""
    if same:
        return "wrong", "shows figures that nobody asked for"
    expected = next(iter(golds.values()))
    return "wrong", f"{len(found)} rows, {brief(found)}; expected {len(expected)}, {brief(expected)}"


def figures(sql: str) -> int:
    """How many aggregates a query shows. One more than asked for is no label: it is a guess beside the answer."""
    from sqlglot import exp, parse_one

    query = parse_one(sql, read="sqlite")
    return sum(shown.find(exp.AggFunc) is not None for shown in query.selects) if isinstance(query, exp.Query) else 0


def brief(rows: Sequence[Row]) -> str:
    return ", ".join(str(tuple(row[:4])) for row in rows[:2]) or "none"


def fetched(connection: sqlite3.Connection, sql: str) -> list[Row]:
    """Interrupted after a while: a join that was forgotten must not stop the evaluation."""
    until = time.monotonic() + STATEMENT_SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > until), 100_000)
    return connection.execute(sql).fetchall()


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    if not database.is_file():
        raise InvalidInput("dsn", f"there is no SQLite file at {database}")
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def sqlite_file(dsn: str) -> Path:
    """Of sqlite:///relative/path.sqlite or sqlite:////absolute/path.sqlite."""
    if not dsn.startswith("sqlite:///") or dsn == "sqlite:///":
        raise InvalidInput("dsn", f"{dsn!r}: gold SQL is run on SQLite, so give sqlite:///FILE")
    return Path(dsn.removeprefix("sqlite:///"))
