"""Who calls and who may do what: API keys, credentials, identities and permissions. No I/O.

Servers parse credentials from headers; flows/identify.py finds out whom they belong to. Then they call
`authorize_scope` or `check_permission` before they call the engine, which checks nothing itself: a program that embeds
it is trusted. A user's rights are split in two: `self` for their own data, `user` for what their project shares.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NewType, Protocol, cast, get_args
from uuid import UUID

from recollect.errors import Forbidden, InvalidInput, Unauthorized
from recollect.values.conversation import to_utc
from recollect.values.query import check_choice
from recollect.values.scope import MAX_NAME, Scope
from recollect.values.text import check_optional_text, check_text

KeyId = NewType("KeyId", UUID)
Role = Literal["admin", "data", "service", "user"]
ROLES: tuple[Role, ...] = get_args(Role)
UNBOUND: tuple[Role, ...] = ("admin", "service")  # roles whose keys may be valid for every project

MARK = "rk_"
KEY = re.compile(r"rk_([a-z0-9]{8})_([A-Za-z0-9]{43})", re.ASCII)
LETTERS = string.ascii_letters + string.digits
PREFIX_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a new key permits. Without a project it is valid for every project; without `expires_at` it does not
    expire."""

    role: Role
    name: str
    project: str | None = None
    user: str | None = None
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        check_choice("role", self.role, ROLES)
        check_text("name", self.name, MAX_NAME)
        check_optional_text("project", self.project, MAX_NAME)
        if self.project is None and self.role not in UNBOUND:
            raise InvalidInput("project", f"a key of the role {self.role} belongs to one project; name it")
        check_optional_text("user", self.user, MAX_NAME)
        if (self.role == "user") != (self.user is not None):
            problem = "needs a user" if self.role == "user" else "has no user; only the role user does"
            raise InvalidInput("user", f"a key of the role {self.role} {problem}")
        if self.expires_at is not None:
            object.__setattr__(self, "expires_at", to_utc("expires_at", self.expires_at))


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is stored of a key: everything but the secret."""

    id: KeyId
    prefix: str
    name: str
    role: Role
    project: str | None
    user: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    last_used_at: datetime | None = None

    @property
    def shown(self) -> str:
        """The key as lists and logs show it."""
        return f"{MARK}{self.prefix}"

    def problem(self, now: datetime) -> str | None:
        """Return why the key is no longer valid, or None."""
        if self.revoked_at is not None:
            return f"was revoked at {self.revoked_at:%Y-%m-%d %H:%M} UTC"
        if self.expires_at is not None and self.expires_at <= now:
            return f"expired at {self.expires_at:%Y-%m-%d %H:%M} UTC"
        return None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its secret, which is stored nowhere."""

    key: ApiKey
    secret: str = field(repr=False)  # the whole `rk_...`, as it is sent


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as a caller sent it."""

    prefix: str
    digest: bytes = field(repr=False)


def generate_key(key: KeyId, grant: Grant, by: str, now: datetime) -> NewKey:
    prefix = "".join(secrets.choice(PREFIX_LETTERS) for _ in range(8))
    secret = "".join(secrets.choice(LETTERS) for _ in range(43))
    kept = ApiKey(key, prefix, grant.name, grant.role, grant.project, grant.user, now, by, grant.expires_at)
    return NewKey(kept, f"{MARK}{prefix}_{secret}")


def parse_key(text: str) -> PresentedKey | None:
    """Return the key, or None if the text does not have a key's form; then no query is needed."""
    found = KEY.fullmatch(text)
    return PresentedKey(found[1], hashlib.sha256(found[2].encode()).digest()) if found else None


UserSource = Literal["token", "request", "header"]
Scheme = Literal["bearer", "basic", "key"]
LONGEST = 16_384  # characters of a token; a header longer than that is no credential
ACTS_FOR_OTHERS: tuple[Role, ...] = ("admin", "service")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls. Without a project: any project. `name` is for the audit log and for rate limits, and never a
    secret."""

    role: Role
    project: str | None = None
    user: str | None = None
    name: str = ""
    key: KeyId | None = None


LOCAL = Identity("admin", name="local")  # every caller, while no key exists


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller sent; `user` is the name beside a Basic password."""

    scheme: Scheme
    token: str = field(repr=False)
    user: str | None = None


def parse_credentials(headers: Mapping[str, str]) -> Credentials | None:
    """Return the credentials from `Authorization` (Bearer or Basic) or else `X-API-Key`; None if neither is present."""
    given = {name.lower(): value for name, value in headers.items()}
    if "authorization" in given:
        scheme, _, rest = given["authorization"].strip().partition(" ")
        match scheme.lower():
            case "bearer":
                return Credentials("bearer", _check_token("Authorization", rest.strip()))
            case "basic":
                user, password = _parse_basic(rest.strip())
                return Credentials("basic", password, user)
        raise Unauthorized("Authorization: the scheme must be Bearer or Basic")
    if "x-api-key" in given:
        return Credentials("key", _check_token("X-API-Key", given["x-api-key"].strip()))
    return None


def _parse_basic(encoded: str) -> tuple[str, str]:
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        user = colon = password = ""
    if not colon or not user:
        raise Unauthorized("Authorization: Basic takes `user:password` in base64")
    return user, _check_token("Authorization", password)


def _check_token(header: str, text: str) -> str:
    if not text or len(text) > LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        raise Unauthorized(f"{header}: it holds no usable key or token")
    return text


