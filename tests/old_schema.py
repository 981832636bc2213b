"""A database as an older release left it, made by that release's migrations."""

from __future__ import annotations

from uuid import uuid4

import psycopg

from recollect import Scope
from recollect.store.migrate import EXTENSIONS, SEARCH_PATH, apply, migrations


async def fill_old_schema(dsn: str, last: int, scope: Scope, text: str) -> None:
    """Make the schema with the migrations up to `last`, and put a turn into it and, where there are keys, a key."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as owner, owner.transaction():
        for extension in EXTENSIONS:
            await owner.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}".encode())
        await owner.execute(SEARCH_PATH)
        await owner.execute(migrations()[0].sql)
        for migration in migrations()[1:]:
            if migration.version <= last:
                await apply(owner, migration)
        await owner.execute(
            "INSERT INTO conversation (scope_id, id, project, user_id, session_id, name, turn_count, interaction_count,"
            " created_at, updated_at, embedded_model) VALUES (%s, %s, 'default', 'alex', 'monday', 'x', 1, 1, now(),"
            " now(), 0)",
            [scope.id, uuid4()],
        )
        await owner.execute(
            "INSERT INTO turn SELECT scope_id, id, 0, 'user', NULL, %s, now(), now(), NULL, false FROM conversation",
            [text],
        )
        if last >= 4:
            await owner.execute(
                "SELECT add_key(%s, %s, 'p', 'old', 'admin', NULL, NULL, now(), 'x', NULL)", [uuid4(), b"x" * 32]
            )
