"""What is sent in error or in malice: the answer is an envelope of the 4xx kind, and the log has no traceback. Most of
it is sent to one server, which so has to bear all of it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from recollect.flows import recall as recall_flow
from recollect.server.http.verbs import AT_ONCE

from .conftest import Serve
from .loopback import TURNS, Served, refusal

JSON = {"Content-Type": "application/json"}
DEEP = b'{"text": "x", "definitions": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_000 + b"}"


@pytest.fixture
async def http(open_door: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody who has said nothing yet."""
    async with httpx2.AsyncClient(base_url=open_door.url, headers={"X-User-Id": uuid4().hex}, timeout=60) as client:
        yield client


def recorded(**turn: object) -> bytes:
    return json.dumps({"session": "monday", "turns": [{"role": "user", "text": "hello", **turn}]}).encode()


def nested(depth: int) -> bytes:
    return recorded(data={}).replace(b'"data": {}', b'"data": ' + b'{"a": ' * depth + b"{}" + b"}" * depth)


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/v1/recall", b"{", 400, None),
        ("/v1/recall", b'{"text": "\xff"}', 400, None),
        ("/v1/recall", b"", 400, "body"),
        ("/v1/recall", b"[]", 400, "body"),
        ("/v1/recall", b"{}", 400, "text"),
        ("/v1/recall", DEEP, 400, None),
        ("/v1/recall", b'{"text": "a\\u0000b"}', 400, "text"),
        ("/v1/recall", b'{"text": "\\ud800"}', 400, "text"),
        ("/v1/recall", b'{"text": "x", "limit": 1e400}', 400, "limit"),
        ("/v1/recall", b'{"text": "x", "limit": 99999999999999999999999}', 400, "limit"),
        ("/v1/recall", b'{"text": "x", "limit": ' + b"9" * 5000 + b"}", 400, None),
        ("/v1/recall", b'{"text": "x", "project": "\\u0000"}', 400, "project"),
        ("/v1/recall", b'{"text": "x", "as_of": "yesterday"}', 400, "as_of"),
        ("/v1/recall", b'{"text": "x", "as_of": "0001-01-01T00:00:00+14:00"}', 400, "as_of"),
        ("/v1/recall/many", json.dumps({"queries": [{"text": "x"}] * 51}).encode(), 400, "queries"),
        ("/v1/record", recorded(role="king"), 400, "turns[0].role"),
        ("/v1/record", recorded(text=" "), 400, "turns[0].text"),
        ("/v1/record", recorded(data={"a": "b\0c"}), 400, "turns[0].data"),
        ("/v1/record", recorded(data={"a": "\ud800"}), 400, "turns[0].data"),
        ("/v1/record", recorded(data={"a": float("inf")}), 400, "turns[0].data"),
        ("/v1/record", nested(700), 400, "turns[0].data"),
        ("/v1/record", recorded(speaker="a\0b"), 400, "turns[0].speaker"),
        ("/v1/resolve", b'{"terms": []}', 400, "terms"),
        ("/v1/learn", b'{"value": "x", "data": {"a": "\\u0000"}}', 400, "data"),
        ("/v1/learn", b'{"value": "x", "importance": 7}', 400, "importance"),
        ("/v1/correct", b'{"memory": "nonsense", "value": "x"}', 400, "memory"),
        ("/v1/forget", b"{}", 400, "everything"),
        ("/v1/mark", b'{"ref": "nonsense"}', 400, "ref"),
        ("/v1/keys", b'{"role": "user", "name": "x"}', 400, "user"),
        ("/v1/keys", b'{"role": "admin", "name": "a\\u0000"}', 400, "name"),
        ("/v1/ontology", b'{"source": "tables: ["}', 400, None),
        ("/v1/nothing", b"{}", 404, None),
    ],
)  # fmt: skip
async def test_what_cannot_be_used_is_refused_and_the_field_named(
    http: httpx2.AsyncClient, path: str, body: bytes, status: int, field: str | None
) -> None:
    told = refusal(await http.post(path, content=body, headers=JSON))
    assert told[0] == status
    assert field is None or told[2] == field


@pytest.mark.parametrize("number", [10**30, -(2**80), 1.5])
async def test_large_numbers_in_what_a_host_attaches_come_back_as_they_were(
    http: httpx2.AsyncClient, number: float
) -> None:
    assert (await http.post("/v1/record", content=recorded(data={"n": number}), headers=JSON)).status_code == 201
    [turn] = (await http.get("/v1/history", params={"session": "monday"})).json()["turns"]
    assert turn["data"] == {"n": number}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("OPTIONS", "/v1/recall", (405, "method_not_allowed")),
        ("GET", "/v1/recall", (405, "method_not_allowed")),
        ("PURGE", "/v1/recall", (405, "method_not_allowed")),
        ("GET", "/v1/history?session=%00", (400, "invalid_request")),
        ("GET", "/v1/history?session=x&limit=99999999999999999999", (400, "invalid_request")),
        ("GET", "/v1/history?session=x&before=-1", (400, "invalid_request")),
        ("GET", "/v1/memories?key=%00", (400, "invalid_request")),
        ("GET", "/v1/memories?after=nonsense", (400, "invalid_request")),
        ("GET", "/v1/terms?search=%00", (400, "invalid_request")),
        ("DELETE", "/v1/terms/%00", (400, "invalid_request")),
        ("GET", "/v1/explain/nonsense", (400, "invalid_request")),
        ("GET", "/v1/report?days=0", (400, "invalid_request")),
        ("DELETE", "/v1/keys/nonsense", (400, "invalid_request")),
        ("GET", "/nothing/at/all", (404, "not_found")),
    ],
)
async def test_odd_methods_and_paths_get_an_envelope(
    http: httpx2.AsyncClient, method: str, path: str, expected: tuple[int, str]
) -> None:
    assert refusal(await http.request(method, path))[:2] == expected


