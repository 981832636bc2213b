"""The semantic model as a file: YAML, JSON or a mapping in, a SemanticModel out (`read_model`), and back.

    tables:
      orders:
        names: order, purchase              # what people call a row; a table without names only joins others
        key: id
        label: number
        dimensions: {status: {names: status, type: text}}
        measures: [{expression: total, names: "revenue, sales", aggregate: sum}]
        moments: {placed_at: {names: "order date, placed", type: datetime, main: true}}
        joins: [{columns: customer_id, to: customers, to_columns: id, names: buyer}]
        definitions: [{names: open, condition: "status <> 'paid'", meaning: not paid yet}]

Several names, keys or columns are a list, or one text with commas; a dimension or moment that is a text or a list is
its names. An error names the place in the file. With a catalog, tables, columns and the SQL in the file are checked
against it and take its spelling. Expressions and conditions use the columns of one row: no subquery, no aggregate, no
second statement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from recollect.apps.ask.semantic.catalog import Catalog, ColumnType, Table
from recollect.apps.ask.semantic.model import (
    Aggregate,
    Definition,
    Dimension,
    Entity,
    Join,
    Measure,
    Moment,
    SemanticModel,
)
from recollect.errors import InvalidInput
from recollect.values.term_file import read_yaml, write_yaml

ROOT = "model"
TABLES = f"{ROOT}.tables"
MAX_CHARS = 5_000_000
MAX_TEXT = 2_000
MAX_NAMES = 100
ENTITY_KEYS = ("names", "key", "label", "description")
# The keys of each part of a table, in the order they are written. Parts that have a column are written by its name.
PART_KEYS: Mapping[str, tuple[str, ...]] = {
    "dimensions": ("column", "names", "type", "description"),
    "measures": ("expression", "names", "aggregate", "description"),
    "moments": ("column", "names", "type", "main"),
    "joins": ("columns", "to", "to_columns", "names"),
    "definitions": ("names", "condition", "confidence", "meaning", "source"),
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping in the file with its place, for errors, and its key, if it is in a mapping itself."""

    place: str
    data: Mapping[str, Any]
    table: str
    key: str = ""

    def refuse(self, key: str, reason: str) -> InvalidInput:
        return InvalidInput(f"{self.place}.{key}", reason)

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.data:
            if key not in known:
                near = get_close_matches(str(key), known, 1, 0.7)
                hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
                raise self.refuse(key, f"is not known here{hint}")

    def text(self, key: str) -> str:
        return read_text(f"{self.place}.{key}", self.data.get(key))

    def require(self, key: str) -> str:
        if not (found := self.text(key)):
            raise self.refuse(key, "is missing")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, or the parts of one text with commas."""
        given, place = self.data.get(key), f"{self.place}.{key}"
        if isinstance(given, list | tuple):
            return tuple(read_text(f"{place}[{n}]", each) for n, each in enumerate(given))
        return tuple(part for each in read_text(place, given).split(",") if (part := each.strip()))

    def names(self, default: str = "", *, is_required: bool = True) -> tuple[str, ...]:
        """Return the names in lower case with single spaces, each once."""
        given = self.texts("names") or (default,)
        found = tuple(dict.fromkeys(name for each in given if (name := " ".join(each.lower().split()))))
        if is_required and not found:
            raise self.refuse("names", "say at least one name that people use")
        if len(found) > MAX_NAMES:
            raise self.refuse("names", f"{len(found)} names; at most {MAX_NAMES}")
        return found

    def choose(self, key: str, among: Sequence[Any], default: Any) -> Any:
        given = self.data.get(key)
        if given is not None and given not in among:
            raise self.refuse(key, f"{given!r} is not one of {', '.join(among)}")
        return given or default


def read_text(place: str, given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Mapping | list | tuple):
        raise InvalidInput(place, "is not a text")
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text) > MAX_TEXT:
        raise InvalidInput(place, f"{len(text):,} characters; at most {MAX_TEXT:,}")
    return text.strip()


def read_mapping(place: str, given: object) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(place, "is not a mapping")
    return given or {}


# Reading --------------------------------------------------------------------------------------------------------------


def read_model(source: str | Mapping[str, Any], catalog: Catalog | None = None) -> SemanticModel:
    """Return the model of a file's text, or of its parsed content; checked if the catalog is given."""
    given = read_mapping(ROOT, _parse_source(source))
    Section(ROOT, given, "").check_keys(("tables",))
    tables = []
    for name, body in read_mapping(TABLES, given.get("tables")).items():
        tables.append(Section(f"{TABLES}.{name}", read_mapping(f"{TABLES}.{name}", body), name))
        tables[-1].check_keys((*ENTITY_KEYS, *PART_KEYS))
    model = SemanticModel(
        entities=tuple(_read_entity(table) for table in tables if table.data.get("names") is not None),
        dimensions=_read_parts(tables, "dimensions", _read_dimension),
        measures=_read_parts(tables, "measures", _read_measure),
        moments=_read_parts(tables, "moments", _read_moment),
        joins=_read_parts(tables, "joins", _read_join),
        definitions=_read_parts(tables, "definitions", _read_definition),
    )
    return check_model(model, catalog) if catalog else model


