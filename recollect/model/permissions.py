"""Permissions: who may do what, in one table. Doors ask `scope_for` or `check` before they call the engine; the engine
itself does as it is told, because a program that embeds it is its own master.

What a user may do is split in two: as `self` he does it with what is his own; as `user` with what his project shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, Protocol, cast

from recollect.errors import Forbidden
from recollect.model.identity import Identity, UserSource, project_for, user_for
from recollect.model.scope import Scope

Action = Literal[
    # with what belongs to a user
    "record", "recall", "context", "history", "explain", "resolve", "resolve_all", "learn", "correct", "memories",
    "close", "episodes", "mark", "forget", "redact", "export", "rejections", "settle", "audit", "promote", "approve",
    "reject", "documents", "add_document", "drop_document",
    # with what belongs to the project
    "terms", "memories_project", "learn_project", "change_project", "audit_project", "import_ontology", "put_term",
    "drop_term", "report", "data_sources", "put_data_source", "ask", "change_documents",
    # with the installation
    "keys", "metrics", "work",
]  # fmt: skip
Who = Literal["self", "user", "service", "data", "admin"]

PERSONAL: frozenset[Who] = frozenset({"self", "service", "admin"})
SHARED: frozenset[Who] = frozenset({"user", "service", "data", "admin"})
TAUGHT: frozenset[Who] = frozenset({"service", "data", "admin"})  # a host passes on what its users teach the project
KEPT: frozenset[Who] = frozenset({"data", "admin"})
ADMIN: frozenset[Who] = frozenset({"admin"})

ALLOWED: Mapping[Action, frozenset[Who]] = MappingProxyType(
    {
        "record": PERSONAL,
        "recall": PERSONAL,
        "context": PERSONAL,
        "history": PERSONAL,
        "explain": PERSONAL,
        "resolve": PERSONAL,
        "resolve_all": PERSONAL,
        "learn": PERSONAL,
        "correct": PERSONAL,
        "memories": PERSONAL,
        "close": PERSONAL,
        "episodes": PERSONAL,
        "mark": PERSONAL,
        "forget": PERSONAL,
        "redact": PERSONAL,
        "export": PERSONAL,
        "rejections": PERSONAL,
        "settle": PERSONAL,
        "documents": PERSONAL,
        "add_document": PERSONAL,
        "drop_document": PERSONAL,
        "audit": ADMIN,
        "promote": ADMIN,
        "approve": ADMIN,
        "reject": ADMIN,
        "terms": SHARED,
        "memories_project": SHARED,
        "learn_project": TAUGHT,
        "change_project": KEPT,
        "audit_project": ADMIN,
        "import_ontology": KEPT,
        "put_term": KEPT,
        "drop_term": KEPT,
        "report": KEPT,
        "data_sources": SHARED,
        "put_data_source": KEPT,
        "ask": SHARED,
        "change_documents": KEPT,
        "keys": ADMIN,
        "metrics": frozenset({"service", "data", "admin"}),
        "work": ADMIN,
    }
)
# About what the project shares, or about the installation: no user has to be named.
OF_PROJECT: frozenset[Action] = frozenset(
    (
        *("terms", "memories_project", "learn_project", "change_project", "audit_project", "import_ontology"),
        *("put_term", "drop_term", "report", "data_sources", "put_data_source", "ask", "change_documents"),
        *("keys", "metrics", "work"),
    )
)
# Counts of nobody in particular: whoever may see them, may see them of all projects.
OF_NOBODY: frozenset[Action] = frozenset({"metrics"})


class Defaults(Protocol):
    """What the settings say where a request does not."""

    @property
    def project(self) -> str: ...

    @property
    def user_source(self) -> str: ...


def scope_for(
    identity: Identity,
    action: Action,
    defaults: Defaults,
    headers: Mapping[str, str],
    user: str | None = None,
    session: str | None = None,
    project: str | None = None,
) -> Scope:
    """Whose memory a request means, if this identity may do that with it. In what the project shares, the user is the
    author; a key that names none is its own."""
    source = cast("UserSource", defaults.user_source)
    header = next((value for name, value in headers.items() if name.lower() == "x-user-id"), None)
    if action in OF_PROJECT and identity.role != "user":
        named = user or header or identity.user or identity.name
    else:
        named = user_for(identity, source, request=user, header=header)
    scope = Scope(named, session, project_for(identity, project, defaults.project))
    check(identity, action, scope)
    return scope


def check(identity: Identity, action: Action, scope: Scope | None) -> None:
    """Raises Forbidden, saying what it takes. Without a scope the action is about every project."""
    allowed = ALLOWED[action]
    if identity.role not in allowed and not (identity.role == "user" and "self" in allowed):
        raise Forbidden(f"{action} takes {_roles(allowed)}; this identity has the role {identity.role}")
    if action not in OF_NOBODY:
        _check_project(identity, action, scope)
    if identity.role == "user" and "self" in allowed and (scope is None or scope.user != identity.user):
        raise Forbidden(f"{action} for another user takes {_roles(allowed - {'self'})}")


def _check_project(identity: Identity, action: Action, scope: Scope | None) -> None:
    if identity.project is None:
        return
    if scope is None:
        raise Forbidden(f"{action} for all projects takes {_roles(ALLOWED[action] - {'self', 'user'})} of all projects")
    if scope.project != identity.project:
        raise Forbidden(f"{action} in project {scope.project!r} takes an identity of that project")


def _roles(allowed: frozenset[Who]) -> str:
    order: tuple[Who, ...] = ("self", "user", "service", "data", "admin")
    named = ["user" if who == "self" else who for who in order if who in allowed]
    return f"the role {' or '.join([', '.join(named[:-1]), named[-1]] if len(named) > 1 else named)}"
