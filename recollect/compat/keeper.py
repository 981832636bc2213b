"""Keeper: what mem0.py asks of the engine. One for each AsyncMemory; it opens an engine if it was given none, and knows
how a user's memories are looked up, weighed and erased."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from recollect.compat.facts import DATA, Chains, Fact, Who, fact, named, ours, read_id, turns
from recollect.compat.filters import accepts
from recollect.compat.messages import event, events
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.model.conversation import Turn
from recollect.model.ids import MemoryId
from recollect.model.known import LEAST
from recollect.model.lesson import Lesson
from recollect.model.memory import Memory
from recollect.model.question import read_question
from recollect.model.scope import Scope
from recollect.model.search import Query
from recollect.model.text import lexemes
from recollect.model.words import REQUEST_WORDS
from recollect.wire import connect

PAGE = 10_000
SESSIONS = 200  # a page of them
TURNS = 50  # found by meaning, through which memories are found


class Keeper:
    """On an engine of yours, or on one of its own with settings by name, opened when it is first used."""

    def __init__(self, engine: Engine | None = None, *, project: str = "default", **settings: Any) -> None:
        self._engine = engine
        self._project = project
        self._settings = settings
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._met: set[str] = set()

    # The engine

    async def _at(self) -> Engine:
        async with self._opening:
            if self._engine is None:
                self._engine = await self._open.enter_async_context(connect(**self._settings))
        return self._engine

    def _scope(self, user: str, session: str | None = None) -> Scope:
        self._met.add(user)
        return Scope(user, session, self._project)

    # Learning

    async def _learn(self, who: Who, said: Sequence[Turn]) -> list[Fact]:
        engine, scope = await self._at(), self._scope(who.user, who.session)
        before = {memory.id for memory in (await self._known(who.user)).active}
        recorded = await engine.record(scope, said)
        await engine.settle(scope)
        return events(who.user, await self._known(who.user), before, recorded.refs)

    async def _note(self, who: Who, said: Sequence[Turn]) -> list[Fact]:
        before = {memory.id for memory in (await self._known(who.user)).active}
        lessons = [Lesson(turn.text, who.shelf, owner="user", data=self._noted(who, turn)) for turn in said]
        learned = [await (await self._at()).learn(self._scope(who.user), lesson) for lesson in lessons]
        return [
            {**event(who.user, [memory], memory.id in before), "role": turn.role}
            for turn, memory in zip(said, learned, strict=True)
        ]

    def _noted(self, who: Who, turn: Turn) -> dict[str, Any]:
        agent, run = who.place
        noted = {**ours(turn.data), "agent_id": agent, "run_id": run, "role": turn.role}
        return {DATA: {name: value for name, value in noted.items() if value is not None}}

    # Looking up

    async def _known(self, user: str) -> Chains:
        """Everything, ended values too; a page at a time."""
        engine, scope, memories = await self._at(), self._scope(user), list[Memory]()
        while page := await engine.memories(
            scope, status=None, limit=PAGE, after=memories[-1].id if memories else None
        ):
            memories += page
            if len(page) < PAGE:
                break
        return Chains(memories)

    async def _current(self, memory_id: str) -> tuple[str, Memory]:
        user, memory = read_id(memory_id)
        current = (await self._known(user)).current(memory)
        if current is None:
            raise NotFound(f"there is no memory {memory_id}")
        return user, current

    async def _scores(self, who: Who, query: str, known: Chains) -> dict[MemoryId, float]:
        """What each memory is worth to a query: by itself, or through the turns it was learned from."""
        recall = await (await self._at()).recall(self._scope(who.user), Query(query, scope="user", limit=TURNS))
        spoken = {hit.memory.id: hit.score for hit in recall.memories}
        near = {hit.source: hit.arms["vector"].score for hit in recall.hits if "vector" in hit.arms}
        return {
            memory.id: min(1.0, max(spoken.get(memory.id, 0.0), *through(memory, near), unasked(memory, query)))
            for memory in known.active
        }

    async def _facts(
        self, who: Who, known: Chains, memories: Iterable[Memory], filters: Mapping[str, Any], limit: int
    ) -> list[tuple[Memory, Fact]]:
        """The first that are where the ids say and pass the filters."""
        found = [memory for memory in memories if who.is_in(memory)]
        if not filters:
            found = found[:limit]
        facts = await asyncio.gather(*(self._fact(who.user, known, memory) for memory in found))
        return [pair for pair in zip(found, facts, strict=True) if accepts(pair[1], filters)][:limit]

    async def _fact(self, user: str, known: Chains, memory: Memory) -> Fact:
        return fact(user, known.versions(memory), await self._metadata(user, memory))

    async def _metadata(self, user: str, memory: Memory) -> Mapping[str, Any] | None:
        """It is with the note, or with the turn that the memory was learned from, as long as the log has that."""
        if told := ours(memory.data):
            return told.get("metadata")
        for session, index in turns(memory)[:1]:
            try:
                said = await (await self._at()).history(self._scope(user, session), limit=1, before=index + 1)
            except NotFound:
                continue  # expired
            return ours(said[-1].data).get("metadata") if said else None
        return None

    # Erasing

    async def _forget(self, user: str, versions: Iterable[Memory]) -> None:
        """The oldest first: what is forgotten must not bring back what it had replaced."""
        for memory in versions:
            try:
                await (await self._at()).forget(self._scope(user), memory=memory.id, owner="user")
            except NotFound:
                continue  # it went with another

    async def _forget_place(self, who: Who) -> None:
        """Notes by what they say; what was learned goes with the sessions it was learned in."""
        known = await self._known(who.user)
        for memory in [each for each in known.active if ours(each.data) and who.is_in(each)]:
            await self._forget(who.user, known.versions(memory))
        for session in [session for session in await self._sessions(who.user) if who.is_at(session)]:
            await self._forget_session(who.user, session)

    async def _sessions(self, user: str) -> list[str]:
        engine, sessions = await self._at(), list[str]()
        while page := await engine.conversations(self._scope(user), limit=SESSIONS, offset=len(sessions)):
            sessions += [conversation.session for conversation in page]
        return sessions

    async def _forget_session(self, user: str, session: str) -> None:
        try:
            await (await self._at()).forget(self._scope(user, session))
        except NotFound:
            return  # there is none, or no more

    async def _deletions(self, user: str, memory: MemoryId) -> list[Fact]:
        """From the trail, which names ids and never content."""
        trail = await (await self._at()).audit(self._scope(user))
        return [
            {
                "id": str(deed.id),
                "memory_id": named(user, memory),
                "old_memory": None,
                "new_memory": None,
                "event": "DELETE",
                "created_at": deed.at.isoformat(),
                "updated_at": None,
                "is_deleted": True,
            }
            for deed in trail
            if deed.action == "forgot" and deed.subject == f"memory:{memory}"
        ]


def through(memory: Memory, near: Mapping[str, float]) -> list[float]:
    """How near the turns that it was learned from are, by their refs; 0 for what nobody found."""
    return [0.0, *(near.get(ref, 0.0) for ref in memory.refs)]


def unasked(memory: Memory, query: str) -> float:
    """A question without a subject, such as what is known, has everything for an answer, the important first."""
    is_open = read_question(query).overview or not lexemes(query, without=REQUEST_WORDS)
    return LEAST * (1 + memory.importance) / 2 if is_open else 0.0
