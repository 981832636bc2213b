"""What a Term may be, and the one form in which it is kept. The file's reader and `put_term` both come through here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.ontology import KINDS, Term, TermKind
from recollect.model.text import checked_text

MAX_NAME = 500
MAX_DESCRIPTION = 10_000
MAX_SYNONYMS = 100
MAX_SYNONYM = 200
MAX_SQL = 20_000
MAX_DATA = 20_000
MAX_DEPTH = 20  # of data

# What a file may call the parts of a term. They are not data.
DESCRIPTION = ("description", "definition", "meaning")
SYNONYMS = ("synonyms", "aliases")
SQL = ("sql", "defining_sql")
NESTED: Mapping[str, tuple[str, ...]] = {"table": ("columns",), "column": ("values",)}
# Where a term stands in the schema; its name says the same.
PLACE: Mapping[str, tuple[str, ...]] = {
    "column": ("table", "column"),
    "value": ("table", "column", "value"),
    "relationship": ("from", "to"),
}
FORMS = {"column": "table.column", "value": "table.column=value", "relationship": "a.column -> b.column"}


def checked_term(place: str, term: Term) -> Term:
    """The term as it is kept; otherwise an error that names what is wrong with it, under `place`."""
    if not isinstance(term, Term):
        raise InvalidInput(place, f"a {type(term).__name__} is not a Term")
    if term.kind not in KINDS:
        raise InvalidInput(f"{place}.kind", f"{term.kind!r} is not one of {', '.join(KINDS)}")
    name = checked_text(f"{place}.name", term.name, MAX_NAME).strip()
    data = checked_data(f"{place}.data", term)
    sql = term.sql or data.pop("defining_sql", None)
    made = replace(
        term,
        name=name,
        description=term.description
        and checked_text(f"{place}.description", term.description, MAX_DESCRIPTION).strip(),
        synonyms=checked_synonyms(f"{place}.synonyms", term.synonyms, name),
        sql=None if sql is None else checked_text(f"{place}.sql", sql, MAX_SQL).strip(),
        data=data | placed(f"{place}.name", term.kind, name, data),
    )
    if made.kind == "glossary" and not (made.description or made.sql):
        raise InvalidInput(place, f"says nothing about {name!r}; give a definition or its sql")
    return made


def checked_synonyms(place: str, given: object, name: str) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InvalidInput(place, f"a {type(given).__name__} is not a list of texts")
    if len(given) > MAX_SYNONYMS:
        raise InvalidInput(place, f"{len(given):,} synonyms; at most {MAX_SYNONYMS}")
    kept = [checked_text(f"{place}[{n}]", synonym, MAX_SYNONYM).strip() for n, synonym in enumerate(given)]
    return tuple(dict.fromkeys(synonym for synonym in kept if synonym != name))


def checked_data(place: str, term: Term) -> dict[str, Any]:
    """As JSON has it, without what is null."""
    if not isinstance(term.data, Mapping):
        raise InvalidInput(place, f"a {type(term.data).__name__} is not a mapping")
    for text in texts(place, term.data):
        if text:
            checked_text(place, text, MAX_DATA)
    try:
        written = json.dumps({key: value for key, value in term.data.items() if value is not None}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(place, f"is not JSON: {error}") from None
    if len(written) > MAX_DATA:
        raise InvalidInput(place, f"{len(written):,} characters as JSON; at most {MAX_DATA:,}")
    taken = {"name", *DESCRIPTION, *SYNONYMS, "sql", *NESTED.get(term.kind, ())} & term.data.keys()
    if taken:
        raise InvalidInput(
            f"{place}.{min(taken)}", "is not data; a Term has a field for it, or it is a term of its own"
        )
    return dict(json.loads(written))


def texts(place: str, value: Any, depth: int = 0) -> Iterator[str]:
    """Every text in a value that came from JSON, keys too."""
    if depth > MAX_DEPTH:
        raise InvalidInput(place, f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(place, key, depth + 1)
            yield from texts(place, inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(place, inner, depth + 1)


def placed(place: str, kind: TermKind, name: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Where it stands in the schema: as its data says, if that makes its name, otherwise as its name says."""
    if kind not in PLACE:
        return {}
    keys = PLACE[kind]
    given = [data[key] for key in keys if isinstance(data.get(key), str) and data[key].strip()]
    if len(given) == len(keys) and (kind == "relationship" or joined(kind, given) == name):
        return dict(zip(keys, (part.strip() for part in given), strict=True))
    parts = split_name(kind, name)
    if not all(parts):
        raise InvalidInput(place, f"{name!r} does not say where; name a {kind} as {FORMS[kind]}")
    return dict(zip(keys, parts, strict=True))


def joined(kind: TermKind, parts: Sequence[str]) -> str:
    """The name of what stands there."""
    return ".".join(parts[:2]) + "".join(f"={value}" for value in parts[2:])


def split_name(kind: TermKind, name: str) -> tuple[str, ...]:
    if kind == "relationship":
        start, _, end = name.partition("->")
        return start.strip(), end.strip()
    path, _, value = name.partition("=")
    table, _, column = path.rpartition(".")
    return (table, column, value) if kind == "value" else (table, path.rpartition(".")[2])
