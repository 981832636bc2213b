"""Teach: what people state explicitly. They add memories, correct, close, approve or promote them; always as evidence,
so that the history shows who changed what, and when."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import get_args

from recollect.errors import InvalidInput, NotFound
from recollect.flows.change import Amend, Amendment, add_evidence, change_memories
from recollect.flows.dependencies import Dependencies
from recollect.learning.reconcile import Changes
from recollect.store.memories import Holder, Known
from recollect.values.conversation import to_utc
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson, Owner, build_lesson_evidence
from recollect.values.memory import ABOUT_QUESTIONS, Act, Evidence, Memory, MemoryKind, Status, is_single
from recollect.values.query import check_choice, check_choices, check_range
from recollect.values.scope import MAX_NAME, MemoryId, Scope, uuid7
from recollect.values.sensitive_data import mask_data, mask_text
from recollect.values.text import check_text

MAX_LISTED = 10_000


async def learn(
    deps: Dependencies, scope: Scope, lessons: Sequence[Lesson], ending: Collection[MemoryId] = ()
) -> list[Memory]:
    """Store lessons; those of one owner in one change, in which `ending` end too."""
    now = deps.clock.now()
    lessons = [prepare_lesson(deps, lesson) for lesson in lessons]
    learned: dict[int, Memory] = {}

    for owner in dict.fromkeys(lesson.owned_by for lesson in lessons):
        owned = {place: lesson for place, lesson in enumerate(lessons) if lesson.owned_by == owner}
        holder = get_holder(scope, owner)
        new = [
            await locate_evidence(deps, scope, lesson, build_lesson_evidence(lesson, scope.user, now))
            for lesson in owned.values()
        ]

        actor = get_actor(holder, scope)
        if ending:
            keys = list(dict.fromkeys(each.key for each in new))
            changes = await change_memories(deps, holder, keys, end_and_add(ending, new, scope.user, now), actor=actor)
        else:
            changes = await add_evidence(deps, holder, new, actor=actor)
        learned |= dict(zip(owned, await load_supported(deps, holder, new, changes), strict=True))
    return [learned[place] for place in range(len(lessons))]


def end_and_add(ending: Collection[MemoryId], new: Sequence[Evidence], author: str, now: datetime) -> Amend:
    """Return an amendment that ends active memories and adds new evidence."""

    def amend(known: Known) -> Amendment:
        ended = [memory for memory in known.memories if memory.id in ending and memory.status == "active"]
        ends = [build_evidence_about(memory, "completes", author, now) for memory in ended]
        return Amendment([*ends, *new], known.evidence)

    return amend


def prepare_lesson(deps: Dependencies, lesson: Lesson) -> Lesson:
    """Return the lesson as it is stored: without sensitive data, if the setting says so. A project's lesson may need
    approval, and is stored without the question that its author asked."""
    if deps.settings.mask_sensitive:
        lesson = replace(
            lesson,
            value=mask_text(lesson.value),
            key=mask_text(lesson.key)[:MAX_NAME],
            data=mask_data(lesson.data),
            question=lesson.question and mask_text(lesson.question),
        )
    if lesson.owned_by == "project":
        question = lesson.question if lesson.kind in ABOUT_QUESTIONS else None
        lesson = replace(lesson, question=question, pending=lesson.pending or deps.settings.project_approval)
    return lesson


async def locate_evidence(deps: Dependencies, scope: Scope, lesson: Lesson, said: Evidence) -> Evidence:
    """Return the evidence with the turn it comes from, with which it is forgotten. The project's evidence names no
    user's turn."""
    if lesson.said_in is None or lesson.owned_by == "project":
        return said
    session, _, index = lesson.said_in.rpartition("#")
    conversation = await deps.store.find_conversation(scope.id, session, deps.clock.now())
    if conversation is None:
        raise NotFound(f"user {scope.user!r} has no session {session!r}")
    return replace(said, conversation=conversation.id, session=session, turn=int(index))


async def correct_memory(
    deps: Dependencies, scope: Scope, memory: MemoryId, value: str, owner: Owner | None = None
) -> Memory:
    """Replace a memory's value; the old value ends and names the new one."""
    value = deps.mask(check_text("value", value, MAX_VALUE_CHARS).strip())
    holder, old = await find_memory(deps, scope, memory, owner)
    if old.replaced_by is not None:
        _, successor = await find_memory(deps, scope, old.replaced_by, owner)
        if successor.value == value:  # the same correction once more
            return successor
    check_settled(old)
    said = replace(
        build_evidence_about(old, "says", scope.user, deps.clock.now()), value=value, corrects=True, old=old.value
    )
    changes = await add_evidence(deps, holder, [replace(said, source="correction")], actor=get_actor(holder, scope))
    [made] = await load_supported(deps, holder, [said], changes)
    return made


async def close_memory(deps: Dependencies, scope: Scope, memory: MemoryId, owner: Owner | None = None) -> Memory:
    """End a memory."""
    holder, old = await find_memory(deps, scope, memory, owner)
    check_settled(old)
    done = build_evidence_about(old, "completes", scope.user, deps.clock.now())
    await add_evidence(deps, holder, [done], actor=get_actor(holder, scope))
    return (await find_memory(deps, scope, memory))[1]


