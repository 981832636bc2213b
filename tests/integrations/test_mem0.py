"""mem0's documented calls run as they stand, but for the import line, and what they keep has a source and a history."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from recollect import Engine, InvalidInput, NotFound, Scope, SyncEngine
from recollect.integrations.mem0 import AsyncMemory, Memory
from recollect.integrations.mem0_facts import matches_mem0_filter
from recollect.settings import Settings

WEEKEND = [
    {"role": "user", "content": "What could I do this weekend?"},
    {"role": "assistant", "content": "There is a climbing hall near you."},
    {"role": "user", "content": "Heights are not for me, but I love sci-fi movies."},
]


@pytest.fixture
def m(plain: SyncEngine) -> Memory:
    return Memory(plain)


@pytest.fixture
async def awaited(memory: Engine) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(memory) as opened:
        yield opened


def texts(answer: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


def heard(answer: dict[str, list[dict[str, Any]]]) -> list[tuple[str, str]]:
    return [(each["event"], each["memory"]) for each in answer["results"]]


def test_the_calls_of_mem0_s_documentation_run_as_they_stand(m: Memory) -> None:
    result = m.add(WEEKEND, user_id="alice", metadata={"category": "weekend"})
    assert {each["event"] for each in result["results"]} == {"ADD"}
    assert any("sci-fi" in text for text in texts(result))

    related = m.search(query="Which hobbies do I have?", user_id="alice")
    assert related == m.search("Which hobbies do I have?", filters={"user_id": "alice"})
    assert sorted(texts(related)) == sorted(texts(result))
    assert {each["metadata"]["category"] for each in related["results"]} == {"weekend"}

    everything = m.get_all(filters={"user_id": "alice"})
    assert everything == m.get_all(user_id="alice")
    memory_id = next(each["id"] for each in everything["results"] if "sci-fi" in each["memory"])
    found = m.get(memory_id)
    assert found is not None
    assert (found["id"], found["user_id"], found["refs"]) == (memory_id, "alice", ["mem0#2"])

    assert m.update(memory_id=memory_id, data="Portugal is where I would live.") == {
        "message": "Memory updated successfully!"
    }
    assert m.update(memory_id, text="Loves Portugal") == {"message": "Memory updated successfully!"}
    found = m.get(memory_id)
    assert found is not None
    assert (found["id"], found["memory"]) == (memory_id, "Loves Portugal")
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in m.history(memory_id=memory_id)] == [
        ("ADD", None, "hobby: Heights are not for me, but I love sci-fi movies"),
        ("UPDATE", "hobby: Heights are not for me, but I love sci-fi movies", "Portugal is where I would live."),
        ("UPDATE", "Portugal is where I would live.", "Loves Portugal"),
    ]

    assert m.delete(memory_id=memory_id) == {"message": "Memory deleted successfully!"}
    assert m.get(memory_id) is None
    assert [(each["event"], each["old_memory"], each["is_deleted"]) for each in m.history(memory_id)] == [
        ("DELETE", None, True)
    ]
    assert m.delete_all(user_id="alice") == {"message": "Memories deleted successfully!"}
    assert m.get_all(user_id="alice") == {"results": []}
    m.reset()


async def test_the_async_twin_does_the_same_awaited(awaited: AsyncMemory) -> None:
    result = await awaited.add(WEEKEND, user_id="alice")
    memory_id = result["results"][0]["id"]
    await awaited.update(memory_id, "Loves Portugal")

    assert (await awaited.get(memory_id) or {})["memory"] == "Loves Portugal"
    assert texts(await awaited.search("Portugal", filters={"user_id": "alice"})) == ["Loves Portugal"]
    assert [each["event"] for each in await awaited.history(memory_id)] == ["ADD", "UPDATE"]
    await awaited.delete(memory_id)
    await awaited.delete_all(user_id="alice")
    await awaited.reset()


def test_every_verb_has_the_signature_of_its_async_twin() -> None:
    verbs = [name for name, verb in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction) if name[0] != "_"]

    assert {"add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset"} <= set(verbs)
    for name in set(verbs) - {"close"}:
        assert inspect.signature(getattr(Memory, name)) == inspect.signature(getattr(AsyncMemory, name))


def test_an_event_says_what_became_of_what_was_said(m: Memory) -> None:
    [first] = m.add("I live in York.", user_id="alex")["results"]
    assert (first["event"], first["memory"]) == ("ADD", "location: York")
    assert heard(m.add("I live in York.", user_id="alex")) == [("NONE", "location: York")]

    [moved] = m.add({"role": "user", "content": "I moved to Leeds."}, user_id="alex")["results"]
    assert (moved["event"], moved["previous_memory"], moved["id"]) == ("UPDATE", "location: York", first["id"])
    assert [each["event"] for each in m.history(first["id"])] == ["ADD", "UPDATE"]

    m.add("I love sci-fi movies.", user_id="alex")
    assert ("DELETE", "hobby: I love sci-fi movies") in heard(
        m.add("Forget that I love sci-fi movies.", user_id="alex")
    )


def test_a_text_given_as_such_is_kept_even_where_the_rules_learn_nothing(m: Memory, plain: SyncEngine) -> None:
    result = m.add("Weekends: cricket", user_id="alice", metadata={"category": "hobbies"})

    assert heard(result) == [("ADD", "Weekends: cricket")]
    [found] = m.search("cricket", user_id="alice")["results"]
    assert (found["metadata"], found["refs"]) == ({"category": "hobbies"}, ["@alice"])
    assert m.add([{"role": "user", "content": "hello"}], user_id="alice") == {"results": []}
    assert [turn.text for turn in plain.history(Scope("alice", "mem0"))] == [
        "Weekends: cricket",
        "hello",
    ]


def test_without_inference_each_message_is_a_note(m: Memory, plain: SyncEngine) -> None:
    result = m.add([{"role": "system", "content": "Be brief."}, *WEEKEND], user_id="alice", run_id="r1", infer=False)

    assert [each["role"] for each in result["results"]] == ["user", "assistant", "user"]
    assert texts(m.get_all(filters={"AND": [{"user_id": "alice"}, {"run_id": "r1"}]})) == texts(result)[::-1]
    again = m.add(WEEKEND[0], user_id="alice", run_id="r1", infer=False)
    assert again["results"] == [{**result["results"][0], "event": "NONE"}]
    assert heard(m.add(WEEKEND[0], user_id="alice", run_id="r2", infer=False)) == [("ADD", WEEKEND[0]["content"])]
    assert {known.kind for known in plain.memories(Scope("alice"))} == {"note"}
    assert plain.conversations(Scope("alice")) == []


def test_a_search_finds_by_meaning_what_shares_no_word(m: Memory) -> None:
    m.add("I love sci-fi movies.", user_id="alex")
    m.add("I live in York.", user_id="alex")

    assert texts(m.search("films", user_id="alex", limit=1)) == ["hobby: I love sci-fi movies"]
    assert texts(m.search("where is my home?", user_id="alex", top_k=1)) == ["location: York"]
    assert m.search("films", user_id="alex", threshold=1.0) == {"results": []}


def test_another_user_s_memory_is_not_found_and_not_touched(m: Memory) -> None:
    [mine] = m.add("I live in York.", user_id="alex")["results"]
    m.add("I live in Leeds.", user_id="bo")

    assert texts(m.get_all(user_id="bo")) == ["location: Leeds"]
    stolen = mine["id"].replace("alex", "bo")
    assert m.get(stolen) is None
    for attempt in (m.delete, lambda memory: m.update(memory, text="Hull")):
        with pytest.raises(NotFound):
            attempt(stolen)
    m.delete_all(user_id="bo")
    assert texts(m.get_all(user_id="alex")) == ["location: York"]


def test_agents_and_runs_are_told_apart_and_found_by_their_ids(m: Memory, plain: SyncEngine) -> None:
    m.add("I live in York.", user_id="alex", agent_id="guide/1", run_id="monday")
    m.add("I love sci-fi movies.", user_id="alex", run_id="tuesday")
    m.add("My name is Ada.", agent_id="guide/1")
    m.add("My name is Bo.", run_id="monday")

    [home] = m.get_all(user_id="alex", agent_id="guide/1")["results"]
    assert (home["user_id"], home["agent_id"], home["run_id"]) == ("alex", "guide/1", "monday")
    assert texts(m.search("movies", filters={"user_id": "alex", "run_id": "tuesday"})) == [
        "hobby: I love sci-fi movies"
    ]
    assert m.search("movies", filters={"user_id": "alex", "run_id": "monday"}, threshold=0.5) == {"results": []}
    [agent] = m.get_all(filters={"agent_id": "guide/1"})["results"]
    assert (agent["memory"], agent["agent_id"], "user_id" in agent) == ("name: Ada", "guide/1", False)
    assert texts(m.get_all(run_id="monday")) == ["name: Bo"]

    m.add("tea", user_id="alex", agent_id="guide/1", infer=False)
    m.add([{"role": "user", "content": "hello"}], user_id="alex", agent_id="guide/1")

    m.delete_all(user_id="alex", agent_id="guide/1")
    assert [each.session for each in plain.conversations(Scope("alex"))] == ["tuesday"]
    assert texts(m.get_all(user_id="alex")) == ["hobby: I love sci-fi movies"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"category": "food"}, {"tea", "rice"}),
        ({"rank": {"gte": 2}}, {"rice", "pumps"}),
        ({"rank": {"gt": 1, "lt": 3}}, {"rice"}),
        ({"category": {"in": ["work", "play"]}}, {"pumps"}),
        ({"category": {"nin": ["work"]}}, {"tea", "rice"}),
        ({"category": {"icontains": "FO"}}, {"tea", "rice"}),
        ({"category": {"ne": "food"}}, {"pumps"}),
        ({"urgent": "*"}, {"pumps"}),
        ({"OR": [{"rank": 1}, {"urgent": True}]}, {"tea", "pumps"}),
        ({"NOT": [{"category": "food"}]}, {"pumps"}),
        ({"AND": [{"category": "food"}, {"rank": {"lte": 1}}]}, {"tea"}),
        ({"rank": {"contains": "x"}}, set()),
    ],
)
def test_filters_compare_metadata_as_mem0_documents_them(wanted: dict[str, Any], found: set[str]) -> None:
    kept: dict[str, dict[str, Any]] = {
        "tea": {"category": "food", "rank": 1},
        "rice": {"category": "food", "rank": 2},
        "pumps": {"category": "work", "rank": 3, "urgent": True},
    }

    assert {text for text, metadata in kept.items() if matches_mem0_filter({"metadata": metadata}, wanted)} == found


def test_metadata_filters_choose_among_what_was_learned_and_what_was_noted(m: Memory) -> None:
    m.add("I live in York.", user_id="alex", metadata={"category": "home"})
    m.add("tea", user_id="alex", metadata={"category": "food"}, infer=False)

    assert texts(m.get_all(filters={"user_id": "alex", "category": "home"})) == ["location: York"]
    assert texts(m.search("tea", filters={"user_id": "alex", "category": {"ne": "home"}})) == ["tea"]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda m: m.add("hello"), "user_id, agent_id or run_id is required"),
        (lambda m: m.search("hello"), "user_id, agent_id or run_id is required"),
        (lambda m: m.get_all(filters={"user_id": "*"}), "user_id, agent_id or run_id is required"),
        (lambda m: m.delete_all(), "`reset` erases all users"),
        (lambda m: m.add([], user_id="alex"), "must be a text, a message or a list"),
        (lambda m: m.add([{"role": "user"}], user_id="alex"), "with role and content"),
        (lambda m: m.add("hello", user_id="agent:x"), "must not begin with"),
        (lambda m: m.get("892db2ae-06d9-49e5-8b3e-585ef9b85b8e"), "is not an id returned by add, search or get_all"),
        (lambda m: m.get("nonsense"), "is not an id returned by add, search or get_all"),
        (lambda m: m.update("alex:892db2ae-06d9-49e5-8b3e-585ef9b85b8e"), "text: is required"),
        (lambda m: m.get_all(filters={"user_id": "alex", "rank": {"near": 1}}), "is not one of eq, ne"),
    ],
)
def test_a_call_that_cannot_be_meant_says_what_to_do(m: Memory, call: Any, problem: str) -> None:
    m.add("tea", user_id="alex", infer=False)

    with pytest.raises(InvalidInput, match=problem):
        call(m)


def test_a_reset_forgets_everybody_it_has_met(m: Memory, plain: SyncEngine) -> None:
    for user in ("alex", "bo"):
        m.add("I live in York.", user_id=user)

    m.reset()

    assert [plain.memories(Scope(user), status=None) for user in ("alex", "bo")] == [[], []]


def test_memory_opens_and_closes_an_engine_of_its_own(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    config = {"recollect": {"dsn": settings.dsn, "worker": False}, "vector_store": {"provider": "qdrant"}}
    with Memory.from_config(config) as m:
        m.add("I live in York.", user_id="alex")
    assert "not used by recollect.integrations.mem0: vector_store" in caplog.text

    async def again() -> list[str]:
        async with AsyncMemory(dsn=settings.dsn, worker=False) as opened:
            return texts(await opened.get_all(user_id="alex"))

    assert asyncio.run(again()) == ["location: York"]


@pytest.fixture
def own_home() -> Iterator[str]:
    """A folder that the embedded server's own account may enter."""
    with tempfile.TemporaryDirectory(prefix="recollect-test-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield folder


def test_a_program_that_never_closes_its_memory_ends_cleanly_and_leaves_no_server(own_home: str) -> None:
    code = (
        "from recollect.integrations.mem0 import Memory\n"
        f"print(Memory(home={own_home!r}).add('I live in York.', user_id='alex')['results'][0]['event'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr, done.returncode) == ("ADD\n", "", 0)
    running = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    assert [line for line in running if own_home in str(line)] == []
