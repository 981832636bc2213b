"""Superiors: people of one table of whom one is the other's manager: "who reports to X", "how many does X manage",
"X's direct reports", "whom does X report to". Called by assemble.py before anything is placed.

Whose name it is decides everything here: taken for the row itself, "employees managed by X" would be X. So a name
beside such a verb is read through the join to the manager, or the manager is shown; elsewhere it is asked.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.frame import Frame
from recollect.sql.known import Target
from recollect.sql.lexer import root_of, stem_key
from recollect.sql.lexicon import SUBORDINATES, join_id, superior_of
from recollect.sql.semantic import Join
from recollect.sql.sketch import Ask, Sketch, ValueAsk

UPWARDS = (" to", " under")


def with_superiors(context: Context, sketch: Sketch) -> None:
    joins = [join for join in context.model.joins if superior_of(join)]
    verb = next((at for at, p in enumerate(sketch.pieces) if p.word("verb") == "manage" and not p.names), None)
    noun = next((at for at, p in enumerate(sketch.pieces) if p.text.lower() in SUBORDINATES), None)
    at = verb if verb is not None else noun
    if len(joins) != 1 or at is None:
        return
    join = joins[0]
    asks = [ask for ask in sketch.values if named(context, join, ask)]
    if not asks:
        check_noun(context, sketch, join, noun)
        return
    if any(ask.is_negated for ask in asks):
        raise Unclear(asks[0].text, "Who does, can be told; please ask for them, and for all.", (), "entity")
    context.used.update(root_of(word) for word in sketch.pieces[at].text.split())
    if verb is not None and is_upwards(sketch, verb, asks):
        show_superior(context, sketch, join)
    else:
        look_below(context, sketch, join)


def check_noun(context: Context, sketch: Sketch, join: Join, noun: int | None) -> None:
    """ "Direct reports in Sales": whose?"""
    via = join_id(join.table, join.columns)
    asked = (*(t for each in sketch.groups for t in each.targets), *sketch.subject)
    if noun is not None and not any(t.via == via for t in asked):
        raise Unclear(sketch.pieces[noun].text, f"“{sketch.pieces[noun].text}” of whom?", (), "entity")


def named(context: Context, join: Join, ask: ValueAsk) -> tuple[Target, ...]:
    """The readings of a value that name one of these people."""
    entity = context.entity(join.table)
    label = entity.label if entity else ()
    return tuple(t for t in ask.targets if t.table == join.table and t.column in label)


def is_upwards(sketch: Sketch, verb: int, asks: list[ValueAsk]) -> bool:
    """ "Who manages X", "whom does X report to": X is the lower one."""
    is_in_front = verb < asks[0].at
    leads = sketch.pieces[verb].text.lower().endswith((*UPWARDS, " by"))
    return is_in_front != leads


def after_superiors(context: Context, sketch: Sketch, last: Frame) -> None:
    """ "And to Y?" after "who reports to X"."""
    used = {via for each in last.filters for via in each.of.via}
    for join in context.model.joins:
        if superior_of(join) and join_id(join.table, join.columns) in used:
            through_manager(context, sketch, join)


def look_below(context: Context, sketch: Sketch, join: Join) -> None:
    """Those whose manager is called so."""
    through_manager(context, sketch, join)
    entity = Target("entity", join.table, name=context.called(join.table))
    sketch.metrics = [replace(ask, targets=of_people(ask, entity)) for ask in sketch.metrics]
    if not sketch.subject and not sketch.metrics:
        sketch.subject = (entity,)


def through_manager(context: Context, sketch: Sketch, join: Join) -> None:
    via = join_id(join.table, join.columns)
    for n, ask in enumerate(sketch.values):
        if own := named(context, join, ask):
            found = tuple(replace(t, via=via) for t in own)
            nobody: frozenset[str] = frozenset()
            sketch.values[n] = ValueAsk(found, ask.is_negated, ask.text, ask.at, ask.is_alternative, nobody, "manager")


def of_people(ask: Ask, entity: Target) -> tuple[Target, ...]:
    """ "How many people report to X": those who can."""
    is_people = stem_key(ask.text)[-1:] in (("person",), ("people",)) and ask.is_count
    return (entity,) if is_people else ask.targets


def show_superior(context: Context, sketch: Sketch, join: Join) -> None:
    if sketch.metrics or sketch.groups or sketch.rank:
        raise Unclear("manager", "Whose manager is asked for?", (), "entity")
    sketch.subject = (Target("entity", join.table, name=context.called(join.table)),)
    boss = Target("join", join.table, name=join.names[0], via=join_id(join.table, join.columns))
    sketch.columns.append(Ask(None, (boss,), text=join.names[0]))
