"""What words mean: the terms of a project, from a file or one by one, the databases that it queries, and `resolve`.

All of it belongs to the project; the caller checks permissions. A change reads what is stored, compares, and writes the
difference with one audit entry; nothing is written if nothing differs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from recollect.errors import InvalidInput, NotFound, Outdated
from recollect.flows.dependencies import Dependencies
from recollect.flows.reason import rewrite_followup
from recollect.recall.lexemes import lexemes
from recollect.store.memories import Holder
from recollect.store.terms import KnownTerms, term_statements
from recollect.values.audit import AuditEntry
from recollect.values.data_source import DataSource, check_data_source
from recollect.values.query import check_choice, check_range
from recollect.values.resolution import Brief, Briefing, Resolution, resolve_terms
from recollect.values.scope import Scope
from recollect.values.sensitive_data import mask_text
from recollect.values.term import (
    KINDS,
    MAX_NAME,
    MAX_TERMS,
    ImportReport,
    Term,
    TermChanges,
    TermKind,
    check_term,
    compare_terms,
    find_parts,
    is_part_of,
    stem_name,
)
from recollect.values.term_file import read_ontology
from recollect.values.text import check_text

T = TypeVar("T")
TRIES = 8


async def import_ontology(
    deps: Dependencies, scope: Scope, source: str | Mapping[str, Any], replace: bool = False
) -> ImportReport:
    """Add and change the source's terms; with `replace` remove all others."""
    wanted = read_ontology(source)

    def decide(known: KnownTerms) -> TermChanges:
        return compare_terms(known.terms, wanted, replace_all=replace)

    return (await change_ontology(deps, scope, "imported", "ontology", None, decide)).report


async def list_terms(
    deps: Dependencies, scope: Scope, search: str | None = None, kind: TermKind | None = None, limit: int = 100
) -> list[Term]:
    if search is not None:
        search = check_text("search", search, MAX_NAME).strip()
    check_range("limit", limit, 1, MAX_TERMS)
    check_choice("kind", kind, KINDS, optional=True)
    return await deps.store.terms.list_terms(scope.project_id, search, kind, limit)


async def put_term(deps: Dependencies, scope: Scope, term: Term) -> Term:
    """Add the term, or replace the one of its kind and name; return it as stored."""
    wanted = check_term("term", term)

    def decide(known: KnownTerms) -> TermChanges:
        changes = compare_terms([old for old in known.terms if old.id == wanted.id], [wanted], replace_all=False)
        if changes.report.added and known.count >= MAX_TERMS:
            raise InvalidInput("term", f"the project has {known.count:,} terms, as many as it may; drop one first")
        return changes

    await change_ontology(deps, scope, "defined", wanted.ref, wanted.name, decide)
    return wanted


async def drop_term(deps: Dependencies, scope: Scope, name: str, kind: TermKind | None = None) -> None:
    """Remove a term: a table with its columns, a column with its values. `kind` is needed if several have this name."""
    name = check_text("name", name, MAX_NAME).strip()
    check_choice("kind", kind, KINDS, optional=True)

    def decide(known: KnownTerms) -> TermChanges:
        found = [term for term in known.terms if term.name == name and kind in (None, term.kind)]
        if not found:
            raise NotFound(f"the ontology has no term {name!r}")
        if len(found) > 1:
            kinds = " and a ".join(term.kind for term in found)
            raise InvalidInput("kind", f"{name!r} is a {kinds}; say which")
        gone = [term for term in known.terms if is_part_of(term, found[0])]
        return TermChanges(drop=gone, report=ImportReport(removed=len(gone)))

    await change_ontology(deps, scope, "dropped", f"{kind or 'term'}:{name}", name, decide)


async def change_ontology(
    deps: Dependencies,
    scope: Scope,
    action: str,
    subject: str,
    name: str | None,
    decide: Callable[[KnownTerms], TermChanges],
) -> TermChanges:
    """Decide on what is stored, of this name if one is given, and write the changes; repeat if another writer was
    faster."""
    holder = Holder(scope.project_id, scope.project, None)

    async def change() -> TermChanges:
        terms = deps.store.terms
        known = await (terms.load_all(scope.project_id) if name is None else terms.load_name(scope.project_id, name))
        changes = decide(known)
        if changes.put or changes.drop:
            entry = AuditEntry(scope.user, action, subject, count_changes(changes.report))
            await terms.write(holder, known.version, changes, entry, deps.clock.now())
        return changes

    return await repeat_outdated(change)


async def repeat_outdated(change: Callable[[], Awaitable[T]]) -> T:
    """Run the change; run it again if another writer was faster."""
    for _ in range(TRIES - 1):
        with suppress(Outdated):
            return await change()
    return await change()


def count_changes(report: ImportReport) -> dict[str, int]:
    return {"added": report.added, "changed": report.changed, "removed": report.removed}


async def get_data_source(deps: Dependencies, scope: Scope, name: str) -> DataSource:
    found = await deps.store.data_sources.find(scope.project_id, name)
    if found is None:
        raise NotFound(f"project {scope.project!r} has no data source {name!r}")
    return found


