"""Transitions for values, numbers, periods, taught definitions, role words and quoted texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.apps.ask.interpret.index import NO_COLUMN, NOWHERE, ColumnInfo, Target
from recollect.apps.ask.interpret.link import CLEAR, Link, Linked
from recollect.apps.ask.interpret.operands import is_same_column, span_features, without_shown
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.state import Fact, State, write_number
from recollect.apps.ask.words import find_operators

NEAR_VALUE, NEAR_NUMBER = 4, 6  # words between a column and its value
CERTAIN = 0.9  # score from which a definition is no guess
LIMITS = range(1, 1000)  # numbers that can say how many rows are wanted


def apply_value(state: State, link: Link, linked: Linked) -> Iterator[State]:
    target = link.target
    features = [("imperfect_value", 1 - link.score), *span_features(link), *beside_features(state, link, linked)]
    role, extra = match_role(state, target, linked)
    values = link.spellings or (link.value,)
    op = state.like or ("in" if len(values) > 1 else "=")
    fact = Fact("filter", link.start, target, op=op, values=values, text=link.value, role=role,
                is_negated=bool(state.negates) or is_coordinated_negation(state, target), junction=state.junction,
                in_where=state.in_where)  # fmt: skip
    facts = [fact]
    if link.second is not None:
        last_name = replace(fact, target=link.second, values=(link.second_value,), text=link.second_value, op="=")
        facts.append(replace(last_name, junction="", in_where=False))
    is_answered = state.open is not None and state.open.table == target.table
    yield state.move(
        link.end, *features, *extra, facts=(*without_shown(state, target), *facts), negates=0, role="", like="",
        used=(*state.used, (link.start, link.end, target)), junction="", open=None,
        waits=state.waits and not is_answered,
    )  # fmt: skip


def is_coordinated_negation(state: State, target: Target) -> bool:
    """`excluding A and B`: the negation holds for both."""
    last = state.last
    is_excluded = last.kind == "filter" and last.is_negated
    return bool(state.junction) and is_excluded and is_same_column(last.target, target)


def beside_features(state: State, link: Link, linked: Linked) -> list[Feature]:
    """A value next to the name of its column is certain; next to another column it is doubtful."""
    target = link.target
    is_measured = state.last.kind == "metric" and state.last.target == state.open
    if state.open is not None and link.start - state.open_at <= NEAR_VALUE and not is_measured:
        return [("column_beside_value", 1.0)] if is_same_column(state.open, target) else []
    if is_alternative(state, target) or is_column_after(link, linked):
        return [("column_beside_value", 0.8)]
    return [("value_of_mentioned_table", 1.0)] if is_of_mentioned_table(state, link, linked) else []


def is_of_mentioned_table(state: State, link: Link, linked: Linked) -> bool:
    """Whether the value belongs to the rows named before or after it: "gold customers", "rock songs"."""
    table, following = link.target.table, linked.tables_at(link.end)
    is_attribute = any(linked.index.joins.is_below(each, table) for each in following)
    return is_attribute or table == state.entity or table in following


def is_alternative(state: State, target: Target) -> bool:
    """Whether the value before is of the same column: "France and Spain"."""
    previous = [fact.target for fact in state.facts if fact.kind == "filter"]
    return bool(previous and state.junction) and is_same_column(previous[-1], target)


def is_column_after(link: Link, linked: Linked) -> bool:
    """Whether the value's column is named after it: "rock genre"."""
    return any(
        each.kind == "column" and each.score > CLEAR and is_same_column(each.target, link.target)
        for each in linked.links_at(link.end)
    )


def match_role(state: State, target: Target, linked: Linked) -> tuple[str, list[Feature]]:
    """Match a waiting role word ("depart") with the column, or pass it on to the join that reaches its table."""
    concepts = linked.index.column_of(target).concepts & linked.index.roles
    if not state.role or not concepts:
        return state.role, []
    return "", [("role_matched", 1.0)] if state.role in concepts else []


def apply_number(state: State, link: Link, linked: Linked) -> Iterator[State]:
    number = link.number or 0.0
    is_limit = number in LIMITS and not (state.numbers or state.compare)
    is_near = link.start - state.open_at <= NEAR_NUMBER
    if state.open and is_near and not (state.superlative and is_limit):
        yield from compare_open(state, link, state.open, linked)
    if is_limit or state.compares_number:
        yield state.move(link.end, numbers=(*state.numbers, number))
    if state.junction and state.last.is_equal_number and not state.superlative:
        # Alternatives of the condition before: "grade 9 or 10".
        again = replace(state.last, at=link.start, values=(write_number(number),), junction=state.junction)
        yield state.move(link.end, fact=again, junction="")


