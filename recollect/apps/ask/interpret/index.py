"""Schema index: everything about a source that linking and composing look up, built once per source.

`SchemaIndex.build(model, catalog)` is the entry point; callers keep the result as long as catalog and model stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from recollect.apps.ask.interpret import schema_roles
from recollect.apps.ask.interpret.frame import Filter, Ref
from recollect.apps.ask.interpret.joins import JoinGraph, join_name
from recollect.apps.ask.interpret.misspelling import group_known_words
from recollect.apps.ask.interpret.values import ValueIndex
from recollect.apps.ask.semantic import draft
from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType, Table
from recollect.apps.ask.semantic.model import Dimension, Entity, Join, Measure, Moment, SemanticModel
from recollect.apps.ask.words import Phrase, load_concepts, split_name, stem_phrase, stem_word

Role = Literal["none", "key", "foreign", "measure", "dimension", "moment"]
Kind = Literal["entity", "column", "measure"]
NUMERIC = re.compile(r"[+-]?\d+(\.\d+)?")
WEAK = frozenset(("of", "the", "and", "in", "for", "to", "is", "a", "if", "no", "on"))
ROLES = frozenset(("origin", "target"))
FIGURES = frozenset(("income", "money", "units", "price"))  # concepts of columns, never of rows
KEY_WORDS = frozenset(("id", "uid", "key", "code", "pk", "uuid"))
NUMBER_WORDS = KEY_WORDS | {"no", "nr", "num", "number"}
TYPE_WORDS = frozenset(("date", "time", "at", "on", "dt", "timestamp"))  # say what a column holds, not what it means
CONTENT_WORDS = tuple(map(stem_word, ("number", "address", "date", "time")))  # say what a column holds
NAME_WORDS = ("name", "名称", "名字")
VALUE_WORDS = ("value", "size", "total", "amount")
PARTIAL = 0.8  # score up to which a table is only named in part
# How well words for revenue name the best amount, and how much less well those that are rated lower.
SAID, NEXT_SAID, FALL, MIN_SAID, LEAST_SAID, SURE = 0.97, 0.06, 0.6, 0.5, 0.2, 0.5
YES, NO = frozenset(("1", "y", "yes", "true", "t")), frozenset(("0", "n", "no", "false", "f"))


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """`needs_trim` if stray blanks were seen; `is_numeric_text` if numbers are stored as texts."""

    table: str
    name: str
    type: ColumnType
    role: Role
    is_year: bool = False
    needs_trim: bool = False
    is_numeric_text: bool = False
    low: float | None = None
    high: float | None = None
    words: Phrase = ()
    concepts: frozenset[str] = frozenset()
    is_sensitive: bool = False
    yes: tuple[str, ...] = ()  # the values of a flag that mean yes
    sorts_rows: bool = False  # it has a few texts, which say what kind of row it is

    @property
    def is_key(self) -> bool:
        return self.role in ("key", "foreign")

    @property
    def is_number(self) -> bool:
        return self.type in ("integer", "number") or self.is_numeric_text

    @property
    def is_when(self) -> bool:
        return self.role == "moment" or self.is_year or (self.is_number and "year" in self.words)

    def is_near(self, number: float) -> bool:
        """Whether the number is in the range of the column's values, or not far from it."""
        if self.low is None or self.high is None:
            return True
        width = self.high - self.low
        return self.low - width <= number <= self.high + width


NO_COLUMN = ColumnInfo("", "", "other", "none")  # stands for rows, expressions and unknown names


@dataclass(frozen=True, slots=True)
class TableInfo:
    name: str
    title: str
    key: tuple[str, ...]
    label: tuple[str, ...]
    columns: Mapping[str, ColumnInfo]
    moments: tuple[str, ...] = ()  # that may say when a row happened, the main one first

    @property
    def main_moment(self) -> str:
        return self.moments[0] if self.moments else ""


@dataclass(frozen=True, slots=True)
class Target:
    """What a name can mean. `via` is the join whose role the name is ("support rep")."""

    kind: Kind
    table: str
    column: str = ""
    expression: str = ""
    aggregate: str = ""
    via: tuple[str, ...] = ()
    per: str = ""  # the table for each of whose rows the figure is added up: the value of an order with lines


NOWHERE = Target("entity", "")  # stands for a target where nothing was named


