"""Memories for a question about documents, and answers that become memories (`qa_turn`). librarian.py calls this.

Memories and summaries that cite documents are dropped if the user can no longer read one of them. If memory fails, the
answer is made without it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

from recollect.apps.chat.answers import select_relevant_turns, shared_weight, weigh_words
from recollect.apps.chat.message import has_question
from recollect.apps.documents.question import Answered, Recollection
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.learning.document_turns import asks_documents, is_stopgap, list_cited
from recollect.learning.rules import rulebooks
from recollect.recall.lexemes import lexemes
from recollect.values.conversation import Turn
from recollect.values.lesson import Lesson
from recollect.values.memory import Memory
from recollect.values.query import EpisodeHit, Query, Recall
from recollect.values.scope import MAX_NAME, Scope

log = logging.getLogger("recollect.documents")
MAX_TURNS = 20  # that are searched for those of other sessions
IMPORTANCE = 0.3
TURN_IMPORTANCE = 0.1  # turns and summaries have no importance of their own
SUMMARY_IMPORTANCE = 0.3
VALUE_CHARS = 2_000
# Questions to databases have the same kind; no database has this name.
NO_DATABASE = "(documents)"
# Questions quoted in an extractive summary.
QUOTED_QUESTION = re.compile(r'[^"\s][^"]*?(?: asked: |问：)(?:"[^"]*"\s*)+')
BY_IMPORTANCE = 0.05
BY_RECENCY = 0.1  # for something said just now; half of it after HALF_LIFE
HALF_LIFE = 30.0  # days
MAX_BOOST = 1.15
SAME_TEXT = 0.8  # share of common words from which two texts say the same


async def recall_memories(
    engine: Engine, scope: Scope, question: str, exclude: Sequence[str]
) -> list[tuple[Recollection, tuple[str, ...]]]:
    """Return what is relevant to the question, with the documents that it cites."""
    query = Query(question, scope="user", limit=MAX_TURNS, exclude=tuple(exclude))
    try:
        recall, now = await engine.recall(scope, query), datetime.now(UTC)
        found = list(score_memories(recall, scope.session, now))
        for hit in recall.episodes:
            episode = hit.episode
            if f"{episode.session}#{episode.first}" in exclude:
                continue  # its turns are in the history, which is always the end of a session
            place = Scope(scope.user, episode.session, scope.project)
            turns = await engine.history(place, limit=episode.last - episode.first + 1, before=episode.last + 1)
            if has_content(hit, turns):
                score = score_memory(hit.score, SUMMARY_IMPORTANCE, episode.said_from, now)
                found.append((Recollection(hit.source, "summary", hit.text, score), tuple(sorted(list_cited(turns)))))
        return found
    # A failure of memory must not break an answer from documents.
    except Exception:
        log.exception("memory could not be searched")
        return []


def score_memories(
    recall: Recall, session: str | None, now: datetime
) -> Iterator[tuple[Recollection, tuple[str, ...]]]:
    books, worth = rulebooks(), weigh_words(recall)
    for known in recall.memories:
        memory = known.memory
        if known.score > 0:
            score = score_memory(known.score, memory.importance, memory.valid_from, now)
            yield Recollection(str(memory.id), memory.source, known.text, score), cited_documents(memory)
    for hit in select_relevant_turns(recall, books):
        if hit.turn.session != session and not is_stopgap(hit.turn) and not has_question(hit.text, books):
            near = hit.arms["vector"].score if "vector" in hit.arms else 0.0
            score = score_memory(max(shared_weight(hit.words, worth), near), TURN_IMPORTANCE, hit.turn.at, now)
            yield Recollection(hit.source, "turn", hit.text, score), ()


def has_content(hit: EpisodeHit, turns: Sequence[Turn]) -> bool:
    """Whether a summary says more than the questions. It says nothing about questions that documents did not answer."""
    if not asks_documents(turns):
        return True
    return bool(list_cited(turns)) and bool(QUOTED_QUESTION.sub("", hit.episode.summary).strip())


def cited_documents(memory: Memory) -> tuple[str, ...]:
    return tuple(map(str, (memory.data or {}).get("documents") or ()))


async def drop_unreadable(
    engine: Engine, scope: Scope, found: Sequence[tuple[Recollection, tuple[str, ...]]]
) -> list[Recollection]:
    """Return the memories without those that cite a document the user cannot read."""
    readable = set[str]()
    for document in {document for _, documents in found for document in documents}:
        with suppress(NotFound):
            if (await engine.documents.get(scope, document)).status == "processed":
                readable.add(document)
    return [each for each, documents in found if readable.issuperset(documents)]


async def learn_answer(engine: Engine, scope: Scope, answer: Answered, *, newest: bool = True) -> bool:
    """Make an answer from documents a memory of its question, replacing an older one. Return whether it did."""
    cited = sorted({str(source.document) for source in answer.sources if source.cited})
    if answer.refused or answer.error_stage or not cited:
        return False
    key, value = " ".join(answer.standalone.split())[:MAX_NAME].strip(), answer.answer[:VALUE_CHARS]
    earlier = await engine.memories(scope, kinds=("question",), key=key, status=("active",))
    for old in filter(cited_documents, earlier):  # others are of questions to databases
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
        data={"host": "documents", "source": NO_DATABASE, "documents": cited, "ref": answer.ref},
        said_in=answer.ref,
        learned_by="model" if answer.model else "rules",
    )
    await engine.learn(scope, lesson)
    return True


async def forget_answers(engine: Engine, scope: Scope, document: UUID) -> None:
    """Erase the user's memories of answers that cite a document."""
    for memory in await engine.memories(scope, kinds=("question",), status=None, limit=1000):
        if str(document) in cited_documents(memory):
            await engine.forget(scope, memory=memory.id, owner="user")


def score_memory(similarity: float, importance: float, said_at: datetime | None, now: datetime) -> float:
    boost = 1 + BY_IMPORTANCE * importance
    if said_at is not None:
        days = max((now - said_at).total_seconds() / 86_400, 0.0)
        boost *= float(1 + BY_RECENCY * 0.5 ** (days / HALF_LIFE))
    return round(min(max(similarity, 0.0), 1.0) * min(boost, MAX_BOOST), 4)


def jaccard(one: str, other: str) -> float:
    """Return the share of words that two texts have in common."""
    mine, yours = set(lexemes(one)), set(lexemes(other))
    return len(mine & yours) / (len(mine | yours) or 1)


def select_memories(found: Iterable[Recollection], chunks: Sequence[str], most: int) -> tuple[Recollection, ...]:
    """Return the best memories, each text once, without those that a chunk repeats."""
    chosen: list[Recollection] = []
    for each in sorted(found, key=lambda each: -each.score):
        if len(chosen) == most:
            break
        if not any(jaccard(each.text, text) > SAME_TEXT for text in (*chunks, *(other.text for other in chosen))):
            chosen.append(each)
    return tuple(chosen)
