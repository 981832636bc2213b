"""Finishing: the facts that a reading collected become frames, with the features of their shape.

`finish` returns one or more drafts per state: which of several keys is meant, with or without a table that was only
named, and "both" as one condition or two are separate drafts. STEPS fill the slots of a frame one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import filterfalse
from typing import cast

from recollect.apps.ask.interpret.comparisons import add_comparison, add_compute
from recollect.apps.ask.interpret.conditions import add_conditions, add_definitions, add_having, find_moment
from recollect.apps.ask.interpret.frame import Filter, Frame, Grain, Group, Metric, Ref
from recollect.apps.ask.interpret.implied import CLEAR, imply_figures, imply_people
from recollect.apps.ask.interpret.index import Target, plain_name
from recollect.apps.ask.interpret.link import Linked
from recollect.apps.ask.interpret.ordering import add_orders
from recollect.apps.ask.interpret.rank import score
from recollect.apps.ask.interpret.render import reaches_all
from recollect.apps.ask.interpret.state import Fact, State
from recollect.apps.ask.interpret.variants import spread
from recollect.apps.ask.interpret.work import Draft, Work, make_ref, negate

OFTEN = frozenset(("once", "twice", "times", "次"))


def finish(state: State, linked: Linked) -> Iterator[Draft]:
    """Yield the frames that a reading of the whole question allows: with each figure and the people that it may mean,
    and with what is ranked within each group."""
    for figure in imply_figures(start_work(state, linked)):
        for person in imply_people(start_work(figure.state, linked)):
            if (other := replace_figure(start_work(person.state, linked))) is not None:
                yield from finish_groups(other, linked, [], person.guess)
            if (pieces := count_pieces(start_work(person.state, linked))) is not None:
                yield from finish_groups(pieces, linked, [("counted_pieces", 1.0)], person.guess)
            costs = [("figure_guessed", figure.cost), ("person_guessed", person.cost)]
            yield from finish_groups(person.state, linked, costs, person.guess)


def finish_groups(state: State, linked: Linked, costs: Sequence[tuple[str, float]], guess: str) -> Iterator[Draft]:
    """Yield the frames in which a superlative ranks all groups, or what is within each group."""
    kinds = {fact.kind for fact in state.facts}
    ranks = bool(state.superlative) or "superlative" in kinds
    for ranks_within in (True, False) if ranks and "group" in kinds else (False,):
        work = start_work(state, linked)
        work.ranks_within = ranks_within
        work.guesses += [guess] if guess else []
        for name, cost in costs:
            work.note(name, cost)
        yield from finish_work(work) if work.subject else ()


def replace_figure(work: Work) -> State | None:
    """Return the reading with another figure of money, where the one in the question cannot be split as asked: what was
    sold of a category is recorded in the order lines, not in the order."""
    summed = [fact for fact in work.facts("metric", "superlative") if fact.aggregate == "sum"]
    figures, named = work.index.figures, {fact.target.table for fact in work.named_entities}
    if len(summed) != 1 or summed[0].target not in figures:
        return None
    own = summed[0].target.table
    parts = (named | work.tables("group", "filter")) - {own}
    able = next((target for target in figures if reaches_all(target.table, parts, work.index)), None)
    if able is None or reaches_all(own, parts, work.index):
        return None
    facts = tuple(replace(each, target=able) if each == summed[0] else each for each in work.state.facts)
    return replace(work.state, facts=facts)


def count_pieces(work: Work) -> State | None:
    """Return the reading of "how many tickets did we sell" as the quantity of what was sold, where rows of money have
    one: neither the kinds of tickets nor the money is meant."""
    money, counted = find_counted_money(work)
    if money is None:
        return None
    index, named = work.index, {fact.target.table for fact in (*work.named_entities, *counted)}
    parts = named | work.tables("group", "filter")
    tables = [figure.table for figure in index.figures if reaches_all(figure.table, parts, index)]
    quantities = list(filter(None, map(index.quantity_of, tables)))
    if not quantities:
        return None
    sold = replace(money, target=quantities[0])
    facts = (sold if fact == money else fact for fact in work.state.facts if fact not in counted)
    return replace(work.state, facts=tuple(facts))


def find_counted_money(work: Work) -> tuple[Fact | None, list[Fact]]:
    """Return the figure of money in a question for a number, and what it says is counted; no figure if it asks for
    anything else."""
    metrics = work.facts("metric")
    counted, others = list(filter(counts_rows, metrics)), list(filterfalse(counts_rows, metrics))
    asks_number = bool(counted) or ("counted_figure", 1.0) in work.state.features
    # "Number of orders and total sales" are two figures, and orders are no pieces.
    are_two = any(fact.junction for fact in metrics) or any(fact.target.table in work.index.events for fact in counted)
    is_money = [fact.aggregate == "sum" and fact.target in work.index.figures for fact in others]
    return (others[0] if asks_number and not are_two and is_money == [True] else None), counted


def counts_rows(fact: Fact) -> bool:
    return fact.aggregate == "count" and not fact.target.column


def start_work(state: State, linked: Linked) -> Work:
    """Return an empty frame about what is counted, else about what was named first."""
    work = Work(linked, state)
    counted = [fact for fact in work.facts("metric") if fact.aggregate == "count"]
    later = [*work.facts("show", "metric", "group", "superlative"), *work.facts("entity", "having", "filter", "order")]
    tables = [fact.target.table for fact in (*counted, *work.named_entities, *later)]
    tables += [fact.fragment.subject for fact in work.facts("define") if fact.fragment]
    work.subject = tables[0] if tables else ""
    return work


def finish_work(work: Work) -> Iterator[Draft]:
    """Yield the drafts of a frame in the making, if it says something."""
    state = work.state
    for add in STEPS:
        add(work)
    frame = work.frame()
    if not says_something(frame, work):
        return
    charts = [fact.text for fact in work.facts("chart")]
    for made, more, guesses in spread(frame, work):
        features = (*state.features, *work.features, *more)
        yield Draft(made, features, score(features), state, "".join(charts[:1]), (*work.guesses, *guesses))


def says_something(frame: Frame, work: Work) -> bool:
    """Whether a frame is about something, and its order is an order of rows: a single figure has none."""
    if frame.metrics and not frame.groups:
        return not frame.order and not frame.limit
    is_named = bool(work.last or work.facts("entity", "define"))
    return is_named or bool(frame.metrics or frame.columns or frame.conditions)


# Figures -------------------------------------------------------------------------------------------------------------


def add_metrics(work: Work) -> None:
    work.groups += map(Group, work.refs("group"))
    work.metrics += [make_metric(work, fact) for fact in work.facts("metric")]
    figures = dict[Metric, Metric]()
    for each in work.metrics:  # "sales" and "amount" are one figure where sales are the amount
        column = each.of.column or plain_name(each.of.expression)
        figures.setdefault(replace(each, of=Ref(each.of.table, column, via=each.of.via)), each)
    work.metrics = list(figures.values())
    if work.groups and not work.metrics and not work.facts("superlative", "order", "show"):
        work.metrics.append(Metric("count", Ref(work.subject)))
        # "Orders by channel" can only be counted; without "by" the figure is a guess.
        work.note("default_aggregate", 1 if work.named_entities else 2)


def make_metric(work: Work, fact: Fact) -> Metric:
    """Return the figure; an average of counts or of totals is divided by what it is asked per."""
    ref = make_ref(fact.target, work.index)
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
    grains = work.facts("grain")
    if grains and (moment := find_moment(work, table)):
        work.averaged_grain = True
        return Group(moment, cast(Grain, grains[0].text))
    named = [*work.groups, *(Group(make_ref(fact.target, work.index)) for fact in work.facts("entity"))]
    found = next((group for group in named if work.index.joins.is_below(table, group.of.table)), None)
    work.groups = [each for each in work.groups if each != found]
    return found


def add_trailing_count(work: Work) -> None:
    """`invoices above 10: how many?` counts the subject."""
    state, count = work.state, Metric("count", Ref(work.subject))
    if state.counts and not state.order and not work.metrics:
        work.metrics, work.columns = [count], []
    elif state.counts and state.junction == "and" and {each.of.table for each in work.metrics[:1]} == {work.subject}:
        work.metrics.append(count)


# What is shown -------------------------------------------------------------------------------------------------------


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


def is_date_of_figure(ref: Ref, work: Work) -> bool:
    """Whether a date was named for the time of a figure: "owners registered per year"."""
    counted = [fact for fact in work.facts("superlative") if fact.aggregate]
    is_dated = bool(work.facts("grain") or (counted and work.facts("period")))
    return is_dated and work.index.column_of(ref).role == "moment"


def show_column(work: Work, ref: Ref) -> None:
    """Show a column; beside a figure it groups the figure, and a key or a label stands for the row itself."""
    if not work.metrics or any(each.of.table == ref.table and not each.of.column for each in work.groups):
        work.columns.append(ref)
        return
    is_asked = work.state.groups or bool(work.facts("group"))
    work.note("aggregate_grouped_by_entity" if is_asked else "plain_beside_aggregate")
    info = work.index.tables[ref.table]
    if not ref.column or ref.column in (*info.key, *info.label):
        work.groups.append(Group(Ref(ref.table, via=ref.via)))
        work.columns.append(ref)
    else:
        work.note("group_by_measure", work.index.column_of(ref).role == "measure")
        work.groups.append(Group(ref))


def note_shown_tables(work: Work) -> None:
    """Columns are mostly shown of one table, and of one that was named."""
    named, before = work.tables("entity", "group"), work.last.shown if work.last else ()
    shown = [*work.columns, *(group.of for group in work.groups if group.of.column)]
    strangers = [ref for ref in shown if ref.table not in named and ref not in before]
    work.note("shown_off_entity", len(strangers) if named else 0)
    work.note("mixed_tables", not work.metrics and len(work.tables("show")) > 1)


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


def show_twins(work: Work) -> None:
    """Show two rows of a table, "employees and their managers"; "employees and employees" are one too many."""
    named = work.named_entities[1:] if not work.facts("show") else []
    twins = [fact.target for fact in named if fact.junction == "and" and fact.target.table == work.subject]
    if twins:
        work.columns.insert(0, Ref(work.subject))
        work.note("left_over", not any(each.via for each in twins))


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
    show_twins(work)


# What is left --------------------------------------------------------------------------------------------------------


def add_left_over(work: Work) -> None:
    """Operators that found no operand cost."""
    state = work.state
    waiting = state.left_over + bool(state.negates)
    work.note("left_over", max(0, waiting - count_resolved(work) - add_threshold(work)))
    work.note("open_unused", state.waits)
    moments = [each for each in work.groups if not each.grain and work.index.column_of(each.of).role == "moment"]
    work.note("group_by_measure", len(moments))
    work.note("left_over", bool(work.groups) and not (work.metrics or work.having))


def add_arrivals(work: Work) -> None:
    """Note "new" ("new customers this year") as left over, unless a period or group is on the rows' own date."""
    moment = Ref(work.subject, work.index.tables[work.subject].main_moment)
    dated = [*(each.of for each in work.periods), *(each.of for each in work.groups if each.grain)]
    work.note("left_over", bool(work.facts("arrival")) and moment not in dated)


