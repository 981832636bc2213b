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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, get_type_hints

import msgspec
from sqlglot import exp

from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.semantic.model import Definition, Dimension, Entity, Join, Measure, Moment, SemanticModel
from recollect.apps.ask.sql_text import check_expression
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
def list_keys(kind: type) -> dict[str, tuple[str, Any]]:
    """Return the keys that a part has in the file, in the order they are written, each with its field and type."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if each.name != "table"]
    return {KEYS.get(name, name): (name, hints[name]) for name in names}


# Values ---------------------------------------------------------------------------------------------------------------


def read_names(place: str, given: Any) -> tuple[str, ...]:
    """Return the names in lower case with single spaces, each once."""
    folded = (" ".join(each.lower().split()) for each in read_texts(place, given))
    found = tuple(dict.fromkeys(filter(None, folded)))
    if len(found) > MAX_NAMES:
        raise InvalidInput(place, f"{len(found)} names; at most {MAX_NAMES}")
    return found


def read_texts(place: str, given: Any) -> tuple[str, ...]:
    """Return a list of texts, or the parts of one text with commas."""
    if isinstance(given, list | tuple):
        return tuple(read_text(f"{place}[{n}]", each) for n, each in enumerate(given))
    return tuple(filter(None, map(str.strip, read_text(place, given).split(","))))


def read_text(place: str, given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Mapping | list | tuple):
        raise InvalidInput(place, "is not a text")
    text = given if isinstance(given, str) else json.dumps(given)
    if len(text) > MAX_TEXT:
        raise InvalidInput(place, f"{len(text):,} characters; at most {MAX_TEXT:,}")
    return text.strip()


def read_mapping(place: str, given: object, known: Iterable[str] = ()) -> Mapping[str, Any]:
    """Return a mapping that has only known keys, or any keys if none are known."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(place, "is not a mapping")
    found, known = given or {}, list(known)
    for key in found if known else ():
        if key not in known:
            near = get_close_matches(str(key), known, 1, 0.7)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise InvalidInput(f"{place}.{key}", f"is not known here; {hint}")
    return found


# Reading --------------------------------------------------------------------------------------------------------------


def read_model(source: str | Mapping[str, Any], catalog: Catalog | None = None) -> SemanticModel:
    """Return the model of a file's text, or of its parsed content; checked if the catalog is given."""
    given = read_mapping(ROOT, _parse_text(source) if isinstance(source, str) else source, ("tables",))
    found: dict[str, list[Any]] = {"entities": [], **{part: [] for part in PARTS}}
    for table, content in read_mapping(TABLES, given.get("tables")).items():
        place = f"{TABLES}.{table}"
        body = read_mapping(place, content, (*list_keys(Entity), *PARTS))
        if body.get("names") is not None:
            found["entities"].append(_read_part(Entity, table, place, body))
        for part, kind in PARTS.items():
            for inner, each in _list_bodies(f"{place}.{part}", part, body.get(part)):
                found[part].append(_read_part(kind, table, inner, read_mapping(inner, each, list_keys(kind))))
    if catalog:
        found = {part: [*map(partial(_check_part, catalog, part), parts)] for part, parts in found.items()}
    return SemanticModel(**{part: tuple(each) for part, each in found.items()})


def _parse_text(text: str) -> Any:
    if len(text) > MAX_CHARS:
        raise InvalidInput(ROOT, f"{len(text):,} characters; at most {MAX_CHARS:,}")
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return read_yaml(ROOT, text)
    try:
        return json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"begins like JSON but is not: {error}") from None


def _list_bodies(place: str, part: str, given: Any) -> Iterator[tuple[str, Any]]:
    """Yield the place and the content of each part of one kind, from a mapping or a list."""
    if isinstance(given, Mapping):
        for name, body in given.items():
            yield f"{place}.{name}", _add_key(part, str(name), body if isinstance(body, Mapping) else {"names": body})
    elif isinstance(given, list | tuple):
        yield from ((f"{place}[{n}]", body) for n, body in enumerate(given))
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


def _read_part(kind: type, table: str, place: str, body: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {"table": table}
    for key, (name, hint) in list_keys(kind).items():
        read = read_names if name == "names" else READERS.get(hint)
        if body.get(key) is not None:
            values[name] = read(f"{place}.{key}", body[key]) if read else body[key]
    try:
        made: Any = msgspec.convert({name: value for name, value in values.items() if value not in ("", ())}, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(place, str(error)) from None
    if kind is Join and len(values["columns"]) != len(values["to_columns"]):
        raise InvalidInput(place, "needs as many columns as to_columns, at least one")
    return made


READERS: Mapping[Any, Callable[[str, Any], Any]] = {tuple[str, ...]: read_texts, str: read_text}


# Checking -------------------------------------------------------------------------------------------------------------


def _check_part(catalog: Catalog, part: str, each: Any) -> Any:
    """Return a part with names as the catalog spells them, or raise an InvalidInput for what is not there."""
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
    tree = check_expression(place, sql, dialect)
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
    for key, (name, _) in list_keys(kind).items():
        value = getattr(each, name)
        if isinstance(value, tuple) and not any("," in name or name != name.strip() for name in value):
            value = ", ".join(value)
        if value or isinstance(value, float):
            made[key] = list(value) if isinstance(value, tuple) else value
    return made
