"""Upload and ask over HTTP: a file, a question, what the answer rests on, and what is kept of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from recollect import Grant, Lesson, Scope, SyncEngine, Upload, connect, connect_sync
from recollect.apps.documents.question import PREVIEW_CHARS
from recollect.server.http.upload_ask import ANSWER, LogsAnswer, UploadedAnswer
from recollect.settings import Settings
from recollect.values.identity import Role

from .library_door import ALEX, GARDEN, PRICES, ROOT, added, ask, open_door, settled, upload

BLAKE = {"X-User-Id": "blake"}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
async def http(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an open door without a language model; it speaks for alex."""
    with open_door(settings) as url:
        async with httpx2.AsyncClient(base_url=url, headers={"X-User-Id": "alex"}, timeout=30) as client:
            yield client


async def memories(settings: Settings) -> list[Any]:
    async with connect(settings, worker=False) as engine:
        return await engine.memories(ALEX, kinds=("question",))


async def test_an_uploaded_file_is_pending_then_read_then_answers(http: httpx2.AsyncClient, settings: Settings) -> None:
    answer = await upload(http, "prices.md", PRICES, title="Prices")
    document = answer.json()["document"]
    UploadedAnswer.model_validate(answer.json())
    assert (answer.status_code, document["status"], document["title"], document["userId"]) == (
        202, "pending", "Prices", "alex",
    )  # fmt: skip
    assert (await ask(http, "How much is a tyre change?"))["refused"]
    await settled(settings)
    shown = (await http.get(f"{ROOT}/documents/{document['id']}")).json()
    assert (shown["status"], shown["failureReason"], shown["source"]) == ("processed", None, "prices.md")

    told = await ask(http, "How much is a tyre change?")

    ANSWER.model.model_validate(told)
    assert told["answer"] == (f"A tyre change costs 40 euros and takes half an hour. (Doc {document['id']}/Chunk 0)")
    assert not told["refused"]
    assert told["model"] is None
    assert told["sources"][0]["documentId"] == document["id"]


async def test_a_citation_opens_at_the_quoted_place(http: httpx2.AsyncClient, settings: Settings) -> None:
    document = await added(http, settings, "prices.md", PRICES)
    [source] = [each for each in (await ask(http, "When is the workshop open?"))["sources"] if each["cited"]]
    place = {"start": source["start"], "end": source["end"]}
    passage = (await http.get(f"{ROOT}/documents/{document}/passage", params=place)).json()
    assert passage["text"] == "The workshop is open from Monday to Friday, eight to six."
    assert passage["documentId"] == document


