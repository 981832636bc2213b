"""Sources for the tests of this folder: a shop in a SQLite and a DuckDB file, and the same on a real PostgreSQL and
a real MariaDB or MySQL; and a real server that asks the sample database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL

from recollect.apps.ask.sample import make_sample
from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.source import Source, open_source
from recollect.settings import Settings
from tests.apps.ask.asking_door import Door, Doors, asking_at
from tests.apps.ask.mysql_server import mysql_server
from tests.apps.ask.shop_data import duckdb_shop, mysql_shop, schema, sqlite_shop
from tests.openai_server import Server, serving

Opener = Callable[..., Coroutine[Any, Any, Source]]


def as_url(conninfo: str) -> str:
    """A DSN as users write it, from how libpq writes it."""
    given = {key: str(value) for key, value in conninfo_to_dict(conninfo).items()}
    name, user, password = (given.pop(key, None) for key in ("dbname", "user", "password"))
    url = URL.create("postgresql", username=user, password=password, database=name, query=given)
    return url.render_as_string(hide_password=False)


@pytest.fixture
def postgres_shop(database: str) -> str:
    """The owner's DSN of a database with a schema `shopdata`."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA shopdata")
        owner.execute(schema("postgres", "shopdata.").encode())
    return as_url(database)


@pytest.fixture
def reader(database: str, postgres_shop: str) -> Iterator[str]:
    """A role without rights to write, and without any to `shopdata.products`."""
    name = f"reader_{uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name}".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA shopdata TO {name}".encode())
        tables = "shopdata.customers, shopdata.orders, shopdata.order_items"
        owner.execute(f"GRANT SELECT ON {tables} TO {name}".encode())
        yield name
        owner.execute(f"DROP OWNED BY {name}".encode())
        owner.execute(f"DROP ROLE {name}".encode())


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Opens sources, and closes them after the test."""
    sources: list[Source] = []

    async def opener(dsn: str, **more: Any) -> Source:
        sources.append(await open_source(dsn, **{"rules": LOCAL_RULES, **more}))
        return sources[-1]

    yield opener
    for source in sources:
        await source.close()


@pytest.fixture(scope="session")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a MariaDB or MySQL server, without a database."""
    with mysql_server(tmp_path_factory.mktemp("mysql")) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres", "duckdb", "mysql"])
def shop_dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "mysql":
        return mysql_shop(request.getfixturevalue("mysql"))
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_shop"))
    return {"sqlite": sqlite_shop, "duckdb": duckdb_shop}[request.param](tmp_path)


@pytest.fixture
async def shop(shop_dsn: str, opened: Opener) -> Source:
    """The same shop, in each kind of database."""
    return await opened(shop_dsn)


# A real server that asks the sample database -------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    make_sample(path, date(2025, 12, 31))
    return path


@pytest.fixture
def model() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
def doors(settings: Settings, sample: Path) -> Iterator[Doors]:
    """`doors(cross_user=True)`: a server with these settings, until the test ends."""
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(asking_at(settings, sample, **given))


@pytest.fixture
def door(doors: Doors) -> Door:
    """Without a language model."""
    return doors()
