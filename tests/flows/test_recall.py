"""recall: the right turns, from as far away as they should come, and why."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from recollect import Engine, NotFound, Query, Scope, Turn, connect
from recollect.flows import recall as recall_flow
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.recall.question import Question, analysed_part, read_question
from recollect.settings import Settings

MONDAY, TUESDAY = Scope("alex", "monday"), Scope("alex", "tuesday")


@pytest.fixture
async def by_words(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine without vectors: what it finds, it finds by words."""
    async with connect(replace(settings, embedder="none", retention_days=7), clock=clock, worker=False) as engine:
        yield engine


@pytest.fixture
async def hybrid(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(
        replace(settings, retention_days=7), embedder=FakeEmbedder(), clock=clock, worker=False
    ) as engine:
        yield engine


async def test_a_session_is_searched_alone_when_asked(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "the heron is my bird")])
    await by_words.record(TUESDAY, [("user", "the owl is my bird")])

    here = await by_words.recall(TUESDAY, Query("which bird?", scope="session"))
    everywhere = await by_words.recall(TUESDAY, Query("which bird?", scope="user"))

    assert ([hit.source for hit in here.hits], here.scope_used, here.widened) == (["tuesday#0"], "session", None)
    assert {hit.source: hit.tier for hit in everywhere.hits} == {"tuesday#0": "session", "monday#0": "user"}
    assert (everywhere.scope_used, everywhere.widened) == ("user", None)


async def test_auto_leaves_the_session_when_it_has_few_hits_and_says_so(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "the heron is my bird")])
    await by_words.record(TUESDAY, [("user", "good morning")])

    recall = await by_words.recall(TUESDAY, "which bird?")

    assert [hit.source for hit in recall.hits] == ["monday#0"]
    assert recall.scope_used == "user"
    assert "session" in (recall.widened or "")


async def test_auto_stays_in_a_session_that_has_enough(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "the heron is my bird")])
    await by_words.record(TUESDAY, [("user", f"bird number {n}") for n in range(3)])

    recall = await by_words.recall(TUESDAY, "which bird?")

    assert {hit.tier for hit in recall.hits} == {"session"}
    assert (recall.scope_used, recall.widened) == ("session", None)


@pytest.mark.parametrize(
    "question",
    [
        *("which bird did I name before?", "which bird was it last time?", "the bird I spoke of earlier"),
        *("之前说的 bird", "以前的 bird 是什么", "上次的 bird"),
    ],
)
async def test_auto_leaves_the_session_when_the_question_speaks_of_the_past(by_words: Engine, question: str) -> None:
    await by_words.record(MONDAY, [("user", "the heron is my bird")])
    await by_words.record(TUESDAY, [("user", f"bird number {n}") for n in range(3)])

    recall = await by_words.recall(TUESDAY, question)

    assert "monday#0" in [hit.source for hit in recall.hits]
    assert "earlier" in (recall.widened or "")


async def test_a_question_that_was_recorded_first_does_not_find_itself(hybrid: Engine) -> None:
    question = "what is the code word?"
    await hybrid.record(MONDAY, [("user", "the code word is heron"), ("assistant", "noted"), ("user", question)])

    assert question not in [hit.text for hit in (await hybrid.recall(MONDAY, question)).hits]
    assert question not in (await hybrid.context(MONDAY, question)).text
    assert (await hybrid.recall(MONDAY, question)).hits[0].source == "monday#0"


async def test_an_old_question_with_the_same_words_is_found(by_words: Engine) -> None:
    question = "what is the code word?"
    await by_words.record(MONDAY, [("user", question), ("assistant", "heron"), ("user", "ah"), ("user", question)])

    assert "monday#0" in [hit.source for hit in (await by_words.recall(MONDAY, question)).hits]


async def test_excluded_turns_are_not_found(hybrid: Engine) -> None:
    await hybrid.record(MONDAY, [("user", "the code word is heron"), ("user", "the code word is owl")])

    query = Query("code word", exclude=("monday#1", "tuesday#0", "nonsense", "monday#x", "monday#99999999999999999999"))

    assert [hit.source for hit in (await hybrid.recall(MONDAY, query)).hits] == ["monday#0"]
    assert "owl" not in (await hybrid.context(MONDAY, query)).text


async def test_chinese_is_found_by_pairs_of_characters(by_words: Engine) -> None:
    await by_words.record(
        MONDAY, [("user", "我对花生过敏，请记住。"), ("user", "明天下午三点开会"), ("user", "他喜欢足球")]
    )

    assert (await by_words.recall(MONDAY, "我能吃花生酱吗？")).hits[0].source == "monday#0"
    assert (await by_words.recall(MONDAY, "几点开会？")).hits[0].source == "monday#1"


