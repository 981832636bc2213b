"""The ontology as a file: YAML or JSON in, terms out, and back. Used by import and export.

    tables:         {orders: {description, synonyms, sql, columns: {total: {type, values: {paid: ...}}}}}
    relationships:  [{from: orders.customer_id, to: customers.id, name, description}]
    glossary:       {active customer: {definition, defining_sql, base_table, aliases}}

Each may also be a list of objects with a `name`; a text instead of an object is its description. Other keys are stored
as the term's data, unless they look like a misspelling. YAML is read as far as it says no more than JSON, event by
event: nothing in the text can expand or name a Python object, and a country code NO stays a text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from recollect.errors import InvalidInput
from recollect.values.term import (
    DESCRIPTION,
    MAX_DEPTH,
    MAX_TERMS,
    NESTED,
    PLACE,
    SQL,
    SYNONYMS,
    Term,
    TermKind,
    check_term,
    join_name,
    name_relationship,
)

ROOT = "ontology"
PARTS = ("tables", "relationships", "glossary")
MAX_CHARS = 5_000_000
# A part of what YAML 1.1 takes for a number, so that a text which is written without quotes is read as one.
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+([eE][+-][0-9]+)?)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
OTHER_NAMES = {"tables": "table", "columns": "column", "values": "value", "glossary": "term"}


def read_ontology(source: str | Mapping[str, Any]) -> list[Term]:
    """Return the terms of a file's text, or of a parsed mapping."""
    given = parse_source(source)
    if not isinstance(given, Mapping):
        raise InvalidInput(
            ROOT, f"must be a mapping, got {describe_type(given)}; give the content of a file with {', '.join(PARTS)}"
        )
    for key in given:
        if key not in PARTS:
            raise InvalidInput(f"{ROOT}.{key}", f"is not one of {', '.join(PARTS)}")
    glossary = iter_entries(f"{ROOT}.glossary", "glossary", given.get("glossary"))
    words = (build_term(place, "glossary", name, body) for place, name, body in glossary)
    terms = [*read_tables(given), *read_relationships(given), *words]
    if not terms:
        raise InvalidInput(ROOT, f"names nothing; give {', '.join(PARTS)}")
    if len(terms) > MAX_TERMS:
        raise InvalidInput(ROOT, f"{len(terms):,} terms; at most {MAX_TERMS:,}")
    [((kind, name), count)] = Counter(term.id for term in terms).most_common(1)
    if count > 1:
        raise InvalidInput(ROOT, f"the {kind} {name!r} is given twice")
    return terms


def parse_source(source: object) -> Any:
    if isinstance(source, Mapping):
        try:
            source = json.dumps(dict(source), allow_nan=False)  # so that it is checked like a file
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(ROOT, f"cannot be written as JSON: {error}") from None
    if not isinstance(source, str):
        raise InvalidInput(ROOT, f"a {type(source).__name__} is neither text nor a mapping")
    if len(source) > MAX_CHARS:
        raise InvalidInput(ROOT, f"{len(source):,} characters; at most {MAX_CHARS:,}")
    return read_json(source) if source.lstrip("\ufeff \t\r\n").startswith(("{", "[")) else read_yaml(ROOT, source)