def _parse_source(source: str | Mapping[str, Any]) -> Any:
    if isinstance(source, Mapping):
        return source
    if len(source) > MAX_CHARS:
        raise InvalidInput(ROOT, f"{len(source):,} characters; at most {MAX_CHARS:,}")
    if not source.lstrip("\ufeff \t\r\n").startswith("{"):
        return read_yaml(ROOT, source)
    try:
        return json.loads(source.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"begins like JSON but is not: {error}") from None


def _read_parts(tables: Sequence[Section], part: str, read: Callable[[Section], T]) -> tuple[T, ...]:
    found = []
    for section in (section for table in tables for section in _list_sections(table, part)):
        section.check_keys(PART_KEYS[part])
        found.append(read(section))
    return tuple(found)


def _list_sections(table: Section, part: str) -> Iterator[Section]:
    given, place = table.data.get(part), f"{table.place}.{part}"
    if isinstance(given, Mapping):
        for name, body in given.items():
            inner = body if isinstance(body, Mapping) else {"names": body}
            yield Section(f"{place}.{name}", inner, table.table, str(name))
    elif isinstance(given, list | tuple):
        for n, body in enumerate(given):
            yield Section(f"{place}[{n}]", read_mapping(f"{place}[{n}]", body), table.table)
    elif given is not None:
        raise InvalidInput(place, "is neither a mapping nor a list")


def _read_entity(given: Section) -> Entity:
    return Entity(given.table, given.names(), given.texts("key"), given.texts("label"), given.text("description"))


def _read_dimension(given: Section) -> Dimension:
    kind = given.choose("type", get_args(ColumnType), "text")
    return Dimension(given.table, given.key or given.require("column"), given.names(), kind, given.text("description"))


def _read_measure(given: Section) -> Measure:
    """Read a measure. In a mapping, the key is the expression or, if that is given, the first name."""
    aggregate = given.choose("aggregate", get_args(Aggregate), "sum")
    is_named = bool(given.key) and given.data.get("expression") is None
    expression = given.key if is_named else given.require("expression")
    return Measure(given.table, expression, given.names(given.key), aggregate, given.text("description"))


def _read_moment(given: Section) -> Moment:
    kind = given.choose("type", ("date", "datetime"), "date")
    main = given.data.get("main", False)
    if not isinstance(main, bool):
        raise given.refuse("main", "is neither true nor false")
    return Moment(given.table, given.key or given.require("column"), given.names(), kind, main)


def _read_join(given: Section) -> Join:
    """Read a join. In a mapping, the key is the column."""
    columns = given.texts("columns") or tuple(filter(None, [given.key]))
    to_columns = given.texts("to_columns")
    if not columns or len(columns) != len(to_columns):
        raise InvalidInput(given.place, "needs as many columns as to_columns, at least one")
    return Join(given.table, columns, given.require("to"), to_columns, given.names(is_required=False))


def _read_definition(given: Section) -> Definition:
    confidence = given.data.get("confidence", 0.8)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise given.refuse("confidence", f"{confidence!r} is not a number from 0 to 1")
    return Definition(
        given.names(given.key),
        given.table,
        given.require("condition"),
        given.text("source") or "ontology",
        float(confidence),
        given.text("meaning"),
    )


# Checking -------------------------------------------------------------------------------------------------------------


def check_model(model: SemanticModel, catalog: Catalog) -> SemanticModel:
    """Return the model with names as the catalog spells them, or raise an InvalidInput for what is not there."""
    return SemanticModel(
        entities=tuple(_check_columns(catalog, each, "", "key", "label") for each in model.entities),
        dimensions=tuple(_check_columns(catalog, each, f"dimensions.{each.column}") for each in model.dimensions),
        measures=tuple(_check_sql(catalog, each, "measures", each.expression) for each in model.measures),
        moments=tuple(_check_columns(catalog, each, f"moments.{each.column}") for each in model.moments),
        joins=tuple(_check_join(catalog, each) for each in model.joins),
        definitions=tuple(_check_sql(catalog, each, "definitions", each.condition) for each in model.definitions),
    )


