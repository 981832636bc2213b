"""Resolve terms, and read a briefing. One round trip reads everything about the terms, however many;
values/resolution.py decides. A question that follows up another is looked up again by the caller, once it is
rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.errors import InvalidInput
from recollect.flows.dependencies import Dependencies
from recollect.flows.reason import rewrite_followup
from recollect.recall.lexemes import lexemes
from recollect.values.resolution import Brief, Briefing, Resolution, resolve_terms
from recollect.values.scope import Scope
from recollect.values.term import stem_name
from recollect.values.text import check_text

MAX_TERMS = 100
MAX_TERM = 200
MAX_DEFINITIONS = 1_000
MAX_DEFINITION = 10_000


async def resolve(
    deps: Dependencies, scope: Scope, terms: Sequence[str], definitions: Mapping[str, str] | None = None
) -> list[Resolution]:
    """Return one resolution per term, in their order. `definitions` are this session's own and win."""
    asked = check_terms(terms)
    own = check_definitions(definitions)

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
    if len(terms) > MAX_TERMS:
        raise InvalidInput("terms", f"{len(terms):,} at once; at most {MAX_TERMS}")
    return [check_text(f"terms[{n}]", term, MAX_TERM) for n, term in enumerate(terms)]


def check_definitions(definitions: object) -> dict[str, str]:
    if definitions is None:
        return {}
    if not isinstance(definitions, Mapping):
        raise InvalidInput("definitions", f"must be a mapping of terms to meanings, got {type(definitions).__name__}")
    if len(definitions) > MAX_DEFINITIONS:
        raise InvalidInput("definitions", f"{len(definitions):,} at once; at most {MAX_DEFINITIONS:,}")
    return {
        check_text("definitions", term, MAX_TERM): check_text(f"definitions[{term!r}]", meaning, MAX_DEFINITION)
        for term, meaning in definitions.items()
    }


async def brief(deps: Dependencies, scope: Scope, wanted: Brief) -> Briefing:
    """Return what an application needs before it answers a question."""
    asked = check_terms(wanted.terms) if wanted.terms else []
    own = check_definitions(wanted.definitions)

    stems = sorted({stem_name(term) for term in asked})
    read = await deps.store.question_context.read_briefing(scope, wanted, stems, deps.clock.now())

    previous = [turn.text for turn in read.turns if turn.role == "user"]
    alone = await rewrite_followup(deps.reasoner, wanted.question, previous)
    resolved, facts = None, read.facts
    if alone != wanted.question and wanted.facts:
        words = lexemes(alone)
        facts = await deps.store.question_context.find_facts(scope.project_id, words, wanted.facts) if words else ()
    if alone == wanted.question:
        resolved = resolve_terms(asked, own, read.told.user, read.told.project, read.told.terms)
        count_resolution_use(deps, scope, resolved)
    deps.usage.add(scope.project_id, [memory.id for memory in facts])
    return Briefing(alone, read.turns, read.own, read.shared, resolved, read.is_summarized, facts)


def resolve_definitions(terms: Sequence[str], definitions: Mapping[str, str] | None) -> list[Resolution]:
    """Resolve terms while memory is switched off: definitions in the request itself still count."""
    return resolve_terms(check_terms(terms), check_definitions(definitions), (), (), ())


def brief_without_memory(wanted: Brief) -> Briefing:
    """Return a briefing while memory is switched off."""
    found = resolve_definitions(wanted.terms, wanted.definitions) if wanted.terms else []
    return Briefing(wanted.question, resolved=found)
