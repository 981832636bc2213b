"""Quotas: how many messages and bytes of documents a user and a project may store.

A user's usage is read before each write. A project's usage is a sum over its users, so it is read at most once per
minute and may be exceeded by what is written meanwhile. Without a limit nothing is read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from recollect.errors import QuotaExceeded
from recollect.settings import Settings
from recollect.store.upkeep import ReportStore, Usage
from recollect.values.scope import Scope

FRESH_SECONDS = 60.0
MOST_PROJECTS = 1_000  # whose usage is remembered


@dataclass(slots=True)
class Quota:
    """The limits of one engine, and the usage of projects as read last."""

    settings: Settings
    store: ReportStore
    _projects: dict[str, tuple[float, Usage]] = field(default_factory=dict)

    async def check(self, scope: Scope, new: Usage, *, is_shared: bool = False) -> None:
        """Raise QuotaExceeded if storing `new` goes beyond a limit. Shared documents count for the project only."""
        limits = self.settings
        if not is_shared and (limits.user_turns or limits.user_document_bytes):
            stored = await self.store.read_usage(scope.id)
            refuse_more(f"user {scope.user!r}", "USER", stored + new, limits.user_turns, limits.user_document_bytes)
        if limits.project_turns or limits.project_document_bytes:
            stored = await self._read_project(scope.project)
            most = limits.project_turns, limits.project_document_bytes
            refuse_more(f"project {scope.project!r}", "PROJECT", stored + new, *most)

    async def _read_project(self, project: str) -> Usage:
        at, usage = self._projects.get(project, (-FRESH_SECONDS, Usage()))
        if time.monotonic() - at >= FRESH_SECONDS:
            usage = await self.store.read_project_usage(project)
            if len(self._projects) >= MOST_PROJECTS:
                self._projects.clear()
            self._projects[project] = (time.monotonic(), usage)
        return usage


def refuse_more(who: str, setting: str, wanted: Usage, most_turns: int, most_bytes: int) -> None:
    if most_turns and wanted.turns > most_turns:
        raise QuotaExceeded(
            f"{who} may store {most_turns:,} messages (RECOLLECT_{setting}_TURNS); forget sessions, or raise the limit"
        )
    if most_bytes and wanted.document_bytes > most_bytes:
        raise QuotaExceeded(
            f"{who} may store {most_bytes:,} bytes of documents (RECOLLECT_{setting}_DOCUMENT_BYTES);"
            " delete documents, or raise the limit"
        )
