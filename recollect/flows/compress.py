"""Compress: the oldest turns of a conversation become an episode before the window of recent turns leaves them behind.

An episode stands beside its turns, never in their place. A model writes it where there is one; otherwise it quotes.
Questions to documents are summed up sooner, after so many answers, and without the answers that were stopgaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from recollect.errors import EmbedderFailed
from recollect.flows.embed import Vectors
from recollect.flows.learn import reading
from recollect.flows.parts import Parts
from recollect.flows.reason import summarised
from recollect.model.conversation import Turn
from recollect.model.document_turns import asks_documents, summable
from recollect.model.episode import Episode, due_ranges
from recollect.model.extractive import extractive
from recollect.model.ids import uuid7
from recollect.model.summary import Summary
from recollect.model.tokens import count_tokens
from recollect.model.work import Job
from recollect.rules import rulebooks


async def compress(parts: Parts, job: Job, newest: Sequence[Turn]) -> Job:
    """Every episode that is due, each written before the next is thought of. `newest` are turns at the end of the
    conversation; none, where they were read before."""
    if job.turns and not newest:
        newest = await parts.store.work.between(job, job.turns - 1, job.turns - 1)
    for first, last in episodes_due(parts, job, newest):
        turns = await parts.store.work.between(job, first, last)

        episode = made_episode(parts, job, turns, await summary_of(parts, turns))
        vectors, model = await embedded(parts, episode)

        after = replace(job, episodes=last + 1)
        await parts.store.episodes.add(job, after, episode, vectors, model)
        job = after
    return job


def episodes_due(parts: Parts, job: Job, newest: Sequence[Turn]) -> list[tuple[int, int]]:
    settings = parts.settings
    if not settings.summaries:
        return []
    if settings.summary_every and asks_documents(newest):
        return due_ranges(job.turns, job.episodes, 2 * settings.summary_every, 0)
    window = min(settings.episode_window, settings.episode_every - 1)
    return due_ranges(job.turns, job.episodes, settings.episode_every, window)


async def summary_of(parts: Parts, turns: Sequence[Turn]) -> Summary:
    settings, turns = parts.settings, summable(turns)
    if parts.summariser is not None and turns:
        return await summarised(parts.summariser, turns, settings.summary_answer_tokens, settings.summary_temperature)
    read = {turn.index or 0: reading(turn) for turn in turns}
    return extractive(turns, read, rulebooks(), settings.summary_tokens)


def made_episode(parts: Parts, job: Job, turns: Sequence[Turn], summary: Summary) -> Episode:
    times = [turn.at for turn in turns if turn.at is not None]
    episode = Episode(
        id=uuid7(),
        session=job.session,
        first=turns[0].index or 0,
        last=turns[-1].index or 0,
        **asdict(summary),
        learned_by="model" if parts.summariser else "rules",
        model=parts.summariser.name if parts.summariser else None,
        tokens=0,
        said_from=min(times),
        said_to=max(times),
        created_at=parts.clock.now(),
    )
    return replace(episode, tokens=count_tokens(episode.text))


async def embedded(parts: Parts, episode: Episode) -> tuple[Vectors | None, int | None]:
    """Without a vector an episode is found by its words."""
    if parts.embedding.embedder is None or parts.embedding.policy == "none":
        return None, None
    try:
        return await parts.embedding.vectors([episode.text])
    except EmbedderFailed:
        return None, None
