"""Resolution: what a term means here, who says so, and what others say.

    session     1.0   a definition that came with the request
    user        its own confidence; below 0.4 it is asked last
    project     0.9   what the project was told
    ontology    0.8   what its tables, columns, values and glossary say

Pure: flows/resolve.py reads, this decides. A term is matched whole, by its stem: "active paying customers" is not taken
for "customers". Where the ontology has two things of one name it does not choose; both are candidates, and somebody
should be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.model.ids import MemoryId
from recollect.model.known import Tier
from recollect.model.memory import Memory
from recollect.model.ontology import Term, lookup_stems, own_stems, stem_of
from recollect.model.term import term_stem

SESSION, PROJECT, ONTOLOGY = 1.0, 0.9, 0.8  # confidence
WEAK = 0.4  # below it a user's memory no longer beats what the project knows
RANKED = ("glossary", "table", "column", "value", "relationship")  # which kind a word more likely means


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one tier says. `source` names the memory or the term; `refs` are the turns a memory rests on."""

    tier: Tier
    meaning: str
    confidence: float
    source: str
    refs: Sequence[str] = ()
    sql: str | None = None
    memory: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a term means, from the first tier that knows; `candidates` are what the others say, best first."""

    term: str
    meaning: str | None = None
    tier: Tier | None = None
    confidence: float = 0.0
    source: str | None = None
    refs: Sequence[str] = ()
    sql: str | None = None
    memory: MemoryId | None = None
    candidates: Sequence[Meaning] = ()
    why: str = "nobody has said what it means"

    @property
    def is_resolved(self) -> bool:
        return self.meaning is not None


def resolve_terms(
    terms: Iterable[str],
    definitions: Mapping[str, str],
    user_memories: Iterable[Memory],
    project_memories: Iterable[Memory],
    ontology_terms: Iterable[Term],
) -> list[Resolution]:
    """`resolve_term` for many: what each is compared with is sorted out once."""
    users, projects = by_stem(user_memories), by_stem(project_memories)
    known = defaultdict(list)
    for known_term in ontology_terms:
        for stem in lookup_stems(known_term):
            known[stem].append(known_term)
    return [
        resolve_term(term, definitions, users[stem], projects[stem], known[stem])
        for term, stem in ((term, stem_of(term)) for term in terms)
    ]


def resolve_used(
    stems: Sequence[str],
    definitions: Mapping[str, str],
    user_memories: Sequence[Memory],
    project_memories: Sequence[Memory],
    ontology_terms: Sequence[Term],
) -> list[Resolution]:
    """The terms that a question uses, and that the session or the ontology defines. What memories say of the others
    stands among the memories."""
    used = frozenset(stems)
    names = [*definitions, *(name for term in ontology_terms for name in (term.name, *term.synonyms))]
    once = {stem_of(name): name for name in reversed(names) if stem_of(name) in used}
    found = resolve_terms(once.values(), definitions, user_memories, project_memories, ontology_terms)
    own = sorted(found, key=lambda each: each.source is None or not each.source.endswith(f":{each.term}"))
    told = {each.source: each for each in reversed(own) if each.tier == "ontology"}
    return [each for each in found if each.tier == "session" or told.get(each.source) is each]


def by_stem(memories: Iterable[Memory]) -> defaultdict[str, list[Memory]]:
    made = defaultdict(list)
    for memory in memories:
        for stem in memory.terms:
            made[stem].append(memory)
    return made


def resolve_term(
    term: str,
    definitions: Mapping[str, str],
    user_memories: Iterable[Memory],
    project_memories: Iterable[Memory],
    ontology_terms: Iterable[Term],
) -> Resolution:
    stem = stem_of(term)
    session = [defined(said) for said in matching_definitions(term, definitions)]
    users = [remembered("user", memory, memory.confidence) for memory in ranked(user_memories, stem)]
    projects = [remembered("project", memory, PROJECT) for memory in ranked(project_memories, stem)]
    best, others = ontology_says(ontology_terms, term)

    sure = [said for said in users if said.confidence >= WEAK]
    weak = [said for said in users if said.confidence < WEAK]
    decided = [*session, *sure, *projects, *best, *weak]
    if not decided:
        return Resolution(term, candidates=others, why=undecided(others)) if others else Resolution(term)
    return resolved(term, decided[0], [*decided[1:], *others])


def resolved(term: str, first: Meaning, others: Sequence[Meaning]) -> Resolution:
    return Resolution(
        term=term,
        meaning=first.meaning,
        tier=first.tier,
        confidence=first.confidence,
        source=first.source,
        refs=first.refs,
        sql=first.sql,
        memory=first.memory,
        candidates=tuple(others),
        why=why(first, others),
    )


def matching_definitions(term: str, definitions: Mapping[str, str]) -> list[str]:
    """As written first; of several with one stem the last given."""
    same = [(name, said) for name, said in reversed(list(definitions.items())) if stem_of(name) == stem_of(term)]
    return [said for _, said in sorted(same, key=lambda pair: pair[0] != term)]


def defined(said: str) -> Meaning:
    return Meaning("session", said, SESSION, "session")


def ranked(memories: Iterable[Memory], stem: str) -> list[Memory]:
    """Learned as this term before merely found by it; then what is sure enough; then the newest."""
    found = [memory for memory in memories if stem in memory.terms and memory.status == "active"]
    newest = sorted(found, key=lambda memory: (memory.valid_from, memory.id), reverse=True)
    return sorted(newest, key=lambda memory: (term_stem(memory.key) != stem, memory.confidence < WEAK))


def remembered(tier: Tier, memory: Memory, confidence: float) -> Meaning:
    data = memory.data or {}
    sql = data.get("sql_hint") or data.get("defining_sql")
    return Meaning(
        tier=tier,
        meaning=memory.value,
        confidence=confidence,
        source=memory.ref,
        refs=tuple(memory.refs),
        sql=sql if isinstance(sql, str) else None,
        memory=memory.id,
    )


def ontology_says(terms: Iterable[Term], asked: str) -> tuple[list[Meaning], list[Meaning]]:
    """What the ontology means by it, none if it has several equally good ones; and what else it could mean."""
    stem = stem_of(asked)
    found = sorted(
        ((closeness(term, asked, stem), term.name, term) for term in terms if stem in lookup_stems(term)),
        key=lambda entry: entry[:2],
    )
    said = [Meaning("ontology", term.meaning, ONTOLOGY, term.ref, sql=term.sql) for _, _, term in found]
    is_tied = len(found) > 1 and found[0][0] == found[1][0]
    return ([], said) if is_tied else (said[:1], said[1:])


def closeness(term: Term, asked: str, stem: str) -> tuple[int, bool, bool]:
    """Less is nearer: the kind, then the name itself, then its stem, then a synonym."""
    is_name = term.name.lower() == asked.strip().lower()
    return RANKED.index(term.kind), not is_name, not is_name and stem not in own_stems(term)


def why(first: Meaning, others: Sequence[Meaning]) -> str:
    """One line for a person."""
    overruled = list(dict.fromkeys(said.tier for said in others if said.meaning != first.meaning))
    weak = next((said for said in others if said.tier == "user" and said.confidence < WEAK), None)
    after = f"; the {' and the '.join(overruled)} would say otherwise" if overruled else ""
    if weak and first.tier in ("project", "ontology"):
        after += f" (the user's own is no longer sure: {weak.confidence:.2f})"
    return told_by(first) + after


def told_by(said: Meaning) -> str:
    origin = f" ({', '.join(said.refs)})" if said.refs else ""
    match said.tier:
        case "session":
            return "defined in this session"
        case "user":
            doubt = ", which is not sure, but nobody else knows" if said.confidence < WEAK else ""
            return f"the user's own meaning{origin}, confidence {said.confidence:.2f}{doubt}"
        case "project":
            return f"what the project means by it{origin}"
        case "ontology":
            return f"the ontology has it: {said.source}"


def undecided(others: Sequence[Meaning]) -> str:
    named = ", ".join(said.source for said in others[:5]) + (", …" if len(others) > 5 else "")
    return f"the ontology has more than one: {named}; ask which is meant"
