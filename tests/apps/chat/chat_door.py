"""A real server on loopback with nothing but the chat in it, and this test's own database behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from recollect import connect
from recollect.apps.chat.assistant import Assistant
from recollect.ports import Reasoner
from recollect.server.access import responses
from recollect.server.access.caller import RateLimiter
from recollect.server.access.middleware import RequestMiddleware
from recollect.server.access.telemetry import Metrics
from recollect.server.http import chat
from recollect.server.serve import listen
from recollect.settings import Settings


def chat_app(settings: Settings, reasoner: Reasoner | None = None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with connect(settings, worker=False) as engine:
            app.state.engine = engine
            app.state.assistant = Assistant(engine, settings, reasoner)
            yield
            await app.state.assistant.close()
            if reasoner is not None:
                await reasoner.close()

    app = FastAPI(lifespan=lifespan)
    app.state.settings, app.state.rate_limiter, app.state.metrics = settings, RateLimiter(0), Metrics()
    responses.install(app)
    app.include_router(chat.routes.router)
    app.add_middleware(RequestMiddleware, most_bytes=settings.max_body, most_seconds=settings.request_timeout)
    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Its address."""
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, http="httptools", log_config=None)
    )
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
