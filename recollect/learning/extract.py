"""Extract what a turn says about its user, by rules alone. Pure: text in, facts out.

Turns that are not the user's are rejected; quotations, code and recalled text are blanked; the rest is split into
sentences and clauses; gates close clauses that state nothing (questions, hypotheses, small talk, temporary states).
Rules find values that have a name of their own (a city, an allergy, a term); of the rest, a statement that is worth
remembering (worth.py) is kept as it was said. Repeated statements are one fact, and one turn yields a few facts at
most. All words are in the rulebooks (learning/rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, groupby, pairwise

from recollect.learning.gates import Clause, blank_spans, find_quoted_spans, find_text_reason, gate_clauses
from recollect.learning.rulebook import Rule, Rulebook, compile_pattern, list_books
from recollect.learning.worth import (
    Statement,
    begins_anew,
    find_home,
    is_pointing,
    is_referring,
    is_worthy,
    join_parts,
    judge_statement,
    list_runs,
    name_statement,
    split_run,
)
from recollect.recall.sentences import sentences
from recollect.values.memory import Category, Command, Extraction, Fact, Rejection, Span, Verb

HEDGED = 0.7  # what "I think" leaves of the confidence
AFFIRMED = ("identity", "preference", "fact")  # elsewhere a negation is the point: "never use emojis"
# Between two tasks: what follows "and" is a verb with its object.
NEXT_TASK = re.compile(r",? and (?:then )?(?=[a-z]+ (?:an?|the|my|our|some|for|to|[A-Z0-9])\b)|、(?=.{2,})|，?还要")
MARKS = " \t\n,.;:!?，。；：！？、…~～*_()（）\"'“”"


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` as the rules read it, `said` as the user wrote it: of the same length, from `start` on in the turn."""

    text: str
    said: str
    start: int
    clauses: Sequence[Clause]
    corrects: bool
    hedged: bool


def find_facts(sentence: Sentence, book: Rulebook) -> Iterator[Fact | Rejection]:
    """Yield facts and rejections. A value that an earlier rule took is not taken again."""
    lowered, taken = sentence.text.lower(), list[Span]()
    for rule in book.rules:
        if not any(word in lowered for word in rule.words):
            continue
        for match in compile_pattern(rule.pattern).finditer(sentence.text):
            made = judge_match(sentence, rule, match, book)
            if isinstance(made, Rejection):
                yield made
            elif made and not any(made.span[0] < end and start < made.span[1] for start, end in taken):
                taken.append(made.span)
                yield from split_tasks(made)


def split_tasks(fact: Fact) -> list[Fact]:
    """Return a fact; of several tasks in one sentence, each, because they are done one by one."""
    if fact.category != "todo":
        return [fact]
    ends = [*(found.start() for found in NEXT_TASK.finditer(fact.value)), len(fact.value)]
    starts = [0, *(found.end() for found in NEXT_TASK.finditer(fact.value))]
    begin = fact.span[0]
    return [
        replace(fact, value=fact.value[start:end], span=(begin + start, begin + end))
        for start, end in zip(starts, ends, strict=True)
    ]


def judge_match(sentence: Sentence, rule: Rule, match: re.Match[str], book: Rulebook) -> Fact | Rejection | None:
    """Return a fact or why it is refused; None if a gate is closed, which is already counted."""
    if list_closed_gates(sentence.clauses, match) - rule.despite:
        return None
    start, end = trim_value(sentence.text, match.span("value"), book)
    value = sentence.said[start:end]
    # A meaning may point at the rows that it selects: "loyal means those with more than 5 orders".
    points = not rule.defines and compile_pattern(book.pointing).match(sentence.text, match.start("value"), end)
    reason = "vague" if points else find_refusal(value, rule, book)
    if reason:
        return Rejection(reason, match[0].strip())
    category, key = name_fact(rule, match, value, book)
    return Fact(
        category=category,
        key=key,
        value=value,
        confidence=round(rule.confidence * (HEDGED if sentence.hedged else 1), 2),
        importance=rule.importance,
        span=(sentence.start + start, sentence.start + end),
        corrects=rule.corrects or sentence.corrects,
        old=match.groupdict().get("old"),
        rule=rule.name,
    )


def list_closed_gates(clauses: Sequence[Clause], match: re.Match[str]) -> frozenset[str]:
    """Return the reasons of the clauses from the match's first word to the value's."""
    first = match.end() - len(match[0].lstrip(MARKS))
    met = [clause for clause in clauses if clause.span[1] > first and clause.span[0] <= match.start("value")]
    return frozenset(reason for clause in met for reason in clause.reasons)