def read_json(text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"), object_pairs_hook=build_unique_object, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(ROOT, f"begins like JSON but is not: {error}") from None


def build_unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise InvalidInput(ROOT, f"the key {twice!r} is given twice in one object")
    return made


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that JSON has")


def read_tables(given: Mapping[str, Any]) -> Iterator[Term]:
    for place, table, body in iter_entries(f"{ROOT}.tables", "tables", given.get("tables")):
        yield build_term(place, "table", table, body)
        for inner, column, below in iter_entries(f"{place}.columns", "columns", body.get("columns")):
            yield build_term(inner, "column", join_name(table, column), below, table, column)
            for innermost, value, last in iter_entries(f"{inner}.values", "values", below.get("values")):
                name = join_name(table, column, value)
                yield build_term(innermost, "value", name, last, table, column, value)


def read_relationships(given: Mapping[str, Any]) -> Iterator[Term]:
    for place, name, body in iter_entries(f"{ROOT}.relationships", "relationships", given.get("relationships")):
        ends = [read_text(f"{place}.{end}", body.get(end)).strip() for end in ("from", "to")]
        for end, value in zip(("from", "to"), ends, strict=True):
            if not value:
                raise InvalidInput(f"{place}.{end}", "say which column, as table.column")
        yield build_term(place, "relationship", name or name_relationship(*ends), body, *ends)


def iter_entries(place: str, part: str, given: object) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the place, name and body of each entry, from a mapping or a list."""
    if given is None:
        return
    if isinstance(given, Mapping):
        for name, body in given.items():
            yield f"{place}.{name}", name.strip(), read_body(f"{place}.{name}", body, name)
    elif isinstance(given, list):
        for n, item in enumerate(given):
            yield read_entry(f"{place}[{n}]", part, item)
    else:
        raise InvalidInput(place, f"must be a mapping or a list, got {describe_type(given)}")


def read_entry(place: str, part: str, item: object) -> tuple[str, str, dict[str, Any]]:
    """Return an entry from an object with a name, or from a name alone."""
    if not isinstance(item, Mapping):
        return place, read_text(place, item).strip(), {}
    body = dict(item)
    naming = next((key for key in ("name", OTHER_NAMES.get(part, "name")) if body.get(key) is not None), None)
    if naming is None:
        if part == "relationships":
            return place, "", body
        raise InvalidInput(place, "has no name")
    return place, read_text(f"{place}.{naming}", body.pop(naming)).strip(), body


def read_body(place: str, body: object, name: str) -> dict[str, Any]:
    if body is None:
        return {}
    if not isinstance(body, Mapping):
        return {"description": read_text(place, body)}
    made = dict(body)
    if read_text(f"{place}.name", made.pop("name", name)) != name:
        raise InvalidInput(f"{place}.name", f"is called {name!r} above")
    return made


def build_term(place: str, kind: TermKind, name: str, body: Mapping[str, Any], *where: str) -> Term:
    own = {*DESCRIPTION, *SYNONYMS, *SQL, *NESTED.get(kind, ())}
    known = [*own, "semantic_type", "base_table", "type", "joins"]
    for key in body:
        if key not in known and (near := get_close_matches(key.lower(), known, 1, 0.8)):
            raise InvalidInput(f"{place}.{key}", f"did you mean {near[0]}?")
    sql = pick_one(place, body, SQL)
    term = Term(
        name=name,
        kind=kind,
        description=read_text(f"{place}.description", pick_one(place, body, DESCRIPTION)),
        synonyms=read_texts(f"{place}.synonyms", pick_one(place, body, SYNONYMS)),
        sql=None if sql is None else read_text(f"{place}.sql", sql),
        data={key: value for key, value in body.items() if key not in own}
        | dict(zip(PLACE.get(kind, ()), where, strict=True)),
    )
    return check_term(place, term)


def pick_one(place: str, body: Mapping[str, Any], names: Sequence[str]) -> Any:
    given = [name for name in names if body.get(name) is not None]
    if len(given) > 1:
        raise InvalidInput(f"{place}.{given[1]}", f"says the same as {given[0]}; give one of them")
    return body[given[0]] if given else None


def read_texts(place: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(read_text(f"{place}[{n}]", item) for n, item in enumerate(items))


def read_text(place: str, value: object) -> str:
    """Return a string; numbers and booleans as YAML writes them."""
    if isinstance(value, str | None):
        return value or ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise InvalidInput(place, f"must be a string, got {describe_type(value)}")


def describe_type(value: object) -> str:
    """Return the type of a value in YAML's terms."""
    names = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(type(value), "a number")


def dump_ontology(terms: Sequence[Term]) -> dict[str, Any]:
    """Return the mapping that `read_ontology` reads. A column whose table is not among the terms adds it."""
    made: dict[str, Any] = {"tables": {}, "relationships": [], "glossary": {}}
    for term in sorted(terms, key=lambda term: len(term.data.keys() & {"table", "column", "value"})):
        add_to_file(made, term)
    return {part: content for part, content in made.items() if content}


def add_to_file(made: dict[str, Any], term: Term) -> None:
    body, where = dump_term(term), [term.data.get(key, "") for key in PLACE.get(term.kind, ())]
    match term.kind:
        case "table":
            made["tables"].setdefault(term.name, {}).update(body)
        case "column":
            get_columns(made, where[0]).setdefault(where[1], {}).update(body)
        case "value":
            get_columns(made, where[0]).setdefault(where[1], {}).setdefault("values", {})[where[2]] = body
        case "relationship":
            named = {} if term.name == name_relationship(*where) else {"name": term.name}
            made["relationships"].append({**named, "from": where[0], "to": where[1], **body})
        case "glossary":
            made["glossary"][term.name] = body


def get_columns(made: dict[str, Any], table: str) -> dict[str, Any]:
    columns: dict[str, Any] = made["tables"].setdefault(table, {}).setdefault("columns", {})
    return columns


def dump_term(term: Term) -> dict[str, Any]:
    """Return a term's body without empty fields and without what its place in the file says."""
    description, sql = ("definition", "defining_sql") if term.kind == "glossary" else ("description", "sql")
    own = {description: term.description, "synonyms": list(term.synonyms), sql: term.sql}
    rest = {key: value for key, value in term.data.items() if key not in PLACE.get(term.kind, ())}
    return {key: value for key, value in own.items() if value} | rest


# YAML ----------------------------------------------------------------------------------------------------------------


def read_yaml(field: str, text: str) -> Any:
    """Return the one document in the text. `field` is its name in error messages."""
    import yaml

    events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    document = None
    try:
        for event in events:
            match event:
                case yaml.DocumentStartEvent():
                    document = read_node(field, next(events), events)
                case yaml.DocumentEndEvent() if isinstance(again := next(events), yaml.DocumentStartEvent):
                    refuse(field, again, "a second document begins; give one")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = f" (line {mark.line + 1})" if mark else ""
        raise InvalidInput(field, f"is not YAML: {problem}{line}") from None
    return document


def read_node(place: str, event: Any, events: Iterator[Any], depth: int = 0) -> Any:
    """Return the value that begins with this event."""
    import yaml

    check_event(place, event, depth)
    match event:
        case yaml.ScalarEvent():
            return event.value if event.style else parse_plain_value(event.value)
        case yaml.SequenceStartEvent():
            items: list[Any] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(read_node(f"{place}[{len(items)}]", event, events, depth + 1))
            return items
    made: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        check_event(place, event, depth)
        if not isinstance(event, yaml.ScalarEvent):
            refuse(place, event, "a mapping or list cannot be a key")
        if event.value in made:
            refuse(place, event, f"{event.value!r} is given twice")
        made[event.value] = read_node(f"{place}.{event.value}", next(events), events, depth + 1)
    return made


def check_event(place: str, event: Any, depth: int) -> None:
    """Refuse what says more than JSON, and deep nesting."""
    import yaml

    if getattr(event, "tag", None) not in (None, "!"):  # `!` alone only marks a scalar as text
        refuse(place, event, f"the tag {event.tag!r} is not read here")
    if isinstance(event, yaml.AliasEvent):
        refuse(place, event, f"the alias *{event.anchor} is not read here; write it out")
    if depth >= MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
        refuse(place, event, f"nested more than {MAX_DEPTH} levels deep")


def refuse(place: str, event: Any, problem: str) -> NoReturn:
    raise InvalidInput(place, f"{problem} (line {event.start_mark.line + 1})")


def parse_plain_value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    if found := NUMBER.fullmatch(text):
        return float(text) if found[2] else (int(text) if len(text) <= 18 else text)
    return text


def write_yaml(value: Mapping[str, Any]) -> str:
    """Return the text that `read_yaml` reads back."""
    import yaml

    class Writer(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(dict(value), Dumper=Writer, sort_keys=False, allow_unicode=True, width=100))