def read_identity(
    claims: Mapping[str, Any], user_claim: str = "sub", project_claim: str = "", role_claim: str = ""
) -> Identity:
    """Return the identity of a verified token, in which these claims name user, project and role; an empty name: none
    does. A dotted name reaches into objects. An unknown or missing role is that of a user."""
    user = _read_name(claims, user_claim)
    project = _read_name(claims, project_claim) if project_claim else None
    claimed = _find_claim(claims, role_claim) if role_claim else None
    said = claimed if isinstance(claimed, list) else [claimed]
    by_might: tuple[Role, ...] = ("admin", "service", "data", "user")  # the most powerful of several counts
    role: Role = next((role for role in by_might if role in said), "user")
    return Identity(role, project, user if role in ("user", "admin") else None, name=user)


def _read_name(claims: Mapping[str, Any], name: str) -> str:
    try:
        return check_text(name, _find_claim(claims, name), MAX_NAME)
    except InvalidInput:
        raise Unauthorized(f"the token's claim {name!r} is no name of 1 to {MAX_NAME} characters") from None


def _find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim, by its whole name first: names that are URLs contain dots too."""
    if name in claims:
        return claims[name]
    first, _, rest = name.partition(".")
    inner = claims.get(first)
    return _find_claim(inner, rest) if rest and isinstance(inner, Mapping) else None


def choose_user(
    identity: Identity, source: UserSource, *, request: str | None = None, header: str | None = None
) -> str:
    """Return the user a request is for. A user's key or token is for its own user only; another raises Forbidden. An
    application names the user where `source` says: in the request, in the header, or ("token") in either."""
    said = {name for name in (request, header) if name}
    if identity.role not in ACTS_FOR_OTHERS:
        if identity.user is None:
            raise Forbidden(f"the role {identity.role} acts for no user; that takes the role user, service or admin")
        if said - {identity.user}:
            raise Forbidden("this identity acts for its own user only; to name another takes a service or admin key")
        return identity.user
    if len(said) > 1:
        raise InvalidInput("user_id", "the request and X-User-Id name different users; name one")
    chosen = {"token": request or header or identity.user, "request": request, "header": header}[source]
    if not chosen:
        where = {"token": "here or in X-User-Id", "request": "here", "header": "in X-User-Id"}[source]
        raise InvalidInput("user_id", f"this identity acts for many users; name one {where}")
    return chosen


def choose_project(identity: Identity, request: str | None, default: str) -> str:
    """Return the project a request is for: the identity's own, else the one named, else the default."""
    if identity.project is None:
        return request or default
    if request and request != identity.project:
        raise Forbidden(f"this identity belongs to project {identity.project!r} and cannot act in another")
    return identity.project


# With what belongs to a user.
OwnAction = Literal[
    "record", "recall", "context", "history", "explain", "resolve", "resolve_all", "learn", "correct", "memories",
    "close", "episodes", "mark", "forget", "redact", "export", "rejections", "settle", "documents", "add_document",
    "drop_document",
]  # fmt: skip
OwnAdminAction = Literal["audit", "promote", "approve", "reject"]
# With what the project shares, or with the installation: no user has to be named.
SharedAction = Literal["terms", "memories_project", "data_sources", "ask"]
ForwardedAction = Literal["learn_project", "metrics"]  # an application forwards what its users teach the project
CurateAction = Literal[
    "change_project", "import_ontology", "put_term", "drop_term", "report", "put_data_source", "change_documents"
]
AdminAction = Literal["audit_project", "keys", "work"]
ProjectAction = Literal[SharedAction, ForwardedAction, CurateAction, AdminAction]
Action = Literal[OwnAction, OwnAdminAction, ProjectAction]
Who = Literal["self", "user", "service", "data", "admin"]

RULES: tuple[tuple[Any, frozenset[Who]], ...] = (
    (OwnAction, frozenset({"self", "service", "admin"})),
    (OwnAdminAction, frozenset({"admin"})),
    (SharedAction, frozenset({"user", "service", "data", "admin"})),
    (ForwardedAction, frozenset({"service", "data", "admin"})),
    (CurateAction, frozenset({"data", "admin"})),
    (AdminAction, frozenset({"admin"})),
)
ALLOWED: Mapping[Action, frozenset[Who]] = MappingProxyType(
    {action: who for actions, who in RULES for action in get_args(actions)}
)
OF_PROJECT: frozenset[Action] = frozenset(get_args(ProjectAction))
# Counts without names: callers that may see them may see those of all projects.
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
    if action not in OF_NOBODY and identity.project is not None:
        _check_project(identity, action, scope)
    if identity.role == "user" and "self" in allowed and (scope is None or scope.user != identity.user):
        raise Forbidden(f"{action} for another user takes {_format_roles(allowed - {'self'})}")


def _check_project(identity: Identity, action: Action, scope: Scope | None) -> None:
    if scope is None:
        some = _format_roles(ALLOWED[action] - {"self", "user"})
        raise Forbidden(f"{action} for all projects takes {some} of all projects")
    if scope.project != identity.project:
        raise Forbidden(f"{action} in project {scope.project!r} takes an identity of that project")


def _format_roles(allowed: frozenset[Who]) -> str:
    order: tuple[Who, ...] = ("self", "user", "service", "data", "admin")
    named = ["user" if who == "self" else who for who in order if who in allowed]
    return f"the role {' or '.join([', '.join(named[:-1]), named[-1]] if len(named) > 1 else named)}"
