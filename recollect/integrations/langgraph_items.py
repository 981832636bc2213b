"""LangGraph items as memories, and back; pure functions that do not import LangGraph.

An item (namespace, key, dict) is a note with the key `item:<namespace>/<key>`. The dict is in the note's data, and its
text is the note's value, which recall and people read. The text ends in a version, "(v2)": evidence with equal text is
merged into one memory, and two versions of an item must stay separate.

Items are not important enough to be in every context, only in those they are relevant to; upkeep does not prune them.
Of several active notes of an item the highest version counts: another process may be about to end the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.recall.lexemes import lexemes
from recollect.recall.memory_ranking import weighed
from recollect.recall.question import read_question
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import Memory
from recollect.values.scope import MAX_NAME

Namespace = tuple[str, ...]
PREFIX = "item:"
DATA = "langgraph"  # key of the item in the note's data
IMPORTANCE = 0.4  # too low to be in every context: programs store hundreds of items
NOT_INDEXED = "(not indexed)"
MAX_TEXT_CHARS = MAX_VALUE_CHARS - 20  # leaves room for the version


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
    """Return a unique key of an item; a digest if it would be too long."""
    path = PREFIX + "/".join(part.replace("%", "%25").replace("/", "%2F") for part in (*namespace, key))
    return path if len(path) <= MAX_NAME else PREFIX + hashlib.sha256(path.encode()).hexdigest()


def make_lesson(
    namespace: Namespace, key: str, value: Mapping[str, Any], text: str, old: StoredItem | None, place: int = 0
) -> Lesson:
    """Return the next version of an item."""
    version = old.version + 1 if old else 1
    item: dict[str, Any] = {"namespace": list(namespace), "key": key, "value": dict(value), "version": version}
    if old:
        item["created_at"] = old.created_at.isoformat()
    if place:
        item["place"] = place
    return Lesson(
        value=f"{text[:MAX_TEXT_CHARS].strip() or NOT_INDEXED} (v{version})",
        key=make_key(namespace, key),
        importance=IMPORTANCE,
        owner="user",
        data={DATA: item},
    )


def parse_item(memory: Memory) -> StoredItem:
    fields = (memory.data or {})[DATA]
    created = fields.get("created_at")
    return StoredItem(
        namespace=tuple(fields["namespace"]),
        key=fields["key"],
        value=fields["value"],
        version=fields["version"],
        created_at=datetime.fromisoformat(created) if created else memory.valid_from,
        updated_at=memory.valid_from,
        memory=memory,
        place=fields.get("place", 0),
    )


def is_item(memory: Memory) -> bool:
    return memory.key.startswith(PREFIX) and DATA in (memory.data or {})


def select_latest(memories: Iterable[Memory]) -> list[StoredItem]:
    """Return the items among active memories, each once, the last changed first."""
    newest: dict[str, StoredItem] = {}
    for item in map(parse_item, filter(is_item, memories)):
        known = newest.get(item.memory.key)
        if known is None or (item.version, item.updated_at) > (known.version, known.updated_at):
            newest[item.memory.key] = item
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


def rank_items(items: Sequence[StoredItem], query: str) -> list[tuple[StoredItem, float | None]]:
    """Return the items that share words with the query, best first, with scores as in recall; then the others."""
    question = read_question(query)
    words = frozenset(question.lexemes)
    shared = [(item.memory, [word for word in lexemes(item.text) if word in words]) for item in items]
    score = {hit.memory.id: hit.score for hit in weighed(shared, "user", question, (), ()) if hit.score > 0}
    found = [(item, score.get(item.memory.id)) for item in items]
    return sorted(found, key=lambda pair: -(pair[1] or 0.0))


def is_under(namespace: Namespace, prefix: Sequence[str]) -> bool:
    return namespace[: len(prefix)] == tuple(prefix)


def matches_path(namespace: Namespace, end: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins or ends ("prefix", "suffix") with a path; "*" matches any label."""
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if end == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
