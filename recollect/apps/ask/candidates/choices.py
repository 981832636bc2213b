"""Choices: offered where a question is not clear enough, and found again when a reply names one.

A choice is stored with its frame, so choosing it always leads to an answer. `make_clarification` offers choices;
`pick_choice` finds the one that a reply names: by its id, its number, its label or a click. `Offers` keeps the latest
in the process, for callers without memory and while memory does not answer.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from recollect.apps.ask.answers.wording import name_left_out, word_question
from recollect.apps.ask.candidates.interpretation import Interpretation
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret import Candidate, SchemaIndex, teaches
from recollect.apps.ask.interpret.decide import CHOICES
from recollect.apps.ask.interpret.explain import make_distinct
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.memories.patterns import normalize_question
from recollect.apps.ask.question import Choice, Clarification, find_category
from recollect.apps.ask.words import stem_phrase
from recollect.values.scope import Scope, uuid7

MAX_OFFERS = 1_000
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "one": 1, "two": 2,
    "three": 3, "four": 4, "一": 1, "二": 2, "三": 3, "四": 4, "last": -1, "最后": -1,
}  # fmt: skip
POSITION = re.compile(
    rf"^(?:(?:i mean|i meant|take|use|choose|please|the|option|choice|number|no\.?|#|第)\s*)*"
    rf"(?:\(?(?P<number>\d)[.)]?|(?P<word>{'|'.join(ORDINALS)}))\s*(?:one|option|choice|个|项|种)?(?:\s*please)?$"
)


def make_clarification(inquiry: Inquiry, found: Interpretation) -> Clarification:
    """Return the question back for a decision to offer choices."""
    question, decision = inquiry.question, found.decision
    unknown = next(iter(decision.unexplained), "")
    # Without an unknown word it is about what the two best candidates read differently.
    best, *others = decision.candidates
    ambiguous = [words for other in others[:1] for words, _ in teaches(best, other)]
    known = (said for said, word in inquiry.taught.words if stem_phrase(unknown) in map(stem_phrase, word.names))
    return offer(
        inquiry,
        list_choices(found, inquiry.view.index, question),
        unknown or next(iter(ambiguous), question[:80]),
        word_question(unknown, next(known, None), question, found.absent),
        find_category(unknown) if unknown else "ambiguous",
    )


def offer(
    inquiry: Inquiry, choices: tuple[Choice, ...], term: str, question: str, category: str = "ambiguous"
) -> Clarification:  # fmt: skip
    """Return a clarification. Its id names the session that it is stored in."""
    labels = tuple(each.label for each in choices)
    return Clarification(term, question, labels, category, f"{uuid7().hex}@{inquiry.session or ''}", choices)


def list_choices(found: Interpretation, index: SchemaIndex, question: str) -> tuple[Choice, ...]:
    """Return a choice for each suggested meaning of a word, which teaches it, and for the best candidates. Of these,
    those that read the whole question alone answer it from then on."""
    suggested = {each.candidate.id for each in found.suggestions}
    others = [each for each in found.decision.candidates if each.id not in suggested][: CHOICES - len(suggested)]
    choices = [
        Choice("", each.candidate.label, each.candidate.frame.to_data(), ((each.word, each.meaning),))
        for each in found.suggestions
    ]
    choices += [make_choice(each, others, question) for each in others]
    frames = [each.frame for each in (*(each.candidate for each in found.suggestions), *others)]
    labels = make_distinct([each.label for each in choices], frames, index)
    named = zip(choices, labels, strict=True)
    return tuple(replace(each, id=str(n), label=label) for n, (each, label) in enumerate(named, 1))


def make_choice(candidate: Candidate, others: Sequence[Candidate], question: str) -> Choice:
    label = name_left_out(candidate.label, candidate.unexplained, question)
    answered = "" if candidate.unexplained or candidate.changed else question
    return Choice("", label, candidate.frame.to_data(), tuple(list_lessons(candidate, others)), question=answered)


def list_lessons(chosen: Candidate, candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return (word, meaning) for what choosing this candidate over the best other one teaches. Something else of the
    same table, such as a date in place of a figure, is about this question only."""
    other = next((each for each in candidates if each.id != chosen.id), None)
    meant = dict(other.links) if other else {}
    return [
        (words, describe_target(target))
        for words, target in (teaches(chosen, other) if other else ())
        if target.table != meant[words].table or target.kind == meant[words].kind
    ]


def describe_target(target: Target) -> str:
    """Return a meaning that memories/vocabulary.py reads back."""
    if target.expression:
        return f"{target.aggregate.upper() or 'SUM'}({target.expression})"
    return f"refers to {target.table}.{target.column}".rstrip(".")


# Choices that come back -----------------------------------------------------------------------------------------------


class Offers:
    """The latest clarifications that this process asked for, by their ids."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, str, str, Clarification]] = OrderedDict()

    def keep(self, scope: Scope, source: str, clarifications: Sequence[Clarification]) -> None:
        for each in clarifications:
            if each.choices:
                self._kept[each.id] = (scope.project, scope.user, source, each)
        while len(self._kept) > MAX_OFFERS:
            self._kept.popitem(last=False)

    def find(self, scope: Scope, id: str) -> tuple[str, Clarification] | None:  # noqa: A002
        """Return the source and the clarification of an id, if it was asked of this user."""
        project, user, source, found = self._kept.get(id, ("", "", "", None))
        return (source, found) if found and (project, user) == (scope.project, scope.user) else None


def pick_choice(reply: str, choices: Sequence[Choice]) -> Choice | None:
    """Return the choice that a reply names by its label, its number or its place; None if it says something else."""
    said = normalize_question(reply)
    for choice in choices:
        if said == normalize_question(choice.label):
            return choice
    found = POSITION.match(said)
    if found is None:
        return None
    place = int(found["number"]) if found["number"] else ORDINALS[found["word"]]
    numbered = dict(enumerate(choices, 1)) | ({-1: choices[-1]} if choices else {})
    return numbered.get(place)
