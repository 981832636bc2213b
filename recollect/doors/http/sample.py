"""The sample project: two users, what they said and asked, a shop's database, and what the shop means by its words.
Loaded once: a session that is there already is left as it is."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.sql.analyst import Analyst
from recollect.hosts.sql.asking import Ask
from recollect.hosts.sql.sample import make_sample
from recollect.model.conversation import Role, Turn
from recollect.model.scope import Scope

PROJECT = "sample"
STORY: dict[tuple[str, str], tuple[tuple[Role, str], ...]] = {
    ("dana", "monday"): (
        ("user", "Hi, my name is Dana and I work in sales."),
        ("assistant", "Welcome, Dana."),
        ("user", "Active means logged in within the last 30 days."),
        ("assistant", "Noted: active is a login within 30 days."),
        ("user", "Call our customers clients, please."),
        ("assistant", "Clients it is."),
    ),
    ("dana", "wednesday"): (
        ("user", "Remind me to send the board slides on Thursday."),
        ("assistant", "I will."),
        ("user", "We decided to report revenue in euros."),
        ("assistant", "Euros from now on."),
        ("user", "Actually, we decided to report revenue in dollars instead of euros."),
        ("assistant", "Dollars, then."),
    ),
    ("lee", "tuesday"): (
        ("user", "我叫李雷，我住在北京。"),
        ("assistant", "你好，李雷。"),
        ("user", "以后请用中文回答。"),
        ("assistant", "好的。"),
        ("user", "其实我上个月搬到上海了。"),
        ("assistant", "知道了，上海。"),
    ),
}
SOURCE = "shop"
ASKED = {("dana", "monday"): ("Show me total sales by region for 2024", "What about 2023?")}


async def load_sample(engine: Engine, analyst: Analyst, folder: Path) -> None:
    await load_database(engine, analyst, folder / "sample.db")
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
    for day, ((user, session), lines) in enumerate(STORY.items()):
        scope = Scope(user, session, PROJECT)
        at = start + timedelta(days=day)
        turns = [Turn(role, text, at=at + timedelta(minutes=n)) for n, (role, text) in enumerate(lines)]
        if not await is_there(engine, scope):
            await engine.record(scope, turns)
            for question in ASKED.get((user, session), ()):
                await analyst.ask(scope, Ask(question=question, source=SOURCE))
    for user in dict.fromkeys(user for user, _ in STORY):
        await engine.settle(Scope(user, project=PROJECT))


async def load_database(engine: Engine, analyst: Analyst, file: Path) -> None:
    """Made afresh where it is missing, and read."""
    scope = Scope("sample", project=PROJECT)
    await asyncio.to_thread(make_missing, file)
    await analyst.library.add(scope, SOURCE, f"sqlite:///{file}")
    glossary = files("recollect.doors.http").joinpath("sample_glossary.yaml").read_text(encoding="utf-8")
    await engine.import_ontology(scope, glossary)


def make_missing(file: Path) -> None:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        make_sample(file, datetime.now(UTC).date())


async def is_there(engine: Engine, scope: Scope) -> bool:
    try:
        await engine.history(scope, limit=1)
    except NotFound:
        return False
    return True
