"""Composing: a left-to-right beam over the links, with operators that wait for their operand.

Every word may be skipped at a price, so no word ends an interpretation. `compose` returns the best final states;
finish.py turns them into frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from recollect.apps.ask.interpret.compose_names import apply_column, apply_entity
from recollect.apps.ask.interpret.compose_operators import STRUCTURE, apply_operator, doubt_by
from recollect.apps.ask.interpret.compose_values import (
    apply_definition,
    apply_number,
    apply_period,
    apply_role,
    apply_text,
    apply_value,
)
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import Link, Linked
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.state import State
from recollect.apps.ask.words import find_operators

WIDTH = 40
CONTENT = frozenset(("beyond", "state", "arrival"))  # operators that cannot be left out silently
Apply = Callable[[State, Link, Linked], Iterator[State]]


def compose(linked: Linked, width: int = WIDTH) -> list[State]:
    """Return the best readings of the whole question, best first."""
    total = len(linked.tokens)
    levels: list[list[State]] = [[] for _ in range(total + 1)]
    levels[0] = [State()]
    for at in range(total):
        for state in narrow(levels[at], width):
            for following in advance(state, linked):
                levels[following.at].append(following)
    return narrow(levels[total], width)


def narrow(states: list[State], width: int) -> list[State]:
    """Keep the best states, one for each signature."""
    best: dict[tuple[object, ...], State] = {}
    for state in sorted(states, key=lambda each: -each.score):
        best.setdefault(state.signature(), state)
        if len(best) == width:
            break
    return list(best.values())


def advance(state: State, linked: Linked) -> Iterator[State]:
    for link in linked.links[state.at]:
        yield from APPLY[link.kind](state, link, linked)
    yield skip(state, linked)


def skip(state: State, linked: Linked) -> State:
    """Leave a word out; content words cost, and more so if they could have been linked."""
    at, token = state.at, linked.tokens[state.at]
    operators = () if token.quote or token.is_letter else find_operators([token])
    kinds = {operator.kind: operator.value for operator in operators}
    if any(is_count_phrase(link) for link in linked.links[at]):
        return state.move(at + 1, ("skip_operator", 1.0))
    if kinds and (CONTENT.isdisjoint(kinds) or is_plain_verb(kinds, at, linked)):
        feature = skipped_operator(kinds, at, linked)
        return state.move(at + 1, *([feature] if feature[1] else []))
    return state.move(at + 1, *skipped_word(kinds, at, linked), skipped=(*state.skipped, at))


def is_plain_verb(kinds: Mapping[str, str], at: int, linked: Linked) -> bool:
    """Whether a word that may say what has become of a row only says where it is: "live in Rome"."""
    return "glue" in kinds and any(link.kind == "value" for link in linked.links_at(at + 2))


def is_count_phrase(link: Link) -> bool:
    """Whether a link is "how many" or the like, none of whose words says anything alone."""
    return (
        link.operator is not None and link.operator.kind in ("count", "aggregate", "zero") and link.end - link.start > 1
    )


def skipped_operator(kinds: Mapping[str, str], at: int, linked: Linked) -> Feature:
    """Return what leaving out a word without content of its own costs."""
    if kinds.get("glue") == "free":
        return "by_not_group", doubt_by(at + 1, linked) if "group" in kinds else 0.0
    if "compute" in kinds:
        return "skip_operator", 1.0
    if "versus" in kinds:
        return "skip_comparison", 1.0
    if kinds.get("glue") == "light":
        return "skip_light", 1.0
    if "negate" in kinds:
        return "skip_negation", 1.0
    return "skip_operator", 0.0 if set(kinds) & STRUCTURE else 1.5 if "group" in kinds else 1.0


def skipped_word(kinds: Mapping[str, str], at: int, linked: Linked) -> Iterator[Feature]:
    """Yield what leaving out a content word costs."""
    if "beyond" in kinds:
        yield "skip_beyond", 1.0
        return
    covering = linked.covering(at)
    yield "skip", 1.0
    if linked.tokens[at].is_strong:
        yield "skip_strong", 1.0
    if covering:
        yield "skip_linkable", 1.0
    # What somebody taught is never left out silently.
    if any(link.tier for link in covering):
        yield "skip_taught", 1.0


def apply_taught(state: State, link: Link, linked: Linked) -> Iterator[State]:
    """A taught word is a condition; where the rows that it describes are not named, it names them too: "our VIPs"."""
    for defined in apply_definition(state, link, linked):
        yield defined
        subject = link.fragment.subject if link.fragment else ""
        if subject and subject != state.entity and subject not in linked.tables_at(link.end):
            yield from apply_entity(
                defined, replace(link, kind="entity", score=1.0, tier=0, target=Target("entity", subject)), linked
            )


APPLY: dict[str, Apply] = {
    "entity": apply_entity, "column": apply_column, "measure": apply_column, "value": apply_value,
    "number": apply_number, "period": apply_period, "definition": apply_taught, "operator": apply_operator,
    "role": apply_role, "text": apply_text,
}  # fmt: skip
