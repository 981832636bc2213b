"""Shapes of the words room: what a page shows, from what the engine gave. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from recollect.errors import InvalidInput
from recollect.model.known import Tier
from recollect.model.ontology import KINDS, Term, TermKind
from recollect.model.resolution import Meaning, Resolution

TITLES: Mapping[str, str] = {
    "glossary": "Glossary",
    "table": "Tables",
    "column": "Columns",
    "value": "Values",
    "relationship": "Relationships",
}
TIERS: Mapping[Tier, str] = {  # in the order in which they are asked
    "session": "what a request says for itself",
    "user": "what the user means by it",
    "project": "what the project was told",
    "ontology": "the glossary and the tables",
}
EXAMPLE = """\
tables:
  orders:
    description: One row per order.
    synonyms: [purchases]
    columns:
      total: {description: With tax., type: numeric}
glossary:
  active customer:
    definition: Logged in within the last 30 days.
    defining_sql: last_login_at > now() - interval '30 days'
    base_table: customers
    aliases: [active client]
"""


@dataclass(frozen=True, slots=True)
class Says:
    """What one tier says of a word; `is_answer`: the first of it is what counts."""

    tier: Tier
    about: str
    meanings: Sequence[Meaning]
    is_answer: bool


def chain(found: Resolution) -> list[Says]:
    """All tiers in the order they are asked, each with what it says."""
    said: list[Meaning] = list(found.candidates)
    if found.tier is not None and found.meaning is not None and found.source is not None:
        first = Meaning(found.tier, found.meaning, found.confidence, found.source, found.refs, found.sql, found.memory)
        said.insert(0, first)
    return [
        Says(tier, about, [each for each in said if each.tier == tier], tier == found.tier)
        for tier, about in TIERS.items()
    ]


def grouped(terms: Iterable[Term]) -> list[tuple[str, list[Term]]]:
    """By kind, the glossary first; within a kind as they came."""
    order = list(TITLES)
    ordered = sorted(terms, key=lambda term: order.index(term.kind))
    return [(kind, list(group)) for kind, group in groupby(ordered, key=lambda term: term.kind)]


def with_said(term: Term, typed: Mapping[str, str]) -> Term:
    """Synonyms are a line each."""
    synonyms = tuple(filter(None, (line.strip() for line in typed["synonyms"].splitlines())))
    return replace(term, description=typed["description"].strip(), synonyms=synonyms, sql=typed["sql"].strip() or None)


def as_kind(text: str) -> TermKind:
    for kind in KINDS:
        if kind == text:
            return kind
    raise InvalidInput("kind", f"{text!r} is not one of {', '.join(KINDS)}")
