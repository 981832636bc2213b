"""The peer: who is at the other end of a connection, and whose memory that means. Tools ask it for a scope before they
call the engine, and it asks the HTTP door's `Caller`: who may do what is decided in one place for every transport.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.doors.http.caller import Caller
from recollect.doors.http.meters import Meters
from recollect.engine import Engine
from recollect.model.identity import Identity
from recollect.model.permissions import Action
from recollect.model.scope import Scope
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.hosts.documents.librarian import Librarian
    from recollect.hosts.sql.analyst import Analyst


@dataclass(frozen=True, slots=True)
class Hosts:
    """Who answers what is asked of databases, and of documents."""

    analyst: Analyst
    librarian: Librarian


@dataclass(frozen=True, slots=True)
class Peer:
    """`session` and `project` are what the connection says; a tool may name another session, and nothing else."""

    called: Caller
    hosts: Hosts
    session: str | None = None
    project: str | None = None

    @property
    def engine(self) -> Engine:
        return self.called.engine

    def scope(self, action: Action) -> Scope:
        """Whose memory is meant, in no session in particular."""
        return self.called.scope(action, None, None, self.project)

    def talk(self, action: Action, session: str | None) -> Scope:
        """The same, in a session: the one that is named, or the connection's."""
        return self.called.scope(action, None, session or self.session, self.project)

    @property
    def is_somebody(self) -> bool:
        """Whether there is a user whose memory takes part; a key that names nobody may still ask a database."""
        return self.called.identity.user is not None or "x-user-id" in self.called.headers


def local_peer(engine: Engine, hosts: Hosts, settings: Settings, scope: Scope) -> Peer:
    """Whoever starts a process here has the database anyway: the local admin, as the user he names."""
    identity = Identity("admin", scope.project, scope.user, name="local")
    # Where users are named is a matter of requests; here is none.
    called = Caller(engine, replace(settings, user_source="token"), identity, {}, Meters(), {})
    return Peer(called, hosts, scope.session)
