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
from recollect.apps.ask.interpret.conditions import add_definitions, find_moment, make_period, merge_periods
from recollect.apps.ask.interpret.finish import can_compare, compared_grain, make_metric
from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Grain, Group, Having, Metric, Op, Order, Ref
from recollect.apps.ask.interpret.link import PRONOUNS, Linked, find_pronouns
from recollect.apps.ask.interpret.rank import Feature, score
from recollect.apps.ask.interpret.render import base_table, row_refs
from recollect.apps.ask.interpret.state import State
from recollect.apps.ask.interpret.variants import has_twin, list_rows, merge_by_column
from recollect.apps.ask.interpret.words import Token, find_operators, longest_operator
from recollect.apps.ask.interpret.work import Draft, Work, make_ref, negate

WIDTH = 25
SHORT, MEDIUM = 4, 7  # words of a typical follow-up
QUESTION_WORDS = frozenset(("how", "what", "which", "who", "list", "show"))
ADDING = frozenset(("too", "also", "plus", "with"))
REPLACING = frozenset(("instead", "rather", "换成", "改成"))
THEM = frozenset((("of", "them"), ("of", "those"), ("of", "these")))
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
    counted: str = ""  # rows that some of the last rows have, and that a new period is about

    @property
    def state(self) -> State:
        return self.work.state

    @property
    def limit(self) -> int | None:
        """The number of rows that the question names."""
        named = [fact.number for fact in self.work.facts("limit")]
        return named[0] if named else None if self.state.compare else self.state.limit

    @property
    def is_table(self) -> bool:
        """Whether the last answer is a figure for each group."""
        return bool(self.frame.metrics and self.frame.groups)

    @property
    def is_adding(self) -> bool:
        """Whether the question adds to what was shown: "and status", "status too"."""
        return self.work.linked.tokens[0].lower in ("and", "和") or self.has_word(ADDING)

    def has_word(self, words: frozenset[str]) -> bool:
        return any(token.lower in words for token in self.work.linked.tokens)

    def set(self, slot: str, **parts: Any) -> None:
        self.frame = replace(self.frame, **parts)
        self.changed.append(slot)

    def set_first_metric(self, **parts: Any) -> None:
        first, *others = self.frame.metrics
        self.set("figure", metrics=(replace(first, **parts), *others))

    def find_moment(self) -> Ref:
        if self.counted:
            moment: Ref | None = Ref(self.counted, self.work.index.tables[self.counted].main_moment)
        else:
            moment = find_moment(self.work, base_table(self.frame, self.work.index))
        if moment is None or not moment.column:
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
            nearer &= self.list_owners(values) if values else nearer
            self.features.append(("other_owner", float(has_twin(ref, nearer, self.work.index))))

    def list_owners(self, values: Sequence[str]) -> frozenset[str]:
        """Return the tables in which the question's words are one of the values."""
        links = (link for links in self.work.linked.links for link in links)
        return frozenset(link.target.table for link in links if link.kind == "value" and link.value in values)


def follow_up(linked: Linked, last: Frame) -> list[Draft]:
    """Return drafts that change the last frame by what the states of this question say."""
    changes = (change_frame(state, last, linked) for state in compose(linked, WIDTH))
    return [make_draft(change, linked) for change in changes if change is not None]


def make_draft(change: Change, linked: Linked) -> Draft:
    cue, points = cue_strength(linked.tokens)
    named = change.work.tables("entity", "show", "metric")
    # Words that name rows or a figure of their own are a complete question.
    is_complete = named and not points and len(linked.tokens) > 1
    is_cued = ("follow_cue", cue) if cue > 0 and not is_complete else ("follow_without_cue", 1.0)
    unused = ("table_unused", float(len(named - change.frame.tables)))
    unsure = ("follow_unsure", float(not linked.is_last_sure))
    features = (*change.state.features, *change.features, is_cued, unused, unsure)
    chart = next((fact.text for fact in change.work.facts("chart")), "")
    return Draft(change.frame, features, score(features), change.state, chart, changed=tuple(change.changed))


