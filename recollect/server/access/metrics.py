"""Prometheus metrics, served at /metrics. With several server processes the counts are kept in a shared folder, so that
every process reports the total. Background work is read from the database on each scrape."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from recollect.engine import Engine
from recollect.server.access.middleware import FinishedRequest
from recollect.server.access.tracing import WrappedEngine
from recollect.values.query import Context, Recall
from recollect.values.work import Health

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TOKENS = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16000)


class Metrics:
    def __init__(self) -> None:
        self._registry = one = CollectorRegistry()
        self._requests = Histogram(
            "recollect_http_seconds", "Time of a request", ["route", "method", "status"], registry=one, buckets=SECONDS
        )
        self._stages = Histogram(
            "recollect_stage_seconds",
            "Time of an engine call within a request",
            ["stage"],
            registry=one,
            buckets=SECONDS,
        )
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

    def observe_request(self, finished: FinishedRequest) -> None:
        self._requests.labels(finished.route, finished.method, str(finished.status)).observe(finished.seconds)

    def count_recall(self, found: Recall) -> None:
        self._paths.labels(found.path).inc()
        for arm, count in found.counts.items():
            self._hits.labels(arm).inc(count)

    def count_context(self, packed: Context) -> None:
        self.count_recall(packed.recall)
        self._tokens.observe(packed.tokens)

    def time_calls(self, engine: Engine) -> Engine:
        """Return the engine with every awaited method timed."""

        def time_stage(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
            stage = self._stages.labels(name)

            async def timed(*args: Any, **kwargs: Any) -> Any:
                with stage.time():
                    return await method(*args, **kwargs)

            return timed

        return cast("Engine", WrappedEngine(engine, time_stage))

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
        return Response(generate_latest(find_registry(self._registry)), media_type=CONTENT_TYPE_LATEST)


def find_registry(own: CollectorRegistry) -> CollectorRegistry:
    """Return the registry of all processes, dead ones included; with a single process its own."""
    if not os.environ.get(SHARED_FOLDER):
        return own
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared
