"""Ontology: what a project says about its tables, columns, values and relationships, and the words of its glossary.

A Term is known by its kind and its name: a table "orders" and a word "orders" may both be there. Terms come from a
file (ontology_file.py) or one by one; either way they pass term_check.py, which gives each the one form in which it is
kept, so that importing a file twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.model.term import term_stem

TermKind = Literal["table", "column", "value", "relationship", "glossary"]
KINDS: tuple[TermKind, ...] = get_args(TermKind)

MAX_TERMS = 20_000  # in one project


@dataclass(frozen=True, slots=True)
class Term:
    """`data` has what else is known: type, semantic_type, base_table, joins, whatever the file said."""

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
        """How citations and the audit name this term."""
        return f"{self.kind}:{self.name}"

    @property
    def meaning(self) -> str:
        """As a person reads it."""
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
    """How many terms an import added, changed, removed and found as they were."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class TermChanges:
    put: Sequence[Term] = ()
    drop: Sequence[Term] = ()
    report: ImportReport = ImportReport()


def compare(known: Iterable[Term], wanted: Sequence[Term], *, replace_all: bool) -> TermChanges:
    """What makes `known` say what `wanted` says; what is not wanted goes only if all is to be replaced."""
    before = {term.id: term for term in known}
    added = [term for term in wanted if term.id not in before]
    changed = [term for term in wanted if term.id in before and before[term.id] != term]
    named = {term.id for term in wanted}
    gone = [term for term in before.values() if term.id not in named] if replace_all else []
    if len(before) + len(added) - len(gone) > MAX_TERMS:
        raise InvalidInput("ontology", f"the project would have more than {MAX_TERMS:,} terms; keep those that matter")
    unchanged = len(wanted) - len(added) - len(changed)
    return TermChanges([*added, *changed], gone, ImportReport(len(added), len(changed), len(gone), unchanged))


def lookup_stems(term: Term) -> tuple[str, ...]:
    """What `resolve` finds a term by: its name, the last part of a dotted one, and its synonyms."""
    return tuple(dict.fromkeys([*own_stems(term), *map(stem_of, term.synonyms)]))


def own_stems(term: Term) -> list[str]:
    """Without its synonyms."""
    names = [term.name]
    match term.kind:
        case "table":
            names.append(term.name.rpartition(".")[2])
        case "column" | "value":
            names.append(str(term.data[term.kind]))
        case "relationship" if term.name == arrow(term.data["from"], term.data["to"]):
            names = []
    return [stem_of(name) for name in names]


def stem_of(text: str) -> str:
    """As a term is looked up; what has no words, like "%", stands for itself."""
    return term_stem(text) or text.strip().lower()


def arrow(start: str, end: str) -> str:
    """The name of a relationship that was given none."""
    return f"{start} -> {end}"


def belongs_to(term: Term, owner: Term) -> bool:
    """Whether it is the other, or a part of it: a column of a table, a value of a column."""
    keys = {"table": ("table",), "column": ("table", "column")}.get(owner.kind, ())
    if term.id == owner.id:
        return True
    inside = {"table": ("column", "value"), "column": ("value",)}.get(owner.kind, ())
    place = (owner.name,) if owner.kind == "table" else tuple(owner.data.get(key) for key in keys)
    return term.kind in inside and tuple(term.data.get(key) for key in keys) == place