def trim_value(text: str, span: Span, book: Rulebook) -> Span:
    start, end = span
    before = None
    while before != (start, end):
        before = start, end
        start = end - len(text[start:end].lstrip(MARKS))
        end = start + len(text[start:end].rstrip(MARKS))
        if leading := compile_pattern(book.leading).match(text, start, end):
            start = leading.end()
        if trailing := compile_pattern(book.trailing).search(text[start:end]):
            end = start + trailing.start()
    return start, end


def find_refusal(value: str, rule: Rule, book: Rulebook) -> str | None:
    """Return why a value says nothing, or None."""
    is_affirmed = rule.category in AFFIRMED and not rule.defines
    refusals = {
        "too short": len(value) < book.shortest and not value.isdigit(),
        "too long": len(value) > (rule.most or book.longest),
        "negated": is_affirmed and compile_pattern(book.negation).match(value),
        "vague": compile_pattern(book.vague).fullmatch(value)
        or (rule.stop and compile_pattern(rule.stop).search(value)),
    }
    return next((reason for reason, holds in refusals.items() if holds), None)


def name_fact(rule: Rule, match: re.Match[str], value: str, book: Rulebook) -> tuple[Category, str]:
    """Return category and canonical key: of the word used, of the value's topic, of the defined term, or the rule's
    own."""
    groups = {name: (found or "").lower().strip(MARKS) for name, found in match.groupdict().items()}
    if "key" in groups:
        return book.aliases[" ".join(groups["key"].split())]
    if rule.by_topic:
        return rule.category, book.find_topic(value, rule.category) or rule.key
    return rule.category, rule.key.format(**groups) if "{" in rule.key else rule.key


MOST_FACTS = 6
MOST_CHARS = 8_000  # what follows is a pasted document, not something said
LONGEST_SENTENCE = 1_000  # characters; the time that rules take grows faster than a sentence
SENTENCE_END = re.compile(r"[.!?。！？\n](?!\w)|\Z")
GAP = re.compile(r"[^\S\n]{25,}")  # ends a sentence; patterns that try each blank would take too long
SHORT_CORRECTION = 40  # characters of "No, that's wrong.", which speaks of the sentence after it
TOLD = 0.95  # confidence of what the user told to remember
NOTE_IMPORTANCE = 0.6
STATES = frozenset(("temporary", "past", "others", "planned", "request"))  # gates of clauses that say what is meant
STATED = "statement"  # the rule of what is kept as it was said
STATED_IMPORTANCE, STANDING_IMPORTANCE = 0.4, 0.6
SHORTEST_STATEMENT, LONGEST_STATEMENT = 4, 300  # characters
APOSTROPHES = str.maketrans("’‘＇", "'''")


def extract(text: str, role: str, books: Sequence[Rulebook]) -> Extraction:
    if role != "user":
        return Extraction(rejected=[Rejection("not the user", text)])
    reading = TurnReader(text[:MOST_CHARS])
    if not reading.is_turned_away(books):
        abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
        for span in sentences(reading.text, abbreviations):
            reading.read(span, books)
        reading.take_back(books)
    return reading.done()


