"""What can be read: the user's profile, his sessions and the turns of each as resources, and the prompt that puts what
is remembered before a question. Each reading is one verb of the engine, in the peer's scope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from recollect.doors.mcp.peer import Peer
from recollect.doors.mcp.results import MemoryResult
from recollect.doors.shapes import own, turn_shape
from recollect.errors import InvalidInput, NotFound
from recollect.model.search import Query
from recollect.prompts import marked, prompt

PROFILE, SESSIONS = "recollect://profile", "recollect://sessions"
SESSION = f"{SESSIONS}/{{id}}"
WITH_MEMORY = "with_memory"
MOST_MEMORIES, MOST_SESSIONS, MOST_TURNS = 200, 100, 200
NOTHING = "(nothing is remembered about this)"


async def read(peer: Peer, uri: str) -> str:
    """A resource as JSON."""
    if uri == PROFILE:
        return written(await profile(peer))
    if uri == SESSIONS:
        return written(await sessions(peer))
    if uri.startswith(f"{SESSIONS}/") and (session := unquote(uri.removeprefix(f"{SESSIONS}/"))):
        return written(await turns(peer, session))
    raise NotFound(f"there is no resource {uri}; there are {PROFILE}, {SESSIONS} and {SESSION}")


async def profile(peer: Peer) -> dict[str, Any]:
    scope = peer.scope("memories")
    known = await peer.engine.memories(scope, limit=MOST_MEMORIES)
    return {"user": scope.user, "memories": [MemoryResult.of(each).model_dump(mode="json") for each in known]}


async def sessions(peer: Peer) -> dict[str, Any]:
    talks = await peer.engine.conversations(peer.scope("history"), limit=MOST_SESSIONS)
    return {"sessions": [{"uri": f"{SESSIONS}/{quote(talk.session, safe='')}", **own(talk)} for talk in talks]}


async def turns(peer: Peer, session: str) -> dict[str, Any]:
    said = await peer.engine.history(peer.talk("history", session), limit=MOST_TURNS)
    return {"session": session, "turns": [turn_shape(turn) for turn in said]}


def written(shape: dict[str, Any]) -> str:
    return json.dumps(shape, default=str, ensure_ascii=False)


async def with_memory(peer: Peer, given: Mapping[str, str]) -> tuple[str, str]:
    """What is remembered, as marked data; and the question, which is the user's own."""
    if unknown := set(given) - {"question", "session"}:
        raise InvalidInput(min(unknown), f"is no argument of {WITH_MEMORY}")
    if not given.get("question", "").strip():
        raise InvalidInput("question", "is needed")
    packed = await peer.engine.context(peer.talk("context", given.get("session")), Query(given["question"]))
    peer.called.meters.context(packed)
    return prompt("remembered", memory=marked("memory", packed.text or NOTHING)), given["question"]
