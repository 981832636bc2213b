"""Finishing: the facts that a reading collected become frames, with the features of their shape.

`finish` returns one or more drafts per state: which of several keys is meant, with or without a table that was only
named, and "both" as one condition or two are separate drafts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import cast

from recollect.apps.ask.interpret.conditions import add_conditions, add_definitions, add_having, find_moment
from recollect.apps.ask.interpret.frame import (
    Filter,
    Frame,
    Grain,
    Group,
    Metric,
    Order,
    Part,
    Period,
    Ref,
)
from recollect.apps.ask.interpret.implied import CLEAR, imply_figures, imply_people
from recollect.apps.ask.interpret.index import Target
from recollect.apps.ask.interpret.link import Linked
from recollect.apps.ask.interpret.periods import Unit, start_of
from recollect.apps.ask.interpret.rank import score
from recollect.apps.ask.interpret.state import Fact, State
from recollect.apps.ask.interpret.variants import spread
from recollect.apps.ask.interpret.work import Draft, Work, is_identifying, make_ref, negate

OFTEN = frozenset(("once", "twice", "times", "次"))
MOST_MONTHS = 200  # days above which a period is compared with the year before


def finish(state: State, linked: Linked) -> Iterator[Draft]:
    """Yield the frames that a reading of the whole question allows: with each figure and the people that it may mean,
    and with what is ranked within each group."""
    for figure in imply_figures(start_work(state, linked)):
        for person in imply_people(start_work(figure.state, linked)):
            kinds = {fact.kind for fact in person.state.facts}
            ranks = person.state.superlative or "superlative" in kinds
            for ranks_within in (True, False) if ranks and "group" in kinds else (False,):
                work = start_work(person.state, linked)
                work.ranks_within = ranks_within
                work.guesses += [person.guess] if person.guess else []
                work.note("figure_guessed", figure.cost)
                work.note("person_guessed", person.cost)
                yield from finish_work(work) if work.subject else ()


def start_work(state: State, linked: Linked) -> Work:
    work = Work(linked, state)
    work.subject = find_subject(work)
    return work


def finish_work(work: Work) -> Iterator[Draft]:
    state = work.state
    for add in STEPS:
        add(work)
    frame = work.frame()
    if not says_something(frame, work):
        return
    chart = next((fact.text for fact in work.facts("chart")), "")
    for made, features, guesses in spread(frame, work):
        total = state.features + tuple(work.features) + tuple(features)
        yield Draft(made, total, score(total), state, chart, (*work.guesses, *guesses))


def says_something(frame: Frame, work: Work) -> bool:
    """Whether a frame is about something, and its order is an order of rows: a single figure has none."""
    is_single = bool(frame.metrics and (frame.order or frame.limit) and not frame.groups)
    is_named = bool(work.last or work.facts("entity", "define"))
    return not is_single and (is_named or bool(frame.metrics or frame.columns or frame.conditions))


def find_subject(work: Work) -> str:
    """Return the table that the question is about: what is counted, else what was named first."""
    counted = [fact for fact in work.facts("metric") if fact.aggregate == "count"]
    later = [*work.facts("show", "metric", "group", "superlative"), *work.facts("entity", "having", "filter", "order")]
    tables = [fact.target.table for fact in (*counted, *work.named_entities, *later)]
    tables += [fact.fragment.subject for fact in work.facts("define") if fact.fragment]
    return tables[0] if tables else ""


def add_metrics(work: Work) -> None:
    work.groups += map(Group, work.refs("group"))
    metrics = zip(work.facts("metric"), work.refs("metric"), strict=True)
    work.metrics += [make_metric(work, fact, ref) for fact, ref in metrics]
    if work.groups and not work.metrics and not work.facts("superlative", "order", "show"):
        work.metrics.append(Metric("count", Ref(work.subject)))
        # "Orders by channel" can only be counted; without "by" the figure is a guess.
        work.note("default_aggregate", 1 if work.named_entities else 2)


def make_metric(work: Work, fact: Fact, ref: Ref) -> Metric:
    """Return the figure; an average of counts or of totals is divided by what it is asked per."""
    if fact.aggregate == "avg" and fact.target.per:
        return Metric("sum", ref, per=Group(Ref(fact.target.per)))
    is_late = fact.aggregate == "count" and work.state.aggregates == ("avg",)
    if fact.aggregate != "per" and not is_late:
        return Metric(fact.aggregate, ref)
    aggregate = "sum" if ref.column or ref.expression else "count"
    per = find_per(work, ref.table)
    work.note("left_over", 0 if per or is_late else 1)
    return Metric(aggregate, ref, per=per)


def find_per(work: Work, table: str) -> Group | None:
    """Return what a figure is averaged over: the first group, taken out of the groups, or rows that were named."""
    joins = work.index.joins
    grains = work.facts("grain")
    if grains and (moment := find_moment(work, table)):
        work.averaged_grain = True
        return Group(moment, cast(Grain, grains[0].text))
    named = [*work.groups, *(Group(make_ref(fact.target, work.index)) for fact in work.facts("entity"))]
    for group in named:
        if joins.is_below(table, group.of.table):
            work.groups = [each for each in work.groups if each != group]
            return group
    return None


def add_arrivals(work: Work) -> None:
    """Note "new" ("new customers this year") as left over, unless a period or group is on the rows' own date."""
    moment = Ref(work.subject, work.index.tables[work.subject].main_moment)
    dated = [*(each.of for each in work.periods), *(each.of for each in work.groups if each.grain)]
    work.note("left_over", bool(work.facts("arrival")) and moment not in dated)


