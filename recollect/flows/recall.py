"""Recall and context: find the turns, memories and episodes relevant to a question, and pack them into a prompt.

Analyze the question and embed it; read all candidates in one round trip; score them; read the texts of the best in
another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from recollect.flows.dependencies import Dependencies
from recollect.flows.maintain import write_chapters
from recollect.flows.request_log import build_request_row
from recollect.learning.asked_keys import find_asked_keys
from recollect.learning.changes import find_outdated, read_statements
from recollect.learning.matters import EMBEDDER
from recollect.learning.rules import rulebooks
from recollect.recall.answer_ranking import (
    add_similarity,
    list_question_words,
    list_words,
    rate_relevance,
    spell_question,
)
from recollect.recall.fuse import Candidates, Fused, Weights, fuse, select_chapters
from recollect.recall.memory_ranking import LEAST, rank_episodes, score_memories, select_relevant
from recollect.recall.pack import pack
from recollect.recall.question import Question, analysed_part, read_question, terms_in
from recollect.recall.rank import NOTHING_FOUND, Choice, build_hits, choose, find_statements, is_question_itself
from recollect.recall.sketch import Flag, flags
from recollect.recall.spelling import SIMILAR, choose_spellings, find_unknown_words, swap_letters, with_spellings
from recollect.store.memories import Lookup
from recollect.store.question_context import Arms, ContextLookup, QuestionContext
from recollect.threads import run_in_thread
from recollect.values.conversation import Turn
from recollect.values.query import (
    MAX_HITS,
    MAX_QUERY_CHARS,
    Context,
    EpisodeHit,
    Hit,
    MemoryHit,
    Outdated,
    Query,
    Recall,
)
from recollect.values.resolution import resolve_used
from recollect.values.scope import RequestId, Scope, uuid7

MOST_CHARS = 100_000  # of one turn in a hit; history() has it whole
INLINE_CHARS = 500  # longer queries are analyzed in a thread
MOST_EXACT = 5_000  # turns; a larger scope is searched by chapter
MOST_CHAPTERS = 40
MOST_COMPARED = 60  # of the best turns in a context, that are checked for changes of mind
COMPARED = 30  # statements that are compared with those that match the question, if fewer match
MOST_UNCOVERED = 500  # turns without a chapter, from which on chapters are written


async def recall(deps: Dependencies, scope: Scope, query: Query) -> Recall:
    """Return the relevant turns, memories and episodes, and log the request."""
    if not deps.settings.enabled:
        return recall_nothing(query)
    started = time.perf_counter()
    query = mask_query(deps, query)
    found, _ = await search_memory(deps, scope, query, query.limit)
    deps.request_log.add(
        scope.id, build_request_row(scope, "recall", found, len(found.hits), deps.clock.now(), started)
    )
    return found


def mask_query(deps: Dependencies, query: Query) -> Query:
    """Return the query as it is stored and searched."""
    masked = deps.mask(query.text)
    return query if masked == query.text else replace(query, text=masked[:MAX_QUERY_CHARS])


async def search_memory(
    deps: Dependencies, scope: Scope, query: Query, limit: int, budget: int | None = None, recent: int = 0
) -> tuple[Recall, Sequence[Turn]]:
    """Return a recall without logging it, with as many hits as fill `budget` tokens, and the session's last turns."""
    text = analysed_part(query.text)
    question, look = (
        await run_in_thread(analyze_query, query, text) if len(text) > INLINE_CHARS else analyze_query(query, text)
    )
    vector, model, notes = await deps.embedding.embed_question(query.text, scope.id)
    arms = Arms(
        terms=question.lexemes,
        vector=vector,
        model=model,
        session=(scope.session or "") if query.scope == "session" else None,
        as_of=query.as_of,
        now=deps.clock.now(),
    )
    has_memories, has_episodes = "memory" in query.kinds, "episode" in query.kinds
    sought = ContextLookup(look, arms, scope.session, recent, has_memories, has_episodes)

    (found, fused, question), around = await asyncio.gather(
        score_turns(deps, scope, question, arms, Weights(recency=query.recency), query.exclude),
        (deps.cache or deps.store.question_context).read(scope.id, scope.project_id, sought),
    )
    choice = choose(found, fused, question, query, scope.session, limit, budget, around.overtaken)

    turns = await load_turns(deps, scope, choice, found) if len(choice.rows) else []
    hits = build_hits(turns, found, fused, question, choice, scope.session)
    others = [hit for hit in hits if not is_question_itself(hit, query, choice)]
    recall = Recall(
        request_id=RequestId(uuid7()),
        query=query,
        hits=[replace(hit, rank=rank) for rank, hit in enumerate(others[:limit], 1)],
        found=choice.found,
        counts=choice.counts,
        scope_used=choice.scope_used,
        widened=choice.widened,
        path=choice.path,
        terms=dict(zip(question.lexemes, map(float, fused.idf), strict=True)),
        notes=notes,
    )
    return add_known(recall, around, sought.look, question, scope, budget is not None), around.recent


