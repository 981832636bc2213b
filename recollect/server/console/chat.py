"""The chat page: a conversation, with what was learned beside each message and what was recalled beside each answer.

A page loads the messages of a session and the user's memories, whatever its length. What was recalled for an answer is
loaded when it is opened; for the newest answer, at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.responses import Response, StreamingResponse

from recollect.apps.chat.message import Answer, Ask
from recollect.errors import NotFound
from recollect.recall.rank import NEAR
from recollect.server.access.responses import start_stream
from recollect.server.console.render import HEADERS, get_ref_index, load_templates, redirect, render_page
from recollect.server.console.visit import SAMPLE, Visit, parse_number
from recollect.values.audit import ExplainedHit
from recollect.values.conversation import Turn
from recollect.values.memory import Memory
from recollect.values.query import Reach, explain_parts

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


async def show_chat(visit: Visit) -> Response:
    session, at = visit.query("session"), visit.query("at")
    shown = parse_number("sessions", visit.query("sessions"), 0) + PAGE_SESSIONS
    sessions = await visit.engine.conversations(visit.scope("history"), limit=min(shown, MAX_SESSIONS))
    current = await visit.engine.conversation(visit.scope("history", session)) if session else None
    turns: list[Turn] = []
    if session:
        before = parse_number("at", at, 0) + TURNS_AFTER if at else None
        turns = await visit.engine.history(visit.scope("history", session), limit=PAGE_TURNS, before=before)
    values = {
        "session": session,
        "current": current,
        "sessions": sessions,
        "more_sessions": shown if len(sessions) == shown < MAX_SESSIONS else None,
        "messages": await build_messages(visit, turns),
        "first_index": turns[0].index if turns else None,
        "reach": visit.query("reach", "auto"),
        "is_sample": visit.selection == SAMPLE,
        "remembered": [] if session else await visit.engine.memories(visit.scope("memories"), limit=SHOWN_MEMORIES),
    }
    return render_page(visit, "chat.html", values)


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


async def send_message(visit: Visit) -> Response:
    """Answer a message: as a stream of events for a script, else with a redirect to the page that shows it."""
    ask = Ask(
        visit.field("message"),
        cast("Reach", visit.field("reach", "auto")),
        None,
        visit.is_checked("memory"),
        visit.is_checked("history"),
    )
    scope = visit.scope("record", visit.field("session", ""))
    if EVENT_STREAM in visit.request.headers.get("accept", ""):
        pieces = await start_stream(visit.assistant.stream(scope, ask))
        events = (await encode_event(visit, piece) async for piece in pieces)
        return StreamingResponse(events, media_type=EVENT_STREAM, headers=HEADERS)
    answer = await visit.assistant.answer(scope, ask)
    return redirect("chat", session=answer.session, at=get_ref_index(answer.ref))


async def encode_event(visit: Visit, piece: str | Answer) -> bytes:
    name = "delta"
    data: dict[str, Any] = {"text": piece}
    if isinstance(piece, Answer):
        html = await render_answer(visit, piece)
        name, data = "done", {"session": piece.session, "html": html, "suggestions": list(piece.suggestions)}
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="replace")


async def render_answer(visit: Visit, answer: Answer) -> str:
    """Return the message and its reply as HTML, as the page shows them."""
    if answer.ref is None:
        reply = Turn("assistant", answer.response, session=answer.session)
        messages = [Message(reply, memory_use={"notes": answer.memory.notes})]
    else:
        index = int(get_ref_index(answer.ref))
        turns = await visit.engine.history(visit.scope("history", answer.session), limit=2, before=index + 1)
        messages = [Message(turn, (), read_memory_use(turn), turn.index == index) for turn in turns]
    return load_templates().get_template("chat_messages.html").render(visit=visit, messages=messages, is_new=True)


async def show_why(visit: Visit) -> Response:
    """Show what was recalled for an answer, which of it was used, and what it cost."""
    turn = (await visit.load_turns(visit.query("session"), visit.query("turn"), 1))[-1]
    use = read_memory_use(turn)
    explanation = None
    if use.get("request_id"):
        with suppress(NotFound):  # expired
            explanation = await visit.engine.explain(visit.scope("explain"), use["request_id"])
    values = {
        "turn": turn,
        "use": use,
        "explanation": explanation,
        "describe_match": describe_match,
    }
    return render_page(visit, "chat_why.html", values)


def describe_match(hit: ExplainedHit) -> str:
    """Return why a message was recalled, without figures."""
    reasons = [f"has the words {', '.join(f'“{word}”' for word in hit.words)}"] if hit.words else []
    reasons += ["has a word that is spelt similarly"] if "trigram" in hit.arms else []
    reasons += ["similar in meaning"] if "vector" in hit.arms and hit.arms["vector"].score >= NEAR else []
    return "; ".join([*reasons, *explain_parts(hit.parts)]) or "nothing better was found"


async def show_learned(visit: Visit) -> Response:
    """Show what was learned from a message, once the worker is done with it."""
    turn = (await visit.load_turns(visit.query("session"), visit.query("turn"), 1))[-1]
    scope = visit.scope("memories")
    if visit.caller.settings.enabled:
        # After the timeout the work goes on; the page shows what there is by then.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(visit.engine.settle(scope)), LEARNING_SECONDS)
    memories = await visit.engine.memories(scope, status=None, limit=MAX_MEMORIES)
    learned = [memory for memory in memories if turn.ref in memory.refs]
    return render_page(visit, "chat_learned.html", {"learned": learned})


async def rename_session(visit: Visit) -> Response:
    session = visit.field("session")
    await visit.engine.rename(visit.scope("record", session), visit.field("name"))
    return redirect("chat", session=session, notice="renamed")


async def forget_session(visit: Visit) -> Response:
    await visit.engine.forget(visit.scope("forget", visit.require_session()))
    return redirect("chat", notice="forgotten")


GET_ROUTES = {"/chat": show_chat, "/chat/why": show_why, "/chat/learned": show_learned}
POST_ROUTES = {"/chat/send": send_message, "/chat/rename": rename_session, "/chat/forget": forget_session}
