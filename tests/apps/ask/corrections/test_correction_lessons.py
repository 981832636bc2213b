"""What is learned from a correction, and above all what is not."""

from __future__ import annotations

import pytest

from recollect.apps.ask.corrections import compare_queries
from recollect.apps.ask.corrections.lessons import draw_lessons, load_vocabulary
from recollect.errors import InvalidInput
from recollect.values.lesson import Lesson

COUNT = "SELECT COUNT(*) FROM orders"


def learned(question: str, generated: str, corrected: str, dialect: str = "postgres") -> list[Lesson]:
    return draw_lessons(compare_queries(generated, corrected, dialect, question), question, generated, corrected)


def beside_the_pair(question: str, generated: str, corrected: str) -> list[tuple[str, str, str, float | None]]:
    made = learned(question, generated, corrected)[1:]
    return [(lesson.kind, lesson.key, lesson.value, lesson.confidence) for lesson in made]


def test_the_pair_itself_is_kept_as_an_example() -> None:
    pair = learned("Show me client orders", "SELECT * FROM clients", "SELECT * FROM customers")[0]
    assert (pair.kind, pair.key, pair.source, pair.owned_by) == (
        "correction",
        "Show me client orders",
        "correction",
        "user",
    )
    assert pair.data == {
        "original_query": "Show me client orders",
        "generated_sql": "SELECT * FROM clients",
        "corrected_sql": "SELECT * FROM customers",
        "correction_type": "wrong_table",
        "learned_mapping": "clients → customers",
        "changes": ["table_substitution"],
    }


def test_a_table_is_learned_by_its_wrong_name_and_by_the_word_it_came_from() -> None:
    _, name, word = learned("Show me client orders", "SELECT * FROM clients", "SELECT * FROM customers")
    assert (name.key, word.key) == ("clients", "client")
    assert name.value == word.value == "refers to customers table"
    assert name.data == {"entity_type": "table", "canonical_term": "customers", "table_name": "customers"}
    assert (name.kind, name.confidence, name.owner) == ("terminology", 0.95, "user")


def test_a_column_is_learned_with_its_table() -> None:
    _, lesson = learned("total revenue", "SELECT SUM(revenue) FROM orders", "SELECT SUM(total_amount) FROM orders")
    assert (lesson.key, lesson.value) == ("revenue", "refers to orders.total_amount")
    assert lesson.data == {"entity_type": "column", "canonical_term": "total_amount", "table_name": "orders"}


@pytest.mark.parametrize(
    ("question", "condition", "expected"),
    [
        ("How many orders?", "status <> 'test'", ["default_filter:orders.status"]),
        ("How many orders in total?", "deleted_at IS NULL", ["default_filter:orders.deleted_at"]),
        ("How many test orders?", "status = 'test'", []),
        ("How many orders were cancelled?", "status = 'cancelled'", []),
        ("orders in progress", "status = 'in_progress'", []),
        ("已取消的订单", "status = '已取消'", []),
        ("orders over 10,000", "total > 10000", []),
        ("orders over 10k", "total > 10000", []),
        ("金额超过1万的订单", "total > 10000", []),
        ("orders with five items", "items = 5", []),
        ("orders of 2024", "at >= '2024-01-01' AND at < '2025-01-01'", []),
        ("orders of last month", "at >= CURRENT_DATE - INTERVAL '1 month'", []),
        ("premium orders", "is_premium", []),
    ],
)
def test_an_added_filter_is_a_default_unless_the_question_asked_for_it(
    question: str, condition: str, expected: list[str]
) -> None:
    assert [key for _, key, _, _ in beside_the_pair(question, COUNT, f"{COUNT} WHERE {condition}")] == expected


def test_a_default_filter_is_seen_once_and_says_its_condition() -> None:
    made = beside_the_pair("How many orders?", COUNT, f"{COUNT} WHERE NOT is_test")
    assert made == [("preference", "default_filter:orders.is_test", "orders.is_test = FALSE", 0.7)]


@pytest.mark.parametrize(
    ("question", "before", "after", "expected"),
    [
        ("recent orders", "at > NOW() - INTERVAL '7 days'", "at > NOW() - INTERVAL '30 days'", ["recent"]),
        ("最近的订单", "at > NOW() - INTERVAL '7 days'", "at > NOW() - INTERVAL '30 days'", ["最近"]),
        ("active orders", "status = 'active'", "closed_at IS NULL", ["active"]),
        ("critical orders", "level = 'critical'", "level IN ('critical', 'fatal')", ["critical"]),
        ("orders", "at > NOW() - INTERVAL '7 days'", "at > NOW() - INTERVAL '30 days'", []),
        ("recent orders", "country = 'DE'", "country = 'AT'", []),  # no time in it
        ("recent orders over 30", "total > 20", "total > 30", []),  # asked for
    ],
)
def test_a_changed_filter_defines_the_vague_word_that_it_can_mean(
    question: str, before: str, after: str, expected: list[str]
) -> None:
    made = learned(question, f"{COUNT} WHERE {before}", f"{COUNT} WHERE {after}")[1:]
    assert [lesson.key for lesson in made] == expected
    assert all(lesson.kind == "definition" and lesson.confidence == 0.9 for lesson in made)
    assert all(lesson.data == {"sql_hint": lesson.value} for lesson in made)


