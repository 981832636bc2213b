"""The queries of a document search go by their key behind the wall, however much there is of others and other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import ClientCursor
from psycopg.conninfo import make_conninfo

from recollect import Scope, Upload, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.store.connection import format_session_options
from recollect.store.database import queries

ALEX = Scope("alex")
OTHERS = """
    INSERT INTO recollect.posting (scope_id, lexeme, document, first, found)
    SELECT CASE WHEN mod(n, 2) = 0 THEN %(scope)s::uuid ELSE gen_random_uuid() END, md5(n::text), n, 0, '\\x0000010001'
    FROM generate_series(1, 20000) n
"""
VECTORS = """
    INSERT INTO recollect.chunk_vector (scope_id, model_id, document_id, chunk_index, vector)
    SELECT gen_random_uuid(), v.model_id, v.document_id, v.chunk_index, v.vector
    FROM recollect.chunk_vector v, generate_series(1, 5000)
"""


@pytest.fixture
async def app(database: str, settings: Settings) -> Any:
    """A session as the engine's pool opens it, after much was written."""
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        await memory.documents.add(ALEX, Upload("bees.txt", b"A hive holds one queen."))
        await memory.settle(ALEX)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(OTHERS.encode(), {"scope": ALEX.id})
        owner.execute(VECTORS.encode())
        owner.execute("ANALYZE")
    dsn = make_conninfo(database, options=format_session_options(settings))
    with psycopg.connect(dsn, cursor_factory=ClientCursor) as connection:
        yield connection


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize(
    ("name", "values", "table", "most"),
    [
        ("posting.find", {"terms": ["queen", "hive"], "documents": None}, "posting", 2),
        (
            "posting.similar",
            {"words": ["qeen"], "prefixes": ["qe", "qu"], "variants": ["queen", "qeeen"], "most": 9, "least": 0.35},
            "posting",
            1,
        ),
        (
            "chunk_vector.nearest",
            {"vector": "{" + f'"[{",".join(["0.1"] * 16)}]"' + "}", "model": 1, "documents": None, "limit": 10},
            "chunk_vector",
            1,
        ),
    ],
)
def test_a_search_reads_the_rows_of_its_scope_and_its_words_by_an_index(
    app: psycopg.Connection[Any], name: str, values: dict[str, Any], table: str, most: int
) -> None:
    app.execute(queries()["server.open_scope"], {"scope": ALEX.id})
    explain = b"EXPLAIN (ANALYZE, FORMAT JSON) " + queries()[name]
    row = app.execute(explain, {"scope": ALEX.id, **values}).fetchone()
    assert row is not None

    read = [node for node in nodes(row[0][0]["Plan"]) if node.get("Relation Name") == table]

    assert read
    for node in read:
        assert "Index" in node["Node Type"] or "Bitmap" in node["Node Type"], node["Node Type"]
        assert node["Actual Rows"] <= most
        assert node.get("Rows Removed by Filter", 0) == 0
