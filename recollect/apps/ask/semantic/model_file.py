"""The semantic model as a file: YAML, JSON or a mapping in, a SemanticModel out, and back.

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
its names. What cannot be read is refused with its place. With a catalog, tables, columns and the SQL in it are checked
against what is there (semantic_check.py), and take its spelling.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from recollect.apps.ask.semantic.catalog import Catalog, ColumnType
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
from recollect.apps.ask.semantic.model_check import checked_model
from recollect.errors import InvalidInput
from recollect.values.plain_yaml import read_yaml, write_yaml

ROOT = "model"
MAX_CHARS = 5_000_000
MAX_TEXT = 2_000
MAX_NAMES = 100
PARTS = ("names", "key", "label", "description", "dimensions", "measures", "moments", "joins", "definitions")
ENTITY = ("names", "key", "label", "description")
T = TypeVar("T")


def read_model(source: str | Mapping[str, Any], catalog: Catalog | None = None) -> SemanticModel:
    """The model of a file's text, or of what was parsed already; checked if the catalog is given."""
    given = mapping(ROOT, parsed(source))
    known_keys(ROOT, given, ("tables",))
    tables = {
        name: mapping(f"{ROOT}.tables.{name}", body)
        for name, body in mapping(f"{ROOT}.tables", given.get("tables")).items()
    }
    for name, body in tables.items():
        known_keys(f"{ROOT}.tables.{name}", body, PARTS)
    model = SemanticModel(
        entities=tuple(entity(table, body) for table, body in tables.items() if body.get("names") is not None),
        dimensions=everything(tables, "dimensions", dimension),
        measures=everything(tables, "measures", measure),
        moments=everything(tables, "moments", moment),
        joins=everything(tables, "joins", join),
        definitions=everything(tables, "definitions", definition),
    )
    return checked_model(model, catalog) if catalog else model


def parsed(source: str | Mapping[str, Any]) -> Any:
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


def everything(
    tables: Mapping[str, Mapping[str, Any]], part: str, made: Callable[[str, str, str, Mapping[str, Any]], T]
) -> tuple[T, ...]:
    found = []
    for table, body in tables.items():
        for place, name, inner in entries(f"{ROOT}.tables.{table}.{part}", body.get(part)):
            found.append(made(place, table, name, inner))
    return tuple(found)


def entries(place: str, given: object) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each with its place, its name (none in a list) and its body."""
    if isinstance(given, Mapping):
        for name, body in given.items():
            inner = body if isinstance(body, Mapping) else {"names": body}
            yield f"{place}.{name}", str(name), inner
    elif isinstance(given, list | tuple):
        for n, body in enumerate(given):
            yield f"{place}[{n}]", "", mapping(f"{place}[{n}]", body)
    elif given is not None:
        raise InvalidInput(place, "is neither a mapping nor a list")


def entity(table: str, body: Mapping[str, Any]) -> Entity:
    place = f"{ROOT}.tables.{table}"
    key, label = (texts(f"{place}.{part}", body.get(part)) for part in ("key", "label"))
    return Entity(table, names(place, body), key, label, text(f"{place}.description", body.get("description")))


def dimension(place: str, table: str, name: str, body: Mapping[str, Any]) -> Dimension:
    known_keys(place, body, ("column", "names", "type", "description"))
    kind = choice(f"{place}.type", body.get("type"), get_args(ColumnType), "text")
    column = name or required(place, body, "column")
    return Dimension(table, column, names(place, body), kind, text(f"{place}.description", body.get("description")))


def measure(place: str, table: str, name: str, body: Mapping[str, Any]) -> Measure:
    """In a mapping, the key is the expression or, if that is given, the first name."""
    known_keys(place, body, ("expression", "names", "aggregate", "description"))
    aggregate = choice(f"{place}.aggregate", body.get("aggregate"), get_args(Aggregate), "sum")
    expression = required(place, body, "expression") if body.get("expression") is not None or not name else name
    own = texts(f"{place}.names", body.get("names")) or ((name,) if name else ())
    said = names(place, {"names": own})
    return Measure(table, expression, said, aggregate, text(f"{place}.description", body.get("description")))


def moment(place: str, table: str, name: str, body: Mapping[str, Any]) -> Moment:
    known_keys(place, body, ("column", "names", "type", "main"))
    kind = choice(f"{place}.type", body.get("type"), ("date", "datetime"), "date")
    main = body.get("main", False)
    if not isinstance(main, bool):
        raise InvalidInput(f"{place}.main", "is neither true nor false")
    return Moment(table, name or required(place, body, "column"), names(place, body), kind, main)


def join(place: str, table: str, name: str, body: Mapping[str, Any]) -> Join:
    """In a mapping, the key is the column."""
    known_keys(place, body, ("columns", "to", "to_columns", "names"))
    columns = texts(f"{place}.columns", body.get("columns")) or ((name,) if name else ())
    to_columns = texts(f"{place}.to_columns", body.get("to_columns"))
    if not columns or len(columns) != len(to_columns):
        raise InvalidInput(place, "needs as many columns as to_columns, at least one")
    said = distinct_names(texts(f"{place}.names", body.get("names")))
    return Join(table, columns, required(place, body, "to"), to_columns, said)


def definition(place: str, table: str, name: str, body: Mapping[str, Any]) -> Definition:
    known_keys(place, body, ("names", "condition", "source", "confidence", "meaning"))
    said = distinct_names(texts(f"{place}.names", body.get("names")) or ((name,) if name else ()))
    confidence = body.get("confidence", 0.8)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InvalidInput(f"{place}.confidence", f"{confidence!r} is not a number from 0 to 1")
    condition, meaning = required(place, body, "condition"), text(f"{place}.meaning", body.get("meaning"))
    source = text(f"{place}.source", body.get("source")) or "ontology"
    return Definition(names(place, {"names": said}), table, condition, source, float(confidence), meaning)


def distinct_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return the names in lower case with single spaces, each once."""
    return tuple(dict.fromkeys(name for each in given if (name := " ".join(each.lower().split()))))


