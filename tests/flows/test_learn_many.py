"""Learning from very many turns: the cost per turn does not grow, and others are served meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from recollect import Engine, Scope
from recollect.learning.extract import extract
from recollect.learning.reconcile import TAIL, reconcile
from recollect.learning.rules import rulebooks
from recollect.store.memories import MemoryStore

REPEATED = "Please remember that the spare key is in the blue drawer."


def note(n: int) -> str:
    return f"Please remember that cabinet {n} holds the folder {n * 7}."


class Ticker:
    """Counts how often the event loop gets its turn."""

    def __init__(self) -> None:
        self.turns = 0

    async def __aenter__(self) -> Ticker:
        self._task = asyncio.create_task(self._tick())
        return self

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            self.turns += 1

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Rows that were read to learn: of everything under a key, and of its end."""
    counted: Counter[str] = Counter()
    of_keys, tail = MemoryStore.load_keys, MemoryStore.load_tail

    async def count_all(self: MemoryStore, *given: object) -> object:
        known = await of_keys(self, *given)  # type: ignore[arg-type]
        counted["all"] += len(known.evidence)
        return known

    async def count_tail(self: MemoryStore, *given: object) -> object:
        version, known = await tail(self, *given)  # type: ignore[arg-type]
        counted["tail"] += len(known.active)
        return version, known

    monkeypatch.setattr(MemoryStore, "load_keys", count_all)
    monkeypatch.setattr(MemoryStore, "load_tail", count_tail)
    return counted


async def test_pages_of_turns_are_learned_from_the_end(memory: Engine, alex: Scope, reads: Counter[str]) -> None:
    await memory.record(alex, [("user", REPEATED if n % 50 == 0 else note(n)) for n in range(1000)])
    await memory.settle(alex)

    assert reads["all"] == 0
    assert reads["tail"] <= TAIL * 5  # pages

    known = await MemoryStore.load_keys(memory._deps.store.memories, alex.id, ["note"])
    repeated = [each for each in known.memories if "spare key" in each.value]
    assert (len(known.memories), len(repeated)) == (984, 4)  # what was said long ago is not compared
    assert {ref for each in repeated for ref in each.refs} >= {"monday#0", "monday#950"}
    again = reconcile(known.memories, known.evidence)
    assert (list(again.put), list(again.drop), list(again.links)) == ([], [], [])


async def test_a_turn_of_long_ago_is_put_in_its_place(memory: Engine, alex: Scope, reads: Counter[str]) -> None:
    from datetime import UTC, datetime

    from recollect import Turn

    old = datetime(2020, 1, 1, tzinfo=UTC)
    await memory.record(alex, [("user", "I live in Berlin.")])
    await memory.settle(alex)
    await memory.record(
        replace(alex, session="import"), [Turn("user", "I live in Paris.", at=old), Turn("user", note(1), at=old)]
    )
    await memory.settle(replace(alex, session="import"))

    assert reads["all"] > 0
    told = {each.value: each.status for each in await memory.memories(alex, status=None) if each.key == "location"}
    assert told == {"Paris": "superseded", "Berlin": "active"}


async def test_the_loop_goes_on_while_much_is_learned(memory: Engine, alex: Scope) -> None:
    await memory.record(alex, [("user", note(n)) for n in range(1000)])
    async with Ticker() as ticker:
        await memory.settle(alex)

    assert ticker.turns > 50


@pytest.mark.parametrize(
    "text",
    [
        "I like" + " " * 5000 + "x",
        'I like "' + "y" * 5000 + '" x',
        "my name is" + "\t" * 5000 + "x.",
        "I like tea, " * 2000,
        "I like tea and " * 2000,
    ],
    ids=["blanks", "a quotation", "tabs", "commas", "no end"],
)
def test_a_hostile_turn_is_read_in_bounded_time(text: str) -> None:
    """Some of these took minutes: the time of a pattern grew with the cube of a run of blanks."""
    assert not extract(text, "user", rulebooks()).facts
