"""Derive: process one conversation in stages: learn by rules, embed, learn by model, summarize.

A lease prevents two workers from doing the same work at once. Each stage moves its position in the transaction that
writes its results, so nothing is done twice. A stage that fails, for whatever reason, is retried later and parked after
the last try; the other stages continue. Only a store that does not answer ends all of them.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

from recollect.errors import (
    EmbedderFailed,
    Outdated,
    ReasonerFailed,
    RecollectError,
    SchemaMismatch,
    StoreUnavailable,
)
from recollect.flows.dependencies import Dependencies
from recollect.flows.embed import StillOut, Vectors
from recollect.flows.learn import PAGE, is_long, learn_by_model, learn_by_rules, read_turns
from recollect.flows.reason import summarize_turns
from recollect.learning.document_turns import asks_documents, select_for_summary
from recollect.learning.rules import rulebooks
from recollect.learning.summary import Summary, summarize_by_quoting
from recollect.providers.model_gate import background
from recollect.recall.lexemes import count_tokens
from recollect.recall.sketch import embedded_text
from recollect.store.work import release_statement
from recollect.threads import run_in_thread
from recollect.values.conversation import Episode, Turn, find_due_ranges
from recollect.values.scope import ConversationId, ScopeId, uuid7
from recollect.values.work import MOST_TRIES, PARKED_PAUSE, Job, Stage, get_retry_pause

log = logging.getLogger("recollect.learning")

LEASE = timedelta(minutes=5)
EMBEDDED_PAGE = 256  # turns embedded in one go


async def derive(deps: Dependencies, scope: ScopeId, conversation: ConversationId) -> bool:
    """Process a conversation. Return False if another worker has the lease, there is nothing to do, or a stage
    failed."""
    model = await deps.embedding.get_model()
    now = deps.clock.now()
    claimed = await deps.store.work.claim(scope, conversation, model, now, now + LEASE, PAGE)
    if claimed is None:
        return False
    job, turns = claimed
    try:
        job, failures = await run_stages(deps, job, turns, model)
    except asyncio.CancelledError:
        await asyncio.shield(deps.store.work.drop_lease(job))
        raise
    if failures:
        await put_off(deps, job, failures)
        return False
    if not job.is_released:
        await deps.store.work.release(job, None if "embed" in job.resting else model)
    return True


def is_all(deps: Dependencies, job: Job, turns: Sequence[Turn], model: int | None) -> bool:
    """Return whether learning by rules is all there is to do."""
    is_embedded = model is None or job.embedded_model == model
    return is_embedded and deps.reasoner is None and not job.resting and not find_due_episodes(deps, job, turns)


async def run_stages(
    deps: Dependencies, job: Job, turns: Sequence[Turn], model: int | None
) -> tuple[Job, dict[Stage, RecollectError]]:
    """Run the stages; return the job as far as it came, and the failures."""
    failures: dict[Stage, RecollectError] = {}
    closing = release_statement(job, model) if is_all(deps, job, turns, model) else None
    stages: dict[Stage, Callable[[Job], Awaitable[Job]]] = {
        "learn": lambda job: learn_by_rules(deps, job, turns, closing)
    }
    if model is not None:
        stages["embed"] = lambda job: embed(deps, job, model)
    if deps.reasoner is not None:
        stages["reason"] = lambda job: learn_by_model(deps, job)
    stages["episodes"] = lambda job: compress(deps, job, turns)
    for stage, run in stages.items():
        if stage not in job.resting:
            job, failure = await run_stage(deps, stage, job, run)
            failures |= {stage: failure} if failure else {}
    return job, failures


async def run_stage(
    deps: Dependencies, stage: Stage, job: Job, run: Callable[[Job], Awaitable[Job]]
) -> tuple[Job, RecollectError | None]:
    """Run one stage; return the job as far as it came, and why the stage failed."""
    try:
        deps.outages.check(stage)
        with background():
            job = await run(job)
        deps.outages.record_success(stage)
    except (EmbedderFailed, ReasonerFailed, Outdated) as error:
        deps.outages.record_failure(stage, error)
        return job, error
    except (StoreUnavailable, SchemaMismatch):
        raise
    # What breaks on one conversation must not stop the work on all others.
    except Exception as error:
        log.exception("stage %s of conversation %s failed", stage, job.conversation)
        return job, error if isinstance(error, RecollectError) else describe_defect(error)
    return job, None


def describe_defect(error: Exception) -> RecollectError:
    """Return what to show of an error of our own code: its type and its place. Its message may quote the user."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return RecollectError(f"{type(error).__name__} in {where}: please report it, with the traceback in the log")


