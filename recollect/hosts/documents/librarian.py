"""The librarian: a question to documents the whole way. The question goes into the log; what was said before trims to
its budget and makes it stand alone; documents and memory are searched for that; an answer is made, goes into the log
with what it rests on, and, if documents gave it, becomes a memory. In this order, so that nothing said is lost.

A question once taken is finished, also when its client leaves. Memory that fails is answered without; a model that
fails is answered by quoting. Doors call `query`, `log` and `drop`; wire.py makes one and closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.documents.answering import Found, reply_from
from recollect.hosts.documents.asking import MOST_DOCUMENTS, Answered, Question, Recollection, Reply, source_of
from recollect.hosts.documents.keeping import Entry, entries, from_log, kept_turn
from recollect.hosts.documents.prompting import trimmed
from recollect.hosts.documents.remembering import forget_answers, learn_answer, recollections, still_told
from recollect.hosts.documents.scoring import beside
from recollect.model.conversation import Turn
from recollect.model.document_search import ChunkHit, DocumentQuery
from recollect.model.document_turns import HOST
from recollect.model.followup import followup
from recollect.model.lesson import Owner
from recollect.model.library import DocumentId
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS
from recollect.ports import Reasoner
from recollect.settings import Settings

log = logging.getLogger("recollect.documents")
MOST_MESSAGES = 50
PAGE = 200
NAMED = 20  # documents in an error


@dataclass(frozen=True, slots=True)
class Heard:
    """The question in the log, with what was said before it, as far as there is room."""

    scope: Scope
    ref: str
    question: Question
    standalone: str
    history: Sequence[Turn] = ()
    tokens: int = 0


class Librarian:
    """Without a `reasoner` it answers by quoting."""

    def __init__(self, engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> None:
        self._engine = engine
        self._settings = settings
        self._reasoner = reasoner
        self._at_work: set[asyncio.Task[Answered]] = set()

    async def query(self, scope: Scope, question: Question) -> Answered:
        """Without a session in the scope a new one is begun; its id is in the answer. A question to documents that are
        not there is not taken, and not in the log."""
        await check_there(self._engine, scope, question.documents or ())
        work = asyncio.create_task(self._answer(scope, question))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        return await asyncio.shield(work)

    async def again(self, scope: Scope, ref: str) -> Answered:
        """An answer that was given before, from the log."""
        return await from_log(self._engine, scope, ref)

    async def log(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Entry]:
        """What was asked in the scope's session, oldest first."""
        turns = await self._engine.history(scope, limit=limit, before=before)
        return await entries(self._engine, scope, turns)

    async def drop(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        """Erases a document, with all that was made of it and what the user remembers of answers from it."""
        found = await self._engine.document(scope, document, owner=owner)
        receipt = await self._engine.drop_document(scope, found.id, owner=found.owner)
        await forget_answers(self._engine, scope, found.id)
        return receipt

    async def backfill(self, scope: Scope) -> int:
        """Makes memories of the answers in the log that are none yet, the newest first; how many. Doing it again
        makes no more."""
        made, offset = 0, 0
        while talks := await self._engine.conversations(scope, limit=PAGE, offset=offset):
            for talk in talks:
                made += await self._backfill(replace(scope, session=talk.session), talk.turns)
            offset += len(talks)
        return made

    async def close(self) -> None:
        """Waits for the answers at hand; before the engine is closed."""
        await asyncio.gather(*self._at_work, return_exceptions=True)

    async def _answer(self, scope: Scope, question: Question) -> Answered:
        started = time.perf_counter()
        heard = await self._hear(scope, question)
        hits, memories = await asyncio.gather(self._search(heard), self._remember(heard))
        chosen = beside(memories, [hit.text for hit in hits], question.top_memories)
        found = Found(question.query, heard.standalone, hits, chosen, heard.history)
        reply = await reply_from(self._reasoner, found)
        taken = round((time.perf_counter() - started) * 1000)
        answer = await self._keep(heard, reply, told(heard, found, reply, taken))
        await self._learn(heard.scope, answer)
        return answer

    async def _hear(self, scope: Scope, question: Question) -> Heard:
        done = await self._engine.record(scope, [Turn("user", question.query, data={"host": HOST})])
        place = replace(scope, session=done.conversation.session)
        heard = Heard(place, done.refs[0], question, question.query)
        if not question.include_history or not question.history_tokens or not done.first:
            return heard
        before = await self._engine.history(place, limit=MOST_MESSAGES, before=done.first)
        # Only a model reads answers; by rules a question is understood from the questions before it.
        spoken = before if self._reasoner else [turn for turn in before if turn.role == "user"]
        history, tokens = trimmed(spoken, question.history_tokens)
        previous = [turn.text for turn in history if turn.role == "user"]
        standalone = followup(question.query, previous).text[:MAX_QUERY_CHARS]
        return replace(heard, standalone=standalone, history=history, tokens=tokens)

    async def _search(self, heard: Heard) -> list[ChunkHit]:
        asked = heard.question
        query = DocumentQuery(heard.standalone, documents=asked.documents, limit=asked.top_k, mmr=asked.mmr)
        return await self._engine.search_documents(heard.scope, query)

    async def _remember(self, heard: Heard) -> list[Recollection]:
        if not heard.question.top_memories or not self._settings.enabled:
            return []
        shown = [heard.ref, *(turn.ref for turn in heard.history)]
        found = await recollections(self._engine, heard.scope, heard.standalone, shown)
        return await still_told(self._engine, heard.scope, found)

    async def _keep(self, heard: Heard, reply: Reply, answer: Answered) -> Answered:
        try:
            done = await self._engine.record(heard.scope, [kept_turn(heard.ref, reply, answer)])
        # The answer is there, and goes out; the question is in the log.
        except Exception:
            log.exception("an answer could not be kept")
            return answer
        return replace(answer, ref=done.refs[0])

    async def _learn(self, scope: Scope, answer: Answered) -> None:
        if not self._settings.enabled:
            return
        try:
            await learn_answer(self._engine, scope, answer)
        # As above: an answer that cannot be remembered is still an answer, and in the log.
        except Exception:
            log.exception("an answer could not be remembered")

    async def _backfill(self, scope: Scope, turns: int) -> int:
        made, before = 0, turns
        while before > 0:
            page = await self._engine.history(scope, limit=PAGE, before=before)
            if not page:
                break
            for entry in reversed(await entries(self._engine, scope, page, previews=False)):
                made += await learn_answer(self._engine, scope, entry.answered, newest=False)
            # One turn twice, so that no question is parted from its answer.
            first = page[0].index or 0
            before = 0 if first == 0 or len(page) < PAGE else first + 1
        return made


async def check_there(engine: Engine, scope: Scope, wanted: Sequence[DocumentId | str]) -> None:
    """Raises NotFound with those that neither the user nor the project has."""
    ids = list(dict.fromkeys(map(str, wanted)))
    known = {str(each.id) for each in await engine.documents(scope, ids=ids, limit=MOST_DOCUMENTS)} if ids else set()
    if missing := [each for each in ids if each not in known]:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        raise NotFound(f"neither user {scope.user!r} nor the project has document {', '.join(missing[:NAMED])}{more}")


def told(heard: Heard, found: Found, reply: Reply, taken: int) -> Answered:
    return Answered(
        session=heard.scope.session or "",
        answer=reply.text,
        sources=tuple(source_of(hit, reply) for hit in found.hits),
        memories=tuple(found.memories),
        used_history_tokens=heard.tokens,
        latency_ms=taken,
        model=reply.model,
        refused=reply.refused,
        standalone=heard.standalone,
        error_stage=reply.error_stage,
    )
