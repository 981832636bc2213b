"""RecollectStore: LangGraph's BaseStore over the Engine. LangGraph calls `batch` and `abatch`; its other methods come
from its base class and end there. Needs the extra `recollect[langgraph]`.

    put      a new version of the item's note (items.py); the version before it ends, and stays in the history
    delete   the note is forgotten, all its versions with it
    search   by the words of the query, the best first, then the rest; without a query the last changed first

Every item belongs to a user. `user` is his name, or the position in a namespace at which his name stands: with 1 the
item of ("memories", "alex") is alex's. What does not say whose it is, is refused: there is no search across users.

In a batch the reads come first and see nothing of the writes, and of several writes of an item the last one counts, as
in LangGraph's own stores. However many gets a batch has, they are one read for each user, and its puts are one read and
one change: all of a user's are kept, or none. Deletes are done one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from recollect.compat.filters import passes
from recollect.compat.items import (
    Kept,
    Namespace,
    as_lesson,
    fits,
    is_under,
    latest,
    memory_key,
    ranked,
    rendered,
)
from recollect.compat.loop import EngineLoop
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound
from recollect.model.lesson import Lesson
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.sync import SyncEngine

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError:
    raise ImportError("RecollectStore needs LangGraph; `pip install recollect[langgraph]` brings it") from None

PAGE = 10_000
ACTIVE: tuple[Status, ...] = ("active",)
Shelf = Mapping[str, Kept]  # items by their memory's key, the last changed first
Put = tuple[PutOp, Mapping[str, Any]]
AnyOp = TypeVar("AnyOp")


class RecollectStore(BaseStore):
    """`engine` from `connect` or `connect_sync`. With the first, make the store where the engine was opened."""

    __slots__ = ("_at", "_engine", "_locks", "_project", "_user")

    def __init__(self, engine: Engine | SyncEngine, *, user: str | int, project: str = "default") -> None:
        self._at = EngineLoop(engine)
        self._engine = self._at.engine
        self._user, self._project = user, project
        self._locks: WeakValueDictionary[Scope, asyncio.Lock] = WeakValueDictionary()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._at.wait(self._run(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._at.there(self._run(list(ops)))

    async def _run(self, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        wanted = [(self._scope(op), op) for op in ops]
        results = await self._read(wanted)
        await self._write({(op.namespace, op.key): (scope, op) for scope, op in wanted if isinstance(op, PutOp)})
        return results

    # Whose it is

    def _scope(self, op: Op) -> Scope:
        return Scope(self._user if isinstance(self._user, str) else self._named(op, self._user), project=self._project)

    def _named(self, op: Op, position: int) -> str:
        for path in paths(op):
            if len(path) > position and path[position] != "*":
                return path[position]
        raise InvalidInput("namespace", f"{paths(op)} names no user; his name is its element {position}")

    # Reading

    async def _read(self, wanted: Sequence[tuple[Scope, Op]]) -> list[Result]:
        asked = by_scope((scope, op) for scope, op in wanted if not isinstance(op, PutOp))
        shelves = await asyncio.gather(*(self._shelf(scope, ops) for scope, ops in asked.items()))
        found = dict(zip(asked, shelves, strict=True))
        return [await self._answer(scope, op, found.get(scope, {})) for scope, op in wanted]

    async def _shelf(self, scope: Scope, ops: Sequence[Op]) -> Shelf:
        """What a batch reads of one user, in one go: the items it names, or all if it searches."""
        named = [memory_key(op.namespace, op.key) for op in ops if isinstance(op, GetOp)]
        items = latest(await self._versions(scope, named)) if len(named) == len(ops) else await self._all(scope)
        return {kept.memory.key: kept for kept in items}

    async def _answer(self, scope: Scope, op: Op, shelf: Shelf) -> Result:
        match op:
            case GetOp():
                kept = shelf.get(memory_key(op.namespace, op.key))
                await self._engine.used(scope, [kept.memory.id] if kept else [])
                return as_item(kept)
            case SearchOp():
                found = searched(list(shelf.values()), op)
                await self._engine.used(scope, [kept.memory.id for kept, _ in found])
                return [as_search_item(kept, score) for kept, score in found]
            case ListNamespacesOp():
                return namespaces(list(shelf.values()), op)
        return None

    async def _versions(
        self, scope: Scope, keys: Sequence[str], status: Sequence[Status] | None = ACTIVE
    ) -> list[Memory]:
        return await self._engine.memories(scope, key=keys, status=status, limit=PAGE)

    async def _all(self, scope: Scope) -> list[Kept]:
        """Every item of a user."""
        notes: list[Memory] = []
        page: list[Memory] = []
        while not notes or len(page) == PAGE:
            after = page[-1].id if page else None
            page = await self._engine.memories(scope, kinds=("note",), status=ACTIVE, limit=PAGE, after=after)
            if not page:
                break
            notes += page
        return latest(notes)

    # Writing

    async def _write(self, puts: Mapping[Any, tuple[Scope, PutOp]]) -> None:
        """Of one user in turn: what is known of him has one version, and two at once would meet."""
        written = by_scope(puts.values())
        await asyncio.gather(*(self._write_of(scope, ops) for scope, ops in written.items()))

    async def _write_of(self, scope: Scope, puts: Sequence[PutOp]) -> None:
        lock = self._locks.setdefault(scope, asyncio.Lock())
        async with lock:
            await self._put(scope, [(op, op.value) for op in puts if op.value is not None])
            for op in puts:
                if op.value is None:
                    await self._delete(scope, op)

    async def _put(self, scope: Scope, puts: Sequence[Put]) -> None:
        """All in one change, in which the versions before them end."""
        if not puts:
            return
        before = await self._versions(scope, [memory_key(op.namespace, op.key) for op, _ in puts])
        lessons = next_versions(puts, {kept.memory.key: kept for kept in latest(before)})
        await self._engine.learn(scope, lessons, ending=[memory.id for memory in before])

    async def _delete(self, scope: Scope, op: PutOp) -> None:
        """The oldest first: what is forgotten must not bring back what it had replaced."""
        versions = await self._versions(scope, [memory_key(op.namespace, op.key)], status=None)
        for memory in sorted(versions, key=lambda memory: (memory.valid_from, memory.id)):
            try:
                await self._engine.forget(scope, memory=memory.id, owner="user")
            except NotFound:
                continue  # another was faster


def by_scope(wanted: Iterable[tuple[Scope, AnyOp]]) -> dict[Scope, list[AnyOp]]:
    found: dict[Scope, list[AnyOp]] = {}
    for scope, op in wanted:
        found.setdefault(scope, []).append(op)
    return found


def paths(op: Op) -> list[Namespace]:
    """The namespaces from which an operation's user can be told."""
    match op:
        case GetOp() | PutOp():
            return [op.namespace]
        case SearchOp():
            return [op.namespace_prefix]
        case ListNamespacesOp():
            return [condition.path for condition in op.match_conditions or () if condition.match_type == "prefix"]
    raise InvalidInput("op", f"a {type(op).__name__} is not an operation of a store")


