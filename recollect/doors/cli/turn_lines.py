"""Turns from JSON lines: {"role", "text"} and, where known, "speaker", "at", "data", "high_value", "session".

Also reads what `recollect export` writes: of that only the turns count, the rest is learned from them again. Every
line is checked before the first one is recorded; a wrong one is named by its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.conversation import Turn, checked_turns
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

FIELDS = ("role", "text", "speaker", "at", "data", "high_value", "session")
EXPORTED = ("kind", "index")
DERIVED = ("conversation", "episode", "memory", "evidence", "request", "rejection", "audit")
NO_TIME = datetime(1, 1, 1, tzinfo=UTC)

Sessions = dict[str | None, list[Turn]]


def read_sessions(lines: Iterable[str], session: str | None) -> Sessions:
    """The turns of each session in order; those that name none belong to `session`."""
    found: Sessions = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turn = read_turn(line)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}", str(error).removeprefix("turns[0].")) from None
        if turn is not None:
            found.setdefault(turn.session or session, []).append(turn)
    return found


def read_turn(line: str) -> Turn | None:
    """A checked turn; None for a line that an export derived from turns."""
    values = parsed(line)
    if values.get("kind") in DERIVED:
        return None
    if unknown := [name for name in values if name not in FIELDS + EXPORTED]:
        raise InvalidInput(unknown[0], f"unknown; a line may have {', '.join(FIELDS)}")
    if missing := [name for name in ("role", "text") if name not in values]:
        raise InvalidInput(missing[0], "is missing")
    turn = Turn(**{name: values[name] for name in FIELDS if name in values})
    turn = Turn(turn.role, turn.text, turn.speaker, read_time(turn.at), turn.data, turn.high_value, turn.session)
    checked_turns([turn], NO_TIME)
    if not isinstance(turn.high_value, bool):
        raise InvalidInput("high_value", f"{turn.high_value!r} is neither true nor false")
    if turn.session is not None:
        checked_text("session", turn.session, MAX_NAME)
    return turn


def parsed(line: str) -> Mapping[str, Any]:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise InvalidInput("JSON", str(error)) from None
    if not isinstance(values, dict):
        raise InvalidInput("JSON", f'{line.strip()[:40]!r} is not an object such as {{"role": "user", "text": "..."}}')
    return values


def read_time(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput("at", f"{value!r} is not an ISO time such as 2026-05-01T14:30:00Z") from None
