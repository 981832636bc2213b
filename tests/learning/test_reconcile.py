"""reconcile: what is known is what the evidence comes to, whatever order it was learned in and whatever was erased."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.learning import reconcile as module
from recollect.learning.reconcile import (
    MARK,
    REDACTED_AT,
    Support,
    Tail,
    extend,
    find_pointless,
    find_quoting,
    get_sort_key,
    reconcile,
)
from recollect.learning.similarity import Gist, get_gist
from recollect.values.memory import Act, Evidence, Memory, MemoryKind, get_slot, is_single
from recollect.values.scope import ConversationId, MemoryId
from tests.bounds import bound

START = datetime(2025, 3, 1, tzinfo=UTC)
PLACES = ("Paris", "Berlin", "Lisbon")
FOODS = ("peanuts", "shellfish", "not peanuts", "no shellfish", "peanuts instead of shellfish")
MANY = bound(25, 400)


def said(n: int, value: str, key: str = "location", kind: MemoryKind = "identity", **given: Any) -> Evidence:
    """The n-th thing said, a day after the one before."""
    values: dict[str, Any] = {
        "id": UUID(int=n + 1),
        "act": "says",
        "confidence": 0.9,
        "importance": 0.5,
        "source": "inferred",
        "learned_by": "rules",
        "said_at": START + timedelta(days=n),
        "conversation": ConversationId(UUID(int=1000 + n)),
        "session": f"session {n}",
        "turn": 0,
    }
    return Evidence(kind=kind, key=key, value=value, **(values | given))


def ate(n: int, value: str, **given: Any) -> Evidence:
    return said(n, value, "allergy", "constraint", **given)


def decided(n: int, value: str, **given: Any) -> Evidence:
    return said(n, value, "decision", "decision", **given)


class Mind:
    """What is known, kept as the store keeps it: evidence with its links, memories put and dropped."""

    def __init__(self) -> None:
        self.memories: dict[MemoryId, Memory] = {}
        self.evidence: dict[UUID, Evidence] = {}

    def learn(self, new: Iterable[Evidence]) -> Mind:
        self.evidence |= {each.id: each for each in new}
        changes = reconcile(list(self.memories.values()), self.evidence.values())
        self.memories |= {memory.id: memory for memory in changes.put}
        for gone in changes.drop:
            del self.memories[gone]
        for each, memory in changes.links:
            self.evidence[each.id] = replace(each, memory=memory)
        return self

    def extend(self, new: Sequence[Evidence]) -> bool:
        """Learn from the end of what is known; false if that was not possible, and all was read."""
        changes = extend(self.tail({get_slot(each.kind, each.key) for each in new}), new)
        if changes is None:
            self.learn(new)
            return False
        self.evidence |= {each.id: each for each in new}
        self.memories |= {memory.id: memory for memory in changes.put}
        for each, memory in changes.links:
            self.evidence[each.id] = replace(each, memory=memory)
        return True

    def tail(self, slots: Iterable[tuple[str, str]]) -> Tail:
        """As the store reads it."""
        active = [memory for memory in self.memories.values() if memory.status == "active" or memory.value == MARK]
        active.sort(key=lambda memory: (memory.valid_from, memory.place))
        last = {each.key: get_sort_key(each) for each in sorted(self.evidence.values(), key=get_sort_key)}
        kept = [[m for m in active if get_slot(m.kind, m.key) == each][-module.TAIL :] for each in slots]
        return Tail([(memory, self.support(memory)) for group in kept for memory in group], last)

    def support(self, memory: Memory) -> Support:
        said = sorted((each for each in self.evidence.values() if each.memory == memory.id), key=get_sort_key)
        return Support(
            last=said[-1],
            fullest=max((each.value for each in said), key=len),
            count=len(said),
            confidence=max(each.confidence for each in said),
            importance=max(each.importance for each in said),
        )

    def erase(self, ids: Iterable[UUID]) -> Mind:
        for id in ids:  # noqa: A001
            del self.evidence[id]
        return self.learn(())

    def told(self) -> list[tuple[Any, ...]]:
        """All that is known but for the ids; who replaced a memory is told by its value and time."""
        by = {memory.id: (memory.value, memory.valid_from) for memory in self.memories.values()}
        return sorted(
            (
                *(m.kind, m.key, m.value, m.status, m.valid_from, str(m.valid_to), str(m.reason), m.confidence),
                *(m.importance, m.source, m.refs, str(m.replaced_by and by[m.replaced_by])),
            )
            for m in self.memories.values()
        )

    def active(self) -> list[str]:
        return sorted(memory.value for memory in self.memories.values() if memory.status == "active")


def known(*evidence: Evidence) -> Mind:
    return Mind().learn(evidence)


@st.composite
def evidences(draw: st.DrawFn) -> list[Evidence]:
    """Anything that may have been said about a single and a multi-valued key, at times that may coincide."""
    made = []
    for n in range(draw(st.integers(1, 9))):
        make, values = draw(st.sampled_from([(said, PLACES), (ate, FOODS)]))
        corrects = draw(st.booleans())
        given: dict[str, Any] = {
            "act": draw(st.sampled_from(["says"] * 6 + [act for act in get_args(Act) if act != "says"])),
            "confidence": draw(st.sampled_from([0.5, 0.7, 0.9])),
            "importance": draw(st.sampled_from([0.3, 0.8])),
            "source": draw(st.sampled_from(["inferred", "inferred", "explicit"])),
            "corrects": corrects,
            "old": draw(st.none() | st.sampled_from(values)) if corrects else None,
            "said_at": START + timedelta(days=draw(st.integers(0, 5))),
            "conversation": ConversationId(UUID(int=1000 + (room := draw(st.integers(0, 2))))),
            "session": f"session {room}",
            "turn": draw(st.integers(0, 2)),
        }
        made.append(make(n, draw(st.sampled_from(values)), **given))
    return made


@st.composite
def learned_in_parts(draw: st.DrawFn) -> tuple[list[Evidence], list[list[Evidence]]]:
    """Evidence, and the same shuffled and cut into batches."""
    evidence = draw(evidences())
    mixed = draw(st.permutations(evidence))
    cuts = sorted({0, len(mixed), *draw(st.lists(st.integers(0, len(mixed)), max_size=3))})
    return evidence, [mixed[start:end] for start, end in pairwise(cuts)]


@given(learned_in_parts())
@settings(max_examples=4 * MANY, deadline=None)
def test_what_is_known_does_not_depend_on_the_order_it_was_learned_in(
    given: tuple[list[Evidence], list[list[Evidence]]],
) -> None:
    evidence, batches = given
    mind = Mind()
    for batch in batches:
        mind.learn(batch)

    assert mind.told() == known(*evidence).told()
    again = reconcile(list(mind.memories.values()), mind.evidence.values())
    assert (list(again.put), list(again.drop), list(again.links)) == ([], [], [])


@given(evidences(), st.data())
@settings(max_examples=4 * MANY, deadline=None)
def test_what_was_erased_is_as_if_it_had_never_been_said(evidence: list[Evidence], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from([each.id for each in evidence])))

    assert known(*evidence).erase(gone).told() == known(*(each for each in evidence if each.id not in gone)).told()


@given(evidences())
@settings(max_examples=4 * MANY, deadline=None)
def test_of_a_single_key_there_is_one_value_at_a_time(evidence: list[Evidence]) -> None:
    spans = [m for m in known(*evidence).memories.values() if is_single(m.kind, m.key) and m.reason != "not approved"]

    assert sum(memory.status == "active" for memory in spans) <= 1
    lived = sorted((m for m in spans if m.status != "pending"), key=lambda m: (m.valid_from, m.valid_to is None))
    for earlier, later in pairwise(lived):
        assert earlier.valid_to is not None
        assert earlier.valid_to <= later.valid_from


@given(evidences())
@settings(max_examples=4 * MANY, deadline=None)
def test_whatever_ended_says_why_and_what_took_its_place(evidence: list[Evidence]) -> None:
    memories = known(*evidence).memories
    for memory in memories.values():
        if memory.status in ("superseded", "retracted"):
            assert memory.reason
            assert memory.valid_to
            assert memory.valid_from <= memory.valid_to
            is_replaced = memory.status == "superseded" and memory.reason not in ("done", "the project knows it now")
            assert (memory.replaced_by in memories) == is_replaced
        if memory.replaced_by:
            by = memories[memory.replaced_by]
            assert get_slot(by.kind, by.key) == get_slot(memory.kind, memory.key)


@given(evidences())
@settings(max_examples=4 * MANY, deadline=None)
def test_a_less_sure_value_never_takes_the_place_of_a_surer_one_unless_outright(evidence: list[Evidence]) -> None:
    mind = known(*evidence)
    grounds = {
        memory: [each for each in mind.evidence.values() if each.memory == memory.id]
        for memory in mind.memories.values()
        if is_single(memory.kind, memory.key) and memory.replaced_by
    }
    for memory, old in grounds.items():
        news = (each for each in mind.evidence.values() if each.memory == memory.replaced_by)
        new = min(news, key=lambda each: (each.said_at, each.conversation, each.turn, each.id))
        assert new.is_outright or new.confidence >= max(each.confidence for each in old)


@given(evidences(), st.data())
@settings(max_examples=4 * MANY, deadline=None)
def test_a_memory_keeps_its_id_while_evidence_of_it_is_left(evidence: list[Evidence], data: st.DataObject) -> None:
    new = data.draw(evidences())
    mind = known(*evidence)
    before = set(mind.memories)

    mind.learn(replace(each, id=UUID(int=100 + n)) for n, each in enumerate(new))

    linked = {each.memory for each in mind.evidence.values() if each.memory}
    assert set(mind.memories) == linked
    for gone in before - set(mind.memories):
        assert gone not in linked


@pytest.mark.parametrize(
    ("evidence", "active", "ended"),
    [
        pytest.param([said(0, "Paris"), said(1, "Berlin")], ["Berlin"], {"Paris": "a newer value"}, id="newer"),
        pytest.param([said(1, "Berlin"), said(0, "Paris")], ["Berlin"], {"Paris": "a newer value"}, id="learned late"),
        pytest.param([said(0, "Paris"), said(1, "paris")], ["Paris"], {}, id="said again"),
        pytest.param([said(0, "Paris"), said(1, "Berlin", confidence=0.6)], ["Paris"], {}, id="less sure"),
        pytest.param(
            [said(0, "Paris"), said(1, "Berlin", confidence=0.6, corrects=True)],
            ["Berlin"],
            {"Paris": "corrected by the user"},
            id="less sure, but a correction",
        ),
        pytest.param(
            [said(0, "Paris"), said(1, "Berlin", kind="fact")], ["Berlin"], {"Paris": "a newer value"}, id="other kind"
        ),
        pytest.param(
            [said(0, "Paris"), said(1, "Paris", act="retracts")], [], {"Paris": "asked to forget it"}, id="retracted"
        ),
        pytest.param(
            [said(0, "Paris"), said(1, "Berlin"), said(2, "Paris", act="retracts")],
            ["Berlin"],
            {"Paris": "asked to forget it"},
            id="retracted when it was over",
        ),
        pytest.param([said(0, "Paris", act="retracts"), said(1, "Paris")], ["Paris"], {}, id="said after all"),
        pytest.param([said(0, "Paris"), said(1, "Rome", act="retracts")], ["Paris"], {}, id="another is retracted"),
        pytest.param([ate(0, "peanuts"), ate(1, "shellfish")], ["peanuts", "shellfish"], {}, id="side by side"),
        pytest.param(
            [ate(0, "peanuts"), ate(1, "not peanuts")],
            ["not peanuts"],
            {"peanuts": "the opposite was said"},
            id="opposite",
        ),
        pytest.param(
            [ate(0, "peanuts"), ate(1, "eggs"), ate(2, "walnuts", corrects=True, old="peanuts")],
            ["eggs", "walnuts"],
            {"peanuts": "corrected by the user"},
            id="correction of a named value",
        ),
        pytest.param(
            [ate(0, "peanuts"), ate(1, "eggs"), ate(2, "eggs", corrects=True, old="peanuts")],
            ["eggs"],
            {"peanuts": "corrected by the user"},
            id="correction towards what is known",
        ),
        pytest.param(
            [ate(0, "peanuts"), ate(1, "eggs"), ate(2, "eggs", corrects=True)],
            ["eggs", "peanuts"],
            {},
            id="correction that names nothing, of what is known",
        ),
        pytest.param(
            [decided(0, "use MySQL"), decided(1, "Postgres instead of MySQL", corrects=True)],
            ["Postgres instead of MySQL"],
            {"use MySQL": "corrected by the user"},
            id="instead of",
        ),
        pytest.param(
            [decided(0, "用MySQL"), decided(1, "用Postgres而不是MySQL", corrects=True)],
            ["用Postgres而不是MySQL"],
            {"用MySQL": "corrected by the user"},
            id="而不是",
        ),
        pytest.param(
            [
                decided(0, "ship on Friday"),
                decided(1, "the blue logo", conversation=ConversationId(UUID(int=7))),
                decided(2, "the red logo", conversation=ConversationId(UUID(int=7)), turn=1, corrects=True),
            ],
            ["ship on Friday", "the red logo"],
            {"the blue logo": "corrected by the user"},
            id="correction of what was just said",
        ),
        pytest.param(
            [said(0, "call mum", "todo", "todo"), said(1, "call mum", "todo", "todo", act="completes")],
            [],
            {"call mum": "done"},
            id="done",
        ),
        pytest.param(
            [ate(0, "peanuts"), ate(1, "peanuts", act="promotes")],
            [],
            {"peanuts": "the project knows it now"},
            id="promoted",
        ),
        pytest.param([ate(0, "peanuts", act="refuses")], [], {"peanuts": "not approved"}, id="refused"),
        pytest.param([ate(0, "peanuts"), ate(1, "eggs", act="proposes")], ["peanuts"], {}, id="proposed"),
    ],
)
def test_what_evidence_comes_to(evidence: list[Evidence], active: list[str], ended: dict[str, str]) -> None:
    mind = known(*evidence)

    assert mind.active() == active
    assert {m.value: m.reason for m in mind.memories.values() if m.status in ("superseded", "retracted")} == ended


def test_a_proposal_made_twice_waits_once_and_is_approved_as_one() -> None:
    mind = known(ate(0, "peanuts", act="proposes"), ate(1, "Peanuts", act="proposes"))
    [waiting] = mind.memories.values()
    assert (waiting.status, waiting.refs) == ("pending", ("session 1#0", "session 0#0"))

    mind.learn(replace(each, act="says") for each in mind.evidence.values())

    [approved] = mind.memories.values()
    assert (approved.id, approved.status) == (waiting.id, "active")


def test_what_is_said_more_often_is_surer_and_names_its_last_turns() -> None:
    [memory] = known(*(said(n, "Paris", confidence=0.9, importance=n / 10) for n in range(7))).memories.values()

    assert memory.confidence == 0.99
    assert memory.importance == 0.6
    assert memory.refs == tuple(f"session {n}#0" for n in (6, 5, 4, 3, 2))
    assert memory.valid_from == START


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["oranges and lemons", "lemons and oranges too"], "lemons and oranges too"),
        (["the red bikes in the north hall", "red bikes north hall"], "the red bikes in the north hall"),
    ],
)
def test_a_shorter_way_to_say_the_same_does_not_take_words_away(values: Sequence[str], expected: str) -> None:
    assert known(*(ate(n, value) for n, value in enumerate(values))).active() == [expected]


def redacted(each: Evidence) -> Evidence:
    return replace(each, value=MARK, data={REDACTED_AT: (START + timedelta(days=9)).isoformat()})


def test_what_was_redacted_keeps_its_place_in_the_story_and_is_over() -> None:
    mind = known(said(0, "Paris"), said(1, "Berlin"), said(2, "berlin"))
    ids = {memory.value: memory.id for memory in mind.memories.values()}

    mind.learn([redacted(each) for each in mind.evidence.values() if each.value != "Paris"])
    mind.learn([said(5, "Ghent", confidence=0.5)])

    told = {m.value: (m.id, m.status, m.reason, m.valid_to, m.replaced_by) for m in mind.memories.values()}
    ghent = next(m.id for m in mind.memories.values() if m.value == "Ghent")
    assert told["Paris"] == (ids["Paris"], "superseded", "a newer value", START + timedelta(days=1), ids["Berlin"])
    assert told[MARK] == (ids["Berlin"], "retracted", "redacted", START + timedelta(days=5), ghent)
    assert told["Ghent"][1] == "active"


def test_two_redacted_values_of_one_key_stay_two() -> None:
    mind = known(ate(0, "peanuts"), ate(1, "eggs"))
    before = set(mind.memories)

    mind.learn([redacted(each) for each in mind.evidence.values()])

    assert set(mind.memories) == before
    assert {(m.status, m.valid_to) for m in mind.memories.values()} == {("retracted", START + timedelta(days=9))}


def test_what_ends_or_corrects_a_value_that_nobody_states_any_more_is_found() -> None:
    left = [
        ate(0, "peanuts"),
        ate(1, "peanuts", act="retracts"),
        ate(2, "locker code 4471", act="retracts"),
        ate(3, "eggs", act="completes"),
        said(4, "peanuts", act="retracts"),
        ate(5, "walnuts", corrects=True, old="peanuts"),
        ate(6, "hazelnuts", corrects=True, old="almonds"),
    ]

    assert [each.id for each in find_pointless(left)] == [left[2].id, left[3].id, left[4].id]
    assert [each.id for each in find_quoting(left)] == [left[6].id]


@given(evidences(), st.data())
@settings(max_examples=8 * MANY, deadline=None)
def test_extending_equals_reading_everything(evidence: list[Evidence], data: st.DataObject) -> None:
    """With few memories compared and fewer read than there are, so that the ends of both matter."""
    said_in_order = sorted(evidence, key=get_sort_key)
    cuts = sorted({0, len(evidence), *data.draw(st.lists(st.integers(0, len(evidence)), max_size=4))})
    mind = Mind()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOOKED_BACK", data.draw(st.integers(1, 3)))
        patch.setattr(module, "TAIL", module.LOOKED_BACK + data.draw(st.integers(0, 2)))
        for start, end in pairwise(cuts):
            mind.extend(said_in_order[start:end])

        assert mind.told() == known(*evidence).told()
        again = reconcile(list(mind.memories.values()), mind.evidence.values())
    assert (list(again.put), list(again.drop), list(again.links)) == ([], [], [])


@pytest.mark.parametrize(
    ("new", "is_extended"),
    [
        (ate(5, "eggs"), True),
        (ate(5, "peanuts"), True),
        (ate(5, "peanuts", act="completes"), True),
        (ate(0, "eggs"), False),
        (ate(5, "peanuts", act="retracts"), False),
        (ate(5, "peanuts", act="proposes"), False),
    ],
)
def test_only_what_reaches_further_back_reads_everything(new: Evidence, is_extended: bool) -> None:
    mind = known(ate(1, "peanuts"), ate(2, "shellfish"))

    assert mind.extend([replace(new, id=UUID(int=99))]) == is_extended


def test_older_memories_are_read_when_later_ones_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared reaches further back when something in it ends; more than was read, everything is read."""
    monkeypatch.setattr(module, "LOOKED_BACK", 1)
    monkeypatch.setattr(module, "TAIL", 1)
    mind = known(ate(0, "peanuts"), ate(1, "eggs"))

    assert not mind.extend([ate(2, "eggs", act="completes"), ate(3, "peanuts")])
    assert mind.active() == ["peanuts"]