def count_resolved(work: Work) -> int:
    """Return how many waiting operators have found what they are about after all."""
    state, is_ordered = work.state, bool(work.order)
    waiting = (
        (state.superlative, is_ordered),
        (state.superlative and state.numbers, is_ordered),
        (state.order, is_ordered),
        (state.groups, bool(work.groups)),
        (state.counts, bool(work.metrics) or (is_ordered and bool(state.order))),
        (state.compare == "between", bool(work.periods)),
        (state.aggregates, repeats_aggregate(work)),
    )
    return sum(bool(operator) and is_found for operator, is_found in waiting)


def repeats_aggregate(work: Work) -> bool:
    """Whether the figures already are what the waiting aggregates ask for: "how many in total", "days on average"."""
    said = {"sum" if each.aggregate == "count" else each.aggregate for each in work.metrics}
    return bool(work.metrics) and (set(work.state.aggregates) <= said or any(each.per for each in work.metrics))


def add_threshold(work: Work) -> int:
    """`invoices over 10`: a number without a column is compared with what a row is worth. `more than twice` says how
    often. Return the operators used."""
    state = work.state
    is_count = all(fact.aggregate == "count" for fact in work.facts("metric"))
    if not is_count or not state.numbers or not state.compares_number:
        return 0
    having = Fact("having", len(work.linked.tokens), op=state.compare, values=state.values,
                  is_negated=bool(state.negates))  # fmt: skip
    if not OFTEN.isdisjoint(token.lower for token in work.linked.tokens):
        return 2 * count_often(work, having)
    target = find_worth(work)
    if target is None:
        return 0
    if work.index.best_of_concept("age", work.subject) or work.index.best_of_concept("birth", work.subject):
        work.guesses.append("amount")  # people over 40 are rather older than that
    if target.per:
        add_having(work, replace(having, target=target, aggregate="sum"))
    else:
        compare_worth(work, target)
    return 2


