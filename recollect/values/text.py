"""Texts and JSON data: which are accepted, and what a word is. `recall/lexemes.py` builds on it. Turns and lessons
share `check_data`, so that every interface refuses the same values with the same messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORD = re.compile(rf"[^\W_{CJK}]+(?:[.,:'’-][0-9]+)*|[{CJK}]+")
CJK_CHARACTER = re.compile(f"[{CJK}]")


def check_optional_text(field: str, value: object, most: int) -> None:
    """Check a text that may be missing."""
    if value is not None:
        check_text(field, value, most)


def check_text(field: str, value: object, most: int) -> str:
    """Return the text if it can be stored; otherwise raise an error that names the field."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, got {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(field, "is empty")
    if len(value) > most:
        raise InvalidInput(field, f"{len(value):,} characters; at most {most:,}")
    if "\0" in value:
        raise InvalidInput(field, "contains a NUL character, which PostgreSQL cannot keep")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(field, f"is not valid Unicode: a lone surrogate at character {error.start}") from None
    return value


def shorten(text: str, most: int) -> str:
    """Return a text of at most so many characters; a longer one ends in an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def is_cjk(text: str) -> bool:
    return CJK_CHARACTER.search(text) is not None


@cache
def stemmer() -> Callable[[str], str]:
    import Stemmer

    return Stemmer.Stemmer("english").stemWord  # type: ignore[no-any-return]


DEEPEST = 100  # levels; a few thousand would overflow the stack when dumped
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it


def check_data(field: str, data: object, most_chars: int, levels: int = DEEPEST) -> None:
    """Raise InvalidInput for data that cannot be stored."""
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise InvalidInput(field, f"must be a mapping, got {type(data).__name__}")
    try:
        text = json.dumps(data, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}") from None
    if len(text) > most_chars:
        raise InvalidInput(field, f"{len(text):,} characters of JSON; at most {most_chars:,}")
    # Checked after the length, because a short value is checked quickly.
    if is_deeper(data, levels):
        raise InvalidInput(field, f"nested more than {levels} levels deep")
    if NUL.search(text):
        raise InvalidInput(field, "contains a NUL character, which PostgreSQL cannot keep")
    check_text(field, text, most_chars)


def is_deeper(value: object, levels: int) -> bool:
    """Return whether mappings and lists are nested more than `levels` deep. The value has no cycles."""
    level: list[Any] = [[value]]
    for _ in range(levels + 1):
        children = (inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each))
        level = [inner for inner in children if isinstance(inner, Mapping | list | tuple)]
        if not level:
            return False
    return True


ARTICLES = frozenset(("a", "an", "the", "our", "my", "your", "their"))


def stem_term(text: str) -> str:
    """Return the form under which a term is found: case, articles and endings do not matter. "Active Users" and "an
    active user" are one term."""
    stem = stemmer()
    words = [word for word in WORD.findall(text.lower()) if word not in ARTICLES]
    return " ".join(word if CJK_CHARACTER.match(word) else stem(word) for word in words)
