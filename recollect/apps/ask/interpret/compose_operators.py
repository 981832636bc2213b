"""Transitions for operators: most only wait for an operand, some change the fact before them.

A handler yields what changes in the state, once for each way to read the operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import CLEAR, Link, Linked
from recollect.apps.ask.interpret.operands import is_coordinated, without_shown
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.state import Fact, FactKind, State
from recollect.apps.ask.words import find_operators

STRUCTURE = frozenset(("select", "where", "junction", "follow", "exists", "chart", "glue"))
BARE_GRAINS = frozenset(("month", "year", "quarter", "week", "day"))
NO_COLUMN: dict[str, Any] = {"open": None, "waits": False}  # the column named before has its condition
Changes = Iterator[dict[str, Any]]
Handler = Callable[[State, Link, str, Linked], Changes]


def apply_operator(state: State, link: Link, linked: Linked) -> Iterator[State]:
    operator = link.operator
    if operator is None or operator.kind not in OPERATORS:
        return
    features = [] if operator.kind in STRUCTURE else [("operator", 1.0), ("long_operator", min(link.length, 4) - 1.0)]
    # "Last year" is a period, not the last row by year.
    if any(each.kind == "period" and each.end > link.end for each in linked.links_at(link.start)):
        features.append(("period_split", 1.0))
    for changes in OPERATORS[operator.kind](state, link, operator.value, linked):
        extra = changes.pop("features", ())
        yield state.move(link.end, *features, *extra, **changes)


def is_clause_start(state: State, link: Link, linked: Linked) -> bool:
    return not link.start or bool(linked.tokens[link.start].mark or state.junction) or not state.facts


def leave_where(state: State, link: Link, linked: Linked) -> dict[str, Any]:
    """A figure at the start of a clause is shown, not a condition."""
    return {"in_where": False} if is_clause_start(state, link, linked) else {}


def on_select(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {"in_where": False, "open": None} if is_clause_start(state, link, linked) else {}


def on_where(state: State, link: Link, value: str, linked: Linked) -> Changes:
    if link.start > 0 or value == "place":
        yield {"in_where": True}


def on_count(state: State, link: Link, value: str, linked: Linked) -> Changes:
    features: tuple[Feature, ...] = (("noun_number", 1.0),) if is_noun_number(link, linked) else ()
    # "How many dogs and how many cats": the first number is lost.
    features += (("left_over", 1.0),) if state.counts else ()
    yield {"counts": True, "features": features, **leave_where(state, link, linked)}


def is_noun_number(link: Link, linked: Linked) -> bool:
    """`flight number` is a column, `the number of flights` a count."""
    token = linked.tokens[link.start]
    is_bare = bool(link.start) and token.stem == "number" and not token.mark
    return is_bare and not find_operators([linked.tokens[link.start - 1]])


def on_aggregate(state: State, link: Link, value: str, linked: Linked) -> Changes:
    last = state.last
    if state.counts and value == "sum":
        yield {}
        return
    yield {"aggregates": (*state.aggregates, value), **leave_where(state, link, linked)}
    is_free = not state.junction and not state.last_aggregates and last.target == state.open
    if is_free and (last.kind, last.aggregate, value) == ("metric", "sum", "avg"):
        # "What does a visit cost on average": the figure was named before.
        yield {"facts": state.facts[:-1], "fact": replace(last, aggregate="avg")}
    # "in total" after a condition or a figure: the figure is a sum.
    if value == "sum" and last.kind in ("metric", "having"):
        yield {}


def on_superlative(state: State, link: Link, value: str, linked: Linked) -> Changes:
    # "longest on top, first 4": only one of several can be meant, the other is lost.
    is_other = state.superlative[:1] not in ("", value[0])
    yield from take_extremes(state, value)
    value = state.superlative if state.superlative.startswith(f"{value}:") else value
    yield {"superlative": value, "compare": "", "groups": False, "features": (("left_over", 1.0),) if is_other else ()}
    if value in ("desc", "asc") and is_ranked(state, link, linked):
        # "spent the most": what is ranked was named before
        last = state.last
        top = replace(Fact("superlative", link.start, last.target, last.aggregate), is_descending=value == "desc")
        yield {"facts": state.facts[:-1], "fact": replace(top, number=state.limit), "numbers": (), **NO_COLUMN}
    if value in ("last", "first") and state.open is not None and linked.index.column_of(state.open).is_when:
        # "hired last": the date was named before
        top = Fact("superlative", link.start, state.open, is_descending=value == "last", in_where=True)
        yield {"facts": without_shown(state, state.open), "fact": top, **NO_COLUMN}


def take_extremes(state: State, value: str) -> Changes:
    """`the highest and lowest price` are two figures."""
    if {state.superlative, value} == {"desc", "asc"} and state.junction == "and" and not state.in_where:
        yield {"superlative": "", "aggregates": ("max", "min"), "junction": ""}


def is_ranked(state: State, link: Link, linked: Linked) -> bool:
    """Whether a measure was named just before the superlative."""
    last = state.last
    is_named = last.kind in ("metric", "show") and last.target == state.open and link.start - state.open_at <= 3
    return is_named and linked.index.is_measure(last.target)


def on_compare(state: State, link: Link, value: str, linked: Linked) -> Changes:
    if not state.numbers:
        yield {"compare": value}


def on_zero(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {"compare": "=", "numbers": (0.0,), "in_where": True}


def on_postfix(state: State, link: Link, value: str, linked: Linked) -> Changes:
    """`4 or more`: the comparison comes after its number."""
    last = state.last
    if state.numbers and not state.compare:
        yield {"compare": value, "in_where": True}
    if last.is_equal_number:
        yield {"facts": state.facts[:-1], "fact": replace(last, op=value, is_negated=False, junction="")}


def on_average(state: State, link: Link, value: str, linked: Linked) -> Changes:
    op = "> average" if value == "above" else "< average"
    if state.open is not None:
        facts = without_shown(state, state.open)
        yield {"facts": facts, "fact": Fact("filter", link.start, state.open, op=op, is_text=False), **NO_COLUMN}
    yield {"compare": op}


def on_order(state: State, link: Link, value: str, linked: Linked) -> Changes:
    last = state.last
    if value != "by" and last.kind == "order":
        yield {"facts": state.facts[:-1], "fact": replace(last, is_descending=value == "desc")}
    is_known = value == "by" and state.order
    yield {"order": state.order if is_known else value, "in_where": True}


def on_group(state: State, link: Link, value: str, linked: Linked) -> Changes:
    if value != "by":
        yield {"groups": True}
    elif state.order:
        yield {}
    else:
        yield {"groups": True, "in_where": True}
        yield {"in_where": True, "features": (("by_not_group", doubt_by(link.end, linked)),)}


def doubt_by(at: int, linked: Linked) -> float:
    """Return how unlikely "by" groups nothing: before a value it says who did it, before a name it groups."""
    following = [each for each in linked.links_at(at) if each.score > CLEAR]
    if any(each.kind == "value" for each in following):
        return 0.0
    return 3.0 if any(each.kind in ("entity", "column") for each in following) else 1.0


def on_negate(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {"negates": link.end, "in_where": state.in_where or bool(state.facts)}


def on_junction(state: State, link: Link, value: str, linked: Linked) -> Changes:
    if state.counts and state.entity:
        # "Orders by region, count and amount": the rows are counted, and something else is asked for as well.
        figures = [fact.target.table for fact in state.facts if fact.kind == "metric"]
        counted = Fact("metric", link.start, Target("entity", (*figures, state.entity)[0]), "count")
        yield {"fact": counted, "junction": value, "counts": False}
    yield {"fact": Fact("both", link.start)} if value == "both" else {"junction": value}


def on_like(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {"like": value, "in_where": True}


def on_missing(state: State, link: Link, value: str, linked: Linked) -> Changes:
    if state.open is not None:
        op = "not null" if state.negates else "is null"
        yield {"fact": Fact("filter", link.start, state.open, op=op), "negates": 0, **NO_COLUMN}


def on_grain(state: State, link: Link, value: str, linked: Linked) -> Changes:
    """A bare "month" or "year" only groups after "by", "each" or a superlative. "Over time" names no unit."""
    words = [token.lower for token in linked.tokens[link.start : link.end]]
    is_expected = any((state.groups, state.superlative, state.counts, is_coordinated(state)))
    if is_expected or len(words) > 1 or words[0] not in BARE_GRAINS:
        is_trend = value == "month" and not re.search("month|月", " ".join(words))
        grain = (linked.vocabulary.grain if is_trend else "") or value
        fact = Fact("grain", link.start, text=grain, op="trend" if is_trend else "")
        # "Average monthly sales" are what a month has, not what a sale is worth.
        is_averaged = state.aggregates == ("avg",) and len(words) == 1
        yield {"fact": fact, "groups": False, "aggregates": ("per",) if is_averaged else state.aggregates}


def on_versus(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {"fact": Fact("compare", link.start), "junction": "and" if state.facts else ""}


def add_fact(state: State, link: Link, value: str, linked: Linked) -> Changes:
    """The operator is a fact of its own."""
    kind = cast(FactKind, link.operator.kind if link.operator else "")
    yield {"fact": Fact(kind, link.start, text=value)}


def change_nothing(state: State, link: Link, value: str, linked: Linked) -> Changes:
    yield {}


OPERATORS: dict[str, Handler] = {
    "select": on_select, "where": on_where, "count": on_count, "aggregate": on_aggregate,
    "superlative": on_superlative, "adjective": on_superlative, "compare": on_compare, "postfix": on_postfix,
    "average": on_average, "order": on_order, "group": on_group, "negate": on_negate, "junction": on_junction,
    "like": on_like, "missing": on_missing, "grain": on_grain, "versus": on_versus, "distinct": add_fact,
    "compute": add_fact, "chart": add_fact,
    "arrival": add_fact, "zero": on_zero, "exists": change_nothing, "follow": change_nothing, "glue": change_nothing,
}  # fmt: skip
