"""Read the log and the memories: history of a session, export of a user, explanation of a past request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from recollect.errors import InvalidInput, NotFound
from recollect.flows.dependencies import Dependencies
from recollect.flows.documents import iter_chunks
from recollect.values.audit import REQUEST_COLUMNS, Explanation, build_explanation
from recollect.values.conversation import Conversation, Turn
from recollect.values.memory import Memory
from recollect.values.query import check_range
from recollect.values.scope import ConversationId, MemoryId, RequestId, Scope

MAX_HISTORY = 1000
MAX_INDEX = 2**31 - 1
PREVIEW_CHARS = 2000
EVERYTHING = 2**31 - 1


async def read_history(deps: Dependencies, scope: Scope, limit: int, before: int | None) -> list[Turn]:
    if scope.session is None:
        raise InvalidInput("session", "is required; name the session whose history to read")
    check_range("limit", limit, 1, MAX_HISTORY)
    check_range("before", before, 0, MAX_INDEX, optional=True)
    turns = await deps.store.read_recent(scope.id, scope.session, limit, deps.clock.now(), before)
    if not turns and await deps.store.find_conversation(scope.id, scope.session, deps.clock.now()) is None:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    return turns


async def get_conversation(deps: Dependencies, scope: Scope) -> Conversation | None:
    if scope.session is None:
        raise InvalidInput("session", "is required; name the session")
    return await deps.store.find_conversation(scope.id, scope.session, deps.clock.now())


async def list_conversations(
    deps: Dependencies, scope: Scope, limit: int, offset: int, host: str | None
) -> list[Conversation]:
    check_range("limit", limit, 1, MAX_HISTORY)
    check_range("offset", offset, 0, MAX_INDEX)
    return await deps.store.list_conversations(scope.id, deps.clock.now(), limit, offset, host)


async def export_user(deps: Dependencies, scope: Scope) -> AsyncIterator[str]:
    """Yield everything stored about a user as JSON lines: conversations and turns, episodes, memories and their
    evidence, documents, requests, rejections and the audit log."""
    await deps.request_log.flush()
    for conversation in await deps.store.list_all_conversations(scope.id):
        yield _format_line("conversation", conversation)
        async for turn in deps.store.iter_turns(scope.id, conversation):
            yield _format_line("turn", turn)
    for episode in await deps.store.episodes.list_episodes(scope.id, None, EVERYTHING):
        yield _format_line("episode", episode)
    for memory in await deps.store.memories.list_memories(scope.id, limit=EVERYTHING):
        yield _format_line("memory", memory, memory_kind=memory.kind)
    for said in await deps.store.memories.list_evidence(scope.id):
        yield _format_line("evidence", said, memory_kind=said.kind)
    async for line in export_documents(deps, scope):
        yield line
    for row in await deps.store.list_requests(scope.id):
        yield _format_line("request", **dict(zip(REQUEST_COLUMNS, row, strict=True)))
    for day, reason, count in await deps.store.memories.list_tally(scope.id):
        yield _format_line("rejection", day=day, reason=reason, count=count)
    for entry in await deps.store.memories.list_audit(scope.id):
        yield _format_line("audit", entry)


async def export_documents(deps: Dependencies, scope: Scope) -> AsyncIterator[str]:
    """Yield the user's own documents with their text; documents of the project are not part of it."""
    for document in await deps.store.documents.list_documents(scope.id, "user", None, EVERYTHING, None):
        yield _format_line("document", document)
        if document.status == "processed":
            async for chunk in iter_chunks(deps, scope.id, document.id):
                yield _format_line("chunk", chunk, document=document.id)


def _format_line(kind: str, value: Any = None, /, **more: Any) -> str:
    """Return a line with the fields of a dataclass, or with others, or both."""
    values = {**more, **(asdict(value) if value else {}), "kind": kind}
    return json.dumps(values, default=str, ensure_ascii=False)


async def explain_request(deps: Dependencies, scope: Scope, request_id: RequestId) -> Explanation:
    await deps.request_log.flush()
    row = await deps.store.find_request(scope.id, request_id)
    if row is None:
        raise NotFound(f"user {scope.user!r} has no request {request_id}")
    values = dict(zip(REQUEST_COLUMNS, row, strict=True))
    keys = [(ConversationId(hit["conversation"]), hit["index"]) for hit in values["trace"]["hits"]]
    turns = await deps.store.load_turns(scope.id, keys, PREVIEW_CHARS) if keys else []
    return build_explanation(values, turns, await load_used_memories(deps, scope, values["trace"].get("memories", ())))


async def load_used_memories(deps: Dependencies, scope: Scope, used: Sequence[Mapping[str, Any]]) -> list[Memory]:
    """Return the memories that a request used, with every value ever stored under their keys."""
    found: list[Memory] = []
    for holder, tier in ((scope.id, "user"), (scope.project_id, "project")):
        ids = [MemoryId(UUID(hit["source"].removeprefix("memory:"))) for hit in used if hit["tier"] == tier]
        found += await deps.store.memories.load_histories(holder, ids) if ids else []
    return found


async def count_rejections(deps: Dependencies, scope: Scope) -> dict[str, int]:
    counted = Counter[str]()
    for _, reason, count in await deps.store.memories.list_tally(scope.id):
        counted[reason] += count
    return dict(counted.most_common())
