"""Bootstrap: the only module that chooses adapters. `connect` builds an Engine and closes it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from recollect.engine import Engine
from recollect.errors import InvalidSetting, StoreUnavailable, require_extra
from recollect.flows.dependencies import BackgroundTasks, Dependencies, Quota
from recollect.flows.embed import Embedding
from recollect.flows.request_log import RequestLog, UsageCounter
from recollect.ports import Clock, Embedder, Reasoner, SystemClock, Upstream
from recollect.providers.jwt import make_token_reader
from recollect.settings import Settings, read_settings
from recollect.store import connection
from recollect.store.database import get_first_line
from recollect.store.embedded import get_default_home
from recollect.store.migrate import SchemaStatus, prepare
from recollect.store.store import Store
from recollect.sync import SyncEngine
from recollect.values.sensitive_data import mask_logs
from recollect.worker import DocumentWorker, UpkeepWorker, Worker, cancel_tasks

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.chat.assistant import Assistant
    from recollect.apps.chat.proxy import Proxy
    from recollect.apps.documents.librarian import Librarian
    from recollect.flows.cache import TurnCache

T = TypeVar("T")
Opening = AbstractAsyncContextManager  # of what it opens


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
    """Yield an Engine, on the embedded server unless the settings name another. Settings come from the environment;
    those passed by name win. `embedder` is an object or a setting's value. `worker=False` starts no background
    worker."""
    mask_logs()
    if isinstance(embedder, str):
        given["embedder"], embedder = embedder, None
    settings = settings or read_settings(**given)
    async with AsyncExitStack() as stack:
        deps = await build_dependencies(stack, settings, embedder, clock or SystemClock(), reasoner)
        if worker:
            # Documents are read even if memory is switched off.
            learning = (Worker(deps, at_once=settings.workers), UpkeepWorker(deps)) if settings.enabled else ()
            await stack.enter_async_context(run_workers(DocumentWorker(deps), *learning))
        yield Engine(deps)


def open_assistant(engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> Opening[Assistant]:
    """Return an assistant on an open engine, with the configured language model unless another is given. Exiting waits
    for running replies."""
    from recollect.apps.chat.assistant import Assistant

    reasoner = reasoner or make_reasoner(settings)
    return close_at_exit(Assistant(engine, settings, reasoner), reasoner)


def open_proxy(engine: Engine, settings: Settings) -> Opening[Proxy]:
    """Return a proxy on an open engine, in front of the configured language model. Exiting waits for running
    requests."""
    from recollect.apps.chat.proxy import Proxy

    upstream: Upstream | None = None
    if settings.model_url:  # each request names its model
        from recollect.providers.openai_http import OpenAIUpstream

        upstream = OpenAIUpstream(
            settings.model_url,
            settings.model_key,
            timeout=settings.model_timeout,
            slots=settings.model_slots,
            window=settings.model_window,
        )
    return close_at_exit(Proxy(engine, upstream, masks=settings.mask_sensitive), upstream)


def open_analyst(engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> Opening[Analyst]:
    """Return an analyst on an open engine, which queries the project's databases. Exiting closes them."""
    require_extra("ask", "asking a database")
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.ask.sources.address_rules import read_rules

    rules = read_rules(settings, get_home(settings))
    reasoner = reasoner or make_reasoner(settings)
    analyst = Analyst(engine, settings, rules, reasoner, lambda name: make_reasoner(replace(settings, model=name)))
    return close_at_exit(analyst, reasoner)


def open_librarian(engine: Engine, settings: Settings, reasoner: Reasoner | None = None) -> Opening[Librarian]:
    """Return a librarian on an open engine, which answers from documents. Exiting waits for running answers."""
    from recollect.apps.documents.librarian import Librarian

    reasoner = reasoner or make_reasoner(settings)
    return close_at_exit(Librarian(engine, settings, reasoner), reasoner)


@asynccontextmanager
async def close_at_exit(application: T, model: Any) -> AsyncIterator[T]:
    """Yield an application; on exit close it, and then the model it uses, if any."""
    try:
        yield application
    finally:
        for each in (application, model):
            if each is not None:
                await each.close()  # type: ignore[union-attr]


def get_home(settings: Settings) -> Path:
    """Return Recollect's folder on this machine, as an absolute path."""
    return (Path(settings.home) if settings.home else get_default_home()).resolve()


def connect_sync(settings: Settings | None = None, **given: Any) -> SyncEngine:
    """Return a blocking engine: `with recollect.connect_sync() as memory: ...`"""
    return SyncEngine(connect(settings, **given))