@dataclass(slots=True)
class TurnReader:
    """Reads one turn and collects what it finds."""

    said: str
    text: str = ""
    facts: list[Fact] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    corrects: bool = False  # the sentence before was a correction and nothing else

    def is_turned_away(self, books: Sequence[Rulebook]) -> bool:
        """Blank what is not the user's own; return whether the whole text is rejected."""
        self.text = self.said.translate(APOSTROPHES)
        quoted = list(find_quoted_spans(self.text, books))
        self.rejected += [Rejection("quoted", self.said[start:end]) for start, end in quoted]
        self.text = GAP.sub(lambda gap: "\n" * len(gap[0]), blank_spans(self.text, quoted))
        reason = next(filter(None, (find_text_reason(self.text, book) for book in books)), None)
        if reason:
            self.rejected.append(Rejection(reason, self.said))
        return reason is not None

    def read(self, span: Span, books: Iterable[Rulebook]) -> None:
        text, found = self.text[slice(*span)], len(self.facts)
        if len(text) > LONGEST_SENTENCE:
            self.rejected.append(Rejection("too long", self.said[slice(*span)]))
            return
        corrects = False
        readers = list_books(text, books)
        for book in readers:
            corrects |= compile_pattern(book.correction).search(text) is not None
            if self.obey(span, book):
                readers = []
            else:
                self.learn(span, book, corrects or self.corrects)
        self.corrects = corrects and len(self.facts) == found and len(text) <= SHORT_CORRECTION
        for book in readers[:1]:
            self.keep_statements(span, book)

    def read_predicates(self, span: Span, book: Rulebook) -> list[Fact]:
        """Return the facts of several predicates of one subject ("I'm a nurse, 29 and vegan"), each read as a sentence
        of its own, at its place; nothing unless each has a key of its own."""
        found = compile_pattern(book.predicates).search(self.text[slice(*span)])
        if found is None:
            return []
        start, parts, facts = span[0] + found.start("parts"), found["parts"], list[Fact]()
        cuts = [cut.span() for cut in compile_pattern(book.coordinator).finditer(parts)]
        for (_, first), (last, _) in pairwise([(0, 0), *cuts, (len(parts), 0)]):
            first, last = start + first, start + last
            subject = found["subject"].rjust(first - span[0])
            reading = TurnReader(self.said, self.text[: span[0]] + subject + self.text[first:last])
            reading.learn((span[0], last), book, corrects=False)
            reading.keep_statements((span[0], last), book)
            known = {fact.key for fact in facts}
            named = [fact for fact in reading.facts if fact.key not in (fact.category, *known)]
            if not named:
                return []
            facts += (
                named if first == start else [move_start(fact, max(fact.span[0], first), self.said) for fact in named]
            )
        return facts

    def obey(self, span: Span, book: Rulebook) -> bool:
        """Return whether the sentence is a command to the memory; what is to be remembered is learned here."""
        (first, last), verb = find_order(self.text[slice(*span)], book)
        if verb is not None:
            self.execute(verb, (span[0] + first, span[0] + last), book)
        return verb is not None

    def execute(self, verb: Verb, span: Span, book: Rulebook) -> None:
        told = self.said[slice(*span)]
        self.commands.append(Command(verb, told, span))
        if verb == "forget":
            self.rejected.append(Rejection("forget", told))
            return
        found = len(self.facts)
        self.learn(span, book, corrects=False)
        category, key = find_home(told, "fact", book)
        note = Fact(category, "note" if key == category else key, told, TOLD, NOTE_IMPORTANCE, span, rule="note")
        learned = self.facts[found:] or [note]
        self.facts[found:] = [mark_explicit(fact) for fact in learned]

    def learn(self, span: Span, book: Rulebook, corrects: bool) -> None:
        if predicates := self.read_predicates(span, book):
            self.facts += predicates
            return
        text, said = self.text[slice(*span)], self.said[slice(*span)]
        clauses = gate_clauses(text, book)
        self.rejected += list_rejections(said, clauses)
        hedged = compile_pattern(book.hedge).search(text) is not None
        for made in find_facts(Sentence(text, said, span[0], clauses, corrects, hedged), book):
            if isinstance(made, Fact):
                self.facts.append(made)
            else:
                self.rejected.append(made)

    def keep_statements(self, span: Span, book: Rulebook) -> None:
        """Keep what a sentence says beside the values that rules found, if it is worth it. "It's B, not A" is about
        what was said before."""
        if any(compile_pattern(swap).match(self.text[slice(*span)]) for swap in book.swaps):
            return
        clauses = gate_clauses(self.text[slice(*span)], book)
        for run in list_runs(clauses, span[0], [fact.span for fact in self.facts]):
            own = list(dropwhile(lambda clause: is_pointing(self.text, clause, book), run))
            if own and own[0].span[0] == span[0] and not self.is_cut(span[0]):
                self.keep_run(own, book)
            elif own and begins_anew(self.text, own[0], book):
                self.keep_rest(own, span[0], clauses, book)

    def keep_run(self, run: Sequence[Statement], book: Rulebook) -> None:
        if is_worthy(self.text, join_parts(run), book):
            for part in split_run(self.text, run, book):
                fact = keep_statement(self.text, self.said, part, book)
                self.facts += split_tasks(fact) if fact else ()

    def keep_rest(self, run: Sequence[Statement], start: int, clauses: Sequence[Clause], book: Rulebook) -> None:
        """Keep the rest of a sentence that was closed or taken up to here; together with its beginning if it refers to
        that ("..., I must file it by Friday")."""
        found, (first, last) = len(self.facts), join_parts(run).span
        self.keep_run(run, book)
        if is_referring(self.text, join_parts(run), book):
            closed = {reason for each in clauses if start + each.span[0] < first for reason in each.reasons}
            is_whole = closed <= STATES and last - start <= LONGEST_STATEMENT and not self.is_cut(start)
            kept = self.facts[found:][-1:] if is_whole else []
            self.facts[found:] = [move_start(fact, start, self.said) for fact in kept]

    def is_cut(self, start: int) -> bool:
        """Return whether a sentence begins after something that is not the user's own."""
        return self.text[:start][-1:] == "\n" != self.said[:start][-1:]

    def take_back(self, books: Sequence[Rulebook]) -> None:
        """Correct what is taken back in the same message ("green. No, make that teal"): a value becomes the one that
        follows; a statement is kept with the correction."""
        for book in books:
            for cue in compile_pattern(rf"(?:{book.cues['takes_back']}[,;:!.—–-]*)+").finditer(self.text):
                before = [fact for fact in self.facts if fact.span[0] < cue.start()]
                last = max(before, key=lambda fact: fact.span, default=None)
                found = SENTENCE_END.search(self.text, cue.end())
                end = found.start() if found else len(self.text)
                if last and not self.text[last.span[1] : cue.start()].strip(MARKS) and end > cue.end():
                    self.correct_fact(last, trim_value(self.text, (cue.end(), end), book), book)

    def correct_fact(self, fact: Fact, span: Span, book: Rulebook) -> None:
        start, end = span
        is_whole = book.subject and compile_pattern(book.subject).match(self.text, start, end)
        is_closed = any(clause.reasons for clause in gate_clauses(self.text[start:end], book))
        if is_whole or is_closed or not 0 < end - start <= SHORT_CORRECTION:
            return
        start = fact.span[0] if fact.rule == STATED else start
        self.facts = [one for one in self.facts if one is not fact and not (start <= one.span[0] < end)]
        self.facts.append(replace(fact, value=self.said[start:end], span=(start, end)))

    def done(self) -> Extraction:
        facts = merge_facts(self.facts)
        kept = [fact for fact in facts if fact.is_kept]
        first = sorted(kept, key=lambda fact: -fact.importance)[:MOST_FACTS]
        weak = [Rejection("weak", fact.value) for fact in facts if not fact.is_kept]
        extra = [Rejection("too many", fact.value) for fact in kept if fact not in first]
        rejected = list(dict.fromkeys([*self.rejected, *weak, *extra]))
        return Extraction([fact for fact in kept if fact in first], rejected, self.commands)


