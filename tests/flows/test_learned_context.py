"""context with all there is: terms, what is known, episodes, recalled turns and what was just said share one budget."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, get_args
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from recollect import Context, Engine, Lesson, Query, Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.recall.lexemes import count_tokens
from recollect.settings import Settings
from recollect.values.lesson import Owner
from tests.bounds import bound

ALEX = Scope("alex", "today", "acme")
SECTIONS = ("terms", "known", "episodes", "recalled", "recent")
WORDS = ("bird", "heron", "字节", "鸟类", "🦩", "e\u0301", "'", "[1]", "\n", ". ", "x" * 90, "。")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=80).map(" ".join).filter(str.strip)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    """Episodes come early here: of six turns the first four."""
    chosen = replace(settings, episode_every=6, episode_window=2)
    async with connect(chosen, embedder=FakeEmbedder(), worker=False) as memory:
        yield memory


@pytest.fixture
async def filled(engine: Engine) -> Engine:
    """Something for every section, and something of the project's."""
    old = Scope("alex", "old", "acme")
    talk = [("user", f"The heron of day {n} stood in the {place}.") for n, place in enumerate(["mill", "pond"] * 15)]
    await engine.record(old, talk)  # type: ignore[arg-type]
    await engine.record(ALEX, [("user", "Hello."), ("assistant", "Good day.")])
    await engine.settle(ALEX)
    await engine.learn(ALEX, Lesson("my heron stood at the pond", importance=0.3))
    await engine.learn(ALEX, Lesson("Paris", key="location", kind="identity", importance=0.9))
    await engine.learn(ALEX, Lesson("a bird that wades", key="heron", kind="definition"))
    await engine.learn(ALEX, Lesson("feed the heron", key="instruction", kind="instruction", owner="project"))
    await engine.learn(ALEX, Lesson("where we grind", key="mill", kind="definition", owner="project"))
    await engine.terms.load(ALEX, {"glossary": [{"term": "pond", "definition": "still water"}]})
    return engine


def by_section(context: Context) -> dict[str, list[str]]:
    return {name: [line.text for line in context.lines if line.section == name] for name in SECTIONS}


async def sources(engine: Engine, scope: Scope) -> set[str]:
    """Everything a line may name."""
    turns = {turn.ref for session in ("old", scope.session) if session for turn in await told(engine, scope, session)}
    episodes = {episode.ref for episode in await engine.episodes(Scope(scope.user, None, scope.project))}
    known = {m.ref for owner in get_args(Owner) for m in await engine.memories(scope, owner=owner)}
    return turns | episodes | known | {f"term:{term.ref}" for term in await engine.terms.find(scope)}


async def told(engine: Engine, scope: Scope, session: str) -> list[Any]:
    return await engine.history(Scope(scope.user, session, scope.project), limit=1000)


def assert_sound(context: Context) -> None:
    assert count_tokens(context.text) == context.tokens <= context.recall.query.budget
    assert [line.number for line in context.lines] == list(range(1, len(context.lines) + 1))
    assert len({line.source for line in context.lines}) == len(context.lines)
    order = [SECTIONS.index(line.section) for line in context.lines]
    assert order == sorted(order)
    for line in context.lines:
        assert line.text in context.text
    assert not {out.source for out in context.left_out} & {line.source for line in context.lines}
    shown = {line.source for line in context.lines}
    for hit in context.recall.episodes:
        covered = {f"{hit.episode.session}#{n}" for n in range(hit.episode.first, hit.episode.last + 1)}
        assert hit.source not in shown or not covered <= shown


async def test_every_section_is_there_and_every_line_has_a_source_that_exists(filled: Engine) -> None:
    context = await filled.context(ALEX, Query("which heron stood in the pond by the mill?", budget=400))

    lines = by_section(context)
    assert lines["terms"] == [
        "pond: still water (ontology)",
        "heron: a bird that wades",
        "mill: where we grind (project)",
    ]
    assert set(lines["known"]) == {"my heron stood at the pond", "location: Paris", "feed the heron (project)"}
    assert lines["episodes"]
    assert lines["recalled"]
    assert lines["recent"] == ["Hello.", "Good day."]
    assert {line.source for line in context.lines} <= await sources(filled, ALEX)
    assert_sound(context)


async def test_what_one_section_leaves_unused_flows_to_the_others(filled: Engine, engine: Engine) -> None:
    question = Query("which heron stood in the pond by the mill?", budget=150)
    turns_only = await engine.context(ALEX, replace(question, kinds=("turn",)))
    everything = await filled.context(ALEX, question)

    assert {line.section for line in turns_only.lines} == {"recalled", "recent"}
    recall = turns_only.recall
    assert [*recall.memories, *recall.episodes, *recall.resolved] == []
    shown = [len(by_section(context)["recalled"]) for context in (turns_only, everything)]
    assert shown[0] > shown[1] > 0
    assert turns_only.tokens > 100


