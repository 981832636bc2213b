"""RecollectSession: a session of the OpenAI Agents SDK over the Engine. A Runner reads it before a run and adds to it
after each turn. The extra `recollect[openai-agents]` brings the SDK; nothing here imports it, because a session is
whatever has these four methods.

    add_items        each item is a turn of the log: what user and assistant say as theirs, so that it is recalled and
                     learned from; calls and results of tools as the tool's. The item itself is in the turn's data.
    get_items        the items as they were given, the last `limit` of them
    pop_item         hides the last item: the log never changes, so another turn says that it does not count here
    clear_session    forgets the session, with everything that was learned only from it

Turns that somebody else recorded in the session are items too: plain messages. One that was redacted is what is left
of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from recollect.compat.loop import EngineLoop
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound
from recollect.model.attached import check_data
from recollect.model.conversation import MAX_DATA_CHARS, Role, Turn
from recollect.model.scope import Scope
from recollect.sync import SyncEngine

DATA = "openai_agents"  # under which our part is in the data of turns
PAGE = 200
MOST = 1000  # the engine's largest page
SAID: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
SHOWN = 2000  # characters of a tool's result that are the turn's text; all of it is in the item


class RecollectSession:
    """One conversation of one user. `engine` from `connect` or `connect_sync`; with the first, make the session where
    the engine was opened. `session_settings` are the SDK's, for a default limit."""

    def __init__(
        self,
        session_id: str,
        engine: Engine | SyncEngine,
        *,
        user: str,
        project: str = "default",
        session_settings: Any = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._at = EngineLoop(engine)
        self._engine = self._at.engine
        self._scope = Scope(user, session_id, project)
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        chosen = getattr(self.session_settings, "limit", None) if limit is None else limit
        return await self._at.there(self._get(chosen))

    async def add_items(self, items: Sequence[Any]) -> None:
        await self._at.there(self._add(items))

    async def pop_item(self) -> Any | None:
        return await self._at.there(self._pop())

    async def clear_session(self) -> None:
        await self._at.there(self._clear())

    async def _get(self, limit: int | None) -> list[Any]:
        if limit is not None and limit <= 0:
            return []
        found: list[Any] = []
        async with aclosing(self._shown(limit)) as turns:
            async for turn in turns:
                found.append(as_item(turn))
                if len(found) == limit:
                    break
        return found[::-1]

    async def _add(self, items: Sequence[Any]) -> None:
        if items:
            await self._engine.record(self._scope, [as_turn(item) for item in items])

    async def _pop(self) -> Any | None:
        """Of several at once each gets another item, also in several processes: the key can be used once."""
        async with self._lock, aclosing(self._shown(limit=1)) as turns:
            async for turn in turns:
                recorded = await self._engine.record(self._scope, hiding(turn), idempotency_key=once(turn))
                if not recorded.replayed:
                    return as_item(turn)
        return None

    async def _clear(self) -> None:
        try:
            await self._engine.forget(self._scope)
        except NotFound:
            return  # there is none, or no more

    async def _shown(self, limit: int | None) -> AsyncGenerator[Turn, None]:
        """The turns that are items, the newest first. What hides a turn comes after it, and so is read before it."""
        hidden: set[int] = set()
        async with aclosing(self._backwards(PAGE if limit is None else min(2 * limit, MOST))) as turns:
            async for turn in turns:
                if (index := hides(turn)) is not None:
                    hidden.add(index)
                elif turn.index not in hidden and is_item(turn):
                    yield turn

    async def _backwards(self, page: int) -> AsyncGenerator[Turn, None]:
        before: int | None = None
        while before is None or before > 0:
            try:
                turns = await self._engine.history(self._scope, limit=page, before=before)
            except NotFound:
                return  # nothing was said yet, or it has expired
            for turn in reversed(turns):
                yield turn
            if len(turns) < page:
                return
            before, page = turns[0].index, MOST


# Turns and items


def as_turn(item: Any) -> Turn:
    if not isinstance(item, Mapping):
        raise InvalidInput("items", f"a {type(item).__name__} is not an item; it is a dict")
    role = SAID.get(str(item.get("role")), "tool")
    return Turn(role, plain(spoken(item)) or f"({item.get('type') or 'no text'})", data={DATA: attached(item)})


def attached(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item, in which masking and redaction can look; as JSON what PostgreSQL would not keep, such as NUL."""
    kept = {"item": dict(item)}
    try:
        check_data("item", kept, MAX_DATA_CHARS)
    except InvalidInput:
        return {"json": as_json(item)}
    return kept


def as_json(item: Mapping[str, Any]) -> str:
    try:
        return json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("items", f"an item cannot be written as JSON: {error}") from None


def as_item(turn: Turn) -> Any:
    return given(turn) or {"role": turn.role, "content": turn.text}


def is_item(turn: Turn) -> bool:
    """A tool's turn without an item is another's, or was redacted: no message can stand for it."""
    return turn.role != "tool" or given(turn) is not None


def given(turn: Turn) -> Any | None:
    """The item that a turn was made of, if it is still there."""
    kept = (turn.data or {}).get(DATA) or {}
    try:
        return json.loads(kept["json"]) if "json" in kept else kept.get("item")
    except ValueError:
        return None  # what was masked in it was not a string


def hiding(turn: Turn) -> Turn:
    return Turn("system", f"({turn.ref} was taken back)", data={DATA: {"hides": turn.index}})


def once(turn: Turn) -> str:
    """The key under which a turn is hidden once. With the time: a session that was forgotten counts from 0 again."""
    return "pop " + hashlib.sha256(f"{turn.ref} {turn.at}".encode()).hexdigest()


def hides(turn: Turn) -> int | None:
    """The index of the turn that this one hides."""
    kept = (turn.data or {}).get(DATA) or {}
    index: int | None = kept.get("hides")
    return index


def spoken(item: Mapping[str, Any]) -> str:
    """What an item says in words: a message its text, a call its name and arguments, a result its beginning."""
    if item.get("role") in SAID:
        return texts(item.get("content"))
    called = " ".join(str(item[name]) for name in ("name", "arguments") if item.get(name))
    return called or (texts(item.get("output")) or texts(item.get("summary")))[:SHOWN]


def texts(content: Any) -> str:
    """Of a content in parts, its texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    found = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in found if isinstance(text, str))


def plain(text: str) -> str:
    """Without what PostgreSQL cannot keep; nothing, if only space is left."""
    kept = text.replace("\0", "").encode(errors="replace").decode()
    return kept if kept.strip() else ""