async def build_dependencies(
    stack: AsyncExitStack, settings: Settings, embedder: Embedder | None, clock: Clock, reasoner: Reasoner | None = None
) -> Dependencies:
    """Return what an engine works with; the stack closes it in the right order."""
    from recollect.providers.files.reader import ConfinedReader

    tokens = make_token_reader(settings)
    store = await open_store(stack, settings)
    embedder, reasoner = embedder or make_embedder(settings), reasoner or make_reasoner(settings)
    summariser = make_summariser(settings) or reasoner
    request_log, usage, background_tasks = RequestLog(store), UsageCounter(store, clock), BackgroundTasks()
    models = (embedder, reasoner, None if summariser is reasoner else summariser)
    opened: tuple[Any, ...] = (*models, request_log, usage, background_tasks)
    for each in opened:
        if each is not None:
            stack.push_async_callback(each.close)
    cache = await make_cache(stack, settings, store)
    embedding = Embedding.choose(settings.embed_turns, embedder, store, cache)
    return Dependencies(
        settings,
        store,
        embedding,
        reasoner,
        summariser,
        request_log,
        usage,
        background_tasks,
        clock,
        ConfinedReader(),
        Quota(settings, store.report),
        tokens,
        cache=cache,
    )


async def open_store(stack: AsyncExitStack, settings: Settings) -> Store:
    """Return the store, with its schema up to date; the stack closes it."""
    admin_dsn, app_dsn, server = await find_server(stack, settings)
    await prepare_schema(admin_dsn)
    store = Store(await connection.open_database(app_dsn, settings, server))
    stack.push_async_callback(store.close)
    return store


async def find_server(stack: AsyncExitStack, settings: Settings) -> tuple[str, str, connection.EmbeddedServer | None]:
    """Return the owner's DSN, the application's DSN, and the embedded server if it is used."""
    if settings.dsn:
        dsn = connection.normalize_dsn("MEMORY_DB_CONNECTION_STRING", settings.dsn)
        admin = (
            connection.normalize_dsn("MEMORY_DB_ADMIN_CONNECTION_STRING", settings.admin_dsn)
            if settings.admin_dsn
            else dsn
        )
        return admin, dsn, None
    server = connection.EmbeddedServer(get_home(settings), settings.keep_server)
    superuser = await asyncio.to_thread(server.start)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    admin = await connection.make_database(superuser)
    return admin, make_conninfo(admin, user=connection.APP_ROLE), server


async def prepare_schema(admin_dsn: str) -> SchemaStatus:
    """Check the server, apply pending migrations and return the schema's status."""
    try:
        return await prepare(admin_dsn)
    except psycopg.OperationalError as error:
        raise describe_unreachable(error) from error


def describe_unreachable(error: psycopg.OperationalError) -> StoreUnavailable:
    return StoreUnavailable(
        f"PostgreSQL does not answer ({get_first_line(error)}); check MEMORY_DB_CONNECTION_STRING, or unset it to use"
        " the embedded server"
    )


async def make_cache(stack: AsyncExitStack, settings: Settings, store: Store) -> TurnCache | None:
    if not settings.redis_cache:
        return None
    from recollect.flows.cache import TurnCache
    from recollect.providers.redis import open_cache

    cache = await open_cache(settings.redis_url, settings.redis_ttl)
    stack.push_async_callback(cache.close)
    return TurnCache(cache, store)


def make_embedder(settings: Settings) -> Embedder | None:
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


def make_reasoner(settings: Settings) -> Reasoner | None:
    """Return the configured language model, or None: then rules do its work."""
    if not settings.model_url and not settings.model:
        return None
    from recollect.providers.openai import OpenAIReasoner

    if not settings.model_url or not settings.model:
        raise InvalidSetting("RECOLLECT_MODEL", "a language model needs RECOLLECT_MODEL_URL and RECOLLECT_MODEL")
    return OpenAIReasoner(
        settings.model_url,
        settings.model,
        settings.model_key,
        timeout=settings.model_timeout,
        first=settings.model_first_timeout,
        window=settings.model_window,
        slots=settings.model_slots,
    )


def make_summariser(settings: Settings) -> Reasoner | None:
    """Return the model configured for summaries, at the same server, or None."""
    if not settings.model_url or not settings.summary_model:
        return None
    return make_reasoner(replace(settings, model=settings.summary_model))


@asynccontextmanager
async def run_workers(*workers: Worker | UpkeepWorker | DocumentWorker) -> AsyncIterator[None]:
    """Run workers as tasks; cancel them and finish recent conversations on exit."""
    tasks = [asyncio.create_task(each.run()) for each in workers]
    try:
        yield
    finally:
        await cancel_tasks(tasks)
        for each in workers:
            if isinstance(each, Worker):
                await each.finish()
