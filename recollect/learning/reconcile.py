"""Reconcile: evidence in, memories out. Old and new evidence of a key is folded in the order it was said, whatever
order it was learned in: which value replaces which, since when, and why.

    one value at a time (name, location, a definition):  a later value ends the one before, unless it is less certain
                                                         and not a correction
    several side by side (allergies, notes, decisions):  a repetition supports what is known; a correction or the
                                                         opposite ends what it refers to

Redacted evidence has lost its words but not its place: it still ended what it ended, and is itself over. Pure.
Learning, correcting, approving and forgetting all end here, so memories always equal the result of the remaining
evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any

from recollect.learning.definitions import list_defined_terms
from recollect.learning.similarity import Gist, adds_words, find_rejected_value, get_gist
from recollect.values.memory import DEFINES, Act, Evidence, Memory, Status, get_slot, is_single
from recollect.values.scope import MemoryId, uuid7

MOST_REFS = 5
LOOKED_BACK = 200  # memories of one key that a new one is compared with
JUST_BEFORE = 10  # turns that a correction without the old value looks back
SURER = 0.02  # what each further mention adds to the confidence
SUREST = 0.99

NEWER = "a newer value"
CORRECTED = "corrected by the user"
OPPOSITE = "the opposite was said"
ASKED = "asked to forget it"
DONE = "done"
NO_LONGER = "no longer so"
LEFT_ALONE = "what took its place was forgotten"
PROMOTED = "the project knows it now"
REFUSED = "not approved"
WAITS = "waits for approval"
REDACTED = "redacted"
MARK = "[redacted]"  # replaces a value
REDACTED_AT = "redacted_at"  # in the data of evidence whose value is gone
ENDING = "ending"  # in the data of evidence that ends a value: why
ENDED_IN = "ended_in"  # in the data of an ended memory: the turn that ended it
SUCCESSOR = "successor_forgotten"  # in the data of evidence that keeps an ended value ended
FINISHES = ("retracts", "completes", "promotes")
EXTENDS = ("says", "completes", "promotes")  # acts that concern active memories only
TAIL = LOOKED_BACK + 50  # active memories of a slot that are read to extend it
Order = tuple[datetime, bool, str, int, str]
Slot = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Changes:
    """What to write: memories to put and to drop, the memory that each piece of evidence supports, and rejections by
    reason."""

    put: Sequence[Memory] = ()
    drop: Sequence[MemoryId] = ()
    links: Sequence[tuple[Evidence, MemoryId | None]] = ()
    turned_away: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """The result of a stored memory's evidence, as far as a fold needs it to continue."""

    last: Evidence
    fullest: str  # the longest wording
    count: int
    confidence: float  # of the surest
    importance: float  # of the most important


@dataclass(frozen=True, slots=True)
class Tail:
    """The latest part of some keys: the last active memories of each slot, up to `TAIL`, and the sort key of each key's
    last evidence."""

    active: Sequence[tuple[Memory, Support]] = ()
    last: Mapping[str, Order] = field(default_factory=dict)


