"""The chat room: a conversation, and beside each answer what it rests on. What is said goes to the chat host, as from
any other door; with a script the answer comes in pieces, without one as a page.

A page needs two round trips, whatever its length: the turns, and what is known, to show it under the message it came
from. What was recalled for an answer is asked for when somebody opens it; for the newest that is at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.responses import Response, StreamingResponse

from recollect.doors.console.render import HEADERS, back, page, templates
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput, NotFound
from recollect.model.chat import Answer, Ask
from recollect.model.conversation import Conversation, Turn
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.model.search import Reach

TURNS = 40  # of a page
AROUND = 20  # turns after the one that somebody wants to see
SESSIONS = 30  # listed at first
OLDEST = 1000
KNOWN = 300  # memories looked through for those that a page's messages taught
LEARNING = 8.0  # seconds that a page waits for the worker
EVENTS = "text/event-stream"
USE: Mapping[str, type] = {"notes": list, "sources": list, "request_id": str, "rewritten": str}


@dataclass(frozen=True, slots=True)
class Said:
    """A turn as the page shows it. `learned` is what came of it; `use` what memory gave to a reply."""

    turn: Turn
    learned: Sequence[Memory] = ()
    use: Mapping[str, Any] = field(default_factory=dict)
    is_newest: bool = False

    @property
    def data(self) -> Mapping[str, Any]:
        return self.turn.data or {}


async def chat_page(visit: Visit) -> Response:
    session, at = visit.asked("session"), visit.asked("at")
    more = as_index(visit.asked("sessions", "0")) + SESSIONS
    sessions = await visit.engine.conversations(visit.scope("history"), limit=min(more, OLDEST))
    current = await conversation_of(visit, session, sessions)
    turns = await turns_of(visit, session, at) if session else []
    said = await with_lessons(visit, turns)
    earlier = turns[0].index if turns and turns[0].index else None
    found = {"session": session, "current": current, "sessions": sessions, "said": said, "earlier": earlier}
    found["more"] = more if len(sessions) == more < OLDEST else None
    return page(visit, "chat.html", found | {"reach": visit.asked("reach", "auto")})


async def conversation_of(visit: Visit, session: str, listed: Sequence[Conversation]) -> Conversation | None:
    """The one that is open; it may be older than those that are listed."""
    found = next((each for each in listed if each.session == session), None)
    if found is None and session:
        older = await visit.engine.conversations(visit.scope("history"), limit=OLDEST, offset=len(listed))
        found = next((each for each in older if each.session == session), None)
    return found


async def turns_of(visit: Visit, session: str, at: str) -> list[Turn]:
    """The end of a session, or what is around one of its messages."""
    before = as_index(at) + AROUND if at else None
    return await visit.engine.history(visit.scope("history", session), limit=TURNS, before=before)


def as_index(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput("turn", f"{text!r} is not the number of a message")
    return int(text)


async def with_lessons(visit: Visit, turns: Sequence[Turn]) -> list[Said]:
    known = await visit.engine.memories(visit.scope("memories"), status=None, limit=KNOWN) if turns else []
    taught: dict[str, list[Memory]] = {}
    for memory in known:
        for ref in memory.refs:
            taught.setdefault(ref, []).append(memory)
    newest = next((turn.index for turn in reversed(turns) if turn.role == "assistant"), None)
    return [Said(turn, taught.get(turn.ref, ()), use_of(turn), turn.index == newest) for turn in turns]


def use_of(turn: Turn) -> Mapping[str, Any]:
    """An application may have written the same names beside turns of its own, with anything under them."""
    use = (turn.data or {}).get("memory")
    named = use.items() if isinstance(use, Mapping) else ()
    return {name: value for name, value in named if isinstance(value, USE.get(name, object))}


async def say(visit: Visit) -> Response:
    """A message. A script takes the answer as events; a browser without one is sent to the page that has it."""
    text = visit.said("message")
    ask = Ask(text, cast("Reach", visit.said("reach", "auto")), None, visit.ticked("memory"), visit.ticked("history"))
    scope = visit.scope("record", visit.said("session", ""))
    if EVENTS in visit.request.headers.get("accept", ""):
        pieces = visit.assistant.stream(scope, ask)
        first = await anext(pieces)  # what refuses the message does so before the first piece
        return StreamingResponse(events(visit, first, pieces), media_type=EVENTS, headers=HEADERS)
    answer = await visit.assistant.answer(scope, ask)
    index = (answer.ref or "").rpartition("#")[2]
    return back("chat", session=answer.session, at=index)


async def events(visit: Visit, first: str | Answer, rest: AsyncIterator[str | Answer]) -> AsyncIterator[bytes]:
    yield await event(visit, first)
    async for piece in rest:
        yield await event(visit, piece)


async def event(visit: Visit, piece: str | Answer) -> bytes:
    if isinstance(piece, str):
        return line("delta", {"text": piece})
    exchange = await exchange_of(visit, piece)
    return line("done", {"session": piece.session, "html": exchange, "suggestions": list(piece.suggestions)})


async def exchange_of(visit: Visit, answer: Answer) -> str:
    """The message and its reply, as the page would show them."""
    if answer.ref is None:
        reply = Turn("assistant", answer.response, session=answer.session)
        said = [Said(reply, use={"notes": answer.memory.notes})]
    else:
        scope = visit.scope("history", answer.session)
        index = as_index(answer.ref.rpartition("#")[2])
        turns = await visit.engine.history(scope, limit=2, before=index + 1)
        said = [Said(turn, (), use_of(turn), turn.index == index) for turn in turns]
    return templates().get_template("exchange.html").render(visit=visit, said=said, is_new=True)


def line(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="replace")


async def why(visit: Visit) -> Response:
    """What was recalled for an answer, what of it was used, and what it cost."""
    turn = await turn_named(visit)
    use = use_of(turn)
    if not use.get("request_id"):
        return page(visit, "why.html", {"turn": turn, "use": use, "told_why": None})
    try:
        found = await visit.engine.explain(visit.scope("explain"), use["request_id"])
    except NotFound:
        return page(visit, "why.html", {"turn": turn, "use": use, "told_why": None})
    owners = {each.source: "project" if each.tier == "project" else "user" for each in found.memories}
    return page(visit, "why.html", {"turn": turn, "use": use, "told_why": found, "owners": owners})


async def learned(visit: Visit) -> Response:
    """What was learned from a message, once it is."""
    turn = await turn_named(visit)
    scope = visit.scope("memories")
    if visit.caller.settings.enabled:
        # Whoever is at it for longer than a person waits goes on; the page then shows what there is.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(settled(visit, scope)), LEARNING)
    known = await visit.engine.memories(scope, status=None, limit=KNOWN)
    found = [memory for memory in known if turn.ref in memory.refs]
    return page(visit, "learned.html", {"turn": turn, "learned": found})


async def settled(visit: Visit, scope: Scope) -> None:
    await visit.engine.settle(scope)


async def turn_named(visit: Visit) -> Turn:
    index = as_index(visit.asked("turn"))
    turns = await visit.engine.history(visit.scope("history", visit.asked("session")), limit=1, before=index + 1)
    if not turns or turns[0].index != index:
        raise NotFound("this message is not there any more")
    return turns[0]


async def rename(visit: Visit) -> Response:
    session = visit.said("session")
    await visit.engine.rename(visit.scope("record", session), visit.said("name"))
    return back("chat", session=session, told="renamed")


async def forget(visit: Visit) -> Response:
    session = visit.said("session")
    if not session:
        raise InvalidInput("session", "is empty; without one everything about the user would be meant")
    await visit.engine.forget(visit.scope("forget", session))
    return back("chat", told="forgotten")


routes = (
    shown("/chat", chat_page),
    shown("/chat/why", why),
    shown("/chat/learned", learned),
    done("/chat/say", say),
    done("/chat/rename", rename),
    done("/chat/forget", forget),
)
