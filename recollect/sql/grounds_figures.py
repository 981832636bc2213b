"""Which figure: the sum or the average, of what, and whether it is a figure at all. Called by grounds.py.

A measure that nobody aggregated in words, a word that means some amount, a column that says yes or no: each needs a
second sign, or is asked about. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.sql.figure_pairs import places_of
from recollect.sql.frame import Metric, Ref
from recollect.sql.grounds_things import half_name
from recollect.sql.grounds_trace import Trace, listed, roots
from recollect.sql.lexer import stem_key
from recollect.sql.naming import many
from recollect.sql.phrases import phrases
from recollect.sql.places import is_reached_safely
from recollect.sql.unclear import Clarification

NUMBERS = ("integer", "number")


def figures(trace: Trace) -> Iterator[Clarification]:
    old = trace.last.metrics if trace.last else ()
    for metric in (*trace.frame.metrics, *(each.metric for each in trace.frame.having)):
        if metric not in old:
            yield from added_up(trace, metric)
            yield from of_rates(trace, metric)
            yield from pieces_sold(trace, metric)
            yield from about_figure(trace, metric)
            yield from of_each(trace, metric)
            yield from of_now(trace, metric)
    yield from yes_or_no(trace)
    yield from two_figures(trace)
    yield from of_two_tables(trace)
    yield from of_each_still(trace)
    yield from compared_with(trace)
    yield from ranked_up(trace)
    yield from sized(trace)


def added_up(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    """A date or a name is not added up: another figure was meant."""
    table = trace.context.catalog.table(metric.of.table)
    column = table.column(metric.of.column) if table and metric.of.column else None
    if column and metric.aggregate in ("sum", "avg") and column.type not in NUMBERS and not metric.of.expression:
        yield Clarification(metric.of.name, f"The {metric.of.name} cannot be added up. Which figure is meant?")


def of_rates(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    """A rate is not added up, and "how much discount" is not its average: the one who asks means money."""
    is_asked = any(piece.has("howmuch") for piece in trace.pieces)
    if not is_rate(trace, metric.of) or not (metric.aggregate == "sum" or (metric.aggregate == "avg" and is_asked)):
        return
    name = metric.of.name
    value = [m.names[0] for m in trace.context.own_measures(metric.of.table) if m.names[0].startswith(f"{name} ")]
    question = f"The {name} is kept as a rate, and is not added up. The average{', or its value' if value else ''}?"
    yield Clarification(name, question, (f"average {name}", *value), "aggregation")


def is_rate(trace: Trace, ref: Ref) -> bool:
    """A column of fractions, or of percent."""
    table = trace.context.catalog.table(ref.table)
    column = table.column(ref.column or ref.expression.strip('"`[]')) if table else None
    if column is None or column.type not in NUMBERS or not roots(ref.name) & listed("fractions"):
        return False
    is_part = column.high is not None and float(column.high) <= 1 and column.type == "number"
    return is_part or bool(roots(ref.name) & roots("percent percentage pct"))


def pieces_sold(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    """ "How many bikes did they sell": how many kinds, or how many pieces?"""
    context, table = trace.context, metric.of.table
    is_of_kinds = metric.aggregate == "count" and not metric.of.column and table not in context.events("commerce")
    is_none = any(each.is_negated for each in trace.frame.existence)
    is_said = is_none or bool(trace.said & roots("different distinct unique kinds"))
    if is_of_kinds and not is_said and (stocked := [t for t in trace.sketch.definitions if t.name == "in stock"]):
        called = many(context.called(table))
        names = (f"different {called}", f"total units in stock of the {called}")
        yield Clarification(stocked[0].name, f"How many {names[0]}, or how many pieces?", names, "aggregation")
    if not is_of_kinds or is_said or "commerce" not in trace.sketch.verbs:
        return
    if units := [t for t in context.measures("units") if context.cost(t.table, table) == (0, 1)]:
        names = (f"different {many(context.called(table))}", f"total {units[0].name}")
        yield Clarification(context.called(table), f"How many {names[0]}, or how many pieces?", names, "aggregation")


def about_figure(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    name, table = metric.of.name, metric.of.table
    aggregates = {piece.word("agg") for piece in trace.pieces if piece.has("agg") and not piece.names}
    is_shaped = bool(trace.frame.groups or trace.frame.order or trace.frame.having)
    is_rate = metric.aggregate == "sum" and bool(roots(name) & listed("rates")) and not trace.context.moments(table)
    is_unsaid = (metric.aggregate == "avg" and is_shaped) or (is_rate and bool(trace.frame.groups))
    if is_unsaid and not is_average_said(trace, name):
        question = f"The total or the average {name}?"
        yield Clarification(name, question, (f"total {name}", f"average {name}"), "aggregation")
    if metric.aggregate == "count" and "sum" in aggregates and (money := trace.context.measures("money", {table})):
        names = (f"number of {many(trace.context.called(table))}", f"total {money[0].name}")
        yield Clarification(name, "How many, or how much?", names, "aggregation")
    if is_weakly_meant(trace, metric):
        owner = trace.context.called(table)
        yield Clarification(name, f"Is the {name} of each {owner} meant?", (f"{owner} {name}",), "aggregation")
    if not metric.of.column and not metric.of.expression and (text := half_name(trace, metric)):
        called = many(trace.context.called(table))
        yield Clarification(text, f"Does “{text}” mean the {called}?", (called,), "entity")


def is_average_said(trace: Trace, name: str) -> bool:
    said = {word for piece in trace.pieces for word in piece.text.lower().split()}
    return "percentage" in name or bool(said & {"average", "avg", "mean"}) or any(p.has("agg") for p in trace.pieces)


def is_weakly_meant(trace: Trace, metric: Metric) -> bool:
    """ "Revenue" for any amount that is kept somewhere: it must be called so, or be what a sale comes to."""
    if not metric.of.expression or metric.of.table in trace.context.mentioned | trace.context.events("commerce"):
        return False
    model = trace.context.model
    names = [n for m in model.measures if (m.table, m.expression) == (metric.of.table, metric.of.expression)
             for n in m.names]  # fmt: skip
    own = frozenset().union(*map(roots, names)) if names else frozenset[str]()
    general = roots("total overall average amount money")
    for piece in trace.pieces:
        if piece.has("concept") and not piece.names and not piece.has("verb", "agg"):
            meant = {(t.table, t.expression) for t in trace.context.measures(piece.word("concept") or "")}
            said = roots(piece.text) - general
            if said and not said & own and (metric.of.table, metric.of.expression) in meant:
                return True
    return False


def yes_or_no(trace: Trace) -> Iterator[Clarification]:
    """A column that says yes or no is a condition: shown or added up, it was probably not understood. So is a date in
    front of what it is said of: "deleted accounts"."""
    old = (*trace.last.columns, *(metric.of for metric in trace.last.metrics)) if trace.last else ()
    asked = {(t.table, t.column) for ask in trace.sketch.columns for t in ask.targets}
    met = trace.met
    shown = [ref for ref in trace.frame.columns if (ref.table, ref.column) in asked - met]
    figures = [metric.of for metric in trace.frame.metrics if metric.aggregate in ("sum", "avg")]
    empty = [each.of for each in trace.frame.filters if each.op in ("is null", "not null") and is_flag(trace, each.of)]
    for ref in (*shown, *figures, *empty):
        if ref not in old and (is_flag(trace, ref) or is_said_in_front(trace, ref)):
            called = many(trace.context.called(ref.table))
            question = f"Only the {called} that are “{ref.name}”, or whether each is?"
            yield Clarification(ref.name, question, (f"only {ref.name}", f"number of {called} by {ref.name}"), "state")


def is_flag(trace: Trace, ref: Ref) -> bool:
    table = trace.context.catalog.table(ref.table)
    column = table.column(ref.column or ref.expression.strip('"')) if table else None
    if column is None:
        return False
    ends = {str(column.low).removesuffix(".0"), str(column.high).removesuffix(".0")}
    values = {value.removesuffix(".0") for value in column.values}
    return column.type == "boolean" or bool(values and values <= {"0", "1"}) or ends == {"0", "1"}


def is_said_in_front(trace: Trace, ref: Ref) -> bool:
    for piece, behind in zip(trace.pieces, trace.pieces[1:], strict=False):
        is_date = any((t.table, t.column) == (ref.table, ref.column) for t in piece.of("moment"))
        if is_date and any(t.table == ref.table for t in behind.of("entity")):
            return True
    return False


def two_figures(trace: Trace) -> Iterator[Clarification]:
    """Two figures, and no "and" between them: the second was hardly asked for."""
    if trace.is_edit:
        return  # "the maximum too"
    if len(trace.frame.metrics) > 1 and not any(p.has("or", "their", "opener", "spread") for p in trace.pieces):
        names = tuple(f"{each.aggregate} of {each.of.name}" for each in trace.frame.metrics)
        yield Clarification(names[0], f"Which figure is meant: {' or '.join(names)}?", names, "aggregation")


def compared_with(trace: Trace) -> Iterator[Clarification]:
    """ "Paid versus cancelled": two rows, or one of them was lost."""
    words = [piece.text for piece in trace.pieces if piece.has("compared") and not piece.names]
    if words and not trace.is_edit and trace.sketch.is_compared and not trace.frame.groups:
        yield Clarification(words[0], f"What is to be told apart by “{words[0]}”?", (), "aggregation")


def of_each_still(trace: Trace) -> Iterator[Clarification]:
    """A change of what was the first of each: of each of what now?"""
    frame, last = trace.frame, trace.last
    if last and last.per and (frame.groups, frame.subject, bool(frame.metrics), frame.columns) != (
        last.groups, last.subject, bool(last.metrics), last.columns
    ):  # fmt: skip
        name = last.per[0].of.name
        yield Clarification(name, f"Still for each {name}? Please ask the whole question.", (), "aggregation")


def of_two_tables(trace: Trace) -> Iterator[Clarification]:
    """Orders and what their lines add up to: a condition on the lines would be met by whole orders."""
    frame, context = trace.frame, trace.context
    refs = places_of(frame)
    finer = [m for m in frame.metrics if not is_reached_safely(context, frame.subject, Ref(m.of.table))]
    far = [ref for ref in refs if not is_reached_safely(context, frame.subject, ref)]
    if len(frame.metrics) > 1 and finer and (far or frame.existence or frame.having):
        name = finer[0].of.name or context.called(finer[0].of.table)
        question = f"The {name} and the other figure are kept apart. Please ask for one at a time."
        yield Clarification(name, question, (), "aggregation")


def ranked_up(trace: Trace) -> Iterator[Clarification]:
    """ "Ranked by population": the most first, as a rule."""
    ranks = [piece.text for piece in trace.pieces if piece.text.lower().startswith("rank")]
    is_said = any(piece.has("direction") for piece in trace.pieces)
    if ranks and trace.frame.order and not is_said and not any(each.is_descending for each in trace.frame.order):
        yield Clarification(ranks[0], "The highest first, or the lowest?", ("highest first", "lowest first"))


def of_each(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    """ "Team budgets": one number, or one for each? "Stock per shop", where stock is kept in rows: how many rows?"""
    is_said = any(piece.has("agg", "howmuch", "howmany", "all", "super", "superlative") for piece in trace.pieces)
    name, table = metric.of.name, metric.of.table
    owner, entity = trace.context.called(table), trace.context.entity(table)
    several = [p.text for p in trace.pieces if p.of("measure") and stem_key(p.text) != tuple(p.text.lower().split())]
    shaped = trace.frame.groups or trace.frame.periods or trace.frame.filters or trace.is_edit
    is_sum = metric.aggregate == "sum" and not shaped and table in trace.context.mentioned
    is_mean = metric.aggregate == "avg" and not trace.frame.groups and not trace.is_edit
    if (is_sum or is_mean) and several and not is_said:
        yield Clarification(
            name, f"In all, or of each {owner}?", (f"total {name}", f"{name} by {owner}"), "aggregation"
        )
    own = trace.context.own_measures(table)
    is_kept_in_rows = metric.aggregate == "count" and entity is not None and len(entity.key) > 1 and bool(own)
    if is_kept_in_rows and not is_said and not metric.of.column and metric in trace.frame.metrics:
        names = (f"total {own[0].names[0]}", f"number of {many(owner)}")
        yield Clarification(
            owner, f"The {own[0].names[0]}, or how many rows of {owner} there are?", names, "aggregation"
        )


def of_now(trace: Trace, metric: Metric) -> Iterator[Clarification]:
    """What is kept with from when until when it was valid: all that ever was, or what is valid now?"""
    moments = [m for m in trace.context.moments(metric.of.table) if roots(m.names[0]) & listed("valid")]
    if len(moments) > 1 and not trace.frame.periods and metric.aggregate != "count":
        of = trace.context.called(metric.of.table)
        question = f"Of every {of} that was ever valid, or only of those valid now?"
        yield Clarification(of, question, (f"without {moments[-1].names[0]}",), "temporal")


def sized(trace: Trace) -> Iterator[Clarification]:
    """ "The largest team": by what? Its only number need not be its size."""
    words = [p.text for p in trace.pieces if (p.word("superlative") or "").lstrip("-") == "size" and not p.names]
    by = next((each.of for each in trace.frame.order if each.of), None)
    nouns = {word for key in phrases().concepts["size"] for word in key}
    if words and by is not None and not set(by.name.split()) & nouns and not roots(by.name) & trace.said:
        yield Clarification(words[0], f"“{words[0]}” by the {by.name}?", (f"by {by.name}",), "quantitative")
