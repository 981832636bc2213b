"""A real server on loopback with upload-and-ask in it, this test's own database behind it, and files to ask about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
from fastapi import FastAPI

from recollect import Scope, connect
from recollect.apps.documents.librarian import Librarian
from recollect.ports import Reasoner
from recollect.server.app import make_app
from recollect.settings import Settings
from tests.apps.chat.chat_door import served

ROOT = "/api/v1/upload-ask"
ALEX = Scope("alex")
PRICES = b"""# Workshop prices

A tyre change costs 40 euros and takes half an hour.

A service costs 120 euros, oil included.

An inspection of the brakes is free for members of the club.

# Opening hours

The workshop is open from Monday to Friday, eight to six.
"""
GARDEN = b"# Garden\n\nTomatoes are planted after the last frost, in the middle of May.\n\nRoses are pruned in March.\n"


@contextmanager
def open_door(settings: Settings, reasoner: Reasoner | None = None) -> Iterator[str]:
    """Its address."""
    app = make_app(settings, worker=False)
    if reasoner is not None:
        answering_with(app, settings, reasoner)
    with served(app) as url:
        yield url


def answering_with(app: FastAPI, settings: Settings, reasoner: Reasoner) -> None:
    plain = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with plain(app):
            app.state.librarian = Librarian(app.state.engine, settings, reasoner)
            yield
            await app.state.librarian.close()
            await reasoner.close()

    app.router.lifespan_context = lifespan


async def upload(client: httpx2.AsyncClient, name: str, content: bytes, **fields: str) -> httpx2.Response:
    return await client.post(f"{ROOT}/documents", files={"file": (name, content)}, data=fields)


async def added(client: httpx2.AsyncClient, settings: Settings, name: str, content: bytes, **fields: str) -> str:
    """Uploaded and read; its id."""
    answer = await upload(client, name, content, **fields)
    assert answer.status_code == 202, answer.text
    await settled(settings)
    return str(answer.json()["document"]["id"])


async def settled(settings: Settings) -> None:
    async with connect(settings, worker=False) as engine:
        await engine.settle(ALEX)


async def ask(client: httpx2.AsyncClient, query: str, **more: Any) -> dict[str, Any]:
    answer = await client.post(f"{ROOT}/query", json={"query": query, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
