"""`python -m bench questions FILE.toml --dsn sqlite:///FILE`: questions to a database, answered without a model.

The semantic model is drafted from the database, and each question of the set (question_file.py) is read and rendered as
over HTTP. Its SQL and the gold SQL are run read-only, and the rows are compared (same_rows.py). Clarifications are
counted separately from wrong answers, because a wrong number that looks right costs more than a question back.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from bench.question_file import Definition, Question, QuestionSet, read_questions
from bench.same_rows import Row, same_rows
from recollect.apps.ask.candidates.interpretation import interpret_question
from recollect.apps.ask.memories.vocabulary import build_vocabulary
from recollect.apps.ask.question import SessionContext
from recollect.apps.ask.semantic.access import EVERYTHING
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.source import Source, open_source
from recollect.cli.options import Json
from recollect.cli.output import make_text, print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.errors import InvalidInput
from recollect.values.resolution import PROJECT, Resolution

Verdict = Literal["right", "wrong", "clarified", "clarified as expected", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
STATEMENT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a question: SQL, or clarifications (or a refusal). `state` is passed to the next question."""

    sql: str = ""
    asks: tuple[str, ...] = ()
    state: Any = None
    error: str = ""


Answer = Callable[[Question, Any], Awaitable[Outcome]]


COLUMNS = ("asked", "right", "wrong", "clarified", "clarified_as_expected", "failed")
SHARES = ("right_share", "wrong_share")
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="TOML, questions with gold SQL.", exists=True, dir_okay=False)
]
Dsn = Annotated[str, typer.Option("--dsn", help="The database: sqlite:///FILE.")]
ShowClarified = Annotated[bool, typer.Option("--asked", help="Also list the clarifications.")]


def questions(files: Files, dsn: Dsn, asked: ShowClarified = False, json: Json = False) -> None:
    """Ask the questions of each file, run the SQL and the gold SQL, compare the rows. Writes nothing."""

    async def run() -> None:
        database, sets = parse_sqlite_path(dsn), [read_questions(path) for path in files]
        source = await open_source(dsn, rules=LOCAL_RULES)
        try:
            catalog = await source.read_catalog()
            for each in sets:
                result = (await evaluate(each, database, make_answerer(source, catalog, each))).to_dict()
                if json:
                    print_json(result)
                else:
                    show(result, asked)
        finally:
            await source.close()

    asyncio.run(run())


def make_answerer(source: Source, catalog: Catalog, question_set: QuestionSet) -> Answer:
    """Return a function that interprets a question over the drafted model as the analyst does. The state is the frame
    of the last question that was answered."""
    view = View(catalog, draft_model(catalog), EVERYTHING)

    async def answer(question: Question, last: Any) -> Outcome:
        resolutions = resolve_definitions(question.known)
        taught = build_vocabulary(question.ask, resolutions, (), SessionContext(), view.index, question_set.today)
        found = await interpret_question(
            source, view, question.ask, taught.vocabulary, last=last, today=question_set.today, user=None
        )
        if found.decision.kind in ("answer", "assume"):
            best = found.decision.candidates[0]
            return Outcome(best.sql, state=best.frame)
        asks = tuple(each.label for each in found.decision.candidates)
        return Outcome(asks=asks or found.missing or ("?",), state=last)

    return answer


def resolve_definitions(definitions: Sequence[Definition]) -> list[Resolution]:
    """Return the definitions as if the project's memory had resolved them."""
    return [
        Resolution(name, each.means or f"{name} {each.table}", "project", PROJECT, "taught", sql=each.condition or None)
        for each in definitions
        for name in each.names
    ]


def show(result: Mapping[str, Any], with_clarified: bool) -> None:
    table = make_table("", *(name.replace("_", " ") for name in (*COLUMNS, *SHARES)), title=result["set"])
    for name, counts in [*result["by_kind"].items(), ("all", result)]:
        if name == "all":
            table.add_section()
        shares = ["" if counts[share] is None else f"{counts[share]:.3f}" for share in SHARES]
        table.add_row(name, *(str(counts[column]) for column in COLUMNS), *shares)
    console = stdout_console()
    console.print(table)
    console.print(f"{result['ms_per_question']:.1f} ms of CPU per question", style="dim")
    listed = ("wrong", "failed", "clarified") if with_clarified else ("wrong", "failed")
    for each in result["questions"]:
        if each["verdict"] in listed:
            show_verdict(each)


