"""Memories as mem0's dicts and ids, mem0's messages as turns, and mem0's filters; pure functions for mem0.py.

A user is the user, a run the session, and an agent with a user part of the session's name; without a user, the agent or
else the run owns the memory. A memory's id is that of its first version with its owner ("alex:0190..."), because an
update makes a new memory and nothing is read without a scope.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from recollect import InvalidInput, Memory, Turn
from recollect.values.memory import Status
from recollect.values.scope import MAX_NAME, MemoryId
from recollect.values.text import check_text

Fact = dict[str, Any]
Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
IDS = ("user_id", "agent_id", "run_id")
DATA = "mem0"  # key of our fields in the data of notes and turns
DEFAULT_SESSION = "mem0"  # of messages without a run
AGENT, RUN = "agent:", "run:"
PREFIXES = ((AGENT, "agent_id"), (RUN, "run_id"))  # of users that an agent or a run owns
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "gt", "lt")},
    "gte": operator.ge,
    "lte": operator.le,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: wanted.casefold() in value.casefold(),
}


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of memories by mem0's ids, of which at least one is required."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        given = {name: value for name in IDS if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            if not isinstance(value, str) or value.strip() in ("", "*"):
                raise InvalidInput(name, f"{value!r} is not an id")
        if not given:
            raise InvalidInput("filters", "user_id, agent_id or run_id is required")
        if str(self.user_id).startswith((AGENT, RUN)):
            raise InvalidInput("user_id", f"{self.user_id!r} must not begin with {AGENT!r} or {RUN!r}")

    @property
    def user(self) -> str:
        if self.user_id:
            return self.user_id
        return f"{AGENT}{self.agent_id}" if self.agent_id else f"{RUN}{self.run_id}"

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Agent and run, unless they are the owner."""
        return (self.agent_id if self.user_id else None), (self.run_id if self.user_id or self.agent_id else None)

    @property
    def session(self) -> str:
        agent, run = self.place
        if agent:
            return f"{AGENT}{agent.replace('%', '%25').replace('/', '%2F')}" + (f"/{run}" if run else "")
        if not run:
            return DEFAULT_SESSION
        is_taken = run == DEFAULT_SESSION or run.startswith((AGENT, RUN))
        return f"{RUN}{run}" if is_taken else run

    @property
    def note_key(self) -> str:
        """The key of notes: the same text in two runs is two notes."""
        return "note" if self.place == (None, None) else f"note {self.session}"[:MAX_NAME]

    def owns(self, memory: Memory) -> bool:
        """Whether a memory was learned from this agent and run."""
        return any(map(self._matches, list_places(memory)))

    def owns_session(self, session: str) -> bool:
        return self._matches(parse_session(session))

    def _matches(self, there: tuple[str | None, str | None]) -> bool:
        agent, run = self.place
        return agent in (None, there[0]) and run in (None, there[1])


def list_places(memory: Memory) -> list[tuple[str | None, str | None]]:
    """Return the (agent, run) pairs that a memory was learned from, newest first."""
    data = read_data(memory.data)
    own = [(data.get("agent_id"), data.get("run_id"))] if data else []
    return own + [parse_session(session) for session, _ in list_turns(memory)] or [(None, None)]


def parse_session(session: str) -> tuple[str | None, str | None]:
    if session.startswith(AGENT):
        agent, _, run = session.removeprefix(AGENT).partition("/")
        return agent.replace("%2F", "/").replace("%25", "%"), run or None
    return None, None if session == DEFAULT_SESSION else session.removeprefix(RUN)


def list_turns(memory: Memory) -> list[tuple[str, int]]:
    """Return session and index of the turns a memory was learned from."""
    parts = [ref.rpartition("#") for ref in memory.refs if not ref.startswith("@")]
    return [(session, int(index)) for session, _, index in parts]


