"""Rankings: the first few of a list by a column of their own, of groups by their figure, of the steps of time; the one
extreme of a figure; and the first of each group. Called by assemble.py.

Raises `Unclear` where it is not said by what, or how many.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.sql.context import Context, Unclear, target_of
from recollect.sql.figures import bridged, figure
from recollect.sql.filter_periods import year_column
from recollect.sql.frame import Frame, Group, Order
from recollect.sql.known import Target
from recollect.sql.lexer import stem_key
from recollect.sql.listings import listing
from recollect.sql.ordering import label
from recollect.sql.phrases import phrases
from recollect.sql.places import group, is_reached_safely, ref_of
from recollect.sql.roles_rank import BOUGHT
from recollect.sql.rows import FREQUENCY, POPULARITY, by_label
from recollect.sql.sketch import Ask, GroupAsk, Rank, Sketch
from recollect.sql.vocabulary import vocabulary

HIGHEST = ("highest", "largest", "biggest", "greatest", "lowest", "smallest")


def is_who(sketch: Sketch) -> bool:
    return any(piece.has("which") and piece.text.lower().startswith("who") for piece in sketch.pieces)


def is_step_ranked(sketch: Sketch) -> bool:
    steps = [ask for ask in sketch.groups if ask.grain]
    return bool(steps and sketch.rank and sketch.rank.by and not sketch.subject and not sketch.metrics)


def ranked_steps(context: Context, sketch: Sketch) -> Frame:
    """ "Which month had the most orders": a figure for each month, and the first of them."""
    rank = sketch.rank or Rank(is_descending=True)
    by = valued(context, rank)
    check_several(sketch, rank)
    check_single(by, rank.text)
    check_bought(context, sketch, by)
    sketch.metrics = [by]
    return figure(context, sketch)


def check_several(sketch: Sketch, rank: Rank) -> None:
    if rank.count is None and sketch.is_several:
        raise Unclear(
            rank.text, f"How many of “{rank.text}”?", ("only the first", "the top 5", "the top 10"), "quantitative"
        )


def check_bought(context: Context, sketch: Sketch, by: Ask) -> None:
    """Who bought the most, and when the most was sold: pieces, or money?"""
    is_open = by.text == BOUGHT or (is_step_ranked(sketch) and by.concept == "units" and not by.targets)
    is_said = any(piece.word("concept") == "units" and not piece.has("verb") for piece in sketch.pieces)
    if is_open and not is_said and context.measures("units") and context.measures("money"):
        raise Unclear(
            BOUGHT, "The most: by quantity, or by what was spent?", ("by quantity", "by revenue"), "quantitative"
        )


def extreme(context: Context, sketch: Sketch) -> Frame:
    """ "The highest invoice total": the greatest, if nobody asks whose."""
    rank = sketch.rank
    if rank is None or rank.by is None:
        raise Unclear("", "What should be ranked?", category="quantitative")
    by = valued(context, rank)
    if any(piece.text.lower() in ("which one", "which ones") for piece in sketch.pieces):
        raise Unclear("which one", "Which one of what?", [e.names[0] for e in context.model.entities], "entity")
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
    if by.concept == FREQUENCY:
        subject = sketch.subject = tuple(by_label(context, target) for target in subject)
    if by.concept in (FREQUENCY, POPULARITY):
        by = rank_by_rows(context, sketch, by, rank.text)
    check_bought(context, sketch, by)
    check_several(sketch, rank)
    if row := row_measure(context, sketch, by):
        return row_ranking(context, sketch, row)
    check_single(by, rank.text)
    sketch.metrics = [by]
    check_steps(sketch, rank)
    sketch.groups.insert(0, GroupAsk(subject, text=subject[0].name))
    sketch.subject = ()
    frame = figure(context, sketch)
    frame = replace(frame, per=own_groups(context, frame))
    is_low = (
        not rank.is_descending and not frame.filters and not frame.periods and frame.metrics[0].aggregate == "count"
    )
    return replace(frame, keeps_empty=is_low and len(frame.groups) == 1 and not frame.groups[0].of.column)


def check_steps(sketch: Sketch, rank: Rank) -> None:
    """ "Top 5 customers by revenue per month": five of each month, or the months of the five? "Each" says it."""
    steps = [ask.text for ask in sketch.groups if ask.grain and not set(ask.text.lower().split()) & {"each", "every"}]
    if steps:
        names = (f"each {steps[0].split()[-1]}", "in all")
        question = f"“{rank.text}” of each {steps[0].split()[-1]}, or of all?"
        raise Unclear(rank.text, question, names, "quantitative")


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
        targets = targets or (context.pay(tables) if by.concept == "money" else [])
    if not targets and by.concept == "duration":
        far = [m for table in tables for m in context.own_measures(table) if "distance" in m.names[0].split()]
        targets = [target_of(far[0])] if len(far) == 1 else lengths(context, tables)  # "the longest route"
    if not targets and by.concept == "price" and not by.aggregate and not by.targets:
        targets = [own_price(context, sketch, tables)]
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


def own_price(context: Context, sketch: Sketch, tables: set[str]) -> Target:
    """What the most expensive tour costs itself ("price per person"), and never what was paid around it."""
    words = set(vocabulary().words("money", "price_words"))
    own = [m for table in tables for m in context.own_measures(table) if words & set(m.names[0].split())]
    if len(own) != 1:
        text = sketch.rank.text if sketch.rank else ""
        raise Unclear(text, "Measured by what?", [m.names[0] for m in own], "quantitative")
    return target_of(own[0])


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


def check_who(context: Context, sketch: Sketch, table: str) -> None:
    """ "Who placed the last order": a person is asked for, not the order."""
    people, entity = phrases().events["person"], context.entity(table)
    known = [key for name in (entity.names if entity else ()) for key in (stem_key(name), stem_key(name)[-1:])]
    if not is_who(sketch) or any(key in people for key in known):  # a crew member is a member
        return
    near = [context.called(join.to) for join in context.model.joins if join.table == table]
    names = [name for name in near if stem_key(name) in people]
    raise Unclear("who", f"Who of the {context.called(table)} is meant?", names, "entity")


def row_ranking(context: Context, sketch: Sketch, target: Target) -> Frame:
    rank = sketch.rank
    check_who(context, sketch, target.table)
    sketch.rank = None
    groups, sketch.groups = sketch.groups, []
    frame = listing(context, replace_subject(sketch, target.table), extra=(ref_of(target),))
    frame = of_each(context, frame, groups)
    if frame.metrics:
        text = rank.text if rank else target.name
        raise Unclear(text, f"“{text}” and a figure of another kind at once: please ask for one of them.")
    order = Order("column", 0, rank.is_descending if rank else True, ref_of(target))
    return replace(frame, order=(order,), limit=(rank.count if rank else None) or 1)


def own_groups(context: Context, frame: Frame) -> tuple[Group, ...]:
    """ "The course with the most students in each department": that of the course, not of the students."""
    ranked = frame.groups[0].of.table
    for each in frame.groups[1:]:
        ways = context.graph.ways(frame.subject, each.of.table, each.of.via)
        cost = context.cost(ranked, each.of.table)
        passed = {frame.subject, *(step.table for step in ways[0])} if ways else set()
        if not each.grain and cost is not None and cost[0] == 0 and ranked not in passed:
            names = [f"{context.called(table)} {each.of.name}" for table in (ranked, frame.subject)]
            raise Unclear(each.of.name, f"Which {each.of.name} is meant?", names, "entity")
    return frame.groups[1:]


def of_each(context: Context, frame: Frame, asks: list[GroupAsk]) -> Frame:
    """ "The most expensive product in each category": each belongs to one, and that is shown in front."""
    groups = [group(context, frame.subject, ask) for ask in asks]
    for each in groups:
        is_one = is_reached_safely(context, frame.subject, each.of) or bridged(context, frame, each.of)
        if not is_one or each.grain or frame.metrics:
            name = context.called(frame.subject)
            raise Unclear(each.of.name, f"A {name} can have several of “{each.of.name}”.", category="aggregation")
    labels = [
        ref
        for each in groups
        for ref in (
            [each.of]
            if each.of.column
            else [replace(each.of, column=column) for column in label(context, each.of.table)] or [each.of]
        )
    ]
    return replace(frame, per=tuple(groups), columns=tuple(dict.fromkeys((*labels, *frame.columns))))


def replace_subject(sketch: Sketch, table: str) -> Sketch:
    sketch.subject = tuple(t for t in sketch.subject if t.table == table)
    return sketch
