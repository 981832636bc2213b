"""Comparing a generated query with its correction: what counts as the same, and what as which change."""

from __future__ import annotations

import pytest

from bench.corrections import SHIPPED, read_pairs
from recollect.apps.ask.corrections import Change, compare_queries
from recollect.errors import InvalidInput

QUERIES = sorted(
    {(sql, pair.dialect) for pair in read_pairs(SHIPPED) for sql in (pair.generated_sql, pair.corrected_sql)}
)


def kinds(generated: str, corrected: str, dialect: str = "postgres", question: str = "") -> list[str]:
    return sorted(change.kind for change in compare_queries(generated, corrected, dialect, question).changes)


def only(generated: str, corrected: str, dialect: str = "postgres", question: str = "") -> Change:
    (change,) = compare_queries(generated, corrected, dialect, question).changes
    return change


def where(condition: str) -> str:
    return f"SELECT id FROM orders WHERE {condition}"


def test_a_query_says_the_same_as_itself() -> None:
    for sql, dialect in QUERIES:
        assert compare_queries(sql, sql, dialect).equivalent, sql


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a <> 1", "a != 1"),
        ("a BETWEEN 1 AND 5", "a <= 5 AND a >= 1"),
        ("a IN (7)", "7 = a"),
        ("a = 1 OR a = 2", "a IN (2, 1)"),
        ("NOT (a > 5)", "a <= 5"),
        ("NOT NOT paid", "paid = TRUE"),
        ("NOT paid", "paid IS FALSE"),
        ("NOT (a = 1 OR b = 2)", "b <> 2 AND a <> 1"),
        ("a NOT IN (1, 2)", "a <> 2 AND a <> 1"),
        ("(((a = 1)))", "orders.a = 1 AND 1 = 1"),
        ("EXTRACT(YEAR FROM at) = 2024", "at >= '2024-01-01' AND at < '2025-01-01'"),
        ("DATE_TRUNC('month', at) = '2024-12-01'", "at >= DATE '2024-12-01' AND at < '2025-01-01'"),
        ("at::date = '2024-02-28'", "at >= '2024-02-28' AND at < '2024-02-29'"),
        ("price > 10", "10 < price"),
        ("a = 1 AND a = 1", "a = 1"),
    ],
)
def test_a_condition_in_other_words_is_the_same(one: str, other: str) -> None:
    assert compare_queries(where(one), where(other), "postgres").equivalent


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT o.id AS n FROM Orders o", "select id from orders"),
        ("SELECT COUNT(1) FROM orders", "SELECT COUNT(*) AS n FROM orders;"),
        (
            "SELECT a, SUM(b) AS s FROM t GROUP BY a ORDER BY s DESC",
            "SELECT a, SUM(b) FROM t GROUP BY 1 ORDER BY 2 DESC",
        ),
        ("SELECT DISTINCT a FROM t", "SELECT a FROM t GROUP BY a"),
        ("SELECT t.a FROM t JOIN u ON t.id = u.id", "SELECT t.a FROM u, t WHERE u.id = t.id"),
        ("SELECT t.a FROM t JOIN u USING (id)", "SELECT t.a FROM t JOIN u ON u.id = t.id"),
        ("WITH q AS (SELECT a FROM t WHERE c = 1) SELECT a FROM q", "SELECT a FROM (SELECT a FROM t WHERE c = 1) x"),
        ("SELECT a FROM t FETCH FIRST 3 ROWS ONLY", "SELECT a FROM t LIMIT 3 OFFSET 0"),
        ("SELECT a -- note\nFROM public.t", "SELECT a FROM t"),
    ],
)
def test_a_query_in_another_form_is_the_same(one: str, other: str) -> None:
    assert compare_queries(one, other, "postgres").equivalent


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('SELECT "Name" FROM t', "SELECT name FROM t"),
        (
            "SELECT a FROM t LEFT JOIN u ON u.id = t.id AND u.x = 1",
            "SELECT a FROM t LEFT JOIN u ON u.id = t.id WHERE u.x = 1",
        ),
        ("SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u"),
        ("SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t INTERSECT SELECT a FROM u"),
        ("SELECT DISTINCT ON (a) a, b FROM t", "SELECT DISTINCT ON (b) a, b FROM t"),
        ("SELECT a FROM t", "SELECT a FROM t TABLESAMPLE SYSTEM (10)"),
        ("SELECT a, b FROM t", "SELECT b, a FROM t"),
        ("SELECT a FROM t LIMIT 3", "SELECT a FROM t LIMIT 3 OFFSET 3"),
        (where("at <= '2024-12-31'"), where("at < '2025-01-01'")),
    ],
)
def test_what_may_give_other_rows_is_not_the_same(one: str, other: str) -> None:
    assert not compare_queries(one, other, "postgres").equivalent


def test_case_in_quotes_means_nothing_to_sqlite() -> None:
    assert compare_queries('SELECT "Name" FROM T', "SELECT name FROM t", "sqlite").equivalent


def test_true_is_one_to_sqlite_only() -> None:
    assert compare_queries(where("paid = TRUE"), where("paid = 1"), "sqlite").equivalent
    assert not compare_queries(where("paid = TRUE"), where("paid = 1"), "postgres").equivalent


def test_a_substituted_table_takes_its_columns_and_keys_with_it() -> None:
    change = only(
        "SELECT c.name FROM clients c JOIN orders o ON o.client_id = c.id",
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id",
        question="Which client ordered?",
    )
    assert change == Change("table_substitution", "customers", "clients", "customers", "client")


