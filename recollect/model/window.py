"""The window: the last turns of a session as a cache kept them. The database says whether they still count; what was
said since is put behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.model.conversation import Turn
from recollect.model.ids import ConversationId


@dataclass(frozen=True, slots=True)
class Window:
    """Turns that were the last ones when they were read, oldest first and without a gap, and as of how many
    redactions."""

    conversation: ConversationId
    redactions: int
    turns: Sequence[Turn]

    @property
    def is_whole(self) -> bool:
        """Indexes follow each other: what was kept may be anything."""
        first = self.turns[0].index if self.turns else None
        return first is not None and [turn.index for turn in self.turns] == list(range(first, first + len(self.turns)))

    def continues(self, kept: Window | None) -> bool:
        return kept is not None and (self.conversation, self.redactions) == (kept.conversation, kept.redactions)

    def suffices(self, limit: int) -> bool:
        """Whether nothing before it can be wanted."""
        return self.is_whole and (len(self.turns) >= limit or self.turns[0].index == 0)

    def with_later(self, said: Sequence[Turn], limit: int) -> Window:
        """With what was said since; the last of both."""
        return Window(self.conversation, self.redactions, [*self.turns, *said][-limit:])
