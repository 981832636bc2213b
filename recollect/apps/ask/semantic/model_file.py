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

The keys of a part are the fields of its class in model.py. Several names, keys or columns are a list, or one text with
commas; a dimension or moment that is a text or a list is its names. An error names the place in the file. With a
catalog, tables, columns and the SQL in the file are checked against it and take its spelling. Expressions and
conditions use the columns of one row: no subquery, no aggregate, no second statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import sqlglot
from sqlglot import exp

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.semantic.model import Definition, Dimension, Entity, Join, Measure, Moment, SemanticModel
from recollect.errors import InvalidInput
from recollect.values.term_file import read_yaml, write_yaml

ROOT = "model"
TABLES = f"{ROOT}.tables"
MAX_CHARS = 5_000_000
MAX_TEXT = 2_000
MAX_NAMES = 100
PARTS: Mapping[str, type] = {
    "dimensions": Dimension,
    "measures": Measure,
    "moments": Moment,
    "joins": Join,
    "definitions": Definition,
}
KEYS = {"is_main": "main"}  # fields that have another name in the file


@cache
def list_keys(kind: type) -> dict[str, tuple[Field[Any], Any]]:
    """Return the keys that a part has in the file, in the order they are written, each with its field and type."""
    hints = get_type_hints(kind)
    return {KEYS.get(each.name, each.name): (each, hints[each.name]) for each in fields(kind) if each.name != "table"}


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping in the file, with its place for errors."""

    place: str
    data: Mapping[str, Any]
    table: str

    def refuse(self, key: str, reason: str) -> InvalidInput:
        return InvalidInput(f"{self.place}.{key}", reason)

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.data:
            if key not in known:
                near = get_close_matches(str(key), known, 1, 0.7)
                hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
                raise self.refuse(key, f"is not known here{hint}")

    def read_texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, or the parts of one text with commas."""
        given, place = self.data.get(key), f"{self.place}.{key}"
        if isinstance(given, list | tuple):
            return tuple(read_text(f"{place}[{n}]", each) for n, each in enumerate(given))
        return tuple(filter(None, map(str.strip, read_text(place, given).split(","))))

    def read_names(self, is_required: bool) -> tuple[str, ...]:
        """Return the names in lower case with single spaces, each once."""
        folded = (" ".join(each.lower().split()) for each in self.read_texts("names"))
        found = tuple(dict.fromkeys(filter(None, folded)))
        if is_required and not found:
            raise self.refuse("names", "say at least one name that people use")
        if len(found) > MAX_NAMES:
            raise self.refuse("names", f"{len(found)} names; at most {MAX_NAMES}")
        return found

    def read_field(self, key: str, field: Field[Any], hint: Any) -> Any:
        """Return the value of a field by its type."""
        is_required = field.default is MISSING
        if key == "names":
            return self.read_names(is_required)
        if hint == tuple[str, ...]:
            return self.read_texts(key)
        if get_origin(hint) is Literal or hint in (bool, float):
            given = self.data.get(key)
            return field.default if given is None else self.check_value(key, given, hint)
        text = read_text(f"{self.place}.{key}", self.data.get(key))
        if is_required and not text:
            raise self.refuse(key, "is missing")
        return text or field.default

    def check_value(self, key: str, given: Any, hint: Any) -> Any:
        """Return true or false, a share, or one of the texts that a field may have."""
        if hint is bool and not isinstance(given, bool):
            raise self.refuse(key, "is neither true nor false")
        if hint is float and (type(given) not in (int, float) or not 0 <= given <= 1):
            raise self.refuse(key, f"{given!r} is not a number from 0 to 1")
        if hint not in (bool, float) and given not in get_args(hint):
            raise self.refuse(key, f"{given!r} is not one of {', '.join(get_args(hint))}")
        return float(given) if hint is float else given


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
    given = read_mapping(ROOT, source if isinstance(source, Mapping) else _parse_text(source))
    Section(ROOT, given, "").check_keys(("tables",))
    found: dict[str, list[Any]] = {"entities": [], **{part: [] for part in PARTS}}
    for name, body in read_mapping(TABLES, given.get("tables")).items():
        table = Section(f"{TABLES}.{name}", read_mapping(f"{TABLES}.{name}", body), name)
        table.check_keys((*list_keys(Entity), *PARTS))
        if table.data.get("names") is not None:
            found["entities"].append(_read_part(Entity, table))
        for part, kind in PARTS.items():
            for section in _list_sections(table, part):
                section.check_keys(list(list_keys(kind)))
                found[part].append(_read_part(kind, section))
    model = SemanticModel(**{part: tuple(each) for part, each in found.items()})
    return check_model(model, catalog) if catalog else model


