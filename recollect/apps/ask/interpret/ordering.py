"""Order and number of rows: superlatives ("the best customer"), rankings of groups, and plain orders.

A superlative is an order that keeps the first rows only. One that has no operand of its own takes the figure there is,
a date, or a column with the meaning of its adjective.
"""

from __future__ import annotations

from collections.abc import Callable

from recollect.apps.ask.interpret.frame import Group, Metric, Order, Ref
from recollect.apps.ask.interpret.state import Fact
from recollect.apps.ask.interpret.work import Work, make_ref
from recollect.apps.ask.words import find_operators

DATED = ("last", "first")  # superlatives of dates
COUNTED = ("", "rows", "money")  # what a number of rows may be ranked for


def add_orders(work: Work) -> None:
    limit = next((fact.number for fact in work.facts("limit")), None)
    for fact in work.facts("superlative", "order"):
        if fact.kind == "superlative":
            work.set_limit(fact.number or limit)
        ORDERS[fact.kind, bool(fact.aggregate)](work, fact)
    if work.order:
        return
    if work.state.ordering:
        order_by_what_is_there(work, limit)
    elif limit:
        work.limit = limit
        work.note("left_over", 0.5)


def order_rows(work: Work, fact: Fact) -> None:
    """Order by a figure or by a column."""
    ref = make_ref(fact.target, work.index)
    figures = [n for n, metric in enumerate(work.metrics) if metric.of == ref]
    if figures:
        work.order.append(Order("metric", figures[0], fact.is_descending))
    elif ref.column or ref.expression:
        work.order.append(Order("column", is_descending=fact.is_descending, of=ref))


def rank_rows(work: Work, fact: Fact) -> None:
    """Keep the first rows by a column, and show it where nothing else is shown."""
    ref = make_ref(fact.target, work.index)
    # A row has many of what belongs to its parts: none of them is its own.
    work.note("ranked_by_parts", not work.index.joins.belongs(work.subject, ref.table))
    work.order.append(Order("column", is_descending=fact.is_descending, of=ref))
    if work.metrics:
        work.note("left_over")
    elif not work.columns and not work.named_entities and not work.linked.asks_who:
        work.columns.append(ref)
    show_rank(work, ref)


def show_rank(work: Work, ref: Ref) -> None:
    """Show what rows without a name of their own are ranked by."""
    if not work.columns and not work.metrics and not work.index.tables[work.subject].label:
        work.columns = [Ref(work.subject), ref]
        work.note("default_label")


def rank_groups(work: Work, fact: Fact) -> None:
    """Rank groups by a count or a sum: "the city with most flights", "top 5 customers by total spending"."""
    ref = make_ref(fact.target, work.index)
    metric = Metric(fact.aggregate, ref)
    if fact.aggregate == "count" and ref.column:
        work.groups.append(Group(ref))
        metric = Metric("count", Ref(ref.table))
    group_shown(work, metric)
    group_ranked(work)
    work.note("ranked_nothing", not work.groups and not work.facts("grain"))
    work.metrics = [metric, *(each for each in work.metrics if each != metric)]
    work.order.append(Order("metric", 0, fact.is_descending))


def group_ranked(work: Work) -> None:
    """Add what is ranked within each group that was asked for: the rows that were named, else the columns."""
    named = [make_ref(fact.target, work.index) for fact in work.named_entities]
    ranked = [each for each in named if each not in work.refs("group")][:1] or work.columns
    if work.ranks_within:
        work.groups += map(Group, ranked)
        work.columns = []
    elif ranked or work.facts("grain"):
        work.note("ranked_across", any(asks_each(work, fact) for fact in work.facts("group")))


def asks_each(work: Work, fact: Fact) -> bool:
    """Whether a group was asked for with "each" or "per", not with "by"."""
    operators = find_operators(work.linked.tokens[max(0, fact.at - 1) : fact.at])
    return all(each.value != "by" for each in operators)