def count_often(work: Work, having: Fact) -> bool:
    """`customers who ordered more than once`: how many rows there are of what they did; return whether there are."""
    joins = work.index.joins
    done = [fact.target for fact in work.facts("entity", "exists") if joins.is_below(fact.target.table, work.subject)]
    for target in done[-1:]:
        work.existence = [each for each in work.existence if each.table != target.table]
        add_having(work, replace(having, target=Target("entity", target.table), aggregate="count"))
    return bool(done)


def compare_worth(work: Work, target: Target) -> None:
    """Compare what a row is worth with the number that waits, unless the number is a year."""
    state = work.state
    links = (link for links in work.linked.links for link in links)
    work.note("number_for_period", any(link.kind == "period" and link.text in state.values for link in links))
    op = negate(state.compare, bool(state.negates))
    made = Filter(make_ref(target, work.index), op, state.values, is_text=False)
    work.filters.append((made, Fact("filter", len(work.linked.tokens), target)))
    if work.index.figures[target] < CLEAR:
        work.guesses.append(target.column or "amount")


def find_worth(work: Work) -> Target | None:
    """Return what a row of the subject is worth, itself or its rows together. None if the number belongs to a column
    that was named or to the rows after it: "5 customers" is their number."""
    index = work.index
    number_at = max((at for at, token in enumerate(work.linked.tokens) if token.number is not None), default=0)
    is_named = any(index.column_of(each).role == "measure" for each in work.columns)
    if is_named or any(fact.at > number_at for fact in work.facts("entity")):
        return None
    total = index.total_worth(work.subject)
    if (own := index.worth(work.subject)) or total is None:
        return own
    is_clear = index.figures[replace(total, per="")] >= CLEAR
    return total if is_clear and work.tables("entity") <= {work.subject} else None


STEPS = (
    add_metrics, add_shown, add_trailing_count, add_orders, add_conditions, add_definitions, add_arrivals, add_compute,
    add_comparison, add_left_over,
)  # fmt: skip
