"""Value: from a rule's match to a fact, or to the reason why it is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.model.fact import Category, Fact, Rejection, Span
from recollect.model.gates import Clause
from recollect.model.rulebook import Rule, Rulebook, compiled

HEDGED = 0.7  # what "I think" leaves of the confidence
AFFIRMED = ("identity", "preference", "fact")  # elsewhere a negation is the point: "never use emojis"
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


def likely_rules(text: str, book: Rulebook) -> list[Rule]:
    """The rules that can match anywhere in a text: most cannot, and each sentence is then spared them."""
    lowered = text.lower()
    return [rule for rule in book.rules if any(word in lowered for word in rule.words)]


def facts_in(sentence: Sentence, book: Rulebook, rules: Sequence[Rule]) -> Iterator[Fact | Rejection]:
    """Earlier rules of the book come first: what one has taken, a later one does not take again."""
    lowered, taken = sentence.text.lower(), list[Span]()
    for rule in rules:
        if not any(word in lowered for word in rule.words):
            continue
        for match in compiled(rule.pattern).finditer(sentence.text):
            made = judged(sentence, rule, match, book)
            if isinstance(made, Rejection):
                yield made
            elif made and not any(made.span[0] < end and start < made.span[1] for start, end in taken):
                taken.append(made.span)
                yield made


def judged(sentence: Sentence, rule: Rule, match: re.Match[str], book: Rulebook) -> Fact | Rejection | None:
    """None where a gate is closed: the gate has been counted already."""
    if closed(sentence.clauses, match) - rule.despite:
        return None
    start, end = trimmed_value(sentence.text, match.span("value"), book)
    value = sentence.said[start:end]
    reason = refused(value, rule, book)
    if reason:
        return Rejection(reason, match[0].strip())
    category, key = named(rule, match, value, book)
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


def closed(clauses: Sequence[Clause], match: re.Match[str]) -> frozenset[str]:
    """The reasons of the clauses from the match's first word to the value's."""
    first = match.end() - len(match[0].lstrip(MARKS))
    met = [clause for clause in clauses if clause.span[1] > first and clause.span[0] <= match.start("value")]
    return frozenset(reason for clause in met for reason in clause.reasons)


def trimmed_value(text: str, span: Span, book: Rulebook) -> Span:
    start, end = span
    before = None
    while before != (start, end):
        before = start, end
        start = end - len(text[start:end].lstrip(MARKS))
        end = start + len(text[start:end].rstrip(MARKS))
        if leading := compiled(book.leading).match(text, start, end):
            start = leading.end()
        if trailing := compiled(book.trailing).search(text[start:end]):
            end = start + trailing.start()
    return start, end


def refused(value: str, rule: Rule, book: Rulebook) -> str | None:
    if len(value) < book.shortest and not value.isdigit():
        return "too short"
    if len(value) > (rule.most or book.longest):
        return "too long"
    if rule.category in AFFIRMED and not rule.defines and compiled(book.negation).match(value):
        return "negated"
    if compiled(book.vague).fullmatch(value) or (rule.stop and compiled(rule.stop).search(value)):
        return "vague"
    return None


def named(rule: Rule, match: re.Match[str], value: str, book: Rulebook) -> tuple[Category, str]:
    """Category and canonical key: of the word used, of the value's topic, of the term defined, or the rule's own."""
    groups = {name: (found or "").lower().strip(MARKS) for name, found in match.groupdict().items()}
    if "key" in groups:
        return book.aliases[" ".join(groups["key"].split())]
    if rule.by_topic:
        topics = (key for key, pattern in book.topics.items() if compiled(pattern).search(value))
        return rule.category, next(topics, rule.key)
    return rule.category, rule.key.format(**groups) if "{" in rule.key else rule.key