async def put_data_source(
    deps: Dependencies,
    scope: Scope,
    source: DataSource,
    terms: Mapping[str, Any] | None = None,
    hidden: Collection[tuple[TermKind, str]] = (),
) -> DataSource:
    """Store a source and, in the same transaction, the changes of its terms: `terms`, in the form of an ontology file,
    are added or changed; `hidden` tables and columns are removed with their parts."""
    source = check_data_source(source)
    wanted = read_ontology(terms) if terms else []
    if deps.settings.mask_sensitive:
        source = replace(source, catalog=mask_catalog(source.catalog))
    entry = AuditEntry(scope.user, "connected", f"data source:{source.name}", {"fingerprint": source.fingerprint})
    holder = Holder(scope.project_id, scope.project, None)

    async def change() -> DataSource:
        known = await deps.store.terms.load_all(scope.project_id)
        changes = plan_term_changes(known.terms, wanted, hidden)
        entries = [entry]
        if changes.put or changes.drop:
            entries.append(AuditEntry(scope.user, "imported", "ontology", count_changes(changes.report)))
        now = deps.clock.now()
        written = term_statements(holder, known.version, changes, now)
        return await deps.store.data_sources.put(scope.project_id, source, entries, now, written)

    return await repeat_outdated(change)


def plan_term_changes(
    known: Sequence[Term], wanted: Sequence[Term], hidden: Collection[tuple[TermKind, str]]
) -> TermChanges:
    """Return the changes that add the wanted terms and remove the hidden ones. A wanted column stays while its hidden
    values go."""
    stays = {(term.kind, term.name) for term in wanted}
    gone = [term for term in find_parts(known, hidden) if (term.kind, term.name) not in stays]
    removed = {term.id for term in gone}
    changes = compare_terms([term for term in known if term.id not in removed], wanted, replace_all=False)
    return replace(changes, drop=gone, report=replace(changes.report, removed=len(gone)))


def mask_catalog(catalog: Any) -> Any:
    """Return a catalog without sensitive data: sensitive sample values are dropped, because a marker is no value of the
    column; other texts are masked."""
    if isinstance(catalog, Mapping):
        return {name: mask_catalog(part) for name, part in catalog.items()}
    if isinstance(catalog, list | tuple):
        return [mask_catalog(part) for part in catalog if not isinstance(part, str) or mask_text(part) == part]
    return mask_text(catalog) if isinstance(catalog, str) else catalog


async def drop_data_source(deps: Dependencies, scope: Scope, name: str) -> None:
    await get_data_source(deps, scope, name)
    entry = AuditEntry(scope.user, "disconnected", f"data source:{name}", {})
    await deps.store.data_sources.drop(scope.project_id, name, entry, deps.clock.now())


MOST_RESOLVED = 100
MAX_TERM_CHARS = 200
MAX_DEFINITIONS = 1_000
MAX_DEFINITION = 10_000


async def resolve(
    deps: Dependencies, scope: Scope, terms: Sequence[str], definitions: Mapping[str, str] | None = None
) -> list[Resolution]:
    """Return one resolution per term, in their order. `definitions` are this session's own and win."""
    asked = check_terms(terms)
    own = check_definitions(definitions)
    if not deps.settings.enabled:  # definitions in the request itself still count
        return resolve_terms(asked, own, (), (), ())

    stems = sorted({stem_name(term) for term in asked})
    told = await deps.store.terms.load_meanings(scope.id, scope.project_id, stems)

    found = resolve_terms(asked, own, told.user, told.project, told.terms)
    count_resolution_use(deps, scope, found)
    return found


def count_resolution_use(deps: Dependencies, scope: Scope, found: Sequence[Resolution]) -> None:
    for holder, tier in ((scope.id, "user"), (scope.project_id, "project")):
        deps.usage.add(holder, [said.memory for said in found if said.tier == tier and said.memory])


def check_terms(terms: object) -> list[str]:
    if isinstance(terms, str | bytes | Mapping) or not isinstance(terms, Sequence):
        raise InvalidInput("terms", f"must be a list of strings, got {type(terms).__name__}")
    if not terms:
        raise InvalidInput("terms", "give at least one term")
    if len(terms) > MOST_RESOLVED:
        raise InvalidInput("terms", f"{len(terms):,} at once; at most {MOST_RESOLVED}")
    return [check_text(f"terms[{n}]", term, MAX_TERM_CHARS) for n, term in enumerate(terms)]


def check_definitions(definitions: object) -> dict[str, str]:
    if definitions is None:
        return {}
    if not isinstance(definitions, Mapping):
        raise InvalidInput("definitions", f"must be a mapping of terms to meanings, got {type(definitions).__name__}")
    if len(definitions) > MAX_DEFINITIONS:
        raise InvalidInput("definitions", f"{len(definitions):,} at once; at most {MAX_DEFINITIONS:,}")
    return {
        check_text("definitions", term, MAX_TERM_CHARS): check_text(f"definitions[{term!r}]", meaning, MAX_DEFINITION)
        for term, meaning in definitions.items()
    }


async def brief(deps: Dependencies, scope: Scope, wanted: Brief) -> Briefing:
    """Return what an application needs before it answers a question."""
    asked = check_terms(wanted.terms) if wanted.terms else []
    own = check_definitions(wanted.definitions)
    if not deps.settings.enabled:
        return Briefing(wanted.question, resolved=resolve_terms(asked, own, (), (), ()))

    stems = sorted({stem_name(term) for term in asked})
    read, told = await deps.store.question_context.read_briefing(scope, wanted, stems, deps.clock.now())

    previous = [turn.text for turn in read.turns if turn.role == "user"]
    alone = await rewrite_followup(deps.reasoner, wanted.question, previous)
    resolved, facts = None, read.facts
    if alone == wanted.question:
        resolved = resolve_terms(asked, own, told.user, told.project, told.terms)
        count_resolution_use(deps, scope, resolved)
    elif wanted.facts and (words := lexemes(alone)):
        facts = await deps.store.question_context.find_facts(scope.project_id, words, wanted.facts)
    deps.usage.add(scope.project_id, [memory.id for memory in facts])
    return replace(read, standalone=alone, resolved=resolved, facts=facts)
