"""The cost of memory is measured with the real assistant, with memory and without, and nothing is left behind. No
figure is asserted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from bench.__main__ import main
from bench.memory_cost import REPLY, MemoryBenchmark, MemoryReport, Pair, Spent, record_users
from recollect import Engine
from recollect.bootstrap import connect, open_assistant
from recollect.providers.fake import FakeReasoner
from recollect.settings import Settings

TABLES = ("conversation", "turn", "sketch", "embedding", "request", "memory", "evidence", "episode")


def ignore(message: str) -> None:
    """Ignore progress."""


async def test_each_message_is_measured_with_memory_and_without(
    memory: Engine, settings: Settings, database: str
) -> None:
    off = replace(settings, enabled=False)
    told, untold = FakeReasoner(REPLY), FakeReasoner(REPLY)
    async with (
        connect(off, worker=False) as without,
        open_assistant(memory, settings, told) as remembering,
        open_assistant(without, off, untold) as forgetful,
    ):
        benchmark = MemoryBenchmark(memory, remembering, forgetful, database, ignore)
        async with record_users(benchmark, users=2, turns=60):
            report = await benchmark.measure(3)

    assert (report.turns, len(report.pairs), report.failed) == (60, 3, 0)
    assert all(spent.until_answer > 0 for pair in report.pairs for spent in (pair.on, pair.off))
    assert [asked[-1] for asked in told.asked] == [asked[-1] for asked in untold.asked]
    assert all("Recalled" in asked[0].text for asked in told.asked)
    assert not any("Recalled" in asked[0].text for asked in untold.asked)
    assert rows(database) == dict.fromkeys(TABLES, 0)


def rows(database: str) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        counted = {table: owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()) for table in TABLES}
        return {table: row[0] for table, cursor in counted.items() if (row := cursor.fetchone())}


def report(*added: float, sources: int = 2) -> MemoryReport:
    """Messages that take 5 ms without memory, and so much more with it, 1 ms of which after the answer."""
    return MemoryReport([Pair(Spent(4 + more, 1, sources), Spent(5, 0, 0)) for more in added], 1000)


def test_added_cost_is_shown_as_median_and_95th_percentile() -> None:
    many = report(*range(1, 21))
    assert (many.added.median, many.added.p95, many.holds) == (10.5, 20, True)
    assert not report(10, 10, 25).holds


@pytest.mark.parametrize(
    ("on", "off"),
    [
        (Spent(9, 1, 0), Spent(5, 0, 0)),
        (Spent(9, 1, 2), Spent(5, 0, 1)),
        (Spent(9, 1, 2, failed=True), Spent(5, 0, 0)),
        (Spent(9, 1, 2), Spent(5, 0, 0, failed=True)),
    ],
    ids=["nothing remembered", "remembered though switched off", "not answered", "not answered without"],
)
def test_message_answered_wrongly_is_a_failure(on: Spent, off: Spent) -> None:
    assert MemoryReport([Pair(on, off), *report(3).pairs], 1000).failed == 1


@pytest.mark.parametrize(
    ("arguments", "found", "code", "shown"),
    [
        (("--quick",), report(7, 8, 9), 0, ("1,000 turns", "8.00", "9.00", "less than 25 CPU ms", ": holds")),
        ((), report(7, 8, 30), 0, ("30.00", "does not hold")),
        ((), report(7, sources=0), 1, ("1 messages failed",)),
        (("--json",), report(7, 8, 9), 0, ('"holds": true', '"limit": 25.0', '"median": 8', '"p95": 9')),
    ],
    ids=["holds", "does not", "failed", "json"],
)
def test_command_shows_added_cost_and_whether_limit_holds(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database: str,
    arguments: Sequence[str],
    found: MemoryReport,
    code: int,
    shown: Sequence[str],
) -> None:
    """The measurement takes minutes, so only the command's arguments and output are tested."""
    seen: list[bool] = []

    async def measure_chat(settings: Settings, **given: Any) -> MemoryReport:
        seen.append(given["quick"])
        return found

    monkeypatch.setattr("bench.memory_cost.measure_chat", measure_chat)
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("COLUMNS", "200")

    assert main(["cost", "chat", *arguments]) == code
    out = capsys.readouterr().out
    assert [text for text in shown if text not in out] == []
    assert seen == ["--quick" in arguments]