def points_back(tokens: Sequence[Token]) -> bool:
    """Whether a word stands for the rows of the last answer, or a few words only say how to group it."""
    is_group = len(tokens) <= SHORT and any(each.kind == "group" for each in find_operators(tokens[:1]))
    return is_group or bool(find_pronouns(tokens))


def cue_strength(tokens: Sequence[Token]) -> tuple[float, bool]:
    """Return how much the question looks like a follow-up (short, without a verb of its own), and whether it has a
    pointing word."""
    pointing = [(start, end) for start, end in token_spans(tokens) if is_pointing(tokens[start:end], start == 0)]
    # "What about" asks nothing by itself.
    is_opener = any(start == 0 and end > 1 for start, end in pointing)
    asks = not is_opener and any(token.lower in QUESTION_WORDS for token in tokens[:2])
    brevity = 1.0 if len(tokens) <= SHORT else 0.5 if len(tokens) <= MEDIUM else 0.0
    return bool(pointing) + brevity - 0.5 * asks, bool(pointing)


def uses_last_rows(state: State) -> bool:
    """Whether a pronoun was read as the rows of the last answer."""
    return any(fact.kind == "define" and fact.text.casefold() in PRONOUNS for fact in state.facts)


def token_spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    for start in range(len(tokens)):
        yield from ((start, end) for end in range(start + 1, min(start + longest_operator(), len(tokens)) + 1))


def is_pointing(tokens: Sequence[Token], is_first: bool) -> bool:
    """Whether words point to the last answer; "and" and "by" do only at the beginning."""
    found = [operator.value if operator.kind == "follow" else operator.kind for operator in find_operators(tokens)]
    return "points" in found or (is_first and ("opens" in found or "group" in found))


def change_frame(state: State, last: Frame, linked: Linked) -> Change | None:
    """Return the last frame with the slots changed that the facts name; None if that is not possible."""
    if uses_last_rows(state):
        return None  # a question of its own about these rows
    change = Change(last, Work(linked, state, subject=last.subject))
    try:
        for apply in STEPS:
            apply(change)
    except CannotFollow:
        return None
    used = {"order", "limit", "group"} & set(change.changed)
    left_over = state.left_over + bool(state.negates) - change.resolved - len(used)
    change.features += [("left_over", max(0.0, float(left_over))), ("open_unused", float(state.waits))]
    return change if change.changed or change.work.facts("chart") else None


def change_figure(change: Change) -> None:
    """Another aggregate or another measure replaces the figure."""
    frame, aggregates = change.frame, change.state.aggregates
    refs = zip(change.work.facts("metric"), change.work.refs("metric"), strict=True)
    metrics = tuple(make_metric(change.work, fact, ref) for fact, ref in refs)
    if counts_them(change, metrics):
        # "How many of them ordered": the last rows are counted, those that have what is named.
        change.counted = metrics[0].of.table
        existence = (*frame.existence, Existence(change.counted, is_negated=bool(change.state.negates)))
        change.resolved += bool(change.state.negates)
        change.set("figure", metrics=(Metric("count", Ref(frame.subject)),), existence=existence, columns=(), groups=())
    elif metrics and points_to_rows(change) and metrics[0].aggregate != "count":
        raise CannotFollow  # "how many of them" counts rows
    elif metrics and change.has_word(ADDING):
        change.set("figure", metrics=(*frame.metrics, *metrics))
    elif metrics:
        columns, order = frame.columns if frame.groups else (), frame.order if frame.metrics else ()
        change.set("figure", metrics=metrics, columns=columns, order=order)
    elif aggregates and frame.metrics:
        change_aggregate(change, frame.metrics[0].aggregate)
    elif aggregates and (worth := change.work.index.worth(frame.subject)):
        # "What is the total" of rows that were listed: of what they are worth.
        change.set("figure", metrics=(Metric(aggregates[0], make_ref(worth, change.work.index)),), columns=(), order=())
        change.resolved += 1


