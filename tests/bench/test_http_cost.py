"""The HTTP cost is measured on real servers, no request fails, and nothing is left behind. No figure is asserted except
those that must be zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from bench import http_cost
from bench.__main__ import main
from bench.http_cost import HTTP, ROUTE, VERB, Figure, Held, HttpReport, Round, Soak, open_benchmark
from bench.http_load import run_server
from recollect import Engine
from recollect.errors import RecollectError
from recollect.settings import Settings
from recollect.values.identity import Grant
from tests.bounds import bound

SOAK_SECONDS = bound(2, 60)  # and a fifth of it to warm up
MORE_MB = 30  # that a server under load may take after its warm-up, in so short a time
A_FEW = 3  # descriptors that come and go with the worker's rounds
TABLES = ("conversation", "turn", "sketch", "embedding", "request", "memory", "evidence", "episode")


def ignore(message: str) -> None:
    """Ignore progress."""


@pytest.mark.parametrize(("closed", "many"), [(False, (1, 4)), (True, (1,))], ids=["open to all", "with keys"])
async def test_three_targets_are_measured_with_one_client_and_many(
    memory: Engine,
    settings: Settings,
    database: str,
    closed: bool,
    many: Sequence[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(http_cost.REQUESTS, 1, 10)
    if closed:
        await memory.keys.create(Grant(role="admin", name="somebody"))
    async with open_benchmark(memory, settings, database, ignore, users=2, turns=60) as benchmark:
        report = HttpReport(await benchmark.measure(clients=many, rounds=1))

    assert [(figure.what, figure.clients) for figure in report.figures] == [
        (what, clients) for clients in many for what in (ROUTE, VERB, HTTP)
    ]
    assert report.failed == 0
    assert all(figure.best.cpu > figure.best.postgres > 0 for figure in report.figures)
    assert all(figure.best.p95 >= figure.best.p50 > 0 for figure in report.figures)
    assert [line["clients"] for line in report.to_dict()["compared"]] == [*many]
    assert rows(database) == dict.fromkeys(TABLES, 0)
    assert all(key.revoked_at for key in await memory.keys.find() if key.name == "bench")


@pytest.mark.long
async def test_server_under_load_fails_nothing_and_leaks_nothing(
    memory: Engine, settings: Settings, database: str
) -> None:
    async with open_benchmark(memory, settings, database, ignore, users=4, turns=100) as benchmark:
        soak = await benchmark.soak(SOAK_SECONDS)

    assert (soak.failed, list(soak.problems)) == (0, [])
    assert soak.requests > 0
    assert soak.after.descriptors <= soak.before.descriptors + A_FEW
    assert soak.after.connections <= settings.pool_size + settings.max_overflow
    assert soak.after.resident_mb <= soak.before.resident_mb + MORE_MB
    assert rows(database) == dict.fromkeys(TABLES, 0)


async def test_server_that_does_not_start_says_why() -> None:
    with pytest.raises(RecollectError, match="no such thing"):
        async with run_server(lambda port: ["-c", "raise SystemExit('no such thing')"], {}, "/health"):
            pass


def figures() -> list[Figure]:
    """HTTP takes 8 ms, the verb 7, the bare route 2."""
    return [
        Figure(what, 1, Round(cpu, 1.0, 0.1, 90.0, 10.0, 12.0, 0), cpu + 1, 0)
        for what, cpu in ((ROUTE, 2.0), (VERB, 7.0), (HTTP, 8.0))
    ]


SOAK = Soak(600, 9000, 1, ["503: gone"], 15.0, 10.0, 12.0, Held(100, 20, 9), Held(101, 20, 9))


@pytest.mark.parametrize(
    ("arguments", "asked", "report", "code", "shown"),
    [
        (("--quick",), (True, 0), HttpReport(figures()), 0, ("adds 1.00 CPU ms", "4.0 times", "8.00 to 9.00")),
        (("--minutes", "10"), (False, 10), HttpReport(soak=SOAK), 1, ("9,000 requests", "1 failed", "503: gone")),
        (("--json",), (False, 0), HttpReport(figures()), 0, ('"added": 1.0', '"beside_bare": 4.0')),
    ],
    ids=["cost", "soak", "json"],
)
def test_command_shows_added_cost_and_fails_with_a_request(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    database: str,
    arguments: Sequence[str],
    asked: tuple[bool, float],
    report: HttpReport,
    code: int,
    shown: Sequence[str],
) -> None:
    """The measurement takes a minute, so only the command's arguments and output are tested."""
    seen: list[tuple[bool, float]] = []

    async def measure_http(settings: Settings, **given: Any) -> HttpReport:
        seen.append((given["quick"], given["minutes"]))
        return report

    monkeypatch.setattr("bench.http_cost.measure_http", measure_http)
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("COLUMNS", "200")

    assert main(["cost", "http", *arguments]) == code
    out = capsys.readouterr().out
    assert [text for text in shown if text not in out] == []
    assert seen == [asked]


def test_minutes_is_refused_without_http(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "--minutes", "1"]) == 2
    assert "--minutes" in capsys.readouterr().err


def rows(database: str) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        counted = {table: owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()) for table in TABLES}
        return {table: row[0] for table, cursor in counted.items() if (row := cursor.fetchone())}
