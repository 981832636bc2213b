"""Recollect: long-term memory for chat and agent applications.

    async with recollect.connect() as memory:
        alex = Scope(user="alex", session="monday")
        await memory.record(alex, [("user", "Call our customers clients, please.")])
        print((await memory.context(alex, "how many clients signed up?")).text)

The public names: `connect` and `connect_sync`, the engines they return, the values that go in and out, and the
errors. Modules are imported when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.bootstrap import connect as connect
    from recollect.bootstrap import connect_sync as connect_sync
    from recollect.engine import Engine as Engine
    from recollect.errors import Conflict as Conflict
    from recollect.errors import EmbeddedServerFailed as EmbeddedServerFailed
    from recollect.errors import EmbedderFailed as EmbedderFailed
    from recollect.errors import Forbidden as Forbidden
    from recollect.errors import InvalidInput as InvalidInput
    from recollect.errors import InvalidSetting as InvalidSetting
    from recollect.errors import MissingExtra as MissingExtra
    from recollect.errors import NotFound as NotFound
    from recollect.errors import Outdated as Outdated
    from recollect.errors import PromptTooLong as PromptTooLong
    from recollect.errors import QueryFailed as QueryFailed
    from recollect.errors import QuotaExceeded as QuotaExceeded
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
    from recollect.settings import Settings as Settings
    from recollect.sync import SyncEngine as SyncEngine
    from recollect.values.audit import Audit as Audit
    from recollect.values.audit import Explanation as Explanation
    from recollect.values.audit import Receipt as Receipt
    from recollect.values.conversation import Conversation as Conversation
    from recollect.values.conversation import Episode as Episode
    from recollect.values.conversation import Recorded as Recorded
    from recollect.values.conversation import Turn as Turn
    from recollect.values.data_source import DataSource as DataSource
    from recollect.values.document import ChunkHit as ChunkHit
    from recollect.values.document import Document as Document
    from recollect.values.document import DocumentQuery as DocumentQuery
    from recollect.values.document import Passage as Passage
    from recollect.values.document import Upload as Upload
    from recollect.values.identity import ApiKey as ApiKey
    from recollect.values.identity import Credentials as Credentials
    from recollect.values.identity import Grant as Grant
    from recollect.values.identity import Identity as Identity
    from recollect.values.identity import NewKey as NewKey
    from recollect.values.lesson import Lesson as Lesson
    from recollect.values.memory import Memory as Memory
    from recollect.values.query import Context as Context
    from recollect.values.query import EpisodeHit as EpisodeHit
    from recollect.values.query import Hit as Hit
    from recollect.values.query import MemoryHit as MemoryHit
    from recollect.values.query import Query as Query
    from recollect.values.query import Recall as Recall
    from recollect.values.report import Report as Report
    from recollect.values.resolution import Meaning as Meaning
    from recollect.values.resolution import Resolution as Resolution
    from recollect.values.scope import Scope as Scope
    from recollect.values.term import ImportReport as ImportReport
    from recollect.values.term import Term as Term
    from recollect.values.work import Health as Health

_MODULES = {
    "engine": ("Engine",),
    "errors": (
        *("RecollectError", "InvalidInput", "InvalidSetting", "NotFound", "Conflict", "StoreUnavailable"),
        *("EmbeddedServerFailed", "SchemaMismatch", "EmbedderFailed", "Outdated", "RateLimited"),
        *("Unauthorized", "Forbidden", "ReasonerFailed", "ReasonerConfused", "TooLarge", "UnsupportedFile"),
        *("StatementDenied", "SourceUnavailable", "QueryFailed", "QuotaExceeded", "MissingExtra", "PromptTooLong"),
    ),
    "values.audit": ("Audit", "Explanation", "Receipt"),
    "values.conversation": ("Conversation", "Episode", "Recorded", "Turn"),
    "values.data_source": ("DataSource",),
    "values.identity": ("ApiKey", "Credentials", "Grant", "Identity", "NewKey"),
    "values.lesson": ("Lesson",),
    "values.document": ("ChunkHit", "Document", "DocumentQuery", "Passage", "Upload"),
    "values.memory": ("Memory",),
    "values.term": ("ImportReport", "Term"),
    "values.report": ("Report",),
    "values.resolution": ("Meaning", "Resolution"),
    "values.scope": ("Scope",),
    "values.work": ("Health",),
    "values.query": ("Context", "EpisodeHit", "Hit", "MemoryHit", "Query", "Recall"),
    "settings": ("Settings",),
    "sync": ("SyncEngine",),
    "bootstrap": ("connect", "connect_sync"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(f"recollect.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
