"""Filters: the values, periods and comparisons of a sketch as conditions on columns. Called by assemble.py and edit.py.

Values of one column that are joined by "and" or "or" are alternatives; two values side by side that are a first and a
last name are one person. A number with a unit is converted to what the column counts in, or asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from recollect.sql.context import EVENTS, Context, Refused, Unclear, target_of
from recollect.sql.frame import Filter, Period, Ref
from recollect.sql.known import SURE, Target
from recollect.sql.lexer import key_of, root_of
from recollect.sql.lexicon import join_id
from recollect.sql.naming import many, words_of
from recollect.sql.periods import Span
from recollect.sql.phrases import Unit, phrases
from recollect.sql.places import DEEDS, called, moment_ref, nearest, placed
from recollect.sql.sketch import CompareAsk, Sketch, ValueAsk
from recollect.sql.vocabulary import vocabulary

DONE = ("ed", "paid", "sold", "sent")
YEARS = ("year", "founded", "established", "built")


def value_filters(context: Context, base: str, asks: Sequence[ValueAsk]) -> list[Filter]:
    found: list[tuple[ValueAsk, Target]] = []
    for cluster in clusters(paired(asks)):
        options = shared(cluster)
        for ask, targets in zip(cluster, options, strict=True):
            target = nearest(context, base, likeliest(context, base, targets, ask), ask.text)
            if target.source:
                context.assume(ask.text, called(context, target), target.source, target.confidence)
            check_owner(context, target, ask)
            check_rivals(context, base, target, ask)
            check_from(context, base, target, targets, ask)
            known = (*targets, *ask.others)
            alike = [t for t in known if (t.table, t.column, t.via) == (target.table, target.column, target.via)]
            found += [(ask, each) for each in alike]  # one text may be stored in several spellings
    return merged(context, base, found)


def check_owner(context: Context, target: Target, ask: ValueAsk) -> None:
    """ "Cancelled customers", where orders are cancelled: an adjective says something of what stands behind it."""
    entity = context.entity(target.table)
    is_name = entity is not None and target.column in entity.label
    costs = [context.cost(table, target.table) or (1, 9) for table in ask.of]
    if costs and not is_name and not target.source and all(cost[0] for cost in costs):
        owner = context.called(target.table)
        raise Unclear(ask.text, f"“{ask.text}” is said of a {owner} here. What is meant?", category="state")


def check_rivals(context: Context, base: str, target: Target, ask: ValueAsk) -> None:
    """A writer's full name may be a reader's first and last name."""
    people = [t for t in ask.rivals if (e := context.entity(t.table)) and t.column in e.label]
    far = (context.cost(base, target.table) or (1, 9))[0]
    reached = [t for t in people if (context.cost(base, t.table) or (9, 9))[0] <= far]
    if reached and not target.source:
        names = [f"the {context.called(t.table)} {ask.text}" for t in (target, *reached)]
        raise Unclear(ask.text, f"“{ask.text}” is the name of several things. Which one?", names, "entity")


def check_from(context: Context, base: str, target: Target, targets: Sequence[Target], ask: ValueAsk) -> None:
    """Orders "from Berlin" were hardly sent there: where a customer's town is known as well, it is asked. Guests "from
    France" are not those of hotels in France."""
    if ask.whose and not target.source and all((context.cost(e, target.table) or (1, 9))[0] for e in ask.whose):
        owner = context.called(min(ask.whose))
        question = f"“{ask.text}” is said of a {context.called(target.table)} here, not of a {owner}. What is meant?"
        raise Unclear(ask.text, question, category="entity")
    sent = set(words_of(target.column)) & set(vocabulary().words("qualifiers", "sent_to"))
    others = [t for t in targets if t.table != target.table and (context.cost(base, t.table) or (1, 0))[0] == 0]
    if ask.lead == "from" and sent and others:
        names = [called(context, replace(t, value="", name=column_name(context, t))) for t in (target, *others)]
        raise Unclear(ask.text, f"Which of its places is “{ask.text}”?", names, "entity")


def likeliest(context: Context, base: str, targets: Sequence[Target], ask: ValueAsk) -> list[Target]:
    """A value that names an entity is that entity, not a text that happens to say the same; not the counted thing
    itself, if it can be another. Two entities of one name: the maker, where it says "by", or a question."""
    labels = [t for t in targets if is_label(context, t)]
    if owners := owners_of(context, base, targets, ask):
        return owners
    if any(t.source for t in targets) or not labels:
        return list(targets)
    reached = [t for t in labels if context.cost(base, t.table)]
    others = [t for t in reached if t.table != base] or reached
    plain = [t for t in targets if t not in labels and context.cost(base, t.table)]
    if len({t.table for t in others}) > 1:
        others = told_apart(context, others, ask)
    if plain and others:
        context.assume(ask.text, f"the {context.called(others[0].table)}", "model", 0.8)
    return others or list(targets)


