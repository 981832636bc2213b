"""Build evidence from what was found in a turn, and audit entries for the changes it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from recollect.learning.reconcile import DONE, ENDING, NO_LONGER, Changes
from recollect.learning.similarity import is_same, speaks_of
from recollect.values.audit import AuditEntry
from recollect.values.conversation import Turn
from recollect.values.memory import (
    Act,
    Evidence,
    Extraction,
    Fact,
    LearnedBy,
    Memory,
    classify_fact,
    get_slot,
    is_single,
)
from recollect.values.scope import MemoryId, uuid7
from recollect.values.work import Job

KNOWN = "known already"


def build_evidence(job: Job, turn: Turn, facts: Iterable[Fact], by: LearnedBy, act: Act = "says") -> list[Evidence]:
    """Return evidence in the order it was said. The ids keep that order, because nothing else orders evidence of one
    turn."""
    made = [_build_one(job, turn, fact, by, act) for fact in sorted(facts, key=lambda fact: fact.span)]
    return [replace(said, id=fresh) for said, fresh in zip(made, sorted(said.id for said in made), strict=True)]


def _build_one(job: Job, turn: Turn, fact: Fact, by: LearnedBy, act: Act) -> Evidence:
    kind, key = classify_fact(fact)
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


def build_retractions(
    job: Job, turn: Turn, told: str, facts: Sequence[Fact], known: Iterable[Memory], keys: Collection[str] = ()
) -> list[Evidence]:
    """Return what "forget that ..." retracts: what the rules find in it, memories that it mentions, and everything
    under the `keys` it names."""
    found = build_evidence(job, turn, facts, "rules", "retracts")
    taken = {(said.kind, said.key) for said in found}
    once = {(memory.kind, memory.key, memory.value): memory for memory in known}
    meant = [m for m in once.values() if m.key in keys or ((m.kind, m.key) not in taken and speaks_of(told, m.text))]
    as_facts = [Fact("fact", memory.key, memory.value, 1.0, memory.importance, (0, 0)) for memory in meant]
    more = build_evidence(job, turn, as_facts, "rules", "retracts")
    return found + [replace(said, kind=memory.kind, key=memory.key) for said, memory in zip(more, meant, strict=True)]


def build_endings(job: Job, turn: Turn, ended: Sequence[Memory], by: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence that ends memories in a turn: todos are done, the rest is no longer so. A memory whose key gets
    another value in the same turn (`by`) is left to reconciliation, which names its successor."""
    replaced = {get_slot(said.kind, said.key) for said in by if is_single(said.kind, said.key)}
    meant = [memory for memory in ended if get_slot(memory.kind, memory.key) not in replaced]
    as_facts = [Fact("fact", memory.key, memory.value, 1.0, memory.importance, (0, 0)) for memory in meant]
    made = build_evidence(job, turn, as_facts, "rules", "completes")
    return [
        replace(said, kind=memory.kind, key=memory.key, data={ENDING: DONE if memory.kind == "todo" else NO_LONGER})
        for said, memory in zip(made, meant, strict=True)
    ]


def drop_repeated(new: Iterable[Evidence], before: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence that the rules did not find in the same turn: a model may use another key for it."""
    return [
        said
        for said in new
        if not any(old.turn == said.turn and old.conversation == said.conversation and is_same(old.value, said.value)
                   for old in before)
    ]  # fmt: skip


def count_rejections(
    read: Iterable[Extraction], new: Sequence[Evidence], known: Sequence[Memory], changes: Changes
) -> Counter[str]:
    """Return how many statements did not become a memory, by reason."""
    reasons = Counter(rejection.reason for extraction in read for rejection in extraction.rejected)
    ours, before = {said.id for said in new}, {memory.id for memory in known}
    repeated = sum(1 for said, memory in changes.links if said.id in ours and memory in before)
    reasons.update(changes.turned_away)
    if repeated:
        reasons[KNOWN] += repeated
    return reasons


def build_audit_entries(changes: Changes, before: Iterable[Memory], actor: str) -> list[AuditEntry]:
    """Return an audit entry for each changed memory."""
    known = {memory.id: memory for memory in before}
    made = [AuditEntry(actor, _name_action(known.get(new.id), new), new.ref, _build_detail(new)) for new in changes.put]
    return made + [AuditEntry(actor, "erased", f"memory:{gone}", {}) for gone in changes.drop]


def _name_action(old: Memory | None, new: Memory) -> str:
    if old is None:
        return "learned" if new.status == "active" else new.status
    if old.status != new.status:
        return "restored" if new.status == "active" else new.status
    return "confirmed" if old.value == new.value else "changed"


def _build_detail(memory: Memory) -> dict[str, Any]:
    detail = {"kind": memory.kind, "by": memory.learned_by, "source": memory.source}
    replaced: MemoryId | None = memory.replaced_by
    return detail | ({"replaced_by": str(replaced)} if replaced else {})
