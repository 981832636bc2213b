"""The store's part for the ontology, and the one round trip that `resolve` reads: a user's memories, the project's, and
the project's terms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.model.audit import Deed
from recollect.model.ids import ScopeId
from recollect.model.memory import Memory
from recollect.model.ontology import Term, TermChanges, lookup_stems, stem_of
from recollect.model.resolution import RANKED
from recollect.store.database import Database, Row, Statement
from recollect.store.memories import Holder, as_memory, audited

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
class Told:
    """All that may say what some terms mean."""

    user: Sequence[Memory]
    project: Sequence[Memory]
    terms: Sequence[Term]


class TermStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self, scope: ScopeId) -> KnownTerms:
        version, rows = await self._database.run(scope, ("holder.version", {}), ("term.all", {}))
        return KnownTerms(version[0][0] if version else 0, [as_term(row) for row in rows], len(rows))

    async def of_name(self, scope: ScopeId, name: str) -> KnownTerms:
        """Those of this name, of any kind, and the columns and values that belong to them."""
        version, rows, [(count,)] = await self._database.run(
            scope, ("holder.version", {}), ("term.of_name", {"name": name}), ("term.count", {})
        )
        return KnownTerms(version[0][0] if version else 0, [as_term(row) for row in rows], count)

    async def listed(self, scope: ScopeId, search: str | None, kind: str | None, limit: int) -> list[Term]:
        """By name, or those that answer to `search`, best first."""
        parameters: dict[str, Any] = {"kind": kind, "limit": limit}
        statement: Statement = ("term.list", parameters)
        if search is not None:
            words = search.lower().split()
            also = {"search": search, "stem": stem_of(search), "words": words, "least": ALIKE}
            statement = ("term.search", parameters | also)
        [rows] = await self._database.run(scope, statement)
        return [as_term(row) for row in rows]

    async def told(self, user: ScopeId, project: ScopeId, stems: Sequence[str]) -> Told:
        """What both scopes know of some stems. The transaction opens the user's scope, then the project's."""
        users, _, projects, found = await self._database.run(
            user,
            meanings_by(stems),
            ("server.open_scope", {"scope": project}),
            meanings_by(stems, project),
            terms_by(project, stems),
        )
        return Told(
            user=[as_memory(row) for row in users],
            project=[as_memory(row) for row in projects],
            terms=[as_term(row) for row in found],
        )

    async def write(self, holder: Holder, version: int, changes: TermChanges, deed: Deed, now: datetime) -> None:
        """All of it, if nothing has changed since `version` was read; otherwise nothing, and Outdated is raised."""
        who = {"project": holder.project, "user": holder.user, "version": version, "now": now}
        statements: list[Statement] = [("holder.advance", who)]
        if changes.put:
            rows = [term_json(term) for term in changes.put]
            statements.append(("term.put", {"terms": json.dumps(rows), "now": now}))
        if changes.drop:
            names = [{"name": term.name, "kind": term.kind} for term in changes.drop]
            statements.append(("term.drop", {"terms": json.dumps(names)}))
        await self._database.run(holder.id, *statements, audited([deed], now), write=True)


def meanings_by(stems: Sequence[str], project: ScopeId | None = None) -> Statement:
    """The memories under some stems: the user's, or those of a project whose scope the transaction has opened."""
    whose = {} if project is None else {"scope": project}
    return "memory.resolve", {**whose, "terms": list(stems), "limit": MOST_MEMORIES}


def terms_by(project: ScopeId, stems: Sequence[str]) -> Statement:
    """What the ontology has under some stems; within a transaction that has opened the project's scope."""
    return "term.resolve", {"scope": project, "terms": list(stems), "kinds": list(RANKED), "most": MOST_TERMS}


def as_term(row: Row) -> Term:
    name, kind, description, synonyms, sql, data = row
    return Term(name, kind, description, tuple(synonyms), sql, data)


def term_json(term: Term) -> dict[str, Any]:
    return {
        "name": term.name,
        "kind": term.kind,
        "terms": list(lookup_stems(term)),
        "description": term.description,
        "synonyms": list(term.synonyms),
        "sql": term.sql,
        "data": dict(term.data),
    }