def is_label(context: Context, target: Target) -> bool:
    entity = context.entity(target.table)
    return entity is not None and target.column in entity.label


def owners_of(context: Context, base: str, targets: Sequence[Target], ask: ValueAsk) -> list[Target]:
    """ "Albums of Pearl Jam": the artist's, although one of them is called so itself."""
    if not all(t.table == base and is_label(context, t) and not t.source for t in targets):
        return []
    found = [t for t in ask.others if is_label(context, t) and (context.cost(base, t.table) or (1, 0))[0] == 0]
    return told_apart(context, found, ask) if len({t.table for t in found}) > 1 else found


def told_apart(context: Context, targets: list[Target], ask: ValueAsk) -> list[Target]:
    if ask.is_maker:
        return [
            t for t in targets if all((c := context.cost(o.table, t.table)) and not c[0] for o in targets)
        ] or targets
    names = [f"the {context.called(t.table)} {t.value}" for t in targets]
    raise Unclear(ask.text, f"“{ask.text}” is the name of several things. Which one?", names, "entity")


def paired(asks: Sequence[ValueAsk]) -> list[ValueAsk]:
    """ "Margaret Park": the first name and the last name of one table."""
    found = list(asks)
    for at in range(len(found) - 1):
        one, other = found[at], found[at + 1]
        if other.at - one.at != 1 or other.is_alternative:
            continue
        pairs = [(a, b) for a in one.targets for b in other.targets if a.table == b.table and a.column != b.column]
        if pairs:
            found[at] = with_targets(one, [a for a, _ in pairs])
            found[at + 1] = with_targets(other, [b for _, b in pairs])
    return found


def with_targets(ask: ValueAsk, targets: Sequence[Target]) -> ValueAsk:
    return replace(ask, targets=tuple(dict.fromkeys(targets)))


def clusters(asks: Sequence[ValueAsk]) -> list[list[ValueAsk]]:
    found: list[list[ValueAsk]] = []
    for ask in asks:
        if ask.is_alternative and found:
            found[-1].append(ask)
        else:
            found.append([ask])
    return found


def shared(cluster: Sequence[ValueAsk]) -> list[tuple[Target, ...]]:
    """Alternatives stand in one column, if there is one that has them all."""
    columns = [{(t.table, t.column) for t in ask.targets} for ask in cluster]
    common = set.intersection(*columns) if columns else set()
    if not common:
        return [ask.targets for ask in cluster]
    return [tuple(t for t in ask.targets if (t.table, t.column) in common) for ask in cluster]


def merged(context: Context, base: str, found: Sequence[tuple[ValueAsk, Target]]) -> list[Filter]:
    values: dict[tuple[str, str, bool], list[str]] = {}
    refs: dict[tuple[str, str, bool], Ref] = {}
    for ask, target in found:
        at = (target.table, target.column, ask.is_negated)
        via = target.via or directed(context, base, target.table, ask.lead)
        plain = Target("dimension", target.table, target.column, name=column_name(context, target), via=via)
        refs.setdefault(at, placed(context, base, plain, ask.text))
        values.setdefault(at, []).append(target.value)
    return [filter_of(refs[at], tuple(dict.fromkeys(said)), at[2]) for at, said in values.items()]


def directed(context: Context, base: str, table: str, lead: str) -> str:
    """ "From Oslo" is where it comes from, "to Rome" where it goes, where a table has both."""
    part = {"from": "origins", "to": "destinations"}.get(lead)
    if part is None:
        return ""
    words = vocabulary().words("qualifiers", part)
    joins = [j for j in context.model.joins if (j.table, j.to) == (base, table)]
    fits = [j for j in joins if any(name.split()[0] in words for name in j.names)]
    return join_id(base, fits[0].columns) if len(joins) > 1 and len(fits) == 1 else ""


def column_name(context: Context, target: Target) -> str:
    named = (d.names[0] for d in context.model.dimensions if (d.table, d.column) == (target.table, target.column))
    return next(named, target.column)


def filter_of(ref: Ref, values: tuple[str, ...], is_negated: bool) -> Filter:
    if len(values) == 1:
        return Filter(ref, "!=" if is_negated else "=", values)
    return Filter(ref, "not in" if is_negated else "in", values)


def definition_filters(context: Context, base: str, definitions: Sequence[Target]) -> list[Filter]:
    found = []
    for name in dict.fromkeys(each.name for each in definitions):
        target = nearest(context, base, [each for each in definitions if each.name == name], name)
        cost = context.cost(base, target.table) or (1, 9)
        if cost[0] and target.table not in context.mentioned:
            owner = context.called(target.table)
            raise Unclear(name, f"“{name}” is said of a {owner} here. What is meant?", (f"{name} {owner}s",), "state")
        if target.confidence < SURE:
            raise Unclear(name, f"Does “{name}” mean {target.meaning}?", (target.meaning,), "state")
        context.assume(name, target.meaning, target.source, target.confidence)
        ref = placed(context, base, Target("dimension", target.table, name=name), name)
        found.append(Filter(ref, "where", (target.expression,)))
    return found


