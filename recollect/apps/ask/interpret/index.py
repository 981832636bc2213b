"""Schema index: everything about a source that linking and composing look up, built once per source.

`SchemaIndex.build(model, catalog)` is the entry point; callers keep the result as long as catalog and model stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from recollect.apps.ask.interpret.joins import JoinGraph, join_name
from recollect.apps.ask.interpret.values import ValueIndex
from recollect.apps.ask.interpret.words import Phrase, load_concepts, split_name, stem_phrase, stem_word
from recollect.apps.ask.semantic import draft  # a module, because draft imports words from this package
from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType, Table
from recollect.apps.ask.semantic.model import Entity, Join, SemanticModel

Role = Literal["key", "foreign", "measure", "dimension", "moment"]
Kind = Literal["entity", "column", "measure"]
NUMERIC = re.compile(r"[+-]?\d+(\.\d+)?")
WEAK = frozenset(("of", "the", "and", "in", "for", "to", "is", "a", "if", "no", "on"))
ROLES = frozenset(("origin", "target"))
FIGURES = frozenset(("money", "units", "price"))  # concepts of columns, never of rows
KEY_WORDS = frozenset(("id", "uid", "key", "code", "pk", "uuid"))
NAME_WORDS = ("name", "名称", "名字")


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

    @property
    def is_key(self) -> bool:
        return self.role in ("key", "foreign")

    def is_near(self, number: float) -> bool:
        """Whether the number is in the range of the column's values, or not far from it."""
        if self.low is None or self.high is None:
            return True
        width = self.high - self.low
        return self.low - width <= number <= self.high + width

    @property
    def is_number(self) -> bool:
        return self.type in ("integer", "number") or self.is_numeric_text


@dataclass(frozen=True, slots=True)
class TableInfo:
    name: str
    title: str
    key: tuple[str, ...]
    label: tuple[str, ...]
    columns: Mapping[str, ColumnInfo]
    main_moment: str = ""

    @property
    def moments(self) -> int:
        return sum(column.role == "moment" for column in self.columns.values())


@dataclass(frozen=True, slots=True)
class Target:
    """What a name can mean. `via` is the join whose role the name is ("support rep")."""

    kind: Kind
    table: str
    column: str = ""
    expression: str = ""
    aggregate: str = ""
    via: tuple[str, ...] = ()


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
    roles: frozenset[str] = frozenset()

    @classmethod
    def build(cls, model: SemanticModel, catalog: Catalog) -> SchemaIndex:
        index = cls(catalog, model, joins=JoinGraph.build(model.joins), values=ValueIndex.build(catalog))
        entities = {entity.table: entity for entity in model.entities}
        for table in catalog.tables:
            index.tables[table.name] = make_table(table, entities.get(table.name), model)
        index.add_names()
        return index

    @property
    def dialect(self) -> str:
        return self.catalog.dialect

    def column(self, table: str, column: str) -> ColumnInfo | None:
        info = self.tables.get(table)
        return info.columns.get(column) if info else None

    def best_of_concept(self, concept: str, table: str) -> Target | None:
        """Return the column or measure of the table that fits the concept best."""
        found = self.by_concept.get(concept, {})
        own = [target for target in found if target.table == table and target.kind != "entity"]
        return max(own, key=lambda each: found[each], default=None)

    def add_names(self) -> None:
        for entity in self.model.entities:
            if entity.table in self.tables:
                self.add_entity(entity)
        for target, name, is_first in self.column_targets():
            self.add_name(target, name, 1.0 if is_first else 0.95)
        for join in self.model.joins:
            self.add_role(join)
        columns = (column for info in self.tables.values() for column in info.columns.values())
        self.roles = ROLES.intersection(concept for column in columns for concept in column.concepts)

    def add_role(self, join: Join) -> None:
        """Name the table that a key refers to by the role in the key's name ("support rep"), unless that is a table."""
        titles = {stem_phrase(each.title) for each in self.tables.values()}
        for name in join.names:
            if join.to in self.tables and stem_phrase(name) not in titles:
                self.add_name(Target("entity", join.to, via=(join_name(join),)), name, 0.8)
                self.add_name(Target("entity", join.to), name, 0.85)

    def add_entity(self, entity: Entity) -> None:
        info = self.tables[entity.table]
        target = Target("entity", entity.table)
        for name in entity.names:
            self.add_name(target, name, 1.0)
            if len(info.label) == 1:
                shown = Target("column", entity.table, info.label[0])
                for word in NAME_WORDS:
                    self.put((*stem_phrase(name), *stem_phrase(word)), shown, 0.95)
        if len(info.label) == 2:
            # A person has two names; both are shown.
            shown = Target("column", entity.table, "")
            self.put(("name",), shown, 0.95)
            for name in entity.names:
                self.put((*stem_phrase(name), "name"), shown, 0.97)
        if len(info.label) == 1 and len(info.key) == 1:
            shown = Target("column", entity.table, info.label[0])
            if "name" not in split_name(info.label[0]):
                self.put(("name",), shown, 0.8)

    def column_targets(self) -> Iterator[tuple[Target, str, bool]]:
        """Yield every column and measure with each of its names."""
        for dimension in self.model.dimensions:
            for n, name in enumerate(dimension.names):
                yield self.column_target(dimension.table, dimension.column), name, n == 0
        for moment in self.model.moments:
            for n, name in enumerate(moment.names):
                yield self.column_target(moment.table, moment.column), name, n == 0
        for measure in self.model.measures:
            column = plain_name(measure.expression)
            is_plain = self.column(measure.table, column) is not None
            rows = {name for each in self.model.entities if each.table == measure.table for name in each.names}
            for n, name in enumerate(measure.names):
                # A figure that is named like its rows ("sales") is summed, never listed.
                if is_plain and name not in rows:
                    yield Target("column", measure.table, column, aggregate=measure.aggregate), name, n == 0
                else:
                    target = Target("measure", measure.table, "", measure.expression, measure.aggregate)
                    yield target, name, n == 0

    def column_target(self, table: str, column: str) -> Target:
        return Target("column", table, column)

    def add_name(self, target: Target, name: str, score: float) -> None:
        """Add a full name, its parts, its joined spelling and its concepts."""
        words = tuple(word for part in name.split() for word in (split_name(part) if part.isascii() else (part,)))
        stems = stem_phrase(" ".join(words)) or words
        self.put(stems, target, score)
        self.put_joined("".join(words), target, score - 0.05)
        own = {stem_word(word) for word in draft.table_words(target.table)}
        for start in range(len(stems)):
            for end in range(start + 1, len(stems) + 1):
                part = stems[start:end]
                if len(part) < len(stems) and not set(part) <= WEAK:
                    self.put(part, target, score * part_score(stems, part, start, own, target.kind))
        self.add_concepts(target, stems, score)

    def add_concepts(self, target: Target, stems: Phrase, score: float) -> None:
        known = load_concepts()
        for start in range(len(stems)):
            for end in range(start + 1, len(stems) + 1):
                for concept in known.get(stems[start:end], frozenset()) - (
                    FIGURES if target.kind == "entity" else set()
                ):
                    whole = end - start == len(stems)
                    found = self.by_concept.setdefault(concept, {})
                    found[target] = max(found.get(target, 0.0), score * (0.8 if whole else 0.65))

    def put(self, phrase: Phrase, target: Target, score: float) -> None:
        found = self.names.setdefault(phrase, {})
        found[target] = max(found.get(target, 0.0), score)

    def put_joined(self, text: str, target: Target, score: float) -> None:
        if len(text) > 3:
            found = self.joined.setdefault(stem_word(text), {})
            found[target] = max(found.get(target, 0.0), score)


