"""Chinese: a question in Chinese with its function words said in English, so that one reader reads both.

Names and values of the data source are left as they are, and so is what nobody knows: it is reported as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from recollect.model.text import is_cjk
from recollect.sql.durations import named_shortly
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.phrases import chinese, rewritten

LONGEST_NAME = 12


def in_english(text: str, lexicon: Lexicon) -> str:
    """The text as it is, if it is not Chinese; what is said at length is said shortly."""
    if not is_cjk(text):
        text = named_shortly(text, lexicon)
        for long, short in rewritten():
            text = long.sub(lambda said, short=short: known(said, lexicon) or said.expand(short), text)  # type: ignore[misc]
        return text
    return translated(text[:500], lambda said: bool(lexicon.name(stem_key(said)) or lexicon.value(key_of(said))))


def known(said: re.Match[str], lexicon: Lexicon) -> str:
    """What the data has a name for is left as it is."""
    return said[0] if lexicon.name(stem_key(said[0])) else ""


def translated(text: str, is_name: Callable[[str], bool]) -> str:
    pieces, at, ends_asking = [], 0, False
    while at < len(text):
        piece, size = next_piece(text, at, is_name)
        ends_asking |= piece == "what about" and at > 0
        pieces.append("" if piece == "what about" and at > 0 else piece)
        at += size
    said = " ".join("".join(f" {piece} " if len(piece) > 1 else piece for piece in pieces).split())
    return f"what about {said}" if ends_asking else said


def next_piece(text: str, at: int, is_name: Callable[[str], bool]) -> tuple[str, int]:
    name = next(
        (
            n
            for n in range(min(LONGEST_NAME, len(text) - at), 0, -1)
            if is_cjk(text[at : at + n]) and is_name(text[at : at + n])
        ),
        0,
    )
    words = chinese().phrases
    phrase = next((n for n in range(chinese().longest, 0, -1) if text[at : at + n] in words), 0)
    if name and name >= phrase:
        return f" {text[at : at + name]} ", name
    for pattern, english in chinese().patterns:
        if (match := pattern.match(text, at)) and len(match[0]) > phrase:
            return match.expand(english), len(match[0])
    return (words[text[at : at + phrase]], phrase) if phrase else (text[at], 1)
