"""Whatever is thrown at the gate, it refuses or it gives a statement that reads nothing but what may be seen.

The judges are independent of the gate: SQLite's authorizer is asked for every table, column and action while a
statement is compiled, PostgreSQL runs it as a role that holds grants for the visible columns alone, and DuckDB plans it
without the hidden tables and columns.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import suppress

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg import errors
from sqlglot import exp, parse_one

from recollect.apps.ask.gate import StatementDenied, check_sql
from tests.apps.ask.gate.gate_grammar import statement
from tests.apps.ask.gate.gate_shop import (
    DIALECTS,
    HIDDEN,
    data,
    duckdb_shop,
    schema,
    some_columns,
    sqlite_shop,
    statements,
)
from tests.bounds import bound

LEGITIMATE, HOSTILE = data("gate_legitimate.toml"), data("gate_hostile.toml")
KNOWN = [sql for group in LEGITIMATE.values() for sql in group] + [
    sql for group in HOSTILE.values() for _, sql in group
]
WORDS = sorted(
    {word for sql in KNOWN for word in sql.split()} | set("()[]{},;.*'\"`\\?:$%@!#~-+/|&<>=") | {"/*", "*/", "--"}
)
SOME_DIALECT = st.sampled_from(DIALECTS)
READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.Command, exp.Into)
BEYOND = (*WRITES, exp.Lock, exp.Copy, exp.Set, exp.Pragma, exp.Attach, exp.Dot, exp.Placeholder, exp.Parameter)
WHOLE_SHOP = duckdb_shop()
OPEN_SHOP = duckdb_shop("secrets", "customers.email", "employees.salary")
often = settings(max_examples=bound(100, 2_000), deadline=None, suppress_health_check=list(HealthCheck))


def let_through(sql: str, dialect: str) -> str | None:
    try:
        return check_sql(sql, dialect, some_columns(dialect)).sql
    except StatementDenied as denied:
        check_sentence(str(denied))
        return None


def check_sentence(said: str) -> None:
    assert said.startswith("sql: ")
    assert len(said) > 15


def check_passed(sql: str, dialect: str) -> None:
    rendered = let_through(sql, dialect)
    if rendered is not None:
        tree = parse_one(rendered, dialect=dialect)
        assert not list(tree.find_all(*BEYOND)), rendered
        if dialect == "sqlite":
            check_sqlite_reads(rendered)
        if dialect == "duckdb":
            check_duckdb_reads(rendered)


def check_sqlite_reads(sql: str) -> None:
    """SQLite compiles and starts it, and is asked at each step."""
    shop = sqlite_shop()
    asked: list[tuple[object, ...]] = []

    def note(*request: object) -> int:
        asked.append(request)
        return sqlite3.SQLITE_OK

    shop.set_progress_handler(lambda: 1, 200_000)
    shop.set_authorizer(note)
    with suppress(sqlite3.Error):  # a wrong number of arguments, say: what matters is what was asked until then
        shop.execute(sql).fetchmany(3)
    for action, first, second, *_ in asked:
        assert action in READS, (action, first, second, sql)
        if action == sqlite3.SQLITE_READ and not (first == "secrets" and not second and stands_without_it(sql)):
            assert first not in ("secrets", "sqlite_master"), sql
            assert second not in HIDDEN, sql


def stands_without_it(sql: str) -> bool:
    """Rows of a CTE of that name are asked about like rows of the table: what it reads is there without the table."""
    shop = sqlite_shop()
    shop.execute("DROP TABLE secrets")
    with suppress(sqlite3.Error):
        shop.execute(f"EXPLAIN {sql}")
        return True
    return False


def check_duckdb_reads(sql: str) -> None:
    """DuckDB plans it over the whole shop and over one without what is hidden: whatever stands in the one must stand in
    the other."""
    try:
        WHOLE_SHOP.execute(f"EXPLAIN {sql}")
    except duckdb.Error:
        return  # an unknown or ambiguous name, say
    try:
        OPEN_SHOP.execute(f"EXPLAIN {sql}")
    except duckdb.Error as error:
        pytest.fail(f"{error}: {sql}")


@often
@given(st.text(max_size=200), SOME_DIALECT)
@example("SELECT " + "(" * 5_000, "postgres")
@example("SELECT 1" + " + 1" * 4_900, "sqlite")
@example("SELECT " + "NOT " * 3_000 + "1", "postgres")
@example("SELECT 1 " + "UNION SELECT 1 " * 1_200, "postgres")
@example("SELECT '" + "x" * 19_000 + "'", "sqlite")
@example("\ud800", "sqlite")
def test_any_text_is_refused_or_only_reads(sql: str, dialect: str) -> None:
    check_passed(sql, dialect)


@often
@given(st.lists(st.sampled_from(WORDS), max_size=30), SOME_DIALECT)
def test_any_soup_of_words_is_refused_or_only_reads(words: list[str], dialect: str) -> None:
    check_passed("SELECT " + " ".join(words), dialect)


@often
@given(st.sampled_from(KNOWN), st.sampled_from(KNOWN), st.integers(0, 2**32), SOME_DIALECT)
def test_any_mutation_of_a_known_statement_is_refused_or_only_reads(
    one: str, other: str, chance: int, dialect: str
) -> None:
    check_passed(mutated(one, other, random.Random(chance)), dialect)


def mutated(one: str, other: str, chance: random.Random) -> str:
    words, foreign = one.split(" "), other.split(" ")
    for _ in range(chance.randint(1, 4)):
        at, start = chance.randrange(len(words)), chance.randrange(len(foreign))
        words[at : at + chance.randint(0, 2)] = foreign[start : start + chance.randint(0, 4)] or [chance.choice(WORDS)]
    return " ".join(words)


@settings(often, max_examples=bound(200, 5_000))
@given(st.integers(0, 2**48))
def test_no_confusion_of_names_makes_sqlite_read_what_is_hidden(chance: int) -> None:
    rendered = let_through(statement(random.Random(chance)), "sqlite")
    if rendered is not None:
        check_sqlite_reads(rendered)


@settings(often, max_examples=bound(200, 5_000))
@given(st.integers(0, 2**48))
def test_no_confusion_of_names_makes_duckdb_read_what_is_hidden(chance: int) -> None:
    rendered = let_through(statement(random.Random(chance)), "duckdb")
    if rendered is not None:
        check_duckdb_reads(rendered)


@pytest.fixture(scope="module")
def reader(server: str) -> Iterator[psycopg.Connection]:
    """A read-only transaction as a role that may select the visible columns and nothing else."""
    with psycopg.connect(server) as connection:
        connection.execute(schema("postgres").encode())
        connection.execute("CREATE ROLE gate_reader")
        for table, columns in some_columns("postgres").tables.items():
            listed = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f'GRANT SELECT ({listed}) ON "{table}" TO gate_reader'.encode())
        connection.execute("SET LOCAL ROLE gate_reader")
        connection.execute("SET LOCAL statement_timeout = 2000")
        connection.execute("SET TRANSACTION READ ONLY")
        yield connection
        connection.rollback()


@settings(often, max_examples=bound(200, 5_000))
@given(chance=st.integers(0, 2**48))
def test_no_confusion_of_names_makes_postgres_read_what_is_hidden(chance: int, reader: psycopg.Connection) -> None:
    rendered = let_through(statement(random.Random(chance)), "postgres")
    if rendered is not None:
        check_postgres_reads(rendered, reader)


def check_postgres_reads(sql: str, reader: psycopg.Connection) -> None:
    try:
        with reader.transaction(force_rollback=True):
            reader.execute(sql.encode()).fetchmany(3)
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
        pytest.fail(f"{error}: {sql}")
    except psycopg.Error:
        pass  # an unknown or ambiguous name: the database says so, nothing is read


def test_role_with_grants_for_visible_columns_runs_what_passed(reader: psycopg.Connection) -> None:
    for sql in statements("gate_legitimate.toml", "postgres"):
        rendered = let_through(sql, "postgres")
        assert rendered is not None, sql
        with reader.transaction(force_rollback=True):
            reader.execute(rendered.encode()).fetchall()


def test_the_grammar_makes_statements_that_pass_and_statements_that_do_not() -> None:
    outcomes = [let_through(statement(random.Random(chance)), "postgres") is not None for chance in range(400)]
    assert 40 < sum(outcomes) < 360
