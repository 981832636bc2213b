"""What the chat bench found: CPU of each message with memory and without, how they compare, and whether the limit
holds. Filled by bench_chat.py, shown by the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

LIMIT = 25.0  # CPU ms that memory may add to a message, at the 95th percentile
ON, OFF, ADDED, AFTERWARDS = "with memory", "memory switched off", "memory adds", "  of it after the answer"


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU milliseconds of one message."""

    until_answer: float
    afterwards: float
    sources: int  # that memory gave
    failed: bool = False

    @property
    def cpu(self) -> float:
        return self.until_answer + self.afterwards


@dataclass(frozen=True, slots=True)
class Pair:
    """The same message with memory and without."""

    on: Spent
    off: Spent

    @property
    def failed(self) -> bool:
        """One was not answered, or memory gave nothing where it should, or something where it should not."""
        return self.on.failed or self.off.failed or not self.on.sources or bool(self.off.sources)


@dataclass(frozen=True, slots=True)
class Spread:
    """CPU milliseconds."""

    what: str
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class ChatReport:
    pairs: Sequence[Pair]
    turns: int  # of each user, to begin with
    limit: float = LIMIT
    whole: float | None = None  # a limit for the message with memory, if there is one

    @property
    def figures(self) -> list[Spread]:
        return [
            spread(ON, [pair.on.cpu for pair in self.pairs]),
            spread(OFF, [pair.off.cpu for pair in self.pairs]),
            spread(ADDED, [pair.on.cpu - pair.off.cpu for pair in self.pairs]),
            spread(AFTERWARDS, [pair.on.afterwards - pair.off.afterwards for pair in self.pairs]),
        ]

    @property
    def added(self) -> Spread:
        return next(figure for figure in self.figures if figure.what == ADDED)

    @property
    def holds(self) -> bool:
        return self.added.p95 < self.limit and (self.whole is None or self.figures[0].p95 <= self.whole)

    @property
    def failed(self) -> int:
        return sum(pair.failed for pair in self.pairs)

    def to_dict(self) -> dict[str, Any]:
        figures = [{**asdict(figure), "what": figure.what.strip()} for figure in self.figures]
        told = {"turns": self.turns, "messages": len(self.pairs), "failed": self.failed}
        return {**told, "figures": figures, "limit": self.limit, "whole": self.whole, "holds": self.holds}

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, median, p95) for a table."""
        return [(figure.what, f"{figure.median:.2f}", f"{figure.p95:.2f}") for figure in self.figures]


def spread(what: str, values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    return Spread(what, median(ordered), ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)])
