"""Sketches: a turn as recall sees it, derived from the turn alone when it is recorded, and rebuilt at will."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache

from recollect.recall.lexemes import lexemes
from recollect.recall.tokens import count_tokens
from recollect.recall.word_lists import (
    CJK_TIME,
    INSTRUCTION_WORDS,
    MONTHS,
    PREFERENCE,
    PREFERENCE_WORDS,
    STANDING_INSTRUCTION,
    TIME_WORDS,
    YEAR,
)
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
    found.update(heading(turn))
    return Sketch(
        flags=flags(turn),
        tokens=count_tokens(turn.text[:TOKEN_CHARS]),
        length=found.total(),
        speaker_key=speaker_key(turn.speaker),
        tsvector=tsvector(found),
    )


def heading(turn: Turn) -> list[str]:
    """Return speaker, year, month and day as lexemes, so that they are found like words of the text."""
    day = day_lexemes(turn.at.year, turn.at.month, turn.at.day) if turn.at else ()
    return [*(lexemes(turn.speaker).elements() if turn.speaker else ()), *day]


@lru_cache(maxsize=1000)
def day_lexemes(year: int, month: int, day: int) -> tuple[str, ...]:
    return tuple(lexemes(f"{year} {MONTHS[month - 1]} {day}").elements())


def flags(turn: Turn) -> int:
    start, user = turn.text[:FLAGGED_CHARS].lower(), turn.role == "user"
    words, cjk = set(WORD.findall(start)), is_cjk(start)
    found = Flag.USER if user else Flag(0)
    if "?" in turn.text or "？" in turn.text:
        found |= Flag.ASKS
    if not words.isdisjoint(TIME_WORDS) or any(map(YEAR.fullmatch, words)) or (cjk and CJK_TIME.search(start)):
        found |= Flag.TIME
    if user and (cjk or not words.isdisjoint(INSTRUCTION_WORDS)) and STANDING_INSTRUCTION.search(start):
        found |= Flag.INSTRUCTION
    if user and (cjk or not words.isdisjoint(PREFERENCE_WORDS)) and PREFERENCE.search(start):
        found |= Flag.PREFERENCE
    if turn.high_value:
        found |= Flag.HIGH_VALUE
    return int(found)


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
    return " ".join(
        f"{quoted(lexeme)}:1" if count == 1 else f"{quoted(lexeme)}:{_positions(count)}"
        for lexeme, count in found.items()
    )


def quoted(lexeme: str) -> str:
    if lexeme.isalnum():
        return f"'{lexeme}'"
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _positions(count: int) -> str:
    return ",".join(map(str, range(1, min(count, MAX_POSITIONS) + 1)))
