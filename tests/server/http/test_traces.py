"""Traces as they reach a collector: `recollect serve` as a process, and a real receiver of OTLP over HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.in_a_thread import in_a_thread

from .loopback import TURNS
from .test_serve import running

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SAID = {"user": "alex@example.com", "session": "monday", "turns": TURNS}
SOON, NEVER = {"OTEL_BSP_SCHEDULE_DELAY": "50"}, {"OTEL_BSP_SCHEDULE_DELAY": "3600000"}
PATIENCE = 30  # seconds


class Collector:
    """Takes what an exporter sends."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.came = threading.Condition()

        def receive(handler: BaseHTTPRequestHandler) -> None:
            body = handler.rfile.read(int(handler.headers["content-length"]))
            handler.send_response(200 if handler.path == "/v1/traces" else 404)
            handler.end_headers()
            with self.came:
                self.bodies.append(body)
                self.came.notify_all()

        kind = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": receive, "log_message": lambda *_: None})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        self.environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.http.server_port}"}

    @property
    def spans(self) -> dict[str, Span]:
        return {span.name: span for request in self.requests for span in spans_in(request)}

    @property
    def kinds(self) -> set[str]:
        """Whose spans they are."""
        return {
            scope.scope.name for request in self.requests for of in request.resource_spans for scope in of.scope_spans
        }

    @property
    def services(self) -> set[str]:
        resources = [of.resource for request in self.requests for of in request.resource_spans]
        return {pair.value.string_value for one in resources for pair in one.attributes if pair.key == "service.name"}

    @property
    def requests(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in self.bodies]

    def awaited(self, *names: str) -> dict[str, Span]:
        """All spans, once these are there."""
        with self.came:
            assert self.came.wait_for(lambda: set(names) <= set(self.spans), PATIENCE), sorted(self.spans)
            return self.spans


def spans_in(request: ExportTraceServiceRequest) -> list[Span]:
    return [span for of in request.resource_spans for scope in of.scope_spans for span in scope.spans]


@contextmanager
def collecting() -> Iterator[Collector]:
    one = Collector()
    with in_a_thread(one.http):
        yield one


def attributes(span: Span) -> dict[str, object]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}


def test_a_collector_gets_each_request_with_its_route_and_its_verbs_below_it(database: str) -> None:
    with collecting() as collector, running(database=database, **collector.environment, **SOON) as program:
        headers = {"traceparent": CALLER, "X-Request-Id": "host-7"}
        assert httpx2.post(f"{program.url}/v1/record", json=SAID, headers=headers, timeout=60).status_code == 201
        asked = {"user": "alex@example.com", "text": "which code word?"}
        assert httpx2.post(f"{program.url}/v1/context", json=asked, timeout=60).status_code == 200
        spans = collector.awaited("POST /v1/record", "recollect.record", "POST /v1/context", "recollect.context")

    request, verb = spans["POST /v1/record"], spans["recollect.record"]
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/record",
        "http.response.status_code": 201,
        "recollect.request_id": "host-7",
    }
    assert (request.kind, request.trace_id.hex()) == (Span.SPAN_KIND_SERVER, CALLER.split("-")[1])
    assert request.parent_span_id.hex() == CALLER.split("-")[2]
    assert (verb.trace_id, verb.parent_span_id) == (request.trace_id, request.span_id)
    assert spans["recollect.context"].parent_span_id == spans["POST /v1/context"].span_id
    assert spans["POST /v1/context"].trace_id != request.trace_id
    assert collector.kinds == collector.services == {"recollect"}
    assert b"alex" not in b"".join(collector.bodies)
    assert b"heron" not in b"".join(collector.bodies)


def test_what_was_not_sent_yet_is_sent_when_it_is_told_to_stop(database: str) -> None:
    given = {**NEVER, "OTEL_SERVICE_NAME": "shop-memory"}
    with (
        collecting() as collector,
        running("--workers", "2", database=database, **collector.environment, **given) as program,
    ):
        assert httpx2.post(f"{program.url}/v1/record", json=SAID, timeout=60).status_code == 201
        assert collector.bodies == []
        assert program.stop() == 0
        collector.awaited("POST /v1/record", "recollect.record")

    assert collector.services == {"shop-memory"}


def test_a_collector_that_is_away_is_nobody_s_trouble(database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    with running(database=database, **away, **SOON) as program:
        for _ in range(3):
            assert httpx2.post(f"{program.url}/v1/record", json=SAID, timeout=60).status_code == 201
        assert program.stop() == 0
