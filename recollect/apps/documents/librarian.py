"""A question about documents, from start to end: record it, make it standalone, search documents and memory, make an
answer, record that with its sources, and remember it if it came from documents.

A question is finished even if the client disconnects. A stored answer has its sources as references and numbers: the
texts of documents and memories are read again, so that they disappear when those are erased.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.apps.background_tasks import BackgroundTasks
from recollect.apps.documents.answer_text import Evidence, make_reply, trim_history
from recollect.apps.documents.memory import (
    drop_unreadable,
    forget_answers,
    learn_answer,
    recall_memories,
    select_memories,
)
from recollect.apps.documents.question import (
    MAX_DOCUMENTS,
    Answered,
    Question,
    Recollection,
    Reply,
    Source,
    make_source,
)
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.learning.document_turns import HOST, get_host_data
from recollect.ports import Reasoner
from recollect.settings import Settings
from recollect.values.audit import Receipt
from recollect.values.conversation import Turn
from recollect.values.document import DocumentId, DocumentQuery
from recollect.values.lesson import Owner
from recollect.values.query import MAX_QUERY_CHARS
from recollect.values.scope import Scope
from recollect.values.sensitive_data import mask_text

log = logging.getLogger("recollect.documents")
MAX_HISTORY = 50
PAGE = 200
MAX_NAMED = 20  # in an error message


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """The question in the log, with the history that fits before it."""

    scope: Scope
    ref: str
    standalone: str
    history: Sequence[Turn] = ()
    tokens: int = 0


class Librarian:
    """Answers questions about documents. Without a `reasoner` it quotes."""

    def __init__(self, engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> None:
        self._engine = engine
        self._settings = settings
        self._reasoner = reasoner
        self._tasks = BackgroundTasks()

    async def query(self, scope: Scope, question: Question) -> Answered:
        """Return the answer. Without a session in the scope, a new one is started; its id is in the answer. A question
        about documents that do not exist is rejected and not recorded."""
        await check_documents_exist(self._engine, scope, question.documents or ())
        return await self._tasks.finish(self._answer(scope, question))

    async def again(self, scope: Scope, ref: str) -> Answered:
        """Return an earlier answer from the log."""
        session, _, index = ref.rpartition("#")
        place = replace(scope, session=session)
        turns = await self._engine.history(place, limit=1, before=int(index) + 1)
        if not turns or turns[0].ref != ref or not is_document_answer(turns[0]):
            raise NotFound("this answer was erased")
        reader = Reader(self._engine, place, await load_titles(self._engine, place, turns))
        return await restore_answer(turns[0], reader, memories=True)

    async def log(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Entry]:
        """Return the questions of the scope's session with their answers, oldest first."""
        turns = await self._engine.history(scope, limit=limit, before=before)
        return await load_entries(self._engine, scope, turns)

    async def drop(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        """Erase a document with everything derived from it, and the user's memories of answers from it."""
        found = await self._engine.documents.get(scope, document, owner=owner)
        receipt = await self._engine.documents.drop(scope, found.id, owner=found.owner)
        await forget_answers(self._engine, scope, found.id)
        return receipt

    async def backfill(self, scope: Scope) -> int:
        """Make memories from answers in the log that have none yet, the newest first, and return how many. Repeating it
        adds none."""
        made, offset = 0, 0
        while talks := await self._engine.conversations(scope, limit=PAGE, offset=offset):
            for talk in talks:
                made += await self._backfill(replace(scope, session=talk.session), talk.turns)
            offset += len(talks)
        return made

    async def close(self) -> None:
        """Wait for running answers. Call this before the engine is closed."""
        await self._tasks.close()

    async def _answer(self, scope: Scope, question: Question) -> Answered:
        started = time.perf_counter()
        if self._settings.mask_sensitive:
            question = replace(question, query=mask_text(question.query)[:MAX_QUERY_CHARS])
        asked = await self._record_question(scope, question)
        query = DocumentQuery(asked.standalone, documents=question.documents, limit=question.top_k, mmr=question.mmr)
        hits, memories = await asyncio.gather(
            self._engine.documents.search(asked.scope, query), self._recall(asked, question.top_memories)
        )
        chosen = select_memories(memories, [hit.text for hit in hits], question.top_memories)
        reply = await make_reply(
            self._reasoner, Evidence(question.query, asked.standalone, hits, chosen, asked.history)
        )
        answer = Answered(
            session=asked.scope.session or "",
            answer=reply.text,
            sources=tuple(make_source(hit, reply) for hit in hits),
            memories=chosen,
            used_history_tokens=asked.tokens,
            latency_ms=round((time.perf_counter() - started) * 1000),
            model=reply.model,
            refused=reply.refused,
            standalone=asked.standalone,
            error_stage=reply.error_stage,
        )
        try:
            done = await self._engine.record(asked.scope, [make_turn(asked.ref, reply, answer)])
            answer = replace(answer, ref=done.refs[0])
            if self._settings.enabled:
                await learn_answer(self._engine, asked.scope, answer)
        # The answer exists and is returned; the question is in the log.
        except Exception:
            log.exception("an answer could not be recorded or remembered")
        return answer

    async def _record_question(self, scope: Scope, question: Question) -> RecordedQuestion:
        done = await self._engine.record(scope, [Turn("user", question.query, data={"host": HOST})])
        place = replace(scope, session=done.conversation.session)
        if not question.include_history or not question.history_tokens or not done.first:
            return RecordedQuestion(place, done.refs[0], question.query)
        before = await self._engine.history(place, limit=MAX_HISTORY, before=done.first)
        # Only a model uses earlier answers; the rules use earlier questions.
        spoken = before if self._reasoner else [turn for turn in before if turn.role == "user"]
        history, tokens = trim_history(spoken, question.history_tokens)
        previous = [turn.text for turn in history if turn.role == "user"]
        standalone = await self._engine.standalone(question.query, previous)
        return RecordedQuestion(place, done.refs[0], standalone, history, tokens)

    async def _recall(self, asked: RecordedQuestion, most: int) -> list[Recollection]:
        if not most or not self._settings.enabled:
            return []
        shown = [asked.ref, *(turn.ref for turn in asked.history)]
        found = await recall_memories(self._engine, asked.scope, asked.standalone, shown)
        return await drop_unreadable(self._engine, asked.scope, found)

    async def _backfill(self, scope: Scope, turns: int) -> int:
        made, before = 0, turns
        while before > 0:
            page = await self._engine.history(scope, limit=PAGE, before=before)
            if not page:
                break
            for entry in reversed(await load_entries(self._engine, scope, page, previews=False)):
                made += await learn_answer(self._engine, scope, entry.answered, newest=False)
            # Overlap by one turn, so that a question stays with its answer.
            first = page[0].index or 0
            before = 0 if first == 0 or len(page) < PAGE else first + 1
        return made


async def check_documents_exist(engine: Engine, scope: Scope, wanted: Sequence[DocumentId | str]) -> None:
    """Raise NotFound with the documents that neither the user nor the project has."""
    ids = list(dict.fromkeys(map(str, wanted)))
    known = (
        {str(each.id) for each in await engine.documents.find(scope, ids=ids, limit=MAX_DOCUMENTS)} if ids else set()
    )
    if missing := [each for each in ids if each not in known]:
        more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        raise NotFound(
            f"neither user {scope.user!r} nor the project has document {', '.join(missing[:MAX_NAMED])}{more}"
        )


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


def make_turn(question_ref: str, reply: Reply, answer: Answered) -> Turn:
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


async def load_entries(engine: Engine, scope: Scope, turns: Sequence[Turn], *, previews: bool = True) -> list[Entry]:
    """Return the questions about documents among some turns of a session. With `previews`, the texts are read again."""
    asked = {turn.ref: turn for turn in turns if turn.role == "user"}
    replies = [turn for turn in turns if is_document_answer(turn) and (turn.data or {})["answers"] in asked]
    reader = Reader(engine, scope, await load_titles(engine, scope, replies), previews)
    return [Entry(asked[(each.data or {})["answers"]], each, await restore_answer(each, reader)) for each in replies]


async def load_titles(engine: Engine, scope: Scope, replies: Sequence[Turn]) -> dict[str, str]:
    """Return the titles, by their ids, of the documents that answers found passages in, as far as they still exist."""
    ids = sorted({each["document"] for reply in replies for each in (reply.data or {})["sources"]})[:MAX_DOCUMENTS]
    found = await engine.documents.find(scope, ids=ids, limit=len(ids)) if ids else []
    return {str(each.id): each.title for each in found}


async def restore_answer(reply: Turn, reader: Reader, *, memories: bool = False) -> Answered:
    data = reply.data or {}
    known = [await reader.recollection(each) for each in data["memories"]] if memories else []
    return Answered(
        session=reply.session or "",
        answer=reply.text,
        sources=tuple([await reader.source(each) for each in data["sources"]]),
        memories=tuple(filter(None, known)),
        used_history_tokens=data["history_tokens"],
        **{name: data[name] for name in ("latency_ms", "model", "refused", "standalone", "error_stage")},
        ref=reply.ref,
    )


@dataclass(slots=True)
class Reader:
    """Reads texts again, each once; texts that are gone are left out."""

    engine: Engine
    scope: Scope
    titles: Mapping[str, str]
    has_previews: bool = True
    _previews: dict[tuple[UUID, int], str] = field(default_factory=dict)
    _memories: dict[str, str] | None = None

    async def source(self, kept: Mapping[str, Any]) -> Source:
        document, title = UUID(kept["document"]), self.titles.get(kept["document"], "")
        preview = await self.preview(document, kept["begins"], kept["shown"]) if self.has_previews and title else ""
        known = {name: kept[name] for name in SOURCE_FIELDS}
        return Source(document=document, preview=preview, title=title, **known)

    async def preview(self, document: UUID, begins: int, length: int) -> str:
        if (document, begins) not in self._previews:
            self._previews[document, begins] = ""
            with suppress(NotFound):
                passage = await self.engine.documents.passage(self.scope, str(document), begins, begins + length)
                self._previews[document, begins] = passage.text
        return self._previews[document, begins]

    async def recollection(self, kept: Mapping[str, Any]) -> Recollection | None:
        name, source = kept["id"], kept["source"]
        session, has_place, place = name.rpartition("#")
        text = None
        with suppress(NotFound):
            if not has_place:
                text = (await self._load_memories()).get(name)
            elif source == "summary":
                episodes = await self.engine.episodes(replace(self.scope, session=session))
                text = next((episode.summary for episode in episodes if episode.ref == name), None)
            else:
                elsewhere = replace(self.scope, session=session)
                turns = await self.engine.history(elsewhere, limit=1, before=int(place) + 1)
                text = turns[0].text if turns else None
        return None if text is None else Recollection(name, source, text, kept["score"])

    async def _load_memories(self) -> dict[str, str]:
        """Return the texts of the user's and the project's memories by their ids."""
        if self._memories is None:
            found = [
                *await self.engine.memories(self.scope, status=None, limit=MEMORY_PAGE),
                *await self.engine.memories(self.scope, owner="project", limit=MEMORY_PAGE),
            ]
            self._memories = {str(memory.id): memory.text for memory in found}
        return self._memories
