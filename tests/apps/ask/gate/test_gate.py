"""What the gate turns away, and what it says; and what it makes of names, stars and limits."""

from __future__ import annotations

import pytest

from recollect.apps.ask.gate import Allowed, StatementDenied, check_sql, list_tables
from recollect.errors import InvalidInput
from tests.apps.ask.gate.gate_shop import DIALECTS, all_tables, some_columns, statements

ATTACKS = [(dialect, *attack) for dialect in DIALECTS for attack in statements("gate_hostile.toml", dialect)]


def test_hostile_statements_are_refused_with_the_offending_part() -> None:
    def refusal(sql: str, dialect: str) -> str:
        try:
            return f"passed: {check_sql(sql, dialect, some_columns(dialect)).sql}"
        except StatementDenied as error:
            return str(error)

    told = [(dialect, sql, part, refusal(sql, dialect)) for dialect, part, sql in ATTACKS]
    assert [each for each in told if each[3].startswith("passed") or each[2].lower() not in each[3].lower()] == []


@pytest.mark.parametrize(
    ("sql", "rendered"),
    [
        # the database knows customers.email; none of these names may come to mean it
        (
            "SELECT 'x' AS email, count(*) FROM customers GROUP BY email",
            "SELECT 'x' AS email, COUNT(*) FROM customers GROUP BY 1",
        ),
        ('SELECT 1 AS "Email" FROM customers ORDER BY email', 'SELECT 1 AS "Email" FROM customers ORDER BY "Email"'),
        (
            "SELECT (SELECT email FROM customers) FROM (SELECT 1 AS email) x",
            "SELECT (SELECT x.email FROM customers) FROM (SELECT 1 AS email) AS x",
        ),
        (
            'SELECT email FROM (SELECT 1 AS "Email") s, customers c',
            'SELECT s."Email" FROM (SELECT 1 AS "Email") AS s, customers AS c',
        ),
        # a CTE and a table that differ in case are two things to the database
        (
            'WITH "Secrets" AS (SELECT 1 AS a) SELECT a FROM secrets',
            'WITH "Secrets" AS (SELECT 1 AS a) SELECT a FROM "Secrets"',
        ),
        # a name that needed quotes gets them
        ("SELECT orderId FROM Invoices", 'SELECT "orderId" FROM "Invoices"'),
        ("SELECT i.ORDERID FROM invoices i", 'SELECT i."orderId" FROM "Invoices" AS i'),
        # stars
        ("SELECT * FROM invoices i", 'SELECT i."Id", i."orderId", i."Total Sum" FROM "Invoices" AS i'),
        ("SELECT * FROM (SELECT 1 AS a) x", "SELECT * FROM (SELECT 1 AS a) AS x"),
        # what the alias of a function means
        (
            "SELECT e FROM orders, jsonb_array_elements(orders.data) e",
            "SELECT e.value FROM orders, JSONB_ARRAY_ELEMENTS(orders.data) AS e",
        ),
    ],
)
def test_each_name_is_bound_to_what_it_was_checked_as(sql: str, rendered: str) -> None:
    assert check_sql(sql, "postgres", some_columns("postgres")).sql == f"{rendered} LIMIT 100"


def test_a_double_quoted_text_of_sqlite_never_reads_a_hidden_column() -> None:
    """The database knows customers.email; this person does not see it, so here it is a text like any other."""
    made = check_sql(
        'SELECT id FROM customers WHERE name = "email" OR name = "it\'s"', "sqlite", some_columns("sqlite")
    )
    assert "'email'" in made.sql
    assert "'it''s'" in made.sql
    assert "customers.email" not in made.columns


@pytest.mark.parametrize(
    ("limit", "capped"),
    [
        ("", "LIMIT 7"),
        ("LIMIT 3", "LIMIT 3"),
        ("LIMIT 7", "LIMIT 7"),
        ("LIMIT 100000", "LIMIT 7"),
        ("LIMIT ALL", "LIMIT 7"),
        ("LIMIT NULL", "LIMIT 7"),
        ("LIMIT -1", "LIMIT 7"),
        ("LIMIT 0", "LIMIT 0"),
        ("LIMIT 3 OFFSET 2", "LIMIT 3 OFFSET 2"),
        ("FETCH FIRST ROW ONLY", "LIMIT 1"),
        ("FETCH NEXT 50 ROWS ONLY", "LIMIT 7"),
        ("UNION ALL SELECT id FROM products", "UNION ALL SELECT id FROM products LIMIT 7"),
    ],
)
def test_the_rows_are_capped_at_the_end_of_the_statement(limit: str, capped: str) -> None:
    given = check_sql(f"SELECT id FROM orders {limit}", "postgres", all_tables("postgres"), rows=7)
    assert given.sql == f"SELECT id FROM orders {capped}"


