"""Predicates and features that all transitions of the composer share."""

from __future__ import annotations

from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import Link, Linked
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.state import Fact, State

DETERMINERS = frozenset(
    ("the", "a", "an", "all", "their", "its", "our", "any", "some", "each", "every", "these", "those")
)


def span_features(link: Link) -> list[Feature]:
    """A longer span is a better match."""
    length = min(link.end - link.start, 4)
    return [("long_span", float(length - 1))] if length > 1 else []


def name_features(link: Link) -> list[Feature]:
    taught = [("taught", 1.0)] if link.tier else []
    return [("imperfect_name", 1 - link.score), *span_features(link), *taught]


def lead_word(linked: Linked, at: int) -> str:
    """Return the word before a noun phrase, without determiners."""
    at -= 1
    while at >= 0 and linked.tokens[at].lower in DETERMINERS:
        at -= 1
    mark = linked.tokens[at + 1].mark
    return mark or (linked.tokens[at].lower if at >= 0 else "")


def is_same_column(one: Target, other: Target) -> bool:
    return (one.table, one.column) == (other.table, other.column)


def is_coordinated(state: State) -> bool:
    """`by country and year`: what follows a group after "and" is a group too."""
    return state.junction == "and" and state.last.kind in ("group", "grain")


def is_pending_figure(state: State) -> bool:
    """Whether "how many" or an aggregate waits for what is counted or measured."""
    return state.counts or bool(state.aggregates)


def without_shown(state: State, target: Target) -> tuple[Fact, ...]:
    """Return the facts without the column that was only named to give its value."""
    is_named = state.last.kind == "show" and is_same_column(state.last.target, target)
    return state.facts[:-1] if is_named else state.facts