def _parse_text(text: str) -> Any:
    if len(text) > MAX_CHARS:
        raise InvalidInput(ROOT, f"{len(text):,} characters; at most {MAX_CHARS:,}")
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return read_yaml(ROOT, text)
    try:
        return json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"begins like JSON but is not: {error}") from None


def _list_sections(table: Section, part: str) -> Iterator[Section]:
    given, place = table.data.get(part), f"{table.place}.{part}"
    if isinstance(given, Mapping):
        for name, body in given.items():
            inner = body if isinstance(body, Mapping) else {"names": body}
            yield Section(f"{place}.{name}", _add_key(part, str(name), inner), table.table)
    elif isinstance(given, list | tuple):
        for n, body in enumerate(given):
            yield Section(f"{place}[{n}]", read_mapping(f"{place}[{n}]", body), table.table)
    elif given is not None:
        raise InvalidInput(place, "is neither a mapping nor a list")


def _add_key(part: str, key: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the body with its key in a mapping: the column, the expression, or the first name if that is given."""
    match part:
        case "dimensions" | "moments":
            return {**body, "column": key}
        case "joins":
            return {**body, "columns": body.get("columns") or [key]}
        case "measures" if body.get("expression") is None:
            body = {**body, "expression": key}
    return {**body, "names": body.get("names") or [key]}


def _read_part(kind: type, given: Section) -> Any:
    values = {field.name: given.read_field(key, field, hint) for key, (field, hint) in list_keys(kind).items()}
    if kind is Join and (not values["columns"] or len(values["columns"]) != len(values["to_columns"])):
        raise InvalidInput(given.place, "needs as many columns as to_columns, at least one")
    return kind(table=given.table, **values)


# Checking -------------------------------------------------------------------------------------------------------------


def check_model(model: SemanticModel, catalog: Catalog) -> SemanticModel:
    """Return the model with names as the catalog spells them, or raise an InvalidInput for what is not there."""
    checked: dict[str, Any] = {
        part: tuple(_check_part(catalog, part, each) for each in getattr(model, part)) for part in ("entities", *PARTS)
    }
    return SemanticModel(**checked)


def _check_part(catalog: Catalog, part: str, each: Any) -> Any:
    place = f"{TABLES}.{each.table}"
    table = _find_table(catalog, place, each.table)
    made = replace(each, table=table.name)
    match each:
        case Entity(key=key, label=label):
            found = {"key": _find_columns(table, f"{place}.key", key)}
            return replace(made, label=_find_columns(table, f"{place}.label", label), **found)
        case Dimension(column=column) | Moment(column=column):
            return replace(made, column=_find_column(table, f"{place}.{part}.{column}", column))
        case Join():
            other = _find_table(catalog, f"{place}.joins.to", each.to)
            columns = _find_columns(table, f"{place}.columns", each.columns)
            to_columns = _find_columns(other, f"{place}.joins.to_columns", each.to_columns)
            return replace(made, columns=columns, to=other.name, to_columns=to_columns)
        case Measure(expression=sql) | Definition(condition=sql):
            _check_sql(sql, table, f"{place}.{part}.{each.names[0]}", catalog.dialect)
    return made


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


def _check_sql(sql: str, table: Table, place: str, dialect: str) -> None:
    try:
        tree, *others = sqlglot.parse(sql, dialect=dialect)
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


# Writing --------------------------------------------------------------------------------------------------------------


def write_model(model: SemanticModel) -> str:
    """Return YAML that `read_model` reads back."""
    return write_yaml(dump_model(model))


def dump_model(model: SemanticModel) -> dict[str, Any]:
    """Return the content of the file: tables in the order of the entities, then those that only join others."""
    tables: dict[str, dict[str, Any]] = {each.table: _dump_part(each) for each in model.entities}
    for part in PARTS:
        for each in getattr(model, part):
            table, body = tables.setdefault(each.table, {}), _dump_part(each)
            if "column" in body:
                table.setdefault(part, {})[body.pop("column")] = body
            else:
                table.setdefault(part, []).append(body)
    return {"tables": tables}


def _dump_part(each: Any) -> dict[str, Any]:
    """Return the values that are not empty; several names are one text where a comma cannot be misread."""
    made: dict[str, Any] = {}
    kind: type = type(each)
    for key, (field, _) in list_keys(kind).items():
        value = getattr(each, field.name)
        if isinstance(value, tuple) and not any("," in name or name != name.strip() for name in value):
            value = ", ".join(value)
        if value or isinstance(value, float):
            made[key] = list(value) if isinstance(value, tuple) else value
    return made
