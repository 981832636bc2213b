"""Places: which table and column each ask of a sketch is about, seen from the table that is measured or listed.

The nearest one wins, and one that multiplies no rows before any other; two that are as near are asked about. Used by
assemble.py for groups and columns, by filters.py for values and comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.sql.context import EVENTS, Context, Unclear, words_of_way
from recollect.sql.frame import Group, Ref
from recollect.sql.joins import is_safe
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.naming import singular, words_of
from recollect.sql.phrases import phrases
from recollect.sql.sketch import GroupAsk
from recollect.sql.vocabulary import vocabulary

DEEDS = ("ship", "return", "release", "signup", "birth")  # verbs that are dates rather than rows


def ref_of(target: Target) -> Ref:
    via = (target.via,) if target.via else ()
    return Ref(target.table, target.column, target.expression, target.name, via)


def nearest(context: Context, base: str, targets: Sequence[Target], term: str) -> Target:
    """The one that lies nearest; asks where two do."""
    costed = [(cost, target) for target in targets if (cost := place_cost(context, base, target)) is not None]
    if not costed:
        raise Unclear(
            term, f"“{context.called(base)}” and “{term}” are not connected directly here.", category="entity"
        )
    least = min(cost for cost, _ in costed)
    best = [target for cost, target in costed if cost == least]
    if len({same_place(t) for t in best}) > 1:
        best = preferred(context, best)
    if len({same_place(t) for t in best}) > 1:
        raise Unclear(
            term, f"“{term}” can mean several things here. Which one?", [called(context, t) for t in best], "entity"
        )
    return best[0]


def same_place(target: Target) -> tuple[str, str, str]:
    """A score is a figure and something to group by, and one column all the same."""
    return target.table, target.column or target.expression.strip('"`[]'), target.via


def preferred(context: Context, targets: list[Target]) -> list[Target]:
    """What the question names, then entities before their columns; a title that somebody had for a while is no thing
    of its own, there the column is meant."""
    mentioned = [t for t in targets if t.table in context.mentioned] or targets
    if shown := [t for t in mentioned if t.kind == "dimension" and is_weak(context, t.table)]:
        return shown
    if len({t.table for t in mentioned}) == 1 and all(t.kind == "dimension" for t in mentioned):
        labels = [t for t in mentioned if (e := context.entity(t.table)) and t.column in e.label]
        return labels or [t for t in mentioned if not is_key_column(t)] or mentioned
    for kind in ("entity", "join"):
        if own := [t for t in mentioned if t.kind == kind]:
            return own
    return mentioned


def is_weak(context: Context, table: str) -> bool:
    entity = context.entity(table)
    return entity is not None and len(entity.key) > 1


def is_key_column(target: Target) -> bool:
    return singular((words_of(target.column) or ("",))[-1]) in vocabulary().words("sure_key_words")


def place_cost(context: Context, base: str, target: Target) -> tuple[int, int, int] | None:
    cost = context.cost(base, target.table, (target.via,) if target.via else ())
    if cost is None:
        return None
    return (*cost, 1 if target.is_partial else 0)


def called(context: Context, target: Target) -> str:
    owner = context.called(target.table)
    name = target.value or target.name or target.column
    return name if name.startswith(owner) else f"{owner} {name}"


def placed(context: Context, base: str, target: Target, term: str) -> Ref:
    """With the joins that tell one way from another, where there are several."""
    ref = ref_of(target)
    way = context.way(base, ref.table, ref.via, term)
    if way is None:
        raise Unclear(
            term, f"“{context.called(base)}” and “{term}” are not connected directly here.", category="entity"
        )
    context.used.update(words_of_way(way))
    if context.graph.ways(base, ref.table, ref.via) != (way,):
        ref = Ref(ref.table, ref.column, ref.expression, ref.name, tuple(step.id for step in way))
    return ref


def is_reached_safely(context: Context, base: str, ref: Ref) -> bool:
    ways = context.graph.ways(base, ref.table, ref.via)
    return bool(ways) and is_safe(ways[0])


def group(context: Context, base: str, ask: GroupAsk, dates: Sequence[Target] = (), verbs: Sequence[str] = ()) -> Group:
    if ask.grain == "weekday":
        context.assume(ask.text, "0 is Sunday, 6 is Saturday", "model", 1.0)
    if ask.grain:
        return Group(moment_ref(context, base, ask.text, verbs, dates), ask.grain)  # type: ignore[arg-type]
    target = own_column(context, base, nearest(context, base, ask.targets, ask.text), ask.text)
    check_sent(context, base, target, ask)
    ref = placed(context, base, target, ask.text)
    grain = "day" if target.kind == "moment" else ""
    return Group(ref, grain)  # type: ignore[arg-type]


def check_sent(context: Context, base: str, target: Target, ask: GroupAsk) -> None:
    """ "Revenue by country": where it was sent, or where the customer is?"""
    sent = set(words_of(target.column)) & set(vocabulary().words("qualifiers", "sent_to"))
    others = [t for t in ask.targets if t.table != target.table and (context.cost(base, t.table) or (1, 0))[0] == 0]
    others = [t for t in others if t.kind == "dimension" and not t.is_partial]
    if sent and others and not sent & set(ask.text.lower().split()):
        names = [called(context, t) for t in (target, *others)]
        raise Unclear(ask.text, f"Which {ask.text} is meant?", names, "entity")


def own_column(context: Context, base: str, target: Target, term: str) -> Target:
    """ "By reason": the cancel reason of what is counted, before the reason of something that belongs to it."""
    cost = context.cost(base, target.table, (target.via,) if target.via else ())
    if target.kind != "dimension" or cost is None or not cost[0]:
        return target
    own = [d for d in context.model.dimensions if d.table == base and d.names[0].endswith(f" {term.lower()}")]
    if len(own) > 1:
        raise Unclear(term, f"Which {term} is meant?", [d.names[0] for d in own], "entity")
    return Target("dimension", base, own[0].column, name=own[0].names[0]) if own else target


def moment_ref(context: Context, base: str, term: str, verbs: Sequence[str] = (), named: Sequence[Target] = ()) -> Ref:
    """The moment that is named, or that the verb means, or the main one of the table, or of the event it is part of."""
    named = [each for each in named if not is_of_another(context, base, each.table)]
    if named:
        return placed(context, base, nearest(context, base, named, term), term)
    for verb in verbs:
        if moment := context.moment_of(verb, {base}):
            return Ref(base, moment.column, name=moment.names[0])
    if event := event_moment(context, base, verbs):
        return placed(context, base, event, term)
    check_deed(context, base, verbs, term)
    if moment := context.main_moment(base):
        if len(context.moments(base)) > 1:
            context.assume(term, f"the {moment.names[0]}", "model", 0.9)
        return Ref(base, moment.column, name=moment.names[0])
    if own := context.moments(base):
        raise Unclear(term, f"Which date does “{term}” mean?", [each.names[0] for each in own], "temporal")
    return far_moment(context, base, term, verbs)


def is_of_another(context: Context, base: str, table: str) -> bool:
    """Customers who joined are not those whose agent joined then."""
    people = phrases().events["person"]
    ends = [entity for each in (base, table) if (entity := context.entity(each))]
    return base != table and all(any(stem_key(name) in people for name in entity.names) for entity in ends)


def check_deed(context: Context, base: str, verbs: Sequence[str], term: str) -> None:
    """What was done then is not dated by when something else was: books that were borrowed, by their publication."""
    strange = [verb for verb in verbs if verb in (*EVENTS, *DEEDS) and base not in context.events(verb)]
    strange = [verb for verb in strange if not any(is_part_of(context, base, t) for t in context.events(verb))]
    if strange:
        names = [m.names[0] for m in context.moments(base)]
        raise Unclear(term, f"Nothing here says when that was done. Which date does “{term}” mean?", names, "temporal")


def is_part_of(context: Context, base: str, table: str) -> bool:
    return (context.cost(base, table) or (1, 0))[0] == 0


def event_moment(context: Context, base: str, verbs: Sequence[str]) -> Target | None:
    """Customers who bought in 2024 are not those who signed up then: the order has the date."""
    tables = {t for verb in verbs if verb in EVENTS for t in context.events(verb)}
    dated = [m for t in tables if (m := context.main_moment(t)) and context.cost(base, t)]
    if (base in tables and context.main_moment(base)) or not dated:
        return None
    near = min(dated, key=lambda m: (context.cost(base, m.table) or (9, 9), m.table))
    return Target("moment", near.table, near.column, name=near.names[0])


def far_moment(context: Context, base: str, term: str, verbs: Sequence[str]) -> Ref:
    main = [m for m in context.model.moments if m.is_main or len(context.moments(m.table)) == 1]
    costed = [(cost, m) for m in main if (cost := context.cost(base, m.table))]
    dated = [(cost, m) for cost, m in costed if is_dating(context, base, m.table, cost[0], verbs)]
    if not dated:
        others = [m.names[0] for m in context.model.moments]
        raise Unclear(
            term, f"A {context.called(base)} has no date of its own. Which date does “{term}” mean?", others, "temporal"
        )
    calendar = [(cost, m) for cost, m in dated if cost == (0, 1) and is_calendar(context, m.table)]
    dated = calendar or dated
    least = min(cost for cost, _ in dated)
    best = [m for cost, m in dated if cost == least]
    if len(best) > 1:
        raise Unclear(term, f"Which date does “{term}” mean?", [m.names[0] for m in best], "temporal")
    return placed(context, base, Target("moment", best[0].table, best[0].column, name=best[0].names[0]), term)


def is_dating(context: Context, base: str, table: str, multiplies: int, verbs: Sequence[str]) -> bool:
    """A line is dated by its order, and who bought by what was bought; a customer is not by his clerk's birthday."""
    if table in context.mentioned or any(table in context.events(verb) for verb in verbs):
        return True
    is_event = bool(context.measures("money", {table})) or any(
        table in context.events(v) for v in ("commerce", "rent", "stay", "visit", "flight")
    )
    main = context.main_moment(table)
    if main is not None and main in (context.moment_of("employment", {table}), context.moment_of("birth", {table})):
        return False  # a course is not dated by when its professor was hired
    is_event |= main is not None and bool(set(main.names[0].split()) & set(context.called(table).split()))
    return not multiplies and (is_event or is_calendar(context, table) or context.called(table) in context.called(base))


def is_calendar(context: Context, table: str) -> bool:
    """A row for each day, as warehouses have it."""
    return bool({context.called(table), *context.called(table).split()[-1:]} & set(vocabulary().words("calendars")))
