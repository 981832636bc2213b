"""RecollectStore: LangGraph's BaseStore on the engine. Needs the extra `recollect[langgraph]`.

Every item belongs to a user: `user` is their name, or its position in the namespace. In a batch, reads come first and
do not see its writes, and the last write of an item counts, as in LangGraph's own stores.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from recollect import Engine, InvalidInput, Lesson, Memory, Scope, SyncEngine
from recollect.integrations import engine_loop
from recollect.recall.lexemes import lexemes
from recollect.recall.memory_ranking import score_memories
from recollect.recall.question import read_question
from recollect.values.memory import Status
from recollect.values.scope import MemoryId

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
    raise ImportError("RecollectStore needs LangGraph; run `pip install recollect[langgraph]`") from None

PAGE_SIZE = 10_000
ACTIVE: tuple[Status, ...] = ("active",)
Items = Mapping[str, "StoredItem"]  # by the memory's key, the last changed first
ITEM_FIELDS = ("namespace", "key", "value", "created_at", "updated_at")
AnyOp = TypeVar("AnyOp")


class RecollectStore(BaseStore):
    """`engine` is from `connect` or `connect_sync`. With `connect`, create the store where the engine was opened."""

    __slots__ = ("_engine", "_locks", "_loop", "_project", "_user")

    def __init__(self, engine: Engine | SyncEngine, *, user: str | int, project: str = "default") -> None:
        self._loop = engine_loop.EngineLoop(engine)
        self._engine = self._loop.engine
        self._user, self._project = user, project
        self._locks: WeakValueDictionary[Scope, asyncio.Lock] = WeakValueDictionary()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._loop.wait(self._run(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._loop.run(self._run(list(ops)))

    async def _run(self, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
        wanted = [(self._scope(op), op) for op in ops]
        results = await self._read(wanted)
        await self._write({(op.namespace, op.key): (scope, op) for scope, op in wanted if isinstance(op, PutOp)})
        return results

    def _scope(self, op: Op) -> Scope:
        if isinstance(self._user, str):
            return Scope(self._user, project=self._project)
        for path in list_namespaces(op):
            if len(path) > self._user and path[self._user] != "*":
                return Scope(path[self._user], project=self._project)
        where = f"element {self._user} must be the user"
        raise InvalidInput("namespace", f"{list_namespaces(op)} names no user; {where}")

    async def _read(self, wanted: Sequence[tuple[Scope, Op]]) -> list[Result]:
        """Read the items that a batch asks of each user in one read: the named ones, or all if it searches."""

        async def read_items(scope: Scope, ops: Sequence[Op]) -> Items:
            named = [make_key(op.namespace, op.key) for op in ops if isinstance(op, GetOp)]
            if len(named) == len(ops):
                memories = await self._engine.memories(scope, key=named, status=ACTIVE, limit=PAGE_SIZE)
            else:
                memories = await engine_loop.read_memories(self._engine, scope, ACTIVE, ("note",))
            return {item.memory.key: item for item in select_latest(memories)}

        asked = group_by_scope((scope, op) for scope, op in wanted if not isinstance(op, PutOp))
        results = await asyncio.gather(*(read_items(scope, ops) for scope, ops in asked.items()))
        found = dict(zip(asked, results, strict=True))
        return [await self._answer(scope, op, found.get(scope, {})) for scope, op in wanted]

    async def _answer(self, scope: Scope, op: Op, items: Items) -> Result:
        match op:
            case GetOp():
                if (item := items.get(make_key(op.namespace, op.key))) is None:
                    return None
                await self._engine.runtime.count_use(scope, [item.memory.id])
                return Item(**{name: getattr(item, name) for name in ITEM_FIELDS})
            case SearchOp():
                found = search_items(list(items.values()), op)
                await self._engine.runtime.count_use(scope, [item.memory.id for item, _ in found])
                return [
                    SearchItem(**{name: getattr(item, name) for name in ITEM_FIELDS}, score=score)
                    for item, score in found
                ]
            case ListNamespacesOp():
                return select_namespaces(list(items.values()), op)
        return None

    async def _write(self, puts: Mapping[Any, tuple[Scope, PutOp]]) -> None:
        """Write the changes of each user; the lock of a user prevents two changes at once from conflicting."""

        async def write(scope: Scope, ops: Sequence[PutOp]) -> None:
            async with self._locks.setdefault(scope, asyncio.Lock()):
                if stored := [(op, op.value) for op in ops if op.value is not None]:
                    await self._put(scope, stored)
                for op in ops:
                    if op.value is None:
                        key = make_key(op.namespace, op.key)
                        versions = await self._engine.memories(scope, key=key, status=None, limit=PAGE_SIZE)
                        await engine_loop.forget_versions(self._engine, scope, versions)

        await asyncio.gather(*(write(scope, ops) for scope, ops in group_by_scope(puts.values()).items()))

    async def _put(self, scope: Scope, puts: Sequence[tuple[PutOp, Mapping[str, Any]]]) -> None:
        """Add all new versions in one transaction that ends the old ones."""
        keys = [make_key(op.namespace, op.key) for op, _ in puts]
        before = await self._engine.memories(scope, key=keys, status=ACTIVE, limit=PAGE_SIZE)
        old = {item.memory.key: item for item in select_latest(before)}
        lessons = [make_lesson(op, value, old, place) for place, (op, value) in enumerate(puts)]
        await self._engine.learn(scope, lessons, ending=[memory.id for memory in before])


def group_by_scope(wanted: Iterable[tuple[Scope, AnyOp]]) -> dict[Scope, list[AnyOp]]:
    found: dict[Scope, list[AnyOp]] = {}
    for scope, op in wanted:
        found.setdefault(scope, []).append(op)
    return found


def list_namespaces(op: Op) -> list[Namespace]:
    """Return the namespaces that may name the user of an operation."""
    match op:
        case GetOp() | PutOp():
            return [op.namespace]
        case SearchOp():
            return [op.namespace_prefix]
        case ListNamespacesOp():
            return [condition.path for condition in op.match_conditions or () if condition.match_type == "prefix"]
    raise InvalidInput("op", f"a {type(op).__name__} is not a store operation")


def search_items(items: Sequence[StoredItem], op: SearchOp) -> list[tuple[StoredItem, float | None]]:
    within = [
        item
        for item in items
        if matches_path(item.namespace, "prefix", op.namespace_prefix) and matches_filter(item.value, op.filter or {})
    ]
    query = (op.query or "").strip()
    scores = score_items(within, query) if query else {}
    found = [(item, scores.get(item.memory.id)) for item in within]
    return sorted(found, key=lambda pair: -(pair[1] or 0.0))[op.offset : op.offset + op.limit]


def select_namespaces(items: Sequence[StoredItem], op: ListNamespacesOp) -> list[Namespace]:
    conditions = op.match_conditions or ()
    found = {
        item.namespace[: op.max_depth]
        for item in items
        if all(matches_path(item.namespace, condition.match_type, condition.path) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


# Items as memories, and back ------------------------------------------------------------------------------------------
#
# An item (namespace, key, dict) is a note with the key `item:<namespace>/<key>`. Of several active notes of an item the
# highest version counts: another process may be about to end the others.

Namespace = tuple[str, ...]
PREFIX = "item:"
DATA = "langgraph"  # key of the item in the note's data
IMPORTANCE = 0.4  # too low to be in every context, as programs store hundreds of items; upkeep does not prune them
NOT_INDEXED = "(not indexed)"
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    **{f"${name}": getattr(operator, name) for name in ("eq", "ne", "gt", "lt")},
    "$gte": operator.ge,
    "$lte": operator.le,
}


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item and the memory it is stored in."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    memory: Memory
    place: int = 0  # among the items of one batch

    @property
    def text(self) -> str:
        """The searchable text; empty if the item is not indexed."""
        text = self.memory.value.removesuffix(f" (v{self.version})")
        return "" if text == NOT_INDEXED else text


def make_key(namespace: Namespace, key: str) -> str:
    """Return a unique key of an item."""
    return engine_loop.make_note_key(
        PREFIX + "/".join(part.replace("%", "%25").replace("/", "%2F") for part in (*namespace, key))
    )


def make_lesson(op: PutOp, value: Mapping[str, Any], known: Items, place: int = 0) -> Lesson:
    """Return the next version of an item."""
    key = make_key(op.namespace, op.key)
    old = known.get(key)
    version = old.version + 1 if old else 1
    item: dict[str, Any] = {"namespace": list(op.namespace), "key": op.key, "value": dict(value), "version": version}
    if old:
        item["created_at"] = old.created_at.isoformat()
    if place:
        item["place"] = place
    if op.index is None:  # all of the value is searchable, or the paths in `index`, or nothing
        text = render_value(value)
    else:
        text = "; ".join(part for path in op.index or () for part in get_text_at_path(value, path))
    text = text.strip() or NOT_INDEXED
    return engine_loop.make_note(key, text, IMPORTANCE, version, {DATA: item})


def select_latest(memories: Iterable[Memory]) -> list[StoredItem]:
    """Return the items among active memories, each once, the last changed first."""
    newest: dict[str, StoredItem] = {}
    for memory, fields in engine_loop.read_notes(memories, PREFIX, DATA):
        created = fields.get("created_at")
        item = StoredItem(
            namespace=tuple(fields["namespace"]),
            key=fields["key"],
            value=fields["value"],
            version=fields["version"],
            created_at=datetime.fromisoformat(created) if created else memory.valid_from,
            updated_at=memory.valid_from,
            memory=memory,
            place=fields.get("place", 0),
        )
        known = newest.get(memory.key)
        if known is None or (item.version, item.updated_at) > (known.version, known.updated_at):
            newest[memory.key] = item
    return sorted(newest.values(), key=lambda item: (item.updated_at, item.place, item.memory.id), reverse=True)


def render_value(value: object) -> str:
    """Return a dict as readable text: "theme: dark; tags: a, b". A single sentence has no name before it."""
    leaves = list(list_leaves(value))
    if len(leaves) == 1 and " " in leaves[0][1]:
        return leaves[0][1]
    return "; ".join(f"{name}: {text}" if name else text for name, text in leaves)


def list_leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case None | "":
            return
        case Mapping():
            for key, inner in value.items():
                yield from list_leaves(inner, f"{name} {key}".strip())
        case list() | tuple() if all(isinstance(each, str | int | float) for each in value):
            yield from list_leaves(", ".join(map(str, value)), name)
        case list() | tuple():
            for inner in value:
                yield from list_leaves(inner, name)
        case _:
            yield name, str(value)


def score_items(items: Sequence[StoredItem], query: str) -> dict[MemoryId, float]:
    """Return the scores, as in recall, of the items that share words with the query."""
    question = read_question(query)
    words = frozenset(question.lexemes)
    shared = [(item.memory, [word for word in lexemes(item.text) if word in words]) for item in items]
    return {hit.memory.id: hit.score for hit in score_memories(shared, "user", question, (), ()) if hit.score > 0}


def matches_path(namespace: Namespace, end: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins or ends ("prefix", "suffix") with a path; "*" matches any label."""
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if end == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def matches_filter(value: object, wanted: object) -> bool:
    """Whether a value matches a LangGraph filter: a value, operators ($gt), or a dict whose entries all match."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(matches_operator(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            matches_filter(value.get(name), other) for name, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        same_length = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same_length and all(map(matches_filter, value, wanted))  # type: ignore[call-overload]
    return value == wanted


def matches_operator(value: Any, name: str, wanted: Any) -> bool:
    if name not in OPERATORS:
        raise InvalidInput("filter", f"{name!r} is not one of {', '.join(OPERATORS)}")
    if name in ("$eq", "$ne"):
        return bool(OPERATORS[name](value, wanted))
    try:
        # As in LangGraph's own stores, order operators compare numbers.
        return bool(OPERATORS[name](float(value), float(wanted)))
    except (TypeError, ValueError):
        return False
