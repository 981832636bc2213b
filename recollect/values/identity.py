"""Identity: who calls, and for which user and project. Servers parse credentials from headers; flows/identify.py finds
out whom they belong to. No I/O."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recollect.errors import Forbidden, InvalidInput, Unauthorized
from recollect.values.api_key import KeyId, Role
from recollect.values.scope import MAX_NAME
from recollect.values.text import check_text

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
        return _parse_authorization(scheme.lower(), rest.strip())
    if "x-api-key" in given:
        return Credentials("key", _check_token("X-API-Key", given["x-api-key"].strip()))
    return None


def _parse_authorization(scheme: str, rest: str) -> Credentials:
    match scheme:
        case "bearer":
            return Credentials("bearer", _check_token("Authorization", rest))
        case "basic":
            user, password = _parse_basic(rest)
            return Credentials("basic", password, user)
        case _:
            raise Unauthorized("Authorization: the scheme must be Bearer or Basic")


def _parse_basic(encoded: str) -> tuple[str, str]:
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise Unauthorized("Authorization: Basic takes `user:password` in base64") from None
    if not colon or not user:
        raise Unauthorized("Authorization: Basic takes `user:password` in base64")
    return user, _check_token("Authorization", password)


def _check_token(header: str, text: str) -> str:
    if not text or len(text) > LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        raise Unauthorized(f"{header}: it holds no usable key or token")
    return text


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claims of a token name user, project and role; an empty name: none does. A dotted name reaches into
    objects."""

    user: str = "sub"
    project: str = ""
    role: str = ""


def read_identity(claims: Mapping[str, Any], names: ClaimNames) -> Identity:
    """Return the identity of a verified token. An unknown or missing role is that of a user."""
    user = _read_name(claims, names.user)
    project = _read_name(claims, names.project) if names.project else None
    role = _choose_role(_find_claim(claims, names.role)) if names.role else "user"
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


def _choose_role(claimed: object) -> Role:
    """Return the most powerful of several roles."""
    said = claimed if isinstance(claimed, list) else [claimed]
    by_might: tuple[Role, ...] = ("admin", "service", "data", "user")
    return next((role for role in by_might if role in said), "user")


def choose_user(
    identity: Identity, source: UserSource, *, request: str | None = None, header: str | None = None
) -> str:
    """Return the user a request is for. A user's key or token is for its own user only; another raises Forbidden. An
    application names the user where `source` says: in the request, in the header, or ("token") in either."""
    said = {name for name in (request, header) if name}
    if identity.role not in ACTS_FOR_OTHERS:
        return _require_own_user(identity, said)
    if len(said) > 1:
        raise InvalidInput("user_id", "the request and X-User-Id name different users; name one")
    chosen = {"token": request or header or identity.user, "request": request, "header": header}[source]
    if not chosen:
        where = {"token": "user_id or X-User-Id", "request": "user_id", "header": "X-User-Id"}[source]
        raise InvalidInput("user_id", f"this identity acts for many users; say for whom in {where}")
    return chosen


def _require_own_user(identity: Identity, said: set[str]) -> str:
    if identity.user is None:
        raise Forbidden(f"the role {identity.role} acts for no user; that takes the role user, service or admin")
    if said - {identity.user}:
        raise Forbidden("this identity acts for its own user only; to name another takes a service or admin key")
    return identity.user


def choose_project(identity: Identity, request: str | None, default: str) -> str:
    """Return the project a request is for: the identity's own, else the one named, else the default."""
    if identity.project is None:
        return request or default
    if request and request != identity.project:
        raise Forbidden(f"this identity belongs to project {identity.project!r} and cannot act in another")
    return identity.project
