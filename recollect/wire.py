"""Wire: the only place that chooses adapters. `connect` puts an Engine together and takes it apart again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from recollect.engine import Engine
from recollect.errors import InvalidSetting, StoreUnavailable
from recollect.flows.chores import Chores
from recollect.flows.diary import Diary
from recollect.flows.embed import Embedding, Policy
from recollect.flows.parts import Parts
from recollect.ports import Clock, Embedder, SystemClock
from recollect.settings import Settings, read_settings
from recollect.store.connection import (
    APP_ROLE,
    EmbeddedServer,
    embedded_server,
    make_database,
    open_database,
    plain_dsn,
)
from recollect.store.database import first_line
from recollect.store.migrate import SchemaStatus, prepare
from recollect.store.store import Store
from recollect.sync import SyncEngine
from recollect.worker.catch_up import CatchUp


@asynccontextmanager
async def connect(
    settings: Settings | None = None,
    *,
    embedder: Embedder | str | None = None,
    clock: Clock | None = None,
    worker: bool = True,
    **given: Any,
) -> AsyncIterator[Engine]:
    """An Engine, on the embedded server unless settings name another. Settings come from the environment; those given
    by name win. `embedder` is one of your own, or the setting. `worker=False` leaves derived work to others."""
    if isinstance(embedder, str):
        given["embedder"], embedder = embedder, None
    settings = settings or read_settings(**given)
    async with AsyncExitStack() as stack:
        parts = await assemble(stack, settings, embedder, clock or SystemClock())
        if worker and parts.embedding.embedder is not None:
            await stack.enter_async_context(running(CatchUp(parts)))
        yield Engine(parts)


def connect_sync(settings: Settings | None = None, **given: Any) -> SyncEngine:
    """As `connect`, for code that does not await: `with recollect.connect_sync() as memory: ...`"""
    return SyncEngine(connect(settings, **given))


async def assemble(stack: AsyncExitStack, settings: Settings, embedder: Embedder | None, clock: Clock) -> Parts:
    """The parts of an engine; the stack takes them apart in the right order."""
    admin_dsn, app_dsn, server = await find_server(stack, settings)
    await ready(admin_dsn)
    store = Store(await open_database(app_dsn, settings, server))
    stack.push_async_callback(store.close)
    embedder = embedder or chosen_embedder(settings)
    if embedder is not None:
        stack.push_async_callback(embedder.close)
    diary = Diary(store)
    stack.push_async_callback(diary.close)
    chores = Chores()
    stack.push_async_callback(chores.close)
    embedding = Embedding(embedder, policy(settings, embedder), store)
    return Parts(settings, store, embedding, diary, chores, clock)


async def find_server(stack: AsyncExitStack, settings: Settings) -> tuple[str, str, EmbeddedServer | None]:
    """The owner's DSN, the application's, and the embedded server if it is ours."""
    if settings.dsn:
        dsn = plain_dsn("MEMORY_DB_CONNECTION_STRING", settings.dsn)
        admin = plain_dsn("MEMORY_DB_ADMIN_CONNECTION_STRING", settings.admin_dsn) if settings.admin_dsn else dsn
        return admin, dsn, None
    server = embedded_server(settings)
    superuser = await asyncio.to_thread(server.start)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    admin = await make_database(superuser)
    return admin, make_conninfo(admin, user=APP_ROLE), server


async def ready(admin_dsn: str, *, migrate: bool = True) -> SchemaStatus:
    try:
        return await prepare(admin_dsn, migrate=migrate)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"PostgreSQL does not answer ({first_line(error)}); check MEMORY_DB_CONNECTION_STRING, or unset it to use"
            " the embedded server"
        ) from error


def chosen_embedder(settings: Settings) -> Embedder | None:
    match settings.embedder:
        case "local":
            from recollect.providers.local import LocalEmbedder

            return LocalEmbedder()
        case "openai":
            from recollect.providers.openai import OpenAIEmbedder

            if not settings.embedder_url or not settings.embedder_model:
                raise InvalidSetting("RECOLLECT_EMBEDDER", "openai needs RECOLLECT_EMBEDDER_URL and _MODEL too")
            return OpenAIEmbedder(
                settings.embedder_url,
                settings.embedder_model,
                settings.embedder_key,
                batch=settings.embedding_batch,
                timeout=settings.embedder_timeout,
            )
        case _:
            return None


def policy(settings: Settings, embedder: Embedder | None) -> Policy:
    """A static embedder embeds every turn for nothing; a paid one embeds what was marked."""
    match settings.embed_turns:
        case "all" | "high_value" | "none" as chosen:
            return chosen
        case _:
            return "all" if embedder is not None and embedder.is_local else "high_value"


@asynccontextmanager
async def running(work: CatchUp) -> AsyncIterator[None]:
    task = asyncio.create_task(work.run())
    try:
        yield
    finally:
        # More than once if need be: a statement that fails while it is being cancelled swallows the cancellation.
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=0.5)
