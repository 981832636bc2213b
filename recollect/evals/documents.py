"""Evaluation of finding in documents: JSON lines, a question each, over files that lie beside them.

    {"question", "file": "guide.pdf", "phrase": "what only the passage with the answer has"}
    {"question", "first": "the question before", "follow_up": "And that one?"}

Of the first kind it is counted how often a passage of the file that has the phrase is among the first 1 and 5; of the
second, how often the follow-up, understood alone, finds among its first 5 what the question finds first. Every passage
found is also opened by its place, as a citation is: `opened` is how often its very text is there, on its pages. The
files are added for a user of their own, who is forgotten afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.evals.lines import numbered
from recollect.model.document_search import ChunkHit, DocumentQuery
from recollect.model.followup import followup
from recollect.model.library import Upload
from recollect.model.scope import Scope

MOST = 5
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
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
            f"recall@{MOST}": self.within / max(self.questions, 1),
            "follow_ups": self.follow_ups,
            "follow_ups_found": self.followed / max(self.follow_ups, 1),
            "passages": self.passages,
            "opened": self.opened / max(self.passages, 1),
            "missed": self.missed,
        }


async def evaluate(engine: Engine, path: Path, progress: Progress = lambda done, total: None) -> Result:
    asked = [read_line(path, number, line) for number, line in numbered(path)]
    scope = Scope(f"eval {uuid4()}")
    try:
        result = await loaded(engine, scope, path.parent, sorted({each.file for each in asked if each.file}))
        for done, each in enumerate(asked, 1):
            await (look(engine, scope, each, result) if each.file else follow(engine, scope, each, result))
            progress(done, len(asked))
        return result
    finally:
        await engine.forget(scope)


def read_line(path: Path, number: int, line: str) -> Asked:
    try:
        given = json.loads(line)
        asked = Asked(**{name: str(given.get(name, "")) for name in Asked.__dataclass_fields__})
    except (ValueError, AttributeError):
        raise InvalidInput("file", f"{path}:{number}: is not a JSON object") from None
    if not asked.question or not ((asked.file and asked.phrase) or (asked.first and asked.follow_up)):
        raise InvalidInput("file", f"{path}:{number}: needs a question, and file and phrase or first and follow_up")
    return asked


async def loaded(engine: Engine, scope: Scope, folder: Path, names: Sequence[str]) -> Result:
    for name in names:
        await engine.add_document(scope, Upload(name, folder / name))
    await engine.settle(scope)
    documents = await engine.documents(scope, owner="user", limit=1000)
    if unread := [each for each in documents if each.status != "processed"]:
        raise InvalidInput("file", f"{unread[0].source} cannot be read: {unread[0].sentence}")
    return Result(files=len(documents), chunks=sum(each.chunks for each in documents))


async def look(engine: Engine, scope: Scope, asked: Asked, result: Result) -> None:
    hits = await found(engine, scope, asked.question)
    right = [has(hit, asked) for hit in hits]
    result.questions += 1
    result.passages += len(hits)
    result.opened += sum([await opens(engine, scope, hit) for hit in hits])
    result.first += any(right[:1])
    result.within += any(right)
    if not any(right):
        result.missed.append(asked.question)


async def opens(engine: Engine, scope: Scope, hit: ChunkHit) -> bool:
    chunk = hit.chunk
    passage = await engine.passage(scope, hit.document.id, chunk.start, chunk.end)
    place = passage.start, passage.end, passage.page, passage.page_end, passage.headings
    return passage.text == chunk.text and place == (chunk.start, chunk.end, chunk.page, chunk.page_end, chunk.headings)


def has(hit: ChunkHit, asked: Asked) -> bool:
    return hit.document.source == asked.file and plain(asked.phrase) in plain(f"{hit.chunk.lead} {hit.text}")


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


async def follow(engine: Engine, scope: Scope, asked: Asked, result: Result) -> None:
    wanted = await found(engine, scope, asked.question)
    got = await found(engine, scope, followup(asked.follow_up, [asked.first]).text)
    is_found = bool(wanted) and wanted[0].source in [hit.source for hit in got]
    result.follow_ups += 1
    result.followed += is_found
    if not is_found:
        result.missed.append(asked.follow_up)


async def found(engine: Engine, scope: Scope, question: str) -> list[ChunkHit]:
    return await engine.search_documents(scope, DocumentQuery(question, owner="user", limit=MOST))
