"""Engine: the verbs. Each is a docstring and one call into flows/; doors and hosts use nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.flows import context as _context
from recollect.flows import forget as _forget
from recollect.flows import lookup as _lookup
from recollect.flows import maintain as _maintain
from recollect.flows import recall as _recall
from recollect.flows import record as _record
from recollect.flows.parts import Parts
from recollect.model.conversation import Recorded, Turn, TurnLike
from recollect.model.explanation import Explanation
from recollect.model.ids import RequestId
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope
from recollect.model.search import Context, Query, Recall


class Engine:
    """Memory for one project's users. Get one from `recollect.connect()`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def record(
        self, scope: Scope, turns: Turn | Iterable[TurnLike], *, idempotency_key: str | None = None
    ) -> Recorded:
        """Appends what was said: Turns, or (role, text) pairs. It is durable, and visible to the next read, when this
        returns. Without a session in the scope a new one is opened; its id is in the answer. The same key and body
        again get the same answer and write nothing; another body is a Conflict."""
        return await _record.record(self._parts, as_scope(scope), turns, idempotency_key)

    async def recall(self, scope: Scope, query: Query | str) -> Recall:
        """The turns that speak to a question, best first, each with why."""
        return await _recall.recall(self._parts, as_scope(scope), as_query(query))

    async def context(self, scope: Scope, query: Query | str) -> Context:
        """Text for a prompt: what was recalled and what was just said, cited, within the query's budget of tokens."""
        return await _context.context(self._parts, as_scope(scope), as_query(query))

    async def history(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Turn]:
        """The last turns of the scope's session, oldest first; `before` an index, to page backwards."""
        return await _lookup.history(self._parts, as_scope(scope), limit, before)

    async def forget(self, scope: Scope) -> Receipt:
        """Erases the scope's session, or the whole user if the scope has none, with everything derived."""
        return await _forget.forget(self._parts, as_scope(scope))

    def export(self, scope: Scope) -> AsyncIterator[str]:
        """Everything kept about the scope's user, as JSON lines."""
        return _lookup.export(self._parts, as_scope(scope))

    async def explain(self, scope: Scope, request_id: RequestId | str) -> Explanation:
        """What a past recall or context found, and why. The id is in its answer."""
        return await _lookup.explain(self._parts, as_scope(scope), as_request_id(request_id))

    async def settle(self, scope: Scope) -> None:
        """Waits until the indexes of the scope's user are as good as they get, e.g. after a large import."""
        await _maintain.settle(self._parts, as_scope(scope))


def as_scope(scope: Scope) -> Scope:
    if not isinstance(scope, Scope):
        raise InvalidInput("scope", f"a {type(scope).__name__} is not a Scope")
    return scope


def as_query(query: Query | str) -> Query:
    if isinstance(query, Query):
        return query
    return Query(query)


def as_request_id(value: RequestId | str) -> RequestId:
    if isinstance(value, UUID):
        return RequestId(value)
    try:
        return RequestId(UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("request_id", f"{value!r} is not a request id") from None
