"""context: what goes into the prompt fits, is cited, and is never cut inside a character."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from recollect import Context, Engine, Query, Scope, connect
from recollect.recall.lexemes import count_tokens
from recollect.settings import Settings
from tests.bounds import bound

MONDAY = Scope("alex", "monday")
WORDS = (
    "bird",
    "heron",
    "字节",
    "鸟类",
    "🦩",
    "👩‍👩‍👧",
    "e\u0301",
    "क्षि",
    "\u202e",
    "'",
    "[1]",
    "\n",
    ". ",
    "x" * 90,
    "。",
)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(replace(settings, embedder="none"), worker=False) as memory:
        yield memory


def assert_sound(context: Context) -> None:
    """What holds for every context."""
    query = context.recall.query
    assert count_tokens(context.text) == context.tokens <= query.budget
    context.text.encode()
    assert "\ufffd" not in context.text
    assert [line.number for line in context.lines] == list(range(1, len(context.lines) + 1))
    assert len({line.source for line in context.lines}) == len(context.lines)
    whole = {hit.source: hit.text for hit in context.recall.hits}
    for line in context.lines:
        assert line.text in context.text
        said = line.text.removesuffix(" (outdated)").removesuffix(" (maybe outdated)")
        if line.section == "recalled":
            assert said in whole[line.source]
            assert line.excerpt == (said != whole[line.source])
        if line.section in ("recalled", "recent"):
            assert len(said) <= query.turn_chars
    recent = [line.order for line in context.lines if line.recent]
    assert recent == sorted(recent)
    assert all(out.reason for out in context.left_out)
    assert not {out.source for out in context.left_out} & {line.source for line in context.lines}


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=300).map(" ".join), min_size=1, max_size=12),
    options=st.fixed_dictionaries(
        {"budget": st.integers(1, 600), "turn_chars": st.integers(50, 900), "recent": st.none() | st.integers(0, 5)},
        optional={"max_turns": st.integers(0, 4), "scope": st.sampled_from(["auto", "session", "user"])},
    ),
)
@settings(
    max_examples=bound(25, 600),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate],
)
async def test_a_context_keeps_its_budget_whatever_was_said(
    engine: Engine, texts: list[str], options: dict[str, Any]
) -> None:
    scope = Scope("alex", uuid4().hex)
    await engine.record(scope, [("user", text) for text in texts if text.strip()] or [("user", "bird")])

    context = await engine.context(scope, Query("which bird 鸟类?", **options))

    assert_sound(context)
    if options.get("max_turns") is not None:
        assert sum(not line.recent for line in context.lines) <= options["max_turns"]
    if options["recent"] is not None:
        assert sum(line.recent for line in context.lines) <= options["recent"]


async def test_what_was_found_comes_first_and_what_was_just_said_last_in_order(engine: Engine) -> None:
    await engine.record(Scope("alex", "sunday"), [("user", "the heron is my bird")])
    await engine.record(MONDAY, [("user", f"hello number {n}") for n in range(20)])

    context = await engine.context(MONDAY, Query("which bird?", recent=3))

    assert [line.source for line in context.lines] == ["sunday#0", "monday#17", "monday#18", "monday#19"]
    assert context.text.index("the heron") < context.text.index("Just said:") < context.text.index("number 17")
    assert [hit.source for hit in context.hits] == ["sunday#0"]
    assert_sound(context)


async def test_a_recent_turn_that_is_also_found_is_there_once(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", "the heron is my bird"), ("assistant", "noted")])

    context = await engine.context(MONDAY, "which bird?")

    assert context.text.count("the heron is my bird") == 1
    assert_sound(context)


async def test_without_a_session_nothing_was_just_said(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", "the heron is my bird")])

    context = await engine.context(Scope("alex"), "which bird?")

    assert [line.recent for line in context.lines] == [False]


async def test_what_does_not_fit_is_named_with_its_reason(engine: Engine) -> None:
    await engine.record(MONDAY, [("user", f"bird {n}: " + "feather " * 60) for n in range(8)])

    few = await engine.context(MONDAY, Query("bird", max_turns=2, recent=0))
    small = await engine.context(MONDAY, Query("bird", budget=150, recent=0))

    assert "only 2 turns were asked for" in {out.reason for out in few.left_out}
    assert len(few.lines) == 2
    assert small.left_out
    assert small.truncated
    assert_sound(small)


async def test_a_long_turn_enters_as_the_passage_that_speaks_to_the_question(engine: Engine) -> None:
    filler = "Nothing of note happened on this day. " * 60
    await engine.record(MONDAY, [("user", f"{filler}The heron nests behind the mill. {filler}")])

    context = await engine.context(MONDAY, Query("where does the heron nest?", turn_chars=300, recent=0))

    [line] = context.lines
    assert line.excerpt
    assert "The heron nests behind the mill." in line.text
    assert_sound(context)


async def test_an_empty_memory_gives_an_empty_text(engine: Engine) -> None:
    context = await engine.context(Scope("nobody", "never"), "anything?")

    assert (context.text, context.tokens, context.lines, context.hits) == ("", 0, (), [])
