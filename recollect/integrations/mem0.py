"""Memory and AsyncMemory: mem0's interface on the engine. Code written for mem0 runs with another import line
(docs/howto/mem0.md). mem0_facts.py converts ids and dicts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, suppress
from typing import Any, Self

from recollect import Engine, InvalidInput, Lesson, NotFound, Query, Scope, SyncEngine, Turn, connect
from recollect import Memory as MemoryValue
from recollect.integrations import engine_loop, mem0_facts
from recollect.integrations.mem0_facts import Fact, MemoryVersions, Owner
from recollect.recall.lexemes import lexemes
from recollect.recall.memory_ranking import LEAST
from recollect.recall.question import read_question
from recollect.recall.word_lists import REQUEST_WORDS
from recollect.sync import wait_for
from recollect.values.scope import MemoryId

Results = dict[str, list[Fact]]
log = logging.getLogger("recollect")
SESSION_PAGE_SIZE = 200
MAX_TURNS = 50  # found by vectors, through which memories are found


class AsyncMemory(AbstractAsyncContextManager["AsyncMemory", None]):
    """Uses the given engine, or opens its own with the given settings when it is first used."""

    def __init__(self, engine: Engine | None = None, *, project: str = "default", **settings: Any) -> None:
        self._engine = engine
        self._project = project
        self._settings = settings
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._users: set[str] = set()

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        return cls(**read_config(config_dict))

    async def add(
        self,
        messages: mem0_facts.Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
    ) -> Results:
        owner = Owner(user_id, agent_id, run_id)
        turns = mem0_facts.parse_messages(messages, metadata)
        if not infer:
            return {"results": await self._note(owner, [turn for turn in turns if turn.role != "system"])}
        results = await self._learn(owner, turns)
        if not results and isinstance(messages, str):
            results = await self._note(owner, turns)
        return {"results": results}

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
    ) -> Results:
        owner, more = mem0_facts.split_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        known = await self._load(owner.user)
        scores = await self._scores(owner, query, known)
        relevant = [memory for memory in known.active if scores.get(memory.id, 0.0) >= (threshold or 1e-9)]
        best = sorted(relevant, key=lambda memory: -scores[memory.id])
        found = await self._facts(owner, known, best, more, limit or top_k)
        return {"results": [{**each, "score": round(scores[memory.id], 4)} for memory, each in found]}

    async def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
    ) -> Results:
        owner, more = mem0_facts.split_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        known = await self._load(owner.user)
        found = await self._facts(owner, known, known.active, more, limit or top_k)
        return {"results": [each for _, each in found]}

    async def get(self, memory_id: str) -> Fact | None:
        user, memory = mem0_facts.parse_id(memory_id)
        known = await self._load(user)
        current = known.current(memory)
        return None if current is None else await self._fact(user, known, current)

    async def update(self, memory_id: str, text: str | None = None, *, data: str | None = None) -> dict[str, str]:
        """`data` is the older name of `text`."""
        wanted = text if text is not None else data
        if wanted is None:
            raise InvalidInput("text", "is required")
        user, current = await self._current(memory_id)
        await (await self._open()).correct(self._scope(user), current.id, wanted, owner="user")
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        user, current = await self._current(memory_id)
        versions = (await self._load(user)).versions(current)
        await engine_loop.forget_versions(await self._open(), self._scope(user), versions)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete all data of a user including the log, or what was learned from one of their agents or runs."""
        if not (user_id or agent_id or run_id):
            raise InvalidInput("delete_all", "user_id, agent_id or run_id is required; `reset` erases all users")
        owner, engine = Owner(user_id, agent_id, run_id), await self._open()
        scope = self._scope(owner.user)
        if owner.place == (None, None):
            await engine.forget(scope)
        else:
            await self._forget_place(engine, scope, owner)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[Fact]:
        user, memory = mem0_facts.parse_id(memory_id)
        known = await self._load(user)
        current = known.current(memory)
        events = mem0_facts.make_history(user, known.versions(current)) if current else []
        # The audit log has ids and no content.
        deleted = {"old_memory": None, "new_memory": None, "updated_at": None, "event": "DELETE", "is_deleted": True}
        mem0_id = mem0_facts.make_id(user, memory)
        return events + [
            {"id": str(each.id), "memory_id": mem0_id, "created_at": each.at.isoformat(), **deleted}
            for each in await (await self._open()).audit(self._scope(user))
            if each.action == "forgot" and each.subject == f"memory:{memory}"
        ]

    async def reset(self) -> None:
        """Forget all users that this object was used for. Use `delete_all` for others: no verb acts across users."""
        for user in list(self._users):
            await (await self._open()).forget(self._scope(user))
        self._users.clear()

    async def close(self) -> None:
        await self._stack.aclose()

    async def _open(self) -> Engine:
        async with self._opening:
            if self._engine is None:
                self._engine = await self._stack.enter_async_context(connect(**self._settings))
        return self._engine

    def _scope(self, user: str, session: str | None = None) -> Scope:
        self._users.add(user)
        return Scope(user, session, self._project)

    async def _learn(self, owner: Owner, turns: Sequence[Turn]) -> list[Fact]:
        engine, scope = await self._open(), self._scope(owner.user, owner.session)
        before = {memory.id for memory in (await self._load(owner.user)).active}
        recorded = await engine.record(scope, turns)
        await engine.settle(scope)
        return mem0_facts.make_events(owner.user, await self._load(owner.user), before, recorded.refs)

    async def _note(self, owner: Owner, turns: Sequence[Turn]) -> list[Fact]:
        before = {memory.id for memory in (await self._load(owner.user)).active}
        place = dict(zip(("agent_id", "run_id"), owner.place, strict=True))
        events = []
        for turn in turns:
            fields = {**mem0_facts.read_data(turn.data), **place, "role": turn.role}
            data = {mem0_facts.DATA: {name: value for name, value in fields.items() if value is not None}}
            lesson = Lesson(turn.text, owner.note_key, owner="user", data=data)
            memory = await (await self._open()).learn(self._scope(owner.user), lesson)
            events.append(mem0_facts.make_event(owner.user, [memory], memory.id in before) | {"role": turn.role})
        return events

    async def _load(self, user: str) -> MemoryVersions:
        """Return all memories of a user, including ended ones."""
        return MemoryVersions(await engine_loop.read_memories(await self._open(), self._scope(user), None))

    async def _current(self, memory_id: str) -> tuple[str, MemoryValue]:
        user, memory = mem0_facts.parse_id(memory_id)
        current = (await self._load(user)).current(memory)
        if current is None:
            raise NotFound(f"there is no memory {memory_id}")
        return user, current

    async def _scores(self, owner: Owner, query: str, known: MemoryVersions) -> dict[MemoryId, float]:
        """Return the score of each active memory: its own, or that of the turns it was learned from. A question without
        a subject matches every memory, by importance."""
        recall = await (await self._open()).recall(self._scope(owner.user), Query(query, scope="user", limit=MAX_TURNS))
        own = {hit.memory.id: hit.score for hit in recall.memories}
        near = {hit.source: hit.arms["vector"].score for hit in recall.hits if "vector" in hit.arms}
        is_open = read_question(query).overview or not lexemes(query, without=REQUEST_WORDS)
        scores = {}
        for memory in known.active:
            least = LEAST * (1 + memory.importance) / 2 if is_open else 0.0
            found = (own.get(memory.id, 0.0), *(near.get(ref, 0.0) for ref in memory.refs))
            scores[memory.id] = min(1.0, max(least, *found))
        return scores

    async def _facts(
        self,
        owner: Owner,
        known: MemoryVersions,
        memories: Iterable[MemoryValue],
        filters: Mapping[str, Any],
        limit: int,
    ) -> list[tuple[MemoryValue, Fact]]:
        """Return the first memories that the ids own and that match the filters."""
        found = [memory for memory in memories if owner.owns(memory)]
        if not filters:
            found = found[:limit]
        facts = await asyncio.gather(*(self._fact(owner.user, known, memory) for memory in found))
        pairs = zip(found, facts, strict=True)
        return [pair for pair in pairs if mem0_facts.matches_mem0_filter(pair[1], filters)][:limit]

    async def _fact(self, user: str, known: MemoryVersions, memory: MemoryValue) -> Fact:
        """Return a memory with the metadata of the note, or of the turn it was learned from while that is there."""
        data = mem0_facts.read_data(memory.data)
        if not data:
            for session, index in mem0_facts.list_turns(memory)[:1]:
                with suppress(NotFound):  # expired
                    turns = await (await self._open()).history(self._scope(user, session), limit=1, before=index + 1)
                    data = mem0_facts.read_data(turns[-1].data) if turns else {}
        return mem0_facts.make_fact(user, known.versions(memory), data.get("metadata"))

    async def _forget_place(self, engine: Engine, scope: Scope, owner: Owner) -> None:
        """Forget the notes of an agent or run, and its sessions with what was learned from them."""
        known = await self._load(owner.user)
        for memory in [each for each in known.active if mem0_facts.read_data(each.data) and owner.owns(each)]:
            await engine_loop.forget_versions(engine, scope, known.versions(memory))
        sessions = list[str]()
        while page := await engine.conversations(scope, limit=SESSION_PAGE_SIZE, offset=len(sessions)):
            sessions += [conversation.session for conversation in page]
        for session in filter(owner.owns_session, sessions):
            await engine_loop.forget_session(engine, self._scope(owner.user, session))

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Memory(engine_loop.Adapter, AbstractContextManager["Memory", None]):
    """Blocking version, on the given SyncEngine or its own. Call `close`, or use `with`."""

    def __init__(self, engine: SyncEngine | None = None, *, project: str = "default", **settings: Any) -> None:
        self._engine = engine or engine_loop.OwnEngine(connect(**settings))
        self._engine_loop = engine_loop.EngineLoop(self._engine)
        self._target = AsyncMemory(self._engine_loop.engine, project=project)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        return cls(**read_config(config_dict))

    add = wait_for(AsyncMemory.add)
    search = wait_for(AsyncMemory.search)
    get_all = wait_for(AsyncMemory.get_all)
    get = wait_for(AsyncMemory.get)
    update = wait_for(AsyncMemory.update)
    delete = wait_for(AsyncMemory.delete)
    delete_all = wait_for(AsyncMemory.delete_all)
    history = wait_for(AsyncMemory.history)
    reset = wait_for(AsyncMemory.reset)

    def close(self) -> None:
        if isinstance(self._engine, engine_loop.OwnEngine):
            self._engine.shut_down()

    def __exit__(self, *error: object) -> None:
        self.close()


def read_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings under "recollect". mem0's own sections do not apply and are reported."""
    if left := [name for name in config if name != "recollect"]:
        log.warning("not used by recollect.integrations.mem0: %s; its settings go under 'recollect'", ", ".join(left))
    return dict(config.get("recollect") or {})
