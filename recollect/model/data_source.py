"""DataSource: a database that a project asks, as it is kept. What its catalog and its model say is read in
recollect/sql; opening one is for hosts/sql. The DSN may hold a password, so a source never shows it: print
`masked_dsn`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

MAX_DSN = 2_000
MAX_JSON_CHARS = 20_000_000
PASSWORD = re.compile(r"(?P<before>://[^/@\s:]*:)(?P<secret>[^\s]*)(?=@)")
SECRET_OPTION = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|passphrase|sslpassword)=)[^&\s;]*")


@dataclass(frozen=True, slots=True)
class DataSource:
    """`access` says per role what it may see: {"user": {"tables": [...], "hidden": {...}, "rows": {...}}}."""

    name: str
    dsn: str = field(repr=False)
    dialect: str = ""
    fingerprint: str = ""
    catalog: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model: Mapping[str, Any] = field(default_factory=dict, repr=False)
    access: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def masked_dsn(self) -> str:
        """Fit to be shown."""
        return masked_dsn(self.dsn)


def masked_dsn(dsn: str) -> str:
    """For people: no password."""
    return SECRET_OPTION.sub(r"\1***", PASSWORD.sub(r"\g<before>***", dsn))


def checked_data_source(source: DataSource) -> DataSource:
    checked_text("source.name", source.name, MAX_NAME)
    if "/" in source.name or source.name != source.name.strip():
        raise InvalidInput("source.name", f"{source.name!r} has a slash or blanks around it; it stands in addresses")
    checked_text("source.dsn", source.dsn, MAX_DSN)
    for name in ("catalog", "model", "access"):
        _check_json(f"source.{name}", getattr(source, name))
    return source


def _check_json(field: str, data: object) -> None:
    if not isinstance(data, Mapping):
        raise InvalidInput(field, f"a {type(data).__name__} is not a mapping")
    try:
        text = json.dumps(data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}") from None
    if len(text) > MAX_JSON_CHARS:
        raise InvalidInput(field, f"at most {MAX_JSON_CHARS:,} characters of JSON")
