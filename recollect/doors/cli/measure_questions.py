"""`recollect eval questions FILE.toml --dsn sqlite:///FILE`: how well a database is asked in words, without a model.

The database is read as for asking, its semantic model is drafted afresh, and each question of the set goes through the
same reading and rendering as a question over HTTP. What counts as right: evals/questions.py; the form of a set:
evals/question_file.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import paper, said, say_json
from recollect.doors.cli.tables import table

if TYPE_CHECKING:
    from recollect.evals.question_file import Question, QuestionSet, Taught
    from recollect.evals.questions import Answer
    from recollect.hosts.sql.source import Source
    from recollect.model.resolution import Resolution
    from recollect.sql.catalog import Catalog
    from recollect.sql.known import FoundValue, Known
    from recollect.sql.semantic import SemanticModel

COUNTED = ("asked", "right", "wrong", "clarified", "clarified_as_expected", "failed")
SHARES = ("right_share", "wrong_share")
Sets = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="TOML, questions with gold SQL.", exists=True, dir_okay=False)
]
Dsn = Annotated[str, typer.Option("--dsn", help="The database that is asked: sqlite:///FILE.")]
Asked = Annotated[bool, typer.Option("--asked", help="List too what was asked back.")]


def questions(files: Sets, dsn: Dsn, asked: Asked = False, json: Json = False) -> None:
    """Ask the questions of each file in words, run the SQL and the gold SQL, compare the rows. Writes nothing."""
    asyncio.run(ask_all(files, dsn, asked, json))


async def ask_all(files: Sequence[Path], dsn: str, asked: bool, json: bool) -> None:
    from recollect.evals.question_file import read
    from recollect.evals.questions import evaluate, sqlite_file
    from recollect.hosts.sql.source import open_source

    database, sets = sqlite_file(dsn), [read(path) for path in files]
    source = await open_source(dsn)
    try:
        catalog = await source.read_catalog()
        for each in sets:
            result = (await evaluate(each, database, answerer(source, catalog, each))).to_dict()
            if json:
                say_json(result)
            else:
                show(result, asked)
    finally:
        await source.close()


def answerer(source: Source, catalog: Catalog, asked: QuestionSet) -> Answer:
    """Reads a question against the drafted model. The state is the frame of the question before, or that question
    itself, if it was asked back."""
    from recollect.evals.questions import Outcome
    from recollect.sql.draft import draft
    from recollect.sql.reading import read_question
    from recollect.sql.render import sql_of

    model = draft(catalog)

    async def answer(question: Question, before: Any) -> Outcome:
        known = taught(question.known, model, catalog, asked.today)
        last, unanswered = before or (None, "")
        read = partial(
            read_question, question.ask, model, catalog, known=known, last=last, unanswered=unanswered,
            today=asked.today,
        )  # fmt: skip
        reading = read()
        if reading.lookups:
            reading = read(values=await looked_up(source, catalog, reading.lookups))
        if reading.frame is None:
            refused = (reading.refused,) if reading.refused else ()
            asks = (*(each.question for each in reading.clarifications), *refused)
            return Outcome(asks=asks, state=(None, question.ask))
        return Outcome(sql_of(reading.frame, model, catalog), state=(reading.frame, ""))

    return answer


async def looked_up(source: Source, catalog: Catalog, phrases: Sequence[str]) -> list[FoundValue]:
    """Names that the catalog does not show, where they may stand; as the analyst does it."""
    from recollect.sql.known import FoundValue

    shown = [(table, column) for table in catalog.tables for column in table.columns if column.type == "text"]
    places = [(table.name, each.name) for table, each in shown if not each.is_complete and not each.is_sensitive]
    found = await source.values_like(places, phrases)
    return [FoundValue(each.table, each.column, each.value) for each in found]


def taught(words: Sequence[Taught], model: SemanticModel, catalog: Catalog, today: date) -> Known:
    """As if the project's memory had resolved them."""
    from recollect.sql.session_context import SessionContext
    from recollect.sql.told import told

    return told("", resolutions(words), (), SessionContext(), model, catalog, today).known


def resolutions(words: Sequence[Taught]) -> Iterator[Resolution]:
    from recollect.model.resolution import PROJECT, Resolution

    for each in words:
        for name in each.names:
            meaning = each.means or f"{name} {each.table}"
            yield Resolution(name, meaning, "project", PROJECT, "taught", sql=each.condition or None)


def show(result: Mapping[str, Any], asked: bool) -> None:
    rows = table("", *(name.replace("_", " ") for name in (*COUNTED, *SHARES)), title=result["set"])
    for name, counts in [*result["by_kind"].items(), ("all", result)]:
        if name == "all":
            rows.add_section()
        shares = ["" if counts[share] is None else f"{counts[share]:.3f}" for share in SHARES]
        rows.add_row(name, *(str(counts[verdict]) for verdict in COUNTED), *shares)
    console = paper()
    console.print(rows)
    console.print(f"{result['ms_per_question']:.1f} ms of CPU per question", style="dim")
    for each in result["questions"]:
        if each["verdict"] in ("wrong", "failed") or (asked and each["verdict"] == "clarified"):
            show_one(each)


def show_one(judged: Mapping[str, Any]) -> None:
    console = paper()
    console.print()
    console.print(said(f"{judged['verdict']}: {' > '.join([*judged['before'], judged['ask']])}"))
    told = {"": judged["detail"], "SQL": judged["sql"], "gold": (judged["gold"] or [""])[0]}
    for name, text in told.items():
        if text:
            console.print(said(f"  {name}: {text}" if name else f"  {text}", "dim"), soft_wrap=True)