def periods(context: Context, base: str, sketch: Sketch, spans: Sequence[Span]) -> list[Period]:
    named = [t for ask in sketch.columns for t in ask.targets if t.kind == "moment"]
    named = named or (happened_then(context, base, sketch) if spans else [])
    if spans:
        check_same_word(context, base, named, spans[0].text)
    if not named:
        check_state_then(context, base, sketch)
    return [period(context, base, span, sketch.verbs, named) for span in spans]


def check_same_word(context: Context, base: str, named: Sequence[Target], term: str) -> None:
    """Students who "enrolled" in 2022: by the year that they have themselves, or by their enrollments?"""
    far = {root_of(target.name.split()[0]): target for target in named if target.table != base}
    own = [d for d in context.model.dimensions if d.table == base and d.type != "text"]
    same = [name for d in own if root_of((name := d.names[0]).split()[0]) in far]
    if same:
        names = [same[0], *(called(context, target) for target in far.values())]
        raise Unclear(term, f"Which date does “{term}” mean?", names, "temporal")


def check_state_then(context: Context, base: str, sketch: Sketch) -> None:
    """ "Fines that were paid in 2024", where only the day of the fine is kept: paid then, or a fine of then?"""
    for state, then in pairwise(sketch.pieces):
        is_state = bool(state.values or state.of("definition")) and not state.of("moment") and not state.is_quoted
        text = state.text
        is_taken = any(ask.text == text for ask in sketch.values) or state.of("definition")
        is_verb = any(word.kind == "verb" for word in phrases().of(key_of(text)))
        if then.period and is_state and is_taken and is_verb and text.endswith(DONE):
            question = f"When it was {text} is not kept here. Should those of “{then.text}” be taken that are {text}?"
            raise Unclear(text, question, (f"{text} {many(context.called(base))} {then.text}",), "temporal")


def happened_then(context: Context, base: str, sketch: Sketch) -> list[Target]:
    """ "Customers with refunds in 2024": the refunds were then, not the customers."""
    for at, piece in enumerate(sketch.pieces):
        if not piece.period or not at:
            continue
        before = sketch.pieces[at - 1]
        tables = [t.table for t in before.of("entity") if before in sketch.mentions and t.table != base]
        events = [m for t in tables if (context.cost(base, t) or (0, 0))[0] and (m := context.main_moment(t))]
        if events:
            return [Target("moment", m.table, m.column, name=m.names[0]) for m in events]
    return []


def period(context: Context, base: str, span: Span, verbs: Sequence[str], named: Sequence[Target] = ()) -> Period:
    if span.needs_year:
        raise Unclear(
            span.text,
            f"Which year does “{span.text}” mean?",
            (f"{span.text} {context.today.year}", f"{span.text} {context.today.year - 1}"),
            "temporal",
        )
    if (column := year_column(context, base)) and not named and is_own_year(column, verbs):
        return numbered(column, span)
    ref = moment_ref(context, base, span.text, verbs, named)
    if not context.is_dated(ref.table, ref.column):
        raise Refused(f"{ref.name} is not stored as a date, so “{span.text}” cannot be applied to it.")
    return Period(
        ref, span.start.isoformat() if span.start else None, span.end.isoformat() if span.end else None, span.text
    )


def year_column(context: Context, base: str) -> Target | None:
    """A number that is called a year, in a table without dates."""
    if context.main_moment(base):
        return None
    numbers = [d for d in context.model.dimensions if d.table == base and d.type in ("integer", "number")]
    return next(
        (Target("dimension", d.table, d.column, name=d.names[0]) for d in numbers if d.names[0].split()[-1] in YEARS),
        None,
    )


def is_own_year(column: Target, verbs: Sequence[str]) -> bool:
    """Books "published" in 2020, or just of 2020; not those that were borrowed then."""
    deeds = [verb for verb in verbs if verb in (*EVENTS, *DEEDS)]
    words = {root_of(word) for word in column.name.split()}
    return not deeds or any(words & {root_of(w) for key in phrases().events[v] for w in key} - {"year"} for v in deeds)


def numbered(column: Target, span: Span) -> Period:
    for edge in (span.start, span.end):
        if edge and (edge.month, edge.day) != (1, 1):
            raise Refused(f"{column.name} holds only years, so “{span.text}” cannot be applied to it.")
    start, end = (str(edge.year) if edge else None for edge in (span.start, span.end))
    return Period(Ref(column.table, column.column, name=column.name), start, end, span.text, is_year=True)


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
