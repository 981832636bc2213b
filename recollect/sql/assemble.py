"""Assemble: a sketch in, a frame out: the figure with its groups (figures.py), the list (listings.py), or the ranking,
here.

Raises `Unclear` where it would have to guess, `Refused` where the number would be wrong; reading.py tells both.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Refused, Unclear, target_of
from recollect.sql.figures import figure, figure_of_subject, is_count_by, is_money
from recollect.sql.filter_periods import year_column
from recollect.sql.frame import Frame, Order
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.listings import listing
from recollect.sql.phrases import phrases
from recollect.sql.places import ref_of
from recollect.sql.roles_rank import BOUGHT
from recollect.sql.rows import FREQUENCY, POPULARITY, counted_table
from recollect.sql.shares import SHARES
from recollect.sql.sketch import Ask, GroupAsk, Rank, Sketch

LEADS = ("in", "from", "to", "for", "at", "on", "with", "by", "of")
HIGHEST = ("highest", "largest", "biggest", "greatest", "lowest", "smallest")


def assemble(context: Context, sketch: Sketch) -> Frame:
    count_what_happened(sketch)
    if sketch.is_share and not any(t.kind in ("entity", "value") for ask in sketch.metrics for t in ask.targets):
        raise Refused(SHARES)
    if is_money(context, sketch):
        sketch.metrics.append(Ask(None, sketch.subject, text=sketch.subject[0].name))
        sketch.subject = ()
    if not sketch.subject and not sketch.metrics:
        sketch.subject = meant_by_value(context, sketch)
    if sketch.subject and not sketch.rank and (sketch.metrics or is_count_by(sketch)):
        return figure_of_subject(context, sketch)
    if sketch.metrics and not (sketch.rank and sketch.subject):
        return figure(context, sketch)
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


def meant_by_value(context: Context, sketch: Sketch) -> tuple[Target, ...]:
    """ "The heaviest dog", "no-shows per vet": the rows that are said to be so."""
    first = next((ask for ask in sketch.values if ask.lead not in LEADS), None)
    by = sketch.rank.by if sketch.rank else None
    ranked = by is not None and bool(by.concept) and not by.targets
    if first is None or not (ranked or (sketch.groups and is_first(sketch, first.at))):
        return ()
    table = counted_table(context, first.targets, first.text)
    return (Target("entity", table, name=context.called(table)),)


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
    alone = [ask for ask in sketch.columns if is_all_moments(ask) and dated and not (sketch.subject or sketch.metrics)]
    for ask in (*counted, *alone)[:1]:
        rows = tuple(Target("entity", t.table, name=ask.text) for t in ask.targets)
        sketch.metrics = [Ask("count", rows, text=ask.text, is_count=True)]
        sketch.columns = [replace(ask, aggregate=None)] if dated else []


def is_all_moments(ask: Ask) -> bool:
    return bool(ask.targets) and all(t.kind == "moment" for t in ask.targets)


def is_who(sketch: Sketch) -> bool:
    return any(piece.has("which") and piece.text.lower().startswith("who") for piece in sketch.pieces)


def persons(context: Context, sketch: Sketch) -> tuple[Target, ...]:
    """ "Who was hired": the people that the verb is about; asked where several could be."""
    if not is_who(sketch):
        return ()
    nouns = phrases().events["person"]
    people = [e for e in context.model.entities if any(stem_key(name) in nouns for name in e.names)]
    dated = {m.table for v in sketch.verbs for t in people if (m := context.moment_of(v, {t.table}))}
    about = {t for v in sketch.verbs for t in context.events(v)} | dated
    found = [e for e in people if e.table in about]
    found = found or [e for e in people if any(context.cost(event, e.table) == (0, 1) for event in about)] or people
    if len(found) != 1:
        raise Unclear("who", "Who is meant?", [e.names[0] for e in found], "entity")
    return (Target("entity", found[0].table, name=found[0].names[0]),)


def extreme(context: Context, sketch: Sketch) -> Frame:
    """ "The highest invoice total": the greatest, if nobody asks whose."""
    rank = sketch.rank
    if rank is None or rank.by is None:
        raise Unclear("", "What should be ranked?", category="quantitative")
    by = valued(context, rank)
    if rank.count or not (by.targets or by.concept) or by.is_count:
        raise Unclear(
            rank.text, f"“{rank.text}” of what?", [e.names[0] for e in context.model.entities], "quantitative"
        )
    sketch.metrics.append(replace(by, aggregate=by.aggregate or ("max" if rank.is_descending else "min")))
    sketch.rank = None
    return figure(context, sketch)


def valued(context: Context, rank: Rank) -> Ask:
    """ "The highest invoice" is the one of the highest amount, if it has just one."""
    by = rank.by or Ask()
    tables = {t.table for t in by.targets if t.kind == "entity"}
    found = context.measures("money", tables) if by.is_count and rank.text.lower() in HIGHEST else []
    return replace(by, targets=tuple(found), is_count=False, aggregate=None) if len(found) == 1 else by


def ranking(context: Context, sketch: Sketch) -> Frame:
    rank, subject = sketch.rank, sketch.subject
    if rank is None:
        return listing(context, sketch)
    by = rank.by or (sketch.metrics[0] if sketch.metrics else None)
    if by is None:
        names = [m.names[0] for m in context.model.measures if any(context.cost(m.table, s.table) for s in subject)]
        raise Unclear(rank.text, f"“{rank.text}” by what?", [f"by {name}" for name in names], "quantitative")
    if by.concept in (FREQUENCY, POPULARITY):
        by = rank_by_rows(context, sketch, by, rank.text)
    if by.text == BOUGHT and context.measures("units") and context.measures("money"):
        raise Unclear(
            BOUGHT, "Bought the most: by quantity, or by what was spent?", ("by quantity", "by revenue"), "quantitative"
        )
    if rank.count is None and sketch.is_several:
        raise Unclear(
            rank.text, f"How many of “{rank.text}”?", ("only the first", "the top 5", "the top 10"), "quantitative"
        )
    if row := row_measure(context, sketch, by):
        return row_ranking(context, sketch, row)
    check_single(by, rank.text)
    sketch.metrics = [by]
    sketch.groups.insert(0, GroupAsk(subject, text=subject[0].name))
    sketch.subject = ()
    frame = figure(context, sketch)
    is_low = (
        not rank.is_descending and not frame.filters and not frame.periods and frame.metrics[0].aggregate == "count"
    )
    return replace(frame, keeps_empty=is_low and len(frame.groups) == 1 and not frame.groups[0].of.column)


def check_single(by: Ask, term: str) -> None:
    """ "The highest temperature", and of whom: the highest of all, or the highest average? A score is averaged."""
    figures = [t for t in by.targets if t.kind == "measure"]
    scores = {word for key in (*phrases().concepts["rating"], *phrases().concepts["salary"]) for word in key}
    is_average = bool(figures) and all(t.aggregate == "avg" for t in figures) and by.aggregate is None
    if is_average and term.lower() in HIGHEST and not any(set(t.name.split()) & scores for t in figures):
        name = figures[0].name
        names = (f"maximum {name}", f"average {name}")
        raise Unclear(term, f"The {term} {name} of all, or the {term} average?", names, "aggregation")


def rank_by_rows(context: Context, sketch: Sketch, by: Ask, term: str) -> Ask:
    """ "The most common breed": by how often it is there. How popular a thing is can be meant otherwise."""
    if by.concept == POPULARITY and not all(t.kind == "dimension" for t in sketch.subject):
        names = [f"by {m.names[0]}" for m in context.model.measures[:5]]
        raise Unclear(term, f"“{term}” by what, and from which number on?", names, "quantitative")
    return Ask("count", sketch.subject, "rows", text=term, is_count=True)


def row_measure(context: Context, sketch: Sketch, by: Ask) -> Target | None:
    """A column of the ranked rows themselves."""
    tables = {t.table for t in sketch.subject if t.kind == "entity"}
    if by.aggregate == "count" or not tables:
        return None
    if by.concept in ("age", "newness"):
        return aged(context, tables, by.concept)
    targets = [t for t in by.targets if t.kind in ("measure", "moment") and t.table in tables]
    if by.concept and not by.targets:
        targets = context.measures(by.concept, tables)
    if not targets and by.concept == "duration":
        far = [m for table in tables for m in context.own_measures(table) if "distance" in m.names[0].split()]
        targets = [target_of(far[0])] if len(far) == 1 else lengths(context, tables)  # "the longest route"
    if not targets and by.concept == "size":
        only = [m for table in tables for m in context.own_measures(table)]
        targets = [target_of(only[0])] if len(only) == 1 else []
        if not targets:
            raise Unclear(
                sketch.rank.text if sketch.rank else "",
                "Measured by what?",
                [m.names[0] for m in only] or [f"number of {e.names[0]}" for e in context.model.entities],
                "quantitative",
            )
    return targets[0] if targets else None


def lengths(context: Context, tables: set[str]) -> list[Target]:
    """From the beginning to the end of a row: "the longest project"."""
    names = {f"{context.called(table)} length" for table in tables}
    return [target_of(m) for m in context.model.measures if m.table in tables and names & set(m.names)]


def aged(context: Context, tables: set[str], concept: str) -> Target:
    if concept == "age" and (moment := context.moment_of("birth", tables)):
        return Target("moment", moment.table, moment.column, name=moment.names[0])
    nouns = phrases().events["person"]
    people = any(stem_key(name) in nouns for t in tables if (e := context.entity(t)) for name in e.names)
    for table in tables if concept != "age" or not people else ():
        if moment := context.main_moment(table):
            return Target("moment", table, moment.column, name=moment.names[0])
        if year := year_column(context, table):
            context.assume("newest" if concept == "newness" else "oldest", f"by {year.name}", "model", 0.8)
            return year
    raise Unclear("newest", "By which date?", [m.names[0] for m in context.model.moments], "temporal")


def row_ranking(context: Context, sketch: Sketch, target: Target) -> Frame:
    rank = sketch.rank
    sketch.rank = None
    frame = listing(context, replace_subject(sketch, target.table), extra=(ref_of(target),))
    if frame.metrics:
        text = rank.text if rank else target.name
        raise Unclear(text, f"“{text}” and a figure of another kind at once: please ask for one of them.")
    order = Order("column", 0, rank.is_descending if rank else True, ref_of(target))
    return replace(frame, order=(order,), limit=(rank.count if rank else None) or 1)


def replace_subject(sketch: Sketch, table: str) -> Sketch:
    sketch.subject = tuple(t for t in sketch.subject if t.table == table)
    return sketch
