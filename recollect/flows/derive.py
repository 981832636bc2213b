"""Derive: bring one conversation up to date, stage by stage: learn by rules, embed, learn by model, compress.

The lease keeps two from doing the same at once; what keeps it from being done twice is that every stage moves its
position in the transaction that writes. A stage that fails is tried again later, and parked after the last try with
its error kept; the other stages go on without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta

from recollect.errors import EmbedderFailed, Outdated, ReasonerFailed, RecollectError
from recollect.flows.compress import compress, episodes_due
from recollect.flows.learn import PAGE, learn_by_model, learn_by_rules
from recollect.flows.outages import StillOut
from recollect.flows.parts import Parts
from recollect.model.conversation import Turn
from recollect.model.ids import ConversationId, ScopeId
from recollect.model.sketch import embedded_text
from recollect.model.work import MOST_TRIES, PARKED_PAUSE, Job, Stage, pause_after
from recollect.store.work import released

LEASE = timedelta(minutes=5)
EMBEDDED_PAGE = 256  # turns embedded in one go


async def derive(parts: Parts, scope: ScopeId, conversation: ConversationId) -> bool:
    """False if another has the lease, nothing was to be done, or a stage failed."""
    model = await parts.embedding.current_model()
    now = parts.clock.now()
    claimed = await parts.store.work.claim(scope, conversation, model, now, now + LEASE, PAGE)
    if claimed is None:
        return False
    job, turns = claimed
    try:
        job, failures = await run_stages(parts, job, turns, model)
    except asyncio.CancelledError:
        await asyncio.shield(parts.store.work.let_go(job))
        raise
    if failures:
        await put_off(parts, job, failures)
        return False
    if not job.is_released:
        await parts.store.work.release(job, None if "embed" in job.resting else model)
    return True


def is_all(parts: Parts, job: Job, turns: Sequence[Turn], model: int | None) -> bool:
    """Whether learning by rules is all there is to do."""
    is_embedded = model is None or parts.embedding.policy == "none" or job.embedded_model == model
    return is_embedded and parts.reasoner is None and not job.resting and not episodes_due(parts, job, turns)


async def run_stages(
    parts: Parts, job: Job, turns: Sequence[Turn], model: int | None
) -> tuple[Job, dict[Stage, RecollectError]]:
    """The job as far as it came, and what failed."""
    failures: dict[Stage, RecollectError] = {}
    closing = released(job, model) if is_all(parts, job, turns, model) else None
    stages: dict[Stage, Callable[[Job], Awaitable[Job]]] = {
        "learn": lambda job: learn_by_rules(parts, job, turns, closing)
    }
    if model is not None:
        stages["embed"] = lambda job: embed(parts, job, model)
    if parts.reasoner is not None:
        stages["reason"] = lambda job: learn_by_model(parts, job)
    stages["episodes"] = lambda job: compress(parts, job, turns)
    for stage, run in stages.items():
        if stage in job.resting:
            continue
        try:
            parts.outages.check(stage)
            job = await run(job)
            parts.outages.worked(stage)
        except (EmbedderFailed, ReasonerFailed, Outdated) as error:
            parts.outages.failed(stage, error)
            failures[stage] = error
    return job, failures


async def embed(parts: Parts, job: Job, model: int) -> Job:
    """Vectors of the current model for every turn that should have one, and for every episode."""
    policy = parts.embedding.policy
    if policy == "none" or job.embedded_model == model:
        return job
    only_marked = policy == "high_value"
    while turns := await parts.store.unembedded(job.scope, job.conversation, model, only_marked, EMBEDDED_PAGE):
        vectors, _ = await parts.embedding.vectors([embedded_text(turn) for turn in turns])
        indexes = [turn.index for turn in turns if turn.index is not None]
        await parts.store.add_vectors(job.scope, job.conversation, model, indexes, vectors)
    while job.episodes and (episodes := await parts.store.episodes.missing(job, model, EMBEDDED_PAGE)):
        vectors, _ = await parts.embedding.vectors([episode.text for episode in episodes])
        await parts.store.episodes.embed(job, model, episodes, vectors)
    return job


async def put_off(parts: Parts, job: Job, failures: Mapping[Stage, RecollectError]) -> None:
    """Later again; after the last try the failing stages are parked. Being turned away by an outage is no try."""
    now = parts.clock.now()
    error = "; ".join(f"{stage}: {error}" for stage, error in failures.items())
    tried = not all(isinstance(error, StillOut) for error in failures.values())
    if tried and job.attempts >= MOST_TRIES:
        await parts.store.work.park(job, list(failures), now + PARKED_PAUSE, error, now)
    else:
        attempts = job.attempts if tried else job.attempts - 1
        await parts.store.work.postpone(job, now + pause_after(job.attempts), attempts, error, now)