def compare_open(state: State, link: Link, target: Target, linked: Linked) -> Iterator[State]:
    """Compare the column that was named before with the number."""
    numbers = (*state.numbers, link.number or 0.0)
    if state.compare == "between" and len(numbers) < 2:
        return
    last, values = state.last, tuple(map(write_number, numbers))
    changes: dict[str, Any] = {"compare": "", "numbers": (), "negates": 0, "junction": "", "waits": False}
    # The column was read as a figure; with a comparison it is a condition instead.
    is_figure = last.kind in ("metric", "show") and last.target == target
    facts = state.facts[:-1] if is_figure else state.facts
    if is_figure and state.compare and last.aggregate in ("sum", "avg"):
        having = Fact("having", link.start, target, last.aggregate, state.compare, values)
        yield state.move(link.end, facts=facts, fact=having, open=None, **changes)
    condition = Fact("filter", link.start, target, op=state.compare or "=", values=values, is_text=False,
                     is_negated=bool(state.negates), junction=state.junction)  # fmt: skip
    info = linked.index.column_of(target)
    features = [*number_features(info, numbers), *period_doubt(state, link, linked, info)]
    yield state.move(link.end, *features, facts=facts, fact=condition, **changes)


def period_doubt(state: State, link: Link, linked: Linked, info: ColumnInfo) -> list[Feature]:
    """A number that may be a year needs a comparison with a column of numbers."""
    is_compared = bool(state.compare) and info.is_number
    is_period = any(each.kind == "period" for each in linked.links_at(link.start))
    return [("number_for_period", 1.0)] if is_period and not is_compared else []


def number_features(info: ColumnInfo, numbers: tuple[float, ...]) -> list[Feature]:
    """A number needs a column whose range fits it."""
    if info is NO_COLUMN:
        return []
    if not info.is_number:
        return [("number_on_text", 1.0)]
    if info.is_key:
        return [("key_compared", 1.0)]
    return [] if all(map(info.is_near, numbers)) else [("number_out_of_range", 1.0)]


def apply_period(state: State, link: Link, linked: Linked) -> Iterator[State]:
    target, span = state.open or NOWHERE, link.period
    kinds = {fact.kind for fact in state.facts}
    # Periods that are compared are alternatives, whatever stands between them.
    junction = "and" if {"compare", "period"} <= kinds else state.junction
    compare = "" if state.numbers else state.compare  # "more than 3 orders in 2024" compares the orders
    fact = Fact("period", link.start, target, op=compare or (span.op if span else ""), text=link.text,
                junction=junction, is_negated=bool(state.negates), span=span)  # fmt: skip
    features = [*period_features(link, linked), *negation_features(state, link, linked)]
    facts, waits = state.facts, state.waits
    if linked.index.column_of(target).is_when:
        facts, waits = without_shown(state, target), False
        later = [each for each in state.facts if each.kind == "entity" and each.at > state.open_at]
        features.append(("column_beside_period", float(not later)))
    left = state.compare if compare in ("", "between") else ""
    yield state.move(link.end, *features, facts=(*facts, fact), negates=0, junction="", compare=left, waits=waits)


def negation_features(state: State, link: Link, linked: Linked) -> list[Feature]:
    """`not sold in 2025` excludes no year: the negation belongs to what stands between."""
    between = linked.tokens[state.negates : link.start] if state.negates else ()
    is_past = any(all(each.kind != "where" for each in find_operators([token])) for token in between)
    return [("operator_past_noun", 1.0)] if is_past else []


def period_features(link: Link, linked: Linked) -> list[Feature]:
    """A period of several words ("last year") explains as much as its words would one by one."""
    words = linked.tokens[link.start : link.end]
    operators = sum(bool(find_operators([token])) for token in words) if len(words) > 1 else 0
    return [*span_features(link), ("operator", float(operators))]


def apply_definition(state: State, link: Link, linked: Linked) -> Iterator[State]:
    if link.fragment is None:
        yield state.move(link.end, ("definition_missed", 1), skipped=(*state.skipped, link.start))
        return
    taught = [("taught", 1.0)] if link.tier else []
    op = "" if link.score >= CERTAIN else "guess"
    is_negated = bool(state.negates) != link.is_opposite
    fact = Fact("define", link.start, fragment=link.fragment, is_negated=is_negated, text=link.text, op=op)
    yield state.move(link.end, *taught, ("imperfect_name", 1 - link.score), fact=fact, negates=0)


def apply_role(state: State, link: Link, linked: Linked) -> Iterator[State]:
    is_weak = linked.tokens[link.start].lower in ("from", "to", "into")
    if not is_weak or not state.role:
        yield state.move(link.end, role=link.value, in_where=True)


def apply_text(state: State, link: Link, linked: Linked) -> Iterator[State]:
    """A quotation that is no known value: a pattern, or a value of the column named before it, else a name."""
    info = linked.index.tables.get(state.entity)
    label = Target("column", state.entity, info.label[0]) if info and info.label else NOWHERE
    target = state.open or label
    if linked.index.column_of(target).type != "text":
        return
    fact = Fact("filter", link.start, target, op=state.like or "=", values=(link.text,), is_negated=bool(state.negates),
                junction=state.junction, text=link.text)  # fmt: skip
    is_named = state.last.kind == "show" and state.last.target == target and state.last.in_where
    facts = state.facts[:-1] if is_named else state.facts
    unknown = ("unknown_text", 0.0 if state.like else 1.0)
    yield state.move(link.end, unknown, facts=facts, fact=fact, like="", negates=0, junction="", waits=False)
