"""Questions to a firm whose orders have no total of their own and whose people report to each other: what a whole order
comes to, who left "the company", and who is whose boss."""

from __future__ import annotations

from datetime import date

import pytest
from drafted import Drafted

DATA = """
CREATE TABLE employees (
    employee_id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, hire_date DATE NOT NULL,
    termination_date DATE, manager_id INTEGER REFERENCES employees (employee_id)
);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, product_name TEXT NOT NULL, kind TEXT NOT NULL);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, customer_name TEXT NOT NULL, town TEXT NOT NULL);
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    employee_id INTEGER NOT NULL REFERENCES employees (employee_id), order_date DATE NOT NULL
);
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    product_id INTEGER NOT NULL REFERENCES products (product_id),
    unit_price NUMERIC NOT NULL, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, product_id)
);
CREATE TABLE shifts (
    shift_id INTEGER PRIMARY KEY, employee_id INTEGER NOT NULL REFERENCES employees (employee_id),
    work_date DATE NOT NULL, hours NUMERIC NOT NULL
);
INSERT INTO shifts VALUES (1, 2, '2024-01-05', 8), (2, 4, '2024-01-05', 4), (3, 4, '2024-01-06', 5);
INSERT INTO employees VALUES (1, 'Ada', 'Berg', '2010-01-01', NULL, NULL), (2, 'Bo', 'Lee', '2012-01-01', NULL, 1),
    (3, 'Cy', 'Moe', '2015-01-01', '2020-05-01', 2), (4, 'Di', 'Ray', '2016-01-01', NULL, 1);
INSERT INTO products VALUES (1, 'Lamp', 'Light'), (2, 'Chair', 'Seat');
INSERT INTO customers VALUES (1, 'Nord', 'Oslo'), (2, 'Sud', 'Rome');
INSERT INTO orders VALUES (1, 1, 2, '2023-02-01'), (2, 1, 2, '2024-02-01'), (3, 2, 4, '2024-03-01');
INSERT INTO order_lines VALUES (1, 1, 10, 1), (1, 2, 20, 1), (2, 1, 10, 5), (3, 2, 20, 5), (3, 1, 10, 2);
"""
FIRM = Drafted(DATA, date(2024, 12, 31))

RIGHT: list[tuple[tuple[str, ...], list[tuple[object, ...]]]] = [
    (("what is the average order value",), [(200 / 3,)]),  # of 30, 50 and 120, and not of the five lines
    (("average order value", "by year"), [("2023", 30.0), ("2024", 85.0)]),
    (("average revenue per order by year",), [("2023", 30.0), ("2024", 85.0)]),
    (("average order value for customers in Oslo",), [(40.0,)]),
    (("highest order value",), [(120.0,)]),
    (("total order value by customer",), [("Sud", 120), ("Nord", 80)]),
    (("who reports to Ada Berg",), [("Bo", "Lee"), ("Di", "Ray")]),
    (("who reports to Ada Berg", "and to Bo Lee?"), [("Cy", "Moe")]),
    (("how many people does Bo Lee manage",), [(1,)]),
    (("who does Cy Moe report to",), [("Cy", "Moe", "Bo", "Lee")]),
    (("how many direct reports does Ada Berg have",), [(2,)]),
    (("which managers have more than 1 direct report",), [("Ada", "Berg", 2)]),
    (("who logged the most hours in 2024",), [("Di", "Ray", 9)]),  # no customer has hours
    (("how many hours were logged in 2024",), [(17,)]),
    (("how many employees have left the company",), [(1,)]),
    (("how many employees have left the company", "by year"), [("2020", 1)]),  # when they left
]


@pytest.mark.parametrize(("chain", "rows"), RIGHT, ids=[" / ".join(chain) for chain, _ in RIGHT])
def test_a_question_gets_the_rows_it_asks_for(chain: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert FIRM.asked(*chain) == rows


@pytest.mark.parametrize(
    "chain",
    [
        ("average order value by kind",),  # an order has several
        ("average order value", "only Light"),
        ("average order value by year", "maximum instead"),
        ("who does not report to Ada Berg",),
        ("how many direct reports are there",),  # of whom
        ("how many business customers are there",),  # what could be a condition is none of "the business"
        ("customers of the company Acme",),
    ],
    ids=" / ".join,
)
def test_what_cannot_be_told_is_asked_back(chain: tuple[str, ...]) -> None:
    last = None
    for question in chain[:-1]:
        last = FIRM.read(question, last).frame
        assert last is not None
    reading = FIRM.read(chain[-1], last)
    assert reading.frame is None
    assert reading.clarifications
