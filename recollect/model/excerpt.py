"""Excerpt: the part of a long turn that speaks to the question, cut where a reader would cut."""

from __future__ import annotations

import re
from collections.abc import Mapping

from recollect.model.sketch import LEXICAL_CHARS
from recollect.model.text import lexemes

ENDS = tuple(re.compile(re.escape(mark)) for mark in ("\n\n", "\n", ". ", "。", " "))


def excerpt(text: str, size: int, terms: Mapping[str, float]) -> str:
    """About `size` characters of the text: the passage whose words are worth most, the first of equals."""

    def worth(span: tuple[int, int]) -> float:
        found = lexemes(text[slice(*span)])
        return sum(value for lexeme, value in terms.items() if lexeme in found)

    start, end = max(passages(text[:LEXICAL_CHARS], size), key=worth)
    return text[start:end].strip()


def passages(text: str, size: int) -> list[tuple[int, int]]:
    """The text in pieces of 0.8 to 1.3 times `size`; the last is never shorter than `size`."""
    spans, start = [], 0
    while len(text) - start > size * 1.8:
        end = cut(text, start + size * 4 // 5, start + size, start + size * 13 // 10)
        spans.append((start, end))
        start = end
    return [*spans, (max(0, min(start, len(text) - size)), len(text))]


def cut(text: str, low: int, goal: int, high: int) -> int:
    """The end of a paragraph, line, sentence or word nearest to `goal`."""
    for mark in ENDS:
        ends = [found.end() for found in mark.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - goal))
    return goal
