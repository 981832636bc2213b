"""Shapes: what many ask, without what anybody asked."""

from __future__ import annotations

import pytest

from recollect.apps.ask.memories.patterns import fill_pattern, match_pattern, shape_of


@pytest.mark.parametrize(
    ("question", "sql", "prompt", "shape"),
    [
        (
            "Sales in Berlin?",
            "SELECT sum(amount) FROM sales WHERE city = 'Berlin'",
            "sales in {{p1}}",
            "SELECT SUM(amount) FROM sales WHERE city = '{{p1}}'",
        ),
        (
            "customers with more than 5 orders",
            "SELECT name FROM c GROUP BY name HAVING count(*) > 5 LIMIT 100",
            "customers with more than {{p1}} orders",
            "SELECT name FROM c GROUP BY name HAVING COUNT(*) > '{{p1}}' LIMIT 100",
        ),
        (
            "sales for 2024",
            "SELECT 1 FROM s WHERE d >= '2024-01-01' AND d < '2025-01-01'",
            "sales for 2024",
            "SELECT 1 FROM s WHERE d >= '2024-01-01' AND d < '2025-01-01'",
        ),
    ],
)
def test_literals_become_parameters(question: str, sql: str, prompt: str, shape: str) -> None:
    found = shape_of(question, sql, "sqlite")
    assert found is not None
    assert (found.prompt, found.sql) == (prompt, shape)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("sales of our best friend", "SELECT 1 FROM s WHERE name = 'Ada Lovelace'"),
        ("orders of account 4711471147", "SELECT 1 FROM s"),
        ("sales", "SELECT FROM WHERE"),
    ],
)
def test_what_nobody_said_or_what_may_be_personal_has_no_shape(question: str, sql: str) -> None:
    assert shape_of(question, sql, "sqlite") is None


def test_a_shape_answers_the_question_it_was_made_of() -> None:
    question, sql = "orders over 50 in Rome", "SELECT 1 FROM o WHERE city = 'Rome' AND total > 50"
    shape = shape_of(question, sql, "sqlite")
    assert shape is not None
    values = match_pattern(shape, "orders over 70 in Oslo")
    assert values is not None
    assert fill_pattern(shape, values) == "SELECT 1 FROM o WHERE city = 'Oslo' AND total > 70"
