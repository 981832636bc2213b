"""Switched off: what the verbs answer while MEMORY_ENABLED is 0. Nothing is remembered, and each answer says so. What
was said is still logged, and can be read, exported and forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.flows.resolve import checked_definitions, checked_terms
from recollect.model.briefing import Brief, Briefing
from recollect.model.ids import RequestId, uuid7
from recollect.model.resolution import Resolution, resolve_terms
from recollect.model.search import Context, Query, Recall

NOTE = "memory is switched off (MEMORY_ENABLED); nothing is recalled"


def recall(query: Query) -> Recall:
    return Recall(RequestId(uuid7()), query, (), 0, {}, "session", None, "none", {}, (NOTE,))


def context(query: Query) -> Context:
    return Context(recall(query), "", (), 0)


def resolve(terms: Sequence[str], definitions: Mapping[str, str] | None) -> list[Resolution]:
    """What the request itself defines is no memory, and counts."""
    return resolve_terms(checked_terms(terms), checked_definitions(definitions), (), (), ())


def brief(wanted: Brief) -> Briefing:
    found = resolve(wanted.terms, wanted.definitions) if wanted.terms else []
    return Briefing(wanted.question, resolved=found)
