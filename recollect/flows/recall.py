"""Recall: the turns that speak to a question, each with why it was chosen.

Read the question and embed it; one round trip for all arms; weigh the candidates; one round trip for the texts.
"""

from __future__ import annotations

import time
from dataclasses import replace

from recollect.flows.maintain import write_chapters
from recollect.flows.metrics import diary_row
from recollect.flows.parts import Parts
from recollect.model.candidates import Candidates
from recollect.model.chapter import best_chapters
from recollect.model.fuse import Fused, Weights, fuse
from recollect.model.ids import RequestId, uuid7
from recollect.model.question import Question, read_question
from recollect.model.rank import asks_itself, choose, made_hits
from recollect.model.scope import Scope
from recollect.model.search import Query, Recall
from recollect.model.spelling import SIMILAR, unknown_words, with_spellings
from recollect.store.store import Arms

MOST_CHARS = 100_000  # of one turn in a hit; history() has it whole
MOST_EXACT = 5_000  # turns; a larger scope is searched by chapter
MOST_CHAPTERS = 40
MOST_UNCOVERED = 500  # turns without a chapter, from which on chapters are written


async def recall(parts: Parts, scope: Scope, query: Query) -> Recall:
    started = time.perf_counter()
    found = await search(parts, scope, query, query.limit)
    parts.diary.note(scope.id, diary_row(scope, "recall", found, parts.clock.now(), started))
    return found


async def search(parts: Parts, scope: Scope, query: Query, limit: int, budget: int | None = None) -> Recall:
    """`recall` without its diary entry, for flows that go on from the hits: as many as fill `budget` tokens."""
    question = read_question(query.text)
    vector, model, notes = await parts.embedding.question(query.text)
    arms = Arms(
        terms=question.lexemes,
        vector=vector,
        model=model,
        session=(scope.session or "") if query.scope == "session" else None,
        as_of=query.as_of,
        now=parts.clock.now(),
    )

    found, fused, question = await weigh(parts, scope, question, arms, Weights(recency=query.recency))
    choice = choose(found, fused, question, query, scope.session, limit, budget)

    turns = await parts.store.chosen(scope.id, choice.places(found), MOST_CHARS) if len(choice.rows) else []
    hits = made_hits(turns, found, fused, question, choice, scope.session)
    return Recall(
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
