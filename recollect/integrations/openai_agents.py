"""RecollectSession: a session of the OpenAI Agents SDK on the engine. The SDK is not imported, because a session is any
object with these four methods.

Each item is a turn that has the item in its data. `pop_item` hides the last item by recording another turn, because the
log cannot change. Turns recorded by others, or redacted, are returned as plain messages.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from recollect import Engine, InvalidInput, NotFound, Scope, SyncEngine, Turn
from recollect.integrations.engine_loop import EngineLoop, forget_session
from recollect.values.conversation import MAX_DATA_CHARS, Role
from recollect.values.text import check_data

DATA = "openai_agents"  # key of our fields in the data of turns
PAGE_SIZE = 200
MAX_PAGE_SIZE = 1000  # the engine's largest page
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
MAX_RESULT_CHARS = 2000  # of a tool's result in the turn's text; the item has all of it


class RecollectSession:
    """One conversation of one user. `engine` is from `connect` or `connect_sync`; with `connect`, create the session
    where the engine was opened. `session_settings` are the SDK's, for a default limit."""

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
        self._loop = EngineLoop(engine)
        self._engine = self._loop.engine
        self._scope = Scope(user, session_id, project)
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        chosen = getattr(self.session_settings, "limit", None) if limit is None else limit
        return await self._loop.run(self._get(chosen))

    async def add_items(self, items: Sequence[Any]) -> None:
        await self._loop.run(self._add(items))

    async def pop_item(self) -> Any | None:
        return await self._loop.run(self._pop())

    async def clear_session(self) -> None:
        await self._loop.run(forget_session(self._engine, self._scope))

    async def _get(self, limit: int | None) -> list[Any]:
        if limit is not None and limit <= 0:
            return []
        found: list[Any] = []
        async with aclosing(self._visible_turns(limit)) as turns:
            async for turn in turns:
                found.append(make_item(turn))
                if len(found) == limit:
                    break
        return found[::-1]

    async def _add(self, items: Sequence[Any]) -> None:
        if items:
            await self._engine.record(self._scope, [make_turn(item) for item in items])

    async def _pop(self) -> Any | None:
        """Return a different item to each of several concurrent callers: the idempotency key is used once."""
        async with self._lock, aclosing(self._visible_turns(limit=1)) as turns:
            async for turn in turns:
                hiding = Turn("system", f"({turn.ref} was removed)", data={DATA: {"hides": turn.index}})
                # With the time, since a forgotten session restarts at 0.
                key = "pop " + hashlib.sha256(f"{turn.ref} {turn.at}".encode()).hexdigest()
                recorded = await self._engine.record(self._scope, hiding, idempotency_key=key)
                if not recorded.replayed:
                    return make_item(turn)
        return None

    async def _visible_turns(self, limit: int | None) -> AsyncGenerator[Turn, None]:
        """Yield the turns that are items, newest first. A turn that hides another is newer, so it is read first."""
        hidden: set[int] = set()
        page, before = PAGE_SIZE if limit is None else min(2 * limit, MAX_PAGE_SIZE), None
        while before is None or before > 0:
            try:
                turns = await self._engine.history(self._scope, limit=page, before=before)
            except NotFound:
                return  # the session does not exist or has expired
            for turn in reversed(turns):
                index = read_fields(turn).get("hides")
                if index is not None:
                    hidden.add(index)
                elif turn.index not in hidden and is_item(turn):
                    yield turn
            if len(turns) < page:
                return
            before, page = turns[0].index, MAX_PAGE_SIZE


def make_turn(item: Any) -> Turn:
    if not isinstance(item, Mapping):
        raise InvalidInput("items", f"a {type(item).__name__} is not an item; an item is a dict")
    role = ROLES.get(str(item.get("role")), "tool")
    return Turn(
        role, clean_text(extract_text(item)) or f"({item.get('type') or 'no text'})", data={DATA: make_data(item)}
    )


def make_data(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item as data, so that masking and redaction reach it; as JSON text if PostgreSQL cannot store it."""
    data = {"item": dict(item)}
    try:
        check_data("item", data, MAX_DATA_CHARS)
    except InvalidInput:
        try:
            return {"json": json.dumps(item)}
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput("items", f"an item cannot be written as JSON: {error}") from None
    return data


def make_item(turn: Turn) -> Any:
    return read_item(turn) or {"role": turn.role, "content": turn.text}


def read_fields(turn: Turn) -> Mapping[str, Any]:
    return (turn.data or {}).get(DATA) or {}


def is_item(turn: Turn) -> bool:
    """Whether a turn can be returned. A tool's turn without an item cannot be expressed as a message."""
    return turn.role != "tool" or read_item(turn) is not None


def read_item(turn: Turn) -> Any | None:
    """Return the item of a turn, if it is still there."""
    fields = read_fields(turn)
    try:
        return json.loads(fields["json"]) if "json" in fields else fields.get("item")
    except ValueError:
        return None  # masking made it invalid JSON


def extract_text(item: Mapping[str, Any]) -> str:
    """Return the text of a message, the name and arguments of a call, or the beginning of a result."""
    if item.get("role") in ROLES:
        return join_texts(item.get("content"))
    called = " ".join(str(item[name]) for name in ("name", "arguments") if item.get(name))
    return called or (join_texts(item.get("output")) or join_texts(item.get("summary")))[:MAX_RESULT_CHARS]


def join_texts(content: Any) -> str:
    """Return the texts of content in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    found = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in found if isinstance(text, str))


def clean_text(text: str) -> str:
    """Return text that PostgreSQL can store; empty if only white space is left."""
    cleaned = text.replace("\0", "").encode(errors="replace").decode()
    return cleaned if cleaned.strip() else ""
