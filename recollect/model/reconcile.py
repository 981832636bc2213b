"""Reconcile: evidence in, memories out. Old and new evidence of a key are folded in the order they were said, whatever
order they were learned in: who replaces whom, since when, and why.

    one value at a time (name, location, a definition):  a later value ends the one before it, unless it is less sure
                                                         and the user did not say it as a correction
    several side by side (allergies, notes, decisions):  what is said again supports what is known; a correction, or
                                                         the opposite, ends what it speaks of

What was redacted has lost its words, not its place: it still ended what it ended, and is over itself.

Pure. Learning, correcting, approving and forgetting all end here, so that what is known is always what the evidence
that is left comes to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.model.ids import MemoryId, uuid7
from recollect.model.memory import DEFINES, Evidence, Memory, Status, is_single, lookup_terms, slot
from recollect.model.sameness import adds_words, is_opposite, is_part, is_same, speaks_of, turned_down

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
LEFT_ALONE = "what took its place was forgotten"
PROMOTED = "the project knows it now"
REFUSED = "not approved"
WAITS = "waits for approval"
REDACTED = "redacted"
MARK = "[redacted]"  # stands where a value was
REDACTED_AT = "redacted_at"  # in the data of evidence whose value is gone
SUCCESSOR = "successor_forgotten"  # in the data of evidence that keeps an ended value ended
FINISHES = ("retracts", "completes", "promotes")


@dataclass(frozen=True, slots=True)
class Changes:
    """What to write: memories to put and to drop, the memory that each piece of evidence supports, and what was turned
    away on the way, by reason."""

    put: Sequence[Memory] = ()
    drop: Sequence[MemoryId] = ()
    links: Sequence[tuple[Evidence, MemoryId | None]] = ()
    turned_away: Sequence[str] = ()


@dataclass(slots=True)
class Span:
    """A memory while it is being folded."""

    evidence: list[Evidence]
    status: Status = "active"
    valid_to: datetime | None = None
    reason: str | None = None
    replaced_by: Span | None = None
    id: MemoryId | None = None

    @property
    def value(self) -> str:
        """The last wording, unless it is just a shorter way to say what is known."""
        if len(self.evidence) == 1:
            return self.evidence[0].value
        last, fullest = self.evidence[-1], self.fullest
        return last.value if last.is_outright or adds_words(last.value, fullest.value) else fullest.value

    @property
    def fullest(self) -> Evidence:
        return max(self.evidence, key=lambda said: len(said.value))

    @property
    def confidence(self) -> float:
        best = max(said.confidence for said in self.evidence)
        return max(best, min(SUREST, best + SURER * (len(self.evidence) - 1)))

    @property
    def redacted_at(self) -> datetime | None:
        return next(filter(None, map(redacted_at, self.evidence)), None)

    def end(self, at: datetime, reason: str, by: Span | None = None, status: Status = "superseded") -> None:
        self.status, self.valid_to, self.reason, self.replaced_by = status, at, reason, by


@dataclass(slots=True)
class Fold:
    """All spans of one slot, oldest first, and what could not become one."""

    single: bool
    spans: list[Span] = field(default_factory=list)
    turned_away: list[str] = field(default_factory=list)

    def take(self, said: Evidence) -> None:
        match said.act:
            case "says":
                self.state(said)
            case "proposes":
                self.gather(said, Span([said], "pending", reason=WAITS))
            case "refuses":
                self.gather(said, Span([said], "retracted", said.said_at, REFUSED))
            case "retracts":
                self.finish(said, ASKED, "retracted")
            case "completes":
                self.finish(said, LEFT_ALONE if SUCCESSOR in (said.data or {}) else DONE, "superseded")
            case "promotes":
                self.finish(said, PROMOTED, "superseded")

    def active(self) -> list[Span]:
        return [span for span in reversed(self.spans) if span.status == "active"][:LOOKED_BACK]

    def gather(self, said: Evidence, new: Span) -> None:
        """What is proposed or refused again is one with what was before; neither touches what is known."""
        same = (span for span in self.spans if span.reason == new.reason and is_same(span.value, said.value))
        if (known := next(same, None)) is not None:
            known.evidence.append(said)
        else:
            self.spans.append(new)

    def state(self, said: Evidence) -> None:
        known = next((span for span in self.active() if supports(said, span) or self.is_no_news(said, span)), None)
        if known is not None:
            self.confirm(known, said)
        elif self.single:
            self.replace_one(said)
        else:
            self.add(said)

    def is_no_news(self, said: Evidence, span: Span) -> bool:
        """Of one value at a time, the same in fewer words is no other value. A definition with less in it is."""
        shorter = self.single and not said.is_outright and said.kind not in DEFINES
        return shorter and is_part(said.value, span.value)

    def confirm(self, known: Span, said: Evidence) -> None:
        """A correction towards what is known already ends what it names all the same."""
        if said.corrects and named_old(said) and (old := self.corrected(said)) not in (None, known):
            assert old is not None
            old.end(said.said_at, CORRECTED, known)
        known.evidence.append(said)

    def replace_one(self, said: Evidence) -> None:
        known = next(iter(self.active()), None)
        is_surer = known is None or known.redacted_at or said.is_outright or said.confidence >= known.confidence
        if not is_surer:
            self.turned_away.append("less sure than what is known")
            return
        new = Span([said])
        if known is not None:
            known.end(said.said_at, CORRECTED if said.corrects else NEWER, new)
        self.spans.append(new)

    def add(self, said: Evidence) -> None:
        new = Span([said])
        for span in self.active():
            if is_opposite(span.value, said.value):
                span.end(said.said_at, OPPOSITE, new)
        if said.corrects and (old := self.corrected(said)):
            old.end(said.said_at, CORRECTED, new)
        self.spans.append(new)

    def corrected(self, said: Evidence) -> Span | None:
        """What a correction speaks of: the old value it names, or what was said about it just before."""
        if old := named_old(said):
            exact = (span for span in self.active() if is_same(span.value, old))
            return next(exact, next((span for span in self.active() if speaks_of(old, span.value)), None))
        return next((span for span in self.active() if is_just_before(span.evidence[-1], said)), None)

    def finish(self, said: Evidence, reason: str, status: Status) -> None:
        """Who asks to forget something does not want to hear of it as history either."""
        ended = [span for span in self.spans if said.act == "retracts" and span.status == "superseded"]
        for span in [*self.active(), *ended]:
            if is_meant(said, span.value):
                span.end(span.valid_to or said.said_at, reason, status=status)


def still_ended(known: Iterable[Memory], forgotten: MemoryId) -> list[Evidence]:
    """For when a memory is forgotten: what it had taken the place of ended, and is not so again because of that."""
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
    """What the evidence comes to, as changes of what is known. Both are all there is of the keys they speak of."""
    slots = defaultdict(list)
    for said in sorted(evidence, key=in_order):
        slots[slot(said.kind, said.key)].append(said)
    folds = [folded(said) for said in slots.values()]
    spans = [span for fold in folds for span in fold.spans]
    name_all(spans)
    before = {memory.id: memory for memory in known}
    made = [as_memory(span, before) for span in spans]
    return Changes(
        put=[memory for memory in made if before.get(memory.id) != memory],
        drop=[memory.id for memory in known if memory.id not in {new.id for new in made}],
        links=changed_links(spans, [said for group in slots.values() for said in group]),
        turned_away=[reason for fold in folds for reason in fold.turned_away],
    )


def in_order(said: Evidence) -> tuple[datetime, bool, str, int, str]:
    """As it was said. What several conversations say at one moment stays together."""
    return said.said_at, said.conversation is None, str(said.conversation), said.turn or 0, str(said.id)


def supports(said: Evidence, span: Span) -> bool:
    """Whether it says what is known; of what was redacted only the memory tells."""
    if redacted_at(said) is not None:
        return said.memory is not None and any(said.memory == other.memory for other in span.evidence)
    return is_same(span.value, said.value)


def is_just_before(one: Evidence, said: Evidence) -> bool:
    """A turn does not correct itself, and "actually" after a long time speaks of something else."""
    if said.conversation is None or one.conversation != said.conversation:
        return False
    return 0 < (said.turn or 0) - (one.turn or 0) <= JUST_BEFORE


def is_meant(said: Evidence, value: str) -> bool:
    """Whether a retraction or a completion speaks of a value."""
    return is_same(value, said.value) or (said.act == "retracts" and speaks_of(said.value, value))


def named_old(said: Evidence) -> str | None:
    return said.old or turned_down(said.value)


def redacted_at(said: Evidence) -> datetime | None:
    at = (said.data or {}).get(REDACTED_AT) if said.value == MARK else None
    return datetime.fromisoformat(at) if at else None


def pointless(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Of what is left after an erasure: what ends a value that nobody states any more. It may quote what was erased."""
    stated = [said for said in evidence if said.act not in FINISHES]
    return [
        said
        for said in evidence
        if said.act in FINISHES
        and not any(shares_slot(said, other) and is_meant(said, other.value) for other in stated)
    ]


