"""The cost of the verbs is measured next to bare psycopg, and nothing is left behind. No figure is asserted."""

from __future__ import annotations

import psycopg
import pytest

from bench import verb_cost
from bench.baseline import Baseline
from bench.meter import Cost, Meter, Work
from bench.verb_cost import VerbBenchmark
from recollect import Engine
from recollect.providers.local import LocalEmbedder

TABLES = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "request", "memory", "evidence", "episode"),
    *("holder", "tally"),
)


class QuickMeter(Meter):
    """Repeats an operation a tenth as often: the figures are not asserted."""

    async def side_by_side(self, works: list[Work], times: int, rounds: int = 5) -> list[Cost]:
        return await super().side_by_side(works, times // 10, rounds)


async def test_all_figures_are_measured_and_nothing_is_left(
    memory: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb_cost, "Meter", QuickMeter)
    benchmark = VerbBenchmark(memory, LocalEmbedder(), database, lambda message: None)

    async with Baseline(database) as baseline:
        await benchmark.measure_append(baseline)
        await benchmark.measure_learning()
        await benchmark.measure_reads(baseline)
    await benchmark.measure_own_growth((1000,))
    await benchmark.measure_others_growth((1000, 3000))
    benchmark.measure_imports()
    present = rows(database)
    await benchmark.clean_up()

    assert all(row.ours > 0 for row in benchmark.report.figures)
    assert [row.what for row in benchmark.report.figures if "of others" in row.what] == [
        "recall with 1,000 turns of others",
        "recall with 3,000 turns of others",
    ]
    assert present["turn"] >= 6000
    assert present["memory"] > 0
    assert rows(database) == dict.fromkeys(TABLES, 0)
    with psycopg.connect(database) as owner:
        assert owner.execute("SELECT to_regnamespace('recollect_floor')").fetchone() == (None,)


def rows(database: str) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        counted = {table: owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()) for table in TABLES}
        return {table: row[0] for table, cursor in counted.items() if (row := cursor.fetchone())}
