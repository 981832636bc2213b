"""`recollect demo`: a tour on sample data, then a prompt to try it. `make run` ends with it.

The sample is recorded in its own project under idempotency keys, so a second tour does not record it again. Without a
terminal (CI, a pipe) there is no prompt after the tour.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rich.console import Console
from rich.padding import Padding

from recollect.cli.chat import run_prompt
from recollect.cli.options import Json
from recollect.cli.output import make_text, open_engine, print_json, stdout_console
from recollect.cli.tables import describe_context, format_origin, shorten
from recollect.settings import Settings, read_settings
from recollect.values.conversation import Role, Turn
from recollect.values.query import Query
from recollect.values.scope import Scope
from recollect.values.serialization import recorded_json, to_json

if TYPE_CHECKING:
    from recollect.sync import SyncEngine
    from recollect.values.conversation import Recorded

PROJECT = "recollect-demo"
DANA = Scope(user="dana", project=PROJECT)
TRYING = Scope(user="dana", session="try", project=PROJECT)

SALES = "SELECT region, sum(amount) FROM sales WHERE year = {} GROUP BY region ORDER BY 2 DESC"


def make_turns(start: datetime, *lines: tuple[Role, str, dict[str, Any] | None]) -> list[Turn]:
    """Return turns that are one minute apart."""
    return [
        Turn(role, text, "Dana" if role == "user" else None, start + timedelta(minutes=minute), data)
        for minute, (role, text, data) in enumerate(lines)
    ]


STORY = {
    "monday": make_turns(
        datetime(2026, 6, 1, 9, 0, tzinfo=UTC),
        ("user", "Before we start: active means logged in within the last 30 days.", None),
        ("assistant", "Noted. An active account has last_login within 30 days.", None),
        ("user", "And call our customers clients, please.", None),
        ("assistant", "Clients it is.", None),
        ("user", "Show me sales by region for 2024.", None),
        (
            "assistant",
            "Sales by region in 2024: North 4.1 M, West 3.2 M, South 2.7 M, East 1.9 M.",
            {"sql": SALES.format(2024)},
        ),
        ("user", "What about 2023?", None),
        (
            "assistant",
            "Sales by region in 2023: West 3.4 M, North 3.3 M, South 2.5 M, East 2.0 M.",
            {"sql": SALES.format(2023)},
        ),
    ),
    "wednesday": make_turns(
        datetime(2026, 6, 3, 14, 0, tzinfo=UTC),
        ("user", "How many active clients signed up in May?", None),
        ("assistant", "412 of the 530 clients who signed up in May are active.", None),
        ("user", "以后报表里的金额都用人民币。", None),
        ("assistant", "好的,以后金额都换算成人民币。", None),
        ("user", "The board meets on Thursday; Mei needs the slides the day before.", None),
        ("assistant", "I will have them ready on Wednesday.", None),
    ),
}

KEY = f"demo-{crc32(repr(STORY).encode()):08x}"  # a changed story is recorded again

QUESTIONS = (
    "what does active mean?",
    "which region sold most in 2023?",
    "报表的金额用什么货币?",
)
PROMPT_QUESTION = "How many active clients does each region have?"
PROMPT_BUDGET = 240
TOUR_HITS = 2
PROMPT_QUERY = Query(PROMPT_QUESTION, budget=PROMPT_BUDGET)
WELCOME = """
Your turn, as Dana: what you say is remembered, and questions are answered from memory. /why explains the last answer,
/facts lists what is known, /forget erases this session, /exit leaves."""


def demo(json: Json = False) -> None:
    """Take a short tour on sample data, then try it at a prompt."""
    # The sample must still be there when the tour is taken again after the retention time.
    settings = replace(read_settings(), retention_days=0)
    console = stdout_console()
    if not json:
        announce_server(console, settings)
    with open_engine(settings) as engine:
        if json:
            print_json(collect_tour(engine))
            return
        show_tour(console, engine)
    if sys.stdin.isatty():
        console.print(WELCOME, markup=False)
        asyncio.run(run_prompt(TRYING))


def announce_server(console: Console, settings: Settings) -> None:
    """Say which server is used, since the first start takes a few seconds."""
    console.print("Recollect: long-term memory for chat and agent applications.\n", style="bold")
    if settings.dsn:
        console.print("Using the PostgreSQL server of MEMORY_DB_CONNECTION_STRING.", style="dim")
        return
    from recollect.admin import database_status

    embedded = asyncio.run(database_status(settings)).embedded
    if embedded and embedded.is_new:
        console.print("First start: creating an embedded PostgreSQL server, which takes a few seconds.", style="dim")
    elif embedded and not embedded.running:
        console.print("Starting the embedded PostgreSQL server.", style="dim")
    if embedded:
        console.print(make_text(f"Data directory: {embedded.home} (RECOLLECT_HOME changes it).", "dim"))


def record_story(engine: SyncEngine) -> list[Recorded]:
    """Record the sample and wait until it is learned from."""
    recorded = [
        engine.record(replace(DANA, session=session), turns, idempotency_key=f"{KEY}/{session}")
        for session, turns in STORY.items()
    ]
    engine.settle(DANA)
    return recorded


def collect_tour(engine: SyncEngine) -> dict[str, object]:
    """Return the tour as JSON."""
    return {
        "user": DANA.user,
        "project": DANA.project,
        "recorded": recorded_json(record_story(engine)),
        "learned": [to_json(memory) for memory in engine.memories(DANA)],
        "recalled": [to_json(engine.recall(DANA, Query(q, limit=TOUR_HITS))) for q in QUESTIONS],
        "context": to_json(engine.context(DANA, PROMPT_QUERY)),
    }


def show_tour(console: Console, engine: SyncEngine) -> None:
    def heading(text: str) -> None:
        console.print(f"\n{text}", style="bold cyan", markup=False)

    sessions = record_story(engine)
    count = sum(len(each.refs) for each in sessions)
    state = "already there from an earlier tour" if all(each.replayed for each in sessions) else "recorded"
    heading(f"1. The conversation: {count} messages in {len(sessions)} sessions, {state}")
    for turns in STORY.values():
        for turn in turns[:3]:
            print_indented(console, 3, f"{turn.speaker or turn.role}: {turn.text}")
        print_indented(console, 3, "...", "dim")

    heading("2. What was learned from it, by rules and without a model")
    for memory in engine.memories(DANA):
        print_indented(console, 3, f"{shorten(memory.text)}  ({memory.kind}, from {format_origin(memory)})")

    heading("3. What is recalled, and why")
    for question in QUESTIONS:
        show_recalled(console, engine, question)

    heading("4. What goes into a prompt, within a token budget")
    context = engine.context(DANA, PROMPT_QUERY)
    console.print()
    print_indented(console, 3, PROMPT_QUERY.text, "bold")
    console.print()
    print_indented(console, 5, context.text)
    for fact in describe_context(context):
        print_indented(console, 5, fact, "dim")


def show_recalled(console: Console, engine: SyncEngine, question: str) -> None:
    recall = engine.recall(DANA, Query(question, limit=TOUR_HITS))
    console.print()
    print_indented(console, 3, question, "bold")
    for known in recall.memories[:TOUR_HITS]:
        print_indented(console, 5, f"known  {shorten(known.text)}")
        print_indented(console, 7, f"because: {known.why}", "dim")
    for hit in recall.hits:
        print_indented(console, 5, f"{hit.source}  {hit.turn.speaker or hit.turn.role}: {shorten(hit.text)}")
        print_indented(console, 7, f"because: {hit.why}", "dim")


def print_indented(console: Console, indent: int, text: str, style: str = "") -> None:
    console.print(Padding.indent(make_text(text, style), indent))