def test_an_added_filter_on_time_defines_recent_instead_of_holding_for_ever() -> None:
    made = beside_the_pair("recent orders", COUNT, f"{COUNT} WHERE at > CURRENT_DATE - 30")
    assert made == [("definition", "recent", "orders.at > CURRENT_DATE - 30", 0.9)]


@pytest.mark.parametrize(
    ("question", "generated", "corrected", "expected"),
    [
        ("order value", "SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t", [("aggregation:t.x", "AVG(t.x)")]),
        ("average order value", "SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t", []),
        ("sales", "SELECT SUM(x) FROM t", "SELECT kind, SUM(x) FROM t GROUP BY kind", [("grouping:t", "by t.kind")]),
        ("sales by kind", "SELECT SUM(x) FROM t", "SELECT kind, SUM(x) FROM t GROUP BY kind", []),
        (
            "sales trend",
            "SELECT date_trunc('month', at), SUM(x) FROM t GROUP BY 1",
            "SELECT date_trunc('week', at), SUM(x) FROM t GROUP BY 1",
            [("time_grain", "week")],
        ),
        (
            "weekly sales",
            "SELECT date_trunc('month', at), SUM(x) FROM t GROUP BY 1",
            "SELECT date_trunc('week', at), SUM(x) FROM t GROUP BY 1",
            [],
        ),
    ],
)
def test_a_habit_is_a_preference_unless_the_question_asked_for_it(
    question: str, generated: str, corrected: str, expected: list[tuple[str, str]]
) -> None:
    made = beside_the_pair(question, generated, corrected)
    assert [(key, value) for _, key, value, _ in made] == expected
    assert all((kind, sure) == ("preference", 0.7) for kind, _, _, sure in made)


@pytest.mark.parametrize(
    "corrected",
    [
        "SELECT id FROM orders ORDER BY at",
        "SELECT id FROM orders LIMIT 5",
        "SELECT id, at FROM orders",
        "SELECT orders.id FROM orders JOIN lines ON lines.order_id = orders.id",
        "SELECT number FROM invoices WHERE NOT is_test ORDER BY at LIMIT 5",  # too much to know which of it holds
        "SELECT customer FROM orders GROUP BY customer HAVING SUM(total) > 5",  # of groups, not of a table
    ],
)
def test_of_other_changes_and_of_many_only_the_pair_is_kept(corrected: str) -> None:
    made = learned("orders", "SELECT id FROM orders", corrected)
    assert [lesson.kind for lesson in made if lesson.kind != "terminology"] == ["correction"]
    assert len(made) == 1 or "GROUP BY" in corrected


def test_equivalent_queries_teach_nothing() -> None:
    assert learned("orders", "SELECT COUNT(1) FROM orders", COUNT) == []


def test_long_questions_and_queries_still_fit() -> None:
    question = "orders " * 400
    wide = "SELECT " + ", ".join(f"column_{i}" for i in range(400)) + " FROM orders"
    pair = learned(question, wide, f"{wide} LIMIT 5")[0]
    assert len(pair.key) == 200
    assert pair.data is not None
    assert pair.data["corrected_sql"] == f"{wide} LIMIT 5"


def test_every_lesson_names_the_database_where_there_are_several() -> None:
    correction = compare_queries("SELECT a FROM t", "SELECT a FROM u", "sqlite", "a of t")
    made = draw_lessons(correction, "a of t", "SELECT a FROM t", "SELECT a FROM u", source="shop")
    assert {(lesson.data or {})["source"] for lesson in made} == {"shop"}


def test_a_question_is_needed() -> None:
    with pytest.raises(InvalidInput, match="question: is empty"):
        draw_lessons(
            compare_queries("SELECT a FROM t", "SELECT b FROM t", "sqlite"), " ", "SELECT a FROM t", "SELECT b FROM t"
        )


def test_no_word_is_vague_in_two_ways() -> None:
    words = [word for kind in load_vocabulary()["vague"].values() for word in kind]
    assert len(words) == len(set(words))
