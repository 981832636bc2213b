"""Remembering: what memory has beside the documents, and what of an answer goes into it.

Memories, summaries of sessions (of this one too, as far as its history is not shown) and what was said in others are
asked for in one recall, in the words of the standalone question. An answer that came from documents is kept as a memory
of its question (`qa_turn`). It names the documents it rests on, as a summary's turns do; neither is told to who cannot
see one of them any more, or when one is gone. Memory that fails is done without. librarian.py calls this.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.chat.answers import shared_worth, told, worths
from recollect.hosts.documents.asking import Answered, Recollection
from recollect.hosts.documents.scoring import memory_score
from recollect.model.chat import asks
from recollect.model.conversation import Turn
from recollect.model.document_turns import asks_documents, cited_in, is_stopgap
from recollect.model.episode import Episode
from recollect.model.known import EpisodeHit, MemoryHit
from recollect.model.lesson import Lesson
from recollect.model.memory import Memory
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.search import Hit, Query, Recall
from recollect.rules import rulebooks

log = logging.getLogger("recollect.documents")
LOOKED_AT = 20  # turns among which those of other sessions are looked for
IMPORTANCE = 0.3
SAID, SUMMARISED = 0.1, 0.3  # the importance of a turn and of a summary, which have none of their own
VALUE_CHARS = 2_000
# Questions with a statement are of this kind too; no database has this name.
KEPT_FOR = "(documents)"
# Questions in a summary that quotes (model/extractive.py).
ASKED = re.compile(r'[^"\s][^"]*?(?: asked: |问：)(?:"[^"]*"\s*)+')


async def recollections(
    engine: Engine, scope: Scope, question: str, exclude: Sequence[str]
) -> list[tuple[Recollection, tuple[str, ...]]]:
    """What speaks to the question, with the documents that it rests on."""
    query = Query(question, scope="user", limit=LOOKED_AT, exclude=tuple(exclude))
    try:
        recall, now = await engine.recall(scope, query), datetime.now(UTC)
        summaries = [hit for hit in recall.episodes if not is_shown(hit.episode, exclude)]
        behind = [(hit, await turns_behind(engine, scope, hit.episode)) for hit in summaries]
        summed = [
            (from_episode(hit, now), tuple(sorted(cited_in(turns)))) for hit, turns in behind if tells(hit, turns)
        ]
        return [*weighed(recall, scope.session, now), *summed]
    # A memory that fails must not break an answer that documents give.
    except Exception:
        log.exception("memory could not be asked")
        return []


def weighed(recall: Recall, session: str | None, now: datetime) -> Iterator[tuple[Recollection, tuple[str, ...]]]:
    books, worth = rulebooks(), worths(recall)
    for known in recall.memories:
        if known.score > 0:
            yield from_memory(known, now), documents_of(known.memory)
    for hit in told(recall, books):
        if hit.turn.session != session and not is_stopgap(hit.turn) and not asks(hit.text, books):
            near = hit.arms["vector"].score if "vector" in hit.arms else 0.0
            yield from_turn(hit, max(shared_worth(hit.words, worth), near), now), ()


def from_memory(hit: MemoryHit, now: datetime) -> Recollection:
    memory = hit.memory
    score = memory_score(hit.score, memory.importance, memory.valid_from, now)
    return Recollection(str(memory.id), memory.source, hit.text, score)


def from_episode(hit: EpisodeHit, now: datetime) -> Recollection:
    score = memory_score(hit.score, SUMMARISED, hit.episode.said_from, now)
    return Recollection(hit.source, "summary", hit.text, score)


def from_turn(hit: Hit, similarity: float, now: datetime) -> Recollection:
    return Recollection(hit.source, "turn", hit.text, memory_score(similarity, SAID, hit.turn.at, now))


def is_shown(episode: Episode, exclude: Sequence[str]) -> bool:
    """Its turns are before the model's eyes: what is shown of a session goes from some turn on to the last."""
    return f"{episode.session}#{episode.first}" in exclude


async def turns_behind(engine: Engine, scope: Scope, episode: Episode) -> list[Turn]:
    """What it sums up."""
    place = Scope(scope.user, episode.session, scope.project)
    return await engine.history(place, limit=episode.last - episode.first + 1, before=episode.last + 1)


def tells(hit: EpisodeHit, turns: Sequence[Turn]) -> bool:
    """Whether a summary says more than what was asked. Of questions that documents did not answer it says nothing."""
    if not asks_documents(turns):
        return True
    return bool(cited_in(turns)) and bool(ASKED.sub("", hit.episode.summary).strip())


def documents_of(memory: Memory) -> tuple[str, ...]:
    return tuple(map(str, (memory.data or {}).get("documents") or ()))


async def still_told(
    engine: Engine, scope: Scope, found: Sequence[tuple[Recollection, tuple[str, ...]]]
) -> list[Recollection]:
    """Without what rests on a document that is not there for this user."""
    wanted = {document for _, documents in found for document in documents}
    gone = {document for document in wanted if not await is_there(engine, scope, document)}
    return [each for each, documents in found if gone.isdisjoint(documents)]


async def is_there(engine: Engine, scope: Scope, document: str) -> bool:
    try:
        return (await engine.document(scope, document)).status == "processed"
    except NotFound:
        return False


async def learn_answer(engine: Engine, scope: Scope, answer: Answered, *, newest: bool = True) -> bool:
    """An answer that documents gave becomes a memory of its question, in place of an older one; whether it did."""
    cited = sorted({str(source.document) for source in answer.sources if source.cited})
    if answer.refused or answer.error_stage or not cited:
        return False
    key, value = " ".join(answer.standalone.split())[:MAX_NAME].strip(), answer.answer[:VALUE_CHARS]
    for old in await kept_before(engine, scope, key):
        if old.value == value.strip() or not newest:
            return False
        await engine.close(scope, old.id, owner="user")
    lesson = Lesson(
        value,
        key=key,
        kind="question",
        source="qa_turn",
        owner="user",
        importance=IMPORTANCE,
        data={"host": "documents", "source": KEPT_FOR, "documents": cited, "ref": answer.ref},
        said_in=answer.ref,
        learned_by="model" if answer.model else "rules",
    )
    await engine.learn(scope, lesson)
    return True


async def kept_before(engine: Engine, scope: Scope, key: str) -> list[Memory]:
    found = await engine.memories(scope, kinds=("question",), key=key, status=("active",))
    return [memory for memory in found if (memory.data or {}).get("source") == KEPT_FOR]


async def forget_answers(engine: Engine, scope: Scope, document: UUID) -> int:
    """Erases the user's memories of answers that rest on a document; how many."""
    found = await engine.memories(scope, kinds=("question",), status=None, limit=1000)
    resting = [memory for memory in found if str(document) in documents_of(memory)]
    for memory in resting:
        await engine.forget(scope, memory=memory.id, owner="user")
    return len(resting)
