"""Sentences and clauses of a turn as character ranges, so that a fact can be cited where it was said. Only marks are
known here; abbreviations and clause words come from the rulebook."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from recollect.values.memory import Span

END = re.compile(r"\.{2,}|[.!?]+(?=\W|$)|[。！？；…]+|;(?=\s)|\n+")
BULLET = re.compile(r"(?:[-*+•·–]|\d{1,2}[.)、]|[(（]\d{1,2}[)）]|#+)\s+")


def sentences(text: str, abbreviations: Collection[str]) -> Iterator[Span]:
    start = 0
    for end in END.finditer(text):
        if end[0] == "." and is_inside(text[start : end.start()], abbreviations):
            continue
        yield from trim_span(text, start, end.end())
        start = end.end()
    yield from trim_span(text, start, len(text))


def is_inside(before: str, abbreviations: Collection[str]) -> bool:
    """Whether a dot ends no sentence: of an abbreviation, an initial, or the number of a list item."""
    word = before.rpartition(" ")[2].lower().lstrip("(")
    is_initial = len(word) == 1 and word.isalpha() and before[-1:].isupper()
    has_dots = "." in word and not word[-1].isdigit()
    return word in abbreviations or has_dots or is_initial or before.strip().isdigit()


def trim_span(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the range without blanks and bullets at its ends, if anything is left."""
    while start < end and text[start].isspace():
        start += 1
    while (bullet := BULLET.match(text, start, end)) is not None:
        start = bullet.end()
    while start < end and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def clause_spans(sentence: str, breaks: re.Pattern[str]) -> list[Span]:
    """Return ranges that together cover the sentence."""
    starts = [0, *(found.end() for found in breaks.finditer(sentence) if 0 < found.end() < len(sentence))]
    return list(zip(starts, [*starts[1:], len(sentence)], strict=True))
