"""Scope: whose memory this is. Nothing is read or written without one."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.model.ids import ScopeId, project_scope_id, user_scope_id
from recollect.model.text import checked_text

MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """A user of a project and, where one is going on, the session."""

    user: str
    session: str | None = None
    project: str = "default"

    def __post_init__(self) -> None:
        checked_text("user", self.user, MAX_NAME)
        checked_text("project", self.project, MAX_NAME)
        if self.session is not None:
            checked_text("session", self.session, MAX_NAME)

    @property
    def id(self) -> ScopeId:
        return user_scope_id(self.project, self.user)

    @property
    def project_id(self) -> ScopeId:
        """Where what the whole project knows is kept."""
        return project_scope_id(self.project)
