"""Numbers of a sketch as comparisons: which figure each is about, in the unit in which its column is kept. A number
with a unit is converted, or asked about. Called by frame_conditions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.sql.context import Context, Unclear, target_of
from recollect.sql.known import Target
from recollect.sql.metrics import is_traded
from recollect.sql.phrases import Unit
from recollect.sql.places import called, nearest
from recollect.sql.sketch import CompareAsk


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared, in the unit of its column."""

    target: Target
    aggregate: str | None
    numbers: tuple[str, ...]


def compared(context: Context, subject: str, ask: CompareAsk) -> Compared:
    targets = compared_targets(context, subject, ask)
    target = nearest_measure(context, subject, targets, ask)
    factor = conversion(context, target, ask.unit, ask.text, ask.numbers)
    return Compared(target, ask.ask.aggregate, tuple(plain(number * factor) for number in ask.numbers))


def nearest_measure(context: Context, subject: str, targets: Sequence[Target], ask: CompareAsk) -> Target:
    own = [t for t in targets if t.table == subject]
    if len(own) == 1:
        return own[0]
    finer = [t for t in targets if (cost := context.cost(t.table, subject)) and cost[0] == 0]
    if context.acts & context.events("commerce"):  # "sold more than 1000 units": not those in stock
        finer = [t for t in finer if is_traded(context, t.table)] or finer
    if own or not finer:
        return nearest(context, subject, own or targets, ask.ask.text or ask.text)
    least = min(context.cost(t.table, subject) or (9, 9) for t in finer)
    return next(t for t in finer if context.cost(t.table, subject) == least)


def compared_targets(context: Context, subject: str, ask: CompareAsk) -> list[Target]:
    if ask.ask.targets:
        return list(ask.ask.targets)
    if ask.ask.concept:
        targets = context.measures(ask.ask.concept, {subject}) or context.measures(ask.ask.concept)
        targets = fitting(context, subject, targets, ask.unit)
    elif ask.unit and ask.unit.kind != "money":
        targets = [
            t
            for m in context.own_measures(subject)
            if (u := context.unit_of(t := target_of(m))) and u.kind == ask.unit.kind
        ] or lines_in(context, subject, ask.unit)
    elif ask.unit:
        targets = context.measures("money", {subject}) or context.measures("price", {subject})
    else:
        targets = [target_of(m) for m in context.own_measures(subject)]
    totals = context.measures("money", {subject}) if len(targets) > 1 and not ask.ask.concept and not ask.unit else []
    if len(totals) == 1:
        context.assume(ask.text, f"the {totals[0].name}", "model", 0.8)
        return totals
    if not targets or (not ask.ask.concept and len(targets) > 1):
        names = [t.name for t in targets] or [m.names[0] for m in context.own_measures(subject)]
        raise Unclear(ask.text, f"What of a {context.called(subject)} is “{ask.text}”?", names, "quantitative")
    return targets


def lines_in(context: Context, subject: str, unit: Unit) -> list[Target]:
    """ "More than 500 hours" of a consultant: what his entries add up to, if just one table keeps such a sum."""
    sums = [target_of(m) for m in context.model.measures if m.aggregate == "sum" and context.cost(m.table, subject)]
    found = [t for t in sums if (own := context.unit_of(t)) and own.kind == unit.kind]
    near = [t for t in found if (context.cost(t.table, subject) or (1, 9))[0] == 0]
    return near if len(near) == 1 else []


def fitting(context: Context, subject: str, targets: list[Target], unit: Unit | None) -> list[Target]:
    """ "Longer than 2800 km" is about a distance, whatever else is long."""
    if unit is None or unit.kind == "money" or not all(kept_otherwise(context, each, unit) for each in targets):
        return targets
    own = [target_of(m) for m in context.own_measures(subject)]
    return [t for t in own if (kept := context.unit_of(t)) and kept.kind == unit.kind] or targets


def kept_otherwise(context: Context, target: Target, unit: Unit) -> bool:
    own = context.unit_of(target)
    return own is not None and own.kind != unit.kind


def is_within(context: Context, target: Target, numbers: Sequence[float]) -> bool:
    """Whether the numbers, just as they were said, lie between the least and the greatest of the column."""
    table = context.catalog.table(target.table)
    column = table.column(target.expression.strip('"')) if table else None
    if column is None or column.low is None or column.high is None:
        return False
    return all(float(column.low) <= number <= float(column.high) for number in numbers)


def conversion(context: Context, target: Target, unit: Unit | None, term: str, numbers: Sequence[float] = ()) -> float:
    """From the unit that was said to the one of the column."""
    own = context.unit_of(target)
    if unit is None or (unit.kind == "money" and own is None):
        return unit.factor if unit else 1.0
    if own is None and is_within(context, target, numbers):
        context.assume(term, f"in the unit in which {target.name} is kept", "model", 0.8)
        return 1.0
    if own is None:
        raise Unclear(
            term,
            f"In which unit is {called(context, target)} kept? I cannot compare it with “{term}”.",
            category="quantitative",
        )
    if own.kind != unit.kind:
        raise Unclear(
            term, f"{called(context, target)} is not kept in a unit that fits “{term}”.", category="quantitative"
        )
    return unit.factor / own.factor


def plain(number: float) -> str:
    rounded = round(number, 6)
    return str(int(rounded)) if rounded == int(rounded) else str(rounded)
