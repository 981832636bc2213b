"""`recollect demo`: a tour on sample data, then a prompt to try it. `make run` ends up here.

The sample lives in a project of its own and is recorded under idempotency keys, so a second tour finds it there. Where
nobody can type (CI, a pipe) the tour is all there is.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.doors.cli import demo_story as story
from recollect.doors.cli.demo_prompt import talk
from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import memory, paper, said, say_json
from recollect.doors.cli.tables import context_footer, origin, shortened
from recollect.doors.shapes import context_shape, memory_shape, recall_shape, recorded_shape
from recollect.model.search import Context, Query
from recollect.settings import Settings, read_settings

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.model.conversation import Recorded
    from recollect.sync import SyncEngine

HITS = 2


def demo(json: Json = False) -> None:
    """A short tour on sample data, then a prompt to try it."""
    # The sample must still be there when somebody takes the tour again next month.
    settings = replace(read_settings(), retention_days=0)
    console = paper()
    if not json:
        announce(console, settings)
    with memory(settings) as engine:
        if json:
            say_json(told(engine))
            return
        tour(console, engine)
        if sys.stdin.isatty():
            talk(console, engine)


def announce(console: Console, settings: Settings) -> None:
    """Says what happens while the server starts."""
    console.print("Recollect: memory for applications that talk.\n", style="bold")
    if settings.dsn:
        console.print("Using the PostgreSQL that MEMORY_DB_CONNECTION_STRING names.", style="dim")
        return
    from recollect.admin import database_status

    embedded = asyncio.run(database_status(settings)).embedded
    if embedded and embedded.is_new:
        console.print("First start: making a PostgreSQL of your own, which takes a few seconds once.", style="dim")
    elif embedded and not embedded.running:
        console.print("Starting the embedded PostgreSQL.", style="dim")
    if embedded:
        console.print(said(f"Its data is in {embedded.home}; set RECOLLECT_HOME to keep it elsewhere.", "dim"))


def record_story(engine: SyncEngine) -> list[Recorded]:
    """What a worker would do a moment later is waited for."""
    recorded = [
        engine.record(replace(story.DANA, session=session), turns, idempotency_key=f"{story.KEY}/{session}")
        for session, turns in story.STORY.items()
    ]
    engine.settle(story.DANA)
    return recorded


def tour(console: Console, engine: SyncEngine) -> None:
    parts = record_story(engine)
    refs = [ref for part in parts for ref in part.refs]
    again = "already there from an earlier tour" if all(part.replayed for part in parts) else "recorded"
    heading(console, f"1. What was said: {len(refs)} messages in {len(parts)} sessions, {again}")
    for turns in story.STORY.values():
        for turn in turns[:3]:
            line(console, 3, f"{turn.speaker or turn.role}: {turn.text}")
        line(console, 3, "...", "dim")
    heading(console, "2. What was learned from it, by rules and without a model")
    for known in engine.memories(story.DANA):
        line(console, 3, f"{shortened(known.text)}  ({known.kind}, from {origin(known)})")
    heading(console, "3. What is recalled, and why")
    for question in story.QUESTIONS:
        show_answer(console, engine, question)
    heading(console, "4. What goes into a prompt, within a budget")
    show_packed(console, engine.context(story.DANA, prompt_query()))


def heading(console: Console, text: str) -> None:
    console.print(f"\n{text}", style="bold cyan", markup=False)


def line(console: Console, indent: int, text: str, style: str = "") -> None:
    from rich.padding import Padding

    console.print(Padding.indent(said(text, style), indent))


def show_answer(console: Console, engine: SyncEngine, question: str) -> None:
    found = engine.recall(story.DANA, Query(question, limit=HITS))
    console.print()
    line(console, 3, question, "bold")
    for known in found.memories[:HITS]:
        line(console, 5, f"known  {shortened(known.text)}")
        line(console, 7, f"because: {known.why}", "dim")
    for hit in found.hits:
        who = hit.turn.speaker or hit.turn.role
        line(console, 5, f"{hit.source}  {who}: {shortened(hit.text)}")
        line(console, 7, f"because: {hit.why}", "dim")


def show_packed(console: Console, packed: Context) -> None:
    console.print()
    line(console, 3, packed.recall.query.text, "bold")
    console.print()
    line(console, 5, packed.text)
    for fact in context_footer(packed):
        line(console, 5, fact, "dim")


def prompt_query() -> Query:
    return Query(story.FOR_A_PROMPT, budget=story.BUDGET)


def told(engine: SyncEngine) -> dict[str, object]:
    """The tour for programs."""
    return {
        "user": story.DANA.user,
        "project": story.DANA.project,
        "recorded": recorded_shape(record_story(engine)),
        "learned": [memory_shape(known) for known in engine.memories(story.DANA)],
        "recalled": [recall_shape(engine.recall(story.DANA, Query(q, limit=HITS))) for q in story.QUESTIONS],
        "context": context_shape(engine.context(story.DANA, prompt_query())),
    }