class Span:
    """A memory while it is folded. Aggregates are updated as evidence is added, so that adding costs the same however
    much there is."""

    __slots__ = (
        "before", "count", "ended_in", "evidence", "fullest", "gist", "id", "importance", "last", "memories", "place",
        "reason", "redacted_at", "replaced_by", "status", "surest", "valid_from", "valid_to", "value",
    )  # fmt: skip

    def __init__(
        self, said: Evidence, status: Status = "active", valid_to: datetime | None = None, reason: str | None = None
    ) -> None:
        self.status, self.valid_to, self.reason = status, valid_to, reason
        self.replaced_by: Span | None = None
        self.id: MemoryId | None = None
        self.ended_in: str | None = None  # the turn that ended it without another value
        self.before: Memory | None = None  # what it goes on from; None: `evidence` is all there is
        self.evidence = [said]
        self.memories = {said.memory}
        self.valid_from, self.place = said.said_at, get_place(said)
        self.last, self.fullest, self.count = said, said.value, 1
        self.surest, self.importance = said.confidence, said.importance
        self.redacted_at = get_redaction_time(said)
        self.value, self.gist = said.value, get_gist(said.value)

    @classmethod
    def resume(cls, memory: Memory, support: Support) -> Span:
        """Return the span of an active memory as the fold left it."""
        span = cls(support.last)
        span.id, span.before, span.evidence = memory.id, memory, []
        span.valid_from, span.place = memory.valid_from, memory.place
        span.fullest, span.count = support.fullest, support.count
        span.surest, span.importance = support.confidence, support.importance
        span.value, span.gist = memory.value, get_gist(memory.value)
        return span

    def add(self, said: Evidence) -> None:
        self.evidence.append(said)
        self.memories.add(said.memory)
        self.last, self.count = said, self.count + 1
        self.surest, self.importance = max(self.surest, said.confidence), max(self.importance, said.importance)
        self.fullest = said.value if len(said.value) > len(self.fullest) else self.fullest
        self.redacted_at = self.redacted_at or get_redaction_time(said)
        # The last wording, unless it is just a shorter way to say what is known.
        is_new = said.is_outright or adds_words(said.value, self.fullest)
        self.value = said.value if is_new else self.fullest
        self.gist = get_gist(self.value)

    @property
    def confidence(self) -> float:
        return max(self.surest, min(SUREST, self.surest + SURER * (self.count - 1)))

    def end(self, at: datetime, reason: str, by: Span | None = None, status: Status = "superseded") -> None:
        self.status, self.valid_to, self.reason, self.replaced_by = status, at, reason, by


