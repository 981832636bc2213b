"""Grounds: where a quote stands in what a user said, and whether he stated it there. For `claims`.

A quote counts in the user's own words only, with what he passes on blanked, and where the rulebooks' gates are open.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.model.conversation import Turn
from recollect.model.extract import APOSTROPHES, MOST_CHARS
from recollect.model.fact import Span
from recollect.model.gates import gated_clauses, text_reason
from recollect.model.quoted import blanked, quoted_spans
from recollect.model.rulebook import Rulebook, compiled
from recollect.model.sentences import sentences
from recollect.model.text import CJK, lexemes
from recollect.model.value import MARKS

# These say that it is not so, or not meant, and are never forgiven. The others say that it is not now, or not his,
# which is right for some keys: they are forgiven where a rule for the same key forgives them, three in any correction.
NEVER_MEANT = frozenset(("question", "hypothetical", "role play", "joke", "denied", "reported"))
IN_CORRECTIONS = frozenset(("small talk", "temporary", "request"))
NEGATED = "negated"
SHORT_NOT = r"n't\b"  # of English; the rulebooks know the whole words
MOST_WORDS = 200  # of a phrase that is looked for
SUPPORT = 0.6  # of a statement's words must have been said
LETTER = re.compile(rf"[^\W{CJK}]")


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn as claims are held against it: `own` is `said` with what is not the user's own blanked, of the same
    length; `reason` is why nothing in it counts."""

    said: str
    own: str
    reason: str | None


def numbered(turns: Sequence[Turn]) -> dict[int, Turn]:
    """By their index in the conversation; by position, unless each has its own."""
    by_index = {turn.index: turn for turn in turns if turn.index is not None}
    return by_index if len(by_index) == len(turns) else dict(enumerate(turns))


def as_heard(turn: Turn, books: Sequence[Rulebook]) -> Heard:
    said = turn.text[:MOST_CHARS]
    if turn.role != "user":
        return Heard(said, "", "not the user")
    own = own_words(said, books)
    return Heard(said, own, next(filter(None, (text_reason(own, book) for book in books)), None))


def own_words(said: str, books: Sequence[Rulebook]) -> str:
    text = said[:MOST_CHARS].translate(APOSTROPHES)
    return blanked(text, list(quoted_spans(text, books)))


def places(quote: str, turn: Heard) -> Iterator[Span]:
    """Where the quote stands in the user's own words, with nothing blanked inside it."""
    for found in occurrences(quote, turn.own):
        if turn.said[slice(*found)].translate(APOSTROPHES) == turn.own[slice(*found)]:
            yield found


def found_in(phrase: str, text: str, within: Span | None = None) -> Span | None:
    return next(occurrences(phrase, text, within), None)


def occurrences(phrase: str, text: str, within: Span | None = None) -> Iterator[Span]:
    """Whole words; case, blanks and the marks around it do not matter. By hand, not by a pattern: that would have to be
    compiled for each phrase, which takes fifty times as long."""
    words = lowered(phrase.translate(APOSTROPHES).strip(MARKS)).split()
    first, last = within or (0, len(text))
    text = lowered(text)
    at = text.find(words[0], first, last) if 0 < len(words) <= MOST_WORDS else -1
    while at >= 0:
        end = end_of(words, text, at)
        if end is not None and end <= last and is_apart(text, at) and is_apart(text, end):
            yield at, end
        at = text.find(words[0], at + 1, last)


def lowered(text: str) -> str:
    """Of the same length: some letters would become two."""
    return text.lower() if len(text.lower()) == len(text) else "".join(c.lower()[:1] for c in text)


def end_of(words: Sequence[str], text: str, at: int) -> int | None:
    """Where the words end that begin here, with any blanks between them."""
    for number, word in enumerate(words):
        if number and not text[at : at + 1].isspace():
            return None
        while text[at : at + 1].isspace():
            at += 1
        if not text.startswith(word, at):
            return None
        at += len(word)
    return at


def is_apart(text: str, at: int) -> bool:
    """No word goes on from the character before to the one here. In Chinese nothing stands between words."""
    return not (0 < at < len(text) and LETTER.match(text[at - 1]) and LETTER.match(text[at]))


def is_said(statement: str, said: Container[str]) -> bool:
    """Most of its words are among these lexemes, in whatever form."""
    words = lexemes(statement)
    return bool(words) and sum(word in said for word in words) >= SUPPORT * len(words)


def negates(text: str, books: Iterable[Rulebook]) -> bool:
    return any(compiled(rf"(?<!{LETTER.pattern})(?:{book.negation})|{SHORT_NOT}").search(text) for book in books)


@dataclass(frozen=True, slots=True)
class Ground:
    """The part of a user's own words that a claim rests on: from the quote's start to the value's, or to the quote's
    end. `pardoned` are reasons that do not matter for its key, `denies` if the value itself is a negation."""

    own: str
    part: Span
    core: Span
    pardoned: frozenset[str]
    denies: bool


def ground(own: str, quote: Span, value: str, pardoned: frozenset[str], books: Sequence[Rulebook]) -> Ground:
    at = found_in(value, own, quote)
    core = (at[0], at[0] + 1) if at else quote
    return Ground(own, (quote[0], core[1]), core, pardoned, negates(value, books))


def closing(on: Ground, books: Sequence[Rulebook]) -> str | None:
    """Why the gates are closed over it; None if they are open."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    met = [span for span in sentences(on.own, abbreviations) if span[0] < on.core[1] and on.core[0] < span[1]]
    return next((why for span in met for book in books for why in reasons(on, span, book)), None)


def reasons(on: Ground, sentence: Span, book: Rulebook) -> Iterator[str]:
    text = on.own[slice(*sentence)]
    if not compiled(book.script).search(text):
        return
    (start, end), verb = order_in(text, book)
    if verb == "forget":
        yield verb
    is_correction = compiled(book.correction).search(text) is not None
    first, last = (at - sentence[0] - start for at in on.part)
    for clause in gated_clauses(text[start:end], book):
        if clause.span[0] < last and first < clause.span[1]:
            said = text[start + clause.span[0] : start + min(clause.span[1], last)]
            is_its_own = sentence[0] + start + clause.span[1] > on.core[0]
            is_turned = is_its_own and not on.denies and negates(said, [book])
            found = (*clause.reasons, NEGATED) if is_turned else clause.reasons
            yield from (why for why in found if not is_forgiven(why, is_correction, on.pardoned))


def order_in(text: str, book: Rulebook) -> tuple[Span, str | None]:
    """What the memory is told to remember or to forget, and which of both; the whole sentence, if it is told neither.
    "Can you remember that I hate mornings?" is no question."""
    for order in book.orders:
        if match := compiled(order.pattern).match(text):
            return (match.start("value"), len(text[: match.end("value")].rstrip(MARKS))), order.verb
    return (0, len(text)), None


def is_forgiven(reason: str, is_correction: bool, pardoned: frozenset[str]) -> bool:
    return reason in pardoned - NEVER_MEANT or (is_correction and reason in IN_CORRECTIONS)