def test_a_column_is_substituted_once_however_often_it_is_used() -> None:
    sql = "SELECT region, SUM({0}) FROM orders WHERE {0} > 5 GROUP BY region HAVING SUM({0}) > 9 ORDER BY SUM({0})"
    change = only(sql.format("amount"), sql.format("net_total"), question="amounts by region")
    assert change == Change("column_substitution", "orders", "amount", "net_total", "amounts")


@pytest.mark.parametrize(
    ("corrected", "expected"),
    [
        ("city = 'Rome'", "column_substitution"),  # the same said of another column
        ("city = 'Oslo'", "filter_change"),  # the literal changed with it
        ("town = 'Oslo'", "filter_change"),
        ("town = 'Rome' AND open", "filter_addition"),
        ("town > 'A' AND town <> 'Oslo'", "filter_change"),  # one filter per column
        ("TRUE", "filter_removal"),
    ],
)
def test_a_changed_condition_is_told_from_a_changed_column(corrected: str, expected: str) -> None:
    assert kinds(where("town = 'Rome'"), where(corrected)) == [expected]


def test_a_join_that_serves_an_added_filter_is_no_change_of_its_own() -> None:
    change = only(
        "SELECT COUNT(*) FROM orders",
        "SELECT COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE NOT c.is_test",
    )
    assert change == Change("filter_addition", "customers", None, "customers.is_test = FALSE")


def test_grouping_by_one_more_column_is_one_change() -> None:
    change = only("SELECT a, SUM(x) FROM t GROUP BY a", "SELECT a, b, SUM(x) FROM t GROUP BY a, b")
    assert (change.kind, change.before, change.after) == ("grouping", "t.a", "t.a, t.b")


def test_a_grain_is_told_whatever_function_cuts_it() -> None:
    change = only(
        "SELECT to_char(at, 'YYYY-MM'), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
        "SELECT date_trunc('week', at), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
    )
    assert change == Change("grain", "t", "month", "week")


def test_changes_in_inner_queries_are_found_and_told_once() -> None:
    side = "SELECT a FROM t WHERE x IN (SELECT x FROM u WHERE {0})"
    sql = f"{side} UNION {side}"
    change = only(sql.format("y = 1"), sql.format("y = 1 AND NOT hidden"))
    assert change == Change("filter_addition", "u", None, "u.hidden = FALSE")


def test_the_schema_tells_whose_a_column_is() -> None:
    generated = "SELECT COUNT(*) FROM orders JOIN customers ON customers.id = orders.customer_id"
    schema = {"orders": ["id", "customer_id", "Kind"], "customers": ["id", "name"]}
    (change,) = compare_queries(generated, f"{generated} WHERE kind = 'b2b'", "sqlite", schema=schema).changes
    assert change == Change("filter_addition", "orders", None, "orders.kind = 'b2b'")


def test_conditions_are_shown_as_sql_that_runs() -> None:
    change = only(where("a = 1"), where("a = 1 AND at::date > '2024-01-01'"))
    assert change.after == "CAST(orders.at AS DATE) > '2024-01-01'"


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT FROM WHERE", "line 1, column 17 near 'WHERE'"),
        ("SELECT 'x", "has no end"),
        ("DROP TABLE orders", "is a DROP statement"),
        ("SELECT 1; SELECT 2", "2 statements"),
        (" ", "is empty"),
        ("SELECT 1 AS a JOIN t ON t.a = 1", "a JOIN without a FROM"),
        ("SELECT a FROM t WHERE " + "NOT " * 900 + "b", "nested too deeply"),
    ],
)
def test_what_is_no_query_is_refused_by_the_name_of_its_field(sql: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as refused:
        compare_queries(sql, "SELECT 1", "sqlite")
    assert refused.value.field == "generated_sql"
    with pytest.raises(InvalidInput, match=problem) as refused:
        compare_queries("SELECT 1", sql, "sqlite")
    assert refused.value.field == "corrected_sql"


def test_a_date_beyond_the_calendar_is_compared_as_written() -> None:
    late = where("DATE_TRUNC('year', at) = DATE '9999-01-01'")
    assert compare_queries(late, late, "postgres").equivalent


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dialect: 'klingon'"):
        compare_queries("SELECT 1", "SELECT 1", "klingon")


@pytest.mark.parametrize("dialect", ["mysql", "duckdb"])
def test_date_parts_are_compared_in_each_dialect(dialect: str) -> None:
    year = "created_at >= '2024-01-01' AND created_at < '2025-01-01'"
    assert compare_queries(where("YEAR(created_at) = 2024"), where(year), dialect).equivalent
    month = {"mysql": "DATE_FORMAT(created_at, '%Y-%m')", "duckdb": "strftime(created_at, '%Y-%m')"}[dialect]
    grouped = "SELECT {0}, COUNT(*) FROM orders GROUP BY {0}"
    assert only(grouped.format(month), grouped.format("YEAR(created_at)"), dialect).kind == "grain"


def test_true_is_one_in_mysql() -> None:
    assert compare_queries(where("paid = TRUE"), where("paid = 1"), "mysql").equivalent


def test_a_query_with_another_structure_only_differs_as_a_whole() -> None:
    inside = "SELECT id FROM orders WHERE amount > 100"
    assert kinds(f"SELECT * FROM ({inside}) AS big WHERE NOT is_test", inside) == ["join"]
    assert kinds(f"WITH big AS ({inside}) SELECT * FROM big", inside) == ["join"]
