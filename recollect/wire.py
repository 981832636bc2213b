"""Wire: the only place that chooses adapters. `connect` puts an Engine together and takes it apart again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from recollect.engine import Engine
from recollect.errors import InvalidSetting, StoreUnavailable
from recollect.flows.chores import Chores
from recollect.flows.diary import Diary
from recollect.flows.embed import Embedding, Policy
from recollect.flows.parts import Parts
from recollect.flows.usage import Usage
from recollect.model.sensitive_log import mask_logs
from recollect.ports import Clock, Embedder, FileReader, Reasoner, SystemClock, Upstream
from recollect.providers.jwt import token_reader
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
from recollect.store.embedded import default_home
from recollect.store.migrate import SchemaStatus, prepare
from recollect.store.store import Store
from recollect.sync import SyncEngine
from recollect.worker.documents import DocumentWorker
from recollect.worker.periodic import Periodic
from recollect.worker.worker import Worker

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache
    from recollect.hosts.chat.assistant import Assistant
    from recollect.hosts.chat.proxy import Proxy
    from recollect.hosts.documents.librarian import Librarian
    from recollect.hosts.sql.analyst import Analyst


@asynccontextmanager
async def connect(
    settings: Settings | None = None,
    *,
    embedder: Embedder | str | None = None,
    reasoner: Reasoner | None = None,
    clock: Clock | None = None,
    worker: bool = True,
    **given: Any,
) -> AsyncIterator[Engine]:
    """An Engine, on the embedded server unless settings name another. Settings come from the environment; those given
    by name win. `embedder` is one of your own, or the setting. `worker=False` leaves derived work to others."""
    mask_logs()
    if isinstance(embedder, str):
        given["embedder"], embedder = embedder, None
    settings = settings or read_settings(**given)
    async with AsyncExitStack() as stack:
        parts = await assemble(stack, settings, embedder, clock or SystemClock(), reasoner)
        if worker:
            # Documents are no memory: they are read also where that is switched off.
            learning = (Worker(parts, at_once=settings.workers), Periodic(parts)) if settings.enabled else ()
            await stack.enter_async_context(running(DocumentWorker(parts), *learning))
        yield Engine(parts)


@asynccontextmanager
async def chatting(engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> AsyncIterator[Assistant]:
    """An assistant on an open engine, with the language model of the settings unless another is given. Leaving it waits
    for the replies at hand."""
    from recollect.hosts.chat.assistant import Assistant

    reasoner = reasoner or chosen_reasoner(settings)
    assistant = Assistant(engine, settings, reasoner)
    try:
        yield assistant
    finally:
        await assistant.close()
        if reasoner is not None:
            await reasoner.close()


@asynccontextmanager
async def proxying(engine: Engine, settings: Settings) -> AsyncIterator[Proxy]:
    """A proxy on an open engine, before the language model of the settings. Leaving it waits for what is at hand."""
    from recollect.hosts.chat.proxy import Proxy

    upstream = chosen_upstream(settings)
    proxy = Proxy(engine, upstream)
    try:
        yield proxy
    finally:
        await proxy.close()
        if upstream is not None:
            await upstream.close()


@asynccontextmanager
async def analysing(engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> AsyncIterator[Analyst]:
    """An analyst on an open engine: it asks the project's databases. Leaving it closes them."""
    from recollect.hosts.sql.analyst import Analyst

    reasoner = reasoner or chosen_reasoner(settings)
    analyst = Analyst(engine, settings, reasoner, lambda name: chosen_reasoner(replace(settings, model=name)))
    try:
        yield analyst
    finally:
        await analyst.close()
        if reasoner is not None:
            await reasoner.close()


@asynccontextmanager
async def reading_documents(
    engine: Engine, settings: Settings, reasoner: Reasoner | None = None
) -> AsyncIterator[Librarian]:
    """A librarian on an open engine: it answers from documents. Leaving it waits for the answers at hand."""
    from recollect.hosts.documents.librarian import Librarian

    reasoner = reasoner or chosen_reasoner(settings)
    librarian = Librarian(engine, settings, reasoner)
    try:
        yield librarian
    finally:
        await librarian.close()
        if reasoner is not None:
            await reasoner.close()


def home_of(settings: Settings) -> Path:
    """The folder that is ours on this machine."""
    return Path(settings.home) if settings.home else default_home()


