"""The ontology as a file: YAML or JSON in, terms out, and back. Called by the import and the export.

    tables:         {orders: {description, synonyms, sql, columns: {total: {type, values: {paid: ...}}}}}
    relationships:  [{from: orders.customer_id, to: customers.id, name, description}]
    glossary:       {active customer: {definition, defining_sql, base_table, aliases}}

Each of them may also be a list of objects with a `name`; a text instead of an object is its description. Other keys are
kept as the term's data, unless they look like one of ours misspelt. What cannot be read is refused with its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.ontology import MAX_TERMS, Term, TermKind, arrow
from recollect.model.plain_yaml import read_yaml
from recollect.model.term_check import DESCRIPTION, NESTED, PLACE, SQL, SYNONYMS, checked_term, joined

ROOT = "ontology"
PARTS = ("tables", "relationships", "glossary")
MAX_CHARS = 5_000_000
OTHER_NAMES = {"tables": "table", "columns": "column", "values": "value", "glossary": "term"}


def read_ontology(source: str | Mapping[str, Any]) -> list[Term]:
    """The terms of a file's text, or of what was parsed already."""
    given = parsed(source)
    if not isinstance(given, Mapping):
        raise InvalidInput(
            ROOT, f"{kind_of(given)} is not a mapping; give the content of a file with {', '.join(PARTS)}"
        )
    for key in given:
        if key not in PARTS:
            raise InvalidInput(f"{ROOT}.{key}", f"is not one of {', '.join(PARTS)}")
    terms = [*tables(given), *relationships(given), *glossary(given)]
    if not terms:
        raise InvalidInput(ROOT, f"names nothing; give {', '.join(PARTS)}")
    if len(terms) > MAX_TERMS:
        raise InvalidInput(ROOT, f"{len(terms):,} terms; at most {MAX_TERMS:,}")
    refuse_twins(terms)
    return terms


def parsed(source: object) -> Any:
    if isinstance(source, Mapping):
        source = as_json(source)
    if not isinstance(source, str):
        raise InvalidInput(ROOT, f"a {type(source).__name__} is neither text nor a mapping")
    if len(source) > MAX_CHARS:
        raise InvalidInput(ROOT, f"{len(source):,} characters; at most {MAX_CHARS:,}")
    return read_json(source) if source.lstrip("\ufeff \t\r\n").startswith(("{", "[")) else read_yaml(ROOT, source)


def as_json(source: Mapping[str, Any]) -> str:
    """So that a mapping is held to what a file is."""
    try:
        return json.dumps(dict(source), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"cannot be written as JSON: {error}") from None


