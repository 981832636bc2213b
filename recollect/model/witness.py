"""Witness: from what was found in a turn to evidence about keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from recollect.model.conversation import Turn
from recollect.model.fact import Extraction, Fact
from recollect.model.ids import uuid7
from recollect.model.memory import Act, Evidence, LearnedBy, Memory, kind_and_key
from recollect.model.reconcile import Changes
from recollect.model.sameness import is_same, speaks_of
from recollect.model.work import Job

KNOWN = "known already"


def evidence_in(job: Job, turn: Turn, facts: Iterable[Fact], by: LearnedBy, act: Act = "says") -> list[Evidence]:
    """In the order it was said. The ids keep that order: what is folded is told apart by nothing else in one turn."""
    made = [_said(job, turn, fact, by, act) for fact in sorted(facts, key=lambda fact: fact.span)]
    return [replace(said, id=fresh) for said, fresh in zip(made, sorted(said.id for said in made), strict=True)]


def _said(job: Job, turn: Turn, fact: Fact, by: LearnedBy, act: Act) -> Evidence:
    kind, key = kind_and_key(fact)
    assert turn.at is not None
    return Evidence(
        id=uuid7(),
        act=act,
        kind=kind,
        key=key,
        value=fact.value,
        confidence=fact.confidence,
        importance=fact.importance,
        source="explicit" if fact.explicit else "correction" if fact.corrects else "inferred",
        learned_by=by,
        said_at=turn.at,
        corrects=fact.corrects,
        old=fact.old,
        conversation=job.conversation,
        session=job.session,
        turn=turn.index,
    )


def retractions(
    job: Job, turn: Turn, told: str, facts: Sequence[Fact], known: Iterable[Memory], keys: Collection[str] = ()
) -> list[Evidence]:
    """What "forget that ..." takes back: what the rules read in it, any memory that it speaks of, and all that is under
    the `keys` it names."""
    found = evidence_in(job, turn, facts, "rules", "retracts")
    taken = {(said.kind, said.key) for said in found}
    once = {(memory.kind, memory.key, memory.value): memory for memory in known}
    meant = [m for m in once.values() if m.key in keys or ((m.kind, m.key) not in taken and speaks_of(told, m.text))]
    as_facts = [Fact("fact", memory.key, memory.value, 1.0, memory.importance, (0, 0)) for memory in meant]
    more = evidence_in(job, turn, as_facts, "rules", "retracts")
    return found + [replace(said, kind=memory.kind, key=memory.key) for said, memory in zip(more, meant, strict=True)]


def not_said_yet(new: Iterable[Evidence], before: Sequence[Evidence]) -> list[Evidence]:
    """Without what the rules read in the same turn already: a model may put it under another key."""
    return [
        said
        for said in new
        if not any(old.turn == said.turn and old.conversation == said.conversation and is_same(old.value, said.value)
                   for old in before)
    ]  # fmt: skip


def turned_away(
    read: Iterable[Extraction], new: Sequence[Evidence], known: Sequence[Memory], changes: Changes
) -> Counter[str]:
    """Everything that did not become a memory, by reason."""
    reasons = Counter(rejection.reason for extraction in read for rejection in extraction.rejected)
    ours, before = {said.id for said in new}, {memory.id for memory in known}
    repeated = sum(1 for said, memory in changes.links if said.id in ours and memory in before)
    reasons.update(changes.turned_away)
    if repeated:
        reasons[KNOWN] += repeated
    return reasons
