"""Meanings that are suggested for a word that nothing explains: conditions on the rows that the question is about.

Each meaning is a short phrase ("status open", "last login at in the last 30 days"), read like one that a user teaches.
So what is offered can be answered, and what is chosen is read the same way the next time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, islice, zip_longest

from recollect.apps.ask.interpret import Candidate, Decision, Linked, SchemaIndex, Word, link_question, propose
from recollect.apps.ask.interpret.explain import plural
from recollect.apps.ask.interpret.index import TableInfo
from recollect.apps.ask.interpret.joins import is_many_to_one
from recollect.apps.ask.interpret.periods import FISCAL_YEAR, is_fiscal_word
from recollect.apps.ask.question import find_category
from recollect.apps.ask.semantic.catalog import Column
from recollect.apps.ask.words import Token, split_name, stem_word

MAX_TRIED = 6
MAX_SUGGESTED = 3  # meanings of a word that users are known to mean differently
MAX_GUESSED = 2  # meanings of any other word: the readings without it need room, too
COPULAS = frozenset(("is", "are", "was", "were", "是"))
SIMILAR = 0.7
STATES = frozenset(("status", "state", "stage", "phase"))
NEGATIVE = ("in", "un", "non", "ex-", "not ")
OVER = frozenset(map(stem_word, (
    "closed", "cancelled", "canceled", "ended", "left", "lost", "former", "old", "archived", "deleted", "expired",
    "blocked", "disabled", "paused", "suspended", "churned", "terminated", "void",
)))  # fmt: skip
MAX_VALUES = 6  # of a column whose values name kinds of rows
# The seed's categories of vague words, and what each is about, most likely first.
KINDS = {
    "temporal": ("moments", "children"),
    "quantitative": ("measures", "children", "values"),
    "state": ("values", "moments", "children"),
}
FISCAL_STARTS = ("starts in January", "starts in April", "starts in July", "starts in October")
OTHER_KINDS = ("values", "measures", "moments", "children")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A meaning for a word, and the interpretation that follows from it."""

    word: str
    meaning: str
    candidate: Candidate


def find_vague_word(decision: Decision, linked: Linked) -> tuple[str, int]:
    """Return the first word that was not understood and how many meanings may be suggested for it: none, unless it
    describes the rows that the question is about ("loyal customers", "customers who are loyal")."""
    word = next(iter(decision.unexplained), "")
    if decision.kind != "choices" or not word:
        return word, 0
    is_taught = any(word.casefold() in each.names for each in linked.vocabulary.words)
    if is_fiscal_word(word):
        return word, len(FISCAL_STARTS)
    if is_taught or find_category(word) in KINDS:
        return word, MAX_SUGGESTED
    return word, MAX_GUESSED if describes_rows(word, decision.candidates[0], linked.tokens) else 0


def describes_rows(word: str, candidate: Candidate, tokens: Sequence[Token]) -> bool:
    """Return whether a word stands before the name of rows, or after "is"."""
    texts = ["", *(token.text for token in tokens), ""]
    at = texts.index(word)
    rows = [words.split(" ")[0] for words, target in candidate.links if target.kind == "entity"]
    return not tokens[at - 1].is_strong and (texts[at + 1] in rows or texts[at - 1].casefold() in COPULAS)


def suggest_meanings(word: str, subject: str, linked: Linked) -> list[Suggestion]:
    """Return interpretations of the question, each with another meaning of the word."""
    found = list[Suggestion]()
    word = FISCAL_YEAR if is_fiscal_word(word) else word
    phrases = list_phrases(word, find_category(word), subject, linked.index)
    for meaning in FISCAL_STARTS if is_fiscal_word(word) else islice(phrases, MAX_TRIED):
        taught = Word((word.casefold(),), "session", table=subject, meaning=meaning)
        words = replace(linked.vocabulary, words=(taught, *linked.vocabulary.words))
        again = link_question(linked.question, linked.index, words, today=linked.today, last=linked.last)
        best = next(iter(propose(again, most=1)), None)
        if best and not best.unexplained and not best.guesses and uses_definition(best, word):
            found.append(Suggestion(word, meaning, best))
    return found


def uses_definition(candidate: Candidate, word: str) -> bool:
    if is_fiscal_word(word):
        return any(is_fiscal_word(each.text) for each in candidate.frame.periods)
    return any(text.casefold() == word.casefold() for text in candidate.assumptions) and candidate.frame.conditions > 0


def list_phrases(word: str, category: str, subject: str, index: SchemaIndex) -> Iterator[str]:
    """Yield two phrases of the likeliest kind and one of each other, then the rest in turns."""
    table = index.tables[subject]
    made = {
        "values": list(name_values(word, category, table, index)),
        "moments": [f"{words} in the last 30 days" for words in name_moments(table)],
        "measures": [f"{words} above average" for words in name_columns(table, "measure")],
        "children": list(name_children(table, index)),
    }
    kinds = [made[kind] for kind in KINDS.get(category, OTHER_KINDS)]
    first, *others = kinds
    yield from chain(first[:2], *(kind[:1] for kind in others))
    rest = [first[2:], *(kind[1:] for kind in others)]
    yield from (phrase for phrases in zip_longest(*rest) for phrase in phrases if phrase)


def name_values(word: str, category: str, table: TableInfo, index: SchemaIndex) -> Iterator[str]:
    """Yield values of the columns that sort rows into a few kinds, the columns in turns. A word like "active" is about
    a status, if there is one."""
    columns = list_kind_columns(table, index)
    if category == "state":
        columns = [each for each in columns if STATES & set(split_name(each.name))] or columns
    for at in range(MAX_VALUES):
        for column in columns:
            # What has ended is no meaning of a word for what has not.
            fitting = [each for each in column.values if is_over(each) == is_over(word)]
            values = sorted(fitting, key=lambda value: not is_similar(word, value))
            yield from (f"{' '.join(split_name(column.name))} {value}" for value in values[at : at + 1])


def list_kind_columns(table: TableInfo, index: SchemaIndex) -> list[Column]:
    """Return the columns with a few different texts, all of which are known."""
    known = index.catalog.table(table.name)
    columns = known.columns if known else ()
    return [each for each in columns if each.type == "text" and each.is_complete and 1 < len(each.values) <= MAX_VALUES]


def is_over(word: str) -> bool:
    """Whether a word says that something has ended or does not take part."""
    return word.casefold().startswith(NEGATIVE) or stem_word(word.casefold()) in OVER


def is_similar(word: str, value: str) -> bool:
    return SequenceMatcher(None, word.casefold(), value.casefold()).ratio() > SIMILAR


def name_columns(table: TableInfo, role: str) -> list[str]:
    return [" ".join(split_name(each.name)) for each in table.columns.values() if each.role == role]


def name_moments(table: TableInfo) -> list[str]:
    """Return the dates of a row in words, the one when it began last: it says little about what a row is now."""
    names = [each.name for each in table.columns.values() if each.role == "moment"]
    return [" ".join(split_name(name)) for name in sorted(names, key=lambda name: name == table.main_moment)]


def name_children(table: TableInfo, index: SchemaIndex) -> Iterator[str]:
    """Yield "with orders in the last 90 days" for each dated table whose rows belong to these, the nearest first."""
    near = []
    for other in index.tables.values():
        path = index.joins.path(other.name, table.name)
        if other.main_moment and path and is_many_to_one(path):
            near.append((len(path), other.title))
    yield from (f"with {plural(title)} in the last 90 days" for _, title in sorted(near))
