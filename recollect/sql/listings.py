"""Listings: rows of an entity with the columns asked for, distinct values of a column, or groups whose figure passes a
threshold. Called by assemble.py.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear, is_upkeep
from recollect.sql.figures import figure
from recollect.sql.frame import Frame, Group, Ref
from recollect.sql.frame_conditions import with_conditions
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.naming import is_name, many
from recollect.sql.ordering import label, ordered
from recollect.sql.phrases import phrases
from recollect.sql.places import is_reached_safely, nearest, placed
from recollect.sql.roles_compare import KEY
from recollect.sql.sketch import Ask, CompareAsk, GroupAsk, Sketch

MOST_COLUMNS = 12


def listing(context: Context, sketch: Sketch, extra: tuple[Ref, ...] = ()) -> Frame:
    subject = chosen_subject(context, sketch)
    if subject.is_partial and "commerce" in sketch.verbs and context.measures("units", {subject.table}):
        name = many(subject.name)
        raise Unclear(subject.name, f"The {name}, or how many were sold?", (f"list the {name}",), "aggregation")
    if subject.kind == "dimension" or any(grouped(context, subject, ask) for ask in sketch.compares):
        return listed_groups(context, sketch, subject)
    frame = Frame(subject.table)
    frame = with_conditions(context, sketch, frame)
    if sketch.groups:
        raise Unclear(
            sketch.groups[0].text,
            f"What should be counted by {sketch.groups[0].text}?",
            (f"number of {subject.name}s by {sketch.groups[0].text}",),
            "aggregation",
        )
    columns = [
        ref
        for ask in sketch.columns
        if not is_period_moment(sketch, ask) and not is_deed(ask, frame.subject)
        for ref in column_refs(context, frame.subject, ask)
    ]
    first = shown(context, subject, columns)
    if sketch.wants_all:
        first = everything(context, subject.table)
    if extra and not label(context, subject.table):
        first = [ref for ref in first if ref.column in keys_of(context, subject.table)]
    frame = replace(frame, columns=tuple(dict.fromkeys((*first, *columns, *extra))), limit=sketch.limit)
    return ordered(context, sketch, frame)


def is_period_moment(sketch: Sketch, ask: Ask) -> bool:
    return bool(sketch.spans) and any(t.kind == "moment" for t in ask.targets)


def is_deed(ask: Ask, subject: str) -> bool:
    """ "Customers who ordered": what they did, not a column of theirs; frame_conditions.py sees to the event."""
    is_verb = any(word.kind == "verb" for word in phrases().of(key_of(ask.text)))
    return is_verb and bool(ask.targets) and all(t.kind == "moment" and t.table != subject for t in ask.targets)


def chosen_subject(context: Context, sketch: Sketch) -> Target:
    """The one whose table the rest of the question is nearest to."""
    places = [list(ask.targets) for ask in sketch.values]
    places += [list(ask.targets) for ask in sketch.columns if ask.targets]
    places += [list(piece.of("entity", "join")) for piece in sketch.mentions if piece.of("entity", "join")]
    costed = []
    for target in sketch.subject:
        costs = [
            min((c for t in targets if (c := context.cost(target.table, t.table))), default=(9, 9))
            for targets in places
        ]
        named = 0 if target.table in context.mentioned else 1
        costed.append(
            ((sum(c[0] for c in costs), sum(c[1] for c in costs), named, 0 if target.kind == "entity" else 1), target)
        )
    least = min(cost for cost, _ in costed)
    top = [target for cost, target in costed if cost == least]
    if len({(t.table, t.column) for t in top}) > 1:
        raise Unclear(
            top[0].name, f"Whose {top[0].name}?", [f"{context.called(t.table)} {t.name}" for t in top], "entity"
        )
    return top[0]


def grouped(context: Context, subject: Target, ask: CompareAsk) -> bool:
    """The comparison is about a figure of the subject, not about a column of its own."""
    if ask.ask.concept == KEY or ask.is_average:
        return False
    if any(t.kind == "entity" for t in ask.ask.targets):
        return True
    if subject.kind == "dimension" and any(t.kind == "measure" and t.aggregate == "sum" for t in ask.ask.targets):
        return True  # "states with more than 1000 in sales": of each state
    own = [t for t in ask.ask.targets if t.table == subject.table] or (
        context.measures(ask.ask.concept, {subject.table}) if ask.ask.concept else []
    )
    return (
        not own
        and bool(ask.ask.targets or ask.ask.concept)
        and any(t.kind == "measure" for t in ask.ask.targets or context.measures(ask.ask.concept))
    )


def listed_groups(context: Context, sketch: Sketch, subject: Target) -> Frame:
    """Distinct values, or groups whose figure is compared: then the figure is shown beside."""
    ask = next((each for each in sketch.compares if grouped(context, subject, each)), None)
    if ask is None:
        base = subject.table
        if sketch.missing:
            gap = sketch.missing[0].text
            raise Unclear(gap, f"“{gap}” says something about a {context.called(base)}, not about each {subject.name}.")
        frame = with_conditions(context, sketch, Frame(base))
        return ordered(context, sketch, replace(frame, groups=(Group(placed(context, base, subject, subject.name)),)))
    counts = any(t.kind == "entity" for t in ask.ask.targets)
    sketch.metrics = [replace(ask.ask, aggregate="count" if counts else ask.ask.aggregate, is_count=counts)]
    sketch.groups.insert(0, GroupAsk((subject,), text=subject.name))
    sketch.subject = ()
    frame = figure(context, sketch)
    numbers = frame.having[0].values if frame.having else ()
    is_low = counts and frame.having and (frame.having[0].op in ("<", "<=") or numbers == ("0",))
    plain = not frame.filters and not frame.periods and len(frame.groups) == 1 and not frame.groups[0].of.column
    return replace(frame, keeps_empty=bool(is_low and plain))


def column_refs(context: Context, base: str, ask: Ask) -> list[Ref]:
    targets = list(ask.targets) or context.measures(ask.concept, {base})
    if not targets:
        raise Unclear(ask.text, f"A {context.called(base)} has no “{ask.text}”.", category="unknown")
    if labels := named_by(context, base, targets, ask.text):
        return labels
    target = nearest(context, base, targets, ask.text)
    ref = placed(context, base, target, ask.text)
    if not is_reached_safely(context, base, ref):
        raise Unclear(ask.text, f"A {context.called(base)} has several of “{ask.text}”.", category="aggregation")
    if target.kind in ("entity", "join"):
        return [replace(ref, column=column, name=target.name) for column in label(context, target.table)] or [ref]
    return [ref]


def named_by(context: Context, base: str, targets: list[Target], text: str) -> list[Ref]:
    """The "name" of one who has a first and a last name."""
    if any(t.table == base for t in targets):
        return []
    noun = stem_key(text)[-1:]
    own = [d for d in context.model.dimensions if d.table == base and d.column in label(context, base)]
    fits = own and all(stem_key(d.names[0])[-1:] == noun for d in own)
    return [Ref(base, d.column, name=d.names[0]) for d in own] if fits else []


def shown(context: Context, subject: Target, asked: list[Ref]) -> list[Ref]:
    """Its label; where it has none, its key, dates and figures."""
    table = subject.table
    labels = label(context, table)
    keys = keys_of(context, table)
    if labels:
        named = [Ref(table, c, name=c) for c in labels]
        if any(ref.table == table and ref.column in labels and not ref.via for ref in asked):
            return []
        return named if is_name(labels) else [*(Ref(table, key, name=key) for key in keys if key not in labels), *named]
    moments = [Ref(table, m.column, name=m.names[0]) for m in context.moments(table) if not is_upkeep(m)]
    figures = {m.expression: m.names[0] for m in reversed(context.own_measures(table))}
    measures = [Ref(table, "", expression, name) for expression, name in reversed(figures.items())]
    return [*(Ref(table, key, name=key) for key in keys), *moments, *measures]


def keys_of(context: Context, table: str) -> tuple[str, ...]:
    entity = context.entity(table)
    return entity.key if entity else ()


def everything(context: Context, table: str) -> list[Ref]:
    """What may be seen of a row, the key and the name first; not what is personal or only upkeep."""
    found = context.catalog.table(table)
    hidden = {column.name for column in found.columns if column.is_sensitive} if found else set()
    columns = [*keys_of(context, table), *label(context, table)]
    columns += [d.column for d in context.model.dimensions if d.table == table]
    columns += [m.column for m in context.moments(table) if not is_upkeep(m)]
    plain = [m for m in context.own_measures(table) if found and found.column(m.expression.strip('"'))]
    refs = [Ref(table, column, name=column) for column in dict.fromkeys(columns) if column not in hidden]
    return [*refs, *(Ref(table, "", m.expression, m.names[0]) for m in plain)][:MOST_COLUMNS]
