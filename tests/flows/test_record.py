"""record: what was said is there, in order, once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from recollect import Conflict, Engine, InvalidInput, Scope, Turn, connect
from recollect.providers.fake import FakeClock
from recollect.settings import Settings


async def test_one_s_own_write_is_visible_to_one_s_next_read(memory: Engine, alex: Scope) -> None:
    recorded = await memory.record(alex, [("user", "Call our customers clients, please."), ("assistant", "I will.")])

    assert recorded.refs == ["monday#0", "monday#1"]
    assert [turn.text for turn in await memory.history(alex)] == ["Call our customers clients, please.", "I will."]
    assert (await memory.recall(alex, "what are customers called?")).hits[0].source == "monday#0"


@pytest.mark.parametrize("count", [3, 500])
async def test_host_data_comes_back_as_it_was_given(memory: Engine, alex: Scope, count: int) -> None:
    data = {"sql": "select 'ä\\n\t'", "tables": ["sales"], "rows": 3, "nothing": None}
    said = Turn("user", "line one\nline\ttwo \\N 你好 🎈", speaker="Alex Müller", data=data, high_value=True)

    await memory.record(alex, [said] * count)

    turns = await memory.history(alex, limit=count)
    assert len(turns) == count
    assert all((t.text, t.speaker, t.data, t.high_value) == (said.text, said.speaker, data, True) for t in turns)
    assert [turn.index for turn in turns] == list(range(count))


async def test_turns_beyond_one_batch_keep_their_order(memory: Engine, alex: Scope) -> None:
    texts = [f"plain remark {n}" for n in range(2500)]
    texts[2203] = "The heron nests behind the boathouse."
    await memory.record(alex, [("user", "first")])

    recorded = await memory.record(alex, [("user", text) for text in texts], idempotency_key="k1")

    assert (recorded.first, recorded.count, recorded.conversation.turns) == (1, 2500, 2501)
    last = await memory.history(alex, limit=1000)
    assert [(turn.index, turn.text) for turn in last] == [(n + 1, texts[n]) for n in range(1500, 2500)]
    assert (await memory.recall(alex, "where does the heron nest?")).hits[0].source == "monday#2204"


async def test_16_writers_on_one_conversation_leave_no_gap_and_no_duplicate(memory: Engine, alex: Scope) -> None:
    async def write(writer: int) -> list[str]:
        return [
            ref
            for n in range(10)
            for ref in (await memory.record(alex, [("user", f"{writer}:{n}"), ("assistant", "yes")])).refs
        ]

    refs = [ref for written in await asyncio.gather(*map(write, range(16))) for ref in written]

    turns = await memory.history(alex, limit=1000)
    assert [turn.index for turn in turns] == list(range(320))
    assert sorted(refs) == sorted(turn.ref for turn in turns)
    assert [turn.role for turn in turns] == ["user", "assistant"] * 160


async def test_the_same_key_and_body_get_the_same_answer_and_write_once(memory: Engine, alex: Scope) -> None:
    first = await memory.record(alex, [("user", "once")], idempotency_key="k1")
    again = await memory.record(alex, [("user", "once")], idempotency_key="k1")

    assert (again.conversation, again.first, again.replayed) == (first.conversation, first.first, True)
    assert len(await memory.history(alex)) == 1


async def test_the_same_key_with_another_body_is_a_conflict(memory: Engine, alex: Scope) -> None:
    await memory.record(alex, [("user", "once")], idempotency_key="k1")

    with pytest.raises(Conflict, match="k1"):
        await memory.record(alex, [("user", "twice")], idempotency_key="k1")
    assert len(await memory.history(alex)) == 1


async def test_two_requests_with_one_key_at_once_write_once(memory: Engine, alex: Scope) -> None:
    answers = await asyncio.gather(*(memory.record(alex, [("user", "once")], idempotency_key="k1") for _ in range(8)))

    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 7
    assert len(await memory.history(alex)) == 1


async def test_without_a_session_a_new_one_is_opened(memory: Engine) -> None:
    first = await memory.record(Scope("alex"), [("user", "hello")])
    second = await memory.record(Scope("alex"), [("user", "hello again")])

    assert first.conversation.session != second.conversation.session


async def test_conversations_are_kept_unless_the_setting_says_otherwise(
    settings: Settings, clock: FakeClock, alex: Scope
) -> None:
    asked = Turn("user", "How many orders?", data={"host": "sql"})
    async with connect(settings, clock=clock, worker=False) as memory:
        kept = await memory.record(alex, [("user", "the code word is heron")])
        question = await memory.record(replace(alex, session="database"), [asked])
    assert kept.conversation.expires_at is None
    assert question.conversation.expires_at == clock.now() + timedelta(days=7)


async def test_expiry_slides_with_each_message(settings: Settings, clock: FakeClock, alex: Scope) -> None:
    async with connect(replace(settings, retention_days=7), clock=clock, worker=False) as memory:
        await memory.record(alex, [("user", "the code word is heron")])
        clock.advance(days=6)
        later = await memory.record(alex, [("user", "still here")])
        assert later.conversation.expires_at == clock.now() + timedelta(days=7)

        clock.advance(days=6)
        assert (await memory.recall(alex, "code word")).hits
        clock.advance(days=2)
        assert not (await memory.recall(alex, "code word")).hits


async def test_the_order_of_keys_in_host_data_makes_no_other_body(memory: Engine, alex: Scope) -> None:
    await memory.record(alex, Turn("user", "once", data={"a": 1, "b": 2}), idempotency_key="k1")

    again = await memory.record(alex, Turn("user", "once", data={"b": 2, "a": 1}), idempotency_key="k1")

    assert again.replayed


async def test_what_is_no_scope_is_refused_by_name(memory: Engine) -> None:
    with pytest.raises(InvalidInput, match="scope: must be a Scope, got str"):
        await memory.record("alex", [("user", "hello")])  # type: ignore[arg-type]