def names(place: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    found = distinct_names(texts(f"{place}.names", body.get("names")))
    if not found:
        raise InvalidInput(f"{place}.names", "say at least one name that people use")
    if len(found) > MAX_NAMES:
        raise InvalidInput(f"{place}.names", f"{len(found)} names; at most {MAX_NAMES}")
    return found


def mapping(place: str, given: object) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(place, "is not a mapping")
    return given


def known_keys(place: str, body: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in body:
        if key not in known:
            near = get_close_matches(str(key), known, 1, 0.7)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
            raise InvalidInput(f"{place}.{key}", f"is not known here{hint}")


def texts(place: str, given: object) -> tuple[str, ...]:
    """A list of texts, or one text with commas."""
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        return tuple(text(f"{place}[{n}]", each) for n, each in enumerate(given))
    return tuple(part for each in text(place, given).split(",") if (part := each.strip()))


def text(place: str, given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Mapping | list | tuple):
        raise InvalidInput(place, "is not a text")
    said = given if isinstance(given, str) else json.dumps(given)
    if len(said) > MAX_TEXT:
        raise InvalidInput(place, f"{len(said):,} characters; at most {MAX_TEXT:,}")
    return said.strip()


def required(place: str, body: Mapping[str, Any], part: str) -> str:
    if not (found := text(f"{place}.{part}", body.get(part))):
        raise InvalidInput(f"{place}.{part}", "is missing")
    return found


def choice(place: str, given: object, among: Sequence[Any], otherwise: Any) -> Any:
    if given is not None and given not in among:
        raise InvalidInput(place, f"{given!r} is not one of {', '.join(among)}")
    return given or otherwise


def write_model(model: SemanticModel) -> str:
    """YAML that `read_model` reads back."""
    return write_yaml(model_data(model))


def model_data(model: SemanticModel) -> dict[str, Any]:
    """The shape of the file. Tables in the order of the entities, then those that only join."""
    tables: dict[str, dict[str, Any]] = {each.table: entity_data(each) for each in model.entities}
    for part, written in WRITTEN.items():
        for each in getattr(model, part):
            name, body = written(each)
            own = tables.setdefault(each.table, {})
            if name:
                own.setdefault(part, {})[name] = body
            else:
                own.setdefault(part, []).append(body)
    return {"tables": tables}


def entity_data(each: Entity) -> dict[str, Any]:
    return told(names=listed(each.names), key=listed(each.key), label=listed(each.label), description=each.description)


def dimension_data(each: Dimension) -> tuple[str, dict[str, Any]]:
    return each.column, told(names=listed(each.names), type=each.type, description=each.description)


def measure_data(each: Measure) -> tuple[str, dict[str, Any]]:
    rest = told(names=listed(each.names), aggregate=each.aggregate, description=each.description)
    return "", {"expression": each.expression, **rest}


def moment_data(each: Moment) -> tuple[str, dict[str, Any]]:
    return each.column, told(names=listed(each.names), type=each.type, main=each.is_main)


def join_data(each: Join) -> tuple[str, dict[str, Any]]:
    made = told(columns=listed(each.columns), to=each.to, to_columns=listed(each.to_columns), names=listed(each.names))
    return "", made


def definition_data(each: Definition) -> tuple[str, dict[str, Any]]:
    rest = told(meaning=each.meaning, source=each.source)
    return "", {"names": listed(each.names), "condition": each.condition, "confidence": each.confidence, **rest}


WRITTEN: Mapping[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "dimensions": dimension_data,
    "measures": measure_data,
    "moments": moment_data,
    "joins": join_data,
    "definitions": definition_data,
}


def told(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value}


def listed(items: Iterable[str]) -> str | list[str]:
    """One line where a comma cannot be misread."""
    found = list(items)
    return found if any("," in each or each != each.strip() for each in found) else ", ".join(found)