def _check_columns(catalog: Catalog, each: Any, part: str, *lists: str) -> Any:
    """Check the column of a part, or its lists of columns."""
    place = f"{TABLES}.{each.table}"
    table = _find_table(catalog, place, each.table)
    if part:
        return replace(each, table=table.name, column=_find_column(table, f"{place}.{part}", each.column))
    found = {name: _find_columns(table, f"{place}.{name}", getattr(each, name)) for name in lists}
    return replace(each, table=table.name, **found)


def _check_join(catalog: Catalog, each: Join) -> Join:
    place = f"{TABLES}.{each.table}.joins"
    made: Join = _check_columns(catalog, each, "", "columns")
    other = _find_table(catalog, f"{place}.to", each.to)
    return replace(made, to=other.name, to_columns=_find_columns(other, f"{place}.to_columns", each.to_columns))


def _find_table(catalog: Catalog, place: str, name: str) -> Table:
    if found := catalog.table(name):
        return found
    raise InvalidInput(place, f"there is no table {name!r}{_suggest(name, catalog.tables)}")


def _find_columns(table: Table, place: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_find_column(table, place, name) for name in names)


def _find_column(table: Table, place: str, name: str) -> str:
    if found := table.column(name):
        return found.name
    raise InvalidInput(place, f"{table.name} has no column {name!r}{_suggest(name, table.columns)}")


def _suggest(name: str, known: Sequence[Any]) -> str:
    by_case = {each.name.casefold(): each.name for each in known}
    found = get_close_matches(name.casefold(), list(by_case), 1, 0.6)
    return f"; did you mean {by_case[found[0]]}?" if found else ""


def _check_sql(catalog: Catalog, each: Any, part: str, sql: str) -> Any:
    import sqlglot
    from sqlglot import exp

    table = _find_table(catalog, f"{TABLES}.{each.table}", each.table)
    place = f"{TABLES}.{each.table}.{part}.{each.names[0]}"
    try:
        tree, *others = sqlglot.parse(sql, dialect=catalog.dialect)
    except sqlglot.errors.SqlglotError as error:
        raise InvalidInput(place, f"{sql!r} is not SQL: {str(error).splitlines()[0]}") from None
    if tree is None or others:
        raise InvalidInput(place, f"{sql!r} is not one expression")
    if tree.find(exp.Query, exp.DDL, exp.DML, exp.Command):
        raise InvalidInput(place, "is about one row of its table; a subquery or statement cannot stand here")
    if tree.find(exp.AggFunc, exp.Window):
        raise InvalidInput(place, "is about one row of its table; say the aggregate as `aggregate`")
    for node in tree.find_all(exp.Column):
        if node.table and node.table.casefold() != table.name.rpartition(".")[2].casefold():
            raise InvalidInput(place, f"{node.sql()} is not a column of {table.name}; use its own columns only")
        _find_column(table, place, node.name)
    return replace(each, table=table.name)


# Writing --------------------------------------------------------------------------------------------------------------


def write_model(model: SemanticModel) -> str:
    """Return YAML that `read_model` reads back."""
    return write_yaml(dump_model(model))


def dump_model(model: SemanticModel) -> dict[str, Any]:
    """Return the content of the file: tables in the order of the entities, then those that only join others."""
    tables: dict[str, dict[str, Any]] = {each.table: _dump_part(each, ENTITY_KEYS) for each in model.entities}
    for part, keys in PART_KEYS.items():
        for each in getattr(model, part):
            table = tables.setdefault(each.table, {})
            body = _dump_part(each, keys)
            if "column" in keys:
                table.setdefault(part, {})[body.pop("column")] = body
            else:
                table.setdefault(part, []).append(body)
    return {"tables": tables}


def _dump_part(each: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values that are not empty; several names are one text where a comma cannot be misread."""
    made: dict[str, Any] = {}
    for key in keys:
        value = getattr(each, "is_main" if key == "main" else key)
        if isinstance(value, tuple) and not any("," in name or name != name.strip() for name in value):
            value = ", ".join(value)
        if value or isinstance(value, float):
            made[key] = list(value) if isinstance(value, tuple) else value
    return made
