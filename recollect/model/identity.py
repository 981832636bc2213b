"""Identity: who calls, and for whom. Doors read credentials from headers and say which user and project a request is
for; flows/identify.py finds out whom the credentials belong to. Everything here is decided without I/O.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recollect.errors import Forbidden, InvalidInput, Unauthorized
from recollect.model.api_key import KeyId, Role
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

UserSource = Literal["token", "request", "header"]
Scheme = Literal["bearer", "basic", "key"]
LONGEST = 16_384  # characters of a token; a header longer than that is no credential
ACTS_FOR_OTHERS: tuple[Role, ...] = ("admin", "service")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls. Without a project: any project. `name` is for the audit and for rate limits, and never a secret."""

    role: Role
    project: str | None = None
    user: str | None = None
    name: str = ""
    key: KeyId | None = None


LOCAL = Identity("admin", name="local")  # everybody, while nobody has made a key


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller showed us; `user` is the name beside a Basic password."""

    scheme: Scheme
    token: str = field(repr=False)
    user: str | None = None


def credentials_in(headers: Mapping[str, str]) -> Credentials | None:
    """From `Authorization` (Bearer or Basic) or, without that, `X-API-Key`; None if there is neither."""
    given = {name.lower(): value for name, value in headers.items()}
    if "authorization" in given:
        scheme, _, rest = given["authorization"].strip().partition(" ")
        return _authorization(scheme.lower(), rest.strip())
    if "x-api-key" in given:
        return Credentials("key", _token("X-API-Key", given["x-api-key"].strip()))
    return None


def _authorization(scheme: str, rest: str) -> Credentials:
    match scheme:
        case "bearer":
            return Credentials("bearer", _token("Authorization", rest))
        case "basic":
            user, password = _basic(rest)
            return Credentials("basic", password, user)
        case _:
            raise Unauthorized("Authorization: the scheme must be Bearer or Basic")


def _basic(encoded: str) -> tuple[str, str]:
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise Unauthorized("Authorization: Basic takes `user:password` in base64") from None
    if not colon or not user:
        raise Unauthorized("Authorization: Basic takes `user:password` in base64")
    return user, _token("Authorization", password)


def _token(header: str, text: str) -> str:
    if not text or len(text) > LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        raise Unauthorized(f"{header}: it holds no usable key or token")
    return text


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claims of a token say who it is for; an empty name: none does. A dotted name reaches into objects."""

    user: str = "sub"
    project: str = ""
    role: str = ""


def identity_in(claims: Mapping[str, Any], names: ClaimNames) -> Identity:
    """Whom a verified token speaks of. A role that we do not know, or none, is that of a user."""
    user = _named(claims, names.user)
    project = _named(claims, names.project) if names.project else None
    role = _role(_claim(claims, names.role)) if names.role else "user"
    return Identity(role, project, user if role in ("user", "admin") else None, name=user)


def _named(claims: Mapping[str, Any], name: str) -> str:
    try:
        return checked_text(name, _claim(claims, name), MAX_NAME)
    except InvalidInput:
        raise Unauthorized(f"the token's claim {name!r} is no name of 1 to {MAX_NAME} characters") from None


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """By its whole name first: names that are addresses have dots too."""
    if name in claims:
        return claims[name]
    first, _, rest = name.partition(".")
    inner = claims.get(first)
    return _claim(inner, rest) if rest and isinstance(inner, Mapping) else None


def _role(claimed: object) -> Role:
    """Of several the one that may most."""
    said = claimed if isinstance(claimed, list) else [claimed]
    by_might: tuple[Role, ...] = ("admin", "service", "data", "user")
    return next((role for role in by_might if role in said), "user")


def user_for(identity: Identity, source: UserSource, *, request: str | None = None, header: str | None = None) -> str:
    """The user a request is for: of a user's key or token its own, whatever the request says, or Forbidden. A host
    application names him where `source` says: in the request, in the header, or ("token") in either."""
    said = {name for name in (request, header) if name}
    if identity.role not in ACTS_FOR_OTHERS:
        return _own_user(identity, said)
    if len(said) > 1:
        raise InvalidInput("user_id", "the request and X-User-Id name different users; name one")
    chosen = {"token": request or header or identity.user, "request": request, "header": header}[source]
    if not chosen:
        where = {"token": "user_id or X-User-Id", "request": "user_id", "header": "X-User-Id"}[source]
        raise InvalidInput("user_id", f"this identity acts for many users; say for whom in {where}")
    return chosen


def _own_user(identity: Identity, said: set[str]) -> str:
    if identity.user is None:
        raise Forbidden(f"the role {identity.role} acts for no user; that takes the role user, service or admin")
    if said - {identity.user}:
        raise Forbidden("this identity acts for its own user only; to name another takes a service or admin key")
    return identity.user


def project_for(identity: Identity, request: str | None, default: str) -> str:
    """The project a request is for: the identity's own, else the one that is named, else the default."""
    if identity.project is None:
        return request or default
    if request and request != identity.project:
        raise Forbidden(f"this identity belongs to project {identity.project!r} and cannot act in another")
    return identity.project
