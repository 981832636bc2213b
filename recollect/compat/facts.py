"""Facts: what a memory is in mem0's dicts, whose it is by mem0's ids, and which one a filter means. Pure; mem0.py asks
the engine.

    user_id    the user          run_id    the session            agent_id    beside a user: part of the session's name
    without a user_id, the agent, or else the run, is the one whose memory it is

An update makes a new memory in the place of the old one; mem0's id stays the same all along: it is that of the first
one in the chain. The id also says whose memory it is ("alex:0190..."), because nothing is read without that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.model.ids import MemoryId
from recollect.model.memory import Memory
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

Fact = dict[str, Any]
IDS = ("user_id", "agent_id", "run_id")
DATA = "mem0"  # under which our part is in the data of notes and turns
TALK = "mem0"  # the session of what has no run
AGENT, RUN = "agent:", "run:"


@dataclass(frozen=True, slots=True)
class Who:
    """By mem0's three ids, of which one is needed."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        for name in IDS:
            given = getattr(self, name)
            if given is not None and (not isinstance(given, str) or not given.strip() or given == "*"):
                raise InvalidInput(name, f"{given!r} is not an id")
        if self.user_id is not None and self.user_id.startswith((AGENT, RUN)):
            raise InvalidInput("user_id", f"{self.user_id!r} begins as the memory of an agent or a run does")
        if not (self.user_id or self.agent_id or self.run_id):
            raise InvalidInput("filters", "say whose memory is meant: user_id, agent_id or run_id")

    @property
    def user(self) -> str:
        if self.user_id:
            return self.user_id
        return f"{AGENT}{self.agent_id}" if self.agent_id else f"{RUN}{self.run_id}"

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Agent and run, as far as they are not the one whose memory it is."""
        return (self.agent_id if self.user_id else None), (self.run_id if self.user_id or self.agent_id else None)

    @property
    def session(self) -> str:
        agent, run = self.place
        if agent:
            return f"{AGENT}{agent.replace('%', '%25').replace('/', '%2F')}" + (f"/{run}" if run else "")
        return TALK if not run else f"{RUN}{run}" if run == TALK or run.startswith((AGENT, RUN)) else run

    @property
    def shelf(self) -> str:
        """The key of its notes: the same words in two runs are two notes."""
        return "note" if self.place == (None, None) else f"note {self.session}"[:MAX_NAME]

    def is_in(self, memory: Memory) -> bool:
        """Whether a memory was learned where these ids say."""
        return any(map(self._fits, places(memory)))

    def is_at(self, session: str) -> bool:
        return self._fits(place(session))

    def _fits(self, there: tuple[str | None, str | None]) -> bool:
        agent, run = self.place
        return agent in (None, there[0]) and run in (None, there[1])


def owner(user: str) -> Fact:
    """The id that a scope's user stands for."""
    for prefix, name in ((AGENT, "agent_id"), (RUN, "run_id")):
        if user.startswith(prefix):
            return {name: user.removeprefix(prefix)}
    return {"user_id": user}


def places(memory: Memory) -> list[tuple[str | None, str | None]]:
    """Agents and runs that a memory comes from, the newest first."""
    noted = ours(memory.data)
    told = [(noted.get("agent_id"), noted.get("run_id"))] if noted else []
    return told + [place(session) for session, _ in turns(memory)] or [(None, None)]


def place(session: str) -> tuple[str | None, str | None]:
    if session.startswith(AGENT):
        agent, _, run = session.removeprefix(AGENT).partition("/")
        return agent.replace("%2F", "/").replace("%25", "%"), run or None
    return None, None if session == TALK else session.removeprefix(RUN)


def turns(memory: Memory) -> list[tuple[str, int]]:
    """The turns it rests on: session and index."""
    parts = [ref.rpartition("#") for ref in memory.refs if not ref.startswith("@")]
    return [(session, int(index)) for session, _, index in parts]


def ours(data: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (data or {}).get(DATA) or {}


def named(user: str, memory: MemoryId) -> str:
    return f"{user}:{memory}"


def read_id(memory_id: object) -> tuple[str, MemoryId]:
    """Whose memory an id names, and which."""
    user, _, memory = str(memory_id).rpartition(":")
    try:
        return checked_text("memory_id", user, MAX_NAME), MemoryId(UUID(memory))
    except (ValueError, InvalidInput):
        raise InvalidInput("memory_id", f"{memory_id!r} is not an id that add, search or get_all gave") from None


class Chains:
    """All memories of a user, and which one took the place of which."""

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
        return [memory for memory in self._by_id.values() if memory.status == "active"]

    @property
    def retracted(self) -> list[Memory]:
        return [memory for memory in self._by_id.values() if memory.status == "retracted"]

    def current(self, memory: MemoryId) -> Memory | None:
        """What has come of it, if that still counts."""
        found = self._by_id.get(memory)
        while found is not None and found.replaced_by:
            found = self._by_id.get(found.replaced_by)
        return found if found is not None and found.status == "active" else None

    def versions(self, memory: Memory) -> list[Memory]:
        """With all that it took the place of, the oldest first."""
        found = [memory]
        for each in found:
            found += [earlier for earlier in self._before.get(each.id, ()) if earlier not in found]
        return sorted(found, key=lambda each: (each.valid_from, each.id))


def text_of(memory: Memory) -> str:
    """As it was told us; what was learned from talk has its key before it."""
    return memory.value if memory.learned_by == "person" else memory.text


def fact(user: str, versions: Sequence[Memory], metadata: Mapping[str, Any] | None = None) -> Fact:
    first, last = versions[0], versions[-1]
    agent, run = places(last)[0]
    text = text_of(last)
    return {
        "id": named(user, first.id),
        "memory": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(metadata) if metadata else None,
        "created_at": first.valid_from.isoformat(),
        "updated_at": last.valid_from.isoformat(),
        "refs": list(last.refs),
        **{name: value for name, value in (("agent_id", agent), ("run_id", run)) if value},
        **owner(user),
    }


def story(user: str, versions: Sequence[Memory]) -> list[Fact]:
    """Each value an event, the oldest first."""
    first = named(user, versions[0].id)
    return [
        {
            "id": str(memory.id),
            "memory_id": first,
            "old_memory": text_of(earlier) if earlier else None,
            "new_memory": text_of(memory),
            "event": "UPDATE" if earlier else "ADD",
            "created_at": versions[0].valid_from.isoformat(),
            "updated_at": memory.valid_from.isoformat() if earlier else None,
            "is_deleted": False,
        }
        for earlier, memory in zip([None, *versions], versions, strict=False)
    ]
