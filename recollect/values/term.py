"""Ontology terms: a project's tables, columns, values, relationships and glossary words, and their checks.

A term is identified by kind and name: a table "orders" and a word "orders" may both exist. Terms come from a file
(term_file.py) or one by one; both pass `check_term`, which normalizes them, so that importing a file twice changes
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.values.text import check_data, check_text, stem_term

TermKind = Literal["table", "column", "value", "relationship", "glossary"]
KINDS: tuple[TermKind, ...] = get_args(TermKind)

MAX_TERMS = 20_000  # in one project


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the ontology. `data` has further properties: type, semantic_type, base_table, joins and others from the
    file."""

    name: str  # "orders", "orders.total", "orders.status=paid", or a word of the glossary
    kind: TermKind = "glossary"
    description: str = ""
    synonyms: Sequence[str] = ()
    sql: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> tuple[str, str]:
        return self.kind, self.name

    @property
    def ref(self) -> str:
        """How citations and the audit log name this term."""
        return f"{self.kind}:{self.name}"

    @property
    def meaning(self) -> str:
        """The meaning as a person reads it."""
        if self.kind == "glossary":
            return self.description or f"where {self.sql}"
        return f"{self.label}: {self.description}" if self.description else self.label

    @property
    def label(self) -> str:
        match self.kind:
            case "value":
                return f"the value {self.data['value']} of {self.data['table']}.{self.data['column']}"
            case "relationship":
                return f"{self.data['from']} refers to {self.data['to']}"
            case _:
                return f"the {self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many terms an import added, changed, removed and left unchanged."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class TermChanges:
    put: Sequence[Term] = ()
    drop: Sequence[Term] = ()
    report: ImportReport = ImportReport()


def compare_terms(known: Iterable[Term], wanted: Sequence[Term], *, replace_all: bool) -> TermChanges:
    """Return the changes that turn `known` into `wanted`; terms that are not wanted are dropped only with
    `replace_all`."""
    before = {term.id: term for term in known}
    put = [term for term in wanted if before.get(term.id) != term]
    added = sum(term.id not in before for term in put)
    named = {term.id for term in wanted}
    gone = [term for term in before.values() if replace_all and term.id not in named]
    if len(before) + added - len(gone) > MAX_TERMS:
        raise InvalidInput("ontology", f"the project would have more than {MAX_TERMS:,} terms; keep those that matter")
    return TermChanges(put, gone, ImportReport(added, len(put) - added, len(gone), len(wanted) - len(put)))


def find_parts(known: Iterable[Term], owners: Collection[tuple[TermKind, str]]) -> list[Term]:
    """Return the terms that are one of the owners (kind, name) or a part of one."""
    wanted = set(owners)
    terms = list(known)
    found = [term for term in terms if (term.kind, term.name) in wanted]
    return [term for term in terms if any(is_part_of(term, owner) for owner in found)]


def list_lookup_stems(term: Term) -> tuple[str, ...]:
    """Return what `resolve` finds a term by: its name, the last part of a dotted name, and its synonyms."""
    return tuple(dict.fromkeys([*list_own_stems(term), *map(stem_name, term.synonyms)]))


def list_own_stems(term: Term) -> list[str]:
    """Return the stems without those of synonyms."""
    names = [term.name]
    match term.kind:
        case "table":
            names.append(term.name.rpartition(".")[2])
        case "column" | "value":
            names.append(str(term.data[term.kind]))
        case "relationship" if term.name == name_relationship(term.data["from"], term.data["to"]):
            names = []
    return [stem_name(name) for name in names]


def stem_name(text: str) -> str:
    """Return the form under which a term is looked up; a text without words, like "%", stands for itself."""
    return stem_term(text) or text.strip().lower()


def name_relationship(start: str, end: str) -> str:
    """Return the name of a relationship that was given none."""
    return f"{start} -> {end}"


