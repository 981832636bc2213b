"""Metrics: which measure an ask means, and of which table. Called by assemble.py.

Where several tables have the measure ("sales" of orders and of their lines) each is an option; the one from which all
groups and filters are reached without multiplying rows wins, of two such ones the coarser. That is the fan-out rule:
an order's total is never split by what its lines sold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.sql.context import Context, Unclear, target_of
from recollect.sql.draft_elapsed import is_elapsed
from recollect.sql.frame import Metric, Ref
from recollect.sql.joins import is_safe
from recollect.sql.known import Target
from recollect.sql.lexer import root_of
from recollect.sql.money_words import SPENDING, called_so, spent
from recollect.sql.naming import is_either, many
from recollect.sql.places import called, is_key_column, is_weak, ref_of
from recollect.sql.rows import counted_table
from recollect.sql.sketch import Ask
from recollect.sql.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Option:
    metric: Metric
    base: str
    is_sum: bool = False
    is_later: bool = False  # meant only where no other can be


def options(context: Context, ask: Ask, *, is_sold: bool = False) -> list[Option]:
    """What the ask may mean."""
    if (
        is_sold
        and (ask.is_count or ask.aggregate == "count")
        and not ask.is_distinct
        and any(t.kind == "entity" for t in ask.targets)
    ):
        return sold(context, ask)
    if ask.concept == "rows":
        table = counted_table(context, ask.targets, ask.text)
        return [Option(Metric("count", Ref(table, name=context.called(table))), table)]
    if ask.concept == "when":
        return [dated(context, target, ask) for target in ask.targets]
    if ask.concept.startswith("event:"):
        tables = context.events(ask.concept.partition(":")[2])
        return [Option(Metric("count", Ref(table, name=context.called(table))), table) for table in sorted(tables)]
    if ask.concept and not ask.targets:
        found = [(target, measured(context, target, ask)) for target in meant(context, ask)]
        return [replace(option, is_later=is_later(context, ask, t)) for t, option in found]
    targets = list(ask.targets)
    measures = [t for t in targets if t.kind == "measure"]
    measures = of_what_is_spoken_of(context, measures)
    check_meant(context, ask, measures)
    if measures and (not ask.is_count or len(measures) == len(targets)):
        return [measured(context, target, ask) for target in measures]
    return [option for target in countable(context, targets, ask) if (option := counted(context, target, ask))]


def check_meant(context: Context, ask: Ask, measures: list[Target]) -> None:
    """ "Tickets", where there are ticket sales and ticket types; "how many sales", where sales are an amount."""
    partly = {t.table for t in ask.targets if t.kind == "entity" and t.is_partial}
    if len(partly) > 1 and not measures:
        names = [f"number of {many(context.called(table))}" for table in sorted(partly)]
        raise Unclear(ask.text, f"“{ask.text}” can mean several things here. Which one?", names, "entity")
    if (
        ask.is_count
        and ask.aggregate == "count"
        and ask.text.lower().endswith("sales")
        and measures == list(ask.targets)
    ):
        raise Unclear(ask.text, "How many sales, or how much?", ("total sales",), "aggregation")


def meant(context: Context, ask: Ask) -> list[Target]:
    """The measures of a concept: revenue, length, price. What was claimed or paid back is no revenue."""
    if ask.concept == SPENDING:
        return spent(context, ask)
    if named := wholly_said(context, ask):
        return named
    targets = called_so(context, ask, context.measures(ask.concept))
    if is_revenue(ask):
        targets = [t for t in targets if is_earned(context, t)]
    if targets:
        return targets
    names = [m.names[0] for m in context.model.measures]
    raise Unclear(ask.text, f"I know no measure here that is “{ask.text}”.", names, "unknown")


def wholly_said(context: Context, ask: Ask) -> list[Target]:
    """ "How many units did we produce", where a column is called "units produced"."""
    said = [m for m in context.model.measures if " " in m.names[0] and set(roots_of(m.names[0])) <= context.words]
    own = {root_of(word) for word in ask.text.split()}
    return [target_of(m) for m in said if own & set(roots_of(m.names[0])) and not is_elapsed(m.expression)]


def roots_of(name: str) -> list[str]:
    return [root_of(word) for word in name.split()]


def is_later(context: Context, ask: Ask, target: Target) -> bool:
    """What somebody ordered or spent is what was sold to him; what he paid is kept with the payments. The other is
    taken only where there is no way to the one."""
    if ask.concept != "money":
        return False
    if set(map(root_of, vocabulary().words("money", "paid_words"))) & context.words:
        return context.called(target.table).split()[-1] not in vocabulary().words("money", "paid_tables")
    return not is_named_revenue(context, target)


def is_named_revenue(context: Context, target: Target) -> bool:
    own = [m for m in context.own_measures(target.table) if m.expression == target.expression]
    return bool({name for m in own for name in m.names} & set(vocabulary().words("money", "revenue_names")))


def is_revenue(ask: Ask) -> bool:
    return ask.concept == "money" and bool(
        set(ask.text.lower().split()) & set(vocabulary().words("money", "revenue_names"))
    )


def is_earned(context: Context, target: Target) -> bool:
    """Not any amount that is kept somewhere: it must be called so, or be the amount of what is money itself."""
    return is_named_revenue(context, target) or bool(context.money(target.table))


def dated(context: Context, target: Target, ask: Ask) -> Option:
    """ "When was the first visit": its main date."""
    moment = context.main_moment(target.table)
    if moment is None:
        names = [m.names[0] for m in context.moments(target.table)]
        raise Unclear(ask.text, f"Which date of a {target.name} is meant?", names, "temporal")
    return Option(Metric(ask.aggregate or "max", Ref(target.table, moment.column, name=moment.names[0])), target.table)


def countable(context: Context, targets: list[Target], ask: Ask) -> list[Target]:
    """Rows rather than the texts of the column that is called as the table; keys rather than names."""
    entities = {t.table for t in targets if t.kind == "entity"}
    if ask.is_distinct and (weak := [t for t in targets if t.kind == "dimension" and is_weak(context, t.table)]):
        return weak
    rows = [t for t in targets if t.kind != "dimension" or t.table not in entities]
    tables = [t.table for t in rows if t.kind == "dimension"]
    keyed = {t.table for t in rows if t.kind == "dimension" and is_key_column(t) and tables.count(t.table) > 1}
    return [t for t in rows if t.kind != "dimension" or t.table not in keyed or is_key_column(t)]


def sold(context: Context, ask: Ask) -> list[Option]:
    """Units that were sold: a quantity, where there is one; asked about where there is none."""
    entities = {t.table for t in ask.targets if t.kind == "entity"}
    partly = {t.table for t in ask.targets if t.is_partial}  # "tickets", where ticket sales have a quantity
    if units := [t for t in context.measures("units") if t.table in partly]:
        context.assume(ask.text, f"the sum of {called(context, units[0])}", "model", 0.9)
        return [Option(Metric("sum", ref_of(t)), t.table, is_sum=True) for t in units]
    if any(table in context.events("commerce") for table in entities):
        return [option for target in ask.targets if (option := counted(context, target, ask))]
    targets = [t for t in context.measures("units") if all(context.cost(t.table, e) == (0, 1) for e in entities)]
    if not targets and (rows := sold_singly(context, entities)):
        context.assume(ask.text, f"the number of {many(context.called(rows))}", "model", 0.9)
        return [Option(Metric("count", Ref(rows, name=context.called(rows))), rows)]
    if not targets:
        raise Unclear(
            ask.text,
            f"How is “{ask.text}” that was sold counted?",
            [m.names[0] for m in context.model.measures],
            "aggregation",
        )
    context.assume(ask.text, f"the sum of {called(context, targets[0])}", "model", 0.9)
    return [Option(Metric("sum", ref_of(t)), t.table, is_sum=True) for t in targets]


def sold_singly(context: Context, entities: set[str]) -> str:
    """Each sale is that of one car: as many were sold as there are sales. Nothing, if it is not that plain."""
    events = [t for t in context.events("commerce") if all(context.cost(t, e) == (0, 1) for e in entities)]
    return events[0] if len(events) == 1 and entities and not context.measures("units", set(events)) else ""


def is_line_of(context: Context, table: str, entity: str) -> bool:
    return (cost := context.cost(table, entity)) is not None and cost[0] == 0


def measured(context: Context, target: Target, ask: Ask) -> Option:
    aggregate = ask.aggregate
    if aggregate in (None, "count"):
        preferred = context.known.preferences.get(f"aggregation:{target.name}")
        if aggregate is None and not preferred and is_either(target.aggregate, target.name):
            names = (f"total {target.name}", f"average {target.name}")
            raise Unclear(ask.text, f"The total or the average {target.name}?", names, "aggregation")
        if preferred and aggregate is None:
            context.assume(target.name, f"the {preferred}", "user", 0.7)
        aggregate = preferred or (target.aggregate if aggregate is None else "sum")
    if is_elapsed(target.expression):
        context.assume(ask.text, f"{target.expression} (days)", "model", 0.8)
    if target.source:
        context.assume(ask.text, meaning_of(target, ask.text), target.source, target.confidence)
    return Option(Metric(aggregate, ref_of(target)), target.table, is_sum=target.aggregate == "sum")


def meaning_of(target: Target, term: str) -> str:
    """Not the word once more: "revenue means revenue" tells nobody anything."""
    said = (target.meaning, target.name, target.expression)
    return next((each for each in said if each and each.casefold() != term.casefold()), target.name)


def is_beside(name: str) -> bool:
    """What an order is worth is not its freight, even if that is all that is kept with it."""
    return bool(set(name.split()) & set(vocabulary().words("money", "beside")))


def counted(context: Context, target: Target, ask: Ask) -> Option | None:
    """Rows of an entity, distinct values of a dimension, the first and last of a moment."""
    if target.kind == "moment":
        return Option(Metric(ask.aggregate, ref_of(target)), target.table) if ask.aggregate in ("min", "max") else None
    if target.kind == "dimension":
        if ask.aggregate in ("avg", "sum", "min", "max") and is_numeric(context, target):
            return Option(Metric(ask.aggregate, ref_of(target)), target.table)
        return Option(Metric("count_distinct", ref_of(target)), target.table) if ask.aggregate == "count" else None
    if target.kind != "entity":
        return None
    if (
        not ask.is_count
        and ask.aggregate in (None, "sum", "avg", "max", "min")
        and (money := context.amounts(target.table) if ask.aggregate else context.money(target.table))
    ):
        return measured(context, money[0], ask)
    if ask.is_of and ask.aggregate == "sum" and (totals := context.measures("money", {target.table})):
        return measured(context, totals[0], ask)
    stock = [m for m in context.own_measures(target.table, "sum") if target.name in ("stock", "inventory")]
    if ask.aggregate == "sum" and not ask.is_count and len(stock) == 1:
        return measured(context, target_of(stock[0]), ask)  # "total stock per warehouse": pieces, not rows
    if ask.aggregate in (None, "count", "sum") or ask.is_count:
        return Option(Metric("count", Ref(target.table, name=target.name)), target.table)
    own = context.own_measures(target.table, "sum")
    if len(own) != 1 and len(totals := context.measures("money", {target.table})) == 1:
        context.assume(ask.text, f"the {totals[0].name}", "model", 0.8)
        return measured(context, totals[0], ask)
    if len(own) != 1 or is_beside(own[0].names[0]):
        names = [m.names[0] for m in context.own_measures(target.table)]
        raise Unclear(ask.text, f"Which figure of a {target.name} is meant with “{ask.text}”?", names, "aggregation")
    return measured(context, target_of(own[0]), ask)


def is_numeric(context: Context, target: Target) -> bool:
    table = context.catalog.table(target.table)
    column = table.column(target.column) if table else None
    return bool(column and column.type in ("integer", "number"))


def reach(context: Context, option: Option, places: list[list[Target]]) -> tuple[int, int] | None:
    """What it costs to reach every place from here; None if one is out of reach, or would multiply a sum."""
    unsafe = distance = 0
    for targets in places:
        costs = [c for t in targets if (c := context.cost(option.base, t.table, (t.via,) if t.via else ()))]
        if not costs:
            return None
        best = min(costs)
        near = next(t for t in targets if context.cost(option.base, t.table, (t.via,) if t.via else ()) == best)
        if best[0] and option.metric.aggregate != "count" and not is_bridged(context, option.base, near):
            return None
        unsafe, distance = unsafe + best[0], distance + best[1]
    return unsafe, distance


def is_bridged(context: Context, base: str, target: Target) -> bool:
    """Whether only tables that do nothing but join lie on the way back: a track is in a playlist once."""
    ways = context.graph.ways(base, target.table, (target.via,) if target.via else ())
    back = [step for step in ways[0] if not step.is_safe] if ways else []
    return bool(ways) and (is_safe(ways[0]) or all(step.table in context.graph.bridges for step in back))


def traded(context: Context, found: list[Option], term: str) -> list[Option]:
    """ "Units" are those of the order lines rather than those in stock, unless stock is spoken of."""
    units = {(t.table, t.expression) for t in context.measures("units")}
    chosen = [option for option in found if is_traded(context, option.base)]
    others = [option for option in found if option not in chosen]
    is_of_units = all((each.metric.of.table, each.metric.of.expression) in units for each in found)
    if not chosen or not others or not is_of_units or any(each.base in context.mentioned for each in others):
        return found
    context.assume(term, f"the {chosen[0].metric.of.name} of {many(context.called(chosen[0].base))}", "model", 0.8)
    return chosen


def is_traded(context: Context, table: str) -> bool:
    events = context.events("commerce")
    return table in events or any(context.cost(table, event) == (0, 1) for event in events)


def best(context: Context, found: list[Option], places: list[list[Target]], term: str) -> Option:
    found = traded(context, found, term)
    costed = [(cost, option) for option in found if (cost := reach(context, option, places)) is not None]
    if not costed:
        raise Unclear(
            term,
            unreachable(context, found, term),
            [called(context, t) for t in nearby(context, places)],
            "aggregation",
        )
    costed = [each for each in costed if not each[1].is_later] or costed
    costed = [each for each in costed if is_spoken_of(context, each[1].base)] or costed
    costed = [each for each in costed if each[1].base in context.acts] or costed
    least = min(cost for cost, _ in costed)
    top = [option for cost, option in costed if cost == least]
    if len(top) > 1:
        top = coarsest(context, top)
    if len(top) > 1:
        mentioned = [option for option in top if option.base in context.mentioned]
        top = mentioned or top
    if len(top) > 1:
        top = plainest(top)
    if len(top) > 1:
        names = [f"{o.metric.of.name} of {context.called(o.base)}" for o in top]
        raise Unclear(term, f"“{term}” can mean several things here. Which one?", names, "aggregation")
    return top[0]


def of_what_is_spoken_of(context: Context, measures: list[Target]) -> list[Target]:
    """An "amount" may be that of the invoices, although theirs is called a total."""
    spoken = [e.table for e in context.model.entities if is_spoken_of(context, e.table)]
    is_general = all(t.name in vocabulary().words("money", "general") for t in measures)
    if not measures or not is_general or any(t.table in spoken for t in measures):
        return measures
    found = [t for table in spoken for t in context.measures("money", {table})]
    context.used.update(root_of(word) for t in measures if found for word in t.name.split())
    return found or measures


def is_spoken_of(context: Context, table: str) -> bool:
    """ "The amount invoiced": that of the invoices."""
    entity = context.entity(table)
    return any(root_of(name.split()[-1]) in context.words for name in (entity.names if entity else ()))


def plainest(found: list[Option]) -> list[Option]:
    """ "Quantity" is the quantity, not the return quantity."""
    short = [o for o in found if all(p is o or p.metric.of.name.endswith(f" {o.metric.of.name}") for p in found)]
    return short or found


def unreachable(context: Context, found: list[Option], term: str) -> str:
    if not found:
        return f"I do not see what to measure for “{term}”."
    owner = context.called(found[0].base)
    return f"“{term}” is kept per {owner}, which is not connected directly with all of this; it would be counted twice."


def nearby(context: Context, places: list[list[Target]]) -> list[Target]:
    tables = {t.table for targets in places for t in targets}
    return [target_of(m) for m in context.model.measures if m.table in tables]


def coarsest(context: Context, found: list[Option]) -> list[Option]:
    """Of sums that are the same thing, the one of the whole rather than of its parts."""
    if not all(option.is_sum and option.metric.aggregate == "sum" for option in found):
        return found
    return [o for o in found if not any(p is not o and is_line_of(context, o.base, p.base) for p in found)] or found
