"""Where a text that is too long for one chunk is split: at the end of a sentence or line; a long sentence between
words; a long word between characters as a reader sees them. Called by chunking.py only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.recall.excerpt import whole_character
from recollect.recall.sentences import END
from recollect.recall.tokens import count_tokens

MAX_CHARS = 8  # per token: limits a piece of text with few tokens, such as a run of blanks
SAMPLE = 400  # characters from which the length of a piece is guessed
BLANK = re.compile(r"\s+")
PLAIN = "\u02ff"  # no character up to here joins the one before it


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences end, and the end of the text."""
    for found in END.finditer(text):
        if found.end() < len(text) and is_between(text, found.end()):
            yield found.end()
    yield len(text)


def pieces(text: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges that cover the text, each a sentence or a part of one with at most `most` tokens, and their
    tokens."""
    start = 0
    for end in sentence_ends(text):
        while start < end:
            cut, tokens = furthest(text, start, end, most)
            yield start, cut, tokens
            start = cut


def furthest(text: str, start: int, end: int, most: int) -> tuple[int, int]:
    """Return the end, or the last good place before it where the piece has at most `most` tokens, and the tokens."""
    stop = min(end, start + most * MAX_CHARS)
    if stop - start > SAMPLE:
        share = count_tokens(text[start : start + SAMPLE]) / SAMPLE
        stop = min(stop, start + max(1, int(most / max(share, 0.01))))
    while (tokens := count_tokens(text[start:stop])) > most and stop - start > 1:
        stop = start + max(1, min(stop - start - 1, int((stop - start) * most / tokens * 0.98)))
    if stop == end:
        return end, tokens
    cut = word_end(text, start, stop)
    return cut, tokens if cut == stop else count_tokens(text[start:cut])


def word_end(text: str, start: int, stop: int) -> int:
    """Return the place after the last blank in the second half of the range; otherwise a place between two characters;
    otherwise `stop`."""
    middle = (start + stop) // 2
    for found in reversed(list(BLANK.finditer(text, middle, stop))):
        if is_between(text, found.end()):
            return found.end()
    whole = whole_character(text, stop)
    return whole if whole > start else stop


def tail_start(text: str, most: int) -> int:
    """Return where the last sentences begin that have at most `most` tokens together; without one, the last words;
    otherwise the end of the text."""
    low = max(0, len(text) - most * MAX_CHARS)
    ends = [end for end in (low + found.end() for found in END.finditer(text[low:])) if end < len(text)]
    words = [found.end() for found in BLANK.finditer(text, max(low, len(text) - most * 4))]
    for start in (*ends, *words[:: max(1, len(words) // 8)]):
        if is_between(text, start) and 0 < count_tokens(text[start:]) <= most:
            return start
    return len(text)


def is_between(text: str, at: int) -> bool:
    """Whether a cut at this place leaves characters whole."""
    return at >= len(text) or text[at] <= PLAIN or whole_character(text, at) == at
