"""An invented shop for the tests of frames: a catalog, a model written by hand, and the same as a database. Orders
have a total of their own and lines of their own; products have makers and lie in boxes, many in many."""

from __future__ import annotations

import sqlite3
from datetime import date

from recollect.sql.catalog import Catalog, Column, ForeignKey, Table
from recollect.sql.frame import Frame
from recollect.sql.known import Known
from recollect.sql.reading import Reading, read_question
from recollect.sql.render import sql_of
from recollect.sql.semantic import Definition, Dimension, Entity, Join, Measure, Moment, SemanticModel

TODAY = date(2024, 5, 15)


def text(name: str, *values: str, nullable: bool = False) -> Column:
    return Column(name, "text", "TEXT", nullable, values=values, is_complete=bool(values))


def number(name: str) -> Column:
    return Column(name, "integer", "INTEGER", False)


def catalog(dialect: str = "sqlite") -> Catalog:
    buyers = Table(
        "buyers",
        (
            number("id"),
            text("full_name", "Ann Lee", "Bo Chan", "Cy Dahl"),
            text("town", "Bern", "Oslo"),
            text("phone", nullable=True),
        ),
        ("id",),
    )
    makers = Table("makers", (number("id"), text("name", "Acme", "Zorn", "Idle")), ("id",))
    products = Table(
        "products",
        (
            number("id"),
            text("name", "Lamp", "Desk", "Chair"),
            text("color", "red", "blue"),
            number("seconds"),
            number("maker_id"),
        ),
        ("id",),
        (ForeignKey(("maker_id",), "makers", ("id",)),),
    )
    orders = Table(
        "orders",
        (
            number("id"),
            number("buyer_id"),
            Column("placed", "date", "DATE", False, low="2022-01-05", high="2024-05-02"),
            Column("total", "number", "NUMERIC", False),
        ),
        ("id",),
        (ForeignKey(("buyer_id",), "buyers", ("id",)),),
    )
    lines = Table(
        "lines",
        (
            number("id"),
            number("order_id"),
            number("product_id"),
            number("pieces"),
            Column("amount", "number", "NUMERIC", False),
        ),
        ("id",),
        (ForeignKey(("order_id",), "orders", ("id",)), ForeignKey(("product_id",), "products", ("id",))),
    )
    packed = Table(
        "packed",
        (number("box_id"), number("product_id")),
        ("box_id", "product_id"),
        (ForeignKey(("box_id",), "boxes", ("id",)), ForeignKey(("product_id",), "products", ("id",))),
    )
    boxes = Table("boxes", (number("id"), text("label", "Large", "Small")), ("id",))
    return Catalog(dialect, (buyers, makers, products, orders, lines, packed, boxes))


def join(table: str, column: str, to: str, *names: str) -> Join:
    return Join(table, (column,), to, ("id",), names)


def model() -> SemanticModel:
    entities = (
        Entity("buyers", ("buyer", "buyers", "customer"), ("id",), ("full_name",)),
        Entity("makers", ("maker", "makers"), ("id",), ("name",)),
        Entity("products", ("product", "products"), ("id",), ("name",)),
        Entity("orders", ("order", "orders"), ("id",)),
        Entity("lines", ("order line", "order lines"), ("id",)),
        Entity("boxes", ("box", "boxes"), ("id",), ("label",)),
    )
    dimensions = (
        Dimension("buyers", "full_name", ("name", "buyer name")),
        Dimension("buyers", "town", ("town", "city")),
        Dimension("buyers", "phone", ("phone",)),
        Dimension("makers", "name", ("name", "maker name")),
        Dimension("products", "name", ("name", "product name")),
        Dimension("products", "color", ("color", "colour")),
        Dimension("boxes", "label", ("label",)),
    )
    measures = (
        Measure("orders", "total", ("total", "sales", "revenue")),
        Measure("lines", "amount", ("amount", "sales", "revenue")),
        Measure("lines", "pieces", ("quantity", "units")),
        Measure("products", "seconds", ("seconds", "duration"), "avg"),
    )
    joins = (
        join("orders", "buyer_id", "buyers"),
        join("lines", "order_id", "orders"),
        join("lines", "product_id", "products"),
        join("products", "maker_id", "makers"),
        join("packed", "box_id", "boxes"),
        join("packed", "product_id", "products"),
    )
    definitions = (Definition(("loyal",), "buyers", "id < 3", meaning="one of the first two"),)
    return SemanticModel(
        entities, dimensions, measures, (Moment("orders", "placed", ("order date",), "date", True),), joins, definitions
    )


DATA = """
CREATE TABLE buyers (id INTEGER PRIMARY KEY, full_name TEXT, town TEXT, phone TEXT);
CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, color TEXT, seconds INTEGER, maker_id INTEGER);
CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer_id INTEGER, placed DATE, total NUMERIC);
CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER, product_id INTEGER, pieces INTEGER, amount NUMERIC);
CREATE TABLE boxes (id INTEGER PRIMARY KEY, label TEXT);
CREATE TABLE packed (box_id INTEGER, product_id INTEGER, PRIMARY KEY (box_id, product_id));
INSERT INTO buyers VALUES (1, 'Ann Lee', 'Bern', '1'), (2, 'Bo Chan', 'Oslo', NULL), (3, 'Cy Dahl', 'Oslo', '3');
INSERT INTO makers VALUES (1, 'Acme'), (2, 'Zorn'), (3, 'Idle');
INSERT INTO products VALUES (1, 'Lamp', 'red', 60, 1), (2, 'Desk', 'blue', 300, 1), (3, 'Chair', 'red', 90, 2);
INSERT INTO orders VALUES (1, 1, '2022-01-05', 30), (2, 1, '2023-03-31', 50),
    (3, 2, '2023-04-01', 20), (4, 2, '2024-05-02', 10);
INSERT INTO lines VALUES (1, 1, 1, 1, 10), (2, 1, 2, 1, 20), (3, 2, 2, 2, 50), (4, 3, 3, 4, 20), (5, 4, 1, 1, 10);
INSERT INTO boxes VALUES (1, 'Large'), (2, 'Small');
INSERT INTO packed VALUES (1, 1), (1, 2), (2, 1);
"""

MODEL, CATALOG = model(), catalog()


def read(question: str, last: Frame | None = None, known: Known | None = None) -> Reading:
    return read_question(question, MODEL, CATALOG, known=known or Known(), last=last, today=TODAY)


def framed(*questions: str) -> Frame:
    """The frame of the last of these questions, each asked after the other."""
    last: Frame | None = None
    for question in questions:
        reading = read(question, last)
        assert reading.frame is not None, (question, reading.clarifications, reading.refused)
        last = reading.frame
    assert last is not None
    return last


def opened() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(DATA)
    return connection


def answers(*questions: str) -> list[tuple[object, ...]]:
    connection = opened()
    try:
        return connection.execute(sql_of(framed(*questions), MODEL, CATALOG)).fetchall()
    finally:
        connection.close()
