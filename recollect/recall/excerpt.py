"""Excerpts: the part of a long turn that is most relevant to the question, cut at a natural boundary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import LEXICAL_CHARS

JOINER = "\u200d"  # holds an emoji together
ENDS = tuple(re.compile(re.escape(mark)) for mark in ("\n\n", "\n", ". ", "。", " "))


def excerpt(text: str, most: int, terms: Mapping[str, float]) -> str:
    """Return at most `most` characters: the passage with the highest word weight, the first of equals."""

    def worth(span: tuple[int, int]) -> float:
        found = lexemes(text[slice(*span)])
        return sum(value for lexeme, value in terms.items() if lexeme in found)

    start, end = max(split_passages(text[:LEXICAL_CHARS], most * 2 // 3), key=worth)
    return text[start:end].strip()


def split_passages(text: str, size: int) -> list[tuple[int, int]]:
    """Return the text in pieces of 0.8 to 1.3 times `size`; the last has 1 to 1.5 times `size`."""
    spans, start = [], 0
    while len(text) - start > size * 1.5:
        end = find_cut(text, start + size * 4 // 5, start + size, start + size * 13 // 10)
        spans.append((start, end))
        start = end
    return [*spans, (find_whole_character(text, max(0, min(start, len(text) - size))), len(text))]


def find_cut(text: str, low: int, goal: int, high: int) -> int:
    """Return the end of a paragraph, line, sentence or word nearest to `goal`."""
    for mark in ENDS:
        ends = [found.end() for found in mark.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - goal))
    return find_whole_character(text, goal)


def find_whole_character(text: str, at: int) -> int:
    """Return the nearest place at or before `at` that is not inside what a reader sees as one character."""
    while 0 < at < len(text) and (is_combining(text[at]) or text[at - 1] == JOINER):
        at -= 1
    return at


def is_combining(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or character == JOINER or "🏻" <= character <= "🏿"
