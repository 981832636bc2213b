"""Stories that `updates` and `dialogues` share: turns of one user, and questions that the assistant without a model
answers. Each question is asked in a copy of its story, so that no question is evidence for the next.

    {"id", "language", "turns": [{"text", "role"?, "day"?}], "questions": [{"text", ...}]}

A day is a session. Values are compared without regard to case.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.evaluation import read_numbered_lines
from recollect import connect
from recollect.apps.chat.assistant import Assistant
from recollect.apps.chat.message import Ask
from recollect.apps.chat.phrases import CHINESE, ENGLISH
from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.settings import read_settings
from recollect.values.conversation import Turn
from recollect.values.query import Query
from recollect.values.scope import Scope, uuid7

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
REFUSALS = (ENGLISH.unknown, CHINESE.unknown, ENGLISH.unsure, CHINESE.unsure)
# How a line says that a value does not hold any more, or perhaps not.
ENDED = re.compile(
    r"^(?:\[\d+\] )?(?:no longer|earlier|不再|以前)|no current value|\(until \d|\((?:maybe )?outdated"
    r"|不知道了|可能已过时",
    re.IGNORECASE,
)
QUOTED = re.compile(r"“(.*)”|^\[\d+\] (?:\w+: )?(.*)$")
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="JSON lines, one story each.", exists=True, dir_okay=False)
]
Details = Annotated[bool, typer.Option("--details", help="Show each question with its reply.")]


@dataclass(frozen=True, slots=True)
class Story:
    id: str
    language: str
    kind: str
    turns: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reply:
    """The statements of a reply: its lines. A refusal may be followed by the closest messages."""

    statements: Sequence[str]
    is_refusal: bool


def read_stories(path: Path) -> list[Story]:
    return [parse_story(path, number, line) for number, line in read_numbered_lines(path)]


def parse_story(path: Path, number: int, line: str) -> Story:
    """Return the story of a line. A single question may stand in the story itself."""
    try:
        given = dict(json.loads(line))
        questions = given.get("questions") or [{**given, "text": given["question"]}]
        return Story(str(given["id"]), given["language"], given.get("kind", ""), given["turns"], questions)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("file", f"{path}:{number} is not a story with turns and questions: {error}") from None


@asynccontextmanager
async def open_chat() -> AsyncIterator[tuple[Engine, Assistant]]:
    """Yield an engine without a worker, and an assistant without a model."""
    settings = read_settings()
    async with connect(settings, worker=False) as memory:
        assistant = Assistant(memory, settings)
        yield memory, assistant
        await assistant.close()


@asynccontextmanager
async def tell_story(memory: Engine, story: Story) -> AsyncIterator[Scope]:
    """Record a story for a new user and learn from it; yield the scope of its last session. Forget it afterwards."""
    user, project = f"{story.id}-{uuid7()}", f"eval-{uuid7()}"
    session = "1"
    try:
        for day, turns in groupby(story.turns, key=lambda turn: int(turn.get("day", 1))):
            session = str(day)
            begin = START + timedelta(days=day)
            said = [
                Turn(turn.get("role", "user"), turn["text"], at=begin + timedelta(minutes=n))
                for n, turn in enumerate(turns)
            ]
            await memory.record(Scope(user, session, project), said)
            await memory.settle(Scope(user, session, project))
        yield Scope(user, session, project)
    finally:
        await memory.forget(Scope(user, project=project))


async def ask_chat(assistant: Assistant, scope: Scope, text: str) -> Reply:
    answer = await assistant.answer(scope, Ask(text))
    lines = [line for line in answer.response.splitlines() if line.strip()]
    is_refusal = not lines or lines[0].startswith(REFUSALS)
    return Reply(lines[1:] if is_refusal else lines, is_refusal)


async def read_context(memory: Engine, scope: Scope, text: str) -> list[str]:
    """Return the numbered lines of the context for a question in a new session."""
    context = await memory.context(Scope(scope.user, None, scope.project), Query(text))
    return [line for line in context.text.splitlines() if line.startswith("[")]


def find_value(text: str, values: Sequence[str]) -> int | None:
    """Return where the first of the values stands in a text."""
    lowered = text.casefold()
    places = [at for value in values if (at := lowered.find(value.casefold())) >= 0]
    return min(places, default=None)


def is_ended(line: str) -> bool:
    return ENDED.search(line) is not None


def quotes_later(line: str, story: Story, values: Sequence[str]) -> bool:
    """Return whether a line quotes a message after the first one with a value: the message that reports the change."""
    found = QUOTED.search(line)
    quoted = " ".join((found[1] or found[2] or "").split()).strip(" …") if found else ""
    texts = [" ".join(turn["text"].split()) for turn in story.turns if turn.get("role", "user") == "user"]
    first = next((n for n, text in enumerate(texts) if find_value(text, values) is not None), len(texts))
    return bool(quoted) and any(quoted in text for text in texts[first + 1 :])