async def test_what_is_known_may_fill_a_context_in_which_nothing_was_said(engine: Engine) -> None:
    scope = Scope("silent", "today", "acme")
    for n in range(26):
        await engine.learn(scope, Lesson(f"bird number {n} is called {chr(97 + n) * 5}", importance=0.8))

    context = await engine.context(scope, Query("bird?", budget=220))

    assert context.tokens > 220 * 0.7
    assert {line.section for line in context.lines} == {"known"}
    assert {out.source for out in context.left_out} | {line.source for line in context.lines} == {
        m.ref for m in await engine.memories(scope)
    }
    assert_sound(context)


async def test_an_episode_all_of_whose_turns_are_there_is_dropped(filled: Engine) -> None:
    question = "which heron stood in the pond by the mill?"
    roomy = await filled.context(ALEX, Query(question, budget=4000))
    tight = await filled.context(ALEX, Query(question, budget=400))

    assert roomy.recall.episodes
    assert by_section(roomy)["episodes"] == []
    assert by_section(tight)["episodes"]
    assert not any(out.source == hit.source for out in roomy.left_out for hit in roomy.recall.episodes)


@pytest.mark.parametrize(
    ("kinds", "sections"),
    [
        (("turn",), {"recalled", "recent"}),
        (("turn", "memory"), {"terms", "known", "recalled", "recent"}),
        (("turn", "episode"), {"episodes", "recalled", "recent"}),
    ],
)
async def test_only_the_kinds_that_were_asked_for_are_there(filled: Engine, kinds: Any, sections: set[str]) -> None:
    context = await filled.context(ALEX, Query("which heron stood in the pond by the mill?", budget=400, kinds=kinds))

    assert {line.section for line in context.lines} == sections
    assert_sound(context)


async def test_a_meaning_of_this_session_comes_before_what_is_remembered_each_with_its_own_source(
    filled: Engine,
) -> None:
    meant = {"herons": "the boats", "pond": "the harbour", "%": "per cent"}
    context = await filled.context(ALEX, Query("which heron is in the pond?", definitions=meant))

    terms = {line.source: line.text for line in context.lines if line.section == "terms"}
    assert terms["term:session:herons"] == "herons: the boats (session)"
    assert terms["term:session:pond"] == "pond: the harbour (session)"
    assert "a bird that wades" not in context.text
    assert "still water" not in context.text


async def test_a_term_that_is_used_by_two_names_is_told_once(filled: Engine) -> None:
    lake = {"term": "lake", "definition": "deep water", "aliases": ["tarn", "mere"]}
    await filled.terms.load(ALEX, {"glossary": [lake]})

    context = await filled.context(ALEX, "is the lake a tarn or a mere?")

    assert [line.source for line in context.lines if "deep water" in line.text] == ["term:glossary:lake"]
    assert_sound(context)


@given(
    said=st.lists(texts, min_size=1, max_size=14),
    known=st.lists(
        st.tuples(texts, st.sampled_from(["note", "definition", "identity"]), st.sampled_from(["user", "project"])),
        max_size=8,
    ),
    options=st.fixed_dictionaries(
        {"budget": st.integers(1, 500), "turn_chars": st.integers(50, 900), "recent": st.none() | st.integers(0, 5)},
        optional={"max_turns": st.integers(0, 4), "scope": st.sampled_from(["auto", "session", "user"])},
    ),
)
@example(  # all turns of the episode come in after it
    said=[
        "鸟类 heron 鸟类 。 bird 字节 。",
        "。",
        f"' {'x' * 90} 🦩 \n bird",
        "鸟类 。",
        "。 🦩",
        "x" * 90,
        "x" * 90 + " bird",
    ],
    known=[],
    options={"turn_chars": 328, "budget": 377, "recent": None},
)
@settings(
    max_examples=bound(12, 300),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate],
)
async def test_a_context_keeps_its_budget_whatever_is_known(
    engine: Engine, said: list[str], known: list[tuple[str, Any, Any]], options: dict[str, Any]
) -> None:
    scope = Scope("alex", "session", uuid4().hex)
    await engine.record(scope, [("user", text) for text in said])
    await engine.settle(scope)
    for n, (value, kind, owner) in enumerate(known):
        await engine.learn(scope, Lesson(value, key=f"bird {n % 3}", kind=kind, owner=owner, importance=n / 8))

    meant = {"bird": "a wader"} if len(said) % 2 else {}
    context = await engine.context(scope, Query("which bird 鸟类 0 1?", definitions=meant, **options))

    assert_sound(context)
