"""Sources for the tests of this folder: a shop in a SQLite file, and the same in a schema of a real PostgreSQL; and a
real server that asks the sample database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from openai_server import Server, serving
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL

from recollect.hosts.sql.sample import make_sample
from recollect.hosts.sql.source import Source, open_source
from recollect.settings import Settings
from sql.asking_door import Door, Doors, asking_at
from sql.shop_data import SCHEMA, sqlite_shop

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
        owner.execute(SCHEMA.format(p="shopdata.", moment="TIMESTAMP").encode())
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
        sources.append(await open_source(dsn, **more))
        return sources[-1]

    yield opener
    for source in sources:
        await source.close()


@pytest.fixture(params=["sqlite", "postgres"])
def shop_dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return sqlite_shop(tmp_path) if request.param == "sqlite" else str(request.getfixturevalue("postgres_shop"))


@pytest.fixture
async def shop(shop_dsn: str, opened: Opener) -> Source:
    """The same shop, in either database."""
    return await opened(shop_dsn)


# A real server that asks the sample database -------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    make_sample(path)
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
