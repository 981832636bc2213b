"""Variants of a frame: alternatives of values, parallel keys, tables that were only named; and its shape features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from recollect.apps.ask.interpret.frame import Existence, Filter, Frame, Op, Ref
from recollect.apps.ask.interpret.index import SchemaIndex
from recollect.apps.ask.interpret.joins import is_many_to_one, join_name
from recollect.apps.ask.interpret.rank import Feature
from recollect.apps.ask.interpret.render import base_table
from recollect.apps.ask.interpret.work import Work

Variant = tuple[Frame, list[Feature]]
POSITIVE: dict[str, Op] = {"!=": "=", "not in": "in", "not contains": "contains"}
MOST_KEYS = 3


def spread(frame: Frame, work: Work) -> Iterator[tuple[Frame, list[Feature], list[str]]]:
    """Yield the variants of a frame, each with its features and guesses."""
    for values, features in value_variants(frame, work):
        placed = place_conditions(values, work.index)
        for mentioned, more in mention_variants(placed, work):
            for final, extra, guesses in key_variants(mentioned, work):
                yield final, [*features, *more, *extra, *shape_features(final, work)], guesses


def value_variants(frame: Frame, work: Work) -> Iterator[Variant]:
    """Several values of one column are alternatives, or each must be met by a row ("both")."""
    is_either = any(fact.junction == "or" for _, fact in work.filters)
    repeated = [each.of for n, each in enumerate(frame.filters) if each.of in {f.of for f in frame.filters[:n]}]
    if not repeated:
        yield (replace(frame, filters=join_alternatives(frame.filters, work)) if is_either else frame), []
        return
    merged = merge_by_column(frame.filters)
    yield replace(frame, filters=merged), [("contradiction", 1.0)] if is_contradiction(merged) else []
    found = [each for each in frame.filters if each.of == repeated[0]]
    if len(found) == 2 and not is_either and not frame.metrics:
        is_asked = bool(work.facts("both")) or is_contradiction(found)
        yield split_both(frame, repeated[0], found), [("both_matched" if is_asked else "both_unasked", 1.0)]


def is_contradiction(filters: Sequence[Filter]) -> bool:
    """Whether no row can meet all of them: below one number and above a higher one."""
    numbers = [each for each in filters if each.values and not each.is_text]
    lows = [(each.of, float(each.values[0])) for each in numbers if each.op in (">", ">=")]
    highs = [(each.of, float(each.values[0])) for each in numbers if each.op in ("<", "<=")]
    return any(low[0] == high[0] and low[1] >= high[1] for low in lows for high in highs)


def join_alternatives(filters: tuple[Filter, ...], work: Work) -> tuple[Filter, ...]:
    """Conditions on different columns that "or" connects are alternatives."""
    pairs = zip(work.filters, work.filters[1:], strict=False)
    either = {each for (before, _), (after, fact) in pairs if fact.junction == "or" for each in (before, after)}
    return tuple(replace(each, either=1) if each in either and len(either) > 1 else each for each in filters)


def merge_by_column(filters: Sequence[Filter]) -> tuple[Filter, ...]:
    """Join equalities of one column into a list of values; the same for inequalities."""
    groups: dict[tuple[object, ...], list[Filter]] = {}
    for n, each in enumerate(filters):
        key = (each.of, each.op, each.is_text) if each.op in ("=", "!=") else (n,)
        groups.setdefault(key, []).append(each)
    return tuple(map(merge_values, groups.values()))


def merge_values(filters: Sequence[Filter]) -> Filter:
    values = tuple(dict.fromkeys(value for each in filters for value in each.values))
    if len(filters) == 1 or len(values) == 1:
        return filters[0]
    return replace(filters[0], op="in" if filters[0].op == "=" else "not in", values=values)


def split_both(frame: Frame, ref: Ref, found: Sequence[Filter]) -> Frame:
    """Each condition is met by a row of its own: two existence conditions."""
    shown = [each for each in frame.columns if each.column][:1]
    on = shown[0] if shown and shown[0].table == ref.table else None
    split = [Existence(ref.table, each.op == "!=", (make_positive(each),), on=on) for each in found]
    rest = tuple(each for each in frame.filters if each.of != ref)
    return replace(frame, filters=rest, existence=(*frame.existence, *split), is_distinct=True)


def make_positive(each: Filter) -> Filter:
    return replace(each, op=POSITIVE.get(each.op, each.op))


def place_conditions(frame: Frame, index: SchemaIndex) -> Frame:
    """Move conditions on rows of the many side into existence conditions of that table, one per table."""
    base = base_table(frame, index)
    existence = list(frame.existence)
    for each in frame.filters:
        if is_direct(index, base, each.of, frame):
            continue
        inner = Existence(each.of.table, filters=(replace(each, either=0),))
        if each.op in POSITIVE and not each.either:
            existence.append(Existence(each.of.table, True, (make_positive(each),)))
        else:
            join_existence(existence, index, base, inner)
    for period in frame.periods:
        if not is_direct(index, base, period.of, frame):
            join_existence(existence, index, base, Existence(period.of.table, periods=(period,)))
    filters = tuple(each for each in frame.filters if is_direct(index, base, each.of, frame))
    periods = tuple(each for each in frame.periods if is_direct(index, base, each.of, frame))
    return replace(frame, filters=filters, periods=periods, existence=tuple(existence))


def is_direct(index: SchemaIndex, base: str, ref: Ref, frame: Frame) -> bool:
    """Whether a condition on the column concerns one row for each row of the base, or rows that are shown."""
    path = index.joins.path(base, ref.table, ref.via)
    shown = {each.table for each in (*frame.columns, *(group.of for group in frame.groups))}
    return path is None or is_many_to_one(path) or ref.table in shown


def join_existence(existence: list[Existence], index: SchemaIndex, base: str, new: Existence) -> None:
    """Add conditions to the existence condition on the same rows, or a new one."""
    on_way = {step.target for step in index.joins.path(base, new.table) or ()}
    for n, each in enumerate(existence):
        inner = index.joins.path(each.table, new.table)
        is_related = each.table in on_way or (inner is not None and is_many_to_one(inner))
        is_filtered = {f.of for f in each.filters} & {f.of for f in new.filters}
        if is_related and each.on is None and not is_filtered:
            existence[n] = replace(each, filters=each.filters + new.filters, periods=each.periods + new.periods)
            return
    existence.append(new)


def mention_variants(frame: Frame, work: Work) -> Iterator[Variant]:
    """A table that was named but not used: rows must exist in it, or it was named in passing."""
    # With figures the rows of the subject are not read unless something refers to them.
    refs = frozenset((base_table(frame, work.index), *(ref.table for ref in frame.refs())))
    used = (frame.tables - {frame.subject}) | refs if frame.metrics else frame.tables
    entities = [fact.target for fact in work.facts("entity") if fact.target.table not in used]
    if not entities:
        yield frame, []
        return
    base = base_table(frame, work.index)
    existence: list[Existence] = []
    features: list[Feature] = []
    for target in {each.table: each for each in entities}.values():
        path = work.index.joins.path(base, target.table, target.via)
        if path:
            existence.append(Existence(target.table, via=target.via))
            features.append(("existence_of_parent" if is_many_to_one(path) else "existence_of_mention", 1.0))
        else:
            features.append(("table_unused", 1.0))
    if existence:
        yield replace(frame, existence=(*frame.existence, *existence)), features
    yield frame, [("table_unused", float(len(entities)))]


def key_variants(frame: Frame, work: Work) -> Iterator[tuple[Frame, list[Feature], list[str]]]:
    """Choose among parallel keys by role words; without one each key is a variant."""
    table, keys = find_parallel_keys(frame, work.index)
    if not keys:
        yield frame, [], []
        return
    roles = {work.state.role, *(fact.role for fact in work.state.facts)}
    matched = {key for key in keys if roles & key_concepts(key, work.index)}
    for key in keys[:MOST_KEYS]:
        feature = "role_matched" if key in matched else "parallel_guessed"
        yield with_via(frame, table, (key,)), [(feature, 1.0)], [] if key in matched else [key]


def find_parallel_keys(frame: Frame, index: SchemaIndex) -> tuple[str, list[str]]:
    """Return the first table that is reached by one of several keys, and these keys."""
    base = base_table(frame, index)
    outer = [ref.table for ref in frame.refs() if ref.table != base and not ref.via]
    inner = [each.table for each in frame.existence if not each.via and each.on is None]
    for table in (*outer, *inner):
        keys = index.joins.parallel(base, table)
        if keys:
            return table, list(map(join_name, keys))
    return "", []


def key_concepts(key: str, index: SchemaIndex) -> frozenset[str]:
    owner, _, column = key.rpartition(".")
    return index.column(owner, column).concepts


def with_via(frame: Frame, table: str, via: tuple[str, ...]) -> Frame:
    def move(ref: Ref) -> Ref:
        return replace(ref, via=via) if ref.table == table and not ref.via else ref

    return replace(
        frame,
        groups=tuple(replace(each, of=move(each.of)) for each in frame.groups),
        columns=tuple(map(move, frame.columns)),
        filters=tuple(replace(each, of=move(each.of)) for each in frame.filters),
        periods=tuple(replace(each, of=move(each.of)) for each in frame.periods),
        existence=tuple(replace(each, via=via) if each.table == table else each for each in frame.existence),
        order=tuple(replace(each, of=move(each.of)) if each.of else each for each in frame.order),
    )


def shape_features(frame: Frame, work: Work) -> list[Feature]:
    """Return what speaks for or against a frame, whatever the words were."""
    index, base = work.index, base_table(frame, work.index)
    paths = [index.joins.path(base, table) or () for table in frame.tables - {base}]
    made: list[Feature] = [("join", float(sum(map(len, paths)))), ("other_owner", float(count_strays(frame, work)))]
    if not frame.columns and not frame.metrics and not frame.groups:
        made.append(("default_label", 1.0))
        made.append(("no_label", float(not index.tables[frame.subject].label)))
    rows = {group.of.table for group in frame.groups if not group.of.column}
    made.append(("group_by_row", float(any(metric.of.table in rows for metric in frame.metrics[:1]))))
    made.append(("fan_out_join", float(count_fan_outs(frame, base, index))))
    made.append(("repeated_rows", float(repeats_rows(frame, base, index))))
    equal = {each.of for each in frame.filters if each.op == "="}
    made.append(("shown_and_filtered", float(len(equal & set(frame.columns)))))
    return [(name, amount) for name, amount in made if amount]


def count_fan_outs(frame: Frame, base: str, index: SchemaIndex) -> int:
    """Return how many tables of a list multiply its rows."""
    shown = set() if frame.metrics else {ref.table for ref in frame.columns}
    return sum(not is_many_to_one(index.joins.path(base, table) or ()) for table in shown)


def repeats_rows(frame: Frame, base: str, index: SchemaIndex) -> bool:
    """Whether rows are listed once for each row of a table below them, because they are ordered by its column."""
    if frame.metrics or frame.groups or base == frame.subject or frame.limit is None:
        return False
    shown = {ref.table for ref in frame.columns} or {frame.subject}
    return all(table != base and is_many_to_one(index.joins.path(base, table) or ()) for table in shown)


def count_strays(frame: Frame, work: Work) -> int:
    """Return how many columns are taken from a table that nobody named, although a named one has the same column."""
    named = named_tables(work)
    base = base_table(frame, work.index)
    refs = (*frame.columns, *(group.of for group in frame.groups), *(metric.of for metric in frame.metrics))
    strays = 0
    for ref in refs:
        on_way = {step.source for step in work.index.joins.path(base, ref.table) or ()}
        nearer = on_way if ref.table in named else on_way | named
        strays += has_twin(ref, nearer - {ref.table}, work.index)
    return strays


def named_tables(work: Work) -> set[str]:
    """Return the tables that were named themselves, or whose measure was."""
    facts = work.facts("entity", "metric", "superlative", "having", "group", "exists")
    named = {fact.target.table for fact in facts if not fact.target.column or fact.kind == "metric"}
    return named - {fact.target.table for fact in work.facts("metric") if fact.aggregate == "count_distinct"}


def has_twin(ref: Ref, tables: Iterable[str], index: SchemaIndex) -> bool:
    """Whether one of the tables has a column of the same name."""
    words = index.column_of(ref).words
    return any(words == column.words for table in tables for column in index.tables[table].columns.values() if words)
