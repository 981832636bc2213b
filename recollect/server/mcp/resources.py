"""Resources and the prompt: the user's profile, their sessions, the turns of a session, and a question with memory.
Each is one verb of the engine in the peer's scope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types

from recollect.errors import InvalidInput, NotFound
from recollect.prompts import mark_data, render_prompt
from recollect.server.mcp.results import MemoryResult
from recollect.server.mcp.tools import Peer
from recollect.values.query import Query
from recollect.values.serialization import to_json

PROFILE, SESSIONS = "recollect://profile", "recollect://sessions"
SESSION = f"{SESSIONS}/{{id}}"
WITH_MEMORY = "with_memory"
MAX_MEMORIES, MAX_SESSIONS, MAX_TURNS = 200, 100, 200
NO_MEMORY = "(nothing is remembered about this)"
JSON = "application/json"
RESOURCES = [
    types.Resource(
        uri=PROFILE,
        name="profile",
        title="User profile",
        description="The user's memories, most important first.",
        mime_type=JSON,
    ),
    types.Resource(
        uri=SESSIONS,
        name="sessions",
        title="The user's conversations",
        description="Latest first, each with the URI of its turns.",
        mime_type=JSON,
    ),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=SESSION,
        name="session",
        title="A conversation",
        description="The latest turns of a session, oldest first.",
        mime_type=JSON,
    )
]
PROMPTS = [
    types.Prompt(
        name=WITH_MEMORY,
        title="Ask with memory",
        description="Puts relevant memory before a question, marked as data.",
        arguments=[
            types.PromptArgument(name="question", description="The question, e.g. `plan my week`.", required=True),
            types.PromptArgument(name="session", description="The conversation it belongs to.", required=False),
        ],
    )
]


async def read_resource(peer: Peer, uri: str) -> str:
    """Return a resource as JSON."""
    content: dict[str, Any]
    if uri == PROFILE:
        scope = peer.scope("memories")
        memories = await peer.engine.memories(scope, limit=MAX_MEMORIES)
        shapes = [MemoryResult.model_validate(memory).model_dump(mode="json") for memory in memories]
        content = {"user": scope.user, "memories": shapes}
    elif uri == SESSIONS:
        conversations = await peer.engine.conversations(peer.scope("history"), limit=MAX_SESSIONS)
        content = {
            "sessions": [
                {"uri": f"{SESSIONS}/{quote(each.session, safe='')}", **to_json(each)} for each in conversations
            ]
        }
    elif session := unquote(uri.removeprefix(f"{SESSIONS}/") if uri.startswith(f"{SESSIONS}/") else ""):
        turns = await peer.engine.history(peer.session_scope("history", session), limit=MAX_TURNS)
        content = {"session": session, "turns": [to_json(turn) for turn in turns]}
    else:
        raise NotFound(f"there is no resource {uri}; there are {PROFILE}, {SESSIONS} and {SESSION}")
    return json.dumps(content, default=str, ensure_ascii=False)


async def build_prompt(peer: Peer, arguments: Mapping[str, str]) -> tuple[str, str]:
    """Return relevant memory as marked data, and the user's question unchanged."""
    if unknown := set(arguments) - {"question", "session"}:
        raise InvalidInput(min(unknown), f"is not an argument of {WITH_MEMORY}")
    question = arguments.get("question", "")
    if not question.strip():
        raise InvalidInput("question", "is required")
    scope = peer.session_scope("context", arguments.get("session"))
    context = await peer.engine.context(scope, Query(question))
    peer.caller.metrics.count_context(context)
    return render_prompt("remembered", memory=mark_data("memory", context.text or NO_MEMORY)), question
