"""attached: what a host may attach to a turn or a lesson, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import InvalidInput, Lesson, Turn
from recollect.values.conversation import check_turns
from recollect.values.text import DEEPEST

Attach = Callable[[Any], Any]
ATTACHED: dict[str, Attach] = {
    "turns[0].data": lambda data: check_turns([Turn("user", "fine", data=data)], datetime(2026, 1, 1, tzinfo=UTC)),
    "data": lambda data: Lesson("fine", data=data),
}
WRAPS: dict[str, Attach] = {
    "mappings": lambda inner: {"a": inner},
    "lists": lambda inner: [1, inner],
    "tuples": lambda inner: (inner, 1),
}


def wrapped(how: str, levels: int) -> dict[str, Any]:
    """A text in so many levels, the outermost a mapping."""
    value: Any = "innermost"
    for _ in range(levels - 1):
        value = WRAPS[how](value)
    return {"a": value}


@pytest.mark.parametrize("field", ATTACHED)
@pytest.mark.parametrize("how", WRAPS)
def test_what_is_attached_may_be_nested_so_deep_and_no_deeper(field: str, how: str) -> None:
    ATTACHED[field](wrapped(how, DEEPEST))

    with pytest.raises(InvalidInput, match=f"more than {DEEPEST} levels") as error:
        ATTACHED[field](wrapped(how, DEEPEST + 1))
    assert error.value.field == field


@pytest.mark.parametrize("field", ATTACHED)
@pytest.mark.parametrize("what", ["a circle", "deeper than a stack", "too much, though it shares its parts"])
def test_what_cannot_be_looked_through_is_refused_all_the_same(field: str, what: str) -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle["b"] = circle
    shared: Any = "x" * 100
    for _ in range(14):
        shared = {"a": shared, "b": shared}
    data = {"a circle": circle, "deeper than a stack": wrapped("lists", 50_000)}.get(what, shared)

    with pytest.raises(InvalidInput) as error:
        ATTACHED[field](data)
    assert error.value.field == field
