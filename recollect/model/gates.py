"""Gates: which clauses of a sentence state nothing about the user, and why. Each reason is counted.

A gate closes its clause, the rest of the sentence from there on, the sentence, or the text: "if" governs what follows
it, a question only its own clause ("I'm allergic to nuts, what can I eat?" tells something before it asks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.fact import Span
from recollect.model.rulebook import Gate, Rulebook, compiled
from recollect.model.sentences import clause_spans

QUESTION = "question"
ASKS = ("?", "？")


@dataclass(slots=True)
class Clause:
    span: Span  # within its sentence
    reasons: tuple[str, ...] = ()  # in the order of the book's gates; the first is the one that is counted

    def close(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons += (reason,)


def text_reason(text: str, book: Rulebook) -> str | None:
    """Why nothing in the whole text counts."""
    return next((gate.reason for gate in book.gates if gate.reach == "text" and finds(gate, text, text.lower())), None)


def gated_clauses(sentence: str, book: Rulebook) -> list[Clause]:
    found = [Clause(span) for span in clause_spans(sentence, compiled(book.clause))]
    lowered = sentence.lower()
    for gate in book.gates:
        if gate.reach != "text" and any(word in lowered for word in gate.words or ("",)):
            apply(gate, sentence, found)
    if sentence.rstrip("\"' )").endswith(ASKS):
        close_question(found)
    return found


def apply(gate: Gate, sentence: str, clauses: Sequence[Clause]) -> None:
    if gate.reach == "sentence":
        closed = clauses if compiled(gate.pattern).search(sentence) else ()
    else:
        closed = tuple(reached(gate, sentence, clauses))
    for clause in closed:
        clause.close(gate.reason)


def reached(gate: Gate, sentence: str, clauses: Sequence[Clause]) -> Iterator[Clause]:
    is_reached = False
    for clause in clauses:
        clause_text = sentence[slice(*clause.span)].strip()
        is_reached = (is_reached and gate.reach == "rest") or bool(compiled(gate.pattern).search(clause_text))
        if is_reached:
            yield clause


def close_question(clauses: Sequence[Clause]) -> None:
    """A question mark closes the last clause; also all before it, if no clause opens as a question does."""
    for clause in clauses[-1:] if any(QUESTION in clause.reasons for clause in clauses) else clauses:
        clause.close(QUESTION)


def finds(gate: Gate, text: str, lowered: str) -> bool:
    return any(word in lowered for word in gate.words or ("",)) and compiled(gate.pattern).search(text) is not None
