"""Sketches: a turn as recall sees it, derived from the turn alone when it is recorded, and rebuilt at will."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass
from enum import IntFlag
from functools import cache, lru_cache

from recollect.recall import word_lists
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.recall.word_lists import MONTHS
from recollect.values.conversation import Turn
from recollect.values.text import WORD, is_cjk

# Of an extremely long turn only the beginning is analysed; all of it is kept.
LEXICAL_CHARS = 20_000
EMBEDDED_CHARS = 8_000
FLAGGED_CHARS = 2_000
TOKEN_CHARS = 40_000
MAX_POSITIONS = 255  # PostgreSQL keeps no more per lexeme
ROLES = ("user", "assistant", "system", "tool")


class Flag(IntFlag):
    """Bits of sketch.flags."""

    USER = 1
    ASKS = 2  # a question somewhere in it
    TIME = 4  # says when
    INSTRUCTION = 8  # tells how to answer from now on
    PREFERENCE = 16
    HIGH_VALUE = 32


@dataclass(frozen=True, slots=True)
class Sketch:
    flags: int
    tokens: int
    length: int
    speaker_key: int
    tsvector: str


def sketch(turn: Turn) -> Sketch:
    found = lexemes(turn.text[:LEXICAL_CHARS])
    # Speaker, year, month and day are found like words of the text.
    if turn.speaker:
        found += lexemes(turn.speaker)
    if turn.at:
        found += count_day_lexemes(turn.at.year, turn.at.month, turn.at.day)
    return Sketch(
        flags=flags(turn),
        tokens=count_tokens(turn.text[:TOKEN_CHARS]),
        length=found.total(),
        speaker_key=speaker_key(turn.speaker),
        tsvector=tsvector(found),
    )


@lru_cache(maxsize=1000)
def count_day_lexemes(year: int, month: int, day: int) -> Counter[str]:
    return lexemes(f"{year} {MONTHS[month - 1]} {day}")


def flags(turn: Turn) -> int:
    start, is_user = turn.text[:FLAGGED_CHARS].lower(), turn.role == "user"
    words, cjk = set(WORD.findall(start)), is_cjk(start)

    def states(vocabulary: frozenset[str], pattern: re.Pattern[str]) -> bool:
        """Return whether the user says something like this; the pattern runs only where one of its words is there."""
        return is_user and (cjk or not words.isdisjoint(vocabulary)) and pattern.search(start) is not None

    is_dated = not words.isdisjoint(word_lists.TIME_WORDS) or any(map(word_lists.YEAR.fullmatch, words))
    found = {
        Flag.USER: is_user,
        Flag.ASKS: "?" in turn.text or "？" in turn.text,
        Flag.TIME: is_dated or (cjk and word_lists.CJK_TIME.search(start) is not None),
        Flag.INSTRUCTION: states(word_lists.INSTRUCTION_WORDS, word_lists.STANDING_INSTRUCTION),
        Flag.PREFERENCE: states(word_lists.PREFERENCE_WORDS, word_lists.PREFERENCE),
        Flag.HIGH_VALUE: turn.high_value,
    }
    return sum(flag for flag, is_set in found.items() if is_set)


def speaker_key(speaker: str | None) -> int:
    """Return a number for a name, so that recall compares numbers; 0 for no particular speaker."""
    if speaker is None or speaker.lower() in ROLES:
        return 0
    return zlib.crc32(speaker.lower().strip().encode()) >> 1 | 1


def embedded_text(turn: Turn) -> str:
    """Return the text of a turn for the embedder."""
    name = f"{turn.speaker}: " if speaker_key(turn.speaker) else ""
    return name + turn.text[:EMBEDDED_CHARS]


def tsvector(found: Counter[str]) -> str:
    """Return PostgreSQL's literal: each lexeme with as many positions as occurrences."""
    return " ".join(f"{quoted(lexeme)}:{list_positions(min(count, MAX_POSITIONS))}" for lexeme, count in found.items())


def quoted(lexeme: str) -> str:
    if lexeme.isalnum():
        return f"'{lexeme}'"
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


@cache
def list_positions(count: int) -> str:
    return ",".join(map(str, range(1, count + 1)))
