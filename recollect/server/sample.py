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

from recollect import Engine, Scope, Settings, Turn
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Ask
from recollect.apps.ask.sample import make_sample
from recollect.values.term_file import read_yaml

PROJECT = "sample"
SOURCE = "shop"


def use_sample_project(settings: Settings) -> Settings:
    """Return the settings with the sample project for requests that name none, unless they name another."""
    return replace(settings, project=PROJECT) if settings.project == "default" else settings


async def load_sample(engine: Engine, analyst: Analyst, folder: Path) -> None:
    """Bring the sample database up to date, add it as a data source, and load the glossary and the conversations."""
    scope, file = Scope("sample", project=PROJECT), folder / "sample" / "sample.db"
    await asyncio.to_thread(refresh_sample, file, analyst.today())
    await analyst.sources.add(scope, SOURCE, f"sqlite:///{quote(str(file))}")
    await engine.terms.load(scope, read_resource("sample_glossary.yaml"))
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)
    conversations = read_yaml("sample", read_resource("sample_conversations.yaml"))
    for day, each in enumerate(conversations):
        scope = Scope(each["user"], each["session"], PROJECT)
        at = start + timedelta(days=day)
        turns = [Turn(role, text, at=at + timedelta(minutes=n)) for n, (role, text) in enumerate(each["messages"])]
        if await engine.conversation(scope) is None:
            await engine.record(scope, turns)
            for question in each.get("questions", ()):
                await analyst.ask(scope, Ask(question=question, source=SOURCE))
    for user in dict.fromkeys(each["user"] for each in conversations):
        await engine.settle(Scope(user, project=PROJECT))


def read_resource(name: str) -> str:
    return files("recollect.server").joinpath(name).read_text(encoding="utf-8")


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
