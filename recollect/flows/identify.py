"""Identify callers by their credentials; create and revoke API keys.

As long as no key exists and no tokens are configured, every caller is the local admin. The first key turns sign-in on
for good; revoking the last key does not turn it off.
"""

from __future__ import annotations

import hmac
import logging
from datetime import timedelta
from typing import NoReturn

from recollect.deadline import deadline
from recollect.errors import InvalidInput, NotFound, Unauthorized
from recollect.flows.dependencies import Dependencies
from recollect.values.identity import (
    LOCAL,
    MARK,
    ApiKey,
    Credentials,
    Grant,
    Identity,
    KeyId,
    NewKey,
    generate_key,
    parse_key,
    read_identity,
)
from recollect.values.scope import MAX_NAME, ScopeId, uuid7
from recollect.values.text import check_text

log = logging.getLogger("recollect.identity")

SIGNED_IN = timedelta(hours=12)
WHO = (
    "authentication required: send `Authorization: Bearer` with a key or token, Basic with a key as the password, or"
    " X-API-Key"
)
UNKNOWN = "this API key is unknown; an admin creates one with `recollect keys create`"


async def identify(deps: Dependencies, credentials: Credentials | None) -> Identity:
    """Return who calls; raise Unauthorized if that is not certain. If the store does not answer, recent answers are
    used (store/keys.py)."""
    with deadline(deps.settings.deadline, deps.breaker):
        is_required = deps.tokens is not None or deps.settings.auth == "required" or await deps.store.keys.has_any()
        if not is_required:
            return LOCAL
        if credentials is None:
            raise Unauthorized(WHO)
        if credentials.scheme == "bearer" and not credentials.token.startswith(MARK):
            return await _identify_by_token(deps, credentials.token)
        key = await _check_key(deps, credentials.token)
    _record_use(deps, key)
    if credentials.scheme == "basic":
        return _identify_by_basic(key, credentials.user or "")
    return Identity(key.role, key.project, key.user, key.name, key.id)


async def _identify_by_token(deps: Dependencies, token: str) -> Identity:
    if deps.tokens is None:
        _refuse(UNKNOWN, "a bearer token that is no API key came, and no tokens are configured")
    settings, claims = deps.settings, await deps.tokens.claims(token)
    return read_identity(claims, settings.jwt_user_claim, settings.jwt_project_claim, settings.jwt_role_claim)


async def _check_key(deps: Dependencies, text: str) -> ApiKey:
    """Return the key, if it is valid. Only the owner of the secret learns that a key was revoked or expired."""
    shown = parse_key(text)
    if shown is None:
        _refuse(UNKNOWN, "something that is no API key came in the place of one")
    key = await deps.store.keys.find(shown.digest)
    # The secret is looked up by its digest in an index, so timing reveals nothing about it.
    if key is None or not hmac.compare_digest(key.prefix, shown.prefix):
        _refuse(UNKNOWN, f"no key {MARK}{shown.prefix} has that secret")
    if problem := key.problem(deps.clock.now()):
        _refuse(f"the API key {key.shown} {problem}; ask for a new one", f"key {key.shown} ({key.id}) {problem}")
    return key


def _identify_by_basic(key: ApiKey, user: str) -> Identity:
    """Return the identity of the named user, authenticated by their own key or by that of their application, always
    with the role user."""
    if key.role not in ("user", "service"):
        _refuse(
            "Basic takes a key of the role user or service", f"key {key.shown} of the role {key.role} came by Basic"
        )
    if key.role == "user" and key.user != user:
        _refuse("the user name is not that of the API key", f"key {key.shown} came with another's name")
    try:
        check_text("user", user, MAX_NAME)
    except InvalidInput as error:
        raise Unauthorized(f"Authorization: {error}") from None
    return Identity("user", key.project, user, key.name, key.id)


def _record_use(deps: Dependencies, key: ApiKey) -> None:
    """Record the key's use in the background, once a minute."""
    if deps.store.keys.is_use_due(key.id):
        deps.background_tasks.start(ScopeId(key.id), deps.store.keys.record_use(key.id, deps.clock.now()))


def _refuse(message: str, why: str) -> NoReturn:
    log.warning("authentication failed: %s", why)
    raise Unauthorized(message)


async def sign_in(deps: Dependencies, secret: str) -> NewKey:
    key = await _check_key(deps, secret)
    _record_use(deps, key)
    now = deps.clock.now()
    grant = Grant(role=key.role, name=key.name, project=key.project, user=key.user, expires_at=now + SIGNED_IN)
    new = generate_key(KeyId(uuid7()), grant, key.name, now)
    if not await deps.store.keys.add_under(new, key.id):
        _refuse("a browser's own key cannot sign in again; show the key itself", f"key {key.shown} is a browser's")
    return new


async def create_key(deps: Dependencies, grant: Grant, by: str) -> NewKey:
    now = deps.clock.now()
    if grant.expires_at is not None and grant.expires_at <= now:
        raise InvalidInput("expires_at", "is in the past")
    new = generate_key(KeyId(uuid7()), grant, check_text("by", by, MAX_NAME), now)
    await deps.store.keys.add(new)
    return new


async def revoke_key(deps: Dependencies, key: KeyId, project: str | None, by: str) -> ApiKey:
    revoked = await deps.store.keys.revoke(key, project, check_text("by", by, MAX_NAME), deps.clock.now())
    if revoked is None:
        where = "" if project is None else f" in project {project!r}"
        raise NotFound(f"there is no key {key}{where}; `recollect keys list` shows them")
    return revoked