def read_json(text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"), object_pairs_hook=unique, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"begins like JSON but is not: {error}") from None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidInput(ROOT, f"the key {twice!r} is given twice in one object")
    return made


def no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")


def tables(given: Mapping[str, Any]) -> Iterator[Term]:
    for place, table, body in entries(f"{ROOT}.tables", "tables", given.get("tables")):
        yield made_term(place, "table", table, body)
        for inner, column, below in entries(f"{place}.columns", "columns", body.get("columns")):
            yield made_term(inner, "column", joined("column", (table, column)), below, table, column)
            for innermost, value, last in entries(f"{inner}.values", "values", below.get("values")):
                name = joined("value", (table, column, value))
                yield made_term(innermost, "value", name, last, table, column, value)


def relationships(given: Mapping[str, Any]) -> Iterator[Term]:
    for place, name, body in entries(f"{ROOT}.relationships", "relationships", given.get("relationships")):
        ends = [text_of(f"{place}.{end}", body.get(end)).strip() for end in ("from", "to")]
        for end, value in zip(("from", "to"), ends, strict=True):
            if not value:
                raise InvalidInput(f"{place}.{end}", "say which column, as table.column")
        yield made_term(place, "relationship", name or arrow(*ends), body, *ends)


def glossary(given: Mapping[str, Any]) -> Iterator[Term]:
    for place, name, body in entries(f"{ROOT}.glossary", "glossary", given.get("glossary")):
        yield made_term(place, "glossary", name, body)


def entries(place: str, part: str, given: object) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each with its place, name and body, whether they came as a mapping or as a list."""
    if given is None:
        return
    if isinstance(given, Mapping):
        for name, body in given.items():
            yield f"{place}.{name}", name.strip(), body_of(f"{place}.{name}", body, name)
    elif isinstance(given, list):
        for n, item in enumerate(given):
            yield listed(f"{place}[{n}]", part, item)
    else:
        raise InvalidInput(place, f"{kind_of(given)} is neither a mapping nor a list")


def listed(place: str, part: str, item: object) -> tuple[str, str, dict[str, Any]]:
    """An object with its name inside, or a name alone."""
    if not isinstance(item, Mapping):
        return place, text_of(place, item).strip(), {}
    body = dict(item)
    naming = next((key for key in ("name", OTHER_NAMES.get(part, "name")) if body.get(key) is not None), None)
    if naming is None:
        if part == "relationships":
            return place, "", body
        raise InvalidInput(place, "has no name")
    return place, text_of(f"{place}.{naming}", body.pop(naming)).strip(), body


def body_of(place: str, body: object, name: str) -> dict[str, Any]:
    if body is None:
        return {}
    if not isinstance(body, Mapping):
        return {"description": text_of(place, body)}
    made = dict(body)
    if text_of(f"{place}.name", made.pop("name", name)) != name:
        raise InvalidInput(f"{place}.name", f"is called {name!r} above")
    return made


def made_term(place: str, kind: TermKind, name: str, body: Mapping[str, Any], *where: str) -> Term:
    refuse_misspelt(place, kind, body)
    own = {*DESCRIPTION, *SYNONYMS, *SQL, *NESTED.get(kind, ())}
    sql = one_of(place, body, SQL)
    term = Term(
        name=name,
        kind=kind,
        description=text_of(f"{place}.description", one_of(place, body, DESCRIPTION)),
        synonyms=texts_of(f"{place}.synonyms", one_of(place, body, SYNONYMS)),
        sql=None if sql is None else text_of(f"{place}.sql", sql),
        data={key: value for key, value in body.items() if key not in own}
        | dict(zip(PLACE.get(kind, ()), where, strict=True)),
    )
    return checked_term(place, term)


def refuse_misspelt(place: str, kind: TermKind, body: Mapping[str, Any]) -> None:
    known = [*DESCRIPTION, *SYNONYMS, *SQL, *NESTED.get(kind, ()), "semantic_type", "base_table", "type", "joins"]
    for key in body:
        if key not in known and (near := get_close_matches(key.lower(), known, 1, 0.8)):
            raise InvalidInput(f"{place}.{key}", f"did you mean {near[0]}?")


def one_of(place: str, body: Mapping[str, Any], names: Sequence[str]) -> Any:
    given = [name for name in names if body.get(name) is not None]
    if len(given) > 1:
        raise InvalidInput(f"{place}.{given[1]}", f"says the same as {given[0]}; give one of them")
    return body[given[0]] if given else None


def texts_of(place: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(text_of(f"{place}[{n}]", item) for n, item in enumerate(items))


def text_of(place: str, value: object) -> str:
    """A text; a number or a truth value as YAML would write it."""
    if isinstance(value, str | None):
        return value or ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise InvalidInput(place, f"{kind_of(value)} is not a text")


def kind_of(value: object) -> str:
    """What a value is, to somebody who wrote YAML."""
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}
    return names.get(type(value), "a number")


def refuse_twins(terms: Sequence[Term]) -> None:
    seen: set[tuple[str, str]] = set()
    for term in terms:
        if term.id in seen:
            raise InvalidInput(ROOT, f"the {term.kind} {term.name!r} is given twice")
        seen.add(term.id)


def written(terms: Sequence[Term]) -> dict[str, Any]:
    """The shape that `read_ontology` reads. A column whose table is not among the terms brings it along."""
    made: dict[str, Any] = {"tables": {}, "relationships": [], "glossary": {}}
    for term in sorted(terms, key=lambda term: len(term.data.keys() & {"table", "column", "value"})):
        put_in(made, term)
    return {part: content for part, content in made.items() if content}


def put_in(made: dict[str, Any], term: Term) -> None:
    body, where = body_written(term), [term.data.get(key, "") for key in PLACE.get(term.kind, ())]
    match term.kind:
        case "table":
            made["tables"].setdefault(term.name, {}).update(body)
        case "column":
            columns_of(made, where[0]).setdefault(where[1], {}).update(body)
        case "value":
            columns_of(made, where[0]).setdefault(where[1], {}).setdefault("values", {})[where[2]] = body
        case "relationship":
            named = {} if term.name == arrow(*where) else {"name": term.name}
            made["relationships"].append({**named, "from": where[0], "to": where[1], **body})
        case "glossary":
            made["glossary"][term.name] = body


def columns_of(made: dict[str, Any], table: str) -> dict[str, Any]:
    columns: dict[str, Any] = made["tables"].setdefault(table, {}).setdefault("columns", {})
    return columns


def body_written(term: Term) -> dict[str, Any]:
    """Without what is empty, and without what its place in the file says already."""
    description, sql = ("definition", "defining_sql") if term.kind == "glossary" else ("description", "sql")
    own = {description: term.description, "synonyms": list(term.synonyms), sql: term.sql}
    rest = {key: value for key, value in term.data.items() if key not in PLACE.get(term.kind, ())}
    return {key: value for key, value in own.items() if value} | rest
