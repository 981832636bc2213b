"""Extract: what a turn tells about its user, by rules alone. Text in, facts out, nothing awaited, nothing stored.

The way of a turn: a turn that is not the user's is turned away whole; quotations, code and recalled text are blanked;
what is left is cut into sentences and clauses; gates close clauses that state nothing (questions, hypotheses, small
talk, passing states); rules look for values in the sentence, and a value in an open clause becomes a fact. What is
said twice is one fact, and one turn gives a handful at most. All words are in the rulebooks (recollect/rules).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from recollect.model.fact import Command, Extraction, Fact, Rejection, Span
from recollect.model.gates import Clause, gated_clauses, text_reason
from recollect.model.quoted import blanked, quoted_spans
from recollect.model.rulebook import Order, Rule, Rulebook, compiled
from recollect.model.sentences import sentences
from recollect.model.value import MARKS, Sentence, facts_in, likely_rules

MOST_FACTS = 6
MOST_CHARS = 20_000  # what follows is a pasted document, not something said
SHORT_CORRECTION = 40  # characters of "No, that's wrong.", which speaks of the sentence after it
TOLD = 0.95  # confidence of what the user told to remember
NOTE_IMPORTANCE = 0.6
APOSTROPHES = str.maketrans("’‘＇", "'''")


def extract(text: str, role: str, books: Sequence[Rulebook]) -> Extraction:
    if role != "user":
        return Extraction(rejected=[Rejection("not the user", text)])
    reading = Reading(text[:MOST_CHARS])
    if not reading.is_turned_away(books):
        abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
        for span in sentences(reading.text, abbreviations):
            reading.read(span, books)
    return reading.done()


@dataclass(slots=True)
class Reading:
    """One turn being read, and what has been found in it so far."""

    said: str
    text: str = ""
    facts: list[Fact] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    corrects: bool = False  # the sentence before was a correction and nothing else
    likely: dict[str, Sequence[Rule]] = field(default_factory=dict)  # by language

    def is_turned_away(self, books: Sequence[Rulebook]) -> bool:
        """Blanks what is not the user's own; true if the whole text is none of his statements."""
        self.text = self.said.translate(APOSTROPHES)
        quoted = list(quoted_spans(self.text, books))
        self.rejected += [Rejection("quoted", self.said[start:end]) for start, end in quoted]
        self.text = blanked(self.text, quoted)
        reason = next(filter(None, (text_reason(self.text, book) for book in books)), None)
        if reason:
            self.rejected.append(Rejection(reason, self.said))
        return reason is not None

    def read(self, span: Span, books: Iterable[Rulebook]) -> None:
        text, found = self.text[slice(*span)], len(self.facts)
        corrects = False
        for book in books:
            if compiled(book.script).search(text):
                corrects |= compiled(book.correction).search(text) is not None
                if not self.obey(span, book):
                    self.learn(span, book, corrects or self.corrects)
        self.corrects = corrects and len(self.facts) == found and len(text) <= SHORT_CORRECTION

    def obey(self, span: Span, book: Rulebook) -> bool:
        """True if the sentence tells the memory what to do; what is to be remembered is learned here."""
        text = self.text[slice(*span)]
        lowered = text.lower()
        for order in book.orders:
            if any(word in lowered for word in order.words) and (match := compiled(order.pattern).match(text)):
                start = span[0] + match.start("value")
                end = span[0] + len(text[: match.end("value")].rstrip(MARKS))
                self.execute(order, (start, end), book)
                return True
        return False

    def execute(self, order: Order, span: Span, book: Rulebook) -> None:
        told = self.said[slice(*span)]
        self.commands.append(Command(order.verb, told, span))
        if order.verb == "forget":
            self.rejected.append(Rejection("forget", told))
            return
        found = len(self.facts)
        self.learn(span, book, corrects=False)
        learned = self.facts[found:] or [Fact("fact", "note", told, TOLD, NOTE_IMPORTANCE, span, rule="note")]
        self.facts[found:] = [as_told(fact) for fact in learned]

    def learn(self, span: Span, book: Rulebook, corrects: bool) -> None:
        text, said = self.text[slice(*span)], self.said[slice(*span)]
        clauses = gated_clauses(text, book)
        self.rejected += turned_away(said, clauses)
        hedged = compiled(book.hedge).search(text) is not None
        for made in facts_in(Sentence(text, said, span[0], clauses, corrects, hedged), book, self.rules_of(book)):
            if isinstance(made, Fact):
                self.facts.append(made)
            else:
                self.rejected.append(made)

    def rules_of(self, book: Rulebook) -> Sequence[Rule]:
        if book.language not in self.likely:
            self.likely[book.language] = likely_rules(self.text, book)
        return self.likely[book.language]

    def done(self) -> Extraction:
        facts = merged(self.facts)
        kept = [fact for fact in facts if fact.is_kept]
        first = sorted(kept, key=lambda fact: -fact.importance)[:MOST_FACTS]
        weak = [Rejection("weak", fact.value) for fact in facts if not fact.is_kept]
        extra = [Rejection("too many", fact.value) for fact in kept if fact not in first]
        rejected = list(dict.fromkeys([*self.rejected, *weak, *extra]))
        return Extraction([fact for fact in kept if fact in first], rejected, self.commands)


def as_told(fact: Fact) -> Fact:
    importance = max(fact.importance, NOTE_IMPORTANCE)
    return replace(fact, explicit=True, confidence=max(fact.confidence, TOLD), importance=importance)


def turned_away(said: str, clauses: Sequence[Clause]) -> list[Rejection]:
    """One rejection per run of clauses that are closed for the same reason."""
    runs: list[tuple[str, str]] = []
    for clause in clauses:
        part = said[slice(*clause.span)]
        for reason in clause.reasons[:1]:
            if runs and runs[-1][0] == reason:
                runs[-1] = reason, runs[-1][1] + part
            else:
                runs.append((reason, part))
    return [Rejection(reason, text.strip()) for reason, text in runs]


def merged(facts: Sequence[Fact]) -> list[Fact]:
    """What is said twice is one fact, with the better of both; the longer value of two that contain each other."""
    kept: list[Fact] = []
    for fact in facts:
        twin = next((i for i, other in enumerate(kept) if is_same(fact, other)), None)
        if twin is None:
            kept.append(fact)
        else:
            kept[twin] = better(kept[twin], fact)
    return kept


def is_same(one: Fact, other: Fact) -> bool:
    first, second = one.value.casefold(), other.value.casefold()
    return (one.category, one.key) == (other.category, other.key) and (first in second or second in first)


def better(one: Fact, other: Fact) -> Fact:
    fuller = max(one, other, key=lambda fact: len(fact.value))
    return replace(
        fuller,
        confidence=max(one.confidence, other.confidence),
        importance=max(one.importance, other.importance),
        explicit=one.explicit or other.explicit,
        corrects=one.corrects or other.corrects,
    )
