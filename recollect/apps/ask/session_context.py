"""SessionContext: what a front end says of a whole session, in the header `X-Session-Context`. It comes before all that
is remembered. It holds for the session: a question without the header has the context of the one before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.errors import InvalidInput

HEADER = "X-Session-Context"
MAX_CHARS = 8_000
MAX_ENTRIES = 50
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SessionContext:
    time_focus: str = ""  # "Q4 2024": holds where a question names no period
    user_segment: str = ""  # a value that stands in the data, e.g. "premium"
    exclude_test: bool = False
    custom_filters: Mapping[str, Scalar] = field(default_factory=dict)  # column, or table.column, to its value
    definitions: Mapping[str, str] = field(default_factory=dict)


def read_session_context(text: str | None) -> SessionContext | None:
    """Return the context that a header gives; None without a header. An empty object ends an earlier context."""
    if not text:
        return None
    try:
        given = json.loads(text) if len(text) <= MAX_CHARS else None
    except (ValueError, RecursionError):
        raise InvalidInput(HEADER, "is not JSON") from None
    if not isinstance(given, Mapping):
        raise InvalidInput(HEADER, f"give a JSON object of at most {MAX_CHARS:,} characters")
    return SessionContext(
        time_focus=_typed(given, "time_focus", str, ""),
        user_segment=_typed(given, "user_segment", str, ""),
        exclude_test=_typed(given, "exclude_test", bool, False),
        custom_filters=_mapping(given, "custom_filters", (str, int, float, bool)),
        definitions=_mapping(given, "definitions", (str,)),
    )


def list_contexts(data: Mapping[str, Any] | None) -> list[SessionContext]:
    """Return the context stored with a turn, if there is one."""
    stored = (data or {}).get("context")
    return [SessionContext(**stored)] if isinstance(stored, Mapping) else []


def _typed(given: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise InvalidInput(HEADER, f"{name} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _mapping(given: Mapping[str, Any], name: str, kinds: tuple[type, ...]) -> Mapping[str, Any]:
    value: Mapping[str, Any] = _typed(given, name, dict, {})
    wrong = next((key for key, each in value.items() if not isinstance(each, kinds)), None)
    if wrong is not None or len(value) > MAX_ENTRIES:
        said = f"{name}.{wrong} has the wrong type" if wrong is not None else f"{name}: at most {MAX_ENTRIES} entries"
        raise InvalidInput(HEADER, said)
    return value
