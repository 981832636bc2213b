"""Answers in the log: how they are stored and restored. A stored answer has its timing and its sources as references
and numbers. The texts of documents and memories are read again, so that they disappear when those are erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.apps.documents.question import Answered, Recollection, Reply, Source
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.learning.document_turns import HOST, get_host_data
from recollect.values.conversation import Turn
from recollect.values.memory import Memory
from recollect.values.scope import Scope

MEMORY_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A question in the log, with its answer."""

    question: Turn
    reply: Turn
    answered: Answered

    @property
    def at(self) -> datetime | None:
        return self.question.at


SOURCE_FIELDS = ("chunk", "page", "score", "start", "end", "cited", "begins", "page_end")


def answer_turn(question_ref: str, reply: Reply, answer: Answered) -> Turn:
    """Return the turn that stores an answer."""
    data = {
        "host": HOST,
        "answers": question_ref,
        "standalone": answer.standalone,
        "model": reply.model,
        "model_ms": reply.model_ms,
        "latency_ms": answer.latency_ms,
        "history_tokens": answer.used_history_tokens,
        "refused": answer.refused,
        "error_stage": reply.error_stage,
        "error": reply.error,
        "sources": [
            {"document": str(each.document), "shown": len(each.preview)}
            | {name: getattr(each, name) for name in SOURCE_FIELDS}
            for each in answer.sources
        ],
        "memories": [{"id": each.id, "source": each.source, "score": each.score} for each in answer.memories],
    }
    return Turn("assistant", answer.answer, data=data)


def is_document_answer(turn: Turn) -> bool:
    return turn.role == "assistant" and "answers" in get_host_data(turn)


async def load_entries(
    engine: Engine, scope: Scope, turns: Sequence[Turn], *, previews: bool = True, memories: bool = False
) -> list[Entry]:
    """Return the questions about documents among some turns of a session. With `previews`, the texts are read again."""
    asked = {turn.ref: turn for turn in turns if turn.role == "user"}
    reader = Reader(engine, scope) if previews else None
    found = []
    for reply in turns:
        question = asked.get((reply.data or {}).get("answers", "")) if is_document_answer(reply) else None
        if question is not None:
            found.append(Entry(question, reply, await restore_answer(reply, reader, memories)))
    return found


async def load_answer(engine: Engine, scope: Scope, ref: str) -> Answered:
    """Return an answer from the log."""
    session, _, index = ref.rpartition("#")
    place = Scope(scope.user, session, scope.project)
    turns = await engine.history(place, limit=1, before=int(index) + 1)
    if not turns or turns[0].ref != ref or not is_document_answer(turns[0]):
        raise NotFound("this answer was erased")
    return await restore_answer(turns[0], Reader(engine, place), memories=True)


async def restore_answer(reply: Turn, reader: Reader | None, memories: bool) -> Answered:
    data = reply.data or {}
    kept = [await restore_source(each, reader) for each in data["sources"]]
    known = [await reader.recollection(each) for each in data["memories"]] if reader and memories else []
    return Answered(
        reply.session or "",
        reply.text,
        tuple(kept),
        tuple(each for each in known if each is not None),
        data["history_tokens"],
        data["latency_ms"],
        data["model"],
        data["refused"],
        data["standalone"],
        reply.ref,
        data["error_stage"],
    )


async def restore_source(kept: Mapping[str, Any], reader: Reader | None) -> Source:
    document = UUID(kept["document"])
    preview = await reader.preview(document, kept["begins"], kept["shown"]) if reader else ""
    return Source(document=document, preview=preview, **{name: kept[name] for name in SOURCE_FIELDS})


@dataclass(slots=True)
class Reader:
    """Reads texts again, each once; texts that are gone are left out."""

    engine: Engine
    scope: Scope
    _previews: dict[tuple[UUID, int], str] = field(default_factory=dict)
    _memories: dict[str, Memory] | None = None

    async def preview(self, document: UUID, begins: int, length: int) -> str:
        if (document, begins) not in self._previews:
            self._previews[document, begins] = ""
            with suppress(NotFound):
                passage = await self.engine.documents.passage(self.scope, str(document), begins, begins + length)
                self._previews[document, begins] = passage.text
        return self._previews[document, begins]

    async def recollection(self, kept: Mapping[str, Any]) -> Recollection | None:
        text = await self._remembered(kept["id"], kept["source"])
        return None if text is None else Recollection(kept["id"], kept["source"], text, kept["score"])

    async def _remembered(self, name: str, source: str) -> str | None:
        session, has_place, place = name.rpartition("#")
        if not has_place:
            memory = (await self._known()).get(name)
            return None if memory is None else memory.text
        elsewhere = Scope(self.scope.user, session, self.scope.project)
        try:
            if source == "summary":
                told = await self.engine.episodes(elsewhere)
                return next((episode.summary for episode in told if episode.ref == name), None)
            return next((t.text for t in await self.engine.history(elsewhere, limit=1, before=int(place) + 1)), None)
        except NotFound:
            return None

    async def _known(self) -> dict[str, Memory]:
        if self._memories is None:
            found = [
                *await self.engine.memories(self.scope, status=None, limit=MEMORY_PAGE),
                *await self.engine.memories(self.scope, owner="project", limit=MEMORY_PAGE),
            ]
            self._memories = {str(memory.id): memory for memory in found}
        return self._memories
