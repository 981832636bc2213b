"""Measured learning: a user teaches in one week, and the report shows that it helps in the weeks after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Engine, Scope, connect
from recollect.apps.ask import teaching
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Answer, Ask
from recollect.bootstrap import open_analyst
from recollect.providers.fake import FakeClock
from recollect.settings import Settings
from recollect.values.report import Week

ACTIVE, SALES = "How many active customers are there?", "Total sales by region for 2024"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC))


@pytest.fixture
async def memory(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, clock=clock, worker=False) as engine:
        yield engine


@pytest.fixture
async def analyst(memory: Engine, settings: Settings, sample: Path) -> AsyncIterator[Analyst]:
    async with open_analyst(memory, settings) as made:
        for user in ("dana", "lee"):
            await made.sources.add(Scope(user), "shop", f"sqlite:///{sample}", local=True)
        yield made


async def ask(analyst: Analyst, question: str, session: str, user: str = "dana") -> Answer:
    return await analyst.ask(Scope(user, session), Ask(question=question))


async def test_report_shows_that_learning_helps(memory: Engine, analyst: Analyst, clock: FakeClock) -> None:
    clock.advance(weeks=-3)
    weeks = [clock.now().date() + timedelta(weeks=n, days=-clock.now().weekday()) for n in range(4)]

    # The first week: two users need a clarification; dana takes a choice, lee gives a meaning.
    assert (await ask(analyst, ACTIVE, "one")).needs_clarification
    assert (await ask(analyst, "1", "one")).sql
    assert (await ask(analyst, ACTIVE, "one", "lee")).needs_clarification
    taught = await analyst.clarify(Scope("lee", "one"), Ask(question=ACTIVE), "active", "last_login_at >= '2025-12-01'")
    assert taught.sql
    assert (await ask(analyst, SALES, "one")).sql

    # The second: the same questions, written otherwise, need none.
    clock.advance(weeks=1)
    assert (await ask(analyst, "how many  active customers are there", "two", "lee")).sql
    assert (await ask(analyst, SALES.upper(), "two")).sql

    # The third: a correction, and a user to whom the question is new.
    clock.advance(weeks=1)
    assert (await ask(analyst, ACTIVE, "three", "kim")).needs_clarification
    assert (await ask(analyst, SALES, "three")).sql
    statement = "SELECT COUNT(*) FROM customers"
    await teaching.correct(analyst, Scope("dana"), "shop", "admin", ACTIVE, statement, f"{statement} WHERE is_test = 0")

    clock.advance(weeks=1)
    report = await memory.report("default", days=7)
    assert report.asking == [
        Week(weeks[0], asked=3, asked_back=2, chosen=2),
        Week(weeks[1], asked=2, repeated=2, repeated_answered=2),
        Week(weeks[2], asked=2, asked_back=1, corrected=1, repeated=1, repeated_answered=1),
    ]


async def test_repeated_question_that_is_asked_back_again_is_no_success(memory: Engine, analyst: Analyst) -> None:
    for session in ("one", "two"):
        assert (await ask(analyst, ACTIVE, session)).needs_clarification
    [week] = (await memory.report("default", days=7)).asking
    assert (week.asked, week.asked_back, week.repeated, week.repeated_answered) == (2, 2, 1, 0)