async def decide_proposal(deps: Dependencies, scope: Scope, memory: MemoryId, approve: bool) -> Memory:
    """Approve or refuse a pending memory."""
    holder, old = await find_memory(deps, scope, memory)
    if old.status != "pending":
        raise InvalidInput("memory", f"{memory} is {old.status}; only a pending memory waits for approval")
    now = deps.clock.now()
    act: Act = "says" if approve else "refuses"

    def amend(known: Known) -> Amendment:
        kept = [
            replace(said, act=act, said_at=now) if said.memory == memory and said.act == "proposes" else said
            for said in known.evidence
        ]
        settle = {"memory": memory, "act": act, "now": now, "actor": scope.user}
        return Amendment((), kept, [("evidence.settle_proposal", settle)])

    await change_memories(deps, holder, [old.key], amend, actor=get_actor(holder, scope))
    return (await find_memory(deps, scope, memory))[1]


async def promote_memory(deps: Dependencies, scope: Scope, memory: MemoryId) -> Memory:
    """Make a user's memory the project's. The project learns it first, so that a crash in between loses nothing."""
    holder, old = await find_memory(deps, scope, memory)
    if holder.user is None:
        raise InvalidInput("memory", f"{memory} is the project's already")
    if old.status != "active":
        raise InvalidInput("memory", f"{memory} is {old.status}; only an active memory can be promoted")
    if old.kind == "identity":
        raise InvalidInput("memory", f"{memory} ({old.key}) is about one person and cannot be shared with the project")
    # The project has it without the question that its author asked.
    kept = {name: each for name, each in (old.data or {}).items() if name != "question" or old.kind in ABOUT_QUESTIONS}
    shared = replace(
        build_evidence_about(old, "says", scope.user, deps.clock.now()),
        source="manual",
        data={**kept, "from": str(old.id)},
    )
    project = get_holder(scope, "project")
    changes = await add_evidence(deps, project, [shared], actor=get_actor(project, scope))
    ended = build_evidence_about(old, "promotes", scope.user, deps.clock.now())
    await add_evidence(deps, holder, [ended], actor=get_actor(holder, scope))
    [made] = await load_supported(deps, project, [shared], changes)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories to list; None means any."""

    kinds: Sequence[MemoryKind] | None = None
    key: str | Sequence[str] | None = None
    status: Sequence[Status] | None = ("active", "pending")
    owner: Owner = "user"
    as_of: datetime | None = None
    limit: int = 200
    after: MemoryId | None = None

    def __post_init__(self) -> None:
        check_choices("kinds", self.kinds, get_args(MemoryKind), optional=True)
        check_choices("status", self.status, get_args(Status), optional=True)
        check_choice("owner", self.owner, get_args(Owner))
        check_range("limit", self.limit, 1, MAX_LISTED)
        if self.as_of is not None:
            object.__setattr__(self, "as_of", to_utc("as_of", self.as_of))


async def list_memories(deps: Dependencies, scope: Scope, wanted: MemoryFilter) -> list[Memory]:
    return await deps.store.memories.list_memories(
        get_holder(scope, wanted.owner).id,
        kinds=wanted.kinds,
        keys=[wanted.key] if isinstance(wanted.key, str) else wanted.key,
        # With `as_of`, the state at that time counts, whatever the status is now.
        status=None if wanted.as_of else wanted.status,
        as_of=wanted.as_of,
        after=wanted.after,
        limit=wanted.limit,
    )


def get_holder(scope: Scope, owner: Owner) -> Holder:
    if owner == "project":
        return Holder(scope.project_id, scope.project, None)
    return Holder(scope.id, scope.project, scope.user)


def get_actor(holder: Holder, scope: Scope) -> str:
    """Return who the audit log names: in their own scope users need no name, which would outlive what they forget."""
    return "user" if holder.user is not None else scope.user


async def find_memory(
    deps: Dependencies, scope: Scope, memory: MemoryId, owner: Owner | None = None
) -> tuple[Holder, Memory]:
    """Return the memory and its holder: the user's, or else the project's, unless an owner is given."""
    owners: tuple[Owner, ...] = (owner,) if owner else ("user", "project")
    for each in owners:
        holder = get_holder(scope, each)
        if known := await deps.store.memories.find(holder.id, [memory]):
            return holder, known[0]
    whose = {"user": f"user {scope.user!r}", "project": f"project {scope.project!r}"}
    raise NotFound(f"there is no memory {memory} of {' or '.join(whose[each] for each in owners)}")


def check_settled(known: Memory) -> None:
    """Refuse pending memories, since a later approval would undo the change, and replaced ones. A key with one value at
    a time can still be corrected through an older value."""
    if known.status == "pending":
        raise InvalidInput("memory", f"{known.id} is pending; approve or reject it first")
    if known.replaced_by is not None and not is_single(known.kind, known.key):
        raise InvalidInput("memory", f"{known.id} was replaced; memory:{known.replaced_by} is what counts now")


def build_evidence_about(memory: Memory, act: Act, author: str, now: datetime) -> Evidence:
    """Return evidence about a memory as it is. It is later than the memory, also if the clock was set back since."""
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
        said_at=max(now, memory.valid_from + timedelta(microseconds=1)),
        data=memory.data,
        author=author,
    )


async def load_supported(
    deps: Dependencies, holder: Holder, said: Sequence[Evidence], changes: Changes
) -> list[Memory]:
    """Return the memory that each piece of evidence has become part of."""
    linked = {evidence.id: memory for evidence, memory in changes.links if memory is not None}
    if any(each.id not in linked for each in said):
        raise InvalidInput(
            "value", "is less certain than the stored value; give a higher confidence, or correct that memory"
        )
    found = await deps.store.memories.find(holder.id, [linked[each.id] for each in said])
    made = {memory.id: memory for memory in found}
    return [made[linked[each.id]] for each in said]