def group_shown(work: Work, metric: Metric) -> None:
    """What was shown becomes what the figure is grouped by; columns of an entity are shown beside it."""
    if work.groups:
        return
    owner = next((fact.target for fact in work.named_entities if fact.target.table != metric.of.table), None)
    if owner is not None and {ref.table for ref in work.columns} <= {owner.table}:
        work.groups = [Group(make_ref(owner, work.index))]
    else:
        work.groups, work.columns = [Group(ref) for ref in work.columns], []


def order_by_what_is_there(work: Work, limit: int | None) -> None:
    """`the best month`, `oldest first`: order by the figure, by the date, by a column of the adjective's concept, and
    in a plain order by what is shown."""
    direction, _, concept = work.state.ordering.partition(":")
    is_descending, is_plain = work.state.is_descending, not work.state.superlative
    if work.ranks_within and rank_within(work, concept, direction, is_descending):
        pass
    elif work.metrics and (is_plain or work.groups or work.facts("grain")):
        order_by_figure(work, concept, direction, is_descending)
    elif direction in DATED:
        order_by_date(work, is_descending)
    elif concept:
        order_by_concept(work, concept, is_descending)
    elif is_plain:
        order_by_shown(work, is_descending)
    if not work.order:
        work.note("left_over")
    elif not is_plain:
        work.set_limit(work.state.limit or limit)


def order_by_figure(work: Work, concept: str, direction: str, is_descending: bool) -> None:
    """Order by the first figure. A number of rows has neither a price nor an age."""
    work.order.append(Order("metric", 0, is_descending))
    is_counted = concept in COUNTED and (direction not in DATED or work.facts("grain"))
    work.note("left_over", not is_counted and work.metrics[0].aggregate == "count")


def rank_within(work: Work, concept: str, direction: str, is_descending: bool) -> bool:
    """Rank the rows that were named by their date, or by their column of a concept, within each group: "the cheapest
    product in each category". Returns whether they have one."""
    grouped = {group.of for group in work.groups}
    named = [make_ref(fact.target, work.index) for fact in work.named_entities]
    rows = next((each for each in named if each not in grouped), None)
    by = find_rank(work, rows.table, concept, direction) if rows else None
    if rows is None or by is None:
        return False
    work.groups.append(Group(rows))
    work.metrics = [Metric("max" if is_descending else "min", by)]
    work.order.append(Order("metric", 0, is_descending))
    return True


def find_rank(work: Work, table: str, concept: str, direction: str) -> Ref | None:
    """Return the column that a superlative ranks the rows of a table by."""
    if direction in DATED:
        moment = work.index.tables[table].main_moment
        return Ref(table, moment) if moment else None
    found = work.index.best_of_concept(concept, table) if concept else None
    return make_ref(found, work.index) if found else None


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
    if found is None and not work.named_entities:
        # "The cheapest desk": a kind of rows was named by its value, the rows themselves have the price.
        below = [join.table for join in work.index.model.joins if join.to == work.subject]
        found = next(filter(None, (work.index.best_of_concept(concept, table) for table in below)), None)
        work.subject = found.table if found else work.subject
    if found is not None:
        work.note("superlative_guessed", 0.3)
        ref = make_ref(found, work.index)
        work.order.append(Order("column", is_descending=is_descending, of=ref))
        show_rank(work, ref)


def order_by_shown(work: Work, is_descending: bool) -> None:
    """Order by the first column, or by how often it occurs: "in ascending order of count"."""
    if work.state.counts and work.columns:
        work.groups, work.columns = list(map(Group, work.columns)), []
        work.metrics.append(Metric("count", Ref(work.subject)))
        work.order.append(Order("metric", 0, is_descending))
        return
    labels = [Ref(work.subject, name) for name in work.index.tables[work.subject].label]
    shown = [ref for ref in (*work.columns[:1], *labels) if ref.column]
    work.order += [Order("column", is_descending=is_descending, of=ref) for ref in shown[:1]]


ORDERS: dict[tuple[str, bool], Callable[[Work, Fact], None]] = {
    ("superlative", True): rank_groups, ("superlative", False): rank_rows,
    ("order", True): rank_groups, ("order", False): order_rows,
}  # fmt: skip
