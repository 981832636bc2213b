"""Teach: what people tell the memory outright. They add to what is known, correct it, close it, approve it, or make it
the project's; always as evidence, so that it can be told later who changed what, and when."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args
from uuid import UUID

from recollect.errors import InvalidInput, NotFound
from recollect.flows.change import Amendment, adding, change
from recollect.flows.parts import Parts
from recollect.model.conversation import in_utc
from recollect.model.ids import MemoryId, uuid7
from recollect.model.lesson import MAX_VALUE_CHARS, Lesson, Owner, taught
from recollect.model.memory import Act, Evidence, Memory, MemoryKind, Status, is_single
from recollect.model.reconcile import Changes
from recollect.model.scope import Scope
from recollect.model.search import check_choice, check_range
from recollect.model.sensitive import masked, masked_data
from recollect.model.text import checked_text
from recollect.store.memories import Holder, Known

MOST_LISTED = 10_000


async def learn(
    parts: Parts, scope: Scope, lessons: Sequence[Lesson], ending: Collection[MemoryId] = ()
) -> list[Memory]:
    """Those of one owner in one change, in which `ending` end too."""
    lessons = [as_kept(parts, lesson) for lesson in lessons]
    learned: dict[int, Memory] = {}
    for owner in dict.fromkeys(lesson.owned_by for lesson in lessons):
        places = [place for place, lesson in enumerate(lessons) if lesson.owned_by == owner]
        made = await learn_of(parts, scope, owner, [lessons[place] for place in places], ending)
        learned |= dict(zip(places, made, strict=True))
    return [learned[place] for place in range(len(lessons))]


def as_kept(parts: Parts, lesson: Lesson) -> Lesson:
    """Without what is sensitive; what the project is to know may need somebody's approval."""
    if parts.settings.mask_sensitive:
        lesson = replace(
            lesson,
            value=masked(lesson.value),
            data=lesson.data and masked_data(lesson.data),
            question=lesson.question and masked(lesson.question),
        )
    if lesson.owned_by == "project" and parts.settings.project_approval:
        lesson = replace(lesson, pending=True)
    return lesson


async def learn_of(
    parts: Parts, scope: Scope, owner: Owner, lessons: Sequence[Lesson], ending: Collection[MemoryId]
) -> list[Memory]:
    holder, now = holder_of(scope, owner), parts.clock.now()
    said = [await placed(parts, scope, lesson, taught(lesson, scope.user, now)) for lesson in lessons]

    def amend(known: Known) -> Amendment:
        ended = [memory for memory in known.memories if memory.id in ending and memory.status == "active"]
        return Amendment([*(about(memory, "completes", scope.user, now) for memory in ended), *said], known.evidence)

    keys = list(dict.fromkeys(each.key for each in said))
    changes = await change(parts, holder, keys, amend, actor=actor_of(holder, scope))
    return await supported(parts, holder, said, changes)


async def placed(parts: Parts, scope: Scope, lesson: Lesson, said: Evidence) -> Evidence:
    """What comes from a turn rests on it, and goes with it. What the project knows rests on no user's."""
    if lesson.said_in is None or lesson.owned_by == "project":
        return said
    session, _, index = lesson.said_in.rpartition("#")
    conversation = await parts.store.conversation(scope.id, session, parts.clock.now())
    if conversation is None:
        raise NotFound(f"user {scope.user!r} has no session {session!r}")
    return replace(said, conversation=conversation.id, session=session, turn=int(index))


async def correct(parts: Parts, scope: Scope, memory: MemoryId, value: str, owner: Owner | None = None) -> Memory:
    """The old value ends, and names the new one."""
    value = checked_text("value", value, MAX_VALUE_CHARS).strip()
    value = masked(value) if parts.settings.mask_sensitive else value
    holder, old = await found(parts, scope, memory, owner)
    if old.replaced_by is not None:
        _, successor = await found(parts, scope, old.replaced_by, owner)
        if successor.value == value:  # the same correction once more
            return successor
    check_settled(old)
    said = replace(about(old, "says", scope.user, parts.clock.now()), value=value, corrects=True, old=old.value)
    changes = await change(
        parts, holder, [old.key], adding([replace(said, source="correction")]), actor=actor_of(holder, scope)
    )
    [made] = await supported(parts, holder, [said], changes)
    return made


