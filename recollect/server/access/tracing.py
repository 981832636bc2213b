"""OpenTelemetry traces: a span per request and one per engine call. OpenTelemetry is imported only if an OTEL_*
variable asks for traces; then the `otel` extra is needed, or an application that has set up its own tracer provider.

Spans carry the route, the status and the request id; never text or a user."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

    from recollect.engine import Engine

log = logging.getLogger("recollect.http")
TRACE_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
MISSING = "%s is set, but OpenTelemetry's SDK is not installed; run `pip install recollect[otel]`"


class Request(Protocol):
    """A request, as the middleware sees it."""

    id: str
    status: int
    scope: dict[str, Any]

    @property
    def route(self) -> str: ...

    @property
    def method(self) -> str: ...


class Traces:
    """`send` sends buffered spans; it is None if the tracer belongs to the application, which sends them itself."""

    def __init__(self, tracer: Tracer, send: Callable[[], object] | None = None) -> None:
        self._tracer = tracer
        self._send = send

    async def close(self) -> None:
        """Send buffered spans; a process that a signal ends would lose them."""
        if self._send is not None:
            await asyncio.to_thread(self._send)

    @contextmanager
    def trace_request(self, request: Request) -> Iterator[None]:
        """Run a request in a span whose parent is the `traceparent` of the request, if it has one."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        parent = extract({name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]})
        with self._tracer.start_as_current_span(request.method, context=parent, kind=SpanKind.SERVER) as span:
            try:
                yield
            finally:
                describe_span(span, request)

    def trace_calls(self, engine: Engine) -> Engine:
        """Return the engine with a span for every awaited method."""

        def trace(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
            async def traced(*args: Any, **kwargs: Any) -> Any:
                # An exception's message may name a user, so it is not recorded.
                unrecorded: Any = {"record_exception": False, "set_status_on_exception": False}
                with self._tracer.start_as_current_span(f"recollect.{name}", **unrecorded):
                    return await method(*args, **kwargs)

            return traced

        return cast("Engine", WrappedEngine(engine, trace))


class WrappedEngine:
    """An engine whose awaited methods are replaced by what `wrap` makes of them and their names."""

    def __init__(self, engine: Engine, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        self._engine = engine
        self._wrap = wrap

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)
        if not iscoroutinefunction(method):
            return method
        # Keep the wrapper: the next lookup does not reach __getattr__.
        self.__dict__[name] = wraps(method)(self._wrap(name, method))
        return self.__dict__[name]


def describe_span(span: Span, request: Request) -> None:
    """Set what is known only at the end of a request: its route and its status."""
    from opentelemetry.trace import Status, StatusCode

    span.update_name(f"{request.method} {request.route}")
    span.set_attributes(
        {
            "http.request.method": request.method,
            "http.route": request.route,
            "http.response.status_code": request.status,
            "recollect.request_id": request.id,
        }
    )
    if request.status >= 500:
        span.set_status(Status(StatusCode.ERROR))


def read_traces(environ: Mapping[str, str] = os.environ) -> Traces | None:
    """Return traces as the environment configures them; None if it does not."""
    variable = next((name for name in TRACE_VARIABLES if environ.get(name)), None)
    if variable is None or environ.get("OTEL_SDK_DISABLED") == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    try:
        return make_traces()
    except ImportError:
        log.warning(MISSING, variable)
        return None


def make_traces() -> Traces:
    """Return traces of the application's tracer provider, if it has one; else of our own, configured by OTEL_*.

    Ours is never made the global provider: FastAPI would add spans to it, with paths that may name a user.
    """
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return Traces(trace.get_tracer("recollect"))
    own = make_provider()
    return Traces(own.get_tracer("recollect"), own.force_flush)


def make_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "recollect"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