def add_shown(work: Work) -> None:
    """Choose the columns to show: those in the question, and the names of the rows beside them."""
    for ref in work.refs("show"):
        if not is_date_of_figure(ref, work):
            show_column(work, ref)
    note_shown_tables(work)
    if work.metrics:
        group_by_entity_before(work)
    else:
        show_entities(work)
    own = {Ref(work.subject), *(Ref(work.subject, name) for name in work.index.tables[work.subject].label)}
    if work.columns and work.linked.asks_who and own.isdisjoint(work.columns):
        work.columns.insert(0, Ref(work.subject))


def show_column(work: Work, ref: Ref) -> None:
    if work.metrics and ref.table not in {group.of.table for group in work.groups if not group.of.column}:
        group_by_shown(work, ref)
    else:
        work.columns.append(ref)


def is_date_of_figure(ref: Ref, work: Work) -> bool:
    """Whether a date was named for the time of a figure: "owners registered per year"."""
    counted = [fact for fact in work.facts("superlative") if fact.aggregate]
    is_dated = work.facts("grain") or (counted and work.facts("period"))
    return bool(is_dated) and work.index.column_of(ref).role == "moment"


def note_shown_tables(work: Work) -> None:
    """Columns are mostly shown of one table, and of one that was named."""
    named = work.tables("entity", "group")
    shown = [*work.columns, *(group.of for group in work.groups if group.of.column)]
    if named:
        before = work.last.shown if work.last else ()
        work.note("shown_off_entity", sum(ref.table not in named and ref not in before for ref in shown))
    work.note("mixed_tables", not work.metrics and len(work.tables("show")) > 1)


def group_by_shown(work: Work, ref: Ref) -> None:
    """A column beside a figure groups it; a key or a label stands for the row itself."""
    is_asked = work.state.groups or bool(work.facts("group"))
    work.note("aggregate_grouped_by_entity" if is_asked else "plain_beside_aggregate")
    if is_identifying(ref, work.index):
        work.groups.append(Group(Ref(ref.table, via=ref.via)))
        work.columns.append(ref)
    else:
        work.groups.append(Group(ref))


def group_by_entity_before(work: Work) -> None:
    """A table named before the figure groups it: "customers and their number of orders"."""
    if work.groups or work.facts("compute"):
        return
    taken = work.tables("show") | {work.metrics[0].of.table}
    figure_at = min((fact.at for fact in work.facts("metric")), default=-1)
    for fact in work.named_entities:
        is_owner = not fact.in_figure and fact.lead != "of" and fact.target.table not in taken
        if is_owner and fact.at < figure_at:
            work.groups.append(Group(make_ref(fact.target, work.index)))
            work.note("plain_beside_aggregate", 0.1 if work.state.groups else 0.7)
            return