@dataclass(slots=True)
class Fold:
    """All spans of one slot, oldest first, and rejections. New evidence is compared with the last `LOOKED_BACK` spans
    of a status, so that folding is linear in the evidence."""

    single: bool
    spans: list[Span] = field(default_factory=list)
    active: list[Span] = field(default_factory=list)  # those of the spans that are active, oldest first
    ended: list[Span] = field(default_factory=list)  # those that were superseded
    proposed: list[Span] = field(default_factory=list)
    refused: list[Span] = field(default_factory=list)
    turned_away: list[str] = field(default_factory=list)
    resumed_ended: int = 0

    def take(self, said: Evidence) -> None:
        match said.act:
            case "says":
                self.state(said)
            case "proposes":
                self.gather(self.proposed, said, Span(said, "pending", reason=WAITS))
            case "refuses":
                self.gather(self.refused, said, Span(said, "retracted", said.said_at, REFUSED))
            case "retracts":
                self.finish(said, ASKED, "retracted")
            case "completes":
                data = said.data or {}
                self.finish(said, LEFT_ALONE if SUCCESSOR in data else data.get(ENDING, DONE), "superseded")
            case "promotes":
                self.finish(said, PROMOTED, "superseded")

    def latest(self) -> list[Span]:
        """Return the active spans that new evidence is compared with, newest first."""
        return self.active[: -LOOKED_BACK - 1 : -1]

    def append(self, new: Span) -> None:
        self.spans.append(new)
        self.active.append(new)

    def end(self, span: Span, at: datetime, reason: str, by: Span | None = None, status: Status = "superseded") -> None:
        if span.status == "active":
            del self.active[find_last_index(self.active, span)]
            self.resumed_ended += span.before is not None
            if status == "superseded":
                self.ended.append(span)
        span.end(at, reason, by, status)

    def gather(self, group: list[Span], said: Evidence, new: Span) -> None:
        """Merge a repeated proposal or refusal with the earlier one; neither affects active memories."""
        known = next((span for span in group[-LOOKED_BACK:] if span.gist.is_same(new.gist)), None)
        if known is not None:
            known.add(said)
        else:
            group.append(new)
            self.spans.append(new)

    def state(self, said: Evidence) -> None:
        meant, spans = get_gist(said.value), self.latest()
        if not self.single and get_redaction_time(said) is None:
            spans = [span for span in spans if meant.resembles(span.gist)]
        has_part = self.single and not said.is_outright and said.kind not in DEFINES
        known = next((span for span in spans if is_support(said, meant, span, has_part)), None)
        if known is not None:
            self.confirm(known, said)
        elif self.single:
            self.replace_one(said)
        else:
            self.add(said, spans)

    def confirm(self, known: Span, said: Evidence) -> None:
        """Add support. A correction towards a known value still ends the old value it names."""
        if said.corrects and get_old_value(said) and (old := self.corrected(said)) not in (None, known):
            assert old is not None
            self.end(old, said.said_at, CORRECTED, known)
        known.add(said)

    def replace_one(self, said: Evidence) -> None:
        known = self.active[-1] if self.active else None
        is_surer = known is None or known.redacted_at or said.is_outright or said.confidence >= known.confidence
        if not is_surer:
            self.turned_away.append("less sure than what is known")
            return
        new = Span(said)
        if known is not None:
            self.end(known, said.said_at, CORRECTED if said.corrects else NEWER, new)
        self.append(new)

    def add(self, said: Evidence, similar: Iterable[Span]) -> None:
        new = Span(said)
        for span in similar:
            if span.gist.is_opposite(new.gist):
                self.end(span, said.said_at, OPPOSITE, new)
        if said.corrects and (old := self.corrected(said)):
            self.end(old, said.said_at, CORRECTED, new)
        self.append(new)

    def corrected(self, said: Evidence) -> Span | None:
        """Return what a correction refers to: the old value it names, or what was said about it just before."""
        if old := get_old_value(said):
            meant, latest = get_gist(old), self.latest()
            exact = (span for span in latest if span.gist.is_same(meant))
            return next(exact, next((span for span in latest if meant.speaks_of(span.gist)), None))
        return next((span for span in self.latest() if is_just_before(span.last, said)), None)

    def finish(self, said: Evidence, reason: str, status: Status) -> None:
        """End what a retraction or completion refers to. A retraction also removes it from the history."""
        meant = get_gist(said.value)
        for span in self.latest():
            if is_targeted(said.act, meant, span.gist):
                span.ended_in = said.ref if said.turn is not None else None
                self.end(span, said.said_at, reason, status=status)
        if said.act == "retracts":
            for span in [span for span in self.ended if is_targeted(said.act, meant, span.gist)]:
                span.end(span.valid_to or said.said_at, reason, status=status)
            self.ended = [span for span in self.ended if span.status == "superseded"]


def find_last_index(spans: Sequence[Span], span: Span) -> int:
    """Return a span's position, searched from the end, because only late spans are ever ended."""
    return next(place for place in range(len(spans) - 1, -1, -1) if spans[place] is span)


def build_end_evidence(known: Iterable[Memory], forgotten: MemoryId) -> list[Evidence]:
    """Return evidence that keeps ended values ended when their successor is forgotten."""
    return [
        Evidence(
            id=uuid7(),
            act="completes",
            kind=memory.kind,
            key=memory.key,
            value=memory.value,
            confidence=memory.confidence,
            importance=memory.importance,
            source="explicit",
            learned_by="person",
            said_at=memory.valid_to,
            data={SUCCESSOR: True},
            author="user",
        )
        for memory in known
        if memory.replaced_by == forgotten and memory.valid_to is not None
    ]


def reconcile(known: Sequence[Memory], evidence: Iterable[Evidence]) -> Changes:
    """Return the changes that turn what is known into the result of the evidence. Both are complete for their keys."""
    slots = group_by_slot(evidence)
    folds = [fold_all(Fold(is_single(said[0].kind, said[0].key)), said) for said in slots.values()]
    changes = conclude(folds, slots, known)
    made = {span.id for fold in folds for span in fold.spans}
    return replace(changes, drop=[memory.id for memory in known if memory.id not in made])


