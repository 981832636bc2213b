"""Variants of a frame: alternatives of values, parallel keys, tables that were only named; and its shape features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Group, Op, Period, Ref
from recollect.apps.ask.interpret.index import SchemaIndex, Target
from recollect.apps.ask.interpret.joins import join_name
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.render import base_table, row_refs
from recollect.apps.ask.interpret.work import Work, make_ref
from recollect.apps.ask.words import stem_word

Variant = tuple[Frame, list[Feature]]
LISTED: dict[str, Op] = {"=": "in", "!=": "not in", "in": "in", "not in": "not in"}
MOST_KEYS = 3
UNIT_PRICES = frozenset(map(stem_word, ("price", "per", "rate", "unit", "hourly")))
TOTALS = frozenset(map(stem_word, ("total", "amount")))


def spread(frame: Frame, work: Work) -> Iterator[tuple[Frame, list[Feature], list[str]]]:
    """Yield the variants of a frame, each with its features and guesses."""
    for values, features in value_variants(frame, work):
        for mentioned, more in mention_variants(place_conditions(values, work.index), work):
            for keyed, extra, guesses in key_variants(mentioned, work):
                for final, last in definition_variants(keyed, work):
                    yield final, [*features, *more, *extra, *last, *shape_features(final, work)], guesses


# What counts, and when ------------------------------------------------------------------------------------------------


def definition_variants(frame: Frame, work: Work) -> Iterator[Variant]:
    """Money is added up without cancelled rows, or with them; the date is the main one, or the next likely one."""
    if later := with_next_year(frame, work):
        yield later, [("year_guessed", 1.0)]
        frame = with_year_said(frame)
    counted = without_void_rows(frame, work)
    yield counted, []
    if counted is not frame:
        yield frame, [("void_kept", 1.0)]
    other = with_other_moment(counted, work)
    if other is not counted:
        yield other, [("other_moment", 1.0)]


def without_void_rows(frame: Frame, work: Work) -> Frame:
    """Leave out cancelled rows where amounts are added up and the question says nothing about them. The rows of a table
    without a date are void with the dated rows that they belong to."""
    index, base = work.index, base_table(frame, work.index)
    parents = [join.to for join in index.model.joins if join.table == base and not index.tables[base].main_moment]
    void = next((index.void[each] for each in (base, *parents) if each in index.void), None)
    asked = {(fact.target.table, fact.target.column) for fact in work.state.facts}
    asked |= {(each.of.table, each.of.column) for each in frame.filters}
    if void is None or (void.of.table, void.of.column) in asked or not counts_sold(frame, work):
        return frame
    return replace(frame, filters=(*frame.filters, replace(void, is_default=True)))


def counts_sold(frame: Frame, work: Work) -> bool:
    """Whether a figure is about what was sold, or is that of the last answer, which was."""
    is_same = work.last is not None and work.last != work.last.asked and frame.metrics == work.last.metrics
    return is_same or adds_up_amounts(frame, work.index) or ("counted_pieces", 1.0) in work.features


def adds_up_amounts(frame: Frame, index: SchemaIndex) -> bool:
    amounts = {(each.table, each.column, each.expression) for each in index.figures}
    summed = [each.of for each in frame.metrics if each.aggregate in ("sum", "avg")]
    return bool(summed) and all((ref.table, ref.column, ref.expression) in amounts for ref in summed)


def with_other_moment(frame: Frame, work: Work) -> Frame:
    """Return the frame by another date of the same rows, where the question does not say which is meant."""
    used = [*(each.of for each in frame.periods), *(each.of for each in frame.groups if each.grain)]
    moments = work.index.tables[used[0].table].moments if used else ()
    if len(moments) < 2 or used[0].column != work.guessed_moment:
        return frame
    return map_refs(frame, lambda ref: replace(ref, column=moments[1]) if ref == used[0] else ref)


def with_next_year(frame: Frame, work: Work) -> Frame | None:
    """Return the frame a year later where nobody said which year, and the data go on: "appointments in March" may be
    past or planned ones."""
    is_bare = any(fact.span and fact.span.is_bare for fact in work.facts("period"))
    if not is_bare or len(frame.periods) != 1:
        return None
    [period] = frame.periods
    later = replace(period, start=move_year(period.start), end=move_year(period.end))
    column = work.index.catalog.column(period.of.table, period.of.column)
    goes_on = column is not None and (later.start or later.end or "") <= (column.high or "")
    return with_year_said(replace(frame, periods=(later,))) if goes_on and not period.others else None


def move_year(day: str | None) -> str | None:
    """Return the day a year later; February 29 is March 1 then."""
    if day is None:
        return None
    year, rest = int(day[:4]) + 1, day[4:]
    return f"{year}{rest.replace('-02-29', '-03-01')}"


def with_year_said(frame: Frame) -> Frame:
    [period] = frame.periods
    return replace(frame, periods=(replace(period, text=f"{period.text} {(period.start or '')[:4]}"),))


def map_refs(frame: Frame, move: Callable[[Ref], Ref]) -> Frame:
    """Return the frame with other places for what it shows, groups by and asks of its rows."""
    return replace(
        frame,
        groups=tuple(replace(each, of=move(each.of)) for each in frame.groups),
        columns=tuple(map(move, frame.columns)),
        filters=tuple(replace(each, of=move(each.of)) for each in frame.filters),
        periods=tuple(replace(each, of=move(each.of)) for each in frame.periods),
        order=tuple(replace(each, of=move(each.of)) if each.of else each for each in frame.order),
    )


# Several values of one column ----------------------------------------------------------------------------------------


def value_variants(frame: Frame, work: Work) -> Iterator[Variant]:
    """Several values of one column are alternatives, or each must be met by a row ("both")."""
    counted = Counter(each.of for each in frame.filters)
    ref, count = max(counted.items(), key=lambda each: each[1], default=(Ref(""), 0))
    if count < 2:
        yield replace(frame, filters=join_alternatives(frame.filters, work)), []
        return
    yield replace(frame, filters=merge_by_column(frame.filters)), []
    found = [each for each in frame.filters if each.of == ref]
    is_either = any(fact.junction == "or" for _, fact in work.filters)
    if count == 2 and not is_either and not frame.metrics:
        is_asked = bool(work.facts("both")) or is_contradiction(found)
        yield split_both(frame, ref, found), [("both_matched" if is_asked else "both_unasked", 1.0)]


def is_contradiction(filters: Sequence[Filter]) -> bool:
    """Whether no row can meet both: below one number and above a higher one."""
    numbers = [each for each in filters if each.op[0] in "<>" and each.values and not each.is_text]
    bounds = {each.op[0]: float(each.values[0]) for each in numbers}
    return len(bounds) == 2 and bounds[">"] >= bounds["<"]


def join_alternatives(filters: tuple[Filter, ...], work: Work) -> tuple[Filter, ...]:
    """Conditions on different columns that "or" connects are alternatives."""
    pairs = zip(work.filters, work.filters[1:], strict=False)
    either = {each for (before, _), (after, fact) in pairs if fact.junction == "or" for each in (before, after)}
    return tuple(replace(each, either=1) if each in either and len(either) > 1 else each for each in filters)


def merge_by_column(filters: Sequence[Filter]) -> tuple[Filter, ...]:
    """Join equalities of one column into a list of values; the same for inequalities."""
    groups: dict[tuple[object, ...], list[Filter]] = {}
    for n, each in enumerate(filters):
        key = (each.of, LISTED[each.op], each.is_text) if each.op in LISTED else (n,)
        groups.setdefault(key, []).append(each)
    merged = []
    for first, *others in groups.values():
        values = tuple(dict.fromkeys(value for each in (first, *others) for value in each.values))
        merged.append(replace(first, op=LISTED[first.op], values=values) if others and len(values) > 1 else first)
    return tuple(merged)


def split_both(frame: Frame, ref: Ref, found: Sequence[Filter]) -> Frame:
    """Each condition is met by a row of its own: two existence conditions."""
    shown = next((each for each in frame.columns if each.column), None)
    on = shown if shown and shown.table == ref.table else None
    split = [replace(Existence.of_condition(each), on=on) for each in found]
    rest = tuple(each for each in frame.filters if each.of != ref)
    return replace(frame, filters=rest, existence=(*frame.existence, *split), is_distinct=True)


# Conditions on related rows ------------------------------------------------------------------------------------------


def place_conditions(frame: Frame, index: SchemaIndex) -> Frame:
    """Move conditions on rows of the many side into existence conditions of that table, one per table."""
    base, shown = base_table(frame, index), {ref.table for ref in frame.shown}
    shown |= {step.source for table in shown for step in index.joins.path(base, table) or ()}

    def is_direct(each: Filter | Period) -> bool:
        """Whether the condition concerns one row for each row of the base, or rows that are shown."""
        place = each.of
        is_connected = index.joins.path(base, place.table, place.via) is not None
        return place.table in shown or not is_connected or index.joins.belongs(base, place.table, place.via)

    existence = frame.existence
    conditions: tuple[Filter | Period, ...] = (*frame.filters, *frame.periods)
    for each in conditions:
        if not is_direct(each):
            existence = add_existence(existence, index, base, Existence.of_condition(each))
    filters, periods = tuple(filter(is_direct, frame.filters)), tuple(filter(is_direct, frame.periods))
    return replace(frame, filters=filters, periods=periods, existence=existence)


def list_rows(frame: Frame, index: SchemaIndex) -> Frame | None:
    """Return the rows of the subject that a frame is about: a figure of each row that is compared becomes a condition
    on the rows below it. None if it compares figures of other groups."""
    if frame.having and frame.groups != (Group(Ref(frame.subject)),):
        return None
    totals = tuple(Existence(each.metric.of.table, having=each) for each in frame.having)
    rows = Frame(frame.subject, filters=frame.filters, periods=frame.periods, existence=(*totals, *frame.existence))
    return place_conditions(rows, index) if totals else rows


def add_existence(
    existence: tuple[Existence, ...], index: SchemaIndex, base: str, new: Existence
) -> tuple[Existence, ...]:
    """Add conditions to the existence condition on the same rows, or a new one."""
    on_way = {step.target for step in index.joins.path(base, new.table) or ()}
    columns = {each.of for each in new.filters}
    for n, each in enumerate(existence if not new.is_negated else ()):
        is_related = each.table in on_way or is_on_way(new.table, base, each.table, index)
        if is_related and each.on is None and columns.isdisjoint(inner.of for inner in each.filters):
            joined = replace(each, filters=each.filters + new.filters, periods=each.periods + new.periods)
            return (*existence[:n], joined, *existence[n + 1 :])
    return (*existence, new)


def is_on_way(table: str, base: str, other: str, index: SchemaIndex) -> bool:
    """Whether one row of a table belongs to each row of another, or the way to the other leads over it."""
    steps = index.joins.path(base, other) or ()
    return index.joins.belongs(other, table) or any(step.target == table for step in steps)


def mention_variants(frame: Frame, work: Work) -> Iterator[Variant]:
    """A table that was named but not used: rows must exist in it, or it was named in passing."""
    base, joins = base_table(frame, work.index), work.index.joins
    unused = find_unused(frame, base, work)
    reached = {each.table: each for each in unused if joins.path(base, each.table, each.via)}
    parents = [make_ref(each, work.index) for each in reached.values() if joins.belongs(base, each.table, each.via)]
    if parents and base == frame.subject and not frame.metrics:
        # "Appointments with pet and vet": every row has one, so it is shown.
        shown = (*(frame.columns or row_refs(base, work.index)), *parents)
        missed = float(len(unused) - len(parents))
        yield replace(frame, columns=shown), [("parent_shown", 1.0), ("table_unused", missed)]
    if reached:
        existence = tuple(Existence(each.table, via=each.via) for each in reached.values())
        mentioned = ("existence_of_mention", float(len(reached) - len(parents)))
        missed = float(len({each.table for each in unused}) - len(reached))
        features = [mentioned, ("existence_of_parent", float(len(parents))), ("table_unused", missed)]
        yield replace(frame, existence=(*frame.existence, *existence)), features
    yield frame, [("table_unused", float(len(unused)))]


def find_unused(frame: Frame, base: str, work: Work) -> list[Target]:
    """Return the tables that were named and that the frame does not read. With figures the rows of the subject are not
    read unless something refers to them."""
    used = {base, *(ref.table for ref in frame.refs()), *(each.table for each in frame.existence)}
    used |= frame.tables - {frame.subject} if frame.metrics else frame.tables
    return [fact.target for fact in work.facts("entity") if fact.target.table not in used]


# Parallel keys -------------------------------------------------------------------------------------------------------


def key_variants(frame: Frame, work: Work) -> Iterator[tuple[Frame, list[Feature], list[str]]]:
    """Choose among parallel keys by role words; without one each key is a variant."""
    table, keys = find_parallel_keys(frame, work.index)
    if not keys:
        yield frame, [], []
        return
    roles = {work.state.role, *(fact.role for fact in work.state.facts)}
    for key in keys[:MOST_KEYS]:
        owner, _, column = key.rpartition(".")
        is_matched = bool(roles & work.index.column(owner, column).concepts)
        feature = "role_matched" if is_matched else "parallel_guessed"
        yield with_via(frame, table, (key,)), [(feature, 1.0)], [] if is_matched else [key]


def find_parallel_keys(frame: Frame, index: SchemaIndex) -> tuple[str, list[str]]:
    """Return the first table that is reached by one of several keys, and these keys."""
    base = base_table(frame, index)
    outer = [ref.table for ref in frame.refs() if ref.table != base and not ref.via]
    inner = [each.table for each in frame.existence if not each.via and each.on is None]
    found = ((table, index.joins.parallel(base, table)) for table in (*outer, *inner))
    return next(((table, list(map(join_name, keys))) for table, keys in found if keys), ("", []))


def with_via(frame: Frame, table: str, via: tuple[str, ...]) -> Frame:
    moved = map_refs(frame, lambda ref: replace(ref, via=via) if ref.table == table and not ref.via else ref)
    existence = tuple(replace(each, via=via) if each.table == table else each for each in frame.existence)
    return replace(moved, existence=existence)


# Shape ---------------------------------------------------------------------------------------------------------------


def shape_features(frame: Frame, work: Work) -> list[Feature]:
    """Return what speaks for or against a frame, whatever the words were."""
    base = base_table(frame, work.index)
    amounts = ((name, float(measure(frame, base, work))) for name, measure in SHAPES.items())
    return [(name, amount) for name, amount in amounts if amount]


def count_joins(frame: Frame, base: str, work: Work) -> int:
    """Return how many joins the tables need; those for rows that do not count are left out."""
    return sum(len(work.index.joins.path(base, table) or ()) for table in frame.asked.tables)


def shows_label(frame: Frame, base: str, work: Work) -> bool:
    """Whether nothing says what is shown."""
    return not frame.columns and not frame.metrics and not frame.groups


def is_grouped_by_row(frame: Frame, base: str, work: Work) -> bool:
    """Whether the figure is one of each single row, or counts the one row that it belongs to. To rank rows within each
    group takes figures of their own."""
    if frame.within and frame.metrics[0].aggregate in ("min", "max"):
        return False
    info = work.index.tables[base]
    names = ("", *info.label, *info.key) if len(info.key) == 1 else ("",)
    rows = [each.of for each in frame.groups if not each.grain] if frame.metrics else []
    return counts_parents(frame, rows, work.index) or any(ref.table == base and ref.column in names for ref in rows)


def counts_parents(frame: Frame, rows: Sequence[Ref], index: SchemaIndex) -> bool:
    above = [each.of.table for each in frame.metrics if each.aggregate == "count"]
    return any(index.joins.is_below(ref.table, table) for ref in rows if not ref.column for table in above)


def count_fan_outs(frame: Frame, base: str, work: Work) -> int:
    """Return how many tables of a list multiply its rows; in a follow-up, conditions on related rows count too."""
    shown = set() if frame.metrics else {ref.table for ref in frame.columns}
    related = frame.existence if work.last else ()
    return sum(not work.index.joins.belongs(base, table) for table in shown) + len(related)


def repeats_rows(frame: Frame, base: str, work: Work) -> bool:
    """Whether rows are listed once for each row of a table below them, because they are ordered by its column."""
    if frame.metrics or frame.groups or base == frame.subject or frame.limit is None:
        return False
    shown = {ref.table for ref in frame.columns} or {frame.subject}
    return all(work.index.joins.is_below(base, table) for table in shown)


def counts_named_rows(frame: Frame, base: str, work: Work) -> bool:
    """Whether rows are counted that a condition names one by one."""
    own = {Ref(base, name) for name in work.index.tables[base].label}
    is_count = any(metric.aggregate == "count" for metric in frame.metrics[:1])
    return is_count and any(each.of in own and each.op == "=" for each in frame.filters)


def count_single_rows(frame: Frame, base: str, work: Work) -> int:
    """Return how many conditions compare a figure of single rows, not of all those below the subject or of a month
    ("months with sales over 1000")."""
    inner = [each for existence in frame.existence for each in existence.filters]
    inner += frame.filters if work.facts("grain") and not work.named_entities else []
    compared = [each.of for each in inner if each.op[0] in "<>"]
    return sum(bool(ref.expression) or work.index.column_of(ref).role == "measure" for ref in compared)


def count_strays(frame: Frame, base: str, work: Work) -> int:
    """Return how many columns are taken from a table that nobody named, although a named one has the same column. A
    text is a value of some tables only."""
    filters = (*frame.filters, *(inner for each in frame.existence for inner in each.filters))
    places: list[tuple[Ref, set[str]]] = [(each.of, find_owners(each, work)) for each in filters]
    places += [(ref, set(work.index.tables)) for ref in (*frame.shown, *(each.of for each in frame.metrics))]
    named = named_tables(work)
    strays = 0
    for ref, owners in places:
        on_way = {step.source for step in work.index.joins.path(base, ref.table) or ()}
        nearer = on_way if ref.table in named else on_way | named
        strays += has_twin(ref, (nearer & owners) - {ref.table}, work.index)
    return strays


def find_owners(condition: Filter, work: Work) -> set[str]:
    """Return the tables in which the words of a condition are a value; numbers may be in any table."""
    if not condition.is_text:
        return set(work.index.tables)
    links = (link for links in work.linked.links for link in links if link.kind == "value")
    return {link.target.table for link in links if link.value in condition.values}


def sums_prices(frame: Frame, base: str, work: Work) -> bool:
    """Whether what a single piece costs is added up."""
    summed = (work.index.column_of(each.of).words for each in frame.metrics if each.aggregate == "sum")
    return any(TOTALS.isdisjoint(words) and not UNIT_PRICES.isdisjoint(words) for words in summed)


def named_tables(work: Work) -> set[str]:
    """Return the tables that were named themselves, or whose measure was."""
    facts = work.facts("entity", "metric", "superlative", "having", "group", "exists")
    named = {fact.target.table for fact in facts if not fact.target.column or fact.kind == "metric"}
    return named - {fact.target.table for fact in work.facts("metric") if fact.aggregate == "count_distinct"}


def has_twin(ref: Ref, tables: set[str], index: SchemaIndex) -> bool:
    """Whether one of the tables has a column of the same name."""
    words = index.column_of(ref).words
    others = (column.words for table in tables for column in index.tables[table].columns.values())
    return bool(words) and words in others


SHAPES: dict[str, Callable[[Frame, str, Work], float]] = {
    "join": count_joins, "other_owner": count_strays, "default_label": shows_label, "price_summed": sums_prices,
    "single_rows": count_single_rows, "counted_by_name": counts_named_rows,
    "group_by_row": is_grouped_by_row, "fan_out_join": count_fan_outs, "repeated_rows": repeats_rows,
}  # fmt: skip