def test_it_tells_which_tables_and_columns_are_read_in_order_of_first_use() -> None:
    sql = """WITH paid AS (SELECT customer_id, amount FROM orders WHERE status = 'paid')
             SELECT c.name, sum(amount) FROM paid JOIN customers c ON c.id = customer_id GROUP BY c.name"""
    given = check_sql(sql, "postgres", all_tables("postgres"))
    assert given.tables == ("orders", "customers")
    assert set(given.columns) == {
        "orders.customer_id",
        "orders.amount",
        "orders.status",
        "customers.id",
        "customers.name",
    }


@pytest.mark.parametrize(
    ("table", "default", "written"),
    [
        ("sales.visits", None, "sales.visits"),
        ("SALES.Visits", None, "SALES.Visits"),
        ("visits", "sales", '"sales".visits'),
        ('"Sales".visits', "sales", '"sales".visits'),
    ],
)
def test_a_table_is_found_by_its_schema_or_in_the_default_one(table: str, default: str | None, written: str) -> None:
    allowed = Allowed({"sales.visits": {"page", "id"}}, default)
    assert check_sql(f"SELECT page FROM {table}", "postgres", allowed).sql == f"SELECT page FROM {written} LIMIT 100"
    assert check_sql(f"SELECT * FROM {table} v", "postgres", allowed).columns == (
        "sales.visits.id",
        "sales.visits.page",
    )


@pytest.mark.parametrize(("table", "default"), [("visits", None), ("visits", "public"), ("other.visits", "sales")])
def test_a_table_of_another_schema_is_not_found(table: str, default: str | None) -> None:
    with pytest.raises(StatementDenied, match=r"visits is not among those you may see"):
        check_sql(f"SELECT id FROM {table}", "postgres", Allowed({"sales.visits": ["id"]}, default))


def test_a_table_without_visible_columns_can_be_counted_and_nothing_more() -> None:
    allowed = Allowed({"orders": ()})
    assert check_sql("SELECT count(*) FROM orders", "sqlite", allowed).columns == ()
    for sql in ("SELECT * FROM orders", "SELECT id FROM orders"):
        with pytest.raises(StatementDenied):
            check_sql(sql, "sqlite", allowed)


def test_a_statement_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(StatementDenied, match=r"20,0\d\d characters"):
        check_sql(f"SELECT '{'x' * 20_000}'", "sqlite", all_tables("sqlite"))


def test_a_backslash_in_a_mysql_text_ends_nothing() -> None:
    """MySQL reads \\' as a quote inside the text; what runs has no backslash, whatever the server's mode is."""
    given = check_sql("SELECT 'a\\' FROM secrets -- '", "mysql", all_tables("mysql"))
    assert given.sql == "SELECT 'a'' FROM secrets -- ' LIMIT 100"


def test_an_unknown_dialect_is_the_caller_s_mistake() -> None:
    with pytest.raises(InvalidInput, match="klingon"):
        check_sql("SELECT 1", "klingon", all_tables("sqlite"))


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1", ()),
        ("SELECT * FROM a JOIN s.b ON a.x = b.x WHERE EXISTS (SELECT 1 FROM c)", ("a", "s.b", "c")),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", ("b",)),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ("a",)),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM a) SELECT * FROM a", ()),
        ("SELECT * FROM a, generate_series(1, 2) g", ("a",)),
        ("SELECT FROM WHERE", ()),
        ("DROP TABLE a", ()),
    ],
)
def test_the_tables_of_a_stored_statement_are_told_as_written(sql: str, tables: tuple[str, ...]) -> None:
    assert sorted(list_tables(sql, "postgres")) == sorted(tables)
