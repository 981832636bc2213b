"""A briefing: what a host knows before it goes about a question, read at once. The SQL host asks for one with each
question; `flows/brief.py` reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.model.conversation import Turn
from recollect.model.memory import Memory, MemoryKind, Status
from recollect.model.resolution import Resolution


@dataclass(frozen=True, slots=True)
class Brief:
    """What to read: `recent` turns of the session; the user's memories of some `kinds` and `status`; his `habits` and
    the project's, which are preferences by the first part of their key; at most `limit` of each. And what the `terms`
    of the question mean; `definitions` are the session's own, and win."""

    question: str
    terms: Sequence[str] = ()
    definitions: Mapping[str, str] = field(default_factory=dict)
    recent: int = 20
    kinds: Sequence[MemoryKind] = ()
    status: Sequence[Status] = ("active",)
    habits: Sequence[str] = ()
    limit: int = 200


@dataclass(frozen=True, slots=True)
class Briefing:
    """`own` and `shared` are what the user and the project hold. `standalone` is the question as it is understood
    alone. If that is another, the terms asked about are not its own, and `resolved` is None."""

    standalone: str
    turns: Sequence[Turn] = ()
    own: Sequence[Memory] = ()
    shared: Sequence[Memory] = ()
    resolved: Sequence[Resolution] | None = None
    is_summarized: bool = False