def read_data(data: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (data or {}).get(DATA) or {}


def make_id(user: str, memory: MemoryId) -> str:
    return f"{user}:{memory}"


def parse_id(memory_id: object) -> tuple[str, MemoryId]:
    """Return the user and the memory id of a mem0 id."""
    user, _, memory = str(memory_id).rpartition(":")
    try:
        return check_text("memory_id", user, MAX_NAME), MemoryId(UUID(memory))
    except (ValueError, InvalidInput):
        raise InvalidInput("memory_id", f"{memory_id!r} is not an id returned by add, search or get_all") from None


class MemoryVersions:
    """All memories of a user, with their replacements."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_id = {memory.id: memory for memory in memories}

    @cached_property
    def _before(self) -> dict[MemoryId, list[Memory]]:
        before: dict[MemoryId, list[Memory]] = {}
        for memory in self._by_id.values():
            if memory.replaced_by:
                before.setdefault(memory.replaced_by, []).append(memory)
        return before

    @property
    def active(self) -> list[Memory]:
        return self.with_status("active")

    def with_status(self, status: Status) -> list[Memory]:
        return [memory for memory in self._by_id.values() if memory.status == status]

    def current(self, memory: MemoryId) -> Memory | None:
        """Return the current version of a memory, if it is active."""
        found = self._by_id.get(memory)
        while found is not None and found.replaced_by:
            found = self._by_id.get(found.replaced_by)
        return found if found is not None and found.status == "active" else None

    def versions(self, memory: Memory) -> list[Memory]:
        """Return a memory and all memories it replaced, oldest first."""
        found = [memory]
        for each in found:
            found += [earlier for earlier in self._before.get(each.id, ()) if earlier not in found]
        return sorted(found, key=lambda each: (each.valid_from, each.id))


def format_text(memory: Memory) -> str:
    """Return the taught text; what was learned from messages has its key before it."""
    return memory.value if memory.learned_by == "person" else memory.text


def make_fact(user: str, versions: Sequence[Memory], metadata: Mapping[str, Any] | None = None) -> Fact:
    first, last = versions[0], versions[-1]
    agent, run = list_places(last)[0]
    text = format_text(last)
    prefix, name = next((pair for pair in PREFIXES if user.startswith(pair[0])), ("", "user_id"))
    owner_id = {name: user.removeprefix(prefix)}
    return {
        "id": make_id(user, first.id),
        "memory": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(metadata) if metadata else None,
        "created_at": first.valid_from.isoformat(),
        "updated_at": last.valid_from.isoformat(),
        "refs": list(last.refs),
        **{name: value for name, value in (("agent_id", agent), ("run_id", run)) if value},
        **owner_id,
    }


def make_history(user: str, versions: Sequence[Memory]) -> list[Fact]:
    """Return each value as an event, oldest first."""
    first = {"memory_id": make_id(user, versions[0].id), "created_at": versions[0].valid_from.isoformat()}
    return [
        {
            "id": str(memory.id),
            **first,
            "old_memory": format_text(earlier) if earlier else None,
            "new_memory": format_text(memory),
            "event": "UPDATE" if earlier else "ADD",
            "updated_at": memory.valid_from.isoformat() if earlier else None,
            "is_deleted": False,
        }
        for earlier, memory in zip([None, *versions], versions, strict=False)
    ]


def parse_messages(messages: Messages, metadata: Mapping[str, Any] | None) -> list[Turn]:
    items = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(items, Sequence) or not items:
        raise InvalidInput("messages", "must be a text, a message or a list of messages")
    data = {DATA: {"metadata": dict(metadata)}} if metadata else None
    return [parse_message(message, data) for message in items]


def parse_message(message: str | Mapping[str, Any], data: Mapping[str, Any] | None) -> Turn:
    """Return a turn; a plain text is from the user. Content in parts is reduced to its texts."""
    if isinstance(message, str):
        return Turn("user", message, data=data)
    if not isinstance(message, Mapping) or "content" not in message:
        raise InvalidInput("messages", f"{message!r} is not a message with role and content")
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    return Turn(message.get("role", "user"), content, message.get("name"), data=data)


def make_events(user: str, known: MemoryVersions, before: set[MemoryId], refs: Sequence[str]) -> list[Fact]:
    """Return what some turns changed: ADD, UPDATE (of a replaced memory), NONE (already known), DELETE."""
    recorded = frozenset(refs)
    learned = [memory for memory in known.active if not recorded.isdisjoint(memory.refs)]
    deleted = [memory for memory in known.with_status("retracted") if memory.id in before]
    return [make_event(user, known.versions(memory), memory.id in before) for memory in learned] + [
        {"id": make_id(user, known.versions(memory)[0].id), "memory": format_text(memory), "event": "DELETE"}
        for memory in deleted
    ]


def make_event(user: str, versions: Sequence[Memory], was_known: bool) -> Fact:
    fact: Fact = {"id": make_id(user, versions[0].id), "memory": format_text(versions[-1])}
    if was_known:
        return {**fact, "event": "NONE"}
    if len(versions) > 1:
        return {**fact, "event": "UPDATE", "previous_memory": format_text(versions[-2])}
    return {**fact, "event": "ADD"}


# Filters: a value that cannot be compared does not match; an unknown operator is an error.

LOGIC: Mapping[str, Callable[[Iterable[bool]], bool]] = {"AND": all, "OR": any, "NOT": lambda parts: not any(parts)}


def compare(value: Any, name: str, wanted: Any) -> bool:
    try:
        return bool(OPERATORS[name](value, wanted))
    except (TypeError, AttributeError):
        return False


def split_filters(filters: Mapping[str, Any] | None, **given: str | None) -> tuple[Owner, Fact]:
    """Return the owner from ids given by name or in the filters (at the top or in an AND), and the other filters."""
    filters = filters or {}
    top = read_ids(filters)
    ids = top | {name: value for name, value in given.items() if value is not None}
    for part in filters.get("AND") or ():
        ids = read_ids(part) | ids
    return Owner(**ids), {name: wanted for name, wanted in filters.items() if name not in top}


def read_ids(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that the filters ask for by value."""
    return {name: filters[name] for name in IDS if isinstance(filters.get(name), str) and filters[name] != "*"}


def matches_mem0_filter(found: Fact, filters: Mapping[str, Any]) -> bool:
    """Whether a fact matches mem0's filters: ids and metadata, operators, AND, OR and NOT."""
    return all(matches_mem0_condition(found, name, wanted) for name, wanted in filters.items())


def matches_mem0_condition(found: Fact, name: str, wanted: Any) -> bool:
    if name in LOGIC:
        return LOGIC[name](matches_mem0_filter(found, part) for part in wanted)
    value = found.get(name, (found["metadata"] or {}).get(name))
    if wanted == "*":
        return value is not None
    conditions = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
    if unknown := [condition for condition in conditions if condition not in OPERATORS]:
        raise InvalidInput("filters", f"{unknown[0]!r} is not one of {', '.join(OPERATORS)}")
    return all(compare(value, condition, other) for condition, other in conditions.items())