async def test_a_head_of_health_has_no_body(http: httpx2.AsyncClient) -> None:
    answer = await http.head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
async def test_a_body_that_does_not_say_it_is_json_is_refused(http: httpx2.AsyncClient, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    answer = await http.post("/v1/recall", content=b'{"text": "x"}', headers=headers)
    assert refusal(answer)[:2] == (415, "unsupported_media_type")


async def test_a_body_beyond_the_limit_is_refused_announced_or_not(serve: Serve) -> None:
    async def pieces() -> object:
        for _ in range(20):
            yield b" " * 100

    async with httpx2.AsyncClient(base_url=serve(max_body=1000).url, timeout=60) as http:
        for content in (b" " * 1001, pieces()):
            answer = await http.post("/v1/recall", content=content, headers=JSON)  # type: ignore[arg-type]
            assert refusal(answer)[:2] == (413, "too_large")


@pytest.mark.parametrize("header", ["Digest x", "Basic !!!", "Bearer", "Basic " + "YWxleA==", "Bearer a\tb", ""])
async def test_a_malformed_authorization_is_a_401_even_while_the_door_is_open(
    http: httpx2.AsyncClient, header: str
) -> None:
    answer = await http.get("/v1/memories", headers={"Authorization": header})
    assert refusal(answer)[:2] == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_request_keeps_its_id_if_it_is_a_decent_one(http: httpx2.AsyncClient) -> None:
    given = await http.get("/health", headers={"X-Request-Id": "host-7"})
    assert given.headers["x-request-id"] == "host-7"
    odd = await http.get("/health", headers={"X-Request-Id": "a b"})
    assert odd.headers["x-request-id"] != "a b"


async def test_paths_that_match_nothing_are_one_to_the_meters(serve: Serve) -> None:
    async with httpx2.AsyncClient(base_url=serve().url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        for n in range(5):
            await http.get(f"/guess/{n}")
            await http.request(("PURGE", "TRACE", "LOCK", "MKCOL", "COPY")[n], "/health")
        await http.get("/v1/explain/nonsense")
        shown = (await http.get("/metrics")).text
    assert 'recollect_http_seconds_count{method="GET",route="(none)",status="404"} 5.0' in shown
    assert 'route="/v1/explain/{request_id}",status="400"} 1.0' in shown
    assert 'recollect_http_seconds_count{method="(other)",route="/health",status="405"} 5.0' in shown
    assert 'recollect_stage_seconds_count{stage="explain"} 1.0' in shown
    assert "guess" not in shown


async def test_a_client_that_leaves_in_the_middle_leaves_no_traceback(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve()
    async with httpx2.AsyncClient(base_url=server.url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        turns = [{"role": "user", "text": "heron " * 1000}] * 150
        for _ in range(5):
            assert (await http.post("/v1/record", json={"session": "monday", "turns": turns})).status_code == 201
        async with http.stream("GET", "/v1/export") as stream:
            await anext(stream.aiter_lines())
    await hang_up(server, b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    await hang_up(server, b"GET /v1/export?user=alex HTTP/1.1\r\nHost: x\r\n\r\n")
    await still_answers(server)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def hang_up(server: Served, words: bytes) -> None:
    """Says something and leaves without listening."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(words)
    await writer.drain()
    writer.transport.abort()


async def still_answers(server: Served) -> None:
    async with httpx2.AsyncClient(base_url=server.url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        assert (await http.post("/v1/record", json={"turns": TURNS})).status_code == 201


async def test_an_export_comes_line_by_line(http: httpx2.AsyncClient) -> None:
    await http.post("/v1/record", json={"session": "monday", "turns": TURNS})
    async with http.stream("GET", "/v1/export") as stream:
        kinds = [json.loads(line)["kind"] async for line in stream.aiter_lines()]
        assert stream.headers["content-type"] == "application/x-ndjson"
    assert kinds[:3] == ["conversation", "turn", "turn"]


async def test_what_nobody_foresaw_is_told_in_a_sentence_and_logged_in_full(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve()
    async with httpx2.AsyncClient(base_url=server.url, headers={"X-User-Id": "alex"}, timeout=60) as http:
        assert (await http.get("/health")).status_code == 200
        server.app.state.engine.rejections = None  # so that calling it fails in a way that no code expects
        answer = await http.get("/v1/rejections", headers={"X-Request-Id": "host-7"})
    assert refusal(answer)[:2] == (500, "error")
    assert "host-7" in answer.text
    assert "NoneType" not in answer.text
    assert [record.exc_info is not None for record in caplog.records if "host-7" in record.getMessage()] == [True]


async def test_many_questions_of_one_request_take_turns(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    recall = recall_flow.recall

    async def counted(*given: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await recall(*given)
        finally:
            running -= 1

    monkeypatch.setattr(recall_flow, "recall", counted)
    queries = [{"text": f"question {n} " + "about something long " * 400} for n in range(50)]
    answer = await http.post("/v1/recall/many", json={"queries": queries})

    assert len(answer.json()["recalls"]) == 50
    assert most == AT_ONCE
