"""Follow-ups: candidates that change slots of the last answered frame, scored like every other candidate.

A short reading ("by month", "only Germany", "and 2023?") is laid over the last frame: what it says replaces or adds to
the slot, everything else is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from recollect.apps.ask.interpret.compose import compose
from recollect.apps.ask.interpret.conditions import add_definitions, find_moment, make_period, merge_periods
from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Grain, Group, Having, Metric, Op, Order, Ref
from recollect.apps.ask.interpret.joins import is_many_to_one
from recollect.apps.ask.interpret.link import Linked
from recollect.apps.ask.interpret.rank import Feature, score
from recollect.apps.ask.interpret.render import base_table
from recollect.apps.ask.interpret.state import Fact, State
from recollect.apps.ask.interpret.variants import merge_by_column
from recollect.apps.ask.interpret.words import Token, find_operators, longest_operator
from recollect.apps.ask.interpret.work import Draft, Work, make_ref, negate

WIDTH = 25
SHORT, MEDIUM = 4, 7  # words of a typical follow-up
UNSURE = 0.25  # cue of a short question that may as well be complete
QUESTION_WORDS = frozenset(("how", "what", "which", "who", "list", "show"))
ADDING = frozenset(("too", "also", "plus", "with"))
REPLACING = frozenset(("instead", "rather", "换成", "改成"))
THEM = frozenset((("of", "them"), ("of", "those"), ("of", "these")))
LISTING = frozenset(("them", "those", "these", "list", "show", "它们", "他们"))


@dataclass(slots=True)
class Change:
    """A frame in the making, the slots that were changed, and how many waiting operators that used up."""

    frame: Frame
    work: Work
    changed: list[str] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    resolved: int = 0
    counted: str = ""  # rows that some of the last rows have, and that a new period is about

    @property
    def state(self) -> State:
        return self.work.state

    @property
    def limit(self) -> int | None:
        """The number of rows that the question names."""
        named = [fact.number for fact in self.work.facts("limit")]
        return named[0] if named else None if self.state.compare else self.state.limit

    def set(self, slot: str, **parts: Any) -> None:
        self.frame = replace(self.frame, **parts)
        self.changed.append(slot)

    def set_first_metric(self, **parts: Any) -> None:
        first, *others = self.frame.metrics
        self.set("figure", metrics=(replace(first, **parts), *others))

    def refs(self, kind: str) -> list[Ref]:
        return [make_ref(fact.target, self.work.index) for fact in self.work.facts(kind)]

    def has_word(self, words: frozenset[str]) -> bool:
        return any(token.lower in words for token in self.work.linked.tokens)

    @property
    def is_adding(self) -> bool:
        """Whether the question adds to what was shown: "and status", "status too"."""
        return self.work.linked.tokens[0].lower in ("and", "和") or self.has_word(ADDING)

    def find_moment(self) -> Ref | None:
        if self.counted:
            return Ref(self.counted, self.work.index.tables[self.counted].main_moment)
        return find_moment(self.work, base_table(self.frame, self.work.index))


def follow_up(linked: Linked, last: Frame) -> list[Draft]:
    """Return drafts that change the last frame by what the states of this question say."""
    cue, points = cue_strength(linked.tokens)
    drafts: list[Draft] = []
    for state in compose(linked, WIDTH):
        change = change_frame(state, last, linked)
        if change is not None:
            named = [fact.target for fact in state.facts if fact.kind in ("entity", "show", "metric") and fact.target]
            # Several words that name rows or a figure of their own may be a complete question: neither is certain.
            is_complete = named and not points and len(linked.tokens) > 1
            strength = min(cue, UNSURE) if is_complete else cue
            is_cued = ("follow_cue", strength) if strength > 0 else ("follow_without_cue", 1.0)
            unused = {target.table for target in named} - change.frame.tables
            features = (*state.features, *change.features, is_cued, ("table_unused", float(len(unused))))
            chart = next((fact.text for fact in state.facts if fact.kind == "chart"), "")
            drafts.append(Draft(change.frame, features, score(features), state, chart, changed=tuple(change.changed)))
    return drafts


def cue_strength(tokens: Sequence[Token]) -> tuple[float, bool]:
    """Return how much the question looks like a follow-up (short, without a verb of its own), and whether it has a
    pointing word."""
    pointing = [
        (start, end)
        for start in range(len(tokens))
        for end in range(start + 1, min(start + longest_operator(), len(tokens)) + 1)
        if any(operator.kind == "follow" for operator in find_operators(tokens[start:end]))
    ]
    # "What about" asks nothing by itself.
    is_opener = any(start == 0 and end > 1 for start, end in pointing)
    asks = not is_opener and any(token.lower in QUESTION_WORDS for token in tokens[:2])
    brevity = 1.0 if len(tokens) <= SHORT else 0.5 if len(tokens) <= MEDIUM else 0.0
    return bool(pointing) + brevity - 0.5 * asks, bool(pointing)


def change_frame(state: State, last: Frame, linked: Linked) -> Change | None:
    """Return the last frame with the slots changed that the facts name; None if that is not possible."""
    change = Change(last, Work(linked, state, subject=last.subject))
    if not all(apply(change) for apply in STEPS):
        return None
    used = {"order", "limit", "group"} & set(change.changed)
    pending = state.left_over - change.resolved - len(used)
    if pending > 0:
        change.features.append(("left_over", float(pending)))
    return change if change.changed or change.work.facts("chart") else None


def change_figure(change: Change) -> bool:
    """Another aggregate or another measure replaces the figure."""
    frame, aggregates = change.frame, change.state.aggregates
    refs = zip(change.work.facts("metric"), change.refs("metric"), strict=True)
    metrics = tuple(Metric(fact.aggregate, ref) for fact, ref in refs)
    if counts_them(change, metrics):
        # "How many of them ordered": the last rows are counted, those that have what is named.
        change.counted = metrics[0].of.table
        existence = (*frame.existence, Existence(change.counted))
        change.set("figure", metrics=(Metric("count", Ref(frame.subject)),), existence=existence, columns=(), groups=())
    elif metrics and frame.metrics and change.has_word(ADDING):
        change.set("figure", metrics=(*frame.metrics, *metrics))
    elif metrics:
        columns, order = frame.columns if frame.groups else (), frame.order if frame.metrics else ()
        change.set("figure", metrics=metrics, columns=columns, order=order)
    elif aggregates and frame.metrics and not frame.metrics[0].aggregate.startswith("count"):
        others = [each for each in aggregates if each != frame.metrics[0].aggregate]
        change.set_first_metric(aggregate=(others or aggregates)[0])
        change.resolved += 1
    return True


def counts_them(change: Change, metrics: Sequence[Metric]) -> bool:
    """Whether "how many of them" is followed by other rows, which some of the last rows have."""
    texts = [token.lower for token in change.work.linked.tokens]
    is_said = any((of, them) in THEM for of, them in pairwise(texts))
    is_other = [each.aggregate for each in metrics] == ["count"] and metrics[0].of.table != change.frame.subject
    return is_said and is_other and bool(change.work.index.joins.path(change.frame.subject, metrics[0].of.table))


def change_to_share(change: Change) -> bool:
    computes = [fact.text for fact in change.work.facts("compute")]
    if not computes:
        return True
    if "share" not in computes or not change.frame.metrics or not change.frame.groups:
        return False
    change.set_first_metric(compute="share")
    return True


def change_columns(change: Change) -> bool:
    shows = change.refs("show")
    if shows and change.frame.metrics:
        kept = change.frame.groups if change.is_adding else ()
        change.set("group", groups=(*kept, *map(Group, shows)))
        change.features.append(("plain_beside_aggregate", 1.0))
        for ref in shows:
            change.features += reach_features(change.frame, ref, change.work)
    elif shows:
        change.set("columns", columns=tuple(shows))
    return True


def change_groups(change: Change) -> bool:
    frame = change.frame
    groups = [Group(ref) for ref in change.refs("group")]
    for fact in change.work.facts("grain"):
        moment = change.find_moment()
        if moment is None:
            return False
        grain: Grain = fact.text  # type: ignore[assignment]
        groups.append(Group(moment, grain))
    if groups:
        is_time, replaces = bool(groups[0].grain), change.has_word(REPLACING)
        kept = [each for each in frame.groups if (change.is_adding or bool(each.grain) != is_time) and not replaces]
        metrics = frame.metrics or (Metric("count", Ref(frame.subject)),)
        change.set("group", groups=(*kept, *groups), metrics=metrics, columns=())
        for group in groups:
            change.features += reach_features(frame, group.of, change.work)
    return True


def change_filters(change: Change) -> bool:
    """A value of a filtered column replaces its value; another one narrows the rows."""
    facts = change.work.facts("filter")
    made = merge_by_column([make_filter(fact, change.work) for fact in facts])
    for each in made:
        place_filter(change, each, made)
    if made:
        change.changed.append("filter")
    return True


def change_definitions(change: Change) -> bool:
    """A taught word narrows the rows."""
    work = Work(change.work.linked, change.state, change.frame.subject)
    add_definitions(work)
    if work.filters or work.periods or work.existence:
        filters = (*change.frame.filters, *(each for each, _ in work.filters))
        existence, periods = (*change.frame.existence, *work.existence), (*change.frame.periods, *work.periods)
        change.set("filter", filters=filters, existence=existence, periods=periods)
        change.features += work.features
    return True


def make_filter(fact: Fact, work: Work) -> Filter:
    return Filter(make_ref(fact.target, work.index), negate(fact.op, fact.is_negated), fact.values, fact.is_text)


def place_filter(change: Change, new: Filter, made: Sequence[Filter]) -> None:
    """Put a condition in the place of the one on the same column, or add it."""
    frame, existence = change.frame, change.frame.existence
    same = [each for each in frame.filters if is_same_place(each, new)]
    if same:
        change.frame = replace(frame, filters=replace_filters(frame.filters, same, combine(same[0], new, change)))
    elif any(is_same_place(old, new) for each in existence for old in each.filters):
        change.frame = replace(frame, existence=tuple(replace_inside(each, new) for each in existence))
    else:
        kept = [each for each in frame.filters if each in made or not is_same_person(each, new, change.work)]
        change.features += reach_features(frame, new.of, change.work)
        change.frame = replace(frame, filters=(*kept, new))


def replace_filters(filters: Sequence[Filter], old: Sequence[Filter], new: Filter) -> tuple[Filter, ...]:
    """Put the new filter in the place of the first old one; without values it says nothing any more."""
    kept = [new if each == old[0] else each for each in filters if each not in old[1:]]
    return tuple(each for each in kept if each != new or each.values)


def replace_inside(existence: Existence, new: Filter) -> Existence:
    return replace(existence, filters=tuple(new if is_same_place(old, new) else old for old in existence.filters))


def is_same_place(one: Filter, other: Filter) -> bool:
    return (one.of.table, one.of.column) == (other.of.table, other.of.column)


def combine(old: Filter, new: Filter, change: Change) -> Filter:
    """`put Canada back` takes a value out of an exclusion; otherwise the new value replaces the old one."""
    if old.op not in ("!=", "not in"):
        return replace(new, of=old.of)
    operators = [each for token in change.work.linked.tokens for each in find_operators([token])]
    if any((each.kind, each.value) == ("negate", "back") for each in operators):
        values = tuple(value for value in old.values if value not in new.values)
    elif new.op in ("!=", "not in"):
        values = tuple(dict.fromkeys((*old.values, *new.values)))
    else:
        return replace(new, of=old.of)
    return replace(old, op="not in" if len(values) > 1 else "!=", values=values)


def is_same_person(old: Filter, new: Filter, work: Work) -> bool:
    """Two columns name a person: a new first name replaces the whole old name."""
    label = work.index.tables[old.of.table].label
    return len(label) == 2 and old.of.table == new.of.table and {old.of.column, new.of.column} <= set(label)


def reach_features(frame: Frame, ref: Ref, work: Work) -> list[Feature]:
    """A column near the rows in question is more likely meant than one far away."""
    path = work.index.joins.path(base_table(frame, work.index), ref.table)
    if path is None:
        return [("left_over", 2.0)]
    fan_out: list[Feature] = [] if is_many_to_one(path) else [("fan_out_join", 1.0)]
    return [("join", float(len(path))), *fan_out]


def change_periods(change: Change) -> bool:
    intervals = merge_periods(change.work.facts("period"))
    if not intervals:
        return True
    old = change.frame.periods
    moment = old[0].of if old and not change.counted else change.find_moment()
    if moment is None or not moment.column:
        return False
    change.set("period", periods=tuple(make_period(moment, each) for each in intervals))
    return True


def change_order(change: Change) -> bool:
    """Order, limit and superlatives of the rows that there are."""
    frame, state = change.frame, change.state
    if change.work.facts("superlative"):
        return not frame.metrics and order_rows(change, "superlative")
    if change.work.facts("order"):
        return order_rows(change, "order")
    if state.superlative or state.order:
        return turn_order(change)
    if change.limit is not None and (frame.limit is not None or frame.order):
        change.set("limit", limit=change.limit, with_ties=False)
    return True


def order_rows(change: Change, kind: str) -> bool:
    """Order by the columns that were named; the figure of grouped rows is what orders them."""
    frame, orders, facts = change.frame, [], change.work.facts(kind)
    for fact, ref in zip(facts, change.refs(kind), strict=True):
        found = [n for n, metric in enumerate(frame.metrics) if metric.of == ref]
        if found or (frame.metrics and frame.groups):
            orders.append(Order("metric", (found or [0])[0], fact.is_descending))
        else:
            orders.append(Order("column", is_descending=fact.is_descending, of=ref))
    limit = facts[0].number or 1 if kind == "superlative" else frame.limit
    change.set("order", order=tuple(orders), limit=limit)
    return True


def turn_order(change: Change) -> bool:
    """Turn the order of the last answer: "and the lowest?"."""
    frame, state, number = change.frame, change.state, change.limit
    is_descending = state.superlative.startswith(("desc", "last")) or state.order == "desc"
    if not frame.groups and frame.metrics and frame.metrics[0].aggregate in ("min", "max"):
        change.set_first_metric(aggregate="max" if is_descending else "min")
        change.changed.append("order")
        return True
    # "The first one" of an ordered answer is its first row.
    is_kept = state.superlative == "first"
    order = frame.order if is_kept else tuple(replace(each, is_descending=is_descending) for each in frame.order)
    if not order and frame.metrics and frame.groups:
        order = (Order("metric", 0, is_descending),)
    if state.superlative:
        change.changed.append("limit")
    limit = number or (None if is_kept else frame.limit) or (1 if state.superlative else None)
    change.set("order", order=order, limit=limit, with_ties=frame.with_ties and number is None)
    return bool(order)


def change_kind(change: Change) -> bool:
    """`how many are there` counts the rows of the last answer, `show them` lists what it counted."""
    frame, state = change.frame, change.state
    rows = Frame(frame.subject, filters=frame.filters, periods=frame.periods, existence=frame.existence)
    if state.counts and "figure" not in change.changed:
        change.frame = replace(rows, metrics=(Metric("count", Ref(frame.subject)),))
        change.changed.append("figure")
        change.resolved += 1
    elif is_listing(change) and frame.metrics and not frame.groups:
        change.frame = rows
        change.changed.append("columns")
    return True


def is_listing(change: Change) -> bool:
    """Whether the question only says to show what the last answer counted."""
    is_bare = not change.state.facts and not change.state.superlative and not change.changed
    return is_bare and change.has_word(LISTING)


def change_threshold(change: Change) -> bool:
    """`only those with more than 3`: a condition on the figure, or on the number that was compared before."""
    frame, state = change.frame, change.state
    if not state.compare or not state.numbers:
        return True
    op: Op = state.compare  # type: ignore[assignment]
    compared = [each for each in frame.filters if not each.is_text][:1]
    if frame.metrics and frame.groups:
        change.set("condition", having=(Having(frame.metrics[0], op, state.values),))
    elif compared:
        new = replace(compared[0], op=op, values=state.values)
        change.set("condition", filters=tuple(new if each == compared[0] else each for each in frame.filters))
    if "condition" in change.changed:
        change.resolved += 2
    return True


STEPS = (
    change_figure, change_to_share, change_columns, change_groups, change_filters, change_definitions,
    change_periods, change_order, change_kind, change_threshold,
)  # fmt: skip
