"""Looking at the log itself: history of a session, export of a user, explanation of a past request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args
from uuid import UUID

from recollect.errors import InvalidInput, NotFound
from recollect.flows.documents import kept_chunks
from recollect.flows.parts import Parts
from recollect.model.audit import Audit
from recollect.model.conversation import Conversation, Turn
from recollect.model.episode import Episode
from recollect.model.explanation import EXPLAINED, Explanation, explanation
from recollect.model.ids import ConversationId, MemoryId, RequestId
from recollect.model.lesson import Owner
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.model.search import check_choice, check_range

MAX_HISTORY = 1000
MAX_INDEX = 2**31 - 1
PREVIEW_CHARS = 2000
EVERYTHING = 2**31 - 1


async def history(parts: Parts, scope: Scope, limit: int, before: int | None) -> list[Turn]:
    if scope.session is None:
        raise InvalidInput("session", "say which session's history")
    check_range("limit", limit, 1, MAX_HISTORY)
    if before is not None:
        check_range("before", before, 0, MAX_INDEX)
    turns = await parts.store.recent(scope.id, scope.session, limit, parts.clock.now(), before)
    if not turns and await parts.store.conversation(scope.id, scope.session, parts.clock.now()) is None:
        raise NotFound(f"user {scope.user!r} has no session {scope.session!r}")
    return turns


async def conversations(parts: Parts, scope: Scope, limit: int, offset: int) -> list[Conversation]:
    check_range("limit", limit, 1, MAX_HISTORY)
    check_range("offset", offset, 0, MAX_INDEX)
    return await parts.store.listed(scope.id, parts.clock.now(), limit, offset)


async def export(parts: Parts, scope: Scope) -> AsyncIterator[str]:
    """Everything kept about a user, as JSON lines: each conversation and its turns, what is known and what it rests on,
    episodes, documents, the requests, what was turned away, and the trail."""
    await parts.diary.flush()
    for conversation in await parts.store.conversations(scope.id):
        yield _line("conversation", asdict(conversation))
        async for turn in parts.store.turns(scope.id, conversation):
            yield _line("turn", asdict(turn))
    for episode in await parts.store.episodes.listed(scope.id, None, EVERYTHING):
        yield _line("episode", asdict(episode))
    for memory in await parts.store.memories.listed(scope.id, limit=EVERYTHING):
        yield _line("memory", {"memory_kind": memory.kind, **asdict(memory)})
    for said in await parts.store.memories.evidence(scope.id):
        yield _line("evidence", {"memory_kind": said.kind, **asdict(said)})
    async for line in exported_documents(parts, scope):
        yield line
    for row in await parts.store.requests(scope.id):
        yield _line("request", dict(zip(EXPLAINED, row, strict=True)))
    for day, reason, count in await parts.store.memories.tally(scope.id):
        yield _line("rejection", {"day": day, "reason": reason, "count": count})
    for deed in await parts.store.memories.audit(scope.id):
        yield _line("audit", asdict(deed))


async def exported_documents(parts: Parts, scope: Scope) -> AsyncIterator[str]:
    """The user's own, with their text; what the project shares is not kept about him."""
    for document in await parts.store.documents.listed(scope.id, "user", None, EVERYTHING, None):
        yield _line("document", asdict(document))
        if document.status == "processed":
            async for chunk in kept_chunks(parts, scope.id, document.id):
                yield _line("chunk", {"document": document.id, **asdict(chunk)})


def _line(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({**values, "kind": kind}, default=str, ensure_ascii=False)


async def explain(parts: Parts, scope: Scope, request_id: RequestId) -> Explanation:
    await parts.diary.flush()
    row = await parts.store.request(scope.id, request_id)
    if row is None:
        raise NotFound(f"user {scope.user!r} has no request {request_id}")
    values = dict(zip(EXPLAINED, row, strict=True))
    keys = [(ConversationId(hit["conversation"]), hit["index"]) for hit in values["trace"]["hits"]]
    turns = await parts.store.chosen(scope.id, keys, PREVIEW_CHARS) if keys else []
    return explanation(values, turns, await believed(parts, scope, values["trace"].get("memories", ())))


async def believed(parts: Parts, scope: Scope, used: Sequence[Mapping[str, Any]]) -> list[Memory]:
    """The memories that a request used, with all that was ever believed under their keys."""
    ids = {tier: [as_memory_id(hit["source"]) for hit in used if hit["tier"] == tier] for tier in ("user", "project")}
    holders = {"user": scope.id, "project": scope.project_id}
    stories = [await parts.store.memories.stories(holders[tier], found) for tier, found in ids.items() if found]
    return [memory for story in stories for memory in story]


def as_memory_id(source: str) -> MemoryId:
    return MemoryId(UUID(source.removeprefix("memory:")))


async def episodes(parts: Parts, scope: Scope, limit: int) -> list[Episode]:
    check_range("limit", limit, 1, MAX_HISTORY)
    return await parts.store.episodes.listed(scope.id, scope.session, limit)


async def audit(parts: Parts, scope: Scope, owner: Owner) -> list[Audit]:
    check_choice("owner", owner, get_args(Owner))
    return await parts.store.memories.audit(scope.id if owner == "user" else scope.project_id)


async def rejections(parts: Parts, scope: Scope) -> dict[str, int]:
    counted = Counter[str]()
    for _, reason, count in await parts.store.memories.tally(scope.id):
        counted[reason] += count
    return dict(counted.most_common())
