"""Messages: what mem0 is given as turns, and what became of them as events. Pure; mem0.py uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.compat.facts import DATA, Chains, Fact, named, text_of
from recollect.errors import InvalidInput
from recollect.model.conversation import Turn
from recollect.model.ids import MemoryId
from recollect.model.memory import Memory

Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


def read_messages(messages: Messages, metadata: Mapping[str, Any] | None) -> list[Turn]:
    listed = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(listed, Sequence) or not listed:
        raise InvalidInput("messages", "give a text, a message or a list of messages")
    data = {DATA: {"metadata": dict(metadata)}} if metadata else None
    return [read_message(message, data) for message in listed]


def read_message(message: str | Mapping[str, Any], data: Mapping[str, Any] | None) -> Turn:
    """A text is the user's. Of a content in parts, its texts."""
    if isinstance(message, str):
        return Turn("user", message, data=data)
    if not isinstance(message, Mapping) or "content" not in message:
        raise InvalidInput("messages", f"{message!r} is not a message; it has role and content")
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    return Turn(message.get("role", "user"), content, message.get("name"), data=data)


def events(user: str, known: Chains, before: set[MemoryId], refs: Sequence[str]) -> list[Fact]:
    """What some turns have changed: ADD, UPDATE (of the memory it took the place of), NONE (said again), DELETE."""
    spoken = frozenset(refs)
    learned = [memory for memory in known.active if not spoken.isdisjoint(memory.refs)]
    gone = [memory for memory in known.retracted if memory.id in before]
    return [event(user, known.versions(memory), memory.id in before) for memory in learned] + [
        {"id": named(user, known.versions(memory)[0].id), "memory": text_of(memory), "event": "DELETE"}
        for memory in gone
    ]


def event(user: str, versions: Sequence[Memory], was_known: bool) -> Fact:
    told: Fact = {"id": named(user, versions[0].id), "memory": text_of(versions[-1])}
    if was_known:
        return {**told, "event": "NONE"}
    if len(versions) > 1:
        return {**told, "event": "UPDATE", "previous_memory": text_of(versions[-2])}
    return {**told, "event": "ADD"}
