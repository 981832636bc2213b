"""LangChain: `RecollectChatMessageHistory` stores a session's messages as turns, which are learned from and recalled;
`RecollectRetriever` returns recall as documents with their origin. Needs the extra `recollect[langchain]`.

A turn's data has the fields of the message, without its content where that is the turn's text, so that a redaction
reaches both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, get_args

from recollect import Engine, EpisodeHit, Hit, InvalidInput, MemoryHit, Query, Scope, SyncEngine, Turn
from recollect.integrations.engine_loop import EngineLoop, describe_calls, forget_session, read_turns
from recollect.values.conversation import Role
from recollect.values.query import Kind, Reach
from recollect.values.scope import MAX_NAME

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        FunctionMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field, PrivateAttr
except ImportError:
    raise ImportError(
        "recollect.integrations.langchain needs LangChain; run `pip install recollect[langchain]`"
    ) from None

DATA = "langchain"  # key of the message in a turn's data
ROLES: Mapping[type[BaseMessage], Role] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    SystemMessage: "system",
    ToolMessage: "tool",
    FunctionMessage: "tool",
}


class RecollectChatMessageHistory(BaseChatMessageHistory):
    """`engine` is from `connect` or `connect_sync`. With `connect`, create this object where the engine was opened."""

    def __init__(self, engine: Engine | SyncEngine, *, user: str, session: str, project: str = "default") -> None:
        self._loop = EngineLoop(engine)
        self._scope = Scope(user, session, project)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # recorded messages cannot be set
        return self._loop.wait(self._read())

    async def aget_messages(self) -> list[BaseMessage]:
        return await self._loop.run(self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._loop.wait(self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self._loop.run(self._add(messages))

    def clear(self) -> None:
        """Forget the session and the memories learned only from it."""
        self._loop.wait(forget_session(self._loop.engine, self._scope))

    async def aclear(self) -> None:
        await self._loop.run(forget_session(self._loop.engine, self._scope))

    async def _read(self) -> list[BaseMessage]:
        return [make_message(turn) for turn in await read_turns(self._loop.engine, self._scope)]

    async def _add(self, messages: Sequence[BaseMessage]) -> None:
        if messages:
            await self._loop.engine.record(self._scope, [make_turn(message) for message in messages])


class RecollectRetriever(BaseRetriever):
    """Returns memories, turns and episodes of a user and the project as documents, the best of each in turn, `k` in
    all."""

    engine: Engine | SyncEngine = Field(exclude=True, repr=False)
    user: str
    session: str | None = None
    project: str = "default"
    k: int = 10
    kinds: tuple[Kind, ...] = get_args(Kind)
    reach: Reach = "auto"
    _loop: EngineLoop = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._loop = EngineLoop(self.engine)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self._loop.wait(self._search(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._loop.run(self._search(query))

    async def _search(self, query: str) -> list[Document]:
        """Return the best of each kind in turn, because their scores are not comparable."""
        search = Query(query, scope=self.reach, kinds=self.kinds, limit=self.k)
        recall = await self._loop.engine.recall(Scope(self.user, self.session, self.project), search)
        ranks = zip_longest(recall.memories, recall.hits, recall.episodes)
        best = [hit for hit in chain.from_iterable(ranks) if hit is not None][: self.k]
        return [make_document(hit, str(recall.request_id)) for hit in best]


def make_turn(message: BaseMessage) -> Turn:
    """Return a turn with the text of a message, and its other fields as data."""
    fields = message_to_dict(message)
    text = str(message.text)
    if fields["data"]["content"] == text and text.strip():
        del fields["data"]["content"]
    speaker = message.name or (message.role if isinstance(message, ChatMessage) else None)
    calls = getattr(message, "tool_calls", ())
    return Turn(
        choose_role(message),
        text if text.strip() else describe_calls([call["name"] for call in calls]),
        speaker if speaker and speaker.strip() and len(speaker) <= MAX_NAME else None,
        data={DATA: fields},
    )


def choose_role(message: BaseMessage) -> Role:
    """Other participants of a chat count as assistants: nothing is learned from them."""
    for kind, role in ROLES.items():
        if isinstance(message, kind):
            return role
    if isinstance(message, ChatMessage):
        return next((role for role in get_args(Role) if role == message.role), "assistant")
    raise InvalidInput("messages", f"a {type(message).__name__} cannot be recorded; use `clear` to forget a session")


def make_message(turn: Turn) -> BaseMessage:
    """Return a turn as a message: one that was recorded elsewhere, or redacted, as a plain one. The call of a tool
    result is unknown then."""
    if fields := (turn.data or {}).get(DATA):
        [message] = messages_from_dict([{"type": fields["type"], "data": {"content": turn.text, **fields["data"]}}])
        return message
    match turn.role:
        case "user":
            return HumanMessage(turn.text, name=turn.speaker)
        case "assistant":
            return AIMessage(turn.text, name=turn.speaker)
        case "system":
            return SystemMessage(turn.text)
    return ChatMessage(content=turn.text, role=turn.role)


def make_document(hit: Hit | MemoryHit | EpisodeHit, request_id: str) -> Document:
    shared = {"id": hit.source, "tier": hit.tier, "score": hit.score, "why": hit.why, "request_id": request_id}
    return Document(hit.text, id=hit.source, metadata={**shared, **describe_origin(hit)})


def describe_origin(hit: Hit | MemoryHit | EpisodeHit) -> dict[str, Any]:
    """Return the session, the time, and the search arm that ranks the hit highest."""
    match hit:
        case MemoryHit(memory=memory):
            return {
                "kind": "memory",
                "session": next((ref.rpartition("#")[0] for ref in memory.refs if not ref.startswith("@")), None),
                "when": memory.valid_from.isoformat(),
                "arm": "key" if hit.is_asked else "words",
                "key": memory.key,
                "refs": list(memory.refs),
            }
        case EpisodeHit(episode=episode):
            arm = "words" if hit.words else "vector"
            last = episode.said_to.isoformat()
            return {"kind": "episode", "session": episode.session, "when": last, "arm": arm}
    arm = min(hit.arms, key=lambda name: hit.arms[name].rank, default="nearby")
    when = hit.turn.at.isoformat() if hit.turn.at else None
    return {"kind": "turn", "session": hit.turn.session, "when": when, "arm": arm, "role": hit.turn.role}