def next_versions(puts: Sequence[Put], old: Shelf) -> list[Lesson]:
    return [
        as_lesson(
            op.namespace, op.key, value, indexed_text(op, value), old.get(memory_key(op.namespace, op.key)), place
        )
        for place, (op, value) in enumerate(puts)
    ]


def indexed_text(op: PutOp, value: Mapping[str, Any]) -> str:
    """What of a value is to be found: all of it, or the paths that `index` names, or nothing."""
    if op.index is False:
        return ""
    if op.index is None:
        return rendered(value)
    return "; ".join(text for path in op.index for text in get_text_at_path(value, path))


def searched(items: Sequence[Kept], op: SearchOp) -> list[tuple[Kept, float | None]]:
    within = [
        kept for kept in items if is_under(kept.namespace, op.namespace_prefix) and passes(kept.value, op.filter or {})
    ]
    query = (op.query or "").strip()
    found: list[tuple[Kept, float | None]] = ranked(within, query) if query else [(kept, None) for kept in within]
    return found[op.offset : op.offset + op.limit]


def namespaces(items: Sequence[Kept], op: ListNamespacesOp) -> list[Namespace]:
    conditions = op.match_conditions or ()
    found = {
        kept.namespace[: op.max_depth]
        for kept in items
        if all(fits(kept.namespace, condition.match_type, condition.path) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def as_item(kept: Kept | None) -> Item | None:
    if kept is None:
        return None
    return Item(
        value=kept.value,
        key=kept.key,
        namespace=kept.namespace,
        created_at=kept.created_at,
        updated_at=kept.updated_at,
    )


def as_search_item(kept: Kept, score: float | None) -> SearchItem:
    return SearchItem(kept.namespace, kept.key, kept.value, kept.created_at, kept.updated_at, score)
