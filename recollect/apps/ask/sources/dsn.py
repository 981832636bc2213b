"""DSN: where a data source is, as a URL. Read and masked here, checked by address_rules.py, opened in
opening.py.

`${NAME}` is taken from the environment, so that a password need not stand in a file. Nothing that leaves this file
shows one: errors and logs say `masked(dsn)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.apps.ask.sources.address_rules import FIELD, MYSQL, POSTGRES
from recollect.errors import InvalidInput
from recollect.values.data_source import MAX_DSN
from recollect.values.data_source import mask_dsn as masked
from recollect.values.text import check_text

if TYPE_CHECKING:
    from sqlalchemy import URL

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# A scheme alone means the driver that we bring; heroku and others still write the old name.
DRIVERS = {
    "postgresql": POSTGRES,
    "postgres": POSTGRES,
    "sqlite3": "sqlite",
    "mysql": MYSQL,
    "mariadb": MYSQL,
    "mariadb+pymysql": MYSQL,
}
# What sqlglot calls otherwise.
DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql", "csv": "duckdb", "parquet": "duckdb"}


def read_dsn(dsn: str, environment: Mapping[str, str] | None = None) -> URL:
    """The address, with the environment's values in place and the driver chosen."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    filled = with_environment(
        check_text(FIELD, dsn, MAX_DSN).strip(), os.environ if environment is None else environment
    )
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