async def embed(deps: Dependencies, job: Job, model: int) -> Job:
    """Store vectors of the current model for each turn that should have one, and for each episode."""
    if job.embedded_model == model:
        return job
    only_marked = deps.embedding.policy == "high_value"
    while turns := await deps.store.list_unembedded(job.scope, job.conversation, model, only_marked, EMBEDDED_PAGE):
        vectors, _ = await deps.embedding.embed_texts([embedded_text(turn) for turn in turns])
        indexes = [turn.index for turn in turns if turn.index is not None]
        await deps.store.add_vectors(job.scope, job.conversation, model, indexes, vectors)
    while job.episodes and (episodes := await deps.store.episodes.list_unembedded(job, model, EMBEDDED_PAGE)):
        vectors, _ = await deps.embedding.embed_texts([episode.text for episode in episodes])
        await deps.store.episodes.embed(job, model, episodes, vectors)
    return job


async def put_off(deps: Dependencies, job: Job, failures: Mapping[Stage, RecollectError]) -> None:
    """Schedule a retry, or park the failing stages after the last try. A try that an outage prevented does not
    count."""
    now = deps.clock.now()
    error = "; ".join(f"{stage}: {error}" for stage, error in failures.items())
    tried = not all(isinstance(error, StillOut) for error in failures.values())
    if tried and job.attempts >= MOST_TRIES:
        await deps.store.work.park(job, list(failures), now + PARKED_PAUSE, error, now)
    else:
        attempts = job.attempts if tried else job.attempts - 1
        await deps.store.work.postpone(job, now + get_retry_pause(job.attempts), attempts, error, now)


async def compress(deps: Dependencies, job: Job, newest: Sequence[Turn]) -> Job:
    """Write every episode that is due, one after the other. `newest` are turns at the end of the conversation; if none
    are given, the last one is read."""
    if job.turns and not newest:
        newest = await deps.store.work.load_turns(job, job.turns - 1, job.turns - 1)
    for first, last in find_due_episodes(deps, job, newest):
        turns = await deps.store.work.load_turns(job, first, last)

        started = time.perf_counter()
        episode = build_episode(deps, job, turns, await summarize(deps, turns))
        model_ms = round((time.perf_counter() - started) * 1000) if deps.summariser else None
        vectors, model = await embed_episode(deps, episode)

        after = replace(job, episodes=last + 1)
        await deps.store.episodes.add(job, after, episode, vectors, model, model_ms)
        job = after
    return job


def find_due_episodes(deps: Dependencies, job: Job, newest: Sequence[Turn]) -> list[tuple[int, int]]:
    """Return the first and last turn of each due episode. Questions to documents are summarized sooner."""
    settings = deps.settings
    if not settings.summaries:
        return []
    if settings.summary_every and asks_documents(newest):
        return find_due_ranges(job.turns, job.episodes, 2 * settings.summary_every, 0)
    window = min(settings.episode_window, settings.episode_every - 1)
    return find_due_ranges(job.turns, job.episodes, settings.episode_every, window)


async def summarize(deps: Dependencies, turns: Sequence[Turn]) -> Summary:
    """Return a summary of some turns: by a model if one is configured, otherwise by quoting."""
    settings, turns = deps.settings, select_for_summary(turns)
    if deps.summariser is not None and turns:
        return await summarize_turns(
            deps.summariser, turns, settings.summary_answer_tokens, settings.summary_temperature
        )

    def quote() -> Summary:
        return summarize_by_quoting(turns, read_turns(turns), rulebooks(), settings.summary_tokens)

    return await run_in_thread(quote) if is_long(turns) else quote()


def build_episode(deps: Dependencies, job: Job, turns: Sequence[Turn], summary: Summary) -> Episode:
    """Return the episode of these turns with this summary."""
    times = [turn.at for turn in turns if turn.at is not None]
    episode = Episode(
        id=uuid7(),
        session=job.session,
        first=turns[0].index or 0,
        last=turns[-1].index or 0,
        **asdict(summary),
        learned_by="model" if deps.summariser else "rules",
        model=deps.summariser.name if deps.summariser else None,
        tokens=0,
        said_from=min(times),
        said_to=max(times),
        created_at=deps.clock.now(),
    )
    return replace(episode, tokens=count_tokens(episode.text))


async def embed_episode(deps: Dependencies, episode: Episode) -> tuple[Vectors | None, int | None]:
    """Return an episode's vector and its model, or None: then the episode is found by words."""
    if deps.embedding.embedder is None:
        return None, None
    try:
        return await deps.embedding.embed_texts([episode.text])
    except EmbedderFailed:
        return None, None
