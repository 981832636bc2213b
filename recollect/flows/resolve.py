"""Resolve: what terms mean to this user, here and now. One round trip reads all that may say so, for however many
terms; model/resolution.py decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.errors import InvalidInput
from recollect.flows.parts import Parts
from recollect.model.ontology import stem_of
from recollect.model.resolution import Resolution, resolve_terms
from recollect.model.scope import Scope
from recollect.model.text import checked_text

MAX_TERMS = 100
MAX_TERM = 200
MAX_DEFINITIONS = 1_000
MAX_DEFINITION = 10_000


async def resolve(
    parts: Parts, scope: Scope, terms: Sequence[str], definitions: Mapping[str, str] | None = None
) -> list[Resolution]:
    """One answer per term, in their order. `definitions` are this session's own, and win."""
    asked = checked_terms(terms)
    own = checked_definitions(definitions)

    stems = sorted({stem_of(term) for term in asked})
    told = await parts.store.terms.told(scope.id, scope.project_id, stems)

    found = resolve_terms(asked, own, told.user, told.project, told.terms)
    note_use(parts, scope, found)
    return found


def note_use(parts: Parts, scope: Scope, found: Sequence[Resolution]) -> None:
    for holder, tier in ((scope.id, "user"), (scope.project_id, "project")):
        parts.usage.note(holder, [said.memory for said in found if said.tier == tier and said.memory])


def checked_terms(terms: object) -> list[str]:
    if isinstance(terms, str | bytes | Mapping) or not isinstance(terms, Sequence):
        raise InvalidInput("terms", f"a {type(terms).__name__} is not a list of texts")
    if not terms:
        raise InvalidInput("terms", "give at least one term")
    if len(terms) > MAX_TERMS:
        raise InvalidInput("terms", f"{len(terms):,} at once; at most {MAX_TERMS}")
    return [checked_text(f"terms[{n}]", term, MAX_TERM) for n, term in enumerate(terms)]


def checked_definitions(definitions: object) -> dict[str, str]:
    if definitions is None:
        return {}
    if not isinstance(definitions, Mapping):
        raise InvalidInput("definitions", f"a {type(definitions).__name__} is not a mapping of terms to meanings")
    if len(definitions) > MAX_DEFINITIONS:
        raise InvalidInput("definitions", f"{len(definitions):,} at once; at most {MAX_DEFINITIONS:,}")
    return {
        checked_text("definitions", term, MAX_TERM): checked_text(f"definitions[{term!r}]", meaning, MAX_DEFINITION)
        for term, meaning in definitions.items()
    }
