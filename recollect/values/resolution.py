"""Resolution: what a term means, from which source, and what other sources say; and the briefing that an application
reads before it answers.

    session     1.0   a definition in the request
    user        its own confidence; below 0.4 it comes last
    project     0.9   what the project was taught
    ontology    0.8   its tables, columns, values and glossary

Pure: flows/ontology.py reads, this decides. A term is matched as a whole, by its stem: "active paying customers" does
not match "customers". If the ontology has two things of one name, both are candidates and the user should be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from recollect.values.conversation import Turn
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.scope import MemoryId, Tier
from recollect.values.term import Term, list_lookup_stems, list_own_stems, stem_name
from recollect.values.text import stem_term

SESSION, PROJECT, ONTOLOGY = 1.0, 0.9, 0.8  # confidence
UNKNOWN = "no meaning is known"
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
    # Whose semantic model says so; for hosts, not part of the public shape.
    data_source: str | None = field(default=None, metadata={"internal": True})


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a term means, from the first tier that knows; `candidates` are the other meanings, best first."""

    term: str
    meaning: str | None = None
    tier: Tier | None = None
    confidence: float = 0.0
    source: str | None = None
    refs: Sequence[str] = ()
    sql: str | None = None
    memory: MemoryId | None = None
    data_source: str | None = field(default=None, metadata={"internal": True})
    candidates: Sequence[Meaning] = ()
    why: str = UNKNOWN

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
    """Resolve many terms; memories and ontology terms are grouped once."""
    users, projects = group_by_stem(user_memories), group_by_stem(project_memories)
    known = defaultdict(list)
    for known_term in ontology_terms:
        for stem in list_lookup_stems(known_term):
            known[stem].append(known_term)
    return [
        resolve_term(term, definitions, users[stem], projects[stem], known[stem])
        for term, stem in ((term, stem_name(term)) for term in terms)
    ]


def resolve_used(
    stems: Sequence[str],
    definitions: Mapping[str, str],
    user_memories: Sequence[Memory],
    project_memories: Sequence[Memory],
    ontology_terms: Sequence[Term],
) -> list[Resolution]:
    """Return the terms that a question uses and that the session or the ontology defines. Other terms are listed among
    the memories."""
    names = [*definitions, *(name for term in ontology_terms for name in (term.name, *term.synonyms))]
    by_stem = {stem_name(name): name for name in reversed(names)}
    used = [by_stem[stem] for stem in filter(frozenset(stems).__contains__, by_stem)]
    found = resolve_terms(used, definitions, user_memories, project_memories, ontology_terms)
    # Of several names of one ontology term, the term's own.
    own = sorted(found, key=lambda each: not str(each.source).endswith(f":{each.term}"))
    once = {each.source: each for each in reversed(own) if each.tier == "ontology"}
    return [each for each in found if each.tier == "session" or once.get(each.source) is each]


def group_by_stem(memories: Iterable[Memory]) -> defaultdict[str, list[Memory]]:
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
    """Resolve one term, given the memories and ontology terms that it may mean."""
    stem = stem_name(term)
    # Matching definitions, exact spelling first; of several with one stem the last one given.
    same = [(name, said) for name, said in reversed(list(definitions.items())) if stem_name(name) == stem]
    same.sort(key=lambda pair: pair[0] != term)
    session = [Meaning("session", said, SESSION, "session") for _, said in same]
    users = [build_memory_meaning("user", memory, memory.confidence) for memory in rank_memories(user_memories, stem)]
    projects = [build_memory_meaning("project", memory, PROJECT) for memory in rank_memories(project_memories, stem)]
    best, others = find_ontology_meanings(ontology_terms, term)

    # A meaning of the user's that has become weak comes last.
    decided = sorted([*session, *users, *projects, *best], key=lambda each: each.confidence < WEAK)
    if not decided:
        return Resolution(term, candidates=tuple(others), why=explain_ambiguity(others))
    first, rest = decided[0], (*decided[1:], *others)
    found = {each.name: getattr(first, each.name) for each in fields(Meaning)}
    return Resolution(term, **found, candidates=rest, why=explain_choice(first, rest))


