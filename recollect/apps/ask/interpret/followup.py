"""Follow-ups: candidates that change slots of the last answered frame, scored like every other candidate.

A short reading ("by month", "only Germany", "and 2023?") is laid over the last frame: what it says replaces or adds to
the slot, everything else is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

from recollect.apps.ask.interpret.compose import compose
from recollect.apps.ask.interpret.conditions import add_definitions, find_moment, merge_periods
from recollect.apps.ask.interpret.finish import compared_grain, make_metric
from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Grain, Group, Having, Metric, Op, Order, Ref
from recollect.apps.ask.interpret.link import Linked
from recollect.apps.ask.interpret.rank import Feature, score
from recollect.apps.ask.interpret.render import base_table, row_refs
from recollect.apps.ask.interpret.state import State
from recollect.apps.ask.interpret.variants import has_twin, list_rows, merge_by_column
from recollect.apps.ask.interpret.words import Token, find_operators, longest_operator
from recollect.apps.ask.interpret.work import Draft, Work, make_ref, negate

WIDTH = 25
SHORT, MEDIUM = 4, 7  # words of a typical follow-up
UNSURE = 0.25  # cue of a short question that may as well be complete
QUESTION_WORDS = frozenset(("how", "what", "which", "who", "list", "show"))
THEM = frozenset((("of", "them"), ("of", "those"), ("of", "these")))
PRONOUNS = frozenset(("they", "them", "these", "those", "their", "它们", "他们"))
LISTING = frozenset(("who", "which", "哪些", "谁", "them", "those", "these", "list", "show", "它们", "他们"))


class CannotFollow(Exception):
    """What the question says cannot be laid over the last frame."""


@dataclass(slots=True)
class Change:
    """A frame in the making, the slots that were changed, and how many waiting operators that used up."""

    frame: Frame
    work: Work
    changed: list[str] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    resolved: int = 0

    @property
    def state(self) -> State:
        return self.work.state

    @property
    def limit(self) -> int | None:
        """The number of rows that the question names."""
        return next((fact.number for fact in self.work.facts("limit")), self.state.limit)

    @property
    def is_table(self) -> bool:
        """Whether the last answer is a figure for each group."""
        return bool(self.frame.metrics and self.frame.groups)

    @property
    def is_adding(self) -> bool:
        """Whether the question adds to what was shown: "and status"."""
        return self.work.linked.tokens[0].lower in ("and", "和")

    def has_word(self, words: frozenset[str]) -> bool:
        return any(token.lower in words for token in self.work.linked.tokens)

    def set(self, slot: str, **parts: Any) -> None:
        self.frame = replace(self.frame, **parts)
        self.changed.append(slot)

    def set_first_metric(self, **parts: Any) -> None:
        first, *others = self.frame.metrics
        self.set("figure", metrics=(replace(first, **parts), *others))

    def find_moment(self) -> Ref:
        moment = find_moment(self.work, base_table(self.frame, self.work.index))
        if moment is None:
            raise CannotFollow
        return moment

    def reach(self, *refs: Ref, values: Sequence[str] = ()) -> None:
        """A column near the rows in question is more likely meant than one far away, if it can have the values."""
        joins, base = self.work.index.joins, base_table(self.frame, self.work.index)
        for ref in refs:
            path = joins.path(base, ref.table)
            self.features.append(("left_over", 2.0) if path is None else ("join", float(len(path))))
            self.features.append(("fan_out_join", float(not joins.belongs(base, ref.table))))
            nearer = {step.source for step in path or ()} - {ref.table}
            links = (link for links in self.work.linked.links for link in links if link.value in values)
            nearer &= {link.target.table for link in links} if values else nearer
            self.features.append(("other_owner", float(has_twin(ref, nearer, self.work.index))))


def follow_up(linked: Linked, last: Frame) -> list[Draft]:
    """Return drafts that change the last frame by what the states of this question say."""
    changes = (change_frame(state, last, linked) for state in compose(linked, WIDTH))
    return [make_draft(change, linked) for change in changes if change is not None]


def make_draft(change: Change, linked: Linked) -> Draft:
    named = change.work.tables("entity", "show", "metric")
    strength = cue_strength(linked.tokens, is_named=bool(named))
    is_cued = ("follow_cue", strength) if strength > 0 else ("follow_without_cue", 1.0)
    unused = ("table_unused", float(len(named - change.frame.tables)))
    unsure = ("follow_unsure", float(not linked.is_last_sure))
    features = (*change.state.features, *change.features, is_cued, unused, unsure)
    return Draft(
        change.frame, features, score(features), change.state, change.work.chart, changed=tuple(change.changed)
    )


def points_back(tokens: Sequence[Token]) -> bool:
    """Whether a word stands for the rows of the last answer, or the question begins with how to group it."""
    is_group = any(each.kind == "group" for each in find_operators(tokens[:1]))
    return is_group or any(token.lower in PRONOUNS for token in tokens)


def cue_strength(tokens: Sequence[Token], *, is_named: bool) -> float:
    """Return how much the question looks like a follow-up: short, pointing back, without a verb of its own. A few words
    that name rows or a figure may be a complete question; more of them, or a question word before them, are one."""
    pointing = [(start, end) for start, end in token_spans(tokens) if is_pointing(tokens[start:end], start == 0)]
    # "What about" asks nothing by itself.
    is_opener = any(start == 0 and end > 1 for start, end in pointing)
    asks = not is_opener and any(token.lower in QUESTION_WORDS for token in tokens[:2])
    brevity = 1.0 if len(tokens) <= SHORT else 0.5 if len(tokens) <= MEDIUM else 0.0
    cue = bool(pointing) + brevity - 0.5 * asks
    is_complete = is_named and not pointing and len(tokens) > 1
    return min(cue, UNSURE if len(tokens) <= SHORT and not asks else 0.0) if is_complete else cue


def token_spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    for start in range(len(tokens)):
        yield from ((start, end) for end in range(start + 1, min(start + longest_operator(), len(tokens)) + 1))


def is_pointing(tokens: Sequence[Token], is_first: bool) -> bool:
    """Whether words point to the last answer; "and" and "by" do only at the beginning."""
    found = [operator.value if operator.kind == "follow" else operator.kind for operator in find_operators(tokens)]
    return "points" in found or (is_first and ("opens" in found or "group" in found))


def change_frame(state: State, last: Frame, linked: Linked) -> Change | None:
    """Return the last frame with the slots changed that the facts name; None if that is not possible."""
    change = Change(last, Work(linked, state, subject=last.subject))
    try:
        for apply in STEPS:
            apply(change)
    except CannotFollow:
        return None
    used = {"order", "limit", "group"} & set(change.changed)
    left_over = state.left_over + bool(state.negates) - change.resolved - len(used)
    change.features += [("left_over", max(0.0, float(left_over))), ("open_unused", float(state.waits))]
    return change if change.changed or change.work.chart else None


def change_figure(change: Change) -> None:
    """Another measure replaces the figure."""
    frame = change.frame
    refs = zip(change.work.facts("metric"), change.work.refs("metric"), strict=True)
    metrics = tuple(make_metric(change.work, fact, ref) for fact, ref in refs)
    # "Of them" asks for some of the last rows.
    points_to_rows = not THEM.isdisjoint(pairwise(token.lower for token in change.work.linked.tokens))
    if metrics and points_to_rows:
        count_some(change, metrics[0])
    elif metrics:
        columns, order = frame.columns if frame.groups else (), frame.order if frame.metrics else ()
        change.set("figure", metrics=metrics, columns=columns, order=order)


def change_aggregate(change: Change) -> None:
    """`average instead of total`: of the aggregates in the question, the new one counts."""
    frame, aggregates = change.frame, change.state.aggregates
    worth = change.work.index.worth(frame.subject)
    if not aggregates or change.work.facts("metric"):
        return
    if set(aggregates) == {"sum"} and change.is_table:
        # The total of a table of sums is their sum.
        change.set("figure", groups=(), order=(), limit=None)
    elif frame.metrics:
        others = [each for each in aggregates if each != frame.metrics[0].aggregate]
        change.set_first_metric(aggregate=(others or aggregates)[0])
    elif worth:
        # "What is the total" of rows that were listed: of what they are worth.
        change.set("figure", metrics=(Metric(aggregates[0], make_ref(worth, change.work.index)),), columns=(), order=())
    change.resolved += "figure" in change.changed


def count_some(change: Change, metric: Metric) -> None:
    """`how many of them ordered`: the last rows are counted, those that have what is named."""
    frame, table, is_negated = change.frame, metric.of.table, bool(change.state.negates)
    is_reached = metric.aggregate == "count" and change.work.index.joins.path(frame.subject, table) is not None
    if not is_reached:
        raise CannotFollow
    existence = () if table == frame.subject else (Existence(table, is_negated),)
    count = Metric("count", Ref(frame.subject))
    change.set("figure", metrics=(count,), existence=(*frame.existence, *existence), columns=(), groups=())
    change.resolved += is_negated


def change_to_share(change: Change) -> None:
    computes = [fact.text for fact in change.work.facts("compute")]
    if computes and not ("share" in computes and change.is_table):
        raise CannotFollow
    if computes:
        change.set_first_metric(compute="share")


def change_columns(change: Change) -> None:
    """A column is shown beside the others; beside figures of groups it is what they are grouped by."""
    shows, frame = change.work.refs("show"), change.frame
    if shows and change.is_table:
        change.set("group", groups=(*(frame.groups if change.is_adding else ()), *map(Group, shows)))
        change.features.append(("plain_beside_aggregate", 1.0))
        change.reach(*shows)
    elif shows:
        kept = frame.columns or row_refs(frame.subject, change.work.index)
        change.set("columns", columns=tuple(dict.fromkeys((*kept, *shows))), metrics=())


def list_figures(change: Change) -> list[Ref]:
    """Return the measures that the last groups are to be ranked by: "by quantity instead"."""
    refs, index = change.work.refs("group") if change.is_table else [], change.work.index
    return [ref for ref in refs if ref.expression or index.column_of(ref).role == "measure"]


def change_ranking(change: Change) -> None:
    """Rank the same groups by another figure, or other rows by the last figure: "which customers bought most"."""
    figures, work = list_figures(change), change.work
    if figures:
        change.set("figure", metrics=tuple(Metric("sum", ref) for ref in figures))
    elif change.state.superlative and change.is_table and not work.facts("group", "grain"):
        for fact in work.named_entities[:1]:
            ref = make_ref(fact.target, work.index)
            change.set("group", groups=(Group(ref),), columns=())
            change.reach(ref)


def change_groups(change: Change) -> None:
    """A new group replaces the old one of its kind, time or other."""
    frame, figures = change.frame, list_figures(change)
    grains = [Group(change.find_moment(), cast(Grain, fact.text)) for fact in change.work.facts("grain")]
    groups = [*(Group(ref) for ref in change.work.refs("group") if ref not in figures), *grains]
    if not groups:
        return
    is_time = bool(groups[0].grain)
    kept = [each for each in frame.groups if change.is_adding or bool(each.grain) != is_time]
    order = (*groups, *kept) if is_time else (*kept, *groups)
    change.set("group", groups=order, metrics=frame.metrics or (Metric("count", Ref(frame.subject)),), columns=())
    change.reach(*(group.of for group in groups))


def change_filters(change: Change) -> None:
    """A value of a filtered column replaces its value; another one narrows the rows."""
    pairs = zip(change.work.facts("filter"), change.work.refs("filter"), strict=True)
    filters = [Filter(ref, negate(fact.op, fact.is_negated), fact.values, fact.is_text) for fact, ref in pairs]
    for new in merge_by_column(filters):
        frame, existence = change.frame, tuple(replace_inside(each, new) for each in change.frame.existence)
        kept = tuple(each for each in frame.filters if not is_same_place(each, new))
        if len(kept) == len(frame.filters) and existence == frame.existence:
            change.reach(new.of, values=new.values if new.is_text else ())
        added = () if existence != frame.existence else (new,)
        change.frame = replace(frame, filters=(*kept, *added), existence=existence)
    change.changed += ["filter"] if filters else []


def replace_inside(existence: Existence, new: Filter) -> Existence:
    return replace(existence, filters=tuple(new if is_same_place(old, new) else old for old in existence.filters))


def is_same_place(one: Filter, other: Filter) -> bool:
    return (one.of.table, one.of.column) == (other.of.table, other.of.column)


def change_definitions(change: Change) -> None:
    """A taught word narrows the rows."""
    work, frame = Work(change.work.linked, change.state, change.frame.subject), change.frame
    add_definitions(work)
    new = work.frame()
    if new.conditions:
        change.set("filter", filters=frame.filters + new.filters, periods=frame.periods + new.periods,
                   existence=frame.existence + new.existence)  # fmt: skip
        change.features += work.features


def change_periods(change: Change) -> None:
    periods, old = merge_periods(change.work), change.frame.periods
    if periods:
        moment = old[0].of if old else change.find_moment()
        change.set("period", periods=tuple(replace(each, of=moment) for _, each in periods))
        frame = change.frame
        compared = [Group(each.of, compared_grain(each)) for each in frame.periods if each.others]
        if compared and change.work.facts("compare") and frame.metrics and not any(each.grain for each in frame.groups):
            change.set("group", groups=(*frame.groups, compared[0]))  # a figure for each of them


def change_order(change: Change) -> None:
    """Order, limit and superlatives of the rows that there are."""
    frame, state, work = change.frame, change.state, change.work
    facts = work.facts("superlative", "order")
    if facts:
        by = (Order("column", is_descending=fact.is_descending, of=make_ref(fact.target, work.index)) for fact in facts)
        tops = [fact.number or 1 for fact in facts if fact.kind == "superlative"]
        order = tuple(order_by_metric(each, change) for each in by)
        change.set("order", order=order, limit=tops[0] if tops else frame.limit)
    elif state.superlative or state.order:
        turn_order(change)
    elif change.limit is not None and (frame.limit is not None or frame.order):
        change.set("limit", limit=change.limit, with_ties=False)


def order_by_metric(order: Order, change: Change) -> Order:
    """Return the order by the figure of groups, where its column is no column of theirs."""
    metrics = [metric.of for metric in change.frame.metrics]
    grouped = {group.of.table for group in change.frame.groups}
    if order.of not in metrics and (not change.is_table or (order.of and order.of.table in grouped)):
        return order
    return Order("metric", metrics.index(order.of) if order.of in metrics else 0, order.is_descending)


def turn_order(change: Change) -> None:
    """Turn the order of the last answer: "and the lowest?"."""
    frame, state, number = change.frame, change.state, change.limit
    is_descending = state.superlative.startswith(("desc", "last")) or state.order == "desc"
    old, limit = frame.order or ((Order("metric", 0),) if change.is_table else ()), frame.limit
    if not old and [metric.aggregate for metric in frame.metrics] in (["min"], ["max"]):
        change.set_first_metric(aggregate="max" if is_descending else "min")
        change.changed.append("order")
        return
    if not old:
        raise CannotFollow
    order = tuple(replace(each, is_descending=is_descending) for each in old)
    if state.superlative == "first" and frame.order:
        order, limit = frame.order, None  # "the first one" of an ordered answer is its first row
    if state.superlative:
        change.changed.append("limit")
        limit = limit or 1
    change.set("order", order=order, limit=number or limit, with_ties=frame.with_ties and number is None)


def change_kind(change: Change) -> None:
    """`how many are there` counts the rows of the last answer, `show them` lists what it counted."""
    frame, is_count = change.frame, change.state.counts and "figure" not in change.changed
    if not is_count and not is_listing(change):
        return
    rows = list_rows(frame, change.work.index)
    if rows is None or (is_count and frame.limit is not None):
        raise CannotFollow  # groups are not counted, and the number of the first five is known
    change.frame = replace(rows, metrics=(Metric("count", Ref(frame.subject)),)) if is_count else rows
    change.changed.append("figure" if is_count else "columns")
    change.resolved += is_count


def is_listing(change: Change) -> bool:
    """Whether the question only says to show what the last answer counted."""
    frame, state = change.frame, change.state
    is_figure = bool(frame.metrics) and bool(not frame.groups or frame.having)
    return is_figure and change.has_word(LISTING) and not (state.facts or state.superlative or change.changed)


def change_threshold(change: Change) -> None:
    """`only those with more than 3`: a condition on the figure, or on the number that was compared before."""
    frame, state, op = change.frame, change.state, cast(Op, change.state.compare)
    compared = next((each for each in frame.filters if not each.is_text), None)
    if not op or not state.numbers or not (change.is_table or compared):
        return
    if change.is_table:
        change.set("condition", having=(Having(frame.metrics[0], op, state.values),))
    elif compared:
        new = replace(compared, op=op, values=state.values)
        change.set("condition", filters=tuple(new if each == compared else each for each in frame.filters))
    change.resolved += 2


STEPS: tuple[Callable[[Change], None], ...] = (
    change_figure, change_aggregate, change_to_share, change_columns, change_ranking, change_groups, change_filters,
    change_definitions, change_periods, change_order, change_kind, change_threshold,
)  # fmt: skip
