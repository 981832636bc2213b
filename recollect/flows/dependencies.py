"""Dependencies: what every flow works with, built once in bootstrap.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.deadline import Breaker
from recollect.flows.background_tasks import BackgroundTasks, WakeUps
from recollect.flows.embed import Embedding, Outages
from recollect.flows.quota import Quota
from recollect.flows.request_log import RequestLog, UsageCounter
from recollect.ports import Clock, FileReader, Reasoner
from recollect.providers.jwt import TokenReader
from recollect.settings import Settings
from recollect.store.store import Store
from recollect.values.scope import ScopeId

if TYPE_CHECKING:
    from recollect.flows.cache import TurnCache


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The settings, the store and the services of one engine."""

    settings: Settings
    store: Store
    embedding: Embedding
    reasoner: Reasoner | None
    summariser: Reasoner | None  # the same, or a cheaper one
    request_log: RequestLog
    usage: UsageCounter
    background_tasks: BackgroundTasks
    clock: Clock
    files: FileReader
    quota: Quota
    tokens: TokenReader | None = None  # none: no JSON Web Tokens are accepted
    wake_ups: WakeUps = field(default_factory=WakeUps)
    outages: Outages = field(default_factory=Outages)
    breaker: Breaker = field(default_factory=Breaker)
    cache: TurnCache | None = None  # None: Redis is not used
    large_scopes: set[ScopeId] = field(default_factory=set)  # scopes that are too large to read completely
