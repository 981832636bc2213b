"""DataSource: a database that a project queries, as stored. Its catalog and model are interpreted in apps/ask. The DSN
may hold a password, so it is never shown: print `masked_dsn`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.values.scope import MAX_NAME
from recollect.values.text import check_data, check_text

MAX_DSN = 2_000
MAX_JSON_CHARS = 20_000_000
PASSWORD = re.compile(r"(?P<before>://[^/@\s:]*:)(?P<secret>[^\s]*)(?=@)")
SECRET_OPTION = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|passphrase|sslpassword)=)[^&\s;]*")


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """A PostgreSQL server (its system identifier) and one of its databases (its oid)."""

    system: int
    database: int


@dataclass(frozen=True, slots=True)
class DataSource:
    """A database that a project queries. `access` says per role what it may see: {"user": {"tables": [...], "hidden":
    {...}, "rows": {...}}}."""

    name: str
    dsn: str = field(repr=False)
    dialect: str = ""
    fingerprint: str = ""
    catalog: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model: Mapping[str, Any] = field(default_factory=dict, repr=False)
    access: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    is_local: bool = False  # added on the server itself: its address may be any file or host

    @property
    def masked_dsn(self) -> str:
        return mask_dsn(self.dsn)


def mask_dsn(dsn: str) -> str:
    """Return a DSN without secrets."""
    return SECRET_OPTION.sub(r"\1***", PASSWORD.sub(r"\g<before>***", dsn))


def check_data_source(source: DataSource) -> DataSource:
    check_text("name", source.name, MAX_NAME)
    if "/" in source.name or source.name != source.name.strip():
        raise InvalidInput("name", f"{source.name!r} has a slash or blanks around it; it stands in addresses")
    check_text("dsn", source.dsn, MAX_DSN)
    for name in ("catalog", "model", "access"):
        check_data(name, getattr(source, name), MAX_JSON_CHARS)
    return source
