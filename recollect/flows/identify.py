"""Identify: from what a caller shows to who he is; and the keys that people make and take back.

As long as nobody has made a key and no tokens are configured, everybody is the local admin: a laptop needs no password.
The first key closes the door for good; revoking the last one does not open it again.
"""

from __future__ import annotations

import hmac
import logging
from datetime import timedelta
from typing import NoReturn

from recollect.errors import InvalidInput, NotFound, Unauthorized
from recollect.flows.parts import Parts
from recollect.model.api_key import MARK, ApiKey, Grant, KeyId, NewKey, made, presented
from recollect.model.identity import LOCAL, ClaimNames, Credentials, Identity, identity_in
from recollect.model.ids import ScopeId, uuid7
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

log = logging.getLogger("recollect.identity")

SIGNED_IN = timedelta(hours=12)
WHO = "say who you are: `Authorization: Bearer` with a key or token, Basic with a key as the password, or X-API-Key"
UNKNOWN = "this API key is not known here; an admin makes one with `recollect keys create`"


async def identify(parts: Parts, credentials: Credentials | None) -> Identity:
    """Who calls; Unauthorized where that is not certain."""
    if not await is_closed(parts):
        return LOCAL
    if credentials is None:
        raise Unauthorized(WHO)
    if credentials.scheme == "bearer" and not credentials.token.startswith(MARK):
        return await _by_token(parts, credentials.token)
    key = await _good_key(parts, credentials.token)
    _note_use(parts, key)
    if credentials.scheme == "basic":
        return _by_basic(key, credentials.user or "")
    return Identity(key.role, key.project, key.user, key.name, key.id)


async def is_closed(parts: Parts) -> bool:
    """Whether callers must say who they are."""
    if parts.tokens is not None or parts.settings.auth == "required":
        return True
    return await parts.store.keys.any()


async def _by_token(parts: Parts, token: str) -> Identity:
    if parts.tokens is None:
        _refuse(UNKNOWN, "a bearer token that is no API key came, and no tokens are configured")
    settings = parts.settings
    names = ClaimNames(settings.jwt_user_claim, settings.jwt_project_claim, settings.jwt_role_claim)
    return identity_in(await parts.tokens.claims(token), names)


async def _good_key(parts: Parts, text: str) -> ApiKey:
    """Only who has the secret learns that his key was revoked or has expired."""
    shown = presented(text)
    if shown is None:
        _refuse(UNKNOWN, "something that is no API key came in the place of one")
    key = await parts.store.keys.find(shown.digest)
    # The secret is compared as a digest, in an index: how long that takes tells nothing that leads to the secret.
    if key is None or not hmac.compare_digest(key.prefix, shown.prefix):
        _refuse(UNKNOWN, f"no key {MARK}{shown.prefix} has that secret")
    if problem := key.problem(parts.clock.now()):
        _refuse(f"the API key {key.shown} {problem}; ask for a new one", f"key {key.shown} ({key.id}) {problem}")
    return key


def _by_basic(key: ApiKey, user: str) -> Identity:
    """The user himself: his own key vouches for him, or that of the application he uses. It gives him no other role."""
    if key.role not in ("user", "service"):
        _refuse(
            "Basic takes a key of the role user or service", f"key {key.shown} of the role {key.role} came by Basic"
        )
    if key.role == "user" and key.user != user:
        _refuse("the user name is not that of the API key", f"key {key.shown} came with another's name")
    try:
        checked_text("user", user, MAX_NAME)
    except InvalidInput as error:
        raise Unauthorized(f"Authorization: {error}") from None
    return Identity("user", key.project, user, key.name, key.id)


def _note_use(parts: Parts, key: ApiKey) -> None:
    """In the background, once a minute."""
    if parts.store.keys.is_use_worth_noting(key.id):
        parts.chores.start(ScopeId(key.id), parts.store.keys.note_use(key.id, parts.clock.now()))


def _refuse(message: str, why: str) -> NoReturn:
    log.warning("a caller was refused: %s", why)
    raise Unauthorized(message)


async def sign_in(parts: Parts, secret: str) -> NewKey:
    key = await _good_key(parts, secret)
    _note_use(parts, key)
    now = parts.clock.now()
    grant = Grant(role=key.role, name=key.name, project=key.project, user=key.user, expires_at=now + SIGNED_IN)
    new = made(KeyId(uuid7()), grant, key.name, now)
    if not await parts.store.keys.add_under(new, key.id):
        _refuse("a browser's own key cannot sign in again; show the key itself", f"key {key.shown} is a browser's")
    return new


async def create_key(parts: Parts, grant: Grant, by: str) -> NewKey:
    now = parts.clock.now()
    if grant.expires_at is not None and grant.expires_at <= now:
        raise InvalidInput("expires_at", "is in the past")
    new = made(KeyId(uuid7()), grant, checked_text("by", by, MAX_NAME), now)
    await parts.store.keys.add(new)
    return new


async def list_keys(parts: Parts, project: str | None) -> list[ApiKey]:
    return await parts.store.keys.all(project)


async def revoke_key(parts: Parts, key: KeyId, project: str | None, by: str) -> ApiKey:
    revoked = await parts.store.keys.revoke(key, project, checked_text("by", by, MAX_NAME), parts.clock.now())
    if revoked is None:
        where = "" if project is None else f" in project {project!r}"
        raise NotFound(f"there is no key {key}{where}; `recollect keys list` shows them")
    return revoked
