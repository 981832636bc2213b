"""The application, put together. `recollect serve` runs it; tests and hosts may run it themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from recollect.doors.console import door as console
from recollect.doors.console.documents_shelf import UPLOADS
from recollect.doors.http import (
    answer_question,
    chat,
    completions,
    data_sources,
    envelope,
    glossary,
    health,
    memories,
    openapi,
    operate,
    projects,
    queries,
    text2sql,
    upload_ask,
    verbs,
)
from recollect.doors.http.border import Border
from recollect.doors.http.health import own_version
from recollect.doors.http.limits import Limits
from recollect.doors.http.meters import Meters
from recollect.doors.http.operations import note_operation
from recollect.doors.http.traces import Traces, traces
from recollect.doors.mcp.mount import mount
from recollect.settings import Settings
from recollect.wire import analysing, chatting, connect, proxying, reading_documents

# FastAPI would add spans and logs of its own, with paths and messages that may name a user.
OURS_ALONE: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}
DESCRIPTION = """Memory for applications that talk. Every route is one verb of the library.

Writes take an `Idempotency-Key`. Errors are `{"error": {"code", "message", "field"?}}`. Every answer has an
`X-Request-Id`; send one to have your own used."""


def make_app(settings: Settings, *, worker: bool = True, traced: Traces | None = None) -> FastAPI:
    """`traced` is for hosts that have a tracer; otherwise the environment says whether there are traces."""
    traced = traced or traces()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with connect(settings, worker=worker) as engine:
            app.state.engine = app.state.meters.verbs(traced.verbs(engine) if traced else engine)
            async with (
                chatting(app.state.engine, settings) as assistant,
                proxying(app.state.engine, settings) as proxy,
                analysing(app.state.engine, settings) as analyst,
                reading_documents(app.state.engine, settings) as librarian,
            ):
                app.state.assistant, app.state.proxy, app.state.analyst = assistant, proxy, analyst
                app.state.librarian = librarian
                yield
        if traced:
            await traced.close()

    app = FastAPI(
        title="Recollect",
        version=own_version(),
        description=DESCRIPTION,
        openapi_tags=openapi.TAGS,
        lifespan=lifespan,
        docs_url=None,  # ours is at the same place, and needs no network
        redoc_url=None,
        telemetry=OURS_ALONE,
        generate_unique_id_function=openapi.operation_id,
    )
    app.state.settings = settings
    app.state.limits = Limits(settings.rate_limit)
    app.state.meters = Meters()
    envelope.install(app)
    openapi.install(app)
    for router in (
        verbs.router,
        chat.router,
        completions.router,
        memories.router,
        memories.ontology,
        projects.router,
        glossary.router,
        data_sources.router,
        text2sql.router,
        queries.router,
        answer_question.router,
        upload_ask.router,
        operate.router,
        health.router,
    ):
        app.include_router(router)
    mount(app)
    console.mount(app)
    add_border(app, settings, traced)
    return app


def add_border(app: FastAPI, settings: Settings, traced: Traces | None) -> None:
    notes = [app.state.meters.request, *([note_operation] if settings.log_operations else [])]
    app.add_middleware(
        Border,
        most_bytes=settings.max_body,
        most_seconds=settings.request_timeout,
        larger=dict.fromkeys((upload_ask.UPLOADS, UPLOADS), settings.max_document + upload_ask.FORM_BYTES),
        notes=notes,
        traces=traced,
    )
