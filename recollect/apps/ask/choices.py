"""Choices: interpretations that are offered, and how one comes back: by its id, its number, its label or a click.

`make_clarification` turns a decision into a question with choices; `pick_choice` finds the one that a reply means. A
choice is stored with its frame, so choosing it always leads to an answer. `Offers` keeps the latest ones in the
process, for callers without memory and while memory does not answer.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.apps.ask.interpret import Candidate, Decision, SchemaIndex, teaches
from recollect.apps.ask.interpret.explain import make_distinct
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.words import stem_phrase
from recollect.apps.ask.meanings import Suggestion
from recollect.apps.ask.patterns import normalize_question
from recollect.apps.ask.question import Choice, Clarification, read_stored
from recollect.apps.ask.vocabulary import Taught, TaughtWord
from recollect.values.scope import Scope, uuid7
from recollect.values.text import is_cjk

MAX_OFFERS = 1_000
# The vague words of the seed, by category.
CATEGORIES = {
    "temporal": ("recent", "recently", "latest", "current", "currently", "new", "old", "最近", "当前"),
    "quantitative": ("top", "best", "high", "significant", "big", "large", "low", "good", "worst", "重要"),
    "state": ("active", "valid", "inactive", "invalid", "open", "closed", "available", "pending", "活跃", "有效"),
    "aggregation": ("summary", "overview", "performance", "statistics", "report", "汇总", "业绩"),
    "entity": ("it", "they", "them", "this", "that", "those", "these", "他们", "它"),
}
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "one": 1, "two": 2,
    "three": 3, "four": 4, "一": 1, "二": 2, "三": 3, "四": 4, "last": -1, "最后": -1,
}  # fmt: skip
POSITION = re.compile(
    rf"^(?:(?:i mean|i meant|take|use|choose|please|the|option|choice|number|no\.?|#|第)\s*)*"
    rf"(?:\(?(?P<number>\d)[.)]?|(?P<word>{'|'.join(ORDINALS)}))\s*(?:one|option|choice|个|项|种)?(?:\s*please)?$"
)


def make_clarification(
    decision: Decision,
    suggestions: Sequence[Suggestion],
    taught: Taught,
    index: SchemaIndex,
    question: str,
    session: str | None,
) -> Clarification:
    """Return the question back for a decision to offer choices. Its id names the session that it is stored in."""
    candidates = decision.candidates
    if suggestions:
        choices = offer_meanings(suggestions, candidates[0], index, question)
    else:
        choices = offer_candidates(candidates, index, question)
    term = decision.unexplained[0] if decision.unexplained else find_ambiguous(candidates)
    known = next((each for each in taught.words if stem_phrase(each.term) == stem_phrase(term)), None)
    return Clarification(
        term or question[:80],
        word_question(term if decision.unexplained else "", known, question),
        tuple(each.label for each in choices),
        find_category(term) if decision.unexplained else "ambiguous",
        make_clarification_id(session),
        choices,
    )


def make_clarification_id(session: str | None) -> str:
    return f"{uuid7().hex}@{session or ''}"


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


def name_left_out(label: str, words: Sequence[str], question: str) -> str:
    """Return the label of a choice with the words of the question that it leaves out."""
    if not words:
        return label
    if is_cjk(question):
        return f"{label}（不考虑“{'”、“'.join(dict.fromkeys(words))}”）"
    quoted = ", ".join(f'"{word}"' for word in dict.fromkeys(words))
    return f"{label} (without {quoted})"


def offer_candidates(candidates: Sequence[Candidate], index: SchemaIndex, question: str) -> tuple[Choice, ...]:
    plain = [name_left_out(each.label, each.unexplained, question) for each in candidates]
    labels = make_distinct(plain, [each.frame for each in candidates], index)
    return tuple(
        Choice(
            str(n),
            label,
            each.frame.to_data(),
            tuple(list_lessons(each, candidates)),
            question="" if each.unexplained or each.changed else question,
        )
        for n, (label, each) in enumerate(zip(labels, candidates, strict=True), 1)
    )


def offer_meanings(
    suggestions: Sequence[Suggestion], best: Candidate, index: SchemaIndex, question: str
) -> tuple[Choice, ...]:
    """Return a choice for each meaning of a word, which teaches it, and one that leaves the word out."""
    frames = [*(each.candidate.frame for each in suggestions), best.frame]
    labels = make_distinct([*(each.candidate.label for each in suggestions), best.label], frames, index)
    word = suggestions[0].word
    labels[-1] = name_left_out(labels[-1], [word], question)
    lessons = [((each.word, each.meaning),) for each in suggestions]
    return tuple(
        Choice(str(n), label, frame.to_data(), taught)
        for n, (label, frame, taught) in enumerate(zip(labels, frames, [*lessons, ()], strict=True), 1)
    )


def word_question(term: str, known: TaughtWord | None, question: str) -> str:
    """Return the question that stands above the choices, in the language of the user's question."""
    if is_cjk(question):
        opening = f"不明白“{term}”。" if term else ""
        opening = f"“{term}”的含义是“{known.meaning}”，但没有对应的列。" if term and known else opening
        return f"{opening}您指的是哪一个？"
    opening = f'"{term}" is not known here. ' if term else ""
    if term and known:
        opening = f'"{term}" is known as "{known.meaning}" ({known.source}), but no column fits that. '
    return f"{opening}Which of these do you mean?"


def find_ambiguous(candidates: Sequence[Candidate]) -> str:
    """Return the words that the two best candidates read differently."""
    found = teaches(candidates[0], candidates[1]) if len(candidates) > 1 else []
    return found[0][0] if found else ""


def find_category(term: str) -> str:
    return next((name for name, words in CATEGORIES.items() if term.casefold() in words), "unknown")


def list_lessons(chosen: Candidate, candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return (word, meaning) for what choosing this candidate over the best other one teaches."""
    other = next((each for each in candidates if each.id != chosen.id), None)
    if other is None:
        return []
    meant = dict(other.links)
    return [
        (words, describe_target(target))
        for words, target in teaches(chosen, other)
        if not is_same_thing(target, meant[words])
    ]


def is_same_thing(one: Target, other: Target) -> bool:
    """Return whether the difference is about this question only: a table, or a figure of that same table."""
    return one.table == other.table and "entity" in (one.kind, other.kind)


def describe_target(target: Target) -> str:
    """Return a meaning that vocabulary.py reads back."""
    if target.expression:
        return f"{target.aggregate.upper() or 'SUM'}({target.expression})"
    return f"refers to {target.table}.{target.column}" if target.column else f"refers to {target.table}"


# What comes back -----------------------------------------------------------------------------------------------------


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


def read_clarifications(data: Mapping[str, Any]) -> tuple[Clarification, ...]:
    """Return the clarifications stored with a turn."""
    return read_stored(data.get("clarifications") or (), tuple[Clarification, ...])


def list_offered(data: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Return the choices that an answer offered, in order."""
    return tuple(choice for each in read_clarifications(data) for choice in each.choices)
