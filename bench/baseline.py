"""The baseline: the least that bare psycopg must do for the same result, in its own tables on the same server.

One statement and one commit per operation on one connection, without scopes or row-level security: it appends rows,
reads the latest ten and finds the nearest vectors. What the engine costs beyond this is its overhead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection
from psycopg.types import TypeInfo

from recollect.store.wire_format import VectorArray, register_vectors

TABLES = """
DROP SCHEMA IF EXISTS recollect_floor CASCADE;
CREATE SCHEMA recollect_floor;
CREATE TABLE recollect_floor.conversation (id uuid PRIMARY KEY, turns int NOT NULL);
CREATE TABLE recollect_floor.turn (
    conversation_id uuid NOT NULL, turn_index int NOT NULL, role text NOT NULL, text text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(), words tsvector,
    vector halfvec, PRIMARY KEY (conversation_id, turn_index));
"""
ROWS = """
WITH c AS (
    INSERT INTO recollect_floor.conversation AS c VALUES (%(c)s, 2)
    ON CONFLICT (id) DO UPDATE SET turns = c.turns + 2 RETURNING turns)
INSERT INTO recollect_floor.turn (conversation_id, turn_index, role, text)
SELECT %(c)s, turns - 2, 'user', %(q)s FROM c UNION ALL SELECT %(c)s, turns - 1, 'assistant', %(a)s FROM c
"""
SEARCHABLE = """
WITH c AS (
    INSERT INTO recollect_floor.conversation AS c VALUES (%(c)s, 2)
    ON CONFLICT (id) DO UPDATE SET turns = c.turns + 2 RETURNING turns)
INSERT INTO recollect_floor.turn (conversation_id, turn_index, role, text, words, vector)
SELECT %(c)s, turns - 2, 'user', %(q)s, to_tsvector('english', %(q)s), (%(v)s::halfvec[])[1] FROM c
UNION ALL
SELECT %(c)s, turns - 1, 'assistant', %(a)s, to_tsvector('english', %(a)s), (%(v)s::halfvec[])[2] FROM c
"""
LAST = """
SELECT turn_index, role, text FROM recollect_floor.turn WHERE conversation_id = %s ORDER BY turn_index DESC LIMIT 10
"""
NEAREST = """
SELECT turn_index, role, text FROM recollect_floor.turn WHERE conversation_id = %s
ORDER BY vector <#> (%s::halfvec[])[1] LIMIT 10
"""
FILL = """
INSERT INTO recollect_floor.turn (conversation_id, turn_index, role, text, vector)
SELECT %s, n - 1, 'user', (%s::text[])[n], (%s::halfvec[])[n] FROM generate_series(1, cardinality(%s::text[])) n
"""
COPY = "COPY recollect_floor.turn (conversation_id, turn_index, role, text) FROM STDIN"


class Baseline:
    """One bare connection; an async context manager that creates and drops its tables."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.conversation = uuid4()

    async def __aenter__(self) -> Self:
        self._connection = await AsyncConnection.connect(self._dsn, autocommit=True, prepare_threshold=0)
        await self._connection.execute(TABLES, prepare=False)
        halfvec = await TypeInfo.fetch(self._connection, "halfvec")
        if halfvec is not None:
            register_vectors(self._connection, halfvec)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._connection.execute("DROP SCHEMA recollect_floor CASCADE")
        await self._connection.close()

    async def append_rows(self, question: str, answer: str) -> None:
        """Append two rows without search indexes."""
        await self._connection.execute(ROWS, {"c": self.conversation, "q": question, "a": answer})

    async def append_searchable(self, question: str, answer: str, vectors: NDArray[Any]) -> None:
        """Append two rows that can be found by words and by vectors, as ours can."""
        parameters = {"c": self.conversation, "q": question, "a": answer, "v": VectorArray(vectors)}
        await self._connection.execute(SEARCHABLE, parameters)

    async def fill(self, texts: Sequence[str], vectors: NDArray[Any]) -> UUID:
        """Insert a conversation with these turns, and return its id."""
        conversation = uuid4()
        await self._connection.execute(FILL, [conversation, list(texts), VectorArray(vectors), list(texts)])
        return conversation

    async def recall(self, conversation: UUID, vector: NDArray[np.float32]) -> list[Any]:
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(NEAREST, [conversation, VectorArray(vector[None, :])])
        return await cursor.fetchall()

    async def context(self, conversation: UUID, vector: NDArray[np.float32]) -> list[Any]:
        async with self._connection.pipeline():
            last, near = self._connection.cursor(binary=True), self._connection.cursor(binary=True)
            await last.execute(LAST, [conversation])
            await near.execute(NEAREST, [conversation, VectorArray(vector[None, :])])
        return await last.fetchall() + await near.fetchall()

    async def bulk(self, texts: Sequence[str]) -> None:
        conversation = uuid4()
        async with self._connection.cursor().copy(COPY) as copy:
            for index, text in enumerate(texts):
                await copy.write_row((conversation, index, "user", text))
