"""The chat page: a conversation, with what was learned beside each message and what was recalled beside each answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response, StreamingResponse

from recollect import Memory, NotFound, Turn
from recollect.apps.chat.message import Answer, Ask
from recollect.recall.rank import NEAR
from recollect.server.access.responses import start_stream
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import HEADERS, get_ref_index, load_templates, redirect
from recollect.server.console.visit import SAMPLE, Visit
from recollect.values.audit import ExplainedHit
from recollect.values.query import Reach, explain_parts

pages = Pages()
PAGE_TURNS = 40
TURNS_AFTER = 20  # shown after the message that a link points to
PAGE_SESSIONS = 30
MAX_SESSIONS = 1000
MAX_MEMORIES = 300  # searched for those learned from the messages of a page
SHOWN_MEMORIES = 6  # on the page that starts a session
LEARNING_SECONDS = 8.0  # a page waits this long for the worker
EVENT_STREAM = "text/event-stream"
MEMORY_USE_TYPES: Mapping[str, type] = {"notes": list, "sources": list, "request_id": str, "rewritten": str}


@dataclass(frozen=True, slots=True)
class Message:
    """A turn as the page shows it. `learned` are the memories made from it; `memory_use` is what a reply used."""

    turn: Turn
    learned: Sequence[Memory] = ()
    memory_use: Mapping[str, Any] = field(default_factory=dict)
    is_newest: bool = False

    @property
    def data(self) -> Mapping[str, Any]:
        return self.turn.data or {}


@pages.get("/chat", "chat.html")
async def show_chat(
    visit: Visit, session: str = "", at: int | None = None, sessions: int = 0, reach: Reach = "auto"
) -> Values:
    shown, scope = sessions + PAGE_SESSIONS, visit.scope("history", session)
    listed = await visit.engine.conversations(visit.scope("history"), limit=min(shown, MAX_SESSIONS))
    before = None if at is None else at + TURNS_AFTER
    turns = await visit.engine.history(scope, limit=PAGE_TURNS, before=before) if session else []
    return {
        "session": session,
        "current": await visit.engine.conversation(scope) if session else None,
        "sessions": listed,
        "more_sessions": shown if len(listed) == shown < MAX_SESSIONS else None,
        "messages": await build_messages(visit, turns),
        "first_index": turns[0].index if turns else None,
        "reach": reach,
        "is_sample": visit.selection == SAMPLE,
        "remembered": [] if session else await visit.engine.memories(visit.scope("memories"), limit=SHOWN_MEMORIES),
    }


async def build_messages(visit: Visit, turns: Sequence[Turn]) -> list[Message]:
    memories = await visit.engine.memories(visit.scope("memories"), status=None, limit=MAX_MEMORIES) if turns else []
    learned: dict[str, list[Memory]] = {}
    for memory in memories:
        for ref in memory.refs:
            learned.setdefault(ref, []).append(memory)
    newest = next((turn.index for turn in reversed(turns) if turn.role == "assistant"), None)
    return [Message(turn, learned.get(turn.ref, ()), read_memory_use(turn), turn.index == newest) for turn in turns]


def read_memory_use(turn: Turn) -> Mapping[str, Any]:
    """Return what the reply notes about its use of memory. Applications may write anything there: types are checked."""
    use = (turn.data or {}).get("memory")
    items = use.items() if isinstance(use, Mapping) else ()
    return {name: value for name, value in items if isinstance(value, MEMORY_USE_TYPES.get(name, object))}


@pages.post("/chat/send")
async def send_message(
    visit: Visit, message: str, memory: bool, history: bool, session: str = "", reach: Reach = "auto"
) -> Response:
    """Answer a message: as a stream of events for a script, else with a redirect to the page that shows it."""
    ask = Ask(message, reach, None, memory, history)
    scope = visit.scope("record", session)
    if EVENT_STREAM in visit.request.headers.get("accept", ""):
        pieces = await start_stream(visit.assistant.stream(scope, ask))
        events = (await encode_event(visit, piece) async for piece in pieces)
        return StreamingResponse(events, media_type=EVENT_STREAM, headers=HEADERS)
    answer = await visit.assistant.answer(scope, ask)
    return redirect("chat", session=answer.session, at=get_ref_index(answer.ref))


async def encode_event(visit: Visit, piece: str | Answer) -> bytes:
    """Return a piece of the reply, or at its end the message and the reply as HTML, as the page shows them."""
    name, data = "delta", dict[str, Any](text=piece)
    if isinstance(piece, Answer):
        if piece.ref is None:
            reply = Turn("assistant", piece.response, session=piece.session)
            messages = [Message(reply, memory_use={"notes": piece.memory.notes})]
        else:
            index = int(get_ref_index(piece.ref))
            turns = await visit.engine.history(visit.scope("history", piece.session), limit=2, before=index + 1)
            messages = [Message(turn, (), read_memory_use(turn), turn.index == index) for turn in turns]
        template = load_templates().get_template("chat_messages.html")
        html = template.render(visit=visit, messages=messages, is_new=True)
        name, data = "done", {"session": piece.session, "html": html, "suggestions": list(piece.suggestions)}
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="replace")


@pages.get("/chat/why", "chat_why.html")
async def show_why(visit: Visit, session: str = "", turn: str = "") -> Values:
    """Show what was recalled for an answer, which of it was used, and what it cost."""
    reply = (await visit.load_turns(session, turn, 1))[-1]
    use = read_memory_use(reply)
    explanation = None
    if use.get("request_id"):
        with suppress(NotFound):  # expired
            explanation = await visit.engine.explain(visit.scope("explain"), use["request_id"])
    return {"turn": reply, "use": use, "explanation": explanation, "describe_match": describe_match}


def describe_match(hit: ExplainedHit) -> str:
    """Return why a message was recalled, without figures."""
    reasons = [f"has the words {', '.join(f'“{word}”' for word in hit.words)}"] if hit.words else []
    reasons += ["has a word that is spelt similarly"] if "trigram" in hit.arms else []
    reasons += ["similar in meaning"] if "vector" in hit.arms and hit.arms["vector"].score >= NEAR else []
    return "; ".join([*reasons, *explain_parts(hit.parts)]) or "nothing better was found"


@pages.get("/chat/learned", "chat_learned.html")
async def show_learned(visit: Visit, session: str = "", turn: str = "") -> Values:
    """Show what was learned from a message, once the worker is done with it."""
    message = (await visit.load_turns(session, turn, 1))[-1]
    scope = visit.scope("memories")
    if visit.caller.settings.enabled:
        # After the timeout the work goes on; the page shows what there is by then.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(visit.engine.settle(scope)), LEARNING_SECONDS)
    memories = await visit.engine.memories(scope, status=None, limit=MAX_MEMORIES)
    return {"learned": [memory for memory in memories if message.ref in memory.refs]}


@pages.post("/chat/rename")
async def rename_session(visit: Visit, session: str, name: str) -> Response:
    await visit.engine.rename(visit.scope("record", session), name)
    return redirect("chat", session=session, notice="renamed")


@pages.post("/chat/forget")
async def forget_session(visit: Visit) -> Response:
    await visit.engine.forget(visit.scope("forget", visit.require_session()))
    return redirect("chat", notice="forgotten")
