"""RecollectMemoryBlock: a memory block for LlamaIndex's Memory. Needs the extra `recollect[llamaindex]`, which is
llama-index-core and nothing more.

    Memory.get    the block answers with Recollect's context for the last thing the user said; LlamaIndex puts it before
                  the model. What is in LlamaIndex's own queue is not told twice.
    Memory.put    LlamaIndex tells its blocks nothing until its queue is full. So what was put is recorded here when it
                  is first seen: at the next `get`, or when the queue overflows, whichever comes first, and once.

What is recorded are turns of the log, under the Memory's session id: they are learned from, and recalled in every other
session of the user. LlamaIndex's `reset` empties its queue and nothing here; `Engine.forget` forgets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from recollect.compat.loop import EngineLoop
from recollect.compat.sessions import said
from recollect.engine import Engine
from recollect.model.conversation import Role, Turn
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS, Query
from recollect.model.tokens import count_tokens
from recollect.sync import SyncEngine

try:
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import Field, PrivateAttr
except ImportError:
    raise ImportError(
        "recollect.compat.llamaindex needs LlamaIndex; `pip install recollect[llamaindex]` brings it"
    ) from None

SESSION = "llamaindex"  # of a block that is used without a Memory
SESSION_ID = "session_id"  # under which LlamaIndex says it
ROLES: Mapping[str, Role] = {"developer": "system", "function": "tool", "chatbot": "assistant", "model": "assistant"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A message of LlamaIndex's queue that is in the log."""

    role: Role
    text: str
    ref: str


Window = Sequence[Kept]  # the queue, as far as it is in the log


class RecollectMemoryBlock(BaseMemoryBlock[str]):
    """`engine` from `connect` or `connect_sync`. With the first, make it where the engine was opened, and await
    Memory's async methods: its others would make the engine's loop wait for itself."""

    name: str = "recollect"
    engine: Engine | SyncEngine = Field(exclude=True, repr=False)
    user: str
    project: str = "default"
    session: str | None = None  # None: the Memory's session id
    budget: int = 2000  # tokens of context
    _at: EngineLoop = PrivateAttr()
    _windows: dict[str, Window] = PrivateAttr(default_factory=dict)
    _turn: asyncio.Lock = PrivateAttr(default_factory=asyncio.Lock)  # used on the engine's loop only

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._at = EngineLoop(self.engine)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        scope = self._scope(block_kwargs.get(SESSION_ID))
        return await self._at.there(self._context(scope, [as_turn(message) for message in messages or ()]))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        scope = self._scope(next((message.additional_kwargs.get(SESSION_ID) for message in messages), None))
        await self._at.there(self._leave(scope, [as_turn(message) for message in messages]))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The first lines stay: what words mean and what is known comes before what was recalled."""
        left = count_tokens(content) - tokens_to_truncate
        lines = content.splitlines(keepends=True)
        while lines and count_tokens("".join(lines)) > left:
            lines.pop()
        return "".join(lines).rstrip() or None

    def _scope(self, session_id: str | None) -> Scope:
        return Scope(self.user, self.session or session_id or SESSION, self.project)

    async def _context(self, scope: Scope, queue: Sequence[Turn]) -> str:
        async with self._turn:
            window = await self._keep(scope, without_repetition(queue), is_old=False)
        asked = next((turn.text for turn in reversed(queue) if turn.role == "user"), None)
        if asked is None:
            return ""
        query = Query(asked[:MAX_QUERY_CHARS], budget=self.budget, recent=0, exclude=tuple(kept.ref for kept in window))
        return (await self._at.engine.context(scope, query)).text

    async def _leave(self, scope: Scope, oldest: Sequence[Turn]) -> None:
        """These leave the queue."""
        async with self._turn:
            window = await self._keep(scope, oldest, is_old=True)
            self._windows[str(scope.session)] = window[len(oldest) :]

    async def _keep(self, scope: Scope, queue: Sequence[Turn], *, is_old: bool) -> Window:
        """Records what of the queue is not in the log yet."""
        known = self._windows.get(str(scope.session))
        if known is None:
            known = [as_kept(turn) for turn in await said(self._at.engine, scope, least=len(queue))]
        window = [*known[aligned(known, queue, is_old) :]]
        if new := queue[len(window) :]:
            recorded = await self._at.engine.record(scope, new)
            window += [Kept(turn.role, turn.text, ref) for turn, ref in zip(new, recorded.refs, strict=True)]
        self._windows[str(scope.session)] = window
        return window


def as_turn(message: ChatMessage) -> Turn:
    text = message.content or ""
    return Turn(role_of(message), text if text.strip() else without_text(message))


def role_of(message: ChatMessage) -> Role:
    name = message.role.value
    return next((role for role in get_args(Role) if role == name), None) or ROLES[name]


def without_text(message: ChatMessage) -> str:
    """A turn has a text; here the log says what there was instead."""
    calls = [block.tool_name for block in message.blocks if isinstance(block, ToolCallBlock)]
    return f"(calls {', '.join(calls)})" if calls else "(no text)"


def as_kept(turn: Turn) -> Kept:
    return Kept(turn.role, turn.text, turn.ref)


def without_repetition(queue: Sequence[Turn]) -> Sequence[Turn]:
    """LlamaIndex's agents give what they are asked once more, as the input. What is really said again is kept with what
    follows it."""
    asked = [turn.text for turn in queue if turn.role == "user"]
    is_again = queue and queue[-1].role == "user" and queue[-1].text in asked[-2:-1]
    return queue[:-1] if is_again else queue


def aligned(known: Window, queue: Sequence[Turn], is_old: bool) -> int:
    """From where on what is known is the queue's beginning. A queue that is whole ends no earlier than what is known;
    what leaves it (`is_old`) may be any part."""
    told = [(turn.role, turn.text) for turn in queue]
    kept = [(each.role, each.text) for each in known]
    return next(
        start
        for start in range(len(kept) + 1)
        if kept[start : start + len(told)] == told[: len(kept) - start] and (is_old or len(kept) - start <= len(told))
    )
