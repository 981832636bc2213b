"""`bench faults`: its checker finds what is wrong, and a short run finds nothing."""

from __future__ import annotations

import pytest

from bench.faults import History, Operation, check_lines, check_memories, measure_faults


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


@pytest.mark.timeout(300)
async def test_nothing_acknowledged_is_lost_in_a_short_run() -> None:
    report = await measure_faults(seconds=15, clients=3)

    assert report.violations == []
    assert sum(report.acknowledged.values()) > 0
    assert report.faults