def show_entities(work: Work) -> None:
    """Show tables that "and" connects with a column by their label."""
    shows, tables = work.facts("show"), work.tables("show")
    first_at = shows[0].at if shows else 99
    leads_columns = bool(shows) and shows[0].junction == "and"
    for n, fact in enumerate(work.named_entities):
        is_before = fact.at < first_at
        is_joined = fact.junction == "and" or (leads_columns and is_before and not n)
        if is_joined and fact.target.table not in tables:
            work.columns.insert(0 if is_before else len(work.columns), make_ref(fact.target, work.index))


def add_trailing_count(work: Work) -> None:
    """`invoices above 10: how many?` counts the subject."""
    state, count = work.state, Metric("count", Ref(work.subject))
    if state.counts and not state.order and not work.metrics:
        work.metrics, work.columns = [count], []
    elif state.counts and state.junction == "and" and work.metrics[0].of.table == work.subject:
        work.metrics.append(count)


def add_superlatives(work: Work) -> None:
    limit = next((fact.number for fact in work.facts("limit")), None)
    for fact in work.facts("superlative"):
        ref = make_ref(fact.target, work.index)
        work.set_limit(fact.number or limit)
        if fact.aggregate:
            rank_groups(work, fact, ref)
        else:
            rank_rows(work, fact, ref)
    if work.order:
        return
    if work.state.superlative:
        resolve_superlative(work, work.state.limit or limit)
    elif limit:
        work.limit = limit
        work.note("left_over", 0.5)


def rank_rows(work: Work, fact: Fact, ref: Ref) -> None:
    """Order the rows by a column, and show it where nothing else is shown."""
    work.order.append(Order("column", is_descending=fact.is_descending, of=ref))
    if work.metrics:
        work.note("left_over")
    elif not work.columns and not work.named_entities and not work.linked.asks_who:
        work.columns.append(ref)
    show_rank(work, ref)


def rank_groups(work: Work, fact: Fact, ref: Ref) -> None:
    """Rank groups by a count or a sum: "the city with most flights", "top 5 customers by total spending"."""
    metric = Metric(fact.aggregate, ref)
    if fact.aggregate == "count" and ref.column:
        work.groups.append(Group(ref))
        metric = Metric("count", Ref(ref.table))
    move_columns_to_groups(work, metric)
    ranked = list_ranked(work)
    if work.ranks_within:
        work.groups += map(Group, ranked)
        work.columns = []
    else:
        is_ranked = bool(ranked or work.facts("grain"))
        work.note("ranked_across", is_ranked and any(map(work.is_each, work.facts("group"))))
    if not work.groups and not work.facts("grain"):
        work.note("ranked_nothing")
    work.metrics = [metric, *(each for each in work.metrics if each != metric)]
    work.order.append(Order("metric", 0, fact.is_descending))


def list_ranked(work: Work) -> list[Ref]:
    """Return what may be ranked within each group that was asked for: the rows that were named, else the columns."""
    named = [make_ref(fact.target, work.index) for fact in work.named_entities]
    return [ref for ref in named if ref not in work.refs("group")][:1] or work.columns


def move_columns_to_groups(work: Work, metric: Metric) -> None:
    """What was shown becomes what the figure is grouped by; columns of an entity are shown beside it."""
    if work.groups:
        return
    owner = next((fact.target for fact in work.named_entities if fact.target.table != metric.of.table), None)
    if owner is not None and {ref.table for ref in work.columns} <= {owner.table}:
        work.groups = [Group(make_ref(owner, work.index))]
    else:
        work.groups, work.columns = [Group(ref) for ref in work.columns], []


def resolve_superlative(work: Work, number: int | None) -> None:
    """Find what a superlative without a column orders: a figure, a column of the adjective's concept, a date."""
    direction, _, concept = work.state.superlative.partition(":")
    is_descending = direction in ("desc", "last")
    if work.metrics and (work.groups or work.facts("grain")):
        work.order.append(Order("metric", 0, is_descending))
    elif direction in ("last", "first"):
        order_by_date(work, is_descending)
    elif concept:
        order_by_concept(work, concept, is_descending)
    if work.order:
        work.set_limit(number)
    work.note("left_over", not work.order)


def order_by_date(work: Work, is_descending: bool) -> None:
    info = work.index.tables[work.subject]
    if info.main_moment:
        work.note("superlative_guessed", 0.3 if len(info.moments) == 1 else 1.0)
        work.order.append(Order("column", is_descending=is_descending, of=Ref(work.subject, info.main_moment)))


