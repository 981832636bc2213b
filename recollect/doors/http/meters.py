"""Meters: what Prometheus reads at /metrics. Counted in this process, or, where several serve, in a folder that they
share, so that whichever is asked tells of all; the state of the work is asked of the database when it is read."""

from __future__ import annotations

import os
import time
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, cast

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from recollect.doors.http.border import Passed
from recollect.engine import Engine
from recollect.model.health import Health
from recollect.model.search import Context, Recall

TOGETHER = "PROMETHEUS_MULTIPROC_DIR"  # the folder; prometheus_client looks for it when it is imported
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TOKENS = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16000)


class Meters:
    def __init__(self) -> None:
        self._registry = one = CollectorRegistry()
        self._requests = Histogram(
            "recollect_http_seconds", "Time of a request", ["route", "method", "status"], registry=one, buckets=SECONDS
        )
        self._stages = Histogram(
            "recollect_stage_seconds", "Time of a verb within a request", ["stage"], registry=one, buckets=SECONDS
        )
        self._cache = Gauge(
            "recollect_cache", "What the cache was good for", ["result"], registry=one, multiprocess_mode="sum"
        )
        self._hits = Counter("recollect_recall_hits", "Turns that an arm spoke for", ["arm"], registry=one)
        self._paths = Counter("recollect_recalls", "Recalls by the way they found something", ["path"], registry=one)
        self._tokens = Histogram("recollect_context_tokens", "Tokens of a context", registry=one, buckets=TOKENS)
        last: Any = {"registry": one, "multiprocess_mode": "mostrecent"}
        self._work = Gauge("recollect_work", "Conversations behind their log", ["state"], **last)
        self._lag = Gauge("recollect_work_lag_seconds", "How long the oldest of them has waited", **last)
        self._documents = Gauge("recollect_documents", "Documents that are not read", ["state"], **last)

    def request(self, passed: Passed) -> None:
        self._requests.labels(passed.route, passed.method, str(passed.status)).observe(passed.seconds)

    def recall(self, found: Recall) -> None:
        self._paths.labels(found.path).inc()
        for arm, count in found.counts.items():
            self._hits.labels(arm).inc(count)

    def context(self, packed: Context) -> None:
        self.recall(packed.recall)
        self._tokens.observe(packed.tokens)

    def verbs(self, engine: Engine) -> Engine:
        """The same engine; the time of each verb that is awaited is noted."""
        return cast("Engine", Metered(engine, self._stages))

    def shown(self, told: Health) -> Response:
        for result, count in (told.cache or {}).items():
            self._cache.labels(result).set(count)
        if (work := told.work) is not None:
            for state in ("due", "leased", "failing", "parked"):
                self._work.labels(state).set(getattr(work, state))
            self._lag.set(work.lag)
            self._documents.labels("waiting").set(work.documents_waiting)
            self._documents.labels("failed").set(work.documents_failed)
        return Response(generate_latest(of_all(self._registry)), media_type=CONTENT_TYPE_LATEST)


def of_all(own: CollectorRegistry) -> CollectorRegistry:
    """What all processes counted, also those that died; alone, what this one did."""
    if not os.environ.get(TOGETHER):
        return own
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together


class Metered:
    def __init__(self, engine: Engine, stages: Histogram) -> None:
        self._engine = engine
        self._stages = stages

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._engine, name)
        if not iscoroutinefunction(verb):
            return verb
        stage = self._stages.labels(name)

        @wraps(verb)
        async def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return await verb(*args, **kwargs)
            finally:
                stage.observe(time.perf_counter() - started)

        # Found here the next time, not made again.
        self.__dict__[name] = timed
        return timed
