"""The chat as routes: a message and its answer, whole or as server-sent events; a session with what was recalled for
each reply; a session deleted. Who speaks is the caller's affair, as everywhere (caller.py); what is answered is the
host's (recollect/hosts/chat), which the application keeps as `app.state.assistant`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from recollect.doors.http.answers import ReceiptAnswer
from recollect.doors.http.bodies import Body, Project
from recollect.doors.http.caller import Called, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import ENCODER, Json
from recollect.doors.http.repeats import Repeat, receipt_again
from recollect.doors.shapes import own, receipt_shape, turn_shape
from recollect.engine import Engine
from recollect.hosts.chat.assistant import Assistant
from recollect.model.chat import Answer, Ask
from recollect.model.conversation import Conversation
from recollect.model.memory import LearnedBy
from recollect.model.scope import Scope
from recollect.model.search import Path, Reach, Reached

router = APIRouter(prefix="/chat", tags=["chat"], responses=REFUSALS)
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
ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]
Accept = Annotated[str, Header(include_in_schema=False)]


class ChatBody(Body):
    message: str = Field(examples=["What's my name?"])
    user_id: str | None = Field(default=None, description="Who speaks; by default the caller.", examples=["alex"])
    session_id: str | None = Field(default=None, description="The conversation; without one a new one begins.")
    project: Project = None
    scope: Reach = Field(default="auto", description="How far memory looks: auto widens when it must.")
    stream: bool = Field(default=False, description="Answer as server-sent events.")


class MemoryUseAnswer(BaseModel):
    request_id: UUID | None
    scope_used: Reached | None
    widened: str | None
    path: Path | None
    hits_found: int
    hits_used: int
    facts: int
    episodes: int
    tokens: int
    truncated: bool
    notes: list[str]
    rewritten: str | None
    learned_by: list[LearnedBy]
    sources: list[str]


class ChatAnswer(BaseModel):
    """`ref` is the reply in the log; `model` null: answered from memory alone."""

    response: str
    session_id: str
    latency_ms: int
    memory: MemoryUseAnswer
    suggestions: list[str]
    model: str | None
    error_stage: str | None
    ref: str | None
    replayed: bool


class ChatTurn(BaseModel):
    """Of a reply, `memory` is what was recalled for it."""

    source: str
    role: str
    text: str
    at: str
    memory: MemoryUseAnswer | None
    model: str | None
    error_stage: str | None


class NamedSession(BaseModel):
    session_id: str
    name: str
    turns: int
    interactions: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


class ChatSessions(BaseModel):
    sessions: list[NamedSession]


class NameBody(Body):
    name: str = Field(examples=["Launch in Lisbon"])
    user_id: str | None = None
    project: Project = None


class ChatSession(BaseModel):
    session_id: str
    turns: list[ChatTurn]
    next_before: int | None


@router.post("", response_model=ChatAnswer, responses=STREAM, openapi_extra=does("record"))
async def chat(body: ChatBody, called: Called, request: Request, key: Key = None, accept: Accept = "") -> Response:
    """Say something, and be answered by an assistant that remembers. Both are kept in the log."""
    scope = called.scope("record", body.user_id, body.session_id, body.project)
    assistant: Assistant = request.app.state.assistant
    ask = Ask(body.message, body.scope, key)
    if not body.stream and EVENTS not in accept:
        return Json(answer_shape(await assistant.answer(scope, ask)))
    pieces = assistant.stream(scope, ask)
    # What refuses the message does so before the first piece: then it can still be told by a status.
    first = await anext(pieces)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(first, pieces), media_type=EVENTS, headers=headers)


async def events(first: str | Answer, rest: AsyncIterator[str | Answer]) -> AsyncIterator[bytes]:
    yield event(first)
    async for piece in rest:
        yield event(piece)


def event(piece: str | Answer) -> bytes:
    name, data = ("delta", {"text": piece}) if isinstance(piece, str) else ("done", answer_shape(piece))
    return b"event: " + name.encode() + b"\ndata: " + ENCODER.encode(data) + b"\n\n"


def answer_shape(answer: Answer) -> dict[str, Any]:
    shape = own(answer)
    return {"response": shape.pop("response"), "session_id": shape.pop("session"), **shape} | {
        "memory": own(answer.memory)
    }


@router.get("/sessions", response_model=ChatSessions, openapi_extra=does("history"))
async def chat_sessions(
    called: Called, user_id: UserParam = None, project: ProjectParam = None, limit: int = 50, offset: int = 0
) -> Json:
    """A user's conversations, the last one first."""
    scope = called.scope("history", user_id, None, project)
    found = await called.engine.conversations(scope, limit=limit, offset=offset)
    return Json({"sessions": [named_session(each) for each in found]})


def named_session(conversation: Conversation) -> dict[str, Any]:
    shape = own(conversation)
    return {"session_id": shape.pop("session"), **{name: shape[name] for name in shape if name != "id"}}


@router.patch("/sessions/{session_id:path}", response_model=NamedSession, openapi_extra=does("record"))
async def rename_chat_session(session_id: str, body: NameBody, called: Called, key: Key = None) -> Response:
    """Give a conversation another name than its first question."""
    scope = called.scope("record", body.user_id, session_id, body.project)

    async def work() -> object:
        return named_session(await called.engine.rename(scope, body.name))

    async def again(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        return named_session(await engine.rename(scope, body.name))

    # The name is not kept with the key: the request itself has it.
    repeat = Repeat(kept=lambda answer: {}, told=again)
    return await called.once(scope, key, ["rename", session_id, body.model_dump()], work, repeat, status=200)


@router.get("/sessions/{session_id:path}", response_model=ChatSession, openapi_extra=does("history"))
async def chat_session(
    session_id: str,
    called: Called,
    user_id: UserParam = None,
    project: ProjectParam = None,
    limit: int = 50,
    before: int | None = None,
) -> Json:
    """A conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards."""
    scope = called.scope("history", user_id, session_id, project)
    turns = await called.engine.history(scope, limit=limit, before=before)
    next_before = turns[0].index if len(turns) == limit and turns[0].index else None
    return Json(
        {"session_id": session_id, "turns": [chat_turn(turn_shape(t)) for t in turns], "next_before": next_before}
    )


def chat_turn(turn: dict[str, Any]) -> dict[str, Any]:
    data = turn["data"] or {}
    about = {name: data.get(name) for name in ("memory", "model", "error_stage")} if "answers" in data else {}
    plain = dict.fromkeys(("memory", "model", "error_stage"))
    return {name: turn[name] for name in ("source", "role", "text", "at")} | plain | about


@router.delete("/sessions/{session_id:path}", response_model=ReceiptAnswer, openapi_extra=does("forget"))
async def delete_chat_session(
    session_id: str, called: Called, user_id: UserParam = None, project: ProjectParam = None, key: Key = None
) -> Response:
    """Erase a conversation with everything derived from it; a receipt counts the rows per table."""
    scope = called.scope("forget", user_id, session_id, project)

    async def work() -> object:
        return receipt_shape(await called.engine.forget(scope))

    return await called.once(scope, key, ["delete session", session_id], work, receipt_again(), status=200)