def analyze_query(query: Query, text: str) -> tuple[Question, Lookup]:
    """Return what the analyzed part of a query asks for."""
    question = read_question(text)
    return question, Lookup(
        keys=find_asked_keys(text, rulebooks()),
        terms=terms_in(text),
        words=question.lexemes,
        past=question.past,
        as_of=query.as_of,
    )


def add_known(
    recall: Recall, around: QuestionContext, look: Lookup, question: Question, scope: Scope, for_context: bool
) -> Recall:
    """Add memories and episodes to a recall. A context also gets all important memories."""
    hits = [
        *score_memories(around.mine, "user", question, look.keys, look.terms),
        *score_memories(around.project, "project", question, look.keys, look.terms),
    ]
    memories = select_relevant(sorted(hits, key=lambda hit: -hit.score))
    if for_context:
        listed = {hit.memory.id for hit in memories}
        memories += [hit for hit in hits if hit.memory.is_always_on and hit.memory.id not in listed]
    resolved = resolve_used(
        look.terms,
        recall.query.definitions,
        [memory for memory, _ in around.mine],
        [memory for memory, _ in around.project],
        around.terms,
    )
    episodes = rank_episodes(around.episodes, question, scope.session)
    return replace(recall, memories=memories, episodes=episodes, resolved=resolved)


async def load_turns(deps: Dependencies, scope: Scope, choice: Choice, found: Candidates) -> list[Turn]:
    if deps.cache:
        return await deps.cache.read_turns(scope.id, choice.rows, found, MOST_CHARS)
    return await deps.store.load_turns(scope.id, choice.places(found), MOST_CHARS)


async def score_turns(
    deps: Dependencies, scope: Scope, question: Question, arms: Arms, weights: Weights, exclude: Sequence[str]
) -> tuple[Candidates, Fused, Question]:
    """Return the candidates with their scores. Words of the question that were never said are taken for what they
    misspell."""
    found, is_giant = await load_candidates(deps, scope, arms, weights)
    fused = fuse(found, question, weights)
    unknown, outweigh = find_unknown_words(question, fused, find_statements(found, exclude))
    # A message in a conversation is searched as it was typed; a plain query only if most of it was never said.
    unknown = [] if is_giant or not (exclude or outweigh) else unknown
    tried = [*unknown, *(swapped for word in unknown for swapped in swap_letters(word))]
    similar = await deps.store.find_similar_words(scope.id, tried, unknown, SIMILAR) if unknown else {}
    spellings = choose_spellings(unknown, similar, outweigh)
    if not spellings:
        return found, fused, question
    question = with_spellings(question, spellings)
    found, _ = await load_candidates(deps, scope, replace(arms, terms=question.lexemes), weights)
    return found, fuse(found, question, weights), question


async def load_candidates(deps: Dependencies, scope: Scope, arms: Arms, weights: Weights) -> tuple[Candidates, bool]:
    """Return every turn of the scope; of a large scope, the turns of the relevant chapters and those without a chapter.
    That a scope is large is remembered to save a query; chapters are correct for any size."""
    if scope.id not in deps.large_scopes:
        found, turns = await deps.store.score_turns(scope.id, arms, MOST_EXACT)
        if turns <= MOST_EXACT:
            return found, False
        deps.large_scopes.add(scope.id)
    chapters, uncovered = await deps.store.score_chapters(scope.id, arms)
    if sum(last - first + 1 for _, first, last in uncovered) > MOST_UNCOVERED:
        deps.background_tasks.start(scope.id, write_chapters(deps.store, scope.id))
    runs = select_chapters(chapters, weights, MOST_CHAPTERS) + uncovered
    return await deps.store.score_within(scope.id, arms, runs), True


async def build_context(deps: Dependencies, scope: Scope, query: Query) -> Context:
    """Return text for a prompt: what recall found and the session's last turns, within the token budget."""
    if not deps.settings.enabled:
        return Context(recall_nothing(query), "", (), 0)
    started = time.perf_counter()
    query = mask_query(deps, query)
    count = deps.settings.history if query.recent is None else query.recent
    # One more than requested, because the last may be the question itself.
    compared = query if query.as_of else replace(query, fallback=max(query.fallback, COMPARED))
    found, turns = await search_memory(deps, scope, compared, MAX_HITS, query.budget, recent=count and count + 1)

    if query.as_of is None and found.hits:
        found = await mark_outdated(deps, found, query)
    found = replace(found, query=query)
    packed = pack(found, select_recent(turns, query, count))
    used = packed.hits
    count_context_use(deps, scope, used)
    deps.request_log.add(
        scope.id, build_request_row(scope, "context", found, len(used), deps.clock.now(), started, packed)
    )
    return packed


