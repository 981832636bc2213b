"""The ASGI application: HTTP API, MCP and console. `recollect serve` runs it; other ASGI servers can, too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from recollect import Engine
from recollect.bootstrap import connect, open_analyst, open_assistant, open_librarian, open_proxy
from recollect.server.access import responses
from recollect.server.access.caller import RateLimiter
from recollect.server.access.middleware import RequestMiddleware, log_operation
from recollect.server.access.telemetry import Metrics, Traces, observe_calls, read_traces
from recollect.server.console import routes as console
from recollect.server.console.documents import UPLOAD_PATH
from recollect.server.http import (
    answer_question,
    chat,
    data_sources,
    operate,
    projects,
    routing,
    text2sql,
    upload_ask,
    verbs,
)
from recollect.server.http.operate import own_version
from recollect.server.mcp import mount as mcp
from recollect.settings import Settings

# FastAPI's own spans and logs would contain paths and messages that may name a user.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}
ROUTES = (
    *(verbs.routes, chat.routes, chat.completion_routes, verbs.memory_routes, verbs.ontology),
    *(projects.routes, projects.project_routes, data_sources.routes, text2sql.routes, data_sources.query_routes),
    *(answer_question.routes, upload_ask.routes, operate.routes, operate.installation, operate.health),
)
APPLICATIONS: Mapping[str, Callable[[Engine, Settings], AbstractAsyncContextManager[object]]] = {
    "assistant": open_assistant,
    "proxy": open_proxy,
    "analyst": open_analyst,
    "librarian": open_librarian,
}


def make_app(settings: Settings, *, worker: bool = True, traced: Traces | None = None) -> FastAPI:
    """Return the application. `traced` is for applications with their own tracer; else OTEL_* configures traces."""
    traced = traced or read_traces()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with connect(settings, worker=worker) as engine, AsyncExitStack() as stack:
            observers = [app.state.metrics.time_call, *([traced.trace_call] if traced else [])]
            app.state.engine = observe_calls(engine, *observers)
            for name, open_one in APPLICATIONS.items():
                setattr(app.state, name, await stack.enter_async_context(open_one(app.state.engine, settings)))
            await stack.enter_async_context(mcp.run_session_manager(app))
            yield
        if traced:
            await traced.close()

    app = FastAPI(
        title="Recollect",
        version=own_version(),
        description=routing.OPENAPI["description"],
        openapi_tags=routing.OPENAPI["tags"],
        lifespan=lifespan,
        docs_url=None,  # the console serves /docs, without assets from the network
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    app.state.settings = settings
    app.state.rate_limiter = RateLimiter(settings.rate_limit)
    app.state.metrics = Metrics()
    responses.install(app)
    routing.install(app, [each.router for each in ROUTES])
    app.include_router(mcp.router)
    console.mount(app)
    app.add_middleware(
        RequestMiddleware,
        most_bytes=settings.max_body,
        most_seconds=settings.answer_seconds,
        most_requests=settings.max_requests,
        larger=dict.fromkeys((upload_ask.UPLOADS, UPLOAD_PATH), settings.max_document + upload_ask.FORM_BYTES),
        observers=[app.state.metrics.observe_request, *([log_operation] if settings.log_operations else [])],
        traces=traced,
    )
    return app
