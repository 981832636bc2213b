"""Memory and AsyncMemory: mem0's interface over the Engine. Code written for it runs with another import line.

    add          records the messages and learns from them at once; infer=False keeps them as notes. A text that is
                 given as such, and of which nothing could be learned, is kept as a note too.
    search       what is known that speaks to a query: by its own words, or through the turns it was learned from
    update       corrects a memory: the old value ends and stays in `history`
    delete       forgets it, with its history; that something was deleted stays known

Ids and dicts are in facts.py, what is asked of the engine in keeper.py. Memory has no logic of its own: it waits for
AsyncMemory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from recollect.compat.facts import Fact, Who, read_id, story
from recollect.compat.filters import whose
from recollect.compat.keeper import Keeper
from recollect.compat.loop import EngineLoop, OwnEngine
from recollect.compat.messages import Messages, read_messages
from recollect.errors import InvalidInput
from recollect.sync import SyncEngine
from recollect.wire import connect

P = ParamSpec("P")
T = TypeVar("T")
Results = dict[str, list[Fact]]
log = logging.getLogger("recollect")


class AsyncMemory(Keeper):
    """On an engine of yours, or on one of its own with settings by name, opened when it is first used."""

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        return cls(**chosen(config_dict))

    async def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
    ) -> Results:
        who = Who(user_id, agent_id, run_id)
        said = read_messages(messages, metadata)
        if not infer:
            return {"results": await self._note(who, [turn for turn in said if turn.role != "system"])}
        results = await self._learn(who, said)
        if not results and isinstance(messages, str):
            results = await self._note(who, said)
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
        who, more = whose(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        known = await self._known(who.user)
        scores = await self._scores(who, query, known)
        speaking = [memory for memory in known.active if scores.get(memory.id, 0.0) >= (threshold or 1e-9)]
        best = sorted(speaking, key=lambda memory: -scores[memory.id])
        found = await self._facts(who, known, best, more, limit or top_k)
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
        who, more = whose(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        known = await self._known(who.user)
        found = await self._facts(who, known, known.active, more, limit or top_k)
        return {"results": [each for _, each in found]}

    async def get(self, memory_id: str) -> Fact | None:
        user, memory = read_id(memory_id)
        known = await self._known(user)
        current = known.current(memory)
        return None if current is None else await self._fact(user, known, current)

    async def update(self, memory_id: str, text: str | None = None, *, data: str | None = None) -> dict[str, str]:
        """`data` is the name that `text` had."""
        wanted = text if text is not None else data
        if wanted is None:
            raise InvalidInput("text", "say what the memory is to be")
        user, current = await self._current(memory_id)
        await (await self._at()).correct(self._scope(user), current.id, wanted, owner="user")
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        user, current = await self._current(memory_id)
        await self._forget(user, (await self._known(user)).versions(current))
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """All of a user, what was said included; or what comes from one agent or run of his."""
        if not (user_id or agent_id or run_id):
            raise InvalidInput("delete_all", "name a user_id, agent_id or run_id; `reset` erases everybody's memory")
        who = Who(user_id, agent_id, run_id)
        if who.place == (None, None):
            await (await self._at()).forget(self._scope(who.user))
        else:
            await self._forget_place(who)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[Fact]:
        user, memory = read_id(memory_id)
        known = await self._known(user)
        current = known.current(memory)
        told = story(user, known.versions(current)) if current else []
        return told + await self._deletions(user, memory)

    async def reset(self) -> None:
        """Forgets everybody whom this object has met. Others are `delete_all`'s: no verb goes across users."""
        for user in list(self._met):
            await (await self._at()).forget(self._scope(user))
        self._met.clear()

    async def close(self) -> None:
        await self._open.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def waited(verb: Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Memory, P], T]:
    """A verb for those who do not await."""

    @wraps(verb)
    def wait(memory: Memory, /, *given: P.args, **named: P.kwargs) -> T:
        return memory._loop.wait(verb(memory._memory, *given, **named))

    return wait


class Memory:
    """The same for code that does not await, on a SyncEngine of yours or one of its own. `close` it, or use `with`."""

    def __init__(self, engine: SyncEngine | None = None, *, project: str = "default", **settings: Any) -> None:
        self._engine = engine or OwnEngine(connect(**settings))
        self._loop = EngineLoop(self._engine)
        self._memory = AsyncMemory(self._loop.engine, project=project)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        return cls(**chosen(config_dict))

    add = waited(AsyncMemory.add)
    search = waited(AsyncMemory.search)
    get_all = waited(AsyncMemory.get_all)
    get = waited(AsyncMemory.get)
    update = waited(AsyncMemory.update)
    delete = waited(AsyncMemory.delete)
    delete_all = waited(AsyncMemory.delete_all)
    history = waited(AsyncMemory.history)
    reset = waited(AsyncMemory.reset)

    def close(self) -> None:
        if isinstance(self._engine, OwnEngine):
            self._engine.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def chosen(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under "recollect". mem0's own sections choose parts that are not used here."""
    if left := [name for name in config if name != "recollect"]:
        log.warning("not used by recollect.compat.mem0: %s; its settings go under 'recollect'", ", ".join(left))
    return dict(config.get("recollect") or {})
