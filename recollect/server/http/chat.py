"""Chat as routes: a message and its answer, whole or as server-sent events; sessions with what was recalled for each
reply. The assistant (recollect/apps/chat) is `app.state.assistant`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from recollect.apps.chat.message import Answer, Ask, MemoryUse
from recollect.server.access.caller import Call
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored
from recollect.server.access.responses import ENCODER, json_object, list_of
from recollect.server.http.bodies import Body, Project
from recollect.server.http.routing import PROJECT, Routes, name_parameter
from recollect.server.http.verbs import find_next_before
from recollect.values.audit import Receipt
from recollect.values.conversation import Conversation, Turn
from recollect.values.query import Reach
from recollect.values.serialization import json_types, to_json

EVENTS = "text/event-stream"
EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["delta", "done"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with `stream`, events: `delta` {text} for each piece, then `done` with the answer.",
        "content": {EVENTS: {"schema": EVENT}},
    }
}
UserParam = Annotated[str | None, Query(description="Whose chat; by default the caller's own.", examples=["alex"])]
Accept = Annotated[str, Header(include_in_schema=False)]
routes = Routes("/chat", "chat", name_parameter("user_id", UserParam), PROJECT)


def rename_session(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a value with its session under the name that chat clients know."""
    return {"session_id" if name == "session" else name: value for name, value in fields.items() if name != "id"}


ChatAnswer = json_object(
    "ChatAnswer",
    doc="`ref` is the reply in the log; `model` is null if the reply was made from memory alone.",
    **rename_session(json_types(Answer)),
)
REPLY_FIELDS = ("memory", "model", "error_stage")
ChatTurn = json_object(
    "ChatTurn",
    doc="`memory` is what was recalled for a reply.",
    source=str,
    role=str,
    text=str,
    at=str,
    memory=MemoryUse | None,
    model=str | None,
    error_stage=str | None,
)
ChatSession = json_object("ChatSession", session_id=str, turns=list_of(ChatTurn), next_before=int | None)
SessionSummary = json_object("SessionSummary", **rename_session(json_types(Conversation)))
ChatSessions = json_object("ChatSessions", sessions=list_of(SessionSummary))


class ChatBody(Body):
    message: str = Field(examples=["What's my name?"])
    user_id: str | None = Field(default=None, description="Who speaks; by default the caller.", examples=["alex"])
    session_id: str | None = Field(default=None, description="The conversation; without it a new one begins.")
    project: Project = None
    scope: Reach = Field(default="auto", description="Where memory searches: auto widens the search if needed.")
    stream: bool = Field(default=False, description="Answer as server-sent events.")


class NameBody(Body):
    name: str = Field(examples=["Launch in Lisbon"])
    user_id: str | None = None
    project: Project = None


@routes.add("POST /", "record", model=ChatAnswer, responses=STREAM)
async def chat(
    call: Call, body: ChatBody, idempotency_key: IdempotencyKey = None, accept: Accept = ""
) -> Response | dict[str, Any]:
    """Send a message to an assistant that remembers. The message and the reply are recorded."""
    ask = Ask(body.message, body.scope, idempotency_key)
    if not body.stream and EVENTS not in accept:
        return rename_session(to_json(await call.assistant.answer(call.scope, ask)))
    pieces = call.assistant.stream(call.scope, ask)
    # A message is refused before the first piece, while the status can still say so.
    first = await anext(pieces)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream_events(first, pieces), media_type=EVENTS, headers=headers)


async def stream_events(first: str | Answer, rest: AsyncIterator[str | Answer]) -> AsyncIterator[bytes]:
    yield make_event(first)
    async for piece in rest:
        yield make_event(piece)


def make_event(piece: str | Answer) -> bytes:
    name, data = ("delta", {"text": piece}) if isinstance(piece, str) else ("done", rename_session(to_json(piece)))
    return b"event: " + name.encode() + b"\ndata: " + ENCODER.encode(data) + b"\n\n"


@routes.add("GET /sessions", "history", model=ChatSessions)
async def chat_sessions(call: Call, limit: int = 50, offset: int = 0) -> dict[str, Any]:
    """List a user's conversations, the latest first."""
    found = await call.engine.conversations(call.scope, limit=limit, offset=offset)
    return {"sessions": [rename_session(to_json(each)) for each in found]}


async def rename_again(stored: Stored, call: Call, body: NameBody) -> Any:
    return await rename_chat_session(call, body)


# The name is not stored with the key: the request has it.
RENAME_REPLAY = Replay(lambda _: {}, rename_again)


@routes.write("PATCH /sessions/{session_id:path}", "record", model=SessionSummary, replay=RENAME_REPLAY, status=200)
async def rename_chat_session(call: Call, body: NameBody) -> dict[str, Any]:
    """Give a conversation another name than its first question."""
    return rename_session(to_json(await call.engine.rename(call.scope, body.name)))


@routes.add("GET /sessions/{session_id:path}", "history", model=ChatSession)
async def chat_session(call: Call, session_id: str, limit: int = 50, before: int | None = None) -> dict[str, Any]:
    """Show a conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards."""
    turns = await call.engine.history(call.scope, limit=limit, before=before)
    shown = [describe_turn(turn) for turn in turns]
    return {"session_id": session_id, "turns": shown, "next_before": find_next_before(turns, limit)}


def describe_turn(turn: Turn) -> dict[str, Any]:
    data = turn.data or {}
    reply = data if "answers" in data else {}
    about = {name: reply.get(name) for name in REPLY_FIELDS}
    return {"source": turn.ref, "role": turn.role, "text": turn.text, "at": turn.at, **about}


@routes.write("DELETE /sessions/{session_id:path}", "forget")
async def delete_chat_session(call: Call) -> Receipt:
    """Erase a conversation with everything derived from it; the receipt counts the rows per table."""
    return await call.engine.forget(call.scope)
