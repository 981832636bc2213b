"""The database goes away and comes back: a 503 that says why and when to come again, and recovery without a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import psycopg
from psycopg.conninfo import conninfo_to_dict

from .conftest import Serve
from .loopback import TURNS, refusal

TRIES = 300


@contextmanager
def away(server: str, database: str) -> Iterator[None]:
    """Nobody gets in, and whoever is in is thrown out."""
    name = str(conninfo_to_dict(database)["dbname"])
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


async def test_while_the_database_is_away_it_says_so_and_then_goes_on_by_itself(
    serve: Serve, server: str, database: str
) -> None:
    said = {"session": "monday", "turns": TURNS}
    url = serve(worker=True, pool_timeout=0.5).url
    async with httpx2.AsyncClient(base_url=url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        assert (await http.post("/v1/record", json=said)).status_code == 201
        with away(server, database):
            for answer in (
                await http.post("/v1/record", json=said),
                await http.post("/v1/recall", json={"text": "heron"}),
                await http.get("/v1/export"),
            ):
                assert refusal(answer)[:2] == (503, "unavailable")
                assert int(answer.headers["retry-after"]) >= 1
                assert "PostgreSQL" in answer.json()["error"]["message"]
            ready = await http.get("/ready")
            assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
            assert (await http.get("/health")).status_code == 200
        assert await answered_again(http)
        assert (await http.post("/v1/record", json=said)).status_code == 201
        assert (await http.get("/ready")).json()["store"] == "ok"


async def answered_again(http: httpx2.AsyncClient) -> bool:
    for _ in range(TRIES):
        if (await http.post("/v1/recall", json={"text": "heron"})).status_code == 200:
            return True
        await asyncio.sleep(0.1)
    return False


async def test_connections_that_were_cut_are_not_noticed_by_readers(serve: Serve, server: str, database: str) -> None:
    name = str(conninfo_to_dict(database)["dbname"])
    async with httpx2.AsyncClient(base_url=serve().url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
        with psycopg.connect(server, autocommit=True) as connection:
            for _ in range(5):
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
                assert (await http.post("/v1/recall", json={"text": "heron"})).status_code == 200


async def test_a_request_that_takes_too_long_is_a_503(serve: Serve, database: str) -> None:
    url = serve(request_timeout=1.0).url
    async with httpx2.AsyncClient(base_url=url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        assert await recorded_at_last(http)
        with psycopg.connect(database) as connection:
            connection.execute("SELECT FROM recollect.conversation FOR UPDATE")
            late = await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
        assert refusal(late)[:2] == (503, "unavailable")
        assert late.headers["retry-after"] == "1"
        assert await recorded_at_last(http)


async def recorded_at_last(http: httpx2.AsyncClient) -> bool:
    """On a busy machine other requests may be late, too."""
    for _ in range(TRIES):
        if (await http.post("/v1/record", json={"session": "monday", "turns": TURNS})).status_code == 201:
            return True
    return False