def test_a_redacted_value_is_not_extended_from() -> None:
    mind = known(ate(0, "peanuts"))
    mind.learn([redacted(each) for each in mind.evidence.values()])

    assert not mind.extend([ate(5, "eggs")])


def comparisons(monkeypatch: pytest.MonkeyPatch, values: Sequence[str]) -> int:
    """How often values are compared while all of them are folded."""
    counted = 0
    get_gist.cache_clear()
    for name in ("resembles", "is_same", "is_opposite"):
        original = getattr(Gist, name)

        def compare(one: Gist, other: Gist, original: Any = original) -> bool:
            nonlocal counted
            counted += 1
            return bool(original(one, other))

        monkeypatch.setattr(Gist, name, compare)
    known(*(ate(n, value) for n, value in enumerate(values)))
    monkeypatch.undo()
    return counted


@pytest.mark.parametrize("make", [lambda n: f"cabinet {n} has the folder", lambda n: "the red folder"])
def test_folding_one_key_is_linear_in_its_evidence(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    few, many = (comparisons(monkeypatch, [make(n) for n in range(count)]) for count in (500, 2000))

    assert many < few * 5


def test_a_long_value_is_the_same_only_if_it_is_equal() -> None:
    long = " ".join(f"word{n}" for n in range(2000))

    assert known(ate(0, long), ate(1, long), ate(2, f"{long} more")).active() == [long, f"{long} more"]
