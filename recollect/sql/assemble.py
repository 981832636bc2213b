"""Assemble: a sketch in, a frame out: the figure with its groups (figures.py), the list (listings.py), or the ranking
(rankings.py). Here is decided which of them, and of what.

Raises `Unclear` where it would have to guess, `Refused` where the number would be wrong; reading.py tells both.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear
from recollect.sql.figures import checked, figure, figure_of_subject, is_count_by, is_money
from recollect.sql.frame import Frame
from recollect.sql.known import Target
from recollect.sql.lexer import key_of, stem_key
from recollect.sql.listings import listing
from recollect.sql.phrases import phrases
from recollect.sql.rankings import extreme, is_step_ranked, is_who, ranked_steps, ranking
from recollect.sql.roles import sketch_of
from recollect.sql.roles_compare import TIMES
from recollect.sql.rows import counted_table
from recollect.sql.shares import as_figure, predicate_at, shared
from recollect.sql.sketch import Ask, Sketch, ValueAsk
from recollect.sql.superiors import with_superiors

LEADS = ("in", "from", "to", "for", "at", "on", "with", "by", "of")


def assemble(context: Context, sketch: Sketch) -> Frame:
    return share(context, sketch) if sketch.is_share else plain(context, sketch)


def share(context: Context, sketch: Sketch) -> Frame:
    """The figure with all that was said, and of which whole it is a part."""
    cut = predicate_at(sketch.pieces)
    said = [sketch, *([sketch_of(sketch.pieces[:cut])] if cut else [])]
    for each in said:
        as_figure(each)
    frames = [plain(context, each) for each in said]
    return checked(context, shared(frames[0], frames[1] if cut else None))


def plain(context: Context, sketch: Sketch) -> Frame:
    count_what_happened(sketch)
    count_times(context, sketch)
    with_superiors(context, sketch)
    if is_money(context, sketch):
        sketch.metrics.append(Ask(None, sketch.subject, text=sketch.subject[0].name))
        sketch.subject = ()
    list_what_is_said(context, sketch)
    if not sketch.subject and not sketch.metrics:
        sketch.subject = meant_by_value(context, sketch)
    is_cut = sketch.rank is None or (sketch.rank.by is None and bool(sketch.groups))  # "per city, top 5"
    if sketch.subject and is_cut and (sketch.metrics or is_count_by(sketch)):
        return figure_of_subject(context, sketch)
    if sketch.metrics and not (sketch.rank and sketch.subject):
        return figure(context, sketch)
    if is_step_ranked(sketch):
        return ranked_steps(context, sketch)
    if sketch.rank and sketch.rank.by and not sketch.subject and not is_who(sketch):
        return extreme(context, sketch)
    if not sketch.subject and not sketch.metrics:
        sketch.subject = persons(context, sketch)
    if not sketch.subject:
        raise Unclear(
            "", "What should be counted, added up or listed?", [e.names[0] for e in context.model.entities], "entity"
        )
    if sketch.rank:
        return ranking(context, sketch)
    check_object(sketch)
    return listing(context, sketch)


def list_what_is_said(context: Context, sketch: Sketch) -> None:
    """ "List all starters with their price": what they cost each, and no average."""
    first = next((ask for ask in sketch.values if ask.lead not in LEADS), None)
    is_plain = bool(sketch.metrics) and not any(ask.aggregate or ask.is_count for ask in sketch.metrics)
    if sketch.is_list and is_plain and not (sketch.subject or sketch.rank or sketch.groups) and first is not None:
        table = counted_table(context, first.targets, first.text)
        sketch.subject = (Target("entity", table, name=context.called(table)),)
        sketch.columns, sketch.metrics = [*sketch.columns, *sketch.metrics], []


def meant_by_value(context: Context, sketch: Sketch) -> tuple[Target, ...]:
    """ "The heaviest dog", "no-shows per vet": the rows that are said to be so."""
    first = next((ask for ask in sketch.values if ask.lead not in LEADS), None)
    by = sketch.rank.by if sketch.rank else None
    is_asked = first is not None and first.at > 0 and sketch.pieces[first.at - 1].has("which")  # "which waiter ..."
    ranked = by is not None and (is_asked or (bool(by.concept) and not by.targets))
    is_dated = bool(sketch.columns) and all(map(is_all_moments, sketch.columns))  # "captains hired after 2020"
    is_led = first is not None and is_first(sketch, first.at)
    if first is None or not (ranked or (is_led and (sketch.groups or is_dated or is_several(first)))):
        return ()
    table = counted_table(context, first.targets, first.text)
    return (Target("entity", table, name=context.called(table)),)


def is_several(ask: ValueAsk) -> bool:
    """ "Captains", where a role is called "Captain"."""
    stems = stem_key(ask.text)
    return stems != key_of(ask.text) and not ask.is_negated and any(stems == key_of(t.value) for t in ask.targets)


def is_first(sketch: Sketch, at: int) -> bool:
    return all(piece.is_skip or piece.has("list", "which") or piece.of("definition") for piece in sketch.pieces[:at])


def check_object(sketch: Sketch) -> None:
    """ "What did customers buy", "what do readers like": asks for something of them, not for them."""
    said = [piece for piece in sketch.pieces if piece.text.lower() not in ("the", "our", "most")]
    texts = [piece.text.lower() for piece in said[:2]]
    owns = any(ask.targets for ask in sketch.columns)
    if texts[:1] == ["what"] and texts[1:] in (["do"], ["does"], ["did"]) and not owns:
        name = said[2].text if len(said) > 2 else "they"
        raise Unclear("what", f"What of the {name} is asked for?", category="entity")


def count_what_happened(sketch: Sketch) -> None:
    """ "Hires per year", "number of check-ins": the rows, dated by that moment."""
    dated = bool(sketch.spans or any(each.grain for each in sketch.groups))
    counted = [ask for ask in sketch.metrics if ask.is_count and ask.targets and is_all_moments(ask)]
    is_said = any(
        ask.lead not in LEADS and is_first(sketch, ask.at) for ask in sketch.values
    )  # the receptionists hired
    is_bare = dated and not (sketch.subject or sketch.metrics or is_said or is_who(sketch))
    alone = [ask for ask in sketch.columns if is_all_moments(ask) and is_bare]
    for ask in (*counted, *alone)[:1]:
        rows = tuple(Target("entity", t.table, name=ask.text) for t in ask.targets)
        sketch.metrics = [Ask("count", rows, text=ask.text, is_count=True)]
        sketch.columns = [replace(ask, aggregate=None)] if dated else []


def count_times(context: Context, sketch: Sketch) -> None:
    """ "Ordered more than 5 times": the rows that tell of it, by their own date or as the verb has them."""
    for at, each in enumerate(sketch.compares):
        if not each.ask.concept.startswith(TIMES):
            continue
        done = [t for t in each.ask.targets if t.kind == "entity" or is_main(context, t)]
        tables = [t.table for t in done] or sorted(context.events(each.ask.concept.removeprefix(TIMES)))
        if not tables:
            raise Unclear(each.ask.text, f"What is counted for “{each.ask.text} {each.text}”?", category="entity")
        rows = tuple(Target("entity", table, name=context.called(table)) for table in dict.fromkeys(tables))
        sketch.compares[at] = replace(each, ask=replace(each.ask, targets=rows, concept=""))


def is_main(context: Context, target: Target) -> bool:
    main = context.main_moment(target.table)
    return main is not None and main.column == target.column


def is_all_moments(ask: Ask) -> bool:
    return bool(ask.targets) and all(t.kind == "moment" for t in ask.targets)


def persons(context: Context, sketch: Sketch) -> tuple[Target, ...]:
    """ "Who was hired": the people that the verb is about; asked where several could be."""
    if not is_who(sketch):
        return ()
    nouns = phrases().events["person"]
    people = [e for e in context.model.entities if any(stem_key(name) in nouns for name in e.names)]
    people = [e for e in people if context.pay({e.table})] or people
    dated = {m.table for v in sketch.verbs for t in people if (m := context.moment_of(v, {t.table}))}
    about = {t for v in sketch.verbs for t in context.events(v)} | dated
    found = [e for e in people if e.table in about]
    found = found or [e for e in people if any(context.cost(event, e.table) == (0, 1) for event in about)] or people
    if len(found) > 1:
        found = [e for e in found if is_ranked_for(context, sketch, e.table)] or found
    if len(found) != 1:
        raise Unclear("who", "Who is meant?", [e.names[0] for e in found], "entity")
    return (Target("entity", found[0].table, name=found[0].names[0]),)


def is_ranked_for(context: Context, sketch: Sketch, table: str) -> bool:
    """ "Who logged the most hours": a row of hours names one person, whoever else is further away."""
    kept = {t.table for t in sketch.rank.by.targets} if sketch.rank and sketch.rank.by else set()
    return bool(kept) and all(context.cost(each, table) == (0, 1) for each in kept)
