"""Health says so when work is stuck, and answers even when the database does not."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from recollect import Engine, ReasonerFailed, Scope, connect
from recollect.flows import maintain as asking
from recollect.flows.maintain import check_health
from recollect.ports import Message
from recollect.providers.fake import FakeClock, FakeEmbedder, FakeReasoner
from recollect.providers.openai import OpenAIReasoner
from recollect.settings import Settings
from recollect.values.work import Health

ALEX = Scope("alex", "monday")
FAILING = "last_error = 'no', failed_at = now()"
PARKED = "parked = '{reason}', due = false, last_error = 'no', failed_at = now()"


async def test_an_engine_without_trouble_is_well_and_names_its_parts(settings: Settings) -> None:
    async with connect(settings, embedder=FakeEmbedder(), reasoner=FakeReasoner(), worker=False) as memory:
        seen = await check_health(memory._deps)

    assert seen.work is not None
    assert (seen.work.due, seen.work.ok) == (0, True)
    assert replace(seen, work=None) == Health(True, "ok", None, "fake", "fake", [])


async def test_a_model_whose_last_call_failed_is_named(settings: Settings) -> None:
    reasoner = OpenAIReasoner("http://127.0.0.1:2/v1", "tiny")
    async with connect(settings, embedder=FakeEmbedder(), reasoner=reasoner, worker=False) as memory:
        assert (await check_health(memory._deps)).ok
        with pytest.raises(ReasonerFailed):
            await reasoner.answer([Message("user", "Hello?")])
        seen = await check_health(memory._deps)
    await reasoner.close()

    assert not seen.ok
    assert seen.notes[0].startswith("the language model failed: http://127.0.0.1:2/v1: ConnectError")


@pytest.mark.parametrize(
    ("state", "minutes", "note"),
    [
        (FAILING, 0, "1 failing"),
        (PARKED, 0, "1 parked: see `recollect work status`"),
        ("due = true", 11, "the oldest work has waited 11 minutes"),
        ("due = true", 9, None),
        ("due = false", 500, None),
    ],
)
async def test_work_that_fails_is_parked_or_waits_too_long_is_not_well(
    settings: Settings, database: str, clock: FakeClock, state: str, minutes: int, note: str | None
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), clock=clock, worker=False) as memory:
        await memory.record(ALEX, [("user", "hello")])
        with psycopg.connect(database) as owner:
            owner.execute(f"UPDATE recollect.conversation SET {state}".encode())
        clock.advance(minutes=minutes)
        seen = await check_health(memory._deps)

    assert (seen.ok, seen.store) == (note is None, "ok")
    assert [told[: len(note)] for told in seen.notes] == [note] if note else seen.notes == []


async def test_a_database_that_is_away_is_told_and_not_raised(
    memory: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as closed:
        pass
    seen = await check_health(closed._deps)
    assert (seen.ok, seen.work, seen.embedder) == (False, None, "fake")
    assert "connect again" in seen.store

    monkeypatch.setattr(asking, "MAX_SECONDS", 0.2)
    with psycopg.connect(settings.dsn) as owner:
        owner.execute("LOCK TABLE recollect.conversation IN ACCESS EXCLUSIVE MODE")
        assert (await check_health(memory._deps)).store == "PostgreSQL did not answer within 0.2 seconds"
    monkeypatch.undo()
    assert (await check_health(memory._deps)).ok
