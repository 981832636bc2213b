"""Traces: a span per request and one per verb, for OpenTelemetry. Nothing of it is imported unless an OTEL_* variable
asks for traces; then the `otel` extra is needed, or a host that has set up a tracer provider of its own.

Spans carry the route, the status and the request's id: no text, no user."""

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
ASKED_BY = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
LACKING = "%s is set, but OpenTelemetry's SDK is not installed; `pip install recollect[otel]` brings it"


class Request(Protocol):
    """A request on its way, as the border has it."""

    id: str
    status: int
    scope: dict[str, Any]

    @property
    def route(self) -> str: ...

    @property
    def method(self) -> str: ...


class Traces:
    """`send` has what was gathered sent; where the tracer is a host's, that is the host's business."""

    def __init__(self, tracer: Tracer, send: Callable[[], object] | None = None) -> None:
        self._tracer = tracer
        self._send = send

    async def close(self) -> None:
        """What was gathered is sent, or lost: a process that is stopped by a signal does nothing at its exit."""
        if self._send is not None:
            await asyncio.to_thread(self._send)

    @contextmanager
    def request(self, request: Request) -> Iterator[None]:
        """The span of a request; a `traceparent` that came with it is its parent."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        parent = extract({name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]})
        with self._tracer.start_as_current_span(request.method, context=parent, kind=SpanKind.SERVER) as span:
            try:
                yield
            finally:
                describe(span, request)

    def verbs(self, engine: Engine) -> Engine:
        """The same engine; each verb that is awaited has a span."""
        return cast("Engine", Traced(engine, self._tracer))


class Traced:
    def __init__(self, engine: Engine, tracer: Tracer) -> None:
        self._engine = engine
        self._tracer = tracer

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._engine, name)
        if not iscoroutinefunction(verb):
            return verb

        @wraps(verb)
        async def told(*args: Any, **kwargs: Any) -> Any:
            # An exception's message may name a user, so it is not recorded.
            with self._tracer.start_as_current_span(
                f"recollect.{name}", record_exception=False, set_status_on_exception=False
            ):
                return await verb(*args, **kwargs)

        return told


def describe(span: Span, request: Request) -> None:
    """Known only at the end: which route it was, and what came of it."""
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


def traces(environ: Mapping[str, str] = os.environ) -> Traces | None:
    """As the environment asks; None where it does not."""
    asked = next((name for name in ASKED_BY if environ.get(name)), None)
    if asked is None or environ.get("OTEL_SDK_DISABLED") == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    try:
        return provided()
    except ImportError:
        log.warning(LACKING, asked)
        return None


def provided() -> Traces:
    """By the host's provider, if it has set one up; else by our own, which sends to the collector in OTEL_*. Ours is
    for nobody else: the framework would add spans of its own to a global one, with paths that may name a user."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return Traces(trace.get_tracer("recollect"))
    own = sending()
    return Traces(own.get_tracer("recollect"), own.force_flush)


def sending() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "recollect"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
