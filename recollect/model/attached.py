"""What a host attaches to a turn or a lesson: any JSON, within limits that the log can bear. One check for both, called
by conversation.py and lesson.py, so that every door refuses the same things in the same words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from recollect.errors import InvalidInput
from recollect.model.text import checked_text

DEEPEST = 100  # levels; some thousand would be more than a stack holds when it is written out
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it


def check_data(field: str, data: object, most_chars: int) -> None:
    """Raises InvalidInput for what cannot be kept."""
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise InvalidInput(field, f"a {type(data).__name__} is not a mapping")
    text = _written(field, data)
    if len(text) > most_chars:
        raise InvalidInput(field, f"{len(text):,} characters of JSON; at most {most_chars:,}")
    # After the length: what is short when written out is quickly looked through.
    if is_deeper(data, DEEPEST):
        raise InvalidInput(field, f"nested more than {DEEPEST} levels deep")
    if NUL.search(text):
        raise InvalidInput(field, "contains a NUL character, which PostgreSQL cannot keep")
    checked_text(field, text, most_chars)


def is_deeper(value: object, levels: int) -> bool:
    """Whether mappings and lists lie in each other more than `levels` times. The value holds no circle."""
    level = [value]
    for _ in range(levels):
        level = [inner for each in level for inner in _inner(each) if isinstance(inner, Mapping | list | tuple)]
        if not level:
            return False
    return True


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _written(field: str, data: object) -> str:
    try:
        return json.dumps(data, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}") from None