def change_aggregate(change: Change, old: str) -> None:
    """`average instead of total`: of the aggregates in the question, the new one counts. The total of a table of sums
    is their sum."""
    if old == "sum" and change.is_table and set(change.state.aggregates) == {"sum"}:
        change.set("figure", groups=(), order=(), limit=None)
        change.resolved += 1
    elif not old.startswith("count"):
        others = [each for each in change.state.aggregates if each != old]
        change.set_first_metric(aggregate=(others or change.state.aggregates)[0])
        change.resolved += 1


def counts_them(change: Change, metrics: Sequence[Metric]) -> bool:
    """Whether "how many of them" is followed by other rows, which some of the last rows have."""
    subject, counted = change.frame.subject, [each.of.table for each in metrics if each.aggregate == "count"]
    is_other = len(counted) == len(metrics) == 1 and counted[0] != subject
    return is_other and points_to_rows(change) and bool(change.work.index.joins.path(subject, counted[0]))


def points_to_rows(change: Change) -> bool:
    """Whether the question asks for some of the last rows: "of them"."""
    return not THEM.isdisjoint(pairwise(token.lower for token in change.work.linked.tokens))


def change_to_share(change: Change) -> None:
    computes = [fact.text for fact in change.work.facts("compute")]
    if computes and not ("share" in computes and change.is_table):
        raise CannotFollow
    if computes:
        change.set_first_metric(compute="share")


def change_columns(change: Change) -> None:
    shows, frame = change.work.refs("show"), change.frame
    if shows and frame.metrics and not frame.groups and change.has_word(LISTING):
        # "List them with their email": the rows that were counted
        columns = tuple(dict.fromkeys((*row_refs(frame.subject, change.work.index), *shows)))
        change.set("columns", columns=columns, metrics=())
    elif shows and change.frame.metrics:
        kept = change.frame.groups if change.is_adding else ()
        change.set("group", groups=(*kept, *map(Group, shows)))
        change.features.append(("plain_beside_aggregate", 1.0))
        change.reach(*shows)
    elif shows:
        kept_columns = change.frame.columns or row_refs(change.frame.subject, change.work.index)
        change.set("columns", columns=tuple(dict.fromkeys((*(kept_columns if change.is_adding else ()), *shows))))


def change_groups(change: Change) -> None:
    """A new group replaces the old one of its kind, time or other; after "and" it is added."""
    grains = [Group(change.find_moment(), cast(Grain, fact.text)) for fact in change.work.facts("grain")]
    refs = change.work.refs("group")
    index = change.work.index
    figures = [
        ref for ref in refs if change.is_table and (ref.expression or index.column_of(ref).role == "measure")
    ]  # fmt: skip
    if figures:
        # "By quantity instead" ranks the same groups by another figure.
        change.set("figure", metrics=tuple(Metric("sum", ref) for ref in figures))
    groups = [*(Group(ref) for ref in refs if ref not in figures), *grains]
    if not groups:
        rank_named_rows(change)
        return
    is_time, frame = bool(groups[0].grain), change.frame
    kept = [each for each in frame.groups if change.is_adding or bool(each.grain) != is_time]
    kept = [] if change.has_word(REPLACING) else kept
    metrics = frame.metrics or (Metric("count", Ref(frame.subject)),)
    order = (*groups, *kept) if is_time else (*kept, *groups)
    change.set("group", groups=order, metrics=metrics, columns=(), within=0)
    change.reach(*(group.of for group in groups))


def rank_named_rows(change: Change) -> None:
    """`which customers bought most`: the last figure for each of the rows that are named."""
    named = change.work.named_entities if change.state.superlative and change.is_table else []
    for fact in named[:1]:
        ref = make_ref(fact.target, change.work.index)
        change.set("group", groups=(Group(ref),), columns=(), within=0)
        change.reach(ref)