def count_context_use(deps: Dependencies, scope: Scope, hits: Sequence[Hit | MemoryHit | EpisodeHit]) -> None:
    """Count a memory as used only if it matched the question; always-included memories do not count."""
    used = [hit for hit in hits if isinstance(hit, MemoryHit) and hit.score >= LEAST]
    for holder, tier in ((scope.id, "user"), (scope.project_id, "project")):
        deps.usage.add(holder, [hit.memory.id for hit in used if hit.tier == tier])


async def mark_outdated(deps: Dependencies, recall: Recall, query: Query) -> Recall:
    """Return the recall, with the similarity of its words to the question's if it may be answered from them. What a
    later message may replace or end says so. Of messages that do not match, those stay that the query asks for, and
    those that change another."""
    vectors = await load_vectors(deps, recall)
    if query.fallback and vectors:
        recall = add_similarity(recall, vectors)
    said = [hit for hit in recall.hits[:MOST_COMPARED] if hit.turn.role == "user" and hit.turn.at is not None]
    said.sort(key=lambda hit: (hit.turn.at, hit.turn.index))
    found: dict[str, list[Outdated]] = {}
    relevance, asked = rate_relevance(recall, said), spell_question(recall) if has_matters(deps) else ""
    for change in find_outdated([hit.text for hit in said], relevance, vectors, asked):
        mark = Outdated(change.statement, said[change.by].source, round(change.probability, 4))
        found.setdefault(said[change.message].source, []).append(mark)
    marked = [replace(hit, outdated=tuple(found.get(hit.source, ()))) for hit in recall.hits]
    hits = marked if query.fallback else drop_unmatched(marked, recall.found)
    return replace(recall, hits=hits, memories=mark_memories(recall.memories, hits))


async def load_vectors(deps: Dependencies, recall: Recall) -> dict[str, NDArray[Any]] | None:
    """Return the vectors of all words, if a local embedder has them; also of the question and of all statements, if
    their matters can be compared."""
    embedder = deps.embedding.embedder
    if embedder is None or not embedder.is_local:
        return None
    words = {*list_question_words(recall), *(word for hit in recall.hits for word in list_words(hit.text))}
    texts = list(words | list_compared(recall)) if has_matters(deps) else list(words)
    vectors = await deps.embedding.embed_for_comparison(texts)
    return None if vectors is None else dict(zip(texts, vectors, strict=True))


def has_matters(deps: Dependencies) -> bool:
    """Return whether the embedder is the one whose vectors say what is of one matter."""
    return deps.embedding.embedder is not None and deps.embedding.embedder.name == EMBEDDER


def list_compared(recall: Recall) -> set[str]:
    """Return the question, and the statements of the user."""
    said = (each.text for hit in recall.hits if hit.turn.role == "user" for each in read_statements(hit.text))
    return {spell_question(recall), *said}


def drop_unmatched(hits: Sequence[Hit], matching: int) -> list[Hit]:
    """Return the first hits, which match the question, or a few if none of them is a statement, and the other messages
    that change one of these."""
    has_statement = any(flags(hit.turn) & (Flag.USER | Flag.ASKS) == Flag.USER for hit in hits[:matching])
    shown = list(hits[: matching if has_statement else matching + NOTHING_FOUND])
    changing = {part.by for hit in shown for part in hit.outdated}
    return shown + [hit for hit in hits[len(shown) :] if hit.source in changing]


def mark_memories(memories: Sequence[MemoryHit], hits: Sequence[Hit]) -> list[MemoryHit]:
    """Return the memories; those of which the turn is outdated where it states the value say so."""
    parts = {hit.source: " ".join(part.statement for part in hit.outdated) for hit in hits if hit.outdated}
    return [
        replace(hit, is_outdated=any(hit.memory.value in parts.get(ref, "") for ref in hit.memory.refs[:1]))
        for hit in memories
    ]


def select_recent(turns: Sequence[Turn], query: Query, count: int) -> list[Turn]:
    """Return the end of the session, without the question itself."""
    said = [turn for turn in turns if query.as_of is None or (turn.at and turn.at <= query.as_of)]
    if said and (said[-1].role, said[-1].text) == ("user", query.text):
        said.pop()
    shown = [turn for turn in said if turn.ref not in query.exclude]
    return shown[-count:] if count else []


NOTE = "memory is turned off (MEMORY_ENABLED=0), so nothing is recalled"


def recall_nothing(query: Query) -> Recall:
    return Recall(RequestId(uuid7()), query, (), 0, {}, "session", None, "none", {}, (NOTE,))
