"""Reports: what is counted over the users of a project, and that counts are all that leaves their scopes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Engine, InvalidInput, Lesson, Query, Scope, Turn, Upload, connect
from recollect.apps.chat.assistant import Assistant
from recollect.apps.chat.message import Ask
from recollect.flows.dependencies import Dependencies
from recollect.flows.maintain import build_report
from recollect.ports import Message
from recollect.providers.fake import FakeClock, FakeEmbedder, FakeReasoner
from recollect.settings import Settings
from recollect.values.report import Report, Week, hide_user_names
from recollect.values.scope import uuid7
from tests.citus_database import has_no_rows

NOON = datetime(2026, 5, 7, 12, tzinfo=UTC)
ROW: dict[str, Any] = {
    "session": "monday",
    "verb": "context",
    "query": "where do I live?",
    "scope_used": "user",
    "fts_hits": 3,
    "trgm_hits": 0,
    "vector_hits": 0,
    "hits_found": 4,
    "hits_used": 2,
    "used_fallback": False,
    "retrieval_path": "hybrid",
    "context_items": 3,
    "estimated_tokens": 500,
    "budget_tokens": 2000,
    "truncated": False,
    "latency_retrieval_ms": 10,
    "latency_llm_ms": None,
    "model": None,
    "error_stage": None,
}


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, embedder=FakeEmbedder(), clock=FakeClock(NOON), worker=False) as engine:
        yield engine


@pytest.fixture
def deps(memory: Engine) -> Dependencies:
    return memory._deps


async def ask(deps: Dependencies, user: str = "alex", project: str = "default", ago: float = 0, **given: Any) -> None:
    """A request some days ago."""
    scope = Scope(user, project=project)
    trace = given.pop("trace", {"hits": [], "memories": [], "episodes": [], "packed": None})
    place = {"id": uuid7(), "project": project, "user": user, "created_at": NOON - timedelta(days=ago)}
    await deps.store.add_requests(scope.id, [{**ROW, **place, **given, "trace": json.dumps(trace)}])


def gauge(told: Report, name: str) -> float | None:
    [found] = [gauge for gauge in (*told.triggers, *told.goals) if gauge.name == name]
    return found.value


async def test_requests_of_all_users_of_the_project_are_counted_and_no_others(deps: Dependencies) -> None:
    await ask(deps, "alex")
    await ask(deps, "alex", session=None, verb="recall", ago=1)
    await ask(deps, "robin", ago=6.4)
    await ask(deps, "robin", ago=6.6)  # the day before the first
    await ask(deps, "alex", project="other")

    told = await build_report(deps, "default", 7)

    counted = told.totals
    assert (counted.requests, counted.users, counted.sessions, counted.contexts) == (3, 2, 2, 2)
    assert [day.requests for day in told.days] == [1, 0, 0, 0, 0, 1, 1]
    assert [day.users for day in told.days] == [1, 0, 0, 0, 0, 1, 1]
    assert (await build_report(deps, "default", 8)).totals.requests == 4
    assert (await build_report(deps, "nobody", 7)).totals.requests == 0


async def test_hits_ways_latencies_tokens_and_errors_are_counted(deps: Dependencies) -> None:
    await ask(deps, fts_hits=2, hits_used=0, latency_retrieval_ms=4, truncated=True)
    await ask(deps, used_fallback=True, retrieval_path="vector", latency_retrieval_ms=60, latency_llm_ms=4000)
    await ask(deps, error_stage="retrieval", latency_retrieval_ms=10)
    await ask(deps, error_stage="llm_reply", retrieval_path="fts", latency_retrieval_ms=5000, verb="recall")

    told = await build_report(deps, "default", 7)

    counted = told.totals
    assert (counted.few_words, counted.fallback, counted.only_vectors, counted.hit) == (1, 1, 1, 3)
    assert (counted.hits_found, counted.hits_used, counted.truncated) == (16, 6, 1)
    assert (counted.tokens, counted.budget) == (1500, 6000)
    assert (counted.retrieval_p50, counted.retrieval_p95, counted.whole_p95) == (10, 5000, 5000)
    assert (counted.llm_timed, counted.llm_p50, counted.llm_p95) == (1, 4000, 4000)
    assert told.paths == {"hybrid": 2, "fts": 1, "vector": 1}
    assert told.errors == {"llm_reply": 1, "retrieval": 1}
    assert {name: count for name, count in told.latencies.items() if count} == {
        "< 5 ms": 1,
        "< 25 ms": 1,
        "< 100 ms": 1,
        "3,000 ms and more": 1,
    }
    assert told.days[-1].retrieval_p95 == 5000


SUMMARY = {"episodes": ["monday#0-9"], "memories": [{"source": "memory:1"}], "hits": [{"source": "monday#3"}]}


@pytest.mark.parametrize(
    ("trace", "is_only"),
    [
        ({**SUMMARY, "packed": ["monday#0-9"]}, True),
        ({**SUMMARY, "packed": ["memory:1", "monday#12"]}, True),  # the other turn was just said, not found
        ({**SUMMARY, "packed": ["memory:1", "monday#3"]}, False),
        ({**SUMMARY, "packed": ["monday#12"]}, False),
        ({**SUMMARY, "packed": []}, False),
    ],
)
async def test_a_context_of_summaries_alone_has_no_turn_that_was_found(
    deps: Dependencies, trace: dict[str, Any], is_only: bool
) -> None:
    await ask(deps, trace=trace)
    await ask(deps, trace={**SUMMARY, "packed": None}, verb="recall")

    told = await build_report(deps, "default", 7)

    assert gauge(told, "only summaries in the context") == float(is_only)


async def test_a_follow_up_is_a_later_and_different_question_of_a_session(deps: Dependencies) -> None:
    asked: list[dict[str, Any]] = [
        {"query": "where do I live?"},  # the first
        {"query": "where do I live?", "hits_used": 0},  # asked once more by another verb
        {"query": "and my name?"},
        {"query": "and my boss?", "hits_used": 0},
        {"query": "and my desk?", "error_stage": "llm_reply"},
        {"query": "anything?", "session": None},
    ]
    for hour, given in enumerate(asked):
        await ask(deps, ago=0.4 - hour / 24, **given)
    await ask(deps, user="robin", query="another's first")

    counted = (await build_report(deps, "default", 7)).totals

    assert (counted.follow_ups, counted.follow_ups_helped) == (3, 1)


async def test_what_was_said_learned_and_turned_away_is_counted_from_the_real_thing(memory: Engine) -> None:
    monday = Scope("alex", "monday")
    await memory.record(monday, [("user", "My name is Alex."), ("assistant", "Hello."), ("user", "I live in Leeds.")])
    await memory.record(Scope("robin", "tuesday"), [("user", "What is my name?")])
    await memory.record(Scope("robin", "x", "other"), [("user", "My name is Robin.")])
    await memory.settle(monday)
    await memory.settle(Scope("robin", "tuesday"))
    await memory.context(monday, Query("where do I live?"))

    told = await build_report(memory._deps, "default", 7)

    assert (told.totals.requests, told.totals.conversations, told.totals.questions) == (1, 2, 3)
    assert gauge(told, "questions per session") == 1.5
    assert gauge(told, "requests that used memory") == 1
    assert told.learned == {"rules": 2}
    assert told.rejected == await memory.rejections(monday) | await memory.rejections(Scope("robin"))
    assert told.rejected
    assert (told.totals.due, told.totals.parked) == (0, 0)


@pytest.mark.parametrize(
    ("state", "counted"),
    [
        ("due = true", (1, 0, 0)),
        ("due = false, last_error = 'no', failed_at = now()", (0, 1, 0)),
        ("due = false, parked = '{reason}', last_error = 'no', failed_at = now()", (0, 0, 1)),
    ],
)
async def test_work_that_waits_fails_or_is_parked_is_counted(
    memory: Engine, database: str, state: str, counted: tuple[int, int, int]
) -> None:
    await memory.record(Scope("alex", "monday"), [("user", "hello")])
    with psycopg.connect(database) as owner:
        owner.execute(f"UPDATE recollect.conversation SET {state}".encode())

    totals = (await build_report(memory._deps, "default", 1)).totals

    assert (totals.due, totals.failing, totals.parked) == counted


@pytest.mark.parametrize(("project", "days"), [("", 7), ("x" * 201, 7), ("default", 0), ("default", 367)])
async def test_a_project_without_a_name_or_days_without_number_are_refused(
    deps: Dependencies, project: str, days: int
) -> None:
    with pytest.raises(InvalidInput):
        await build_report(deps, project, days)


# The wall -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def login(database: str) -> Iterator[psycopg.Connection[Any]]:
    """Our role, as a login, outside any scope."""
    dsn = make_conninfo(database, user="recollect_app", options="-c search_path=recollect,public")
    with psycopg.connect(dsn) as connection:
        yield connection


async def test_counts_leave_the_scopes_and_texts_do_not(deps: Dependencies, login: psycopg.Connection[Any]) -> None:
    await ask(deps, query="a secret question", session="a secret session")
    span = ["default", NOON - timedelta(days=1), NOON + timedelta(days=1)]
    functions = login.execute("SELECT proname, pronargs FROM pg_proc WHERE proname ~ '^report_'").fetchall()

    told = [
        login.execute(f"SELECT * FROM {name}({', '.join(['%s'] * arguments)})".encode(), [*span, [5]][:arguments])
        for name, arguments in functions
    ]

    assert len(told) == 7
    everything = str([cursor.fetchall() for cursor in told])
    assert "hybrid" in everything
    assert "secret" not in everything
    assert "alex" not in everything
    assert has_no_rows(login, "request")


async def test_questions_to_databases_are_counted_by_week_asked_asked_back_and_corrected(memory: Engine) -> None:
    """Whether learning helps: of the questions asked, fewer should be asked back."""
    understood = Turn("assistant", "42", data={"host": "sql", "sql": "SELECT 42", "clarifications": []})
    asked_back = Turn("assistant", "Which?", data={"host": "sql", "sql": "", "clarifications": [{"term": "active"}]})
    clock = memory._deps.clock
    assert isinstance(clock, FakeClock)
    clock.advance(weeks=-20)
    for passed, answers in ((18, [asked_back]), (2, [asked_back, asked_back, understood]), (0, [understood])):
        await memory.record(Scope("alex", f"{passed}"), [("user", "how many?"), *answers])
        await memory.record(Scope("robin", f"{passed}", "other"), [("user", "how many?"), *answers])
        clock.advance(weeks=passed)
    await memory.learn(Scope("robin"), Lesson("SELECT 1", key="how many?", kind="correction", source="correction"))

    told = await memory.report("default", days=7)

    monday = NOON.date() - timedelta(days=NOON.weekday())
    assert told.asking == [
        Week(monday - timedelta(weeks=2), asked=3, asked_back=2),
        Week(monday, asked=1, corrected=1, repeated=1, repeated_answered=1),
    ]


async def test_what_is_kept_is_counted_for_each_user_of_the_project_the_largest_first(memory: Engine) -> None:
    await memory.record(Scope("alex", "monday"), [("user", "hello"), ("assistant", "hi")])
    await memory.record(Scope("robin", "monday"), [("user", "a long story " * 50)])
    await memory.record(Scope("kim", "monday", "other"), [("user", "not of this project")])
    await memory.learn(Scope("alex"), Lesson("Leeds", key="city", kind="identity"))
    await memory.documents.add(Scope("alex"), Upload("plan.txt", b"x" * 5000), owner="project")

    told = await memory.report("default", days=1)

    counted = [(each.user, each.turns, each.memories, each.documents) for each in told.storage]
    assert counted == [(None, 0, 0, 1), ("robin", 1, 0, 0), ("alex", 2, 1, 0)]
    assert told.storage[0].bytes == 5000
    assert not {"alex", "robin"} & {each.user for each in hide_user_names(told).storage}


async def test_messages_without_a_search_are_counted_apart(memory: Engine, deps: Dependencies) -> None:
    await ask(deps)
    assistant = Assistant(memory, deps.settings)
    for text in ("Hello!", "Please book the bus with Arriva.", "What did I just say?"):
        await assistant.answer(Scope("alex", "monday"), Ask(text))

    told = await build_report(deps, "default", 7)

    assert (told.totals.messages, told.totals.requests) == (3, 1)
    assert sum(told.paths.values()) == sum(told.latencies.values()) == 1
    assert told.days[-1].requests == 1


async def test_a_refused_question_used_no_memory(memory: Engine, deps: Dependencies) -> None:
    scope, assistant = Scope("alex", "monday"), Assistant(memory, deps.settings)
    await memory.record(scope, [Turn("user", "I keep bees in Wales.")])
    await assistant.answer(scope, Ask("What is the capital of Mongolia?"))
    assert (await build_report(deps, "default", 7)).totals.hit == 0
    await assistant.answer(scope, Ask("Where are my bees?"))
    assert (await build_report(deps, "default", 7)).totals.hit == 1


async def test_complaints_are_corrections_ratings_and_reproaches(memory: Engine, deps: Dependencies) -> None:
    scope = Scope("alex", "monday")
    said = (
        "My name is Alex.",
        "You forgot my name!",
        "我已经告诉你了。",
        "Don't forget the milk.",
        "I told you that I am 40.",
    )
    await memory.record(scope, [Turn("user", text) for text in said])
    await memory.settle(scope)
    [name] = await memory.memories(scope, key="name")
    await memory.correct(scope, name.id, "Alexander")
    await memory.learn(scope, Lesson("SELECT 1", key="how many?", kind="question", data={"rating": "down"}))

    totals = (await build_report(deps, "default", 7)).totals

    assert (totals.corrections, totals.thumbs_down, totals.reproaches) == (1, 1, 2)
    assert gauge(await build_report(deps, "default", 14), "complaints") == 2
    assert (await build_report(deps, "other", 7)).totals.complaints == 0


async def test_summaries_are_timed_if_a_model_writes_them(settings: Settings) -> None:
    def reply(messages: Sequence[Message]) -> str:
        return '{"summary": "Lines about bees."}' if "summary" in messages[0].text else ""

    reasoner = FakeReasoner(reply)
    async with connect(settings, reasoner=reasoner, clock=FakeClock(NOON), worker=False) as engine:
        scope = Scope("alex", "monday")
        await engine.record(scope, [Turn("user", f"Line {n} is about bees.") for n in range(25)])
        await engine.settle(scope)
        totals = (await build_report(engine._deps, "default", 7)).totals
        written = await engine.episodes(scope)
    assert totals.summaries == len(written) > 0
    assert totals.summary_ms >= 0
