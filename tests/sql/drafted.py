"""A database of a test's own and the model drafted from it as it stands: asked in words, answered by its rows."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from datetime import date
from functools import cached_property
from pathlib import Path

from recollect.hosts.sql.source import open_source
from recollect.sql.catalog import Catalog
from recollect.sql.draft import draft
from recollect.sql.frame import Frame
from recollect.sql.reading import Reading, read_question
from recollect.sql.render import sql_of
from recollect.sql.semantic import SemanticModel


class Drafted:
    """`data` are the statements that make it; nothing is read before the first question."""

    def __init__(self, data: str, today: date) -> None:
        self._data = data
        self._today = today

    def both(self) -> tuple[SemanticModel, Catalog]:
        return self._both

    @cached_property
    def _both(self) -> tuple[SemanticModel, Catalog]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "data.sqlite")
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.executescript(self._data)
            catalog = asyncio.run(catalog_of(path))
        return draft(catalog), catalog

    def read(self, question: str, last: Frame | None = None) -> Reading:
        return read_question(question, *self._both, last=last, today=self._today)

    def asked(self, *questions: str) -> list[tuple[object, ...]]:
        """The rows of the last of these questions, each asked after the other."""
        last: Frame | None = None
        for question in questions:
            reading = self.read(question, last)
            assert reading.frame is not None, (question, reading.clarifications, reading.refused)
            last = reading.frame
        assert last is not None
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(self._data)
            return connection.execute(sql_of(last, *self._both)).fetchall()


async def catalog_of(path: Path) -> Catalog:
    source = await open_source(f"sqlite:///{path}")
    try:
        return await source.read_catalog()
    finally:
        await source.close()
