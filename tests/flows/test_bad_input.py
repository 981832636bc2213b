"""Bad input: one error that names the field, and nothing half-written; or it simply works."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from recollect import Engine, InvalidInput, InvalidSetting, NotFound, Query, Scope, StoreUnavailable, Turn, connect
from recollect.flows.teach import MemoryFilter
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from tests.bounds import bound

EXAMPLES = example_settings(
    max_examples=bound(15, 400),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
WRITTEN = ("conversation", "turn", "sketch", "embedding", "chapter", "idempotency")


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


def rows(database: str) -> dict[str, int]:
    with psycopg.connect(database) as owner:
        found = {t: owner.execute(f"SELECT count(*) FROM recollect.{t}".encode()).fetchone() for t in WRITTEN}
    return {table: row[0] for table, row in found.items() if row}


def nested(depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for _ in range(depth):
        data = {"a": data}
    return data


AT = timezone(timedelta(hours=14))
BAD_TURNS: list[tuple[str, Any]] = [
    ("turns", []),
    ("turns", "hello"),
    ("turns", None),
    ("turns", 7),
    ("turns", {"role": "user"}),
    ("turns", [("user", "x")] * 100_001),
    ("turns[0]", ["hello"]),
    ("turns[0]", [("user", "a", "b")]),
    ("turns[0]", [None]),
    ("turns[0].role", [("robot", "hello")]),
    ("turns[0].role", [(None, "hello")]),
    ("turns[0].role", [(["user"], "hello")]),
    ("turns[0].text", [("user", "")]),
    ("turns[0].text", [("user", " \n\t ")]),
    ("turns[0].text", [("user", None)]),
    ("turns[0].text", [("user", b"bytes")]),
    ("turns[0].text", [("user", "x" * 10_000_000)]),
    ("turns[0].text", [("user", "a\0b")]),
    ("turns[0].text", [("user", "half \ud83d a smile")]),
    ("turns[2].text", [("user", "good"), ("user", "good"), ("user", "bad \udc00")]),
    ("turns[299].text", [("user", "good")] * 299 + [("user", "")]),
    ("turns[0].speaker", [Turn("user", "hello", speaker="")]),
    ("turns[0].speaker", [Turn("user", "hello", speaker="x" * 201)]),
    ("turns[0].speaker", [Turn("user", "hello", speaker=5)]),  # type: ignore[arg-type]
    ("turns[0].at", [Turn("user", "hello", at="yesterday")]),  # type: ignore[arg-type]
    ("turns[0].at", [Turn("user", "hello", at=date(2026, 1, 1))]),  # type: ignore[arg-type]
    ("turns[0].at", [Turn("user", "hello", at=datetime(1, 1, 1, tzinfo=AT))]),
    ("turns[0].at", [Turn("user", "hello", at=datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12))))]),
    ("turns[0].data", [Turn("user", "hello", data=["a"])]),  # type: ignore[arg-type]
    ("turns[0].data", [Turn("user", "hello", data={"a": object()})]),
    ("turns[0].data", [Turn("user", "hello", data={"a": float("nan")})]),
    ("turns[0].data", [Turn("user", "hello", data={"a": float("inf")})]),
    ("turns[0].data", [Turn("user", "hello", data={"a": "\0"})]),
    ("turns[0].data", [Turn("user", "hello", data={"\0": "a"})]),
    ("turns[0].data", [Turn("user", "hello", data={"a": "\ud800"})]),
    ("turns[0].data", [Turn("user", "hello", data={"a": "x" * 1_000_001})]),
    ("turns[0].data", [Turn("user", "hello", data=nested(50_000))]),
    ("turns[0].high_value", [Turn("user", "hello", high_value="yes")]),  # type: ignore[arg-type]
]


async def test_turns_that_cannot_be_kept_are_refused_by_name_and_none_of_them_is_written(
    engine: Engine, alex: Scope, database: str
) -> None:
    before = rows(database)

    for field, turns in BAD_TURNS:
        for key in (None, "k"):
            with pytest.raises(InvalidInput) as refused:
                await engine.record(alex, turns, idempotency_key=key)
            assert (refused.value.field, str(refused.value).partition(":")[0]) == (field, field)

    assert rows(database) == before


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("user", lambda: Scope("")),
        ("user", lambda: Scope(None)),  # type: ignore[arg-type]
        ("user", lambda: Scope("a\0")),
        ("user", lambda: Scope("\ud800")),
        ("session", lambda: Scope("alex", "")),
        ("session", lambda: Scope("alex", "x" * 10_000)),
        ("session", lambda: Scope("alex", 5)),  # type: ignore[arg-type]
        ("project", lambda: Scope("alex", project=" ")),
        ("project", lambda: Scope("alex", project=None)),  # type: ignore[arg-type]
        ("text", lambda: Query("")),
        ("text", lambda: Query("\t\n\r")),
        ("text", lambda: Query(5)),  # type: ignore[arg-type]
        ("text", lambda: Query("x" * 20_001)),
        ("text", lambda: Query("a\0b")),
        ("text", lambda: Query("\udfff")),
        ("scope", lambda: Query("x", scope="everybody")),  # type: ignore[arg-type]
        ("scope", lambda: Query("x", scope=["user"])),  # type: ignore[arg-type]
        ("kinds", lambda: Query("x", kinds=("memoir",))),  # type: ignore[arg-type]
        ("kinds", lambda: Query("x", kinds="turn")),  # type: ignore[arg-type]
        ("kinds", lambda: Query("x", kinds=None)),  # type: ignore[arg-type]
        ("kinds", lambda: MemoryFilter(kinds="fact")),  # type: ignore[arg-type]
        ("status", lambda: MemoryFilter(status="active")),  # type: ignore[arg-type]
        ("limit", lambda: Query("x", limit=0)),
        ("limit", lambda: Query("x", limit=-1)),
        ("limit", lambda: Query("x", limit=10**12)),
        ("limit", lambda: Query("x", limit="10")),  # type: ignore[arg-type]
        ("limit", lambda: Query("x", limit=True)),
        ("budget", lambda: Query("x", budget=-5)),
        ("budget", lambda: Query("x", budget=10**9)),
        ("budget", lambda: Query("x", budget=1.5)),  # type: ignore[arg-type]
        ("max_turns", lambda: Query("x", max_turns=-1)),
        ("turn_chars", lambda: Query("x", turn_chars=1)),
        ("recent", lambda: Query("x", recent=-1)),
        ("recency", lambda: Query("x", recency=-0.1)),
        ("recency", lambda: Query("x", recency=float("nan"))),
        ("as_of", lambda: Query("x", as_of="2026-01-01")),  # type: ignore[arg-type]
        ("as_of", lambda: Query("x", as_of=datetime(1, 1, 1, tzinfo=AT))),
        ("exclude", lambda: Query("x", exclude="monday#0")),  # type: ignore[arg-type]
        ("exclude", lambda: Query("x", exclude=(5,))),  # type: ignore[arg-type]
    ],
)
def test_a_value_that_cannot_be_used_is_refused_when_it_is_made(field: str, make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()

    assert refused.value.field == field
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "a\0b", "\ud800", 5])
async def test_a_bad_idempotency_key_is_refused_and_nothing_is_written(
    engine: Engine, alex: Scope, database: str, key: Any
) -> None:
    with pytest.raises(InvalidInput, match=r"^idempotency_key: "):
        await engine.record(alex, [("user", "hello")], idempotency_key=key)

    assert set(rows(database).values()) == {0}


async def test_bad_numbers_and_ids_are_refused_by_name(engine: Engine, alex: Scope) -> None:
    await engine.record(alex, [("user", "hello")])
    calls: list[tuple[str, dict[str, Any]]] = [
        ("limit", {"limit": 0}),
        ("limit", {"limit": -1}),
        ("limit", {"limit": 1001}),
        ("limit", {"limit": "5"}),
        ("limit", {"limit": None}),
        ("before", {"before": "5"}),
        ("before", {"before": 10**12}),
        ("before", {"before": -1}),
    ]
    for field, options in calls:
        with pytest.raises(InvalidInput) as refused:
            await engine.history(alex, **options)
        assert refused.value.field == field

    for request_id in ("", "nonsense", None, 5):
        with pytest.raises(InvalidInput, match=r"^request_id: "):
            await engine.explain(alex, request_id)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^session: "):
        await engine.history(Scope("alex"))


async def test_what_is_not_there_is_said_by_name(engine: Engine, alex: Scope) -> None:
    await engine.record(alex, [("user", "hello")])

    with pytest.raises(NotFound, match="'tuesday'"):
        await engine.history(Scope("alex", "tuesday"))
    with pytest.raises(NotFound, match="'tuesday'"):
        await engine.forget(Scope("alex", "tuesday"))
    with pytest.raises(NotFound, match="has no request"):
        await engine.explain(alex, str(uuid4()))
    assert (await engine.forget(Scope("nobody"))).total == 0
    assert [line async for line in engine.export(Scope("nobody"))] == []
    assert not (await engine.recall(Scope("nobody", "never"), "anything")).hits


QUESTIONS = (
    *(
        "the and of",
        "?!",
        "...",
        "🎈🎈",
        "'",
        "''",
        "\\",
        "a:b",
        "a & b | !c",
        "x:*",
        "foo<->bar",
        "'; DROP TABLE turn",
    ),
    *("%(scope)s %s %%", "{}", "$1", "的了是", "ı İ ß ﬁ", "\u200b\u200d", "e\u0301", "x " * 10_000),
    *("o'5 don't", "1,000.5-3:7", "-", "_", "NULL", "a" * 20_000, "字" * 20_000, "\u202eevil", "\U0010ffff"),
)


async def test_any_question_can_be_asked(engine: Engine, alex: Scope) -> None:
    await engine.record(alex, [("user", "the code word is heron"), ("assistant", "noted: o'5 \\ a:b")])

    for query in QUESTIONS:
        recall = await engine.recall(alex, query)
        context = await engine.context(alex, query)
        assert (await engine.explain(alex, recall.request_id)).query == query
        assert context.tokens <= context.recall.query.budget


@given(texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1))
@EXAMPLES
async def test_whatever_text_can_be_kept_comes_back_letter_by_letter(engine: Engine, texts: list[str]) -> None:
    scope = Scope("alex", uuid4().hex)
    said = [text for text in texts if text.strip()] or ["nothing"]

    await engine.record(scope, [("user", text) for text in said])
    await engine.record(scope, [("user", text) for text in (said * 200)[:200]])

    kept = [turn.text for turn in await engine.history(scope, limit=1000)]
    assert kept == said + (said * 200)[:200]
    assert (await engine.recall(scope, said[0])).query.text == said[0]


@given(
    data=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(-1e15, 1e15)  # jsonb keeps the decimal digits, not the bits
            | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "\\u0000", "'"]), inner),
            max_leaves=10,
        ),
    )
)
@EXAMPLES
async def test_whatever_data_can_be_kept_comes_back_as_it_was(engine: Engine, data: dict[str, Any]) -> None:
    scope = Scope("alex", uuid4().hex)

    await engine.record(scope, Turn("tool", "see data", data=data))
    await engine.record(scope, [Turn("tool", "see data", data=data)] * 200)

    assert all(turn.data == data for turn in await engine.history(scope, limit=1000))


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=23, minutes=59))),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=53, seconds=28))),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=1))),
        datetime(1969, 12, 31, 23, 59, 59),
    ],
)
async def test_odd_times_are_kept_to_the_microsecond_and_a_naive_one_is_utc(
    engine: Engine, alex: Scope, at: datetime
) -> None:
    await engine.record(alex, Turn("user", "tick", at=at))
    await engine.record(alex, [Turn("user", "tick", at=at)] * 200)

    expected = at if at.tzinfo else at.replace(tzinfo=UTC)
    assert {turn.at for turn in await engine.history(alex, limit=1000)} == {expected}
    assert (await engine.context(alex, Query("tick", as_of=at))).lines


async def test_turns_may_come_from_a_generator_also_with_a_key(engine: Engine, alex: Scope) -> None:
    def said() -> Any:
        yield ("user", "hello")
        yield ["assistant", "hello back"]

    first = await engine.record(alex, said(), idempotency_key="k")
    again = await engine.record(alex, said(), idempotency_key="k")

    assert (first.count, first.replayed, again.replayed) == (2, False, True)
    assert len(await engine.history(alex)) == 2


async def test_a_turn_of_a_million_characters_is_kept_found_and_cut_to_fit(engine: Engine, alex: Scope) -> None:
    text = "the code word is heron. " + "字x " * 300_000

    await engine.record(alex, [("user", text[:1_000_000])])

    assert (await engine.history(alex))[0].text == text[:1_000_000]
    context = await engine.context(alex, Query("code word", budget=1000, recent=0))
    assert "heron" in context.text
    assert context.tokens <= 1000


# DSNs ----------------------------------------------------------------------------------------------------------------


async def opened(**given: Any) -> None:
    async with connect(worker=False, **given):
        raise AssertionError("it should not have connected")


@pytest.mark.parametrize(
    "dsn", ["nonsense", "postgresql://[::1", "mysql+hunter2://host/db", "postgres//alex:hunter2@host/db", "a=b hunter2"]
)
async def test_a_connection_string_that_is_none_is_refused_without_being_quoted(dsn: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^MEMORY_DB_CONNECTION_STRING: ") as refused:
        await opened(dsn=dsn)
    assert "hunter2" not in str(refused.value)

    with pytest.raises(InvalidSetting, match=r"^MEMORY_DB_ADMIN_CONNECTION_STRING: "):
        await opened(dsn="host=localhost", admin_dsn=dsn)


@pytest.mark.parametrize(
    "dsn", ["postgresql://alex:hunter2@127.0.0.1:1/x", "host=/nonexistent", "host=nowhere.invalid"]
)
async def test_a_server_that_does_not_answer_is_said_in_one_line_that_names_the_setting(dsn: str) -> None:
    with pytest.raises(StoreUnavailable, match="MEMORY_DB_CONNECTION_STRING") as refused:
        await opened(dsn=dsn)

    assert "\n" not in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_a_database_that_is_not_there_is_said_in_one_line_that_names_the_setting(database: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"\"no_such\" does not exist.*MEMORY_DB_CONNECTION_STRING"):
        await opened(dsn=psycopg.conninfo.make_conninfo(database, dbname="no_such"))


async def test_the_spelling_of_sqlalchemy_is_understood(database: str, alex: Scope) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(database)
    dsn = f"postgresql+psycopg://{parts['user']}@:{parts['port']}/{parts['dbname']}?host={parts['host']}"

    async with connect(dsn=dsn, embedder=FakeEmbedder(), worker=False) as memory:
        assert (await memory.record(alex, [("user", "hello")])).refs == ["monday#0"]
