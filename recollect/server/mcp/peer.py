"""The peer: who is at the other end of a connection, and whose memory tools use. Tools get their scope from it, and it
gets it from the same `Caller` as HTTP routes, so permissions are decided in one place for every transport."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.engine import Engine
from recollect.server.access.caller import Caller
from recollect.server.access.metrics import Metrics
from recollect.settings import Settings
from recollect.values.identity import Identity
from recollect.values.permissions import Action
from recollect.values.scope import Scope

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst
    from recollect.apps.documents.librarian import Librarian


@dataclass(frozen=True, slots=True)
class Peer:
    """`session` and `project` come from the connection; a tool may name another session, but no other project."""

    caller: Caller
    analyst: Analyst
    librarian: Librarian
    session: str | None = None
    project: str | None = None

    @property
    def engine(self) -> Engine:
        return self.caller.engine

    def scope(self, action: Action) -> Scope:
        """Return the caller's scope without a session, if they are allowed the action."""
        return self.caller.authorize(action, None, None, self.project)

    def session_scope(self, action: Action, session: str | None) -> Scope:
        """Return the caller's scope in the given session, or else in the connection's session."""
        return self.caller.authorize(action, None, session or self.session, self.project)

    @property
    def has_user(self) -> bool:
        """Whether the caller acts for a user. A key without a user may still ask a database."""
        return self.caller.identity.user is not None or "x-user-id" in self.caller.headers


def make_local_peer(engine: Engine, analyst: Analyst, librarian: Librarian, settings: Settings, scope: Scope) -> Peer:
    """Return the peer of a local process: an admin acting as the given user. Whoever starts the process can read the
    database anyway."""
    identity = Identity("admin", scope.project, scope.user, name="local")
    # There is no request whose headers could name the user.
    caller = Caller(engine, replace(settings, user_source="token"), identity, {}, Metrics(), {})
    return Peer(caller, analyst, librarian, scope.session)
