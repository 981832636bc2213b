"""Parts: what every flow works with, put together once in wire.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.flows.chores import Chores
from recollect.flows.diary import Diary
from recollect.flows.embed import Embedding
from recollect.model.ids import ScopeId
from recollect.ports import Clock
from recollect.settings import Settings
from recollect.store.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    store: Store
    embedding: Embedding
    diary: Diary
    chores: Chores
    clock: Clock
    giants: set[ScopeId] = field(default_factory=set)  # scopes known to be too large to read whole