def rank_memories(memories: Iterable[Memory], stem: str) -> list[Memory]:
    """Return the active memories: those learned under this term first; then confident ones; then the newest."""
    found = [memory for memory in memories if memory.status == "active"]
    newest = sorted(found, key=lambda memory: (memory.valid_from, memory.id), reverse=True)
    return sorted(newest, key=lambda memory: (stem_term(memory.key) != stem, memory.confidence < WEAK))


def build_memory_meaning(tier: Tier, memory: Memory, confidence: float) -> Meaning:
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


def find_ontology_meanings(terms: Iterable[Term], asked: str) -> tuple[list[Meaning], list[Meaning]]:
    """Return the ontology's meaning, none if several are equally good; and its other possible meanings."""
    stem = stem_name(asked)
    found = sorted(
        ((rank_closeness(term, asked, stem), term.name, term) for term in terms), key=lambda entry: entry[:2]
    )
    said = [
        Meaning("ontology", term.meaning, ONTOLOGY, term.ref, sql=term.sql, data_source=term.data.get("data_source"))
        for _, _, term in found
    ]
    is_tied = len(found) > 1 and found[0][0] == found[1][0]
    return ([], said) if is_tied else (said[:1], said[1:])


def rank_closeness(term: Term, asked: str, stem: str) -> tuple[int, bool, bool]:
    """Return a sort key: the kind, then the name itself, then its stem, then a synonym."""
    is_name = term.name.lower() == asked.strip().lower()
    return RANKED.index(term.kind), not is_name, not is_name and stem not in list_own_stems(term)


def explain_choice(first: Meaning, others: Sequence[Meaning]) -> str:
    overruled = list(dict.fromkeys(said.tier for said in others if said.meaning != first.meaning))
    weak = next((said for said in others if said.tier == "user" and said.confidence < WEAK), None)
    after = f"; other meanings: {', '.join(overruled)}" if overruled else ""
    if weak and first.tier in ("project", "ontology"):
        after += f" (the user's own has a low confidence: {weak.confidence:.2f})"
    return describe_source(first) + after


def describe_source(said: Meaning) -> str:
    origin = f" ({', '.join(said.refs)})" if said.refs else ""
    match said.tier:
        case "session":
            return "defined in this session"
        case "user":
            doubt = ", which is low, but there is no other meaning" if said.confidence < WEAK else ""
            return f"the user's own meaning{origin}, confidence {said.confidence:.2f}{doubt}"
        case "project":
            return f"the project's meaning{origin}"
        case "ontology":
            return f"defined in the ontology: {said.source}"


def explain_ambiguity(others: Sequence[Meaning]) -> str:
    if not others:
        return UNKNOWN
    named = ", ".join(said.source for said in others[:5]) + (", …" if len(others) > 5 else "")
    return f"the ontology has several meanings: {named}; ask which is meant"


@dataclass(frozen=True, slots=True)
class Brief:
    """What to read for a question: `recent` turns of the session; the user's memories of some `kinds` and `status`;
    `habits` of user and project, which are preferences by the first part of their key; at most `limit` of each. Also
    the meaning of `terms`, where `definitions` of the session win, and at most `facts` of the project about the
    question's words."""

    question: str
    terms: Sequence[str] = ()
    definitions: Mapping[str, str] = field(default_factory=dict)
    recent: int = 20
    kinds: Sequence[MemoryKind] = ()
    status: Sequence[Status] = ("active",)
    habits: Sequence[str] = ()
    limit: int = 200
    facts: int = 0


@dataclass(frozen=True, slots=True)
class Briefing:
    """What was read. `own` and `shared` are memories of the user and the project; `facts` share words with the
    question, best first. `standalone` is the question rewritten to be understood alone; if it differs, the resolved
    terms are not its own and `resolved` is None."""

    standalone: str
    turns: Sequence[Turn] = ()
    own: Sequence[Memory] = ()
    shared: Sequence[Memory] = ()
    resolved: Sequence[Resolution] | None = None
    is_summarized: bool = False
    facts: Sequence[Memory] = ()
