"""Headers: columns of results have names in words, no two alike."""

from __future__ import annotations

import pytest

from recollect.apps.ask.answers.wording import describe_columns, make_title, write_name


@pytest.mark.parametrize(
    ("column", "header"),
    [
        ("total_sales", "Total sales"),
        ("InvoiceDate", "Invoice date"),
        ("customer_id", "Customer ID"),
        ("COUNT(*)", "Count"),
        ('SUM("sales"."amount")', "Total amount"),
        ("count(distinct customer_id)", "Number of different customer id"),
        ("total amount", "Total amount"),
        ("地区", "地区"),
        ("amount * 1.2 / 3", "amount * 1.2 / 3"),
    ],
)
def test_column_name_is_written_as_words(column: str, header: str) -> None:
    assert write_name(column) == header


def test_headers_that_would_be_equal_are_told_apart() -> None:
    assert describe_columns(("name", "Name", "total")) == ("Name (name)", "Name (Name)", "Total")


def test_title_of_any_other_statement_is_the_question() -> None:
    assert make_title("How many customers are there? ") == "How many customers are there"
    assert make_title("whatever", "Number of customers") == "Number of customers"
    assert len(make_title("x" * 3_000)) == 200
