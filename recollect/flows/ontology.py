"""Ontology: the terms of a project, from a file or one by one. Read what is there, compare, write what differs with one
row of the trail; if another changed it meanwhile, read and compare again.

Everything is the project's, whoever asks: who may change it is for the door to say. No change, nothing written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from recollect.errors import InvalidInput, NotFound, Outdated
from recollect.flows.parts import Parts
from recollect.model.audit import Deed
from recollect.model.ontology import (
    KINDS,
    MAX_TERMS,
    ImportReport,
    Term,
    TermChanges,
    TermKind,
    belongs_to,
    compare,
)
from recollect.model.ontology_file import read_ontology
from recollect.model.scope import Scope
from recollect.model.term_check import MAX_NAME, checked_term
from recollect.model.text import checked_text
from recollect.store.memories import Holder
from recollect.store.terms import KnownTerms

TRIES = 8


async def import_ontology(
    parts: Parts, scope: Scope, source: str | Mapping[str, Any], replace: bool = False
) -> ImportReport:
    """Adds and changes what the source names; with `replace` what it does not name goes."""
    wanted = read_ontology(source)

    def decide(known: KnownTerms) -> TermChanges:
        return compare(known.terms, wanted, replace_all=replace)

    changes = await change(
        parts, scope, "imported", "ontology", decide, lambda: parts.store.terms.all(scope.project_id)
    )
    return changes.report


async def terms(
    parts: Parts, scope: Scope, search: str | None = None, kind: TermKind | None = None, limit: int = 100
) -> list[Term]:
    if search is not None:
        search = checked_text("search", search, MAX_NAME).strip()
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_TERMS:
        raise InvalidInput("limit", f"{limit!r} is not a number from 1 to {MAX_TERMS:,}")
    return await parts.store.terms.listed(scope.project_id, search, checked_kind(kind), limit)


async def put_term(parts: Parts, scope: Scope, term: Term) -> Term:
    """Adds it, or puts it in the place of the one of its kind and name. Returns it as it is kept."""
    wanted = checked_term("term", term)

    def decide(known: KnownTerms) -> TermChanges:
        changes = compare([old for old in known.terms if old.id == wanted.id], [wanted], replace_all=False)
        if changes.report.added and known.count >= MAX_TERMS:
            raise InvalidInput("term", f"the project has {known.count:,} terms, as many as it may; drop one first")
        return changes

    await change(
        parts, scope, "defined", wanted.ref, decide, lambda: parts.store.terms.of_name(scope.project_id, wanted.name)
    )
    return wanted


async def drop_term(parts: Parts, scope: Scope, name: str, kind: TermKind | None = None) -> None:
    """Removes it, a table with its columns, a column with its values. Of several kinds of one name say which."""
    name, kind = checked_text("name", name, MAX_NAME).strip(), checked_kind(kind)

    def decide(known: KnownTerms) -> TermChanges:
        found = [term for term in known.terms if term.name == name and kind in (None, term.kind)]
        owner = only(name, found)
        gone = [term for term in known.terms if belongs_to(term, owner)]
        return TermChanges(drop=gone, report=ImportReport(removed=len(gone)))

    subject = f"{kind or 'term'}:{name}"
    await change(parts, scope, "dropped", subject, decide, lambda: parts.store.terms.of_name(scope.project_id, name))


def only(name: str, found: list[Term]) -> Term:
    if not found:
        raise NotFound(f"the ontology has no term {name!r}")
    if len(found) > 1:
        kinds = " and a ".join(term.kind for term in found)
        raise InvalidInput("kind", f"{name!r} is a {kinds}; say which")
    return found[0]


def checked_kind(kind: TermKind | None) -> TermKind | None:
    if kind is not None and kind not in KINDS:
        raise InvalidInput("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
    return kind


async def change(
    parts: Parts,
    scope: Scope,
    action: str,
    subject: str,
    decide: Callable[[KnownTerms], TermChanges],
    read: Callable[[], Awaitable[KnownTerms]],
) -> TermChanges:
    """Decides on what is there and writes it, again if another was faster."""
    holder = Holder(scope.project_id, scope.project, None)
    attempt = 1
    while True:
        known = await read()
        changes = decide(known)
        if not changes.put and not changes.drop:
            return changes
        try:
            deed = Deed(scope.user, action, subject, counted(changes.report))
            await parts.store.terms.write(holder, known.version, changes, deed, parts.clock.now())
        except Outdated:
            if attempt == TRIES:
                raise
            attempt += 1
        else:
            return changes


def counted(report: ImportReport) -> dict[str, int]:
    return {"added": report.added, "changed": report.changed, "removed": report.removed}
