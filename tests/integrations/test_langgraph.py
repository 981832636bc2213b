"""RecollectStore keeps the promises of LangGraph's BaseStore, and those of Recollect: owner, history, forgetting.

LangGraph publishes no conformance tests for stores. Its own InMemoryStore is the reference here: the same operations on
both must come to the same.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from recollect import Engine, InvalidInput, Lesson, Memory, Scope, SyncEngine, connect, connect_sync
from recollect.flows.maintain import run_upkeep
from recollect.integrations.langgraph import (
    Namespace,
    RecollectStore,
    StoredItem,
    make_key,
    make_lesson,
    matches_filter,
    render_value,
    select_latest,
    select_namespaces,
)
from recollect.settings import Settings
from recollect.store.database import Database
from recollect.values.scope import MemoryId, uuid7

ALEX = Scope("alex")
TREE = [
    ("home", "garden", "roses"),
    ("home", "garden", "shed", "tools"),
    ("home", "kitchen", "tools"),
    ("work", "garden", "plans"),
    ("work", "tools"),
]


@pytest.fixture
def store(plain: SyncEngine) -> RecollectStore:
    return RecollectStore(plain, user="alex")


def test_every_method_and_its_async_twin_keeps_an_item(store: RecollectStore) -> None:
    store.put(("prefs", "ui"), "theme", {"theme": "dark", "sizes": [1, 2.5, None], "deep": {"on": True}})

    async def awaited() -> None:
        await store.aput(("prefs", "ui"), "font", {"font": "serif"})
        found = await store.aget(("prefs", "ui"), "font")
        assert found is not None
        assert found.value == {"font": "serif"}
        assert {item.key for item in await store.asearch(("prefs",))} == {"theme", "font"}
        assert await store.alist_namespaces() == [("prefs", "ui")]
        await store.adelete(("prefs", "ui"), "font")
        assert await store.aget(("prefs", "ui"), "font") is None

    asyncio.run(awaited())
    found = store.get(("prefs", "ui"), "theme")
    assert found is not None
    assert found.value == {"theme": "dark", "sizes": [1, 2.5, None], "deep": {"on": True}}
    assert (found.key, found.namespace, found.created_at) == ("theme", ("prefs", "ui"), found.updated_at)
    store.delete(("prefs", "ui"), "theme")
    store.delete(("prefs", "ui"), "never there")
    assert (store.get(("prefs", "ui"), "theme"), store.search(()), store.list_namespaces()) == (None, [], [])


class Chance:
    """Operations at random, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def batch(self) -> list[Op]:
        makers = [self.get, self.put, self.put, self.put, self.delete, self.search, self.list_namespaces]
        return [self.random.choice(makers)() for _ in range(self.random.randint(1, 6))]

    def get(self) -> Op:
        return GetOp(self.namespace(), self.key())

    def put(self) -> Op:
        return PutOp(self.namespace(), self.key(), self.value())

    def delete(self) -> Op:
        return PutOp(self.namespace(), self.key(), None)

    def search(self) -> Op:
        wanted = {"n": self.random.choice([self.leaf(), {"$ne": self.leaf()}])}
        return SearchOp(self.namespace(least=0), self.random.choice([None, wanted]), limit=100)

    def list_namespaces(self) -> Op:
        end = self.random.choice(["prefix", "suffix"])
        condition = MatchCondition(end, self.namespace(labels="ab*"))  # type: ignore[arg-type]
        return ListNamespacesOp(self.random.choice([None, (condition,)]), self.random.choice([None, 1, 2]), limit=100)

    def namespace(self, least: int = 1, labels: Sequence[str] = ("a", "b", "x/y", "名")) -> tuple[str, ...]:
        return tuple(self.random.choices(labels, k=self.random.randint(least, 2)))

    def key(self) -> str:
        return self.random.choice(["k", "a/k"])

    def value(self) -> dict[str, Any]:
        names = self.random.sample(["n", "colour", "more"], self.random.randint(0, 3))
        return {name: self.random.choice([self.leaf(), [self.leaf()], {"in": self.leaf()}]) for name in names}

    def leaf(self) -> Any:
        return self.random.choice([None, True, 0, 1, 2.5, "red", "Red", "not red", ""])


@pytest.mark.parametrize("seed", range(4))
def test_any_operations_come_to_what_they_come_to_in_langgraph_s_own_store(store: RecollectStore, seed: int) -> None:
    chance, reference = Chance(seed), InMemoryStore()
    seen = 0
    for _ in range(60):
        for op, mine, theirs in compared(chance.batch(), store, reference):
            if isinstance(op, ListNamespacesOp):
                # The reference also lists namespaces whose items are deleted, or were only asked for.
                assert set(mine) <= set(theirs)
            else:
                assert told(mine) == told(theirs)
                seen += bool(mine)
    assert seen > 10


