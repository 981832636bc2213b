"""window: what a cache kept of a session's end, and whether it is enough."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from recollect.values.conversation import Turn, Window
from recollect.values.scope import ConversationId

MONDAY = ConversationId(UUID(int=1))


def window(indexes: Sequence[int]) -> Window:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Window(MONDAY, 0, [Turn("user", f"line {n}", at=at, session="monday", index=n) for n in indexes])


@pytest.mark.parametrize(
    ("indexes", "limit", "suffices"),
    [
        ((6, 7, 8), 3, True),
        ((6, 7, 8), 2, True),
        ((6, 7, 8), 4, False),
        ((0, 1), 4, True),
        ((), 0, False),
        ((6, 8, 9), 3, False),
        ((6, 6, 7), 3, False),
        ((8, 7, 6), 3, False),
    ],
    ids=["so long", "longer", "shorter", "from the start", "empty", "a gap", "one twice", "backwards"],
)
def test_a_window_is_enough_if_it_is_whole_and_nothing_before_it_can_be_wanted(
    indexes: Sequence[int], limit: int, suffices: bool
) -> None:
    assert window(indexes).is_long_enough(limit) is suffices


def test_what_was_said_since_is_put_behind_and_the_last_ones_count() -> None:
    later = window((6, 7, 8)).extend_with(window((9, 10)).turns, 3)

    assert [turn.index for turn in later.turns] == [8, 9, 10]
    assert later.continues(window((6, 7, 8)))
