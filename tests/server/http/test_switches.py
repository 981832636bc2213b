"""What settings switch off, what the log of operations tells, and traces for those who ask for them."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from recollect import Engine, Scope
from recollect.server.access.telemetry import Traces, read_traces

from .conftest import Serve
from .loopback import TURNS, Keys, bearer, refusal

ALEX = {"X-User-Id": "alex"}


@pytest.fixture
async def switched_off(serve: Serve) -> AsyncIterator[httpx2.AsyncClient]:
    """A server with MEMORY_ENABLED=0, whose worker may run."""
    async with httpx2.AsyncClient(base_url=serve(enabled=False, worker=True).url, headers=ALEX, timeout=60) as client:
        yield client


async def test_switched_off_nothing_is_remembered_and_it_is_said(
    switched_off: httpx2.AsyncClient, memory: Engine
) -> None:
    alex = Scope("alex", "monday")
    await memory.record(alex, [("user", "Active means logged in within 30 days. The code word is heron.")])
    await memory.settle(alex)
    assert (await memory.recall(alex, "heron")).hits

    recalled = (await switched_off.post("/v1/recall", json={"text": "heron"})).json()
    packed = (await switched_off.post("/v1/context", json={"text": "heron", "session": "monday"})).json()
    resolved = (await switched_off.post("/v1/resolve", json={"terms": ["active"]})).json()
    assert (recalled["hits"], recalled["memories"], recalled["found"]) == ([], [], 0)
    assert (packed["text"], packed["lines"], packed["tokens"]) == ("", [], 0)
    assert resolved["resolutions"][0]["is_resolved"] is False
    assert all("turned off (MEMORY_ENABLED=0)" in told["notes"][0] for told in (recalled, packed, resolved))


async def test_switched_off_the_log_goes_on_and_nothing_is_learned(
    switched_off: httpx2.AsyncClient, memory: Engine
) -> None:
    said = {"session": "monday", "turns": [{"role": "user", "text": "My name is Alex and I live in Oslo."}]}
    assert (await switched_off.post("/v1/record", json=said)).status_code == 201
    assert refusal(await switched_off.post("/v1/learn", json={"value": "x"}))[:2] == (403, "forbidden")
    assert len((await switched_off.get("/v1/history?session=monday")).json()["turns"]) == 1
    assert "Oslo" in (await switched_off.get("/v1/export")).text
    assert (await memory.health()).work.due == 1  # type: ignore[union-attr]
    assert (await memory.memories(Scope("alex"))) == []
    assert (await switched_off.post("/v1/forget", json={"session": "monday"})).json()["rows"]["turn"] == 1


@pytest.mark.parametrize(
    ("setting", "method", "path", "body"),
    [
        ("allow_export", "GET", "/v1/export", None),
        ("allow_deletion", "POST", "/v1/forget", {"everything": True}),
        ("allow_deletion", "POST", "/v1/memories/01890000-0000-7000-8000-000000000000/redact", {}),
        ("allow_deletion", "DELETE", "/api/projects/shop/memory/user/01890000-0000-7000-8000-000000000000", None),
    ],
)
async def test_export_and_deletion_can_be_switched_off(
    serve: Serve, setting: str, method: str, path: str, body: dict[str, object] | None
) -> None:
    async with httpx2.AsyncClient(base_url=serve(**{setting: False}).url, headers=ALEX, timeout=60) as http:
        answer = await http.request(method, path, **({} if body is None else {"json": body}))  # type: ignore[arg-type]
    assert refusal(answer)[:2] == (403, "forbidden")
    assert "turned off" in answer.json()["error"]["message"]


async def test_each_operation_is_one_line_without_a_text_or_a_name_of_a_user(
    serve: Serve, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "recollect.operations")
    headers = {**bearer(keys.service), "X-User-Id": "alex@example.com", "X-Request-Id": "host-7"}
    async with httpx2.AsyncClient(base_url=serve().url, headers=headers, timeout=60) as http:
        await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
        await http.post("/v1/recall", json={"text": "heron"})
        await http.get("/v1/export")
        await http.post("/v1/forget", json={"session": "tuesday"})
        await http.post("/v1/memories/01890000-0000-7000-8000-000000000000/promote", json={})
    whose = Scope("alex@example.com", project="shop").id
    for _ in range(1000):  # the line of a request is written a moment after its answer
        told = [record.getMessage() for record in caplog.records if record.name == "recollect.operations"]
        if len(told) == 4:
            break
        await asyncio.sleep(0.02)
    assert told == [
        f"record 201 role=service name='host' scope={whose} request=host-7",
        f"export 200 role=service name='host' scope={whose} request=host-7",
        f"forget 404 role=service name='host' scope={whose} request=host-7",
        "promote 403 role=service name='host' scope=- request=host-7",
    ]


async def test_the_log_of_operations_can_be_switched_off(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "recollect.operations")
    async with httpx2.AsyncClient(base_url=serve(log_operations=False).url, headers=ALEX, timeout=60) as http:
        await http.post("/v1/record", json={"turns": TURNS})
    assert [record for record in caplog.records if record.name == "recollect.operations"] == []


async def test_a_request_and_its_verbs_are_spans_of_the_caller_s_trace(serve: Serve) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    parent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id": "host-7"}
    server = serve(traced=Traces(provider.get_tracer("test")))
    async with httpx2.AsyncClient(base_url=server.url, headers=ALEX, timeout=60) as http:
        await http.post("/v1/record", json={"turns": TURNS}, headers=parent)
        await http.get("/v1/explain/01890000-0000-7000-8000-000000000000")

    for _ in range(1000):  # the span of a request ends a moment after its answer
        spans = {span.name: span for span in kept.get_finished_spans()}
        if "GET /v1/explain/{request_id}" in spans:
            break
        await asyncio.sleep(0.02)
    request = spans["POST /v1/record"]
    assert f"{request.context.trace_id:x}" == "af7651916cd43dd8448eb211c80319c"
    assert dict(request.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/record",
        "http.response.status_code": 201,
        "recollect.request_id": "host-7",
    }
    assert parent_of(spans["recollect.record"]) == request.context.span_id
    missing = spans["GET /v1/explain/{request_id}"]
    assert (missing.attributes or {})["http.response.status_code"] == 404
    assert "alex" not in "".join(span.to_json() for span in spans.values())


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"},
    ],
)
def test_without_being_asked_there_are_no_traces(environ: dict[str, str]) -> None:
    assert read_traces(environ) is None


def test_the_sdk_is_imported_only_when_the_environment_asks_for_traces() -> None:
    code = (
        "import os, sys; from recollect.server.app import make_app; from recollect.settings import read_settings\n"
        "for endpoint in ({}, {'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:9'}):\n"
        "    os.environ.update(endpoint); make_app(read_settings({})); print('opentelemetry.sdk' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={})
    assert done.stdout.split() == ["False", "True"]
