"""DSN: where a data source is, as a URL. Read here, masked here; opened in opening.py.

`${NAME}` is taken from the environment, so that a password need not stand in a file. Nothing that leaves this file
shows one: errors and logs say `masked(dsn)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput
from recollect.model.data_source import masked_dsn as masked

if TYPE_CHECKING:
    from sqlalchemy import URL

FIELD = "dsn"
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# A scheme alone means the driver that we bring; heroku and others still write the old name.
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "sqlite3": "sqlite"}
DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}  # what sqlglot calls otherwise


def read_dsn(dsn: str, environment: Mapping[str, str] | None = None) -> URL:
    """The address, with the environment's values in place and the driver chosen."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    filled = with_environment(dsn.strip(), os.environ if environment is None else environment)
    try:
        url = make_url(filled)
    except (ArgumentError, ValueError):
        raise InvalidInput(
            FIELD, f"{masked(dsn)!r} is not a database URL; write e.g. sqlite:///shop.db or postgresql://user@host/name"
        ) from None
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


def with_environment(dsn: str, environment: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise InvalidInput(FIELD, f"names ${{{match[1]}}}, which is not set in the environment")
        return environment[match[1]]

    return VARIABLE.sub(value, dsn)


def dialect_of(url: URL) -> str:
    """As sqlglot names it."""
    name = url.get_backend_name()
    return DIALECTS.get(name, name)


def sqlite_file(url: URL) -> Path:
    """The file of a SQLite address; there must be one."""
    given = url.database or ""
    if not given or given == ":memory:":
        raise InvalidInput(FIELD, "a SQLite source is a file; write sqlite:///path/to/file.db")
    path = Path(given.removeprefix("file:").partition("?")[0]).expanduser()
    if not path.is_file():
        raise InvalidInput(FIELD, f"there is no file {path}; check the path (an absolute one has four slashes)")
    return path.absolute()