def order_by_concept(work: Work, concept: str, is_descending: bool) -> None:
    """Order by the subject's column of a concept; the oldest person has the earliest birth date."""
    found = work.index.best_of_concept(concept, work.subject)
    if found is None and concept == "age":
        found, is_descending = work.index.best_of_concept("birth", work.subject), not is_descending
    if found is not None:
        work.note("superlative_guessed", 0.3)
        ref = make_ref(found, work.index)
        work.order.append(Order("column", is_descending=is_descending, of=ref))
        show_rank(work, ref)


def show_rank(work: Work, ref: Ref) -> None:
    """Show what rows without a name of their own are ranked by."""
    if not work.columns and not work.metrics and not work.index.tables[work.subject].label:
        work.columns = [Ref(work.subject), ref]
        work.note("default_label")


def add_orders(work: Work) -> None:
    for fact, ref in zip(work.facts("order"), work.refs("order"), strict=True):
        metric = Metric(fact.aggregate, ref)
        if fact.aggregate and find_metric(work.metrics, ref) is None:
            move_columns_to_groups(work, metric)
            work.metrics.append(metric)
        at = find_metric(work.metrics, ref)
        if at is not None:
            work.order.append(Order("metric", at, fact.is_descending))
        elif ref.column or ref.expression:
            work.order.append(Order("column", is_descending=fact.is_descending, of=ref))
    if work.state.order and not work.order:
        order_by_figure(work)


def find_metric(metrics: Sequence[Metric], ref: Ref) -> int | None:
    return next((n for n, metric in enumerate(metrics) if metric.of == ref), None)


def order_by_figure(work: Work) -> None:
    """`highest first`, `oldest first`, `in ascending order of count`: order by the figure there is, by the count, by a
    column of the adjective's concept, or by what is shown."""
    direction, _, concept = work.state.order.partition(":")
    is_descending = direction in ("desc", "last")
    if concept and not work.metrics:
        order_by_concept(work, concept, is_descending)
    elif direction in ("last", "first") and not work.metrics:
        order_by_date(work, is_descending)
    else:
        order_by_shown(work, is_descending)
    work.note("left_over", not work.order)


def order_by_shown(work: Work, is_descending: bool) -> None:
    if work.state.counts and work.columns and not work.metrics:
        work.groups, work.columns = list(map(Group, work.columns)), []
        work.metrics.append(Metric("count", Ref(work.subject)))
    labels = (Ref(work.subject, name) for name in work.index.tables[work.subject].label)
    shown = next((ref for ref in (*work.columns[:1], *labels) if ref.column), None)
    if work.metrics:
        work.order.append(Order("metric", 0, is_descending))
    elif shown:
        work.order.append(Order("column", is_descending=is_descending, of=shown))


def add_compute(work: Work) -> None:
    """Shares and growth change how the first figure is shown."""
    for fact in work.facts("compute"):
        work.note("left_over", not COMPUTES[fact.text](work))


def add_share(work: Work) -> bool:
    if add_rate(work, "share"):
        return True
    is_possible = bool(work.metrics and work.groups)  # there are groups to take shares of
    if is_possible:
        work.metrics[0] = replace(work.metrics[0], compute="share")
    return is_possible


def add_growth(work: Work) -> bool:
    is_possible = bool(work.metrics) and has_grain(work)
    if is_possible:
        work.metrics.insert(1, replace(work.metrics[0], compute="growth"))
    return is_possible


def rank_by_growth(work: Work, *, is_descending: bool) -> bool:
    is_possible = rank_by_change(work, is_descending=is_descending)
    work.set_limit(work.state.limit)
    return is_possible


def rank_by_change(work: Work, *, is_descending: bool = True) -> bool:
    """Rank groups by how much their figure grew; return whether there are a figure and a date."""
    moment = find_moment(work, work.base)
    if not work.metrics or moment is None:
        return False
    periods = tuple(Period(moment, a.isoformat(), b.isoformat()) for a, b in find_compared_spans(work))
    move_columns_to_groups(work, work.metrics[0])
    work.groups = work.groups or [Group(Ref(work.subject))]
    work.metrics = [replace(work.metrics[0], compute="change", part=Part(periods=periods))]
    work.periods, work.order = [], [Order("metric", 0, is_descending)]
    return True


