"""The sample database on disk: it follows the calendar as long as nobody else has written to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from recollect.server.sample import refresh_sample

MONDAY = date(2026, 3, 2)


def last_sale(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("SELECT max(sale_date) FROM sales").fetchone()[0])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "sample" / "sample.db"
    refresh_sample(made, MONDAY)
    return made


def test_sample_is_written_again_on_a_later_day(file: Path) -> None:
    assert last_sale(file) == MONDAY.isoformat()
    refresh_sample(file, MONDAY + timedelta(days=9))
    assert last_sale(file) == "2026-03-11"
    assert sorted(each.name for each in file.parent.iterdir()) == ["sample.db", "sample.stamp"]


def test_sample_is_kept_on_the_same_day(file: Path) -> None:
    written = file.stat()
    refresh_sample(file, MONDAY)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def test_sample_that_was_changed_is_kept(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE customers SET name = 'Mine' WHERE id = 1")
    refresh_sample(file, MONDAY + timedelta(days=9))
    assert last_sale(file) == MONDAY.isoformat()


def test_sample_without_a_stamp_is_kept(file: Path) -> None:
    file.with_suffix(".stamp").unlink()
    refresh_sample(file, MONDAY + timedelta(days=9))
    assert last_sale(file) == MONDAY.isoformat()
