"""Parts: what every flow works with, put together once in wire.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.flows.chores import Chores
from recollect.flows.diary import Diary
from recollect.flows.embed import Embedding
from recollect.flows.hints import Hints
from recollect.flows.outages import Outages
from recollect.flows.usage import Usage
from recollect.model.ids import ScopeId
from recollect.ports import Clock, FileReader, Reasoner
from recollect.providers.jwt import TokenReader
from recollect.settings import Settings
from recollect.store.store import Store

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    store: Store
    embedding: Embedding
    reasoner: Reasoner | None
    summariser: Reasoner | None  # the same, or a cheaper one
    diary: Diary
    usage: Usage
    chores: Chores
    clock: Clock
    files: FileReader
    tokens: TokenReader | None = None  # none: no JSON Web Tokens are accepted
    hints: Hints = field(default_factory=Hints)
    outages: Outages = field(default_factory=Outages)
    cache: TurnCache | None = None  # none: Redis is not asked
    giants: set[ScopeId] = field(default_factory=set)  # scopes known to be too large to read whole