@dataclass(slots=True)
class SchemaIndex:
    catalog: Catalog
    model: SemanticModel
    tables: dict[str, TableInfo] = field(default_factory=dict)
    joins: JoinGraph = field(default_factory=JoinGraph)
    values: ValueIndex = field(default_factory=ValueIndex)
    names: dict[Phrase, dict[Target, float]] = field(default_factory=dict)
    joined: dict[str, dict[Target, float]] = field(default_factory=dict)
    by_concept: dict[str, dict[Target, float]] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of names, values and operators, by first letter
    roles: frozenset[str] = frozenset()
    figures: dict[Target, float] = field(default_factory=dict)  # amounts of money, the likeliest revenue first
    people: tuple[str, ...] = ()
    events: tuple[str, ...] = ()  # tables of what happened, those that refer to the most other rows first
    void: dict[str, Filter] = field(default_factory=dict)  # conditions that leave out cancelled rows, by table

    @classmethod
    def build(cls, model: SemanticModel, catalog: Catalog) -> SchemaIndex:
        index = cls(catalog, model, joins=JoinGraph.build(model.joins), values=ValueIndex.build(catalog))
        entities = {entity.table: entity for entity in model.entities}
        for table in catalog.tables:
            index.tables[table.name] = make_table(table, entities.get(table.name), model)
        index.add_names()
        index.words = group_known_words(index.names, index.values)
        index.people = tuple(table for table in index.tables if schema_roles.is_people(table, index))
        refers = Counter(join.table for join in model.joins if join.table in index.tables)
        index.events = tuple(name for name, _ in refers.most_common() if index.tables[name].main_moment)
        for name in index.tables:
            if condition := schema_roles.find_void_rows(name, index):
                index.void[name] = condition
        return index

    @property
    def dialect(self) -> str:
        return self.catalog.dialect

    def column(self, table: str, column: str) -> ColumnInfo:
        """Return what is known about a column; NO_COLUMN for anything else."""
        info = self.tables.get(table)
        return info.columns.get(column, NO_COLUMN) if info else NO_COLUMN

    def column_of(self, place: Target | Ref) -> ColumnInfo:
        return self.column(place.table, place.column)

    def is_measure(self, target: Target) -> bool:
        return target.kind == "measure" or self.column_of(target).role == "measure"

    def worth(self, table: str) -> Target | None:
        """Return the amount of money that a row of the table is worth."""
        return next((target for target in self.figures if target.table == table), None)

    def total_worth(self, table: str) -> Target | None:
        """Return the amount that the rows below a row of the table add up to: an order is worth what its lines are."""
        below = {join.table for join in self.model.joins if join.to == table} - {table}
        best = next((target for target in self.figures if target.table in below), None)
        return replace(best, per=table) if best else None

    def add_figures(self) -> None:
        """Rank the amounts of money. Words for revenue name the best one, and the others less well."""
        rated = [
            (schema_roles.rate_figure(each, self), each)
            for each in self.model.measures
            if each.table in self.tables and not schema_roles.is_factor(each, self)
        ]
        ranked = sorted(((rating, each) for rating, each in rated if rating > 0), key=lambda pair: -pair[0])
        for rating, measure in ranked:
            target, worse = self.named_figure(measure, measure.names[0]), ranked[0][0] - rating
            self.figures[target] = rating
            said = max(
                MIN_SAID, SAID - (NEXT_SAID if worse else 0.0) - FALL * worse - (FALL / 2 if rating < SURE else 0.0)
            )
            if rating >= LEAST_SAID:
                keep_best(self.by_concept.setdefault("income", {}), target, said)

    def quantity_of(self, table: str) -> Target | None:
        """Return how many pieces the rows of a table are about."""
        measures = (each for each in self.model.measures if each.table == table)
        found = (each for each in measures if draft.QUANTITIES & set(split_name(plain_name(each.expression))))
        return next(map(self.figure_target, found), None)

    def named_figure(self, measure: Measure, name: str) -> Target:
        """Return the target of a measure; one that is named like its rows ("sales") is summed, never listed."""
        is_rows = any(each.table == measure.table and name in each.names for each in self.model.entities)
        return measure_target(measure) if is_rows else self.figure_target(measure)

    def best_of_concept(self, concept: str, table: str) -> Target | None:
        """Return the column or measure of the table that fits the concept best."""
        found = self.by_concept.get(concept, {})
        own = [target for target in found if target.table == table and target.kind != "entity"]
        return max(own, key=lambda each: found[each], default=None)

    def add_names(self) -> None:
        for entity in self.model.entities:
            if entity.table in self.tables:
                self.add_entity(entity)
        for target, name, score in self.column_names():
            self.add_name(target, name, score)
            # "Service category" is the category of services.
            self.put((*stem_phrase(self.tables[target.table].title), *stem_phrase(name)), target, score)
            for word in CONTENT_WORDS:  # "phone number", "email address"
                self.put((*stem_phrase(name), word), target, score - 0.05)
        for join in self.model.joins:
            self.add_role(join)
        self.add_figures()
        for info in self.tables.values():
            self.add_value_names(info)
            self.roles |= ROLES & {concept for column in info.columns.values() for concept in column.concepts}
        self.drop_partial_rows()

    def drop_partial_rows(self) -> None:
        """Drop tables that are named in part by the whole name of another one: "invoices" are no invoice lines."""
        for phrase, targets in self.names.items():
            if any(target.kind == "entity" and score >= 1 for target, score in targets.items()):
                kept = {
                    target: score for target, score in targets.items() if target.kind != "entity" or score > PARTIAL
                }
                self.names[phrase] = kept

    def add_value_names(self, info: TableInfo) -> None:
        """Name what a row is worth: the "order value" is the order's own amount, or that of its lines together."""
        target = self.worth(info.name) or self.total_worth(info.name)
        if target is None:
            return
        for word in VALUE_WORDS:
            self.put((*stem_phrase(info.title), stem_word(word)), target, 0.95)

    def add_role(self, join: Join) -> None:
        """Name the table that a key refers to by the role in the key's name ("support rep"), unless that is a table."""
        titles = {stem_phrase(each.title) for each in self.tables.values()}
        for name in join.names if join.to in self.tables else ():
            if stem_phrase(name) not in titles:
                self.add_name(Target("entity", join.to, via=(join_name(join),)), name, 0.8)
                self.add_name(Target("entity", join.to), name, 0.85)

    def add_entity(self, entity: Entity) -> None:
        """Add the names of a table; "customer name" and a bare "name" are its label, both columns of a person's."""
        label = self.tables[entity.table].label
        shown = Target("column", entity.table, label[0] if len(label) == 1 else "")
        owned, bare = {1: (0.95, 0.8), 2: (0.97, 0.95)}.get(len(label), (0.0, 0.0))
        for name in entity.names:
            self.add_name(Target("entity", entity.table), name, 1.0)
            for word in NAME_WORDS if owned else ():
                self.put((*stem_phrase(name), *stem_phrase(word)), shown, owned)
        has_own_name = len(label) == 1 and "name" in split_name(label[0])
        is_single = len(label) == 2 or len(self.tables[entity.table].key) == 1
        if bare and is_single and not has_own_name:
            self.put(("name",), shown, bare)

    def column_names(self) -> Iterator[tuple[Target, str, float]]:
        """Yield every column and measure with each of its names and how well it names them."""
        columns: tuple[Dimension | Moment, ...] = (*self.model.dimensions, *self.model.moments)
        for each in columns:
            for name in each.names:
                yield Target("column", each.table, each.column), name, 1.0 if name == each.names[0] else 0.95
        for measure in self.model.measures:
            for name in measure.names:
                yield self.named_figure(measure, name), name, 1.0 if name == measure.names[0] else 0.95

    def figure_target(self, measure: Measure) -> Target:
        """Return the column of a measure, or its expression if it is more than a column."""
        column = plain_name(measure.expression)
        if self.column(measure.table, column) is NO_COLUMN:
            return measure_target(measure)
        return Target("column", measure.table, column, aggregate=measure.aggregate)

    def add_name(self, target: Target, name: str, score: float) -> None:
        """Add a full name, its parts, its joined spelling and its concepts."""
        words = tuple(word for part in name.split() for word in (split_name(part) if part.isascii() else (part,)))
        stems = stem_phrase(" ".join(words)) or words
        self.put(stems, target, score)
        joined = "".join(words)
        if len(joined) > 3:
            keep_best(self.joined.setdefault(stem_word(joined), {}), target, score - 0.05)
        own = {stem_word(word) for word in draft.table_words(target.table)}
        self.add_whole_concepts(stems, target, score * 0.9, own)
        for start, end in part_spans(len(stems)):
            part = stems[start:end]
            if len(part) < len(stems) and not set(part) <= WEAK:
                self.put(part, target, score * part_score(stems, part, start, own, target.kind))
            self.add_concepts(part, target, score * concept_fit(start, end, len(stems)))

    def add_concepts(self, part: Phrase, target: Target, score: float) -> None:
        for concept in load_concepts().get(part, frozenset()):
            if concept != "income" and (concept not in FIGURES or target.kind != "entity"):
                keep_best(self.by_concept.setdefault(concept, {}), target, score)

    def add_whole_concepts(self, stems: Phrase, target: Target, score: float, own: set[str]) -> None:
        """Add the concepts that all words of a name have, the table's own name aside: `order_total_amount`."""
        words = [load_concepts().get((stem,), frozenset()) for stem in stems if stem not in own]
        for concept in frozenset.intersection(*words) if len(words) > 1 else ():
            if target.kind != "entity" and concept != "income":
                keep_best(self.by_concept.setdefault(concept, {}), target, score)

    def put(self, phrase: Phrase, target: Target, score: float) -> None:
        keep_best(self.names.setdefault(phrase, {}), target, score)


