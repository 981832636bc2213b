"""Terms and data sources in the store, and the one round trip that `resolve` needs: the user's memories, the project's,
and the project's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.store.database import Row, Statement, StorePart
from recollect.store.memories import Holder, advance_statements, as_memory, audit_statement
from recollect.store.wire_format import encode_json, to_row
from recollect.values.audit import AuditEntry
from recollect.values.data_source import DataSource, ServerIdentity
from recollect.values.memory import Memory
from recollect.values.resolution import RANKED
from recollect.values.scope import ScopeId
from recollect.values.term import Term, TermChanges, list_lookup_stems, stem_name

ALIKE = 0.45  # trigram similarity of a name to a misspelt one
MOST_MEMORIES = 1_000
MOST_TERMS = 20  # of one stem: more than one is too many already


@dataclass(frozen=True, slots=True)
class KnownTerms:
    """Terms as of `version`, and how many the project has."""

    version: int
    terms: Sequence[Term]
    count: int


@dataclass(frozen=True, slots=True)
class TermMeanings:
    """Everything that may say what some terms mean."""

    user: Sequence[Memory]
    project: Sequence[Memory]
    terms: Sequence[Term]


class TermStore(StorePart):
    async def load_all(self, scope: ScopeId) -> KnownTerms:
        version, rows = await self._database.run(scope, ("holder.version", {}), ("term.all", {}))
        return KnownTerms(version[0][0] if version else 0, [as_term(row) for row in rows], len(rows))

    async def load_name(self, scope: ScopeId, name: str) -> KnownTerms:
        """Return the terms of this name, of any kind, and the columns and values below them."""
        version, rows, [(count,)] = await self._database.run(
            scope, ("holder.version", {}), ("term.of_name", {"name": name}), ("term.count", {})
        )
        return KnownTerms(version[0][0] if version else 0, [as_term(row) for row in rows], count)

    async def list_terms(self, scope: ScopeId, search: str | None, kind: str | None, limit: int) -> list[Term]:
        """Return terms by name, or those that match `search`, best first."""
        parameters: dict[str, Any] = {"kind": kind, "limit": limit}
        statement: Statement = ("term.list", parameters)
        if search is not None:
            words = search.lower().split()
            also = {"search": search, "stem": stem_name(search), "words": words, "least": ALIKE}
            statement = ("term.search", parameters | also)
        [rows] = await self._database.run(scope, statement)
        return [as_term(row) for row in rows]

    async def load_meanings(self, user: ScopeId, project: ScopeId, stems: Sequence[str]) -> TermMeanings:
        """Return what both scopes know about some stems. The transaction opens the user's scope, then the project's."""
        users, _, projects, found = await self._database.run(
            user,
            meanings_statement(stems),
            ("server.open_scope", {"scope": project}),
            meanings_statement(stems, project),
            terms_statement(project, stems),
        )
        return TermMeanings(
            user=[as_memory(row) for row in users],
            project=[as_memory(row) for row in projects],
            terms=[as_term(row) for row in found],
        )

    async def write(self, holder: Holder, version: int, changes: TermChanges, entry: AuditEntry, now: datetime) -> None:
        """Write everything if nothing has changed since `version`; otherwise write nothing and raise Outdated."""
        statements = term_statements(holder, version, changes, now)
        await self._database.run(holder.id, *statements, audit_statement(entry, now), write=True)


def term_statements(holder: Holder, version: int, changes: TermChanges, now: datetime) -> list[Statement]:
    """Return the statements that write the changes, in a transaction that fails if `version` is no longer current."""
    if not changes.put and not changes.drop:
        return []
    statements = advance_statements(holder, version, now)
    if changes.put:
        rows = [{**to_row(term), "terms": list_lookup_stems(term)} for term in changes.put]
        statements.append(("term.put", {"terms": encode_json(rows), "now": now}))
    if changes.drop:
        names = [{"name": term.name, "kind": term.kind} for term in changes.drop]
        statements.append(("term.drop", {"terms": encode_json(names)}))
    return statements


def meanings_statement(stems: Sequence[str], project: ScopeId | None = None) -> Statement:
    """Return the statement for memories under some stems: the user's, or those of a project whose scope is open."""
    whose = {} if project is None else {"scope": project}
    return "memory.resolve", {**whose, "terms": list(stems), "limit": MOST_MEMORIES}


def terms_statement(project: ScopeId, stems: Sequence[str]) -> Statement:
    """Return the statement for ontology terms under some stems, in a transaction that has opened the project's
    scope."""
    return "term.resolve", {"scope": project, "terms": list(stems), "kinds": list(RANKED), "most": MOST_TERMS}


def as_term(row: Row) -> Term:
    name, kind, description, synonyms, sql, data = row
    return Term(name, kind, description, tuple(synonyms), sql, data)


MOST_ASKERS = 10


class DataSourceStore(StorePart):
    async def list_sources(self, project: ScopeId) -> list[DataSource]:
        """Return all sources by name, without catalogs and models."""
        return [DataSource(*row) for row in await self._database.read(project, "data_source.list")]

    async def find(self, project: ScopeId, name: str) -> DataSource | None:
        rows = await self._database.read(project, "data_source.find", name=name)
        return DataSource(*rows[0]) if rows else None

    async def put(
        self,
        project: ScopeId,
        source: DataSource,
        entries: Sequence[AuditEntry],
        now: datetime,
        terms: Sequence[Statement] = (),
    ) -> DataSource:
        """Store a source together with the changes of its terms, in one transaction."""
        objects = {name: encode_json(getattr(source, name)) for name in ("catalog", "model", "access")}
        row = {**to_row(source), **objects, "now": now}
        audit = (audit_statement(entry, now) for entry in entries)
        rows, *_ = await self._database.run(project, ("data_source.put", row), *terms, *audit, write=True)
        return DataSource(*rows[0])

    async def drop(self, project: ScopeId, name: str, entry: AuditEntry, now: datetime) -> bool:
        rows, _ = await self._database.run(
            project, ("data_source.drop", {"name": name}), audit_statement(entry, now), write=True
        )
        return bool(rows)

    async def server_identity(self) -> ServerIdentity:
        """Return which server and database the store is."""
        [(system, database)] = await self._database.ask("server.identity")
        return ServerIdentity(system, database)

    async def count_askers(self, project: ScopeId, digest: bytes, asker: ScopeId, now: datetime) -> int:
        """Record that somebody asked a question of this shape; return how many users have, up to a few."""
        who = {"digest": digest, "asker": asker, "most": MOST_ASKERS, "now": now}
        [(count,)] = await self._database.write(project, "shape.ask", **who)
        return int(count)