def change_filters(change: Change) -> None:
    """A value of a filtered column replaces its value; another one narrows the rows."""
    pairs = zip(change.work.facts("filter"), change.work.refs("filter"), strict=True)
    filters = [Filter(ref, negate(fact.op, fact.is_negated), fact.values, fact.is_text) for fact, ref in pairs]
    made = merge_by_column(filters)
    for each in made:
        place_filter(change, each, made)
    change.changed += ["filter"] if made else []


def place_filter(change: Change, new: Filter, made: Sequence[Filter]) -> None:
    """Put a condition in the place of the one on the same column, or add it."""
    frame, existence = change.frame, tuple(replace_inside(each, new) for each in change.frame.existence)
    same = [each for each in frame.filters if is_same_place(each, new)]
    if same:
        change.frame = replace(frame, filters=replace_filters(frame.filters, same, combine(same[0], new)))
    elif existence != frame.existence:
        change.frame = replace(frame, existence=existence)
    else:
        kept = [each for each in frame.filters if each in made or not is_same_person(each, new, change.work)]
        change.reach(new.of, values=new.values if new.is_text else ())
        change.frame = replace(frame, filters=(*kept, new))


def replace_filters(filters: Sequence[Filter], old: Sequence[Filter], new: Filter) -> tuple[Filter, ...]:
    """Put the new filter in the place of the first old one."""
    return tuple(new if each == old[0] else each for each in filters if each not in old[1:])


def replace_inside(existence: Existence, new: Filter) -> Existence:
    return replace(existence, filters=tuple(new if is_same_place(old, new) else old for old in existence.filters))


def is_same_place(one: Filter, other: Filter) -> bool:
    return (one.of.table, one.of.column) == (other.of.table, other.of.column)


def combine(old: Filter, new: Filter) -> Filter:
    """What is excluded adds up; any other value replaces the old one."""
    if not {old.op, new.op} <= {"!=", "not in"}:
        return replace(new, of=old.of)
    values = tuple(dict.fromkeys((*old.values, *new.values)))
    return replace(old, op="not in" if len(values) > 1 else "!=", values=values)


def is_same_person(old: Filter, new: Filter, work: Work) -> bool:
    """Two columns name a person: a new first name replaces the whole old name."""
    label = work.index.tables[old.of.table].label
    return len(label) == 2 and old.of.table == new.of.table and {old.of.column, new.of.column} <= set(label)


def change_definitions(change: Change) -> None:
    """A taught word narrows the rows."""
    work, frame = Work(change.work.linked, change.state, change.frame.subject), change.frame
    add_definitions(work)
    new = work.frame()
    narrowed = replace(
        frame,
        filters=tuple(dict.fromkeys(frame.filters + new.filters)),
        periods=tuple(dict.fromkeys(frame.periods + new.periods)),
        existence=tuple(dict.fromkeys(frame.existence + new.existence)),
    )
    if narrowed != frame:
        change.frame, change.features = narrowed, [*change.features, *work.features]
        change.changed.append("filter")


def change_periods(change: Change) -> None:
    intervals, old = merge_periods(change.work), change.frame.periods
    if intervals:
        # Another figure has a date of its own.
        is_other = (
            "figure" in change.changed and bool(old) and old[0].of.table != base_table(change.frame, change.work.index)
        )
        moment = old[0].of if old and not change.counted and not is_other else change.find_moment()
        change.set("period", periods=tuple(make_period(moment, each) for each in intervals))
        add_compared_group(change)


def add_compared_group(change: Change) -> None:
    """`compare Q1 and Q2`: the figure for each of them."""
    frame = change.frame
    if not change.work.facts("compare"):
        return
    if not all(map(can_compare, frame.periods)):
        raise CannotFollow
    compared = [Group(each.of, compared_grain(each)) for each in frame.periods if each.others]
    if compared and frame.metrics and not any(each.grain for each in frame.groups):
        change.set("group", groups=(*frame.groups, compared[0]))


def change_order(change: Change) -> None:
    """Order, limit and superlatives of the rows that there are."""
    frame, state = change.frame, change.state
    if change.work.facts("superlative"):
        order_rows(change, "superlative")
    elif change.work.facts("order"):
        order_rows(change, "order")
    elif state.superlative or state.order:
        turn_order(change)
    elif change.limit is not None and (frame.limit is not None or frame.order):
        change.set("limit", limit=change.limit, with_ties=False)