def keep_best(found: dict[Target, float], target: Target, score: float) -> None:
    found[target] = max(found.get(target, 0.0), score)


def part_spans(length: int) -> Iterator[tuple[int, int]]:
    return ((start, end) for start in range(length) for end in range(start + 1, length + 1))


def measure_target(measure: Measure) -> Target:
    return Target("measure", measure.table, "", measure.expression, measure.aggregate)


def concept_fit(start: int, end: int, length: int) -> float:
    """Return how well a concept of part of a name fits the name: best as the whole, then as its last word."""
    if (start, end) == (0, length):
        return 0.9
    return 0.7 if end == length else 0.6


def part_score(stems: Phrase, part: Phrase, start: int, own: set[str], kind: Kind) -> float:
    """Return how well a part of a name stands for the whole: best when only the table's own name is missing."""
    end, is_own = start + len(part), own.issuperset(part)
    missing = {*stems[:start], *stems[end:]} - WEAK
    if is_own and kind == "column" and set(stems) - set(part) <= NUMBER_WORDS:
        return 0.4  # "bill" is the row, not its number
    if not missing:
        return 0.95
    if missing <= own and kind != "entity":
        return 0.92
    if missing <= TYPE_WORDS and not is_own:
        return 0.9
    if missing <= KEY_WORDS:
        return 0.5
    return 0.45 + 0.35 * len(part) / (len(part) + len(missing)) + 0.08 * (end == len(stems))