def conclude(folds: Collection[Fold], slots: Mapping[Slot, Sequence[Evidence]], known: Iterable[Memory]) -> Changes:
    """Return what folding the evidence of some slots changed in what was known."""
    before = {memory.id: memory for memory in known}
    spans = [span for fold in folds for span in fold.spans if span.evidence or span.status != "active"]
    assign_ids(spans)
    made = [as_memory(span, before) for span in spans]
    return Changes(
        put=[memory for memory in made if before.get(memory.id) != memory],
        links=list_changed_links(spans, chain.from_iterable(slots.values())),
        turned_away=list(chain.from_iterable(fold.turned_away for fold in folds)),
    )


def extend(tail: Tail, new: Iterable[Evidence]) -> Changes | None:
    """Return what new evidence changes, from the latest part of what is known alone: the cost does not depend on how
    much is known.

    The result equals `reconcile` of everything. None if it cannot be decided from the latest part: some of the new
    evidence is older than what is known, or refers further back. Then everything has to be read.
    """
    slots = group_by_slot(new)
    if not all(can_extend(tail, said) for said in slots.values()):
        return None
    folds = resume_folds(tail, slots)
    is_cut = {place for place, fold in folds.items() if len(fold.spans) >= TAIL}
    for place, said in slots.items():
        fold_all(folds[place], said)
        # Too few of the compared spans were read.
        if place in is_cut and folds[place].resumed_ended > TAIL - LOOKED_BACK:
            return None
    return conclude(folds.values(), slots, [memory for memory, _ in tail.active])


def resume_folds(tail: Tail, slots: Mapping[Slot, Sequence[Evidence]]) -> dict[Slot, Fold]:
    """Return a fold of each slot with its last active memories, oldest first."""
    folds = {place: Fold(is_single(said[0].kind, said[0].key)) for place, said in slots.items()}
    for memory, support in sorted(tail.active, key=lambda each: (each[0].valid_from, each[0].place)):
        if fold := folds.get(get_slot(memory.kind, memory.key)):
            fold.append(Span.resume(memory, support))
    return folds


def can_extend(tail: Tail, said: Sequence[Evidence]) -> bool:
    """Return whether evidence of one slot, in order, concerns only the latest part. A retraction also concerns values
    that ended long ago, and a proposal other pending ones; a redacted memory the fold may count as active."""
    last = tail.last.get(said[0].key)
    is_later = last is None or last < get_sort_key(said[0])
    is_active = all(memory.status == "active" for memory, _ in tail.active)
    return is_later and is_active and all(each.act in EXTENDS and get_redaction_time(each) is None for each in said)


def group_by_slot(evidence: Iterable[Evidence]) -> dict[Slot, list[Evidence]]:
    """Return the evidence of each slot, in the order it was said."""
    slots = defaultdict(list)
    for said in sorted(evidence, key=get_sort_key):
        slots[get_slot(said.kind, said.key)].append(said)
    return slots


def get_sort_key(said: Evidence) -> Order:
    """Return the order in which it was said. Simultaneous evidence of one conversation stays together."""
    return said.said_at, said.conversation is None, str(said.conversation), said.turn or 0, str(said.id)


def get_place(said: Evidence) -> str:
    """Return a text that orders simultaneous evidence as `get_sort_key` does."""
    return f"{said.conversation or '~'}:{said.turn or 0:010d}:{said.id}"


def is_support(said: Evidence, meant: Gist, span: Span, has_part: bool) -> bool:
    """Return whether evidence repeats what is known; redacted evidence is matched by its memory. With `has_part`, fewer
    words are no other value."""
    if get_redaction_time(said) is not None:
        is_known = said.memory is not None and said.memory in span.memories
    else:
        is_known = span.gist.is_same(meant)
    return is_known or (has_part and meant.is_part(span.gist))


def is_just_before(one: Evidence, said: Evidence) -> bool:
    """Return whether one was said shortly before the other. A turn does not correct itself, and "actually" after a long
    time refers to something else."""
    if said.conversation is None or one.conversation != said.conversation:
        return False
    return 0 < (said.turn or 0) - (one.turn or 0) <= JUST_BEFORE


