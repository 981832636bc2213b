"""Health: whether all is well, said honestly. Work that is stuck is not well, even while every question is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.model.work import WorkStatus

LONGEST_LAG = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class Health:
    """`store` is "ok" or why it does not answer, in which case `work` is not known. `notes` say what is wrong and what
    to do about it; `embedder` and `model` are names, None where there is none."""

    ok: bool
    store: str
    work: WorkStatus | None = None
    embedder: str | None = None
    model: str | None = None
    notes: Sequence[str] = ()
    cache: Mapping[str, int] | None = None  # hits, misses and errors of this process; None: there is none


def complaints(work: WorkStatus) -> list[str]:
    """What is wrong with the work; nothing, if it is empty."""
    told = []
    if work.parked:
        told.append(f"{work.parked} parked: see `recollect work status`, then `recollect work retry`")
    if work.failing:
        told.append(f"{work.failing} failing, to be tried again: see `recollect work status`")
    if work.lag > LONGEST_LAG:
        told.append(
            f"the oldest work has waited {work.lag / 60:.0f} minutes: is a worker running (`recollect worker`)?"
        )
    if work.documents_lag > LONGEST_LAG:
        told.append(
            f"{work.documents_waiting} documents wait, for {work.documents_lag / 60:.0f} minutes: is a worker running?"
        )
    return told