def make_table(table: Table, entity: Entity | None, model: SemanticModel) -> TableInfo:
    entity = entity or Entity(table.name, (" ".join(draft.table_words(table.name)),))
    key, roles = entity.key or draft.find_key(table), find_roles(table, model)
    if len(key) == 1:
        roles[key[0]] = "key"  # whatever else it is
    columns = {each.name: make_column(table.name, each, roles.get(each.name, "dimension")) for each in table.columns}
    moments = sorted((each for each in model.moments if each.table == table.name), key=lambda each: not each.is_main)
    named, listed = [each.column for each in moments], draft.list_moments(table)
    usable = [each.column for each in moments if each.is_main or each.column in listed]
    return TableInfo(table.name, entity.names[0], key, entity.label, columns, tuple(usable or named[:1]))


def find_roles(table: Table, model: SemanticModel) -> dict[str, Role]:
    """Return the roles of the columns that are no dimensions."""
    foreign = [name for join in model.joins if join.table == table.name for name in join.columns]
    measures = [plain_name(each.expression) for each in model.measures if each.table == table.name]
    moments = [each.column for each in model.moments if each.table == table.name]
    roles: dict[str, Role] = dict.fromkeys(measures, "measure")
    roles |= dict.fromkeys([*moments, *(each.name for each in filter(draft.is_moment, table.columns))], "moment")
    return roles | dict.fromkeys(foreign, "foreign")


def plain_name(expression: str) -> str:
    """Return a quoted column name without its quotes."""
    return expression.strip('"').replace('""', '"')


def make_column(table: str, column: Column, role: Role) -> ColumnInfo:
    words = tuple(stem_word(word) for word in split_name(column.name))
    known = load_concepts()
    concepts = frozenset(each for word in words for each in known.get((word,), ()))
    texts = column.values if column.type == "text" else ()
    return ColumnInfo(
        table, column.name, column.type, role, draft.is_year(column),
        any(each != each.strip() for each in texts),
        bool(texts) and all(NUMERIC.fullmatch(each.strip()) for each in texts),
        to_number(column.low), to_number(column.high), words, concepts, column.is_sensitive, find_yes(column),
        schema_roles.sorts_rows(column),
    )  # fmt: skip


def find_yes(column: Column) -> tuple[str, ...]:
    """Return the values of a flag that mean yes; none if the column is no flag."""
    if column.type == "boolean" or (column.type, column.low, column.high) == ("integer", "0", "1"):
        return ("1",)
    if not column.is_complete or len(column.values) < 2:
        return ()
    is_flag = {value.strip().casefold() for value in column.values} <= YES | NO
    return tuple(value for value in column.values if is_flag and value.strip().casefold() in YES)


def to_number(text: str | None) -> float | None:
    return float(text) if text and NUMERIC.fullmatch(text) else None