def is_targeted(act: Act, meant: Gist, value: Gist) -> bool:
    """Return whether a retraction or a completion refers to a value."""
    return meant.is_same(value) or (act == "retracts" and meant.speaks_of(value))


def get_old_value(said: Evidence) -> str | None:
    return said.old or find_rejected_value(said.value)


def get_redaction_time(said: Evidence) -> datetime | None:
    at = (said.data or {}).get(REDACTED_AT) if said.value == MARK else None
    return datetime.fromisoformat(at) if at else None


def find_pointless(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence that ends a value which no remaining evidence states. It may quote what was erased."""
    stated = defaultdict(list)
    for said in evidence:
        if said.act not in FINISHES:
            stated[get_slot(said.kind, said.key)].append(get_gist(said.value))
    return [said for said in evidence if said.act in FINISHES and not is_stated(said, stated)]


def is_stated(said: Evidence, stated: Mapping[tuple[str, str], Sequence[Gist]]) -> bool:
    meant = get_gist(said.value)
    return any(is_targeted(said.act, meant, value) for value in stated.get(get_slot(said.kind, said.key), ()))


def find_quoting(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return corrections that name an old value which no remaining evidence states."""
    stated = defaultdict(list)
    for said in evidence:
        stated[get_slot(said.kind, said.key)].append((said.id, get_gist(said.value)))
    return [
        said
        for said in evidence
        if said.old
        and said.old != MARK
        and not any(
            other != said.id and get_gist(said.old).speaks_of(value)
            for other, value in stated[get_slot(said.kind, said.key)]
        )
    ]


def fold_all(fold: Fold, evidence: Iterable[Evidence]) -> Fold:
    for said in evidence:
        fold.take(said)
    return fold


def assign_ids(spans: Sequence[Span]) -> None:
    """Give each memory an id. A memory keeps its id as long as any evidence that made it is left."""
    taken = {span.id for span in spans if span.id is not None}
    for span in spans:
        if span.id is None:
            known = (said.memory for said in span.evidence if said.memory and said.memory not in taken)
            span.id = next(known, None) or MemoryId(uuid7())
            taken.add(span.id)


def as_memory(span: Span, before: Mapping[MemoryId, Memory]) -> Memory:
    assert span.id is not None
    last, old = span.last, before.get(span.id)
    new = Memory(
        id=span.id,
        kind=last.kind,
        key=last.key,
        value=span.value,
        confidence=round(span.confidence, 4),
        importance=round(span.importance, 4),
        source=last.source,
        learned_by=last.learned_by,
        status="retracted" if span.redacted_at else span.status,
        valid_from=span.valid_from,
        valid_to=span.valid_to or span.redacted_at,
        reason=REDACTED if span.redacted_at else span.reason,
        replaced_by=span.replaced_by.id if span.replaced_by else None,
        refs=list_refs(span),
        data=merge_data(span),
        terms=() if span.redacted_at else list_defined_terms(last.kind, last.key, span.value),
        place=span.place,
    )
    if old:
        used = {"usage_count": old.usage_count, "last_used_at": old.last_used_at, "created_at": old.created_at}
        return replace(new, **used)  # type: ignore[arg-type]
    return new


def list_refs(span: Span) -> tuple[str, ...]:
    """Return where a memory was said, the latest first."""
    refs = dict.fromkeys(chain((said.ref for said in reversed(span.evidence)), span.before.refs if span.before else ()))
    return tuple(islice(refs, MOST_REFS))


def merge_data(span: Span) -> Mapping[str, Any] | None:
    """Return the latest data of a memory's evidence, with the turn that ended it."""
    data = next((said.data for said in reversed(span.evidence) if said.data), span.before.data if span.before else None)
    return {**(data or {}), ENDED_IN: span.ended_in} if span.ended_in else data


def list_changed_links(spans: Sequence[Span], evidence: Iterable[Evidence]) -> list[tuple[Evidence, MemoryId | None]]:
    supports = {said.id: span.id for span in spans for said in span.evidence}
    return [(said, supports.get(said.id)) for said in evidence if said.memory != supports.get(said.id)]
