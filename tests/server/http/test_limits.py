"""A server that has too much to do says so at once, and quotas bound what users and projects store."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import httpx2
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from recollect.server.access.middleware import RequestMiddleware

from .conftest import Serve


async def test_more_requests_than_the_limit_are_refused_until_some_are_done() -> None:
    may_answer, has_begun = asyncio.Event(), asyncio.Semaphore(0)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/health":
            has_begun.release()
            await may_answer.wait()
        await PlainTextResponse("done")(scope, receive, send)

    app = RequestMiddleware(application, most_bytes=1000, most_seconds=60, most_requests=2)
    async with AsyncExitStack() as stack:
        transport = httpx2.ASGITransport(app)
        http = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
        waiting = [asyncio.create_task(http.get("/work")) for _ in range(2)]
        for _ in waiting:
            await has_begun.acquire()

        refused = await http.get("/work")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "rate_limited"
        assert (await http.get("/health")).status_code == 200

        may_answer.set()
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [200, 200]
        assert (await http.get("/work")).status_code == 200


def say(user: str, *texts: str) -> dict[str, object]:
    return {"user": user, "session": "monday", "turns": [{"role": "user", "text": text} for text in texts]}


async def test_a_user_cannot_store_more_messages_than_their_quota(serve: Serve) -> None:
    async with httpx2.AsyncClient(base_url=serve(user_turns=3).url, timeout=60) as http:
        assert (await http.post("/v1/record", json=say("alex", "one", "two"))).status_code == 201

        refused = await http.post("/v1/record", json=say("alex", "three", "four"))
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (403, "quota_exceeded")
        assert "RECOLLECT_USER_TURNS" in error["message"]
        assert (await http.post("/v1/record", json=say("alex", "three"))).status_code == 201
        assert (await http.post("/v1/record", json=say("blair", "one"))).status_code == 201

        await http.post("/v1/forget", json={"user": "alex", "everything": True})
        assert (await http.post("/v1/record", json=say("alex", "again"))).status_code == 201


async def test_a_project_cannot_store_more_than_its_quota(serve: Serve) -> None:
    async with httpx2.AsyncClient(base_url=serve(project_turns=2, project_document_bytes=10).url, timeout=60) as http:
        refused = await http.post("/v1/record", json=say("alex", "one", "two", "three"))
        assert "RECOLLECT_PROJECT_TURNS" in refused.json()["error"]["message"]
        assert (await http.post("/v1/record", json=say("alex", "one", "two"))).status_code == 201

        file = {"file": ("notes.txt", b"more than ten bytes of text")}
        refused = await http.post("/api/v1/upload-ask/documents", files=file, params={"userId": "alex"})
        assert refused.json()["error"]["code"] == "quota_exceeded"
        assert "RECOLLECT_PROJECT_DOCUMENT_BYTES" in refused.json()["error"]["message"]