def part_score(stems: Phrase, part: Phrase, start: int, own: set[str], kind: Kind) -> float:
    """Return how well a part of a name stands for the whole: best when only the table's own name is missing."""
    missing = [each for n, each in enumerate(stems) if not start <= n < start + len(part) and each not in WEAK]
    if kind != "entity" and missing and set(missing) <= own:
        return 0.92
    if missing and set(missing) <= KEY_WORDS:
        return 0.5  # "genre" is the genre, not its id
    has_head = start + len(part) == len(stems)
    return 0.45 + 0.35 * len(part) / (len(part) + len(missing)) + (0.08 if has_head else 0.0)


def make_table(table: Table, entity: Entity | None, model: SemanticModel) -> TableInfo:
    entity = entity or Entity(table.name, (" ".join(draft.table_words(table.name)),))
    key = entity.key or draft.find_key(table)
    foreign = {name for join in model.joins if join.table == table.name for name in join.columns}
    measures = {plain_name(each.expression) for each in model.measures if each.table == table.name}
    moments = sorted((each for each in model.moments if each.table == table.name), key=lambda each: not each.is_main)
    dated = {each.column for each in moments}
    roles = {column.name: column_role(column, key, foreign, measures, dated) for column in table.columns}
    columns = {column.name: make_column(table.name, column, roles[column.name]) for column in table.columns}
    return TableInfo(table.name, entity.names[0], key, entity.label, columns, moments[0].column if moments else "")


def plain_name(expression: str) -> str:
    """Return a quoted column name without its quotes."""
    return expression.strip('"').replace('""', '"')


def column_role(column: Column, key: tuple[str, ...], foreign: set[str], measures: set[str], moments: set[str]) -> Role:
    if (column.name,) == key:
        return "key"
    if column.name in foreign:
        return "foreign"
    if column.name in moments or draft.is_moment(column):
        return "moment"
    return "measure" if column.name in measures else "dimension"


def make_column(table: str, column: Column, role: Role) -> ColumnInfo:
    words = tuple(stem_word(word) for word in split_name(column.name))
    known = load_concepts()
    concepts = frozenset(each for word in words for each in known.get((word,), ()))
    texts = column.values if column.type == "text" else ()
    return ColumnInfo(
        table, column.name, column.type, role, draft.is_year(column),
        any(each != each.strip() for each in texts),
        bool(texts) and all(NUMERIC.fullmatch(each.strip()) for each in texts),
        to_number(column.low), to_number(column.high), words, concepts,
    )  # fmt: skip


def to_number(text: str | None) -> float | None:
    return float(text) if text and NUMERIC.fullmatch(text) else None
