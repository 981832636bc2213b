"""Looking at the log itself: history of a session, export of a user, explanation of a past request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from recollect.errors import InvalidInput, NotFound
from recollect.flows.parts import Parts
from recollect.model.conversation import Turn
from recollect.model.explanation import EXPLAINED, Explanation, explanation
from recollect.model.ids import ConversationId, RequestId
from recollect.model.scope import Scope
from recollect.model.search import check_range

MAX_HISTORY = 1000
MAX_INDEX = 2**31 - 1
PREVIEW_CHARS = 2000


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


async def export(parts: Parts, scope: Scope) -> AsyncIterator[str]:
    """Everything kept about a user, as JSON lines: each conversation, its turns, then the requests."""
    await parts.diary.flush()
    for conversation in await parts.store.conversations(scope.id):
        yield _line("conversation", asdict(conversation))
        async for turn in parts.store.turns(scope.id, conversation):
            yield _line("turn", asdict(turn))
    for row in await parts.store.requests(scope.id):
        yield _line("request", dict(zip(EXPLAINED, row, strict=True)))


def _line(kind: str, values: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, **values}, default=str, ensure_ascii=False)


async def explain(parts: Parts, scope: Scope, request_id: RequestId) -> Explanation:
    await parts.diary.flush()
    row = await parts.store.request(scope.id, request_id)
    if row is None:
        raise NotFound(f"user {scope.user!r} has no request {request_id}")
    values = dict(zip(EXPLAINED, row, strict=True))
    keys = [(ConversationId(hit["conversation"]), hit["index"]) for hit in values["trace"]["hits"]]
    turns = await parts.store.chosen(scope.id, keys, PREVIEW_CHARS) if keys else []
    return explanation(values, turns)
