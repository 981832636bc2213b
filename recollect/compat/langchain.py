"""LangChain over the Engine. Needs the extra `recollect[langchain]`, which is langchain-core and nothing more.

    RecollectChatMessageHistory   a session as LangChain's message history: what is added is a turn of the log, so it is
                                  learned from and recalled; what is read is what was added, field by field
    RecollectRetriever            recall as LangChain's retriever: each document says where it comes from, and why

A turn's text is the message's; the rest of the message is in the turn's data, and its content only where that is not
plain text. So a redaction reaches both, and the message is read with what is left. Turns that others recorded in the
session are messages too. The log never changes, so `clear` does the one honest thing: it forgets the session for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, get_args

from recollect.compat.loop import EngineLoop
from recollect.compat.sessions import said
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound
from recollect.model.conversation import Role, Turn
from recollect.model.known import EpisodeHit, MemoryHit
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.search import Hit, Kind, Query, Reach, Recall
from recollect.sync import SyncEngine

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
        "recollect.compat.langchain needs LangChain; `pip install recollect[langchain]` brings it"
    ) from None

DATA = "langchain"  # under which the message is in a turn's data
ROLES: Mapping[type[BaseMessage], Role] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    SystemMessage: "system",
    ToolMessage: "tool",
    FunctionMessage: "tool",
}


class RecollectChatMessageHistory(BaseChatMessageHistory):
    """`engine` from `connect` or `connect_sync`. With the first, make it where the engine was opened."""

    def __init__(self, engine: Engine | SyncEngine, *, user: str, session: str, project: str = "default") -> None:
        self._at = EngineLoop(engine)
        self._scope = Scope(user, session, project)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # what was said cannot be set
        return self._at.wait(self._read())

    async def aget_messages(self) -> list[BaseMessage]:
        return await self._at.there(self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self._at.wait(self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await self._at.there(self._add(messages))

    def clear(self) -> None:
        """Forgets the session: what was said, and what was learned from it alone."""
        self._at.wait(self._forget())

    async def aclear(self) -> None:
        await self._at.there(self._forget())

    async def _read(self) -> list[BaseMessage]:
        return [as_message(turn) for turn in await said(self._at.engine, self._scope)]

    async def _add(self, messages: Sequence[BaseMessage]) -> None:
        if messages:
            await self._at.engine.record(self._scope, [as_turn(message) for message in messages])

    async def _forget(self) -> None:
        try:
            await self._at.engine.forget(self._scope)
        except NotFound:
            return  # nothing was said yet


class RecollectRetriever(BaseRetriever):
    """What a user said and what is known of him and the project, as documents: of memories, turns and episodes the best
    of each in turn, `k` in all."""

    engine: Engine | SyncEngine = Field(exclude=True, repr=False)
    user: str
    session: str | None = None
    project: str = "default"
    k: int = 10
    kinds: tuple[Kind, ...] = get_args(Kind)
    reach: Reach = "auto"
    _at: EngineLoop = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._at = EngineLoop(self.engine)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self._at.wait(self._found(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._at.there(self._found(query))

    async def _found(self, query: str) -> list[Document]:
        asked = Query(query, scope=self.reach, kinds=self.kinds, limit=self.k)
        recall = await self._at.engine.recall(Scope(self.user, self.session, self.project), asked)
        return documents(recall)[: self.k]


def as_turn(message: BaseMessage) -> Turn:
    """What a message says, and the rest of it beside."""
    kept = message_to_dict(message)
    text = str(message.text)
    if kept["data"]["content"] == text and text.strip():
        del kept["data"]["content"]
    speaker = speaker_of(message)
    return Turn(
        role_of(message),
        text if text.strip() else without_text(message),
        speaker if speaker and speaker.strip() and len(speaker) <= MAX_NAME else None,
        data={DATA: kept},
    )


def role_of(message: BaseMessage) -> Role:
    """Who else takes part in a chat is not the user: nothing is learned from him."""
    for kind, role in ROLES.items():
        if isinstance(message, kind):
            return role
    if isinstance(message, ChatMessage):
        return next((role for role in get_args(Role) if role == message.role), "assistant")
    raise InvalidInput("messages", f"a {type(message).__name__} is nothing that was said; `clear` forgets a session")


def speaker_of(message: BaseMessage) -> str | None:
    return message.name or (message.role if isinstance(message, ChatMessage) else None)


def without_text(message: BaseMessage) -> str:
    """A turn has a text; here the log says what there was instead."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return f"(calls {', '.join(call['name'] for call in calls)})" if calls else "(no text)"


def as_message(turn: Turn) -> BaseMessage:
    kept = (turn.data or {}).get(DATA)
    if kept is None:
        return told(turn)
    [message] = messages_from_dict([{"type": kept["type"], "data": {"content": turn.text, **kept["data"]}}])
    return message


def told(turn: Turn) -> BaseMessage:
    """What came another way, or was redacted. Of a tool's answer nobody knows the call."""
    match turn.role:
        case "user":
            return HumanMessage(turn.text, name=turn.speaker)
        case "assistant":
            return AIMessage(turn.text, name=turn.speaker)
        case "system":
            return SystemMessage(turn.text)
    return ChatMessage(content=turn.text, role=turn.role)


def documents(recall: Recall) -> list[Document]:
    """The best of each kind in turn: their scores are not of one scale."""
    ranks = zip_longest(recall.memories, recall.hits, recall.episodes)
    return [as_document(hit, recall) for hit in chain.from_iterable(ranks) if hit is not None]


def as_document(hit: Hit | MemoryHit | EpisodeHit, recall: Recall) -> Document:
    shared = {
        "id": hit.source,
        "tier": hit.tier,
        "score": hit.score,
        "why": hit.why,
        "request_id": str(recall.request_id),
    }
    return Document(hit.text, id=hit.source, metadata={**shared, **provenance(hit)})


def provenance(hit: Hit | MemoryHit | EpisodeHit) -> dict[str, Any]:
    """Where it was said, when, and the arm of search that ranks it highest."""
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