def order_rows(change: Change, kind: str) -> None:
    """Order by the columns that were named; the figure of grouped rows is what orders them."""
    frame, facts = change.frame, change.work.facts(kind)
    if kind == "superlative" and frame.metrics:
        raise CannotFollow
    metrics = {metric.of: n for n, metric in enumerate(frame.metrics)}
    grouped = {group.of.table for group in frame.groups}
    orders = [
        Order("metric", metrics.get(ref, 0), fact.is_descending)
        if ref in metrics or (change.is_table and ref.table not in grouped)
        else Order("column", is_descending=fact.is_descending, of=ref)
        for fact, ref in zip(facts, change.work.refs(kind), strict=True)
    ]
    change.set("order", order=tuple(orders), limit=facts[0].number or 1 if kind == "superlative" else frame.limit)


def turn_order(change: Change) -> None:
    """Turn the order of the last answer: "and the lowest?"."""
    frame, state, number = change.frame, change.state, change.limit
    is_descending = state.superlative.startswith(("desc", "last")) or state.order == "desc"
    if is_extreme(frame):
        change.set_first_metric(aggregate="max" if is_descending else "min")
        change.changed.append("order")
        return
    order, limit = turned_order(change, is_descending), frame.limit
    if state.superlative == "first" and frame.order:
        order, limit = frame.order, None  # "the first one" of an ordered answer is its first row
    if state.superlative:
        change.changed.append("limit")
        limit = limit or 1
    change.set("order", order=order, limit=number or limit, with_ties=frame.with_ties and number is None)


def turned_order(change: Change, is_descending: bool) -> tuple[Order, ...]:
    figure = (Order("metric", 0),) if change.is_table else ()
    order = change.frame.order or figure
    if not order:
        raise CannotFollow
    return tuple(replace(each, is_descending=is_descending) for each in order)


def is_extreme(frame: Frame) -> bool:
    """Whether the answer is the lowest or the highest value."""
    return [metric.aggregate for metric in frame.metrics] in (["min"], ["max"]) and not frame.groups


def change_kind(change: Change) -> None:
    """`how many are there` counts the rows of the last answer, `show them` lists what it counted."""
    frame = change.frame
    is_count = change.state.counts and "figure" not in change.changed
    is_list = is_listing(change) and bool(frame.metrics) and (not frame.groups or bool(frame.having))
    rows = list_rows(frame, change.work.index) if is_count or is_list else frame
    if rows is None or (is_count and frame.limit is not None):
        raise CannotFollow  # groups are not counted, and the number of the first five is known
    if is_count:
        change.frame = replace(rows, metrics=(Metric("count", Ref(frame.subject)),))
        change.changed.append("figure")
        change.resolved += 1
    elif is_list:
        change.frame = rows
        change.changed.append("columns")


def is_listing(change: Change) -> bool:
    """Whether the question only says to show what the last answer counted."""
    is_bare = not change.state.facts and not change.state.superlative and not change.changed
    return is_bare and change.has_word(LISTING)


def change_threshold(change: Change) -> None:
    """`only those with more than 3`: a condition on the figure, or on the number that was compared before."""
    frame, state, op = change.frame, change.state, cast(Op, change.state.compare)
    if not op or not state.numbers:
        return
    compared = next((each for each in frame.filters if not each.is_text), None)
    if change.is_table:
        change.set("condition", having=(Having(frame.metrics[0], op, state.values),))
        change.resolved += 2
    elif compared:
        new = replace(compared, op=op, values=state.values)
        change.set("condition", filters=replace_filters(frame.filters, [compared], new))
        change.resolved += 2


STEPS: tuple[Callable[[Change], None], ...] = (
    change_figure, change_to_share, change_columns, change_groups, change_filters, change_definitions,
    change_periods, change_order, change_kind, change_threshold,
)  # fmt: skip
