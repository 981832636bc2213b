"""Recollect: memory for applications that talk.

    async with recollect.connect() as memory:
        alex = Scope(user="alex", session="monday")
        await memory.record(alex, [("user", "Call our customers clients, please.")])
        print((await memory.context(alex, "how many clients signed up?")).text)

This is the whole face: `connect` and `connect_sync`, the engines they give, the values that go in and out, and the
errors. Everything heavy is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.engine import Engine as Engine
    from recollect.errors import Conflict as Conflict
    from recollect.errors import EmbeddedServerFailed as EmbeddedServerFailed
    from recollect.errors import EmbedderFailed as EmbedderFailed
    from recollect.errors import Forbidden as Forbidden
    from recollect.errors import InvalidInput as InvalidInput
    from recollect.errors import InvalidSetting as InvalidSetting
    from recollect.errors import NotFound as NotFound
    from recollect.errors import Outdated as Outdated
    from recollect.errors import QueryFailed as QueryFailed
    from recollect.errors import RateLimited as RateLimited
    from recollect.errors import ReasonerConfused as ReasonerConfused
    from recollect.errors import ReasonerFailed as ReasonerFailed
    from recollect.errors import RecollectError as RecollectError
    from recollect.errors import SchemaMismatch as SchemaMismatch
    from recollect.errors import SourceUnavailable as SourceUnavailable
    from recollect.errors import StatementDenied as StatementDenied
    from recollect.errors import StoreUnavailable as StoreUnavailable
    from recollect.errors import TooLarge as TooLarge
    from recollect.errors import Unauthorized as Unauthorized
    from recollect.errors import UnsupportedFile as UnsupportedFile
    from recollect.model.api_key import ApiKey as ApiKey
    from recollect.model.api_key import Grant as Grant
    from recollect.model.api_key import NewKey as NewKey
    from recollect.model.audit import Audit as Audit
    from recollect.model.conversation import Conversation as Conversation
    from recollect.model.conversation import Recorded as Recorded
    from recollect.model.conversation import Turn as Turn
    from recollect.model.data_source import DataSource as DataSource
    from recollect.model.document_search import ChunkHit as ChunkHit
    from recollect.model.document_search import DocumentQuery as DocumentQuery
    from recollect.model.episode import Episode as Episode
    from recollect.model.explanation import Explanation as Explanation
    from recollect.model.health import Health as Health
    from recollect.model.identity import Credentials as Credentials
    from recollect.model.identity import Identity as Identity
    from recollect.model.known import EpisodeHit as EpisodeHit
    from recollect.model.known import MemoryHit as MemoryHit
    from recollect.model.lesson import Lesson as Lesson
    from recollect.model.library import Document as Document
    from recollect.model.library import Passage as Passage
    from recollect.model.library import Upload as Upload
    from recollect.model.memory import Memory as Memory
    from recollect.model.ontology import ImportReport as ImportReport
    from recollect.model.ontology import Term as Term
    from recollect.model.receipt import Receipt as Receipt
    from recollect.model.report import Report as Report
    from recollect.model.resolution import Meaning as Meaning
    from recollect.model.resolution import Resolution as Resolution
    from recollect.model.scope import Scope as Scope
    from recollect.model.search import Context as Context
    from recollect.model.search import Hit as Hit
    from recollect.model.search import Query as Query
    from recollect.model.search import Recall as Recall
    from recollect.settings import Settings as Settings
    from recollect.sync import SyncEngine as SyncEngine
    from recollect.wire import connect as connect
    from recollect.wire import connect_sync as connect_sync

_ROOMS = {
    "engine": ("Engine",),
    "errors": (
        *("RecollectError", "InvalidInput", "InvalidSetting", "NotFound", "Conflict", "StoreUnavailable"),
        *("EmbeddedServerFailed", "SchemaMismatch", "EmbedderFailed", "Outdated", "RateLimited"),
        *("Unauthorized", "Forbidden", "ReasonerFailed", "ReasonerConfused", "TooLarge", "UnsupportedFile"),
        *("StatementDenied", "SourceUnavailable", "QueryFailed"),
    ),
    "model.api_key": ("ApiKey", "Grant", "NewKey"),
    "model.audit": ("Audit",),
    "model.conversation": ("Conversation", "Recorded", "Turn"),
    "model.data_source": ("DataSource",),
    "model.document_search": ("ChunkHit", "DocumentQuery"),
    "model.episode": ("Episode",),
    "model.explanation": ("Explanation",),
    "model.health": ("Health",),
    "model.identity": ("Credentials", "Identity"),
    "model.known": ("EpisodeHit", "MemoryHit"),
    "model.lesson": ("Lesson",),
    "model.library": ("Document", "Passage", "Upload"),
    "model.memory": ("Memory",),
    "model.ontology": ("ImportReport", "Term"),
    "model.receipt": ("Receipt",),
    "model.report": ("Report",),
    "model.resolution": ("Meaning", "Resolution"),
    "model.scope": ("Scope",),
    "model.search": ("Context", "Hit", "Query", "Recall"),
    "settings": ("Settings",),
    "sync": ("SyncEngine",),
    "wire": ("connect", "connect_sync"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(f"recollect.{_HOME[name]}"), name)
    globals()[name] = value
    return value