def find_compared_spans(work: Work) -> tuple[tuple[date, date], tuple[date, date]]:
    """Return this year and the same time of the year before; if a short period was named, that and the one before."""
    given = [(each.start, each.end) for each in work.periods if each.start and each.end]
    today = work.linked.today
    start, end = map(date.fromisoformat, given[0]) if given else (date(today.year, 1, 1), today + timedelta(days=1))
    if given and (end - start).days <= MOST_MONTHS:
        return (start, end), (start - (end - start), start)
    return (start, end), (shift_year(start), shift_year(end))


def can_compare(period: Period) -> bool:
    """Return whether the unit that ranges are grouped by tells them apart: each lies in one of its own. A fiscal year
    lies in two calendar years."""
    if not period.others:
        return True
    grain = cast(Unit, compared_grain(period))
    bounds = [(date.fromisoformat(start), date.fromisoformat(end)) for start, end in period.ranges if start and end]
    first = [start_of(start, grain) for start, _ in bounds]
    last = [start_of(end - timedelta(days=1), grain) for _, end in bounds]
    return first == last and len(set(first)) == len(period.ranges)


def shift_year(day: date) -> date:
    return day.replace(year=day.year - 1, day=min(day.day, 28) if day.month == 2 else day.day)


def add_rate(work: Work, word: str) -> bool:
    """`what percentage of orders was cancelled`: the last condition says which part of the figure is meant."""
    is_split = word == "share" and any(not group.grain for group in work.groups)
    first = work.metrics[0] if work.metrics else Metric("count", Ref(work.subject))
    if is_split or work.having or first.aggregate not in ("count", "sum") or first.per:
        return False
    part = take_condition(work)
    if part is not None:
        work.metrics, work.columns = [replace(first, compute="rate", part=part)], []
    return part is not None


def take_condition(work: Work) -> Part | None:
    """Take the last condition on rows out of the frame."""
    if work.existence:
        return Part(existence=(work.existence.pop(),))
    if not work.filters:
        return None
    last = max(work.filters, key=lambda each: each[1].at)
    work.filters.remove(last)
    return Part(filters=(last[0],))


def has_grain(work: Work) -> bool:
    """Group by month, unless the question groups by another span of time; return whether there is a date."""
    if any(group.grain for group in work.groups):
        return True
    moment = find_moment(work, work.base)
    if moment is not None:
        grain: Grain = work.linked.vocabulary.grain or "month"  # type: ignore[assignment]
        work.groups.append(Group(moment, grain))
    return moment is not None


def add_comparison(work: Work) -> None:
    """`compare 2021 and 2022`: a figure for each year, or for each value of the column."""
    if not work.facts("compare"):
        return
    if not work.metrics or not all(map(can_compare, work.periods)):
        work.note("left_over")
        return
    work.groups += [group for group in list_compared(work)[:1] if group not in work.groups]
    work.note("left_over", 0 if work.groups else 0.5)


def list_compared(work: Work) -> list[Group]:
    counted = Counter(each.of for each, _ in work.filters if each.op == "=")
    is_split = work.last is not None and any(each.grain for each in work.groups)
    spans = [Group(each.of, compared_grain(each)) for each in work.periods if each.others and not is_split]
    return [*spans, *(Group(ref) for ref, count in counted.items() if count > 1)]


def compared_grain(period: Period) -> Grain:
    """Return the unit that tells the ranges apart: the same months of two years differ by year."""
    starts = [start or "" for start, _ in period.ranges]
    if len({start[4:] for start in starts}) == 1:
        return "year"
    days = (date.fromisoformat(period.end or starts[0]) - date.fromisoformat(starts[0])).days
    return (
        "day" if days == 1 else "week" if days == 7 else "month" if days <= 31 else "quarter" if days <= 92 else "year"
    )


def add_left_over(work: Work) -> None:
    """Operators that found no operand cost."""
    state = work.state
    waiting = state.left_over + bool(state.negates)
    work.note("left_over", max(0, waiting - count_resolved(work) - add_threshold(work)))
    work.note("open_unused", state.waits)
    moments = [each for each in work.groups if not each.grain and work.index.column_of(each.of).role == "moment"]
    work.note("group_by_measure", len(moments))
    work.note("left_over", bool(work.groups) and not (work.metrics or work.having))


