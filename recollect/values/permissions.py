"""Permissions: who may do what, in one table. Servers call `authorize_scope` or `check_permission` before they call the
engine; the engine itself checks nothing, because a program that embeds it is trusted.

A user's rights are split in two: `self` for their own data, `user` for what their project shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, Protocol, cast

from recollect.errors import Forbidden
from recollect.values.identity import Identity, UserSource, choose_project, choose_user
from recollect.values.scope import Scope

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
TAUGHT: frozenset[Who] = frozenset(
    {"service", "data", "admin"}
)  # an application forwards what its users teach the project
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
# Counts without names: whoever may see them may see those of all projects.
OF_NOBODY: frozenset[Action] = frozenset({"metrics"})


class Defaults(Protocol):
    """What the settings say if a request does not."""

    @property
    def project(self) -> str: ...

    @property
    def user_source(self) -> str: ...


def authorize_scope(
    identity: Identity,
    action: Action,
    defaults: Defaults,
    headers: Mapping[str, str],
    user: str | None = None,
    session: str | None = None,
    project: str | None = None,
) -> Scope:
    """Return the scope a request is for, if this identity may act on it. For what the project shares, the user is the
    author; a key without a user is its own author."""
    source = cast("UserSource", defaults.user_source)
    header = next((value for name, value in headers.items() if name.lower() == "x-user-id"), None)
    if action in OF_PROJECT and identity.role != "user":
        named = user or header or identity.user or identity.name
    else:
        named = choose_user(identity, source, request=user, header=header)
    scope = Scope(named, session, choose_project(identity, project, defaults.project))
    check_permission(identity, action, scope)
    return scope


def check_permission(identity: Identity, action: Action, scope: Scope | None) -> None:
    """Raise Forbidden, naming the required role. Without a scope the action concerns every project."""
    allowed = ALLOWED[action]
    if identity.role not in allowed and not (identity.role == "user" and "self" in allowed):
        raise Forbidden(f"{action} takes {_format_roles(allowed)}; this identity has the role {identity.role}")
    if action not in OF_NOBODY:
        _check_project(identity, action, scope)
    if identity.role == "user" and "self" in allowed and (scope is None or scope.user != identity.user):
        raise Forbidden(f"{action} for another user takes {_format_roles(allowed - {'self'})}")


def _check_project(identity: Identity, action: Action, scope: Scope | None) -> None:
    if identity.project is None:
        return
    if scope is None:
        raise Forbidden(
            f"{action} for all projects takes {_format_roles(ALLOWED[action] - {'self', 'user'})} of all projects"
        )
    if scope.project != identity.project:
        raise Forbidden(f"{action} in project {scope.project!r} takes an identity of that project")


def _format_roles(allowed: frozenset[Who]) -> str:
    order: tuple[Who, ...] = ("self", "user", "service", "data", "admin")
    named = ["user" if who == "self" else who for who in order if who in allowed]
    return f"the role {' or '.join([', '.join(named[:-1]), named[-1]] if len(named) > 1 else named)}"
