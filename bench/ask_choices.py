"""Take every choice that is offered: `python -m bench.ask_choices spider defog chinook sample clinic flights`.

Each question is asked as a user asks it, through the analyst and with memory, and each of its choices is sent back by
its id. The server and its folder are those of the environment (RECOLLECT_HOME). Reports how many questions were
answered, offered choices or ended with nothing, and how many choices ended in an answer: all of them must.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from bench.ask import QUESTION_FILES, READ, SHARED, find_folder, load_scorer, make_own_database
from bench.question_file import read_questions
from recollect import Scope, connect
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Answer, Ask
from recollect.bootstrap import open_analyst
from recollect.errors import RecollectError
from recollect.providers.fake import FakeEmbedder
from recollect.settings import read_settings
from recollect.values.scope import uuid7

PATIENCE = 60.0  # seconds for memory: a choice that could not be stored cannot come back


@dataclass(frozen=True, slots=True)
class Database:
    name: str
    path: Path
    today: date | None
    questions: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """What came of the questions (answered, choices, nothing) and of the choices (answered, failed)."""

    questions: Counter[str] = field(default_factory=Counter)
    choices: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def list_databases(name: str, scratch: Path) -> Iterator[Database]:
    """Yield the databases of an evaluation set, with their questions."""
    if name in QUESTION_FILES:
        found = read_questions(QUESTION_FILES[name])
        path = SHARED / "data/chinook.sqlite" if name == "chinook" else make_own_database(name, scratch)
        yield Database(name, path, found.today, tuple(each.ask for chain in found.chains for each in chain[:1]))
        return
    folder, scorer = find_folder(name), load_scorer()
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for db in dict.fromkeys(each["db"] for each in questions):
        path = scratch / f"{db}.sqlite"
        packed = folder / f"{db}.sql.gz"
        if packed.exists():
            (scratch / f"{db}.sql").write_bytes(gzip.decompress(packed.read_bytes()))
        given = scorer.connect(scratch if packed.exists() else folder, db)
        with sqlite3.connect(path) as target:
            given.backup(target)
        yield Database(db, path, None, tuple(each["question"] for each in questions if each["db"] == db))


async def take_choices(analyst: Analyst, database: Database, outcome: Outcome, step: int) -> None:
    """Ask each question as a user of its own, so that what a choice teaches stays with it."""
    project = Scope("owner", project=f"bench-{uuid7().hex}")
    await analyst.sources.add(project, database.name, f"sqlite:///{database.path}", local=True)
    for n, question in enumerate(database.questions[::step]):
        scope = Scope(f"user-{n}", project=project.project)
        answer = await analyst.ask(scope, Ask(question=question, source=database.name))
        choices = [(each.id, choice) for each in answer.clarifications for choice in each.choices]
        outcome.questions["answered" if is_answer(answer) else "choices" if choices else "nothing"] += 1
        for clarification, choice in choices:
            problem = await take_choice(analyst, scope, question, clarification, choice.id)
            outcome.choices["failed" if problem else "answered"] += 1
            if problem:
                # Questions of databases that stay unread are not shown.
                shown = f"{question} -> {choice.label}: {problem}" if database.name in READ else "(unread)"
                outcome.failures.append(f"{database.name}: {shown}")


async def take_choice(analyst: Analyst, scope: Scope, question: str, clarification: str, choice: str) -> str:
    """Return why a choice did not end in an answer; empty if it did."""
    try:
        answer = await analyst.choose(scope, Ask(question=question), clarification, choice)
    except RecollectError as error:
        return f"{type(error).__name__}: {error}"
    return "" if is_answer(answer) else answer.error or answer.text or "no answer"


def is_answer(answer: Answer) -> bool:
    return bool(answer.sql) and answer.rows is not None and not answer.error and not answer.needs_clarification


async def run(names: Sequence[str], step: int) -> Outcome:
    total = Outcome()
    settings = read_settings(deadline=PATIENCE)
    with tempfile.TemporaryDirectory() as scratch:
        async with (
            connect(settings, embedder=FakeEmbedder(), worker=False) as engine,
            open_analyst(engine, settings) as analyst,
        ):
            for name in names:
                part = Outcome()
                for database in list_databases(name, Path(scratch)):
                    analyst.today = (lambda day: lambda: day)(database.today or date.today())
                    await take_choices(analyst, database, part, step)
                sys.stdout.write(f"{name}: questions {dict(part.questions)}, choices {dict(part.choices)}\n")
                sys.stdout.flush()
                total.questions += part.questions
                total.choices += part.choices
                total.failures += part.failures
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", help="spider, defog, chinook, sample, clinic, flights")
    parser.add_argument("--step", type=int, default=1, help="ask every so many questions only")
    args = parser.parse_args()
    total = asyncio.run(run(args.sets, args.step))
    sys.stdout.write(f"all: questions {dict(total.questions)}, choices {dict(total.choices)}\n")
    sys.stdout.writelines(f"  {failure}\n" for failure in total.failures)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