def quoting(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same for corrections that name an old value which nobody states any more."""
    return [
        said
        for said in evidence
        if said.old
        and said.old != MARK
        and not any(
            shares_slot(said, other) and speaks_of(said.old, other.value) for other in evidence if other is not said
        )
    ]


def shares_slot(one: Evidence, other: Evidence) -> bool:
    return slot(one.kind, one.key) == slot(other.kind, other.key)


def folded(evidence: Sequence[Evidence]) -> Fold:
    fold = Fold(is_single(evidence[0].kind, evidence[0].key))
    for said in evidence:
        fold.take(said)
    return fold


def name_all(spans: Sequence[Span]) -> None:
    """A memory keeps its id as long as any evidence that made it is left."""
    taken: set[MemoryId] = set()
    for span in spans:
        span.id = next((said.memory for said in span.evidence if said.memory and said.memory not in taken), None)
        span.id = span.id or MemoryId(uuid7())
        taken.add(span.id)


def as_memory(span: Span, before: dict[MemoryId, Memory]) -> Memory:
    assert span.id is not None
    last, value = span.evidence[-1], span.value
    new = Memory(
        id=span.id,
        kind=last.kind,
        key=last.key,
        value=value,
        confidence=round(span.confidence, 4),
        importance=round(max(said.importance for said in span.evidence), 4),
        source=last.source,
        learned_by=last.learned_by,
        status="retracted" if span.redacted_at else span.status,
        valid_from=span.evidence[0].said_at,
        valid_to=span.valid_to or span.redacted_at,
        reason=REDACTED if span.redacted_at else span.reason,
        replaced_by=span.replaced_by.id if span.replaced_by else None,
        refs=tuple(dict.fromkeys(said.ref for said in reversed(span.evidence)))[:MOST_REFS],
        data=next((said.data for said in reversed(span.evidence) if said.data), None),
        terms=() if span.redacted_at else lookup_terms(last.kind, last.key, value),
    )
    if old := before.get(span.id):
        used = {"usage_count": old.usage_count, "last_used_at": old.last_used_at, "created_at": old.created_at}
        return replace(new, **used)  # type: ignore[arg-type]
    return new


def changed_links(spans: Sequence[Span], evidence: Sequence[Evidence]) -> list[tuple[Evidence, MemoryId | None]]:
    supports = {said.id: span.id for span in spans for said in span.evidence}
    return [(said, supports.get(said.id)) for said in evidence if said.memory != supports.get(said.id)]