def compared(batch: list[Op], *stores: BaseStore) -> list[tuple[Op, Any, Any]]:
    first, second = (store.batch(batch) for store in stores)
    return list(zip(batch, first, second, strict=True))


def told(result: Any) -> Any:
    """A result without times, and in no order: the stores list differently."""
    if isinstance(result, Item):
        return result.namespace, result.key, result.value
    return result and sorted(map(told, result), key=repr)


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"prefix": ("home", "garden")},
        {"suffix": ("tools",)},
        {"prefix": ("home",), "suffix": ("tools",)},
        {"prefix": ("*", "garden")},
        {"suffix": ("kitchen", "*")},
        {"prefix": ("home",), "max_depth": 2},
        {"limit": 2, "offset": 1},
        {"prefix": ("nobody",)},
    ],
)
def test_namespaces_are_chosen_by_conditions_depth_and_page_as_in_langgraph_s_own_store(wanted: dict[str, Any]) -> None:
    listed = select_namespaces([kept_in(namespace) for namespace in TREE], asked(wanted))

    reference = InMemoryStore()
    reference.batch([PutOp(namespace, "k", {"n": 1}) for namespace in TREE])
    assert listed == reference.list_namespaces(**wanted)


def kept_in(namespace: tuple[str, ...]) -> StoredItem:
    lesson = make_lesson(PutOp(namespace, "k", {"n": 1}), {"n": 1}, {})
    about = (MemoryId(uuid7()), lesson.kind, lesson.key, lesson.value, 1.0, lesson.importance)
    [item] = select_latest([Memory(*about, "explicit", "person", "active", datetime.now(UTC), data=lesson.data)])
    return item


def asked(wanted: dict[str, Any]) -> ListNamespacesOp:
    ends: tuple[Literal["prefix", "suffix"], ...] = ("prefix", "suffix")
    conditions = tuple(MatchCondition(end, wanted[end]) for end in ends if end in wanted)
    return ListNamespacesOp(conditions, wanted.get("max_depth"), wanted.get("limit", 100), wanted.get("offset", 0))


@pytest.mark.parametrize(
    "wanted",
    [
        {"n": 2},
        {"n": {"$gte": 2}},
        {"n": {"$gt": 1, "$lt": 3}},
        {"n": {"$lte": 2}, "tags": ["a"]},
        {"deep": {"on": True}},
        {"n": {"$ne": 1}},
        {"n": {"$eq": 3}},
    ],
)
def test_a_filter_compares_as_in_langgraph_s_own_store(wanted: dict[str, Any]) -> None:
    values: dict[str, dict[str, Any]] = {
        "one": {"n": 1, "tags": ["a"]},
        "two": {"n": 2, "tags": ["a", "b"]},
        "three": {"n": 3, "deep": {"on": True, "off": False}},
    }
    reference = InMemoryStore()
    for key, value in values.items():
        reference.put(("n",), key, value)

    found = {key for key, value in values.items() if matches_filter(value, wanted)}

    assert found == {item.key for item in reference.search(("n",), filter=wanted)}
    assert found


def test_a_filter_finds_no_order_where_there_is_no_number_and_refuses_an_operator_it_does_not_know() -> None:
    assert not matches_filter({"n": None}, {"n": {"$gt": 1}})
    with pytest.raises(InvalidInput, match=r"\$near"):
        matches_filter({"n": 1}, {"n": {"$near": 1}})


def test_a_namespace_that_langgraph_refuses_is_refused(store: RecollectStore) -> None:
    for namespace in [(), ("the", "dotted.one"), ("empty", ""), ("langgraph", "own")]:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("the", "dotted.one"), "k")])
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        store.put(("n",), "k", {"n": 1}, ttl=5)


