"""RecollectMemoryBlock: a memory block for LlamaIndex's Memory. Needs the extra `recollect[llamaindex]`.

`Memory.get` returns the context for the latest user message, without the messages in LlamaIndex's own queue. Messages
are recorded once: at the next `get`, or when the queue overflows, because LlamaIndex passes nothing to its blocks
before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from recollect import Engine, Query, Scope, SyncEngine, Turn
from recollect.integrations.engine_loop import EngineLoop, describe_calls, read_turns
from recollect.recall.lexemes import count_tokens
from recollect.values.conversation import Role
from recollect.values.query import MAX_QUERY_CHARS

try:
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import Field, PrivateAttr
except ImportError:
    raise ImportError(
        "recollect.integrations.llamaindex needs LlamaIndex; run `pip install recollect[llamaindex]`"
    ) from None

SESSION = "llamaindex"  # of a block without a Memory
SESSION_ID = "session_id"  # LlamaIndex's name for it
ROLES: Mapping[str, Role] = {"developer": "system", "function": "tool", "chatbot": "assistant", "model": "assistant"}


Window = Sequence[Turn]  # the part of LlamaIndex's queue that was recorded


class RecollectMemoryBlock(BaseMemoryBlock[str]):
    """`engine` is from `connect` or `connect_sync`. With `connect`, create the block where the engine was opened, and
    use Memory's async methods: the blocking ones would deadlock the engine's loop."""

    name: str = "recollect"
    engine: Engine | SyncEngine = Field(exclude=True, repr=False)
    user: str
    project: str = "default"
    session: str | None = None  # None: the Memory's session id
    budget: int = 2000  # tokens of context
    _loop: EngineLoop = PrivateAttr()
    _windows: dict[str, Window] = PrivateAttr(default_factory=dict)
    _lock: asyncio.Lock = PrivateAttr(default_factory=asyncio.Lock)  # used on the engine's loop only

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._loop = EngineLoop(self.engine)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        scope = self._scope(block_kwargs.get(SESSION_ID))
        return await self._loop.run(self._context(scope, [make_turn(message) for message in messages or ()]))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        scope = self._scope(next((message.additional_kwargs.get(SESSION_ID) for message in messages), None))
        await self._loop.run(self._record_leaving(scope, [make_turn(message) for message in messages]))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Drop lines from the end: definitions and memories come before recalled turns."""
        left = count_tokens(content) - tokens_to_truncate
        lines = content.splitlines(keepends=True)
        while lines and count_tokens("".join(lines)) > left:
            lines.pop()
        return "".join(lines).rstrip() or None

    def _scope(self, session_id: str | None) -> Scope:
        return Scope(self.user, self.session or session_id or SESSION, self.project)

    async def _context(self, scope: Scope, queue: Sequence[Turn]) -> str:
        async with self._lock:
            window = await self._record_new(scope, drop_repeated_input(queue), is_old=False)
        question = next((turn.text for turn in reversed(queue) if turn.role == "user"), None)
        if question is None:
            return ""
        query = Query(
            question[:MAX_QUERY_CHARS], budget=self.budget, recent=0, exclude=tuple(each.ref for each in window)
        )
        return (await self._loop.engine.context(scope, query)).text

    async def _record_leaving(self, scope: Scope, oldest: Sequence[Turn]) -> None:
        """Record messages that leave the queue."""
        async with self._lock:
            window = await self._record_new(scope, oldest, is_old=True)
            self._windows[str(scope.session)] = window[len(oldest) :]

    async def _record_new(self, scope: Scope, queue: Sequence[Turn], *, is_old: bool) -> Window:
        """Record the messages of the queue that are not in the log yet."""
        known = self._windows.get(str(scope.session))
        if known is None:
            known = await read_turns(self._loop.engine, scope, least=len(queue))
        window = [*known[find_alignment(known, queue, is_old) :]]
        if new := queue[len(window) :]:
            recorded = await self._loop.engine.record(scope, new)
            session = recorded.conversation.session
            window += [replace(turn, session=session, index=n) for n, turn in enumerate(new, recorded.first)]
        self._windows[str(scope.session)] = window
        return window


def make_turn(message: ChatMessage) -> Turn:
    text, name = message.content or "", message.role.value
    calls = [block.tool_name for block in message.blocks if isinstance(block, ToolCallBlock)]
    role = next((role for role in get_args(Role) if role == name), None) or ROLES[name]
    return Turn(role, text if text.strip() else describe_calls(calls))


def drop_repeated_input(queue: Sequence[Turn]) -> Sequence[Turn]:
    """Drop the last message if it repeats the user message before: LlamaIndex's agents pass their input twice. A
    message that the user really repeats is recorded with what follows it."""
    asked = [turn.text for turn in queue if turn.role == "user"]
    is_again = queue and queue[-1].role == "user" and queue[-1].text in asked[-2:-1]
    return queue[:-1] if is_again else queue


def find_alignment(known: Window, queue: Sequence[Turn], is_old: bool) -> int:
    """Return the index in `known` at which the queue begins. A complete queue ends no earlier than what is known;
    messages that leave it (`is_old`) may be any part."""
    new = [(turn.role, turn.text) for turn in queue]
    old = [(each.role, each.text) for each in known]
    return next(
        start
        for start in range(len(old) + 1)
        if old[start : start + len(new)] == new[: len(old) - start] and (is_old or len(old) - start <= len(new))
    )
