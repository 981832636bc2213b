"""Episodes: a run of turns of one session told in a few lines, and when the next one is due.

An episode stands beside its turns and never instead of them: it names the first and the last, and can be made again.
The worker asks `due_ranges` what to make; `model/extractive.py` makes the text by rules, or a model does; recall finds
it by `text`. Which turns belong together is arithmetic on counts, so two workers never make the same range in two ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

LearnedBy = Literal["rules", "model"]
EVERY = 20
WINDOW = 10


@dataclass(frozen=True, slots=True)
class Episode:
    """The turns `first` to `last` of a session, both included. `tokens` is the room that `text` takes."""

    id: UUID
    session: str
    first: int
    last: int
    summary: str
    facts: tuple[str, ...]
    preferences: tuple[str, ...]
    decisions: tuple[str, ...]
    todos: tuple[str, ...]
    entities: tuple[str, ...]
    learned_by: LearnedBy
    model: str | None
    tokens: int
    said_from: datetime
    said_to: datetime
    created_at: datetime

    @property
    def ref(self) -> str:
        """How citations and `explain` name this episode."""
        return f"{self.session}#{self.first}-{self.last}"

    @property
    def text(self) -> str:
        """All of it, for search and for a prompt: the summary, then a line for each list that is not empty."""
        lists = {
            "Facts": self.facts,
            "Preferences": self.preferences,
            "Decisions": self.decisions,
            "To do": self.todos,
            "Names": self.entities,
        }
        return "\n".join([self.summary, *(f"{name}: {'; '.join(said)}" for name, said in lists.items() if said)])


def due_ranges(turns: int, covered: int, every: int = EVERY, window: int = WINDOW) -> list[tuple[int, int]]:
    """The runs of turns, first and last, that are to become episodes: of a session of `turns`, the first `covered` of
    which are in episodes already. When `every` turns are in none, the oldest of them become one, and `window` stay.

    The settings are checked where they are read, and `window` is less than `every` there. While they stay the same, so
    do the ranges, no matter how often and how late this is called.
    """
    size = every - window
    return [(first, first + size - 1) for first in range(covered, turns - every + 1, size)]
