"""`bench faults`: its checker finds what is wrong, and a short run finds nothing."""

from __future__ import annotations

import os
import random

import httpx
import pytest

from bench.faults import (
    Client,
    History,
    Operation,
    check_documents,
    check_lines,
    check_memories,
    check_questions,
    measure_faults,
)


def lines(*outcomes: str) -> History:
    return History("alex", lines=[Operation("record", f"line {n}", outcome) for n, outcome in enumerate(outcomes)])


@pytest.mark.parametrize(
    ("stored", "wrong"),
    [
        (["line 0", "line 2"], []),
        (["line 0", "line 1", "line 2"], []),
        (["line 2"], ["alex: lost: line 0"]),
        (["line 0", "line 1", "line 1", "line 2"], ["alex: doubled: line 1"]),
        (["line 2", "line 0"], ["alex: out of order"]),
        (["line 0", "line 2", "line 1"], []),
        (["line 0", "line 2", "line 9"], ["alex: never sent: line 9"]),
    ],
)
def test_a_line_that_is_lost_doubled_or_out_of_order_is_found(stored: list[str], wrong: list[str]) -> None:
    assert check_lines(lines("acknowledged", "unknown", "acknowledged"), stored) == wrong


def memory(*changes: Operation) -> History:
    return History("alex", memories={"slot": list(changes)})


LEARNED = Operation("learn", "old", "acknowledged")


@pytest.mark.parametrize(
    ("changes", "stored", "is_right"),
    [
        ([LEARNED], ["old"], True),
        ([LEARNED], [], False),
        ([LEARNED, Operation("correct", "new", "acknowledged")], ["old"], False),
        ([LEARNED, Operation("correct", "new", "unknown")], ["old"], True),
        ([LEARNED, Operation("correct", "new", "unknown")], ["new"], True),
        ([LEARNED, Operation("correct", "new", "acknowledged")], ["new", "old"], False),
        ([LEARNED, Operation("forget", None, "acknowledged")], ["old"], False),
        ([LEARNED, Operation("forget", None, "refused")], ["old"], True),
    ],
)
def test_a_memory_has_the_last_value_that_was_acknowledged(
    changes: list[Operation], stored: list[str], is_right: bool
) -> None:
    assert (check_memories(memory(*changes), [("slot", value) for value in stored]) == []) is is_right


@pytest.mark.parametrize(("count", "wrong"), [(1, []), (0, ["lost"]), (2, ["doubled"])])
def test_a_question_and_a_document_are_stored_once(count: int, wrong: list[str]) -> None:
    history = History(
        "alex",
        documents=[Operation("upload", "a.txt", "acknowledged"), Operation("upload", "b.txt")],
        questions=[Operation("ask", "monday", "acknowledged"), Operation("ask", "tuesday", "unremembered")],
    )

    assert check_documents(history, ["a.txt"] * count) == [f"alex: {each}: a.txt" for each in wrong]
    stored = {"monday": count, "tuesday": 0}
    assert check_questions(history, stored) == [f"alex: {each}: question of monday" for each in wrong]


@pytest.mark.parametrize(
    ("answers", "outcome"), [([404], "refused"), ([503, 404], "unknown"), ([503, 200], "acknowledged")]
)
async def test_a_refused_repetition_leaves_open_what_became_of_the_first(answers: list[int], outcome: str) -> None:
    """The first attempt may have been carried out although its answer was lost."""
    left = iter(answers)
    client = Client("alex", [1], random.Random(1))
    forget = Operation("forget", None)
    transport = httpx.MockTransport(lambda _: httpx.Response(next(left), json={}))
    async with httpx.AsyncClient(transport=transport) as http:
        await client._send(http, forget, {"user": "alex", "memory": "m"})

    assert forget.outcome == outcome


@pytest.mark.timeout(400)
async def test_nothing_acknowledged_is_lost_whatever_fails() -> None:
    """Each fault once, which takes under two minutes on an idle machine; `python -m bench faults` takes any time."""
    report = await measure_faults(seconds=0, clients=3, pause=0.5)

    assert report.violations == []
    assert set(report.acknowledged) == {"record", "learn", "correct", "forget", "upload", "ask"}
    # Without the package of libfaketime no clock jumps; CI has it.
    assert len(report.faults) == 18 or ("clock jump" not in report.faults and not os.environ.get("CI"))