def connect_sync(settings: Settings | None = None, **given: Any) -> SyncEngine:
    """As `connect`, for code that does not await: `with recollect.connect_sync() as memory: ...`"""
    return SyncEngine(connect(settings, **given))


async def assemble(
    stack: AsyncExitStack,
    settings: Settings,
    embedder: Embedder | None,
    clock: Clock,
    reasoner: Reasoner | None = None,
) -> Parts:
    """The parts of an engine; the stack takes them apart in the right order."""
    tokens = token_reader(settings)
    admin_dsn, app_dsn, server = await find_server(stack, settings)
    await ready(admin_dsn)
    store = Store(await open_database(app_dsn, settings, server))
    stack.push_async_callback(store.close)
    embedder = embedder or chosen_embedder(settings)
    if embedder is not None:
        stack.push_async_callback(embedder.close)
    reasoner = reasoner or chosen_reasoner(settings)
    if reasoner is not None:
        stack.push_async_callback(reasoner.close)
    summariser = chosen_summariser(settings) or reasoner
    if summariser is not None and summariser is not reasoner:
        stack.push_async_callback(summariser.close)
    diary = Diary(store)
    stack.push_async_callback(diary.close)
    usage = Usage(store, clock)
    stack.push_async_callback(usage.close)
    chores = Chores()
    stack.push_async_callback(chores.close)
    cache = await chosen_cache(stack, settings, store)
    embedding = Embedding(embedder, policy(settings, embedder), store, cache)
    return Parts(
        settings,
        store,
        embedding,
        reasoner,
        summariser,
        diary,
        usage,
        chores,
        clock,
        chosen_files(),
        tokens,
        cache=cache,
    )


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


async def chosen_cache(stack: AsyncExitStack, settings: Settings, store: Store) -> TurnCache | None:
    if not settings.redis_cache:
        return None
    from recollect.flows.cache import TurnCache
    from recollect.providers.redis import opened

    cache = await opened(settings.redis_url, settings.redis_ttl)
    stack.push_async_callback(cache.close)
    return TurnCache(cache, store)


def chosen_files() -> FileReader:
    from recollect.providers.files.confined import ConfinedReader

    return ConfinedReader()


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


def chosen_reasoner(settings: Settings) -> Reasoner | None:
    """A language model, if one is configured; without one the rules do its work."""
    if not settings.model_url and not settings.model:
        return None
    from recollect.providers.openai_stream import StreamingReasoner

    if not settings.model_url or not settings.model:
        raise InvalidSetting("RECOLLECT_MODEL", "a language model needs RECOLLECT_MODEL_URL and RECOLLECT_MODEL")
    return StreamingReasoner(settings.model_url, settings.model, settings.model_key, timeout=settings.model_timeout)


def chosen_upstream(settings: Settings) -> Upstream | None:
    """Where the proxy passes its requests on; the request names the model."""
    if not settings.model_url:
        return None
    from recollect.providers.openai_upstream import OpenAIUpstream

    return OpenAIUpstream(settings.model_url, settings.model_key, timeout=settings.model_timeout)


def chosen_summariser(settings: Settings) -> Reasoner | None:
    """Another model for summaries, at the same server, if one is named."""
    if not settings.model_url or not settings.summary_model:
        return None
    from recollect.providers.openai_chat import OpenAIReasoner

    return OpenAIReasoner(
        settings.model_url, settings.summary_model, settings.model_key, timeout=settings.model_timeout
    )


def policy(settings: Settings, embedder: Embedder | None) -> Policy:
    """A static embedder embeds every turn for nothing; a paid one embeds what was marked."""
    match settings.embed_turns:
        case "all" | "high_value" | "none" as chosen:
            return chosen
        case _:
            return "all" if embedder is not None and embedder.is_local else "high_value"


@asynccontextmanager
async def running(*workers: Worker | Periodic | DocumentWorker) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each.run()) for each in workers]
    try:
        yield
    finally:
        # More than once if need be: a statement that fails while it is being cancelled swallows the cancellation.
        while unfinished := [task for task in tasks if not task.done()]:
            for task in unfinished:
                task.cancel()
            await asyncio.wait(unfinished, timeout=0.5)
        for each in workers:
            if isinstance(each, Worker):
                await each.finish()
