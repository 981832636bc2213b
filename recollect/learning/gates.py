"""Gates: which clauses of a sentence state nothing about the user, and why; and text that the user only passes on. Each
reason is counted.

A gate closes its clause, the rest of the sentence, the sentence, or the text: "if" affects what follows it, a question
only its own clause ("I'm allergic to nuts, what can I eat?"). Code, quotations, recalled text and pasted data are
blanked, not cut, so that positions stay the same: learning from recalled text would feed memory with itself, learning
from a quotation would attribute others' words to the user.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from recollect.learning.rulebook import Gate, Rulebook, compile_pattern
from recollect.recall.sentences import clause_spans
from recollect.values.memory import Span

QUESTION = "question"
ASKS = ("?", "？")


@dataclass(slots=True)
class Clause:
    """A clause of a sentence and the reasons why it is closed."""

    span: Span  # within its sentence
    reasons: tuple[str, ...] = ()  # in the order of the book's gates; the first is the one that is counted

    def close(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons += (reason,)


def find_text_reason(text: str, book: Rulebook) -> str | None:
    """Return why nothing in the whole text counts, or None."""
    return next(
        (gate.reason for gate in book.gates if gate.reach == "text" and is_found(gate, text, text.lower())), None
    )


def gate_clauses(sentence: str, book: Rulebook) -> list[Clause]:
    found = [Clause(span) for span in clause_spans(sentence, compile_pattern(book.clause))]
    lowered = sentence.lower()
    for gate in book.gates:
        if gate.reach != "text" and any(word in lowered for word in gate.words or ("",)):
            apply_gate(gate, sentence, found)
    if sentence.rstrip("\"' )").endswith(ASKS):
        close_question(found)
    return found


def apply_gate(gate: Gate, sentence: str, clauses: Sequence[Clause]) -> None:
    if gate.reach == "sentence":
        closed = clauses if compile_pattern(gate.pattern).search(sentence) else ()
    else:
        closed = tuple(iter_reached(gate, sentence, clauses))
    for clause in closed:
        clause.close(gate.reason)


def iter_reached(gate: Gate, sentence: str, clauses: Sequence[Clause]) -> Iterator[Clause]:
    is_reached = False
    for clause in clauses:
        clause_text = sentence[slice(*clause.span)].strip()
        is_reached = (is_reached and gate.reach == "rest") or bool(compile_pattern(gate.pattern).search(clause_text))
        if is_reached:
            yield clause


def close_question(clauses: Sequence[Clause]) -> None:
    """Close the last clause for its question mark; also all before it, if no clause begins like a question."""
    for clause in clauses[-1:] if any(QUESTION in clause.reasons for clause in clauses) else clauses:
        clause.close(QUESTION)


def is_found(gate: Gate, text: str, lowered: str) -> bool:
    return (
        any(word in lowered for word in gate.words or ("",)) and compile_pattern(gate.pattern).search(text) is not None
    )


BLOCK = re.compile(r"```.*?(?:```|\Z)|<([a-z_][\w-]*)(?: [^<>]*)?>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
LINE = re.compile(r"^[ \t]*(?:>|\||//|/\*|@\w+\().*$|^.*(?:[{}]|\);|\w\(.*\):)[ \t]*$", re.MULTILINE)
QUOTATION = re.compile(
    r'"[^"\n]+"|“[^“”]+”|「[^「」]+」|『[^『』]+』|《[^《》]+》' r"|(?:(?<=\s)|(?<=^))'[^'\n]{12,}'(?=[\s.,!?]|$)"
)
# What is not longer than this is a term in quotation marks, such as "active".
TERM_WORDS = 3
TERM_CHARS = 24
TERM_IDEOGRAPHS = 6


def find_quoted_spans(text: str, books: Collection[Rulebook]) -> Iterator[Span]:
    for pattern in (BLOCK, LINE, *(compile_pattern(book.injected) for book in books)):
        yield from (found.span() for found in pattern.finditer(text))
    yield from (found.span() for found in QUOTATION.finditer(text) if not is_term(found[0][1:-1]))


def is_term(quoted: str) -> bool:
    most = TERM_CHARS if quoted.isascii() else TERM_IDEOGRAPHS
    return len(quoted) <= most and len(quoted.split()) <= TERM_WORDS


def blank_spans(text: str, spans: Collection[Span]) -> str:
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text
