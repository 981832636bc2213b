"""The bare route: the least that the same framework must do to answer from the same database, one FastAPI route that
runs `SELECT 1` on a pool like ours. http_cost.py runs it as a process (`python -m bench.bare_route PORT`), with the
connection string in the environment."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool

from recollect.settings import Settings
from recollect.store.connection import EagerConnection

DSN = "RECOLLECT_BARE_DSN"
ROUTE = "/one"


def make_app(dsn: str) -> FastAPI:
    max_size = Settings().pool_size + Settings().max_overflow
    kwargs = {"autocommit": True, "prepare_threshold": 0}
    pool = AsyncConnectionPool(
        dsn, connection_class=EagerConnection, kwargs=kwargs, min_size=1, max_size=max_size, open=False
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post(ROUTE)
    async def select_one() -> dict[str, int]:
        async with pool.connection() as connection:
            row = await (await connection.execute("SELECT 1")).fetchone()
        return {"one": row[0] if row else 0}

    return app


if __name__ == "__main__":
    app = make_app(os.environ[DSN])
    uvicorn.run(
        app, port=int(sys.argv[1]), http="httptools", access_log=False, server_header=False, log_level="warning"
    )