def count_resolved(work: Work) -> int:
    """Return how many waiting operators have found what they are about after all."""
    state = work.state
    ordered = (state.superlative, state.superlative and state.numbers, state.order) if work.order else ()
    others = (
        state.groups and work.groups,
        state.counts and (work.metrics or (state.order and work.order)),
        state.compare == "between" and work.periods,
        state.aggregates and repeats_aggregate(work),
    )
    return sum(map(bool, (*ordered, *others)))


def repeats_aggregate(work: Work) -> bool:
    """Whether the figures already are what the waiting aggregates ask for: "how many in total", "days on average"."""
    said = {"sum" if each.aggregate == "count" else each.aggregate for each in work.metrics}
    return bool(work.metrics) and (set(work.state.aggregates) <= said or any(each.per for each in work.metrics))


def add_threshold(work: Work) -> int:
    """`invoices over 10`: a number without a column is compared with what a row is worth. `more than twice` says how
    often. Return the operators used."""
    state = work.state
    is_count = all(fact.aggregate == "count" for fact in work.facts("metric"))
    if not is_count or not state.numbers or state.compare in ("", "> average", "< average"):
        return 0
    if any(token.lower in OFTEN for token in work.linked.tokens):
        return 2 * count_often(work)
    target = find_worth(work)
    if target is None:
        return 0
    if target.per:
        add_having(work, compare_waiting(work, target, "sum"))
    else:
        compare_worth(work, target)
    return 2


def compare_worth(work: Work, target: Target) -> None:
    """Compare what a row is worth with the number that waits, unless the number is a year."""
    state = work.state
    links = (link for links in work.linked.links for link in links)
    work.note("number_for_period", any(link.kind == "period" and link.text in state.values for link in links))
    op = negate(state.compare, bool(state.negates))
    fact = Fact("filter", len(work.linked.tokens), target, op=op, values=state.values, is_text=False)
    work.filters.append((Filter(make_ref(target, work.index), op, state.values, is_text=False), fact))
    if work.index.figures[target] < CLEAR:
        work.guess(target.column or "amount")


def find_worth(work: Work) -> Target | None:
    """Return what a row of the subject is worth, itself or its rows together. None if the number belongs to a column
    that was named or to the rows after it: "5 customers" is their number."""
    index, entities = work.index, work.facts("entity")
    number_at = max((at for at, token in enumerate(work.linked.tokens) if token.number is not None), default=0)
    is_named = any(index.column_of(each).role == "measure" for each in work.columns)
    if is_named or any(fact.at > number_at for fact in entities):
        return None
    if (own := index.worth(work.subject)) is not None:
        return own
    total = index.total_worth(work.subject)
    is_clear = total is not None and index.figures[replace(total, per="")] >= CLEAR
    return total if is_clear and work.tables("entity") <= {work.subject} else None


def count_often(work: Work) -> bool:
    """`customers who ordered more than once`: how many rows there are of what they did; return whether there are."""
    joins = work.index.joins
    done = [fact.target for fact in work.facts("entity", "exists") if joins.is_below(fact.target.table, work.subject)]
    for target in done[-1:]:
        work.existence = [each for each in work.existence if each.table != target.table]
        add_having(work, compare_waiting(work, Target("entity", target.table), "count"))
    return bool(done)


def compare_waiting(work: Work, target: Target, aggregate: str) -> Fact:
    """Return the condition that compares a figure with the number that waits."""
    state = work.state
    at, is_negated = len(work.linked.tokens), bool(state.negates)
    return Fact("having", at, target, aggregate, state.compare, state.values, is_negated=is_negated)


STEPS = (
    add_metrics, add_shown, add_trailing_count, add_superlatives, add_orders, add_conditions,
    add_definitions, add_arrivals, add_compute, add_comparison, add_left_over,
)  # fmt: skip
COMPUTES: dict[str, Callable[[Work], bool]] = {
    "share": add_share, "rate": partial(add_rate, word="rate"), "growth": add_growth,
    "fastest": partial(rank_by_growth, is_descending=True), "slowest": partial(rank_by_growth, is_descending=False),
}  # fmt: skip