def show_verdict(judged: Mapping[str, Any]) -> None:
    console = stdout_console()
    console.print()
    console.print(make_text(f"{judged['verdict']}: {' > '.join([*judged['before'], judged['ask']])}"))
    gold = judged["gold"] and f"gold: {judged['gold'][0]}"
    for text in filter(None, [judged["detail"], judged["sql"] and f"SQL: {judged['sql']}", gold]):
        console.print(make_text(f"  {text}", "dim"), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Judged:
    question: Question
    verdict: Verdict
    outcome: Outcome
    detail: str = ""
    before: tuple[str, ...] = ()  # the questions before it in the conversation
    after_right: bool = True  # the question before it was answered correctly

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
    """Verdicts of one set, in the order of its questions."""

    name: str
    judged: list[Judged] = field(default_factory=list)
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        shown = ["asked first", "follow-ups", "not to be answered"]
        languages = sorted({each.question.language for each in self.judged} - {"en"})
        return {
            "set": self.name,
            **count_verdicts(self.judged),
            "ms_per_question": round(self.seconds * 1000 / max(len(self.judged), 1), 2),
            "by_kind": {
                kind: count_verdicts([each for each in self.judged if kind in list_kinds(each)])
                for kind in [*shown, "follow-ups of right answers", *languages]
            },
            "questions": [each.to_dict() for each in self.judged],
        }


def list_kinds(judged: Judged) -> set[str]:
    question = judged.question
    found = {question.language}
    if not question.gold:
        return found | {"not to be answered"}
    if not question.step:
        return found | {"asked first"}
    return found | {"follow-ups"} | ({"follow-ups of right answers"} if judged.after_right else set())


def count_verdicts(judged: Sequence[Judged]) -> dict[str, Any]:
    """`right_share` is the share of answerable questions, `wrong_share` that of answered questions."""
    counts = Counter(each.verdict for each in judged)
    answerable = sum(bool(each.question.gold) for each in judged)
    answered = counts["right"] + counts["wrong"]
    return {
        "asked": len(judged),
        **{verdict.replace(" ", "_"): counts[verdict] for verdict in VERDICTS},
        "right_share": round(counts["right"] / answerable, 4) if answerable else None,
        "wrong_share": round(counts["wrong"] / answered, 4) if answered else None,
    }


async def evaluate(questions: QuestionSet, database: Path, answer: Answer) -> Result:
    result = Result(questions.name)
    with open_database(database) as connection:
        for chain in questions.chains:
            result.judged += await ask_chain(chain, connection, answer, result)
    return result


async def ask_chain(
    chain: Sequence[Question], connection: sqlite3.Connection, answer: Answer, result: Result
) -> list[Judged]:
    """Ask a question and its follow-ups; each gets the state that the one before returned."""
    state, judged, was_right = None, list[Judged](), True
    for question in chain:
        started = time.process_time()
        try:
            outcome = await answer(question, state)
        # Whatever the reader raises is a verdict on this question; the others are still asked.
        except Exception as error:  # noqa: BLE001
            outcome = Outcome(error=f"{type(error).__name__}: {error}")
        result.seconds += time.process_time() - started
        verdict, detail = judge(question, outcome, connection)
        before = tuple(each.ask for each in chain[: question.step])
        judged.append(Judged(question, verdict, outcome, detail, before, was_right))
        state = outcome.state
        was_right = verdict in ("right", "clarified as expected")
    return judged


def judge(question: Question, outcome: Outcome, connection: sqlite3.Connection) -> tuple[Verdict, str]:
    if outcome.error:
        return "failed", outcome.error
    if not outcome.sql:
        return ("clarified" if question.gold else "clarified as expected"), "; ".join(outcome.asks)
    if not question.gold:
        return "wrong", "answered, but a clarification was expected"
    try:
        found = fetch_rows(connection, outcome.sql)
    except sqlite3.Error as error:
        return "failed", str(error)
    golds = {gold: fetch_rows(connection, gold) for gold in question.gold}
    same = [gold for gold, rows in golds.items() if same_rows(rows, found, ordered=question.ordered)]
    if any(count_aggregates(outcome.sql) <= max(1, count_aggregates(gold)) for gold in same):
        return "right", ""
    if same:
        return "wrong", "shows figures that were not asked for"
    expected = next(iter(golds.values()))
    return "wrong", f"{len(found)} rows, {format_rows(found)}; expected {len(expected)}, {format_rows(expected)}"


def count_aggregates(sql: str) -> int:
    """Return the number of aggregates in the select list. More than in the gold SQL means guessing."""
    from sqlglot import exp, parse_one

    query = parse_one(sql, read="sqlite")
    return sum(shown.find(exp.AggFunc) is not None for shown in query.selects) if isinstance(query, exp.Query) else 0


def format_rows(rows: Sequence[Row]) -> str:
    return ", ".join(str(tuple(row[:4])) for row in rows[:2]) or "none"


def fetch_rows(connection: sqlite3.Connection, sql: str) -> list[Row]:
    """Run a query with a time limit: a missing join must not stop the evaluation."""
    until = time.monotonic() + STATEMENT_SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > until), 100_000)
    return connection.execute(sql).fetchall()


@contextmanager
def open_database(database: Path) -> Iterator[sqlite3.Connection]:
    if not database.is_file():
        raise InvalidInput("dsn", f"there is no SQLite file at {database}")
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def parse_sqlite_path(dsn: str) -> Path:
    """Return the path of sqlite:///relative/path.sqlite or sqlite:////absolute/path.sqlite."""
    if not dsn.startswith("sqlite:///") or dsn == "sqlite:///":
        raise InvalidInput("dsn", f"{dsn!r}: gold SQL is run on SQLite, so use sqlite:///FILE")
    return Path(dsn.removeprefix("sqlite:///"))
