"""Migration 0019 on rows of an earlier release, applied by an owner who is bound by row-level security."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect.store.migrate import migrations
from recollect.values.scope import project_scope_id, user_scope_id

PROJECT, ALEX = project_scope_id("default"), user_scope_id("default", "alex")
MEMORY = """
INSERT INTO memory (scope_id, id, kind, key, value, data, terms, words, confidence, importance, source, learned_by,
                    status, valid_from, refs, created_at, updated_at)
VALUES (%s, gen_random_uuid(), %s, 'k', 'v', '{"question": "asked"}', '{}', '', 1, 1, 'manual', 'person', 'active',
        now(), '{}', now(), now())
"""


@pytest.fixture
def owner(server: str, template: str) -> Iterator[psycopg.Connection]:
    """A database of the release before, owned by a login that is no superuser. The template has made the role."""
    name = f"plain_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN CREATEROLE".encode())
        admin.execute(f"GRANT recollect_app TO {name} WITH ADMIN OPTION".encode())
        admin.execute(f"CREATE DATABASE {name} OWNER {name}".encode())
        try:
            with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as here:
                here.execute("CREATE EXTENSION vector; CREATE EXTENSION pg_trgm")
            with psycopg.connect(make_conninfo(server, dbname=name, user=name), autocommit=True) as owner:
                owner.execute("CREATE SCHEMA IF NOT EXISTS recollect")
                owner.execute("SET search_path = recollect, public")
                for migration in migrations():
                    if migration.version < 19:
                        owner.execute(migration.sql)
                yield owner
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
            admin.execute(f"DROP ROLE {name}".encode())


def fill(owner: psycopg.Connection) -> None:
    for scope, user in ((PROJECT, None), (ALEX, "alex")):
        with owner.transaction():
            owner.execute("SELECT open_scope(%s)", [scope])
            owner.execute("INSERT INTO holder VALUES (%s, 'default', %s, 1, now())", [scope, user])
            for kind in ("definition", "question"):
                owner.execute(MEMORY.encode(), [scope, kind])
            owner.execute("INSERT INTO idempotency VALUES (%s, 'my key', '', NULL, now())", [scope])


def test_old_rows_lose_questions_of_the_project_and_plain_keys(owner: psycopg.Connection) -> None:
    fill(owner)

    [latest] = [migration for migration in migrations() if migration.version == 19]
    owner.execute(latest.sql)

    left: dict[UUID, dict[str, object]] = {}
    for scope in (PROJECT, ALEX):
        with owner.transaction():
            owner.execute("SELECT open_scope(%s)", [scope])
            rows = owner.execute("SELECT kind, data FROM memory WHERE scope_id = %s", [scope]).fetchall()
            left[scope] = dict(rows)
            keys = owner.execute("SELECT key FROM idempotency WHERE scope_id = %s", [scope]).fetchall()
            assert keys == [(hashlib.sha256(b"my key").hexdigest(),)]
    asked = {"question": "asked"}
    assert left == {PROJECT: {"definition": None, "question": asked}, ALEX: {"definition": asked, "question": asked}}
    forced = owner.execute(
        "SELECT bool_and(relforcerowsecurity) FROM pg_class"
        " WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
    )
    assert forced.fetchone() == (True,)
