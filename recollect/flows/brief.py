"""Brief: what a host is to know before it goes about a question. One round trip, because each costs more than what it
reads; the words are looked up as they were asked, and a question that follows another up is looked up again by its
caller, once it stands alone."""

from __future__ import annotations

from recollect.flows.parts import Parts
from recollect.flows.resolve import checked_definitions, checked_terms, note_use
from recollect.model.briefing import Brief, Briefing
from recollect.model.followup import followup
from recollect.model.ontology import stem_of
from recollect.model.resolution import resolve_terms
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS


async def brief(parts: Parts, scope: Scope, wanted: Brief) -> Briefing:
    asked = checked_terms(wanted.terms) if wanted.terms else []
    own = checked_definitions(wanted.definitions)

    stems = sorted({stem_of(term) for term in asked})
    read = await parts.store.background.read(
        scope.id, scope.project_id, scope.session, wanted, stems, parts.clock.now()
    )

    previous = [turn.text for turn in read.turns if turn.role == "user"]
    alone = followup(wanted.question, previous).text[:MAX_QUERY_CHARS]
    resolved = None
    if alone == wanted.question:
        resolved = resolve_terms(asked, own, read.told.user, read.told.project, read.told.terms)
        note_use(parts, scope, resolved)
    return Briefing(alone, read.turns, read.own, read.shared, resolved, read.is_summarized)
