"""The sample project: two users with their conversations and questions, a shop's database, and its glossary. Existing
sessions are left as they are. The database ends with the day it is loaded on: `refresh_sample` writes it again on a
later day, unless somebody changed it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Ask
from recollect.apps.ask.sample import make_sample
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.settings import Settings
from recollect.values.conversation import Role, Turn
from recollect.values.scope import Scope

PROJECT = "sample"
CONVERSATIONS: dict[tuple[str, str], tuple[tuple[Role, str], ...]] = {
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
QUESTIONS = {("dana", "monday"): ("Show me total sales by region for 2024", "What about 2023?")}


def use_sample_project(settings: Settings) -> Settings:
    """Return the settings with the sample project for requests that name none, unless they name another."""
    return replace(settings, project=PROJECT) if settings.project == "default" else settings


async def load_sample(engine: Engine, analyst: Analyst, folder: Path) -> None:
    await load_database(engine, analyst, folder / "sample" / "sample.db")
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
    for day, ((user, session), lines) in enumerate(CONVERSATIONS.items()):
        scope = Scope(user, session, PROJECT)
        at = start + timedelta(days=day)
        turns = [Turn(role, text, at=at + timedelta(minutes=n)) for n, (role, text) in enumerate(lines)]
        if not await has_session(engine, scope):
            await engine.record(scope, turns)
            for question in QUESTIONS.get((user, session), ()):
                await analyst.ask(scope, Ask(question=question, source=SOURCE))
    for user in dict.fromkeys(user for user, _ in CONVERSATIONS):
        await engine.settle(Scope(user, project=PROJECT))


async def load_database(engine: Engine, analyst: Analyst, file: Path) -> None:
    """Bring the sample database up to date, add it as a data source, and load the glossary."""
    scope = Scope("sample", project=PROJECT)
    await asyncio.to_thread(refresh_sample, file, analyst.today())
    await analyst.sources.add(scope, SOURCE, f"sqlite:///{quote(str(file))}")
    glossary = files("recollect.server").joinpath("sample_glossary.yaml").read_text(encoding="utf-8")
    await engine.terms.load(scope, glossary)


def refresh_sample(file: Path, today: date) -> None:
    """Write the database if it is missing, or if it ends on another day and is still as it was written. The day and the
    digest of what was written are stored beside the file; without them the file counts as changed."""
    stamp = file.with_suffix(".stamp")
    if file.exists():
        last_day, _, digest = (stamp.read_text("utf-8") if stamp.exists() else "").partition(" ")
        if last_day == today.isoformat() or digest != compute_digest(file):
            return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".new")  # a running server keeps the file that it has open
    make_sample(draft, today)
    stamp.write_text(f"{today} {compute_digest(draft)}", "utf-8")
    draft.replace(file)


def compute_digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


async def has_session(engine: Engine, scope: Scope) -> bool:
    try:
        await engine.history(scope, limit=1)
    except NotFound:
        return False
    return True
