"""API keys: what a key permits, what is stored of it, and how one is created and parsed. No I/O; flows/identify.py uses
this.

A key is `rk_<prefix>_<secret>`: letters and digits only, so that a double click selects all of it. The prefix is shown
in lists and logs. The secret is 43 characters of 62, which is 256 bits of randomness; only its SHA-256 is stored. A
slow hash is for secrets that people choose.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType, get_args
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.values.conversation import to_utc
from recollect.values.query import check_choice
from recollect.values.scope import MAX_NAME
from recollect.values.text import check_text

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
        if self.project is not None:
            check_text("project", self.project, MAX_NAME)
        elif self.role not in UNBOUND:
            raise InvalidInput("project", f"a key of the role {self.role} belongs to one project; name it")
        self._check_user()
        if self.expires_at is not None:
            object.__setattr__(self, "expires_at", to_utc("expires_at", self.expires_at))

    def _check_user(self) -> None:
        if self.user is not None:
            check_text("user", self.user, MAX_NAME)
        if (self.role == "user") != (self.user is not None):
            problem = "needs a user" if self.role == "user" else "has no user; only the role user does"
            raise InvalidInput("user", f"a key of the role {self.role} {problem}")


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