async def test_a_follow_up_is_looked_for_as_the_question_that_it_means(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    await added(http, settings, "prices.md", PRICES)
    first = await ask(http, "How much is a tyre change?")
    session = first["sessionId"]
    second = await ask(http, "And a service?", sessionId=session)
    alone = await ask(http, "And a service?", sessionId=session, includeHistory=False)
    assert {"How", "much", "service?"} <= set(second["standaloneQuery"].split())
    assert second["answer"].startswith("A service costs 120 euros")
    assert "tyre" not in second["answer"]
    assert (first["usedHistoryTokens"], second["usedHistoryTokens"] > 0) == (0, True)
    assert (alone["standaloneQuery"], alone["usedHistoryTokens"]) == ("And a service?", 0)


@pytest.mark.parametrize("budget", [0, 3, 8, 800])
async def test_history_takes_no_more_tokens_than_it_may(
    http: httpx2.AsyncClient, settings: Settings, budget: int
) -> None:
    session = (await ask(http, "How much is a tyre change?"))["sessionId"]
    told = await ask(http, "And a service?", sessionId=session, maxHistoryTokens=budget)
    assert told["usedHistoryTokens"] <= budget
    assert (told["usedHistoryTokens"] > 0) == (budget >= 8)


@pytest.mark.parametrize("question", ["Who is the mayor of Lisbon?", "巴黎的市长是谁？"])
async def test_what_is_not_found_in_the_documents_is_refused_and_never_remembered(
    http: httpx2.AsyncClient, settings: Settings, question: str
) -> None:
    await added(http, settings, "prices.md", PRICES)
    told = await ask(http, question)
    assert told["refused"]
    assert not any(source["cited"] for source in told["sources"])
    assert await memories(settings) == []


async def test_an_answer_becomes_one_memory_of_its_question_and_comes_back_in_another_session(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    await added(http, settings, "prices.md", PRICES)
    for _ in range(2):
        first = await ask(http, "How much is a tyre change?")
    [memory] = await memories(settings)
    assert (memory.key, memory.source, memory.learned_by) == ("How much is a tyre change?", "qa_turn", "rules")
    assert memory.importance == 0.3
    assert memory.value == first["answer"]
    told = await ask(http, "How much is a tyre change?")
    assert [(each["id"], each["source"]) for each in told["memories"]] == [(str(memory.id), "qa_turn")]
    assert (await ask(http, "How much is a tyre change?", topKMems=0))["memories"] == []
    http.headers.update(BLAKE)
    assert (await ask(http, "How much is a tyre change?"))["memories"] == []


async def test_a_memory_of_an_answer_goes_with_its_document(http: httpx2.AsyncClient, settings: Settings) -> None:
    document = await added(http, settings, "prices.md", PRICES)
    await ask(http, "How much is a tyre change?")
    assert (await http.delete(f"{ROOT}/documents/{document}")).status_code == 200
    assert await memories(settings) == []
    told = await ask(http, "How much is a tyre change?")
    assert (told["refused"], told["sources"], told["memories"]) == (True, [], [])
    assert (await http.get(f"{ROOT}/documents/{document}")).status_code == 404


async def test_a_memory_of_a_shared_document_is_not_told_when_another_dropped_it(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    document = await added(http, settings, "prices.md", PRICES, shared="true")
    await ask(http, "How much is a tyre change?")
    dropped = await http.delete(f"{ROOT}/documents/{document}", headers=BLAKE)
    assert dropped.status_code == 200
    assert len(await memories(settings)) == 1
    assert (await ask(http, "How much is a tyre change?"))["memories"] == []


async def test_what_was_told_outright_stands_beside_the_documents(http: httpx2.AsyncClient, settings: Settings) -> None:
    await added(http, settings, "prices.md", PRICES)
    async with connect(settings, worker=False) as engine:
        await engine.learn(ALEX, Lesson("The tyre change of my red van was free in June."))
    told = await ask(http, "How much is a tyre change?")
    assert [each["preview"] for each in told["memories"]] == ["The tyre change of my red van was free in June."]


async def test_only_the_named_documents_are_asked(http: httpx2.AsyncClient, settings: Settings) -> None:
    prices = await added(http, settings, "prices.md", PRICES)
    garden = await added(http, settings, "garden.md", GARDEN)
    told = await ask(http, "When are tomatoes planted?", documentIds=[prices])
    assert {source["documentId"] for source in told["sources"]} <= {prices}
    assert told["refused"]
    assert garden in (await ask(http, "When are tomatoes planted?", documentIds=[garden]))["answer"]


async def test_a_question_to_a_document_that_is_not_there_names_it_and_is_not_logged(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    own, unknown = await added(http, settings, "prices.md", PRICES), "01890000-0000-7000-8000-000000000000"
    async with connect(settings, worker=False) as engine:
        foreign = str((await engine.documents.add(Scope("bo"), Upload("garden.md", GARDEN))).id)
    body = {"query": "When are tomatoes planted?", "sessionId": "monday", "documentIds": [own, unknown, foreign]}
    refused = await http.post(f"{ROOT}/query", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    assert unknown in refused.json()["error"]["message"]
    assert foreign in refused.json()["error"]["message"]
    assert own not in refused.json()["error"]["message"]
    assert (await http.get(f"{ROOT}/qa/sessions")).json()["sessions"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("topK", 0), ("topKDocs", 0), ("topKMems", 99), ("maxHistoryTokens", -1), ("mmr", 1.5), ("documentIds", ["x"])],
)
async def test_error_names_the_field_as_the_caller_wrote_it(http: httpx2.AsyncClient, name: str, value: Any) -> None:
    refused = await http.post(f"{ROOT}/query", json={"query": "How much?", name: value})
    assert refused.status_code == 400
    assert name in refused.json()["error"]["message"]


async def test_variety_leaves_out_what_says_the_same_twice(http: httpx2.AsyncClient, settings: Settings) -> None:
    for n in range(3):
        await added(http, settings, f"prices{n}.md", PRICES + b"\n" * n)
    garden = await added(http, settings, "garden.md", b"# Garden\n\nA change of soil is due in March.\n")
    question = "How much is a tyre change?"
    plain, varied = [await ask(http, question, topK=3, **more) for more in ({}, {"mmr": 0.3})]
    assert garden not in [source["documentId"] for source in plain["sources"]]
    assert garden in [source["documentId"] for source in varied["sources"]]
    assert (await http.post(f"{ROOT}/query", json={"query": question, "mmr": 1.5})).status_code == 400


async def test_a_preview_is_cut_by_characters(http: httpx2.AsyncClient, settings: Settings) -> None:
    await added(http, settings, "zh.txt", ("轮胎更换的价格是四十欧元。" * 100).encode())
    told = await ask(http, "轮胎更换的价格是多少？")
    assert max(len(source["preview"]) for source in told["sources"]) == PREVIEW_CHARS
    assert not told["refused"]


async def test_the_log_has_each_question_with_its_answer_and_sources(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    document = await added(http, settings, "prices.md", PRICES)
    told = await ask(http, "How much is a tyre change?")
    await ask(http, "And a service?", sessionId=told["sessionId"])
    logs = (await http.get(f"{ROOT}/qa/sessions/{told['sessionId']}/logs")).json()
    LogsAnswer.model_validate(logs)
    assert [each["queryText"] for each in logs["logs"]] == ["How much is a tyre change?", "And a service?"]
    first = logs["logs"][0]
    assert (first["responseText"], first["sources"], first["latencyMs"]) == (
        told["answer"], told["sources"], told["latencyMs"],
    )  # fmt: skip
    await http.post("/chat", json={"message": "I live in Porto.", "session_id": "talk"})
    sessions = (await http.get(f"{ROOT}/qa/sessions")).json()["sessions"]
    assert [(each["id"], each["title"]) for each in sessions] == [(told["sessionId"], "How much is a tyre change?")]
    other = await http.get(f"{ROOT}/qa/sessions/{told['sessionId']}/logs", headers=BLAKE)
    assert other.status_code == 404
    await http.delete(f"{ROOT}/documents/{document}")
    [kept, _] = (await http.get(f"{ROOT}/qa/sessions/{told['sessionId']}/logs")).json()["logs"]
    assert [each["preview"] for each in kept["sources"]] == [""]


async def test_with_memory_switched_off_the_log_goes_on(settings: Settings) -> None:
    with open_door(replace(settings, enabled=False)) as url:
        async with httpx2.AsyncClient(base_url=url, headers={"X-User-Id": "alex"}, timeout=60) as client:
            await added(client, settings, "prices.md", PRICES)
            await ask(client, "How much is a tyre change?")
            told = await ask(client, "How much is a tyre change?")
            logs = (await client.get(f"{ROOT}/qa/sessions/{told['sessionId']}/logs")).json()["logs"]
    assert (told["memories"], told["refused"], len(logs)) == ([], False, 1)
    assert await memories(settings) == []


async def test_a_question_sent_again_under_its_key_is_answered_from_the_log(
    http: httpx2.AsyncClient, settings: Settings
) -> None:
    await added(http, settings, "prices.md", PRICES)
    await ask(http, "How much is a tyre change?")
    body = {"query": "How much is a tyre change?", "sessionId": "monday"}
    first, again = [
        await http.post(f"{ROOT}/qa/query", json=body, headers={"Idempotency-Key": "one"}) for _ in range(2)
    ]
    assert first.json() == again.json()
    assert first.json()["memories"]
    assert again.headers["idempotent-replayed"] == "true"
    assert len((await http.get(f"{ROOT}/qa/sessions/monday/logs")).json()["logs"]) == 1


async def test_documents_are_listed_by_status(http: httpx2.AsyncClient, settings: Settings) -> None:
    await added(http, settings, "prices.md", PRICES)
    await added(http, settings, "empty.txt", b"   ")
    await upload(http, "garden.md", GARDEN)
    listed = (await http.get(f"{ROOT}/documents", params={"status": "pending,failed"})).json()["items"]
    assert [(each["source"], each["status"]) for each in listed] == [("garden.md", "pending"), ("empty.txt", "failed")]
    assert "no text" in listed[1]["failureReason"]
    refused = await http.get(f"{ROOT}/documents", params={"status": "lost"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")


async def test_the_same_bytes_are_one_document(http: httpx2.AsyncClient) -> None:
    first, again = [(await upload(http, name, PRICES)).json()["document"] for name in ("a.md", "b.md")]
    assert first == again
    assert len((await http.get(f"{ROOT}/documents")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"files": {"file": ("a.png", PNG)}}, 415, "unsupported_media_type"),
        ({"json": {"file": "x"}}, 415, "unsupported_media_type"),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, "unsupported_media_type"),
        ({"files": {"file": ("a.txt", b"x" * 2_100)}}, 413, "too_large"),
        ({"files": {"other": ("a.txt", b"x")}}, 400, "invalid_request"),
        ({"files": {"file": ("a.txt", b"x")}, "data": {"shared": "perhaps"}}, 400, "invalid_request"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "invalid_request"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=y"}}, 400, "invalid_request"),
    ],
)
async def test_what_cannot_be_taken_in_is_refused_with_a_reason(
    settings: Settings, sent: dict[str, Any], status: int, code: str
) -> None:
    with open_door(replace(settings, max_document=2_000)) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            answer = await client.post(f"{ROOT}/documents", params={"userId": "alex"}, **sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text


async def test_a_file_may_be_larger_than_other_requests_but_not_without_end(settings: Settings) -> None:
    with open_door(replace(settings, max_body=10_000, max_document=3_000_000)) as url:
        async with httpx2.AsyncClient(base_url=url, headers={"X-User-Id": "alex"}, timeout=60) as client:
            taken = await upload(client, "a.txt", b"many words " * 200_000)
            over = await upload(client, "b.txt", b"many words " * 500_000)
            other = await client.post(f"{ROOT}/query", json={"query": "x" * 11_000})
    assert (taken.status_code, over.status_code, other.status_code) == (202, 413, 413)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 202),
        ({}, 202),
    ],
)
async def test_a_form_of_a_foreign_page_is_not_taken(
    http: httpx2.AsyncClient, headers: dict[str, str], status: int
) -> None:
    answer = await http.post(f"{ROOT}/documents", files={"file": ("a.txt", b"hello")}, headers=headers)
    assert answer.status_code == status


async def test_a_page_of_our_own_may_send_one(http: httpx2.AsyncClient) -> None:
    own = str(http.base_url).rstrip("/")
    answer = await http.post(f"{ROOT}/documents", files={"file": ("a.txt", b"hello")}, headers={"Origin": own})
    assert answer.status_code == 202


async def test_only_who_keeps_the_project_s_documents_shares_one(settings: Settings) -> None:
    def key(memory: SyncEngine, role: Role, name: str, user: str | None = None) -> str:
        return memory.keys.create(Grant(role=role, name=name, project="default", user=user)).secret

    with connect_sync(settings, worker=False) as memory:
        alex, blake = (key(memory, "user", name, name) for name in ("alex", "blake"))
        words = key(memory, "data", "words")
    with open_door(settings) as url:

        async def client(secret: str) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=60)

        async with await client(alex) as one, await client(blake) as two, await client(words) as keeper:
            own = (await upload(one, "own.md", GARDEN)).json()["document"]["id"]
            assert (await upload(one, "shared.md", PRICES, shared="true")).status_code == 403
            shared = (await upload(keeper, "shared.md", PRICES, shared="true")).json()["document"]["id"]
            assert [each["id"] for each in (await two.get(f"{ROOT}/documents")).json()["items"]] == [shared]
            assert (await two.get(f"{ROOT}/documents/{own}")).status_code == 404
            assert (await two.delete(f"{ROOT}/documents/{own}")).status_code == 404
            for params in ({}, {"shared": True}):
                assert (await two.delete(f"{ROOT}/documents/{shared}", params=params)).status_code == 403
            assert (await keeper.delete(f"{ROOT}/documents/{own}", params={"shared": True})).status_code == 404
            assert (await keeper.delete(f"{ROOT}/documents/{shared}", params={"shared": True})).status_code == 200
            assert (await upload(one, "x.md", GARDEN, shared="false")).status_code == 202
        async with httpx2.AsyncClient(base_url=url, timeout=60) as nobody:
            assert (await upload(nobody, "own.md", GARDEN)).status_code == 401