def is_part_of(term: Term, owner: Term) -> bool:
    """Return whether a term is the other, or below it: a column of a table, a value of a column, or a relationship of
    either."""
    if term.id == owner.id:
        return True
    data, place = term.data, (owner.data.get("table"), owner.data.get("column"))
    match owner.kind, term.kind:
        case "table", "relationship":
            return owner.name in (data["from"].rpartition(".")[0], data["to"].rpartition(".")[0])
        case "column", "relationship":
            return owner.name in (data["from"], data["to"])
        case "table", "column" | "value":
            return bool(data.get("table") == owner.name)
        case "column", "value":
            return (data.get("table"), data.get("column")) == place
        case _:
            return False


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


def check_term(place: str, term: Term) -> Term:
    """Return the term as it is stored; raise an error that names the problem under `place`."""
    if not isinstance(term, Term):
        raise InvalidInput(place, f"must be a Term, got {type(term).__name__}")
    if term.kind not in KINDS:
        raise InvalidInput(f"{place}.kind", f"{term.kind!r} is not one of {', '.join(KINDS)}")
    name = check_text(f"{place}.name", term.name, MAX_NAME).strip()
    data = check_term_data(f"{place}.data", term)
    sql = term.sql or data.pop("defining_sql", None)
    made = replace(
        term,
        name=name,
        description=term.description and check_text(f"{place}.description", term.description, MAX_DESCRIPTION).strip(),
        synonyms=check_synonyms(f"{place}.synonyms", term.synonyms, name),
        sql=None if sql is None else check_text(f"{place}.sql", sql, MAX_SQL).strip(),
        data=data | read_place(f"{place}.name", term.kind, name, data),
    )
    if made.kind == "glossary" and not (made.description or made.sql):
        raise InvalidInput(place, f"says nothing about {name!r}; give a definition or its sql")
    return made


def check_synonyms(place: str, given: object, name: str) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InvalidInput(place, f"must be a list of strings, got {type(given).__name__}")
    if len(given) > MAX_SYNONYMS:
        raise InvalidInput(place, f"{len(given):,} synonyms; at most {MAX_SYNONYMS}")
    kept = [check_text(f"{place}[{n}]", synonym, MAX_SYNONYM).strip() for n, synonym in enumerate(given)]
    return tuple(dict.fromkeys(synonym for synonym in kept if synonym != name))


def check_term_data(place: str, term: Term) -> dict[str, Any]:
    """Return the data as JSON, without nulls."""
    check_data(place, term.data, MAX_DATA, MAX_DEPTH)
    taken = {"name", *DESCRIPTION, *SYNONYMS, "sql", *NESTED.get(term.kind, ())} & term.data.keys()
    if taken:
        raise InvalidInput(
            f"{place}.{min(taken)}", "is not data; a Term has a field for it, or it is a term of its own"
        )
    return dict(json.loads(json.dumps({key: value for key, value in term.data.items() if value is not None})))


def read_place(place: str, kind: TermKind, name: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Return where the term is in the schema: from its data if that makes up its name, otherwise from its name."""
    if kind not in PLACE:
        return {}
    keys = PLACE[kind]
    given = [data[key] for key in keys if isinstance(data.get(key), str) and data[key].strip()]
    if len(given) == len(keys) and (kind == "relationship" or join_name(*given) == name):
        return dict(zip(keys, (part.strip() for part in given), strict=True))
    parts = split_name(kind, name)
    if not all(parts):
        raise InvalidInput(place, f"{name!r} does not say where; name a {kind} as {FORMS[kind]}")
    return dict(zip(keys, parts, strict=True))


def join_name(table: str, column: str, value: str | None = None) -> str:
    """Return the name of a column or of one of its values."""
    return f"{table}.{column}" if value is None else f"{table}.{column}={value}"


def split_name(kind: TermKind, name: str) -> tuple[str, ...]:
    if kind == "relationship":
        start, _, end = name.partition("->")
        return start.strip(), end.strip()
    path, _, value = name.partition("=")
    table, _, column = path.rpartition(".")
    return (table, column, value) if kind == "value" else (table, path.rpartition(".")[2])
