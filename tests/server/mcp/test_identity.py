"""Who speaks over /mcp, and whose memory it is: as over HTTP, whatever a message says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from recollect import Scope, connect_sync
from recollect.apps.ask.sample import make_sample
from recollect.settings import Settings

from ..http.conftest import Serve
from ..http.loopback import Keys, bearer, refusal
from .clients import done, over_http, over_stdio, refused, resource

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(url: str, headers: dict[str, str], body: Any = LIST) -> httpx2.Response:
    return httpx2.post(f"{url}/mcp", json=body, headers={**ACCEPT, **headers}, timeout=60)


async def reach_for(client: Client, memory: str) -> list[str]:
    """Every tool that could reach a memory, tried with its id."""
    return [
        await refused(client, "get_memory", memory_id=memory),
        await refused(client, "update_memory", memory_id=memory, text="mine now"),
        await refused(client, "memory_history", memory_id=memory),
        await refused(client, "delete_memory", memory_id=memory),
    ]


async def sees(client: Client, word: str) -> bool:
    """Whether any tool, resource or prompt that looks around tells of it."""
    told = [
        await done(client, "search_memories", query=f"what about the {word}?", scope="user"),
        await done(client, "get_context", query=f"what about the {word}?"),
        await done(client, "resolve_term", term=word),
        await resource(client, "recollect://profile"),
        await resource(client, "recollect://sessions"),
        (await client.get_prompt("with_memory", {"question": "anything?"})).model_dump(),
    ]
    return any(f"{word} is" in str(each) for each in told)


async def test_another_users_memory_cannot_be_reached_through_any_tool(serve: Serve, keys: Keys) -> None:
    url = serve().url
    async with over_http(url, bearer(keys.user)) as alex, over_http(url, bearer(keys.other)) as blake:
        secret = await done(alex, "add_memory", text="the heron is in the well", key="heron", kind="definition")
        assert await sees(alex, "heron")
        assert not await sees(blake, "heron")
        assert all("there is no memory" in said for said in await reach_for(blake, secret["id"]))
        with pytest.raises(MCPError):
            await blake.read_resource("recollect://sessions/monday")
        assert (await done(alex, "get_memory", memory_id=secret["id"]))["status"] == "active"


async def test_another_project_is_another_world(database: str) -> None:
    async with over_stdio(database, "--user", "alex", "--project", "shop") as shop:
        secret = await done(shop, "add_memory", text="the heron is in the well")
    async with over_stdio(database, "--user", "alex", "--project", "farm") as farm:
        assert not await sees(farm, "heron")
        assert all("there is no memory" in said for said in await reach_for(farm, secret["id"]))


async def test_a_users_key_may_name_nobody_else(serve: Serve, keys: Keys) -> None:
    for header in ("X-User-Id", "X-Recollect-User"):
        async with over_http(serve().url, {**bearer(keys.user), header: "blake"}) as client:
            assert "its own user only" in await refused(client, "search_memories", query="hello")
            with pytest.raises(MCPError, match="its own user only"):
                await client.read_resource("recollect://profile")


async def test_a_service_key_speaks_for_the_user_that_its_headers_name(serve: Serve, keys: Keys) -> None:
    url = serve().url
    async with over_http(url, {**bearer(keys.service), "X-User-Id": "alex"}) as client:
        await done(client, "add_memory", text="the heron is in the well")
    async with over_http(url, {"X-API-Key": keys.user}) as client:
        assert await sees(client, "heron")
    async with over_http(url, bearer(keys.service)) as client:
        assert "name one" in await refused(client, "search_memories", query="hello")


async def test_a_key_of_all_projects_is_told_which_by_a_header(serve: Serve, keys: Keys) -> None:
    url, named = serve().url, {"X-User-Id": "alex", "X-Recollect-Project": "shop"}
    async with over_http(url, {**bearer(keys.every), **named}) as client:
        await done(client, "add_memory", text="the heron is in the well")
    async with over_http(url, bearer(keys.user)) as client:
        assert await sees(client, "heron")
    async with over_http(url, {**bearer(keys.user), "X-Recollect-Project": "farm"}) as client:
        assert "belongs to project 'shop'" in await refused(client, "get_context", query="hello")


async def test_what_a_role_may_not_do_no_tool_does(serve: Serve, keys: Keys) -> None:
    url = serve().url
    async with over_http(url, bearer(keys.user)) as client:
        said = await refused(client, "add_memory", text="We mean paying ones.", owner="project")
        assert "learn_project takes the role service, data or admin" in said
    async with over_http(url, bearer(keys.data)) as client:
        assert "acts for no user" in await refused(client, "search_memories", query="hello")
        shared = await done(client, "add_memory", text="paying ones", key="client", kind="definition", owner="project")
    async with over_http(url, bearer(keys.user)) as client:
        assert (await done(client, "get_memory", memory_id=shared["id"]))["value"] == "paying ones"
        assert "there is no memory" in await refused(client, "update_memory", memory_id=shared["id"], text="all")
        assert "there is no memory" in await refused(client, "delete_memory", memory_id=shared["id"])


async def test_what_a_role_may_not_see_of_a_database_no_question_shows(
    serve: Serve, keys: Keys, tmp_path: Path
) -> None:
    url, admin = serve().url, bearer(keys.admin)
    make_sample(tmp_path / "sample.db")
    sources = f"{url}/api/projects/shop/datasources"
    body = {"name": "sales", "dsn": f"sqlite:///{tmp_path / 'sample.db'}"}
    httpx2.post(sources, json=body, headers=admin, timeout=60).raise_for_status()
    access = {"access": {"user": {"tables": ["customers"]}}}
    httpx2.put(f"{sources}/sales/access", json=access, headers=admin, timeout=60).raise_for_status()
    async with over_http(url, bearer(keys.user)) as client:
        assert (await done(client, "ask_database", question="How many customers are there?"))["rows"]
        assert not (await done(client, "ask_database", question="How many employees are there?"))["sql"]
    async with over_http(url, bearer(keys.data)) as client:  # nobody's memory takes part
        assert (await done(client, "ask_database", question="How many employees are there?"))["rows"]


async def test_a_users_documents_answer_nobody_else(serve: Serve, keys: Keys, prices: None) -> None:
    url, asked = serve().url, {"question": "How much is a tyre change?"}
    async with over_http(url, bearer(keys.user)) as alex:
        [document] = {each["document"] for each in (await done(alex, "ask_documents", **asked))["sources"]}
    async with over_http(url, bearer(keys.other)) as blake:
        answer = await done(blake, "ask_documents", **asked)
        assert (answer["is_refused"], answer["sources"]) == (True, [])
        said = await refused(blake, "ask_documents", **asked, documents=[document])
        assert f"neither user 'blake' nor the project has document {document}" in said
    async with over_http(url, bearer(keys.service)) as host:  # the question needs somebody's log
        assert "name one" in await refused(host, "ask_documents", **asked)
    async with over_http(url, bearer(keys.data)) as words:
        assert "acts for no user" in await refused(words, "ask_documents", **asked)


def test_whoever_does_not_say_who_they_are_is_not_listened_to(serve: Serve, keys: Keys) -> None:
    url = serve().url
    assert refusal(post(url, {}))[:2] == (401, "unauthorized")
    assert refusal(post(url, bearer("rk_wrong_wrong")))[:2] == (401, "unauthorized")
    assert post(url, bearer(keys.user)).json()["result"]["tools"]


def test_the_border_and_the_limits_are_those_of_every_route(serve: Serve, keys: Keys) -> None:
    url = serve(rate_limit=1.0, max_body=10_000).url
    assert refusal(post(url, bearer(keys.admin), {**LIST, "params": {"cursor": "x" * 20_000}}))[0] == 413
    with ThreadPoolExecutor(8) as at_once:
        answers = list(at_once.map(lambda _: post(url, bearer(keys.user)), range(8)))
    assert all(answer.headers["x-request-id"] for answer in answers)
    assert (429, "rate_limited") in [refusal(answer)[:2] for answer in answers if answer.status_code != 200]
    plain = {"Content-Type": "text/plain", **bearer(keys.service)}
    assert refusal(httpx2.post(f"{url}/mcp", content="{}", headers=plain, timeout=60))[0] == 415
    assert refusal(httpx2.get(f"{url}/mcp", headers=ACCEPT, timeout=60))[0] == 405


def test_while_nobody_has_a_key_no_page_of_another_site_is_listened_to(serve: Serve) -> None:
    url = serve().url
    assert refusal(post(url, {"Origin": "https://evil.example"}))[:2] == (403, "forbidden")
    assert post(url, {"Origin": "http://localhost:5173"}).status_code == 200


async def test_what_is_switched_off_is_off_for_tools_too(settings: Settings, serve: Serve) -> None:
    with connect_sync(settings, worker=False) as memory:
        kept = memory.learn(Scope("alex"), "Keeps bees.")
    async with over_http(serve(allow_deletion=False).url, {"X-User-Id": "alex"}) as client:
        said = await refused(client, "delete_memory", memory_id=str(kept.id))
        assert "MEMORY_ALLOW_DATA_DELETION" in said


async def test_a_connection_names_its_session_once_for_all_tools(serve: Serve) -> None:
    url, named = serve().url, {"X-User-Id": "alex", "X-Recollect-Session": "monday"}
    for session, word in (("monday", "heron"), ("tuesday", "stork")):
        turns = [{"role": "user", "text": f"The code word is {word}."}]
        body = {"turns": turns, "session": session, "user": "alex"}
        httpx2.post(f"{url}/v1/record", json=body, timeout=60).raise_for_status()
    async with over_http(url, named) as client:
        for given, source in (({}, "monday#0"), ({"session": "tuesday"}, "tuesday#0")):
            found = await done(client, "search_memories", query="What is the code word?", scope="session", **given)
            assert [each["source"] for each in found["results"]] == [source]
