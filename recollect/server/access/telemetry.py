"""OpenTelemetry traces, imported only if an OTEL_* variable asks for them, and Prometheus metrics served at /metrics.
Neither contains text or a user."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, cast

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from recollect import Context, Engine, Health, Recall

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from recollect.server.access.middleware import CurrentRequest

log = logging.getLogger("recollect.http")
TRACE_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")
MISSING = "%s is set, but OpenTelemetry's SDK is not installed; run `pip install recollect[otel]`"


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
    def trace_request(self, request: CurrentRequest) -> Iterator[None]:
        """Run a request in a span whose parent is the `traceparent` of the request, if it has one."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        parent = extract({name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]})
        with self._tracer.start_as_current_span(request.method, context=parent, kind=SpanKind.SERVER) as span:
            try:
                yield
            finally:
                # what is known only at the end of a request
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

    def trace_call(self, name: str) -> AbstractContextManager[object]:
        """Return a span for a call of the engine. An exception's message may name a user, so it is not recorded."""
        return self._tracer.start_as_current_span(
            f"recollect.{name}", record_exception=False, set_status_on_exception=False
        )


class ObservedEngine:
    """An engine whose awaited methods run within the contexts that the observers return for their names."""

    def __init__(self, engine: Engine, observers: Sequence[Callable[[str], AbstractContextManager[object]]]) -> None:
        self._engine = engine
        self._observers = observers

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)
        if not iscoroutinefunction(method):
            return method

        @wraps(method)
        async def observed(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for observe in self._observers:
                    stack.enter_context(observe(name))
                return await method(*args, **kwargs)

        # Keep the wrapper: the next lookup does not reach __getattr__.
        self.__dict__[name] = observed
        return observed


def observe_calls(engine: Engine, *observers: Callable[[str], AbstractContextManager[object]]) -> Engine:
    return cast("Engine", ObservedEngine(engine, observers))


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
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "recollect"}
    own = TracerProvider(resource=Resource.create(named))
    own.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(own.get_tracer("recollect"), own.force_flush)


# Metrics --------------------------------------------------------------------------------------------------------------

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TOKENS = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16000)


class Metrics:
    def __init__(self) -> None:
        self._registry = one = CollectorRegistry()
        self._requests = Histogram(
            "recollect_http_seconds", "Time of a request", ["route", "method", "status"], registry=one, buckets=SECONDS
        )
        stages = "Time of an engine call within a request"
        self._stages = Histogram("recollect_stage_seconds", stages, ["stage"], registry=one, buckets=SECONDS)
        self._cache = Gauge(
            "recollect_cache", "Cache lookups by result", ["result"], registry=one, multiprocess_mode="sum"
        )
        self._hits = Counter("recollect_recall_hits", "Turns found by each search method", ["arm"], registry=one)
        self._paths = Counter(
            "recollect_recalls", "Recalls by the search path that found something", ["path"], registry=one
        )
        self._tokens = Histogram("recollect_context_tokens", "Tokens of a context", registry=one, buckets=TOKENS)
        last: Any = {"registry": one, "multiprocess_mode": "mostrecent"}
        self._work = Gauge("recollect_work", "Conversations with unfinished background work", ["state"], **last)
        self._lag = Gauge("recollect_work_lag_seconds", "How long the oldest of them has waited", **last)
        self._documents = Gauge("recollect_documents", "Documents that are not indexed", ["state"], **last)

    def observe_request(self, finished: CurrentRequest) -> None:
        self._requests.labels(finished.route, finished.method, str(finished.status)).observe(finished.seconds)

    def count_recall(self, found: Recall) -> None:
        self._paths.labels(found.path).inc()
        for arm, count in found.counts.items():
            self._hits.labels(arm).inc(count)

    def count_context(self, packed: Context) -> None:
        self.count_recall(packed.recall)
        self._tokens.observe(packed.tokens)

    def time_call(self, name: str) -> AbstractContextManager[object]:
        return self._stages.labels(name).time()

    def render(self, health: Health) -> Response:
        """Return all metrics in Prometheus' text format; those of cache and background work are from `health`."""
        for result, count in (health.cache or {}).items():
            self._cache.labels(result).set(count)
        if (work := health.work) is not None:
            for state in ("due", "leased", "failing", "parked"):
                self._work.labels(state).set(getattr(work, state))
            self._lag.set(work.lag)
            self._documents.labels("waiting").set(work.documents_waiting)
            self._documents.labels("failed").set(work.documents_failed)
        registry = self._registry
        if os.environ.get(SHARED_FOLDER):  # of all processes, dead ones included
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