def test_a_page_of_a_search_follows_the_one_before(store: RecollectStore) -> None:
    store.batch([PutOp(("n",), str(n), {"text": f"pump {n}"}) for n in range(5)])

    pages = [store.search(("n",), limit=2, offset=offset) for offset in (0, 2, 4)]

    assert [[item.key for item in page] for page in pages] == [["4", "3"], ["2", "1"], ["0"]]


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each trip to the database."""
    seen: list[int] = []
    run = Database.run

    async def counted(database: Database, *given: Any, **named: Any) -> Any:
        seen.append(len(seen))
        return await run(database, *given, **named)

    monkeypatch.setattr(Database, "run", counted)
    return seen


@pytest.mark.parametrize(
    ("batch", "most"),
    [
        ([PutOp(("n",), str(n), {"n": n}) for n in range(20)], 4),
        ([PutOp(("n",), str(n), {"n": -n}) for n in range(20)], 4),
        ([GetOp(("n",), str(n)) for n in range(20)], 1),
        ([GetOp(("n",), "1"), SearchOp(("n",)), SearchOp((), query="n"), ListNamespacesOp()], 1),
    ],
)
def test_a_batch_costs_as_many_trips_as_a_single_operation(
    store: RecollectStore, trips: list[int], batch: list[Op], most: int
) -> None:
    store.batch([PutOp(("n",), str(n), {"n": f"old {n}"}) for n in range(0, 20, 2)])
    trips.clear()

    store.batch(batch)

    assert len(trips) <= most


def test_of_a_batch_with_a_value_that_cannot_be_kept_nothing_is(store: RecollectStore) -> None:
    with pytest.raises(InvalidInput):
        store.batch([PutOp(("n",), "good", {"n": 1}), PutOp(("n",), "bad", {"n": object()})])

    assert store.search(()) == []


def test_items_do_not_crowd_a_context_and_are_never_crowded_out(settings: Settings) -> None:
    with connect_sync(replace(settings, memory_limit=1), worker=False) as engine:
        store = RecollectStore(engine, user="alex")
        store.batch([PutOp(("facts",), str(n), {"text": f"Pump {n} has a green lid"}) for n in range(9)])
        engine.learn(ALEX, Lesson("Be brief."))

        done = engine._wait(run_upkeep(engine._target._deps))

        assert (done.pruned, len(store.search(()))) == (0, 9)
        assert engine.context(ALEX, "what about noodles?").text.count("Pump") == 0
        assert "Be brief." in engine.context(ALEX, "what about noodles?").text
        assert "Pump 3" in engine.context(ALEX, "which lid has pump 3?").text


def test_a_query_puts_first_what_speaks_to_it_and_leaves_out_nothing(store: RecollectStore) -> None:
    store.put(("facts",), "food", {"text": "Alex loves spicy noodles"})
    store.put(("facts",), "work", {"text": "Alex tunes pumps", "more": {"since": 2019}})
    store.put(("facts",), "hidden", {"text": "noodles, noodles, noodles"}, index=False)
    store.put(("facts",), "named", {"title": "soups", "body": "noodles"}, index=["title"])

    found = store.search(("facts",), query="which noodles does he like?")

    assert found[0].key == "food"
    assert found[0].score is not None
    assert {item.key for item in found if item.score is None} == {"work", "hidden", "named"}
    assert store.search(("facts",), query="soups", limit=1)[0].key == "named"


def test_a_new_value_ends_the_old_one_which_stays_in_the_history(store: RecollectStore, plain: SyncEngine) -> None:
    for theme in ("dark", "Dark", "not dark", "dark"):
        store.put(("prefs",), "theme", {"theme": theme})

    found = store.get(("prefs",), "theme")
    versions = plain.memories(ALEX, key="item:prefs/theme", status=None)

    assert found is not None
    assert found.value == {"theme": "dark"}
    assert found.created_at < found.updated_at
    assert [(each.value, each.status) for each in sorted(versions, key=lambda each: each.valid_from)] == [
        ("theme: dark (v1)", "superseded"),
        ("theme: Dark (v2)", "superseded"),
        ("not dark (v3)", "superseded"),
        ("theme: dark (v4)", "active"),
    ]
    assert all(each.data and each.refs == ("@alex",) for each in versions)


def test_what_is_deleted_is_forgotten_with_all_its_versions(store: RecollectStore, plain: SyncEngine) -> None:
    for word in ("heron", "osprey", "kestrel"):
        store.put(("words",), "code", {"word": word})
    store.put(("words",), "other", {"word": "lark"})

    store.delete(("words",), "code")

    assert store.get(("words",), "code") is None
    kept = [line for line in plain.export(ALEX) if any(word in line for word in ("heron", "osprey", "kestrel"))]
    assert kept == []
    assert [item.key for item in store.search(("words",))] == ["other"]
    assert "forgot" in {deed.action for deed in plain.audit(ALEX)}


def test_what_a_graph_stores_is_recalled_by_the_engine_with_its_source(
    store: RecollectStore, plain: SyncEngine
) -> None:
    store.put(("facts",), "food", {"text": "Alex loves spicy noodles"})

    [hit] = plain.recall(ALEX, "spicy noodles").memories

    assert hit.memory.data is not None
    assert hit.memory.data["langgraph"]["namespace"] == ["facts"]


def test_the_namespace_may_name_the_user_and_another_s_items_are_not_reached(plain: SyncEngine) -> None:
    store = RecollectStore(plain, user=1)
    store.put(("memories", "alex"), "code", {"word": "heron"})
    store.put(("memories", "bo"), "code", {"word": "osprey"})

    assert [item.value["word"] for item in store.search(("memories", "bo"))] == ["osprey"]
    assert store.list_namespaces(prefix=("memories", "alex")) == [("memories", "alex")]
    assert [each.key for each in plain.memories(ALEX)] == ["item:memories/alex/code"]
    assert RecollectStore(plain, user="bo").get(("memories", "alex"), "code") is None
    for across in (
        lambda: store.search(("memories",)),
        lambda: store.put(("memories",), "code", {}),
        lambda: store.list_namespaces(prefix=("memories", "*")),
        lambda: store.list_namespaces(suffix=("memories", "alex")),
    ):
        with pytest.raises(InvalidInput, match="names no user"):
            across()


def test_long_keys_and_long_values_are_kept_whole(store: RecollectStore) -> None:
    long = {"text": "word " * 3_000, "n": 1}
    store.put(("docs", "n" * 150), "k" * 400, long)
    store.put(("docs", "n" * 150), "k" * 401, {"n": 2})

    found = store.get(("docs", "n" * 150), "k" * 400)

    assert found is not None
    assert (found.value, found.key) == (long, "k" * 400)
    with pytest.raises(InvalidInput, match="at most 20,000"):
        store.put(("docs",), "too long", {"text": "word " * 5_000})
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        store.put(("docs",), "no json", {"when": object()})


async def test_of_many_writers_at_once_one_value_is_left(memory: Engine, settings: Settings) -> None:
    async with connect(settings, worker=False) as other:
        stores = [RecollectStore(memory, user="alex"), RecollectStore(other, user="alex")]
        await asyncio.gather(*(stores[n % 2].aput(("n",), "count", {"n": n}) for n in range(12)))
        await stores[0].aput(("n",), "count", {"n": "last"})
        found = [await store.aget(("n",), "count") for store in stores]

    assert [item and item.value for item in found] == [{"n": "last"}] * 2
    assert len(await memory.memories(ALEX)) == 1
    assert len(await memory.memories(ALEX, status=None)) == 13


async def test_a_method_that_would_wait_for_its_own_loop_says_which_to_await(memory: Engine) -> None:
    store = RecollectStore(memory, user="alex")

    with pytest.raises(InvalidInput, match="await the async"):
        store.put(("n",), "k", {"n": 1})
    await asyncio.to_thread(store.put, ("n",), "k", {"n": 1})
    assert (await store.aget(("n",), "k")) is not None


def test_without_langgraph_one_sentence_names_the_extra() -> None:
    code = "import sys; sys.modules['langgraph'] = None\nimport recollect.integrations.langgraph"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == (
        "ImportError: RecollectStore needs LangGraph; run `pip install recollect[langgraph]`"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"memory": "Will likes tea"}, "Will likes tea"),
        ({"theme": "dark"}, "theme: dark"),
        ({"a": 1, "b": {"c": True, "d": None}, "tags": ["x", "y"]}, "a: 1; b c: True; tags: x, y"),
        ({"turns": [{"who": "alex", "said": "hello"}]}, "turns who: alex; turns said: hello"),
        ({}, ""),
    ],
)
def test_the_text_of_an_item_is_what_a_person_would_read(value: dict[str, Any], text: str) -> None:
    assert render_value(value) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((("a", "b"), "c"), (("a",), "b/c")),
        ((("a/b",), "c"), (("a", "b"), "c")),
        ((("a%2Fb",), "c"), (("a/b",), "c")),
        ((("a",), "k" * 500), (("a",), "k" * 501)),
    ],
)
def test_two_items_never_share_a_memory(one: tuple[Namespace, str], other: tuple[Namespace, str]) -> None:
    assert make_key(*one) != make_key(*other)
    assert all(len(make_key(*item)) <= 200 for item in (one, other))


class Talk(TypedDict):
    message: str
    known: list[str]


def noting(state: Talk, runtime: Runtime[None]) -> Talk:
    assert runtime.store is not None
    runtime.store.put(("memories",), state["message"], {"text": state["message"]})
    return state


async def looking(state: Talk, runtime: Runtime[None]) -> Talk:
    assert runtime.store is not None
    found = await runtime.store.asearch(("memories",), query=state["message"])
    return {**state, "known": [item.value["text"] for item in found]}


async def test_a_graph_that_is_awaited_may_mix_nodes_that_await_and_nodes_that_do_not(memory: Engine) -> None:
    graph = StateGraph(Talk).add_sequence([noting, looking]).add_edge(START, "noting")
    app = graph.compile(store=RecollectStore(memory, user="alex"))

    await app.ainvoke({"message": "Pumps are tuned on Mondays.", "known": []})
    told = await app.ainvoke({"message": "When are the pumps tuned?", "known": []})

    assert set(told["known"]) == {"Pumps are tuned on Mondays.", "When are the pumps tuned?"}
