"""Recall: the turns that speak to a question, each with why it was chosen.

Read the question and embed it; one round trip for all arms; weigh the candidates; one round trip for the texts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from recollect.flows.maintain import write_chapters
from recollect.flows.metrics import diary_row
from recollect.flows.parts import Parts
from recollect.model.asked import asked_keys
from recollect.model.candidates import Candidates
from recollect.model.chapter import best_chapters
from recollect.model.conversation import Turn
from recollect.model.fuse import Fused, Weights, fuse
from recollect.model.ids import RequestId, uuid7
from recollect.model.known import chosen_episodes, speaking, weighed, weighed_episode
from recollect.model.question import Question, read_question
from recollect.model.question_terms import terms_in
from recollect.model.rank import Choice, asks_itself, choose, made_hits
from recollect.model.resolution import resolve_used
from recollect.model.scope import Scope
from recollect.model.search import Query, Recall
from recollect.model.spelling import SIMILAR, unknown_words, with_spellings
from recollect.rules import rulebooks
from recollect.store.around import Around, Surroundings
from recollect.store.memories import Lookup
from recollect.store.store import Arms

MOST_CHARS = 100_000  # of one turn in a hit; history() has it whole
MOST_EXACT = 5_000  # turns; a larger scope is searched by chapter
MOST_CHAPTERS = 40
MOST_UNCOVERED = 500  # turns without a chapter, from which on chapters are written


async def recall(parts: Parts, scope: Scope, query: Query) -> Recall:
    started = time.perf_counter()
    found, _ = await search(parts, scope, query, query.limit)
    parts.diary.note(scope.id, diary_row(scope, "recall", found, len(found.hits), parts.clock.now(), started))
    return found


async def search(
    parts: Parts, scope: Scope, query: Query, limit: int, budget: int | None = None, recent: int = 0
) -> tuple[Recall, Sequence[Turn]]:
    """`recall` without its diary entry, for flows that go on from the hits: as many as fill `budget` tokens; and the
    session's last turns."""
    question = read_question(query.text)
    vector, model, notes = await parts.embedding.question(query.text, scope.id)
    arms = Arms(
        terms=question.lexemes,
        vector=vector,
        model=model,
        session=(scope.session or "") if query.scope == "session" else None,
        as_of=query.as_of,
        now=parts.clock.now(),
    )
    sought = sought_around(scope, query, question, arms, recent)

    (found, fused, question), around = await asyncio.gather(
        weigh(parts, scope, question, arms, Weights(recency=query.recency)),
        (parts.cache or parts.store.around).read(scope.id, scope.project_id, sought),
    )
    choice = choose(found, fused, question, query, scope.session, limit, budget, around.overtaken)

    turns = await texts(parts, scope, choice, found) if len(choice.rows) else []
    hits = made_hits(turns, found, fused, question, choice, scope.session)
    recall = Recall(
        request_id=RequestId(uuid7()),
        query=query,
        hits=[hit for hit in hits if not asks_itself(hit, query, choice)][:limit],
        found=choice.found,
        counts={"bm25": choice.fts, "vector": choice.vectors, "trigram": choice.trigrams},
        scope_used=choice.scope_used,
        widened=choice.widened,
        path=choice.path,
        terms=dict(zip(question.lexemes, map(float, fused.idf), strict=True)),
        notes=notes,
    )
    return with_known(recall, around, sought.look, question, scope, budget is not None), around.recent


def sought_around(scope: Scope, query: Query, question: Question, arms: Arms, recent: int) -> Around:
    look = Lookup(
        keys=asked_keys(query.text, rulebooks()),
        terms=terms_in(query.text),
        words=question.lexemes,
        past=question.past,
        as_of=query.as_of,
    )
    return Around(
        look=look,
        vector=arms.vector,
        model=arms.model,
        session=arms.session,
        current=scope.session,
        recent=recent,
        now=arms.now,
        memories="memory" in query.kinds,
        episodes="episode" in query.kinds,
    )


def with_known(
    recall: Recall, around: Surroundings, look: Lookup, question: Question, scope: Scope, for_context: bool
) -> Recall:
    """Beside the turns: what is known, and episodes. A context also gets all that is important."""
    hits = [
        *weighed(around.mine, "user", question, look.keys, look.terms),
        *weighed(around.project, "project", question, look.keys, look.terms),
    ]
    memories = speaking(sorted(hits, key=lambda hit: -hit.score))
    if for_context:
        spoken = {hit.memory.id for hit in memories}
        memories += [hit for hit in hits if hit.memory.is_always_on and hit.memory.id not in spoken]
    episodes = [
        weighed_episode(episode, "session" if episode.session == scope.session else "user", cosine, shared, question)
        for episode, cosine, shared in around.episodes
    ]
    resolved = resolve_used(
        look.terms,
        recall.query.definitions,
        [memory for memory, _ in around.mine],
        [memory for memory, _ in around.project],
        around.terms,
    )
    return replace(recall, memories=memories, episodes=chosen_episodes(episodes), resolved=resolved)


async def texts(parts: Parts, scope: Scope, choice: Choice, found: Candidates) -> list[Turn]:
    if parts.cache:
        return await parts.cache.chosen(scope.id, choice.rows, found, MOST_CHARS)
    return await parts.store.chosen(scope.id, choice.places(found), MOST_CHARS)


async def weigh(
    parts: Parts, scope: Scope, question: Question, arms: Arms, weights: Weights
) -> tuple[Candidates, Fused, Question]:
    """The candidates with their scores. Where most words of the question were never said, similar ones are tried."""
    found, is_giant = await candidates(parts, scope, arms, weights)
    fused = fuse(found, question, weights)
    unknown = [] if is_giant else unknown_words(question, fused)
    similar = await parts.store.similar_words(scope.id, unknown, SIMILAR) if unknown else {}
    if not similar:
        return found, fused, question
    question = with_spellings(question, similar)
    found, _ = await candidates(parts, scope, replace(arms, terms=question.lexemes), weights)
    return found, fuse(found, question, weights), question


async def candidates(parts: Parts, scope: Scope, arms: Arms, weights: Weights) -> tuple[Candidates, bool]:
    """Every turn of the scope; of a giant scope, the turns of the chapters that speak to the question, and those that
    no chapter covers yet. That it is giant is remembered, to save the look; chapters are right for any size."""
    if scope.id not in parts.giants:
        found, turns = await parts.store.score(scope.id, arms, MOST_EXACT)
        if turns <= MOST_EXACT:
            return found, False
        parts.giants.add(scope.id)
    chapters, uncovered = await parts.store.score_chapters(scope.id, arms)
    if sum(last - first + 1 for _, first, last in uncovered) > MOST_UNCOVERED:
        parts.chores.start(scope.id, write_chapters(parts.store, scope.id))
    runs = best_chapters(chapters, weights, MOST_CHAPTERS) + uncovered
    return await parts.store.score_within(scope.id, arms, runs), True