async def test_a_misspelt_word_is_found_by_trigrams_and_the_hit_says_so(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "The quarterly budget was approved."), ("user", "Lunch is at noon.")])

    recall = await by_words.recall(MONDAY, "qarterly budgt")

    assert (recall.path, recall.hits[0].source) == ("trgm", "monday#0")
    assert recall.hits[0].arms["trigram"].rank == 1
    assert "a word that is spelt similarly" in recall.hits[0].why
    assert recall.counts["trigram"] >= 1


async def test_as_of_a_time_later_turns_were_not_said(by_words: Engine) -> None:
    first = datetime(2025, 12, 1, tzinfo=UTC)
    days = [Turn("user", f"the price of day {n} is known", at=first + timedelta(days=n)) for n in range(5)]
    await by_words.record(MONDAY, days)

    recall = await by_words.recall(MONDAY, Query("price", as_of=first + timedelta(days=2)))
    context = await by_words.context(MONDAY, Query("price", as_of=first + timedelta(days=2)))

    assert sorted(hit.source for hit in recall.hits) == ["monday#0", "monday#1", "monday#2"]
    assert sorted(line.source for line in context.lines) == ["monday#0", "monday#1", "monday#2"]


async def test_no_kinds_find_nothing(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "the code word is heron")])

    assert not (await by_words.recall(MONDAY, Query("code word", kinds=()))).hits


@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_no_more_hits_than_asked_for_and_the_best_of_them(by_words: Engine, limit: int) -> None:
    await by_words.record(MONDAY, [("user", f"word number {n}") for n in range(20)])
    await by_words.record(MONDAY, [("user", "the code word")])

    recall = await by_words.recall(MONDAY, Query("code word", limit=limit))

    assert (len(recall.hits), recall.found) == (min(limit, 21), 21)
    assert recall.hits[0].source == "monday#20"
    assert [hit.score for hit in recall.hits] == sorted((hit.score for hit in recall.hits), reverse=True)


async def test_being_recent_counts_only_when_asked(by_words: Engine) -> None:
    first = datetime(2025, 12, 1, tzinfo=UTC)
    for n in range(3):
        await by_words.record(Scope("alex", f"day{n}"), Turn("user", "my bird is back", at=first + timedelta(hours=n)))

    plain = await by_words.recall(Scope("alex"), "bird")
    fresh = await by_words.recall(Scope("alex"), Query("bird", recency=1))

    assert {hit.parts["recency"] for hit in plain.hits} == {0.0}
    assert [hit.source for hit in fresh.hits] == ["day2#0", "day1#0", "day0#0"]


async def test_an_expired_conversation_is_not_found_in_any_way(by_words: Engine, clock: FakeClock) -> None:
    await by_words.record(MONDAY, [("user", "the code word is heron")])
    clock.advance(days=6)
    await by_words.record(TUESDAY, [("user", "good morning")])
    clock.advance(days=2)

    assert not (await by_words.recall(TUESDAY, "code word before")).hits
    assert "heron" not in (await by_words.context(TUESDAY, "code word")).text
    with pytest.raises(NotFound):
        await by_words.history(MONDAY)


async def test_a_hit_says_how_it_was_found_and_its_parts_add_up(hybrid: Engine) -> None:
    await hybrid.record(MONDAY, [("user", "the code word is heron"), ("assistant", "noted"), ("user", "I prefer tea")])

    recall = await hybrid.recall(MONDAY, "what is the code word?")

    best = recall.hits[0]
    assert (best.source, best.tier, best.text) == ("monday#0", "session", "the code word is heron")
    assert (best.arms["bm25"].rank, best.words) == (1, ("code", "word"))
    assert best.arms["vector"].rank >= 1
    assert best.why.startswith("words code, word (#1 by words)")
    assert recall.path == "hybrid"
    assert set(recall.terms) == {"code", "word"}
    for hit in recall.hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()), abs=0.001)


@pytest.mark.parametrize("verb", ["recall", "context"])
async def test_explain_tells_the_same_afterwards(hybrid: Engine, verb: str) -> None:
    await hybrid.record(MONDAY, [("user", "the code word is heron"), ("assistant", "noted"), ("user", "I prefer tea")])
    answer = await getattr(hybrid, verb)(MONDAY, Query("code word", budget=200))
    recall = answer if verb == "recall" else answer.recall

    told = await hybrid.explain(MONDAY, str(answer.request_id))

    assert (told.verb, told.query, told.session, told.path) == (verb, "code word", "monday", recall.path)
    assert (told.scope_used, told.widened, told.found) == (recall.scope_used, recall.widened, recall.found)
    assert told.terms == recall.terms
    assert [(h.source, h.tier, h.score, h.arms, h.parts, h.words, h.why, h.text) for h in told.hits] == [
        (h.source, h.tier, h.score, h.arms, h.parts, h.words, h.why, h.text) for h in recall.hits
    ]


