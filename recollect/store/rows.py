"""Rows as values, where more than one part of the store reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.model.conversation import Turn


def as_turn(
    session: str, index: int, role: Any, speaker: str | None, text: str, at: datetime, data: Any, high_value: bool
) -> Turn:
    return Turn(role, text, speaker, at, data, high_value, session, index)
