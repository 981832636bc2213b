"""Outages: while an embedder or a model does not answer, it is asked now and then, not once per conversation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from recollect.errors import EmbedderFailed, ReasonerConfused, ReasonerFailed, RecollectError
from recollect.model.work import Stage

FIRST_PAUSE = 1.0  # seconds; doubled with each failure
LONGEST_PAUSE = 60.0


class StillOut(ReasonerFailed):
    """It was out a moment ago, and is not asked yet."""


@dataclass(slots=True)
class Outage:
    until: float
    pause: float
    error: RecollectError


@dataclass(slots=True)
class Outages:
    _out: dict[Stage, Outage] = field(default_factory=dict)
    _known: set[Stage] = field(default_factory=set)
    _recovered: set[Stage] = field(default_factory=set)

    def check(self, stage: Stage) -> None:
        """Raises StillOut while it is too early to ask again."""
        out = self._out.get(stage)
        if out and time.monotonic() < out.until:
            raise StillOut(str(out.error))

    def failed(self, stage: Stage, error: RecollectError) -> None:
        """An answer that makes no sense is no outage: it may be about this one conversation."""
        if isinstance(error, EmbedderFailed | ReasonerFailed) and not isinstance(error, StillOut | ReasonerConfused):
            before = self._out.get(stage)
            pause = min(before.pause * 2, LONGEST_PAUSE) if before else FIRST_PAUSE
            self._out[stage] = Outage(time.monotonic() + pause, pause, error)

    def worked(self, stage: Stage) -> None:
        """The first time, and after an outage, what was parked is worth another try."""
        if self._out.pop(stage, None) or stage not in self._known:
            self._known.add(stage)
            self._recovered.add(stage)

    def recovered(self) -> list[Stage]:
        """Stages that work again, each told once."""
        told = sorted(self._recovered)
        self._recovered.clear()
        return told
