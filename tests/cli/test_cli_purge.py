"""`recollect forget --purge`: erased rows leave the tables too, or nothing is erased at all."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from .cli_program import Cli

SAID = '{"session": "monday", "role": "user", "text": "My name is Robin. The code word is zorvexal."}\n'
PAGES = """
SELECT count(*) FROM generate_series(0, pg_relation_size('recollect.turn') / 8192 - 1) p
WHERE position('zorvexal'::bytea IN get_raw_page('recollect.turn', p::int)) > 0
"""


@pytest.fixture
def pages(database: str) -> Iterator[psycopg.Connection]:
    """The owner, who can look at the bytes of a table."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CREATE EXTENSION pageinspect")
        yield owner


def holding(owner: psycopg.Connection) -> int:
    """How many pages of the log have the word, in a row that is there or in one that is dead."""
    row = owner.execute(PAGES.encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_purge_removes_dead_rows_from_the_files(cli: Cli, pages: psycopg.Connection) -> None:
    cli("record", "-", stdin=SAID)
    cli("forget", "--yes")
    assert holding(pages) == 1  # a deleted row stays on its page

    cli("record", "-", stdin=SAID)
    receipt = cli("forget", "--yes", "--purge", "--json").json

    assert receipt["rows"]["turn"] == 1
    assert receipt["purged"]["tables"] > 20
    assert receipt["purged"]["dead_rows"] == 0
    assert holding(pages) == 0


def test_purge_is_in_the_receipt_for_people(cli: Cli) -> None:
    cli("record", "-", stdin=SAID)
    shown = cli("forget", "--session", "monday", "--yes", "--purge").out
    assert "tables vacuumed, no dead rows left" in shown
    assert "vacuumed" not in cli("forget", "--yes").out


def test_rows_that_a_transaction_may_see_are_told(cli: Cli, database: str, pages: psycopg.Connection) -> None:
    cli("record", "-", stdin=SAID)
    with psycopg.connect(database) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM recollect.turn")
        receipt = cli("forget", "--yes", "--purge", "--json").json
        assert receipt["purged"]["dead_rows"] > 0
        assert holding(pages) == 1


def test_purge_without_the_owner_erases_nothing(
    cli: Cli, server: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("record", "-", stdin=SAID)
    name = f"plain_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN IN ROLE recollect_app".encode())
        try:
            monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", make_conninfo(database, user=name))
            refused = cli("forget", "--yes", "--purge", "--json")
            assert refused.code != 0
            assert "MEMORY_DB_ADMIN_CONNECTION_STRING" in refused.err
            assert len(cli("history", "--session", "monday", "--json").json["turns"]) == 1

            monkeypatch.setenv("MEMORY_DB_ADMIN_CONNECTION_STRING", database)
            assert cli("forget", "--yes", "--purge", "--json").json["purged"]["tables"] > 20
        finally:
            owner.execute(f"DROP ROLE {name}".encode())
