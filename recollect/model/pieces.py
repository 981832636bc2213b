"""Pieces: what of a turn may be quoted, and how much each piece is worth before anything is chosen.

`model/extractive.py` calls it. A piece is a sentence, or a part of a long one, as a range of the turn. Code, tables,
tagged and recalled text are blanked first, so that no piece reaches into them; small talk is no piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recollect.model.conversation import Turn
from recollect.model.excerpt import cut, whole_character
from recollect.model.fact import Extraction, Span
from recollect.model.gates import ASKS
from recollect.model.quoted import BLOCK, LINE, blanked
from recollect.model.rulebook import Rulebook, compiled
from recollect.model.sentences import sentences
from recollect.model.text import lexemes
from recollect.model.tokens import count_tokens

READ_CHARS = {"user": 2_000, "assistant": 800}  # an answer says first what it is about
PIECE_TOKENS = 40  # a longer sentence is quoted in parts
SMALL_TALK = "small talk"
SMALL_TALK_CHARS = 80
# What multiplies the worth of a piece's words.
USER, FOUND, QUESTION, ANSWER, IDLE = 1.5, 1.5, 1.1, 1.4, 0.4
HIGH_VALUE = 1.5  # the host marked the turn
LEAST_WORDS = 3
LEAST_IDLE = 6  # a courtesy of more words says something, too

RECALLED = re.compile(r"recall|memor|earlier|previous|记忆|召回|检索|历史|之前", re.IGNORECASE)
GAP = re.compile(r" {3,}")
CLAUSE = re.compile(r"[,;:)] +|[，；：、）] *")
BLANK = re.compile(r"\s+")
COURTESY = re.compile(
    r"\W*(?:let me know|feel free|i hope|hope (?:this|that)|if you (?:have|need|want|would)|is there anything"
    r"|would you like|do you want|happy to|glad to|certainly|sure|of course|absolutely|great (?:question|idea|job)"
    r"|thank|hey|hi|hello|congrat|you're welcome|by following|here(?:'s| is| are)|wow"
    r"|that(?:'s| is) (?:so |really )?(?:great|awesome|cool)"
    r"|如果你|如果您|希望|请随时|当然|好的|没问题|很高兴|不客气|以下是|还有什么)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    place: int  # of its turn in the run
    span: Span
    words: frozenset[str]
    tokens: int
    asks: bool
    factor: float
    cut: tuple[bool, bool]  # whether its sentence begins before it, and goes on after it


def pieces(place: int, turn: Turn, text: str, found: Extraction, books: Sequence[Rulebook]) -> list[Piece]:
    """`text` are the turn's own words."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    whole = [span for span in sentences(text, abbreviations) if is_said(text, span, books)]
    made = (piece(place, turn, part, span, found) for span in whole for part in unbroken(text, span))
    return [piece for piece in made if is_something(piece, found)]


def own_words(turn: Turn, books: Sequence[Rulebook]) -> str:
    """The beginning of the turn, with all that is not the speaker's own blanked. Empty for tools and systems."""
    most = READ_CHARS.get(turn.role, 0)
    text = turn.text[: cut(turn.text, most * 4 // 5, most, most)] if len(turn.text) > most else turn.text
    return blanked(text, hidden_spans(text, turn.role, books))


def hidden_spans(text: str, role: str, books: Sequence[Rulebook]) -> list[Span]:
    """Code, tables and tags; and pasted or recalled text. An assistant explains things after a colon all day, which
    looks like pasted text; so its turns are searched for that only if they speak of memory."""
    is_searched = role == "user" or RECALLED.search(text)
    injected = [compiled(book.injected) for book in books] if is_searched else []
    return [found.span() for pattern in (BLOCK, LINE, *injected) for found in pattern.finditer(text)]


def is_said(text: str, span: Span, books: Sequence[Rulebook]) -> bool:
    """Neither a heading nor small talk."""
    is_heading = text.rfind("#", text.rfind("\n", 0, span[0]) + 1, span[0]) >= 0
    return not is_heading and not is_small_talk(text[slice(*span)], books)


def is_small_talk(text: str, books: Sequence[Rulebook]) -> bool:
    return len(text) <= SMALL_TALK_CHARS and any(
        compiled(gate.pattern).search(text) for book in books for gate in book.gates if gate.reason == SMALL_TALK
    )


def unbroken(text: str, span: Span) -> Iterator[Span]:
    """The sentence without the blanks where something was hidden, in parts that are short enough."""
    start = span[0]
    for gap in GAP.finditer(text, *span):
        yield from parts(text, (start, gap.start()))
        start = gap.end()
    yield from parts(text, (start, span[1]))


def parts(text: str, span: Span) -> Iterator[Span]:
    """Even parts of about PIECE_TOKENS at most, cut between clauses if possible, or between words."""
    start, end = span
    count = max(1, -(-count_tokens(text[start:end]) // PIECE_TOKENS))
    size = (end - start) // count
    cuts = [broken(text, start + size * i, size // 3) for i in range(1, count)]
    for low, high in pairwise([start, *cuts, end]):
        if text[low:high].strip():
            yield low, low + len(text[low:high].rstrip())


def broken(text: str, goal: int, reach: int) -> int:
    for mark in (CLAUSE, BLANK):
        ends = [found.end() for found in mark.finditer(text, goal - reach, goal + reach)]
        if ends:
            return min(ends, key=lambda end: abs(end - goal))
    return whole_character(text, goal)


def piece(place: int, turn: Turn, span: Span, sentence: Span, found: Extraction) -> Piece:
    text = turn.text[slice(*span)]
    asks = text.rstrip("\"'”’ )）").endswith(ASKS)
    return Piece(
        place=place,
        span=span,
        words=frozenset(lexemes(text)),
        tokens=count_tokens(text),
        asks=asks,
        factor=factor(turn, span, asks, found),
        cut=(span[0] > sentence[0], span[1] < sentence[1]),
    )


def factor(turn: Turn, span: Span, asks: bool, found: Extraction) -> float:
    has_fact = any(span[0] <= fact.span[0] < span[1] for fact in found.facts)
    by_turn = (USER if turn.role == "user" else 1.0) * (HIGH_VALUE if turn.high_value else 1.0)
    if has_fact:
        return by_turn * FOUND
    is_idle = COURTESY.match(turn.text, *span) or turn.text[span[1] - 1] in ":："
    return by_turn * (IDLE if is_idle else QUESTION if asks and turn.role == "user" else 1.0)


def is_something(piece: Piece, found: Extraction) -> bool:
    """A word or two say something only in a user's question or a fact; what is to be forgotten is not said again."""
    if any(command.verb == "forget" and overlap(command.span, piece.span) for command in found.commands):
        return False
    least = LEAST_IDLE if piece.factor < 1 else 1 if piece.factor > USER else LEAST_WORDS
    return len(piece.words) >= least


def overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