async def close(parts: Parts, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> Memory:
    """What was to be done is done, or no longer so."""
    holder, old = await settled(parts, scope, memory, owner)
    done = about(old, "completes", scope.user, parts.clock.now())
    await change(parts, holder, [old.key], adding([done]), actor=actor_of(holder, scope))
    return (await found(parts, scope, memory))[1]


async def decide(parts: Parts, scope: Scope, memory: MemoryId, approve: bool) -> Memory:
    """Approves or refuses what was proposed."""
    holder, old = await found(parts, scope, memory)
    if old.status != "pending":
        raise InvalidInput("memory", f"{memory} is {old.status}; only a pending memory waits for approval")
    now = parts.clock.now()
    act: Act = "says" if approve else "refuses"

    def amend(known: Known) -> Amendment:
        kept = [_decided(said, memory, act, now) for said in known.evidence]
        settle = {"memory": memory, "act": act, "now": now, "actor": scope.user}
        return Amendment((), kept, [("evidence.settle_proposal", settle)])

    await change(parts, holder, [old.key], amend, actor=actor_of(holder, scope))
    return (await found(parts, scope, memory))[1]


async def promote(parts: Parts, scope: Scope, memory: MemoryId) -> Memory:
    """What one user taught becomes the project's. The project learns it first: a crash in between loses nothing."""
    holder, old = await found(parts, scope, memory)
    if holder.user is None:
        raise InvalidInput("memory", f"{memory} is the project's already")
    if old.status != "active":
        raise InvalidInput("memory", f"{memory} is {old.status}; only an active memory can be promoted")
    shared = replace(
        about(old, "says", scope.user, parts.clock.now()),
        source="manual",
        data={**(old.data or {}), "from": str(old.id)},
    )
    project = holder_of(scope, "project")
    changes = await change(parts, project, [old.key], adding([shared]), actor=actor_of(project, scope))
    ended = about(old, "promotes", scope.user, parts.clock.now())
    await change(parts, holder, [old.key], adding([ended]), actor=actor_of(holder, scope))
    [made] = await supported(parts, project, [shared], changes)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories to list; None: any."""

    kinds: Sequence[MemoryKind] | None = None
    key: str | Sequence[str] | None = None
    status: Sequence[Status] | None = ("active", "pending")
    owner: Owner = "user"
    as_of: datetime | None = None
    limit: int = 200
    after: MemoryId | None = None

    def __post_init__(self) -> None:
        for kind in self.kinds or ():
            check_choice("kinds", kind, get_args(MemoryKind))
        for status in self.status or ():
            check_choice("status", status, get_args(Status))
        check_choice("owner", self.owner, get_args(Owner))
        check_range("limit", self.limit, 1, MOST_LISTED)
        if self.as_of is not None:
            object.__setattr__(self, "as_of", in_utc("as_of", self.as_of))


async def memories(parts: Parts, scope: Scope, wanted: Listing) -> list[Memory]:
    return await parts.store.memories.listed(
        holder_of(scope, wanted.owner).id,
        kinds=wanted.kinds,
        keys=[wanted.key] if isinstance(wanted.key, str) else wanted.key,
        # As of a time, what counts is what was believed then, whatever became of it.
        status=None if wanted.as_of else wanted.status,
        as_of=wanted.as_of,
        after=wanted.after,
        limit=wanted.limit,
    )


def holder_of(scope: Scope, owner: Owner) -> Holder:
    if owner == "project":
        return Holder(scope.project_id, scope.project, None)
    return Holder(scope.id, scope.project, scope.user)


def actor_of(holder: Holder, scope: Scope) -> str:
    """Who the trail names. In his own scope a user needs no name: it must not outlive what he asks to forget."""
    return "user" if holder.user is not None else scope.user


async def found(parts: Parts, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> tuple[Holder, Memory]:
    """The memory and whose it is: the user's, or else his project's, unless it is said whose is meant."""
    owners: tuple[Owner, ...] = (owner,) if owner else ("user", "project")
    for each in owners:
        holder = holder_of(scope, each)
        if known := await parts.store.memories.find(holder.id, [memory]):
            return holder, known[0]
    whose = {"user": f"user {scope.user!r}", "project": f"project {scope.project!r}"}
    raise NotFound(f"there is no memory {memory} of {' or '.join(whose[each] for each in owners)}")


async def settled(parts: Parts, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> tuple[Holder, Memory]:
    """As `found`, of what does not wait for approval: whoever approved it later would undo the change."""
    holder, known = await found(parts, scope, memory, owner)
    check_settled(known)
    return holder, known


def check_settled(known: Memory) -> None:
    """Of a key with one value at a time, an older one may still be corrected: what is said counts for the key."""
    if known.status == "pending":
        raise InvalidInput("memory", f"{known.id} is pending; approve or reject it first")
    if known.replaced_by is not None and not is_single(known.kind, known.key):
        raise InvalidInput("memory", f"{known.id} was replaced; memory:{known.replaced_by} is what counts now")


def about(memory: Memory, act: Act, author: str, now: datetime) -> Evidence:
    """Evidence that speaks of a memory as it is."""
    return Evidence(
        id=uuid7(),
        act=act,
        kind=memory.kind,
        key=memory.key,
        value=memory.value,
        confidence=1.0,
        importance=memory.importance,
        source="explicit",
        learned_by="person",
        said_at=now,
        data=memory.data,
        author=author,
    )


async def supported(parts: Parts, holder: Holder, said: Sequence[Evidence], changes: Changes) -> list[Memory]:
    """The memory that each piece of evidence has become part of."""
    linked = {evidence.id: memory for evidence, memory in changes.links if memory is not None}
    if any(each.id not in linked for each in said):
        raise InvalidInput("value", "is less sure than what is known; give a higher confidence, or correct that memory")
    found = await parts.store.memories.find(holder.id, [linked[each.id] for each in said])
    made = {memory.id: memory for memory in found}
    return [made[linked[each.id]] for each in said]


def _decided(said: Evidence, memory: UUID, act: Act, now: datetime) -> Evidence:
    is_meant = said.memory == memory and said.act == "proposes"
    return replace(said, act=act, said_at=now) if is_meant else said
