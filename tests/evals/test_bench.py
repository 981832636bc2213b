"""The bench: it measures what it says, beside bare psycopg, and leaves nothing behind. No figure is asserted."""

from __future__ import annotations

import psycopg

from recollect import Engine
from recollect.evals.bench import Bench
from recollect.evals.floor import Floor
from recollect.providers.local import LocalEmbedder

TABLES = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "request", "memory", "evidence", "episode"),
    *("holder", "tally"),
)


async def test_every_figure_is_measured_and_nothing_is_left(memory: Engine, database: str) -> None:
    bench = Bench(memory, LocalEmbedder(), database, lambda what: None)

    async with Floor(database) as floor:
        await bench.append(floor)
        await bench.learning()
        await bench.reads(floor)
    await bench.own_growth((1000,))
    await bench.others_growth((1000, 3000))
    bench.imports()
    present = rows(database)
    await bench.clean_up()

    assert all(row.ours > 0 for row in bench.report.figures)
    assert [row.what for row in bench.report.figures if "foreign" in row.what] == [
        "recall beside 1,000 foreign turns",
        "recall beside 3,000 foreign turns",
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