def find_order(text: str, book: Rulebook) -> tuple[Span, Verb | None]:
    """Return what the memory is told to remember or forget, and which of both; the whole sentence if neither. "Can you
    remember that I hate mornings?" is no question."""
    lowered = text.lower()
    for order in book.orders:
        if any(word in lowered for word in order.words) and (match := compile_pattern(order.pattern).match(text)):
            return (match.start("value"), len(text[: match.end("value")].rstrip(MARKS))), order.verb
    return (0, len(text)), None


def keep_statement(text: str, said: str, statement: Statement, book: Rulebook) -> Fact | None:
    """Return a statement as a fact in the user's own words; None if it is too short or too long to be one."""
    start, end = trim_value(text, statement.span, book)
    if not SHORTEST_STATEMENT <= end - start <= LONGEST_STATEMENT:
        return None
    worth = judge_statement(text, statement)
    category, key = name_statement(worth, said[start:end], book)
    is_standing = category == "instruction" or key in book.topics["constraint"]
    return Fact(
        category=category,
        key=key,
        value=said[start:end],
        confidence=round(worth.probability, 2),
        importance=STANDING_IMPORTANCE if is_standing else STATED_IMPORTANCE,
        span=(start, end),
        rule=STATED,
    )


def move_start(fact: Fact, start: int, said: str) -> Fact:
    return replace(fact, value=said[start : fact.span[1]], span=(start, fact.span[1]))


def mark_explicit(fact: Fact) -> Fact:
    importance = max(fact.importance, NOTE_IMPORTANCE)
    return replace(fact, explicit=True, confidence=max(fact.confidence, TOLD), importance=importance)


def list_rejections(said: str, clauses: Sequence[Clause]) -> list[Rejection]:
    """Return one rejection per run of clauses that are closed for the same reason."""
    runs = [(reasons, list(run)) for reasons, run in groupby(clauses, key=lambda clause: clause.reasons[:1])]
    texts = [(reasons, "".join(said[slice(*clause.span)] for clause in run)) for reasons, run in runs]
    return [Rejection(reasons[0], text.strip()) for reasons, text in texts if reasons]


def merge_facts(facts: Sequence[Fact]) -> list[Fact]:
    """Merge repeated facts, keeping the better values; of two values that contain each other the longer one."""
    kept: list[Fact] = []
    for fact in facts:
        twin = next((i for i, other in enumerate(kept) if is_same_fact(fact, other)), None)
        if twin is None:
            kept.append(fact)
        else:
            kept[twin] = merge_two(kept[twin], fact)
    return kept


def is_same_fact(one: Fact, other: Fact) -> bool:
    first, second = one.value.casefold(), other.value.casefold()
    return (one.category, one.key) == (other.category, other.key) and (first in second or second in first)


def merge_two(one: Fact, other: Fact) -> Fact:
    fuller = max(one, other, key=lambda fact: len(fact.value))
    return replace(
        fuller,
        confidence=max(one.confidence, other.confidence),
        importance=max(one.importance, other.importance),
        explicit=one.explicit or other.explicit,
        corrects=one.corrects or other.corrects,
    )
