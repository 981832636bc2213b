"""History: what a user asked of a source lately, over their sessions, with how they rated the answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from recollect.apps.ask.memory import can_see_turn
from recollect.apps.ask.patterns import normalize_question
from recollect.apps.ask.proposals import asked_in
from recollect.apps.ask.source_registry import View
from recollect.engine import Engine
from recollect.values.conversation import Turn
from recollect.values.scope import Scope

SESSIONS = 10  # the last ones; older questions are found by asking again


async def list_questions(engine: Engine, scope: Scope, source: str, view: View, limit: int) -> list[dict[str, Any]]:
    """The last question first; only those over what may be seen now."""
    talks = await engine.conversations(scope, limit=SESSIONS)
    places = [replace(scope, session=talk.session) for talk in talks]
    said = await asyncio.gather(*(engine.history(place, limit=min(200, 2 * limit)) for place in places))
    rated = await engine.memories(scope, kinds=("question",), status=("active", "retracted"))
    opinions = {
        (normalize_question(asked_in(each)), each.value): (each.data or {}).get("rating") for each in reversed(rated)
    }
    asked = [turn for turns in said for turn in turns if is_question(turn, source) and can_see_turn(turn, source, view)]
    asked.sort(key=lambda turn: str(turn.at), reverse=True)
    return [
        shape(turn, opinions.get((normalize_question(turn.text), (turn.data or {})["sql"]))) for turn in asked[:limit]
    ]


def is_question(turn: Turn, source: str) -> bool:
    data = turn.data or {}
    return turn.role == "user" and data.get("host") == "sql" and data.get("source") == source and bool(data.get("sql"))


def shape(turn: Turn, rating: str | None) -> dict[str, Any]:
    data = turn.data or {}
    return {
        "ref": turn.ref,
        "session": turn.session,
        "question": turn.text,
        "sql": data["sql"],
        "tables": data.get("tables") or [],
        "at": turn.at,
        "feedback": rating,
    }
