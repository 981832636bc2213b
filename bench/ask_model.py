"""`python -m bench ask-model URL MODEL --questions FOLDER --database NAME`: questions of spider_dev10 to a model.

Compares three ways with the same model: a plain prompt (CREATE TABLEs, three rows per table, the question, "SQL only"),
one sample of ours (the cheap mode), and ours with candidates and repair. Reports execution accuracy (ask_score.py) and
tokens. Replies are kept in a file, so a run can be broken off and go on.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from bench.ask import is_right
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Answer, Ask
from recollect.bootstrap import connect, open_analyst
from recollect.cli.options import Json
from recollect.cli.output import print_json, stderr_console, stdout_console
from recollect.cli.tables import make_table
from recollect.ports import Message, Reply
from recollect.providers.openai import OpenAIReasoner
from recollect.settings import read_settings
from recollect.values.scope import Scope

Way = Literal["plain", "cheap", "full"]
ROWS = 3
PLAIN_TOKENS = 300
SECONDS = 1800.0  # per reply: the machine may be busy


@dataclass(slots=True)
class KeptReplies:
    """A model whose replies are kept in a file; a prompt that was answered before is answered from there."""

    model: OpenAIReasoner
    path: Path
    known: dict[str, list[Any]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    spent: list[Reply] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path.exists():
            self.known = {key: reply for key, *reply in map(json.loads, self.path.read_text().splitlines())}

    @property
    def name(self) -> str:
        return self.model.name

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Reply:
        asked = json.dumps([[each.role, each.text] for each in messages] + [temperature, bool(schema)])
        # A prompt that is sampled several times in one question has several replies.
        self.asked[asked] += temperature > 0
        key = hashlib.sha256(f"{self.asked[asked]}{asked}".encode()).hexdigest()[:24]
        if key not in self.known:
            reply = await self.model.answer(messages, schema=schema, max_tokens=max_tokens, temperature=temperature)
            self.known[key] = [reply.text, reply.input_tokens, reply.output_tokens]
            with self.path.open("a") as file:
                file.write(json.dumps([key, *self.known[key]]) + "\n")
        self.spent.append(Reply(*self.known[key]))
        return self.spent[-1]

    async def close(self) -> None:
        await self.model.close()


def plain_schema(path: Path) -> str:
    """Return the CREATE TABLE statements of a SQLite file, each with its first rows as a comment."""
    with closing(sqlite3.connect(path)) as con:
        con.text_factory = lambda text: text.decode(errors="replace")
        tables = con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        parts = []
        for name, sql in tables.fetchall():
            found = con.execute(f'SELECT * FROM "{name}" LIMIT {ROWS}')
            head = "\t".join(column[0] for column in found.description)
            rows = ["\t".join(map(str, row)) for row in found.fetchall()]
            parts.append("\n".join([f"{sql};", f"/* {ROWS} rows of {name}:", head, *rows, "*/"]))
    return "\n\n".join(parts)


def plain_sql(text: str) -> str:
    """Return the statement of a reply: what stands in the first fence, or all of it."""
    inside = text.partition("```")[2].partition("```")[0] if "```" in text else text
    return inside.removeprefix("sqlite").removeprefix("sql").strip().rstrip(";")


async def ask_plainly(model: KeptReplies, path: Path, question: str) -> str:
    prompt = f"{plain_schema(path)}\n\nQuestion: {question}\nWrite one SQLite query that answers it. SQL only."
    reply = await model.answer([Message("user", prompt)], max_tokens=PLAIN_TOKENS)
    return plain_sql(reply.text)


def load_scorer(folder: Path) -> Any:
    """Return ask_score.py, which stands beside the folder of questions."""
    spec = importlib.util.spec_from_file_location("ask_score", folder.parent / "ask_score.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{folder.parent} has no ask_score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def choose_questions(
    folder: Path, databases: Sequence[str], count: int, seed: int, skip: int = 0
) -> list[dict[str, Any]]:
    """Return some questions of these databases by chance, those of one database together: a server keeps its prompt.
    `skip` leaves out those that a smaller run with this seed asked."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [each for each in map(json.loads, lines) if each["db"] in databases]
    chosen = random.Random(seed).sample(questions, min(skip + count, len(questions)))
    return sorted(chosen[skip:], key=lambda each: str(each["db"]))


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, asked in one way."""

    id: str
    way: Way
    sql: str
    is_right: bool
    input_tokens: int
    output_tokens: int
    calls: int
    confidence: float = 1.0


@dataclass(slots=True)
class Run:
    """The questions of one database, asked in each way; what was asked so far is in `asked`."""

    model: KeptReplies
    analyst: Analyst
    scorer: Any
    folder: Path
    asked: list[Asked] = field(default_factory=list)

    async def measure(self, question: Mapping[str, Any], ways: Sequence[Way]) -> None:
        path = self.folder / f"{question['db']}.sqlite"
        con = self.scorer.connect(self.folder, question["db"])
        golds = self.scorer.allowed([each for each in (con, self.scorer.trimmed(con)) if each], [question["gold_sql"]])
        for way in ways:
            self.model.spent.clear()
            self.model.asked.clear()
            if way == "plain":
                answer = Answer(
                    question["question"],
                    "",
                    sql=await ask_plainly(self.model, path, question["question"]),
                    confidence=1,
                )
            else:
                answer = await self.ask_ours(question["db"], path, question["question"], way)
            read, written = (
                sum(getattr(each, name) for each in self.model.spent) for name in ("input_tokens", "output_tokens")
            )
            right = bool(answer.sql) and is_right(self.scorer, con, golds, answer.full_sql or answer.sql)
            calls = len(self.model.spent)
            self.asked.append(Asked(question["id"], way, answer.sql, right, read, written, calls, answer.confidence))
        stderr_console().print(f"{len(self.asked) // len(ways)} questions asked", markup=False)

    async def ask_ours(self, database: str, path: Path, question: str, way: Way) -> Answer:
        """Ask in a project of its own, without memory; nothing is asked back, as by a plain prompt."""
        scope = Scope("bench", project=f"bench-{database.replace('_', '-').lower()}")
        if not await self.analyst.sources.find_all(scope):
            await self.analyst.sources.add(scope, database, f"sqlite:///{path}", local=True)
        samples = 1 if way == "cheap" else None
        ask = Ask(question=question, remembers=False, clarify=False, verbose=False, samples=samples, rows=1000)
        return await self.analyst.ask(scope, ask)


async def measure_ways(
    home: str,
    url: str,
    model: str,
    folder: Path,
    replies: Path,
    questions: Sequence[dict[str, Any]],
    ways: Sequence[Way],
) -> list[Asked]:
    reasoner = KeptReplies(OpenAIReasoner(url, model, timeout=SECONDS), replies)
    async with AsyncExitStack() as stack:
        settings = replace(read_settings(home=home, embedder="none"), model_timeout=SECONDS)
        engine = await stack.enter_async_context(connect(settings, worker=False))
        analyst = await stack.enter_async_context(open_analyst(engine, settings, reasoner))
        run = Run(reasoner, analyst, load_scorer(folder), folder)
        for question in questions:
            await run.measure(question, ways)
    return run.asked


def ask_model(
    url: Annotated[str, typer.Argument(help="Base URL of an OpenAI-compatible server.")],
    model: Annotated[str, typer.Argument(help="Name of the model there.")],
    questions: Annotated[Path, typer.Option(help="Folder with questions.jsonl and its databases.", exists=True)],
    replies: Annotated[Path, typer.Option(help="File in which the model's replies are kept.")],
    database: Annotated[list[str], typer.Option(help="A database to ask; may be repeated.")],
    count: Annotated[int, typer.Option(min=1, help="Questions, chosen by chance.")] = 48,
    seed: Annotated[int, typer.Option(help="What chance starts from.")] = 1,
    skip: Annotated[int, typer.Option(min=0, help="Questions of earlier runs with this seed, left out.")] = 0,
    part: Annotated[str, typer.Option(help="Only the chosen questions of this database.")] = "",
    way: Annotated[Way | None, typer.Option(help="Only this way.")] = None,
    json: Json = False,
) -> None:
    """Compare a plain prompt with ours, cheap and full, by execution accuracy and tokens."""
    ways: tuple[Way, ...] = (way,) if way else get_args(Way)
    chosen = [each for each in choose_questions(questions, database, count, seed, skip) if part in ("", each["db"])]
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)  # the embedded server may run as another user
        asked = asyncio.run(measure_ways(home, url, model, questions, replies, chosen, ways))
    rows = list[dict[str, Any]]()
    for each in ways:
        same = [one for one in asked if one.way == each]
        rows.append({
            "way": each,
            "right": sum(one.is_right for one in same),
            "asked": len(same),
            "calls": sum(one.calls for one in same),
            "input_tokens": sum(one.input_tokens for one in same),
            "output_tokens": sum(one.output_tokens for one in same),
            "sure_and_right": sum(one.is_right for one in same if one.confidence >= 0.9),
            "sure": sum(one.confidence >= 0.9 for one in same),
        })  # fmt: skip
    if json:
        print_json({"ways": rows, "questions": [asdict(one) for one in asked]})
        return
    table = make_table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    stdout_console().print(table)
