"""Items: a namespace, a key and a dict, as a memory; and back. Pure, and without LangGraph: langgraph.py uses it.

An item is a note under a key of its own, `item:<namespace>/<key>`. The dict is in the note's data; its value is the
dict's text, which is what recall and people read. The text ends in a version, "(v2)": a memory is what all evidence of
the same words comes to, and two versions of an item must never be taken for one, however alike they are.

Items are less important than what every context has; upkeep, which drops such memories when there are many, leaves
items alone. A context has those that speak to its question.

Of several active notes of one item the highest version counts: another process may be about to end the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.model.known import weighed
from recollect.model.lesson import MAX_VALUE_CHARS, Lesson
from recollect.model.memory import Memory
from recollect.model.question import read_question
from recollect.model.scope import MAX_NAME
from recollect.model.text import lexemes

Namespace = tuple[str, ...]
PREFIX = "item:"
DATA = "langgraph"  # under which the item is in the note's data
IMPORTANCE = 0.4  # below what is in every context: a program has items by the hundred, and asks for those it means
UNREADABLE = "(not indexed)"
ROOM = MAX_VALUE_CHARS - 20  # for the text; the rest is for the version


@dataclass(frozen=True, slots=True)
class Kept:
    """An item as it is kept."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    memory: Memory
    place: int = 0  # among those put at the same moment

    @property
    def text(self) -> str:
        """What a search reads; nothing, where the item asked not to be indexed."""
        text = self.memory.value.removesuffix(f" (v{self.version})")
        return "" if text == UNREADABLE else text


def memory_key(namespace: Namespace, key: str) -> str:
    """One for each item; of a long one the digest, the item itself is in the data."""
    path = PREFIX + "/".join(part.replace("%", "%25").replace("/", "%2F") for part in (*namespace, key))
    return path if len(path) <= MAX_NAME else PREFIX + hashlib.sha256(path.encode()).hexdigest()


def as_lesson(
    namespace: Namespace, key: str, value: Mapping[str, Any], text: str, old: Kept | None, place: int = 0
) -> Lesson:
    """The next version of an item."""
    version = old.version + 1 if old else 1
    item: dict[str, Any] = {"namespace": list(namespace), "key": key, "value": dict(value), "version": version}
    if old:
        item["created_at"] = old.created_at.isoformat()
    if place:
        item["place"] = place
    return Lesson(
        value=f"{text[:ROOM].strip() or UNREADABLE} (v{version})",
        key=memory_key(namespace, key),
        importance=IMPORTANCE,
        owner="user",
        data={DATA: item},
    )


def as_kept(memory: Memory) -> Kept:
    item = (memory.data or {})[DATA]
    created = item.get("created_at")
    return Kept(
        namespace=tuple(item["namespace"]),
        key=item["key"],
        value=item["value"],
        version=item["version"],
        created_at=datetime.fromisoformat(created) if created else memory.valid_from,
        updated_at=memory.valid_from,
        memory=memory,
        place=item.get("place", 0),
    )


def is_item(memory: Memory) -> bool:
    return memory.key.startswith(PREFIX) and DATA in (memory.data or {})


def latest(memories: Iterable[Memory]) -> list[Kept]:
    """The items among some active memories, each once, the last changed first."""
    newest: dict[str, Kept] = {}
    for kept in map(as_kept, filter(is_item, memories)):
        known = newest.get(kept.memory.key)
        if known is None or (kept.version, kept.updated_at) > (known.version, known.updated_at):
            newest[kept.memory.key] = kept
    return sorted(newest.values(), key=lambda kept: (kept.updated_at, kept.place, kept.memory.id), reverse=True)


def rendered(value: object) -> str:
    """A dict as a person reads it: "theme: dark; tags: a, b". A lone sentence needs no name."""
    leaves = list(_leaves(value))
    if len(leaves) == 1 and " " in leaves[0][1]:
        return leaves[0][1]
    return "; ".join(f"{name}: {text}" if name else text for name, text in leaves)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case None | "":
            return
        case Mapping():
            for key, inner in value.items():
                yield from _leaves(inner, f"{name} {key}".strip())
        case list() | tuple() if all(isinstance(each, str | int | float) for each in value):
            yield from _leaves(", ".join(map(str, value)), name)
        case list() | tuple():
            for inner in value:
                yield from _leaves(inner, name)
        case _:
            yield name, str(value)


def ranked(items: Sequence[Kept], query: str) -> list[tuple[Kept, float | None]]:
    """Those that share words with the query, best first, as recall weighs memories; then the others, as they came."""
    question = read_question(query)
    words = frozenset(question.lexemes)
    shared = [(item.memory, [word for word in lexemes(item.text) if word in words]) for item in items]
    score = {hit.memory.id: hit.score for hit in weighed(shared, "user", question, (), ()) if hit.score > 0}
    found = [(item, score.get(item.memory.id)) for item in items]
    return sorted(found, key=lambda pair: -(pair[1] or 0.0))


def is_under(namespace: Namespace, prefix: Sequence[str]) -> bool:
    return namespace[: len(prefix)] == tuple(prefix)


def fits(namespace: Namespace, end: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins or ends ("prefix", "suffix") with a path; "*" stands for any label."""
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if end == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
