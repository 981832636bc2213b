"""`python -m bench documents`: search in documents. JSON lines, one question each, about files in the same folder.

    {"question", "file": "guide.pdf", "phrase": "what only the passage with the answer has"}
    {"question", "first": "the question before", "follow_up": "And that one?"}

For the first kind, count how often a passage of the file that contains the phrase is among the first 1 and 5 hits; for
the second, how often the first hit of the question is among the first 5 hits of the follow-up. Every passage is also
opened by its position, like a citation: `opened` is how often exactly its text is there, on its pages. The files are
added for a separate user, who is forgotten afterwards.
"""

from __future__ import annotations

import asyncio
import json as json_text
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from bench.evaluation import Progress, read_numbered_lines, track_progress
from recollect import connect
from recollect.cli.options import Json
from recollect.cli.output import print_json, print_text
from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.recall.followup import make_standalone
from recollect.values.document import ChunkHit, DocumentQuery, Upload
from recollect.values.scope import Scope

MAX_HITS = 5
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE", help="JSON lines, one question each; the documents are beside it.", exists=True, dir_okay=False
    ),
]


def documents(files: Files, json: Json = False) -> None:
    """Add the documents that the questions name, search, and count what is found. Leaves nothing behind."""
    asyncio.run(evaluate_files(files, json))


async def evaluate_files(files: Sequence[Path], as_json: bool) -> None:
    async with connect(worker=False) as engine:
        for path in files:
            with track_progress(path.name) as progress:
                result = (await evaluate(engine, path, progress)).to_dict()
            if as_json:
                print_json({"file": str(path), **result})
                continue
            for name, value in result.items():
                print_text(f"{name}: {'; '.join(value) if isinstance(value, list) else f'{value:.4g}'}")


@dataclass(frozen=True, slots=True)
class Question:
    question: str
    file: str = ""
    phrase: str = ""
    first: str = ""
    follow_up: str = ""


@dataclass(slots=True)
class Result:
    files: int = 0
    chunks: int = 0
    questions: int = 0
    first: int = 0
    within: int = 0
    follow_ups: int = 0
    followed: int = 0
    passages: int = 0
    opened: int = 0
    missed: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "chunks": self.chunks,
            "questions": self.questions,
            "recall@1": self.first / max(self.questions, 1),
            f"recall@{MAX_HITS}": self.within / max(self.questions, 1),
            "follow_ups": self.follow_ups,
            "follow_ups_found": self.followed / max(self.follow_ups, 1),
            "passages": self.passages,
            "opened": self.opened / max(self.passages, 1),
            "missed": self.missed,
        }


async def evaluate(engine: Engine, path: Path, progress: Progress = lambda done, total: None) -> Result:
    asked = [parse_question(path, number, line) for number, line in read_numbered_lines(path)]
    scope = Scope(f"eval {uuid4()}")
    try:
        result = await add_documents(engine, scope, path.parent, sorted({each.file for each in asked if each.file}))
        for done, each in enumerate(asked, 1):
            await (count_hits if each.file else count_follow_up)(engine, scope, each, result)
            progress(done, len(asked))
        return result
    finally:
        await engine.forget(scope)


def parse_question(path: Path, number: int, line: str) -> Question:
    try:
        given = json_text.loads(line)
        asked = Question(**{name: str(given.get(name, "")) for name in Question.__dataclass_fields__})
    except (ValueError, AttributeError):
        raise InvalidInput("file", f"{path}:{number}: is not a JSON object") from None
    if not asked.question or not ((asked.file and asked.phrase) or (asked.first and asked.follow_up)):
        raise InvalidInput("file", f"{path}:{number}: needs a question, and file and phrase or first and follow_up")
    return asked


async def add_documents(engine: Engine, scope: Scope, folder: Path, names: Sequence[str]) -> Result:
    for name in names:
        await engine.documents.add(scope, Upload(name, folder / name))
    await engine.settle(scope)
    documents = await engine.documents.find(scope, owner="user", limit=1000)
    if unread := [each for each in documents if each.status != "processed"]:
        raise InvalidInput("file", f"{unread[0].source} cannot be read: {unread[0].sentence}")
    return Result(files=len(documents), chunks=sum(each.chunks for each in documents))


async def count_hits(engine: Engine, scope: Scope, asked: Question, result: Result) -> None:
    hits = await search(engine, scope, asked.question)
    right = [has_answer(hit, asked) for hit in hits]
    result.questions += 1
    result.passages += len(hits)
    result.opened += sum([await opens_exactly(engine, scope, hit) for hit in hits])
    result.first += any(right[:1])
    result.within += any(right)
    if not any(right):
        result.missed.append(asked.question)


async def opens_exactly(engine: Engine, scope: Scope, hit: ChunkHit) -> bool:
    chunk = hit.chunk
    passage = await engine.documents.passage(scope, hit.document.id, chunk.start, chunk.end)
    place = passage.start, passage.end, passage.page, passage.page_end, passage.headings
    return passage.text == chunk.text and place == (chunk.start, chunk.end, chunk.page, chunk.page_end, chunk.headings)


def has_answer(hit: ChunkHit, asked: Question) -> bool:
    return hit.document.source == asked.file and normalize(asked.phrase) in normalize(f"{hit.chunk.lead} {hit.text}")


def normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


async def count_follow_up(engine: Engine, scope: Scope, asked: Question, result: Result) -> None:
    wanted = await search(engine, scope, asked.question)
    got = await search(engine, scope, make_standalone(asked.follow_up, [asked.first]))
    is_found = bool(wanted) and wanted[0].source in [hit.source for hit in got]
    result.follow_ups += 1
    result.followed += is_found
    if not is_found:
        result.missed.append(asked.follow_up)


async def search(engine: Engine, scope: Scope, question: str) -> list[ChunkHit]:
    return await engine.documents.search(scope, DocumentQuery(question, owner="user", limit=MAX_HITS))