async def test_what_was_forgotten_is_not_quoted_by_an_explanation(by_words: Engine) -> None:
    await by_words.record(MONDAY, [("user", "the code word is heron")])
    answer = await by_words.context(TUESDAY, "code word before")
    assert "heron" in answer.text

    await by_words.forget(MONDAY)

    told = await by_words.explain(TUESDAY, answer.request_id)
    assert [hit.text for hit in told.hits] == [None]
    assert "heron" not in repr(told)


async def test_another_s_request_is_not_found(by_words: Engine) -> None:
    answer = await by_words.recall(MONDAY, "code word")

    with pytest.raises(NotFound, match="'blake' has no request"):
        await by_words.explain(Scope("blake", "monday"), answer.request_id)


# Giant scopes --------------------------------------------------------------------------------------------------------


@pytest.fixture
def giants_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_flow, "MOST_EXACT", 50)
    monkeypatch.setattr(recall_flow, "MOST_UNCOVERED", 10)
    monkeypatch.setattr(recall_flow, "MOST_CHAPTERS", 2)


def chapters(database: str) -> list[tuple[int, int]]:
    with psycopg.connect(database) as owner:
        return owner.execute("SELECT first_turn, last_turn FROM recollect.chapter ORDER BY 1").fetchall()


def long_talk() -> list[tuple[str, str]]:
    said = [("user", f"verse {n} of a very long song") for n in range(200)]
    said[150] = ("user", "my locker number is heron 4711")
    return said


@pytest.mark.usefixtures("giants_are_small")
async def test_a_giant_scope_is_searched_by_chapter_and_its_tail_too(hybrid: Engine, database: str) -> None:
    await hybrid.record(MONDAY, long_talk())  # type: ignore[arg-type]

    await hybrid.settle(MONDAY)
    assert chapters(database) == [(0, 63), (64, 127), (128, 191), (192, 199)]
    assert (await hybrid.recall(MONDAY, "locker number")).hits[0].source == "monday#150"
    assert (await hybrid.recall(TUESDAY, "locker number")).hits[0].source == "monday#150"

    await hybrid.record(MONDAY, [("user", "my password hint is ostrich")])
    assert (await hybrid.recall(MONDAY, "password hint")).hits[0].source == "monday#200"

    await hybrid.settle(MONDAY)
    assert chapters(database) == [(0, 63), (64, 127), (128, 191), (192, 200)]
    assert (await hybrid.recall(MONDAY, "password hint")).hits[0].source == "monday#200"


@pytest.mark.usefixtures("giants_are_small")
async def test_a_recall_of_a_giant_scope_has_its_chapters_written(hybrid: Engine, database: str) -> None:
    await hybrid.record(MONDAY, long_talk())  # type: ignore[arg-type]

    assert (await hybrid.recall(MONDAY, "locker number")).hits[0].source == "monday#150"
    await asyncio.gather(*hybrid._deps.background_tasks._running.values())

    assert len(chapters(database)) == 4
    assert (await hybrid.recall(MONDAY, "locker number")).hits[0].source == "monday#150"


@pytest.mark.usefixtures("giants_are_small")
@pytest.mark.parametrize("scope", [MONDAY, Scope("alex")])
async def test_a_forgotten_giant_leaves_no_chapter(hybrid: Engine, database: str, scope: Scope) -> None:
    await hybrid.record(MONDAY, long_talk())  # type: ignore[arg-type]
    await hybrid.settle(MONDAY)
    await hybrid.recall(MONDAY, "locker number")

    receipt = await hybrid.forget(scope)

    assert (receipt.rows["chapter"], chapters(database)) == (4, [])
    assert not (await hybrid.recall(MONDAY, "locker number")).hits


async def test_what_has_expired_does_not_make_a_scope_giant(
    hybrid: Engine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_flow, "MOST_EXACT", 10)
    await hybrid.record(MONDAY, [("user", f"heron number {n}") for n in range(20)])
    clock.advance(days=8)
    await hybrid.record(TUESDAY, [("user", "the owl is my bird")])

    assert [hit.source for hit in (await hybrid.recall(Scope("alex"), "which owl?")).hits] == ["tuesday#0"]


async def test_long_queries_are_read_beside_the_loop(
    memory: Engine, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pasted page only the beginning and the end are analysed, and not in the thread that serves the others."""
    read_in: list[tuple[str, int]] = []

    def read(text: str) -> Question:
        read_in.append((threading.current_thread().name, len(text)))
        return read_question(text)

    monkeypatch.setattr("recollect.flows.recall.read_question", read)
    await memory.record(alex, [("user", "The spare key is in the blue drawer.")])
    page = "Nobody knows the answer. " * 700
    found = await memory.recall(alex, Query(f"Where is the spare key? {page}"))

    assert found.hits[0].text.startswith("The spare key")
    [(thread, chars)] = read_in
    assert thread.startswith("recollect-cpu")
    assert chars < 5_000


def test_a_question_after_a_pasted_page_is_read() -> None:
    page = "Nobody knows the answer. " * 700

    assert read_question(analysed_part(f"{page} When did that happen?")).when
    assert not read_question(analysed_part(page)).when
