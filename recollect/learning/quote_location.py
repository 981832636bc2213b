"""Locate a quote in what a user said, and decide whether they stated it there. Used by `claims`. A quote counts only in
the user's own words, with quoted text blanked, and where the rulebooks' gates are open."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.learning.extract import APOSTROPHES, MARKS, MOST_CHARS, find_order
from recollect.learning.gates import blank_spans, find_quoted_spans, find_text_reason, gate_clauses
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.values.conversation import Turn
from recollect.values.memory import Span
from recollect.values.text import CJK

# These say that a statement is not true, or not meant, and are never ignored. Others say that it is not true now, or
# not of the user; they are ignored where a rule for the same key ignores them, three of them in any correction.
NEVER_MEANT = frozenset(("question", "hypothetical", "role play", "joke", "denied", "reported"))
IN_CORRECTIONS = frozenset(("small talk", "temporary", "request"))
NEGATED = "negated"
SHORT_NOT = r"n't\b"  # of English; the rulebooks know the whole words
MOST_WORDS = 200  # of a phrase that is looked for
SUPPORT = 0.6  # of a statement's words must have been said
LETTER = re.compile(rf"[^\W{CJK}]")


@dataclass(frozen=True, slots=True)
class OwnText:
    """A turn that claims are checked against: `own` is `said` with foreign text blanked, of the same length; `reason`
    is why nothing in it counts."""

    said: str
    own: str
    reason: str | None


def number_turns(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Return the turns by their index in the conversation, or by position if an index is missing."""
    by_index = {turn.index: turn for turn in turns if turn.index is not None}
    return by_index if len(by_index) == len(turns) else dict(enumerate(turns))


def read_own_text(turn: Turn, books: Sequence[Rulebook]) -> OwnText:
    said = turn.text[:MOST_CHARS]
    if turn.role != "user":
        return OwnText(said, "", "not the user")
    own = blank_foreign_text(said, books)
    return OwnText(said, own, next(filter(None, (find_text_reason(own, book) for book in books)), None))


def blank_foreign_text(said: str, books: Sequence[Rulebook]) -> str:
    text = said[:MOST_CHARS].translate(APOSTROPHES)
    return blank_spans(text, list(find_quoted_spans(text, books)))


def find_quote(quote: str, turn: OwnText) -> Iterator[Span]:
    """Yield where the quote is in the user's own words, with nothing blanked inside it."""
    for found in iter_occurrences(quote, turn.own):
        if turn.said[slice(*found)].translate(APOSTROPHES) == turn.own[slice(*found)]:
            yield found


def find_phrase(phrase: str, text: str, within: Span | None = None) -> Span | None:
    return next(iter_occurrences(phrase, text, within), None)


def iter_occurrences(phrase: str, text: str, within: Span | None = None) -> Iterator[Span]:
    """Yield where a phrase occurs as whole words; case, blanks and surrounding marks do not matter. Compiling a pattern
    for each phrase would take fifty times as long."""
    words = lower_text(phrase.translate(APOSTROPHES).strip(MARKS)).split()
    first, last = within or (0, len(text))
    text = lower_text(text)
    at = text.find(words[0], first, last) if 0 < len(words) <= MOST_WORDS else -1
    while at >= 0:
        end = find_end(words, text, at)
        if end is not None and end <= last and is_apart(text, at) and is_apart(text, end):
            yield at, end
        at = text.find(words[0], at + 1, last)


def lower_text(text: str) -> str:
    """Return the text in lower case, with the same length: some letters would become two."""
    return text.lower() if len(text.lower()) == len(text) else "".join(c.lower()[:1] for c in text)


def find_end(words: Sequence[str], text: str, at: int) -> int | None:
    """Return where the words end that begin here, with any blanks between them."""
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
    """Return whether no word continues across this position. Chinese has no separators."""
    return not (0 < at < len(text) and LETTER.match(text[at - 1]) and LETTER.match(text[at]))


def is_said(statement: str, said: Container[str]) -> bool:
    """Return whether most words of a statement are among these lexemes."""
    words = lexemes(statement)
    return bool(words) and sum(word in said for word in words) >= SUPPORT * len(words)


def is_negated(text: str, books: Iterable[Rulebook]) -> bool:
    return any(compile_pattern(rf"(?<!{LETTER.pattern})(?:{book.negation})|{SHORT_NOT}").search(text) for book in books)


@dataclass(frozen=True, slots=True)
class Ground:
    """The part of a user's own words that a claim rests on: from the quote's start to the value's, or to the quote's
    end. `pardoned` are reasons to ignore for its key and value."""

    own: str
    part: Span
    core: Span
    pardoned: frozenset[str]


def find_ground(own: str, quote: Span, value: str, pardoned: frozenset[str], books: Sequence[Rulebook]) -> Ground:
    at = find_phrase(value, own, quote)
    core = (at[0], at[0] + 1) if at else quote
    meant = frozenset((NEGATED,)) if is_negated(value, books) else frozenset[str]()  # the value itself is a negation
    return Ground(own, (quote[0], core[1]), core, pardoned | meant)


def find_closing_reason(on: Ground, books: Sequence[Rulebook]) -> str | None:
    """Return why the gates are closed there; None if they are open."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    met = [span for span in sentences(on.own, abbreviations) if span[0] < on.core[1] and on.core[0] < span[1]]
    pairs = (
        (span, book) for span in met for book in books if compile_pattern(book.script).search(on.own[slice(*span)])
    )
    return next((why for span, book in pairs for why in iter_reasons(on, span, book)), None)


def iter_reasons(on: Ground, sentence: Span, book: Rulebook) -> Iterator[str]:
    """Yield why what a claim rests on counts for nothing in a sentence."""
    text = on.own[slice(*sentence)]
    (start, end), verb = find_order(text, book)
    if verb == "forget":
        yield verb
    forgiven = on.pardoned - NEVER_MEANT
    if compile_pattern(book.correction).search(text):
        forgiven |= IN_CORRECTIONS
    offset = sentence[0] + start
    for clause in gate_clauses(text[start:end], book):
        first, last = offset + clause.span[0], offset + clause.span[1]
        if first >= on.part[1] or last <= on.part[0]:
            continue
        is_turned = last > on.core[0] and is_negated(on.own[first : min(last, on.part[1])], [book])
        reasons = (*clause.reasons, NEGATED) if is_turned else clause.reasons
        yield from (reason for reason in reasons if reason not in forgiven)
