"""A small shop, as SQLite, PostgreSQL, DuckDB and MySQL know it, for the tests of data sources."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pymysql
from sqlalchemy import make_url

SCHEMA = """
CREATE TABLE {p}customers (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT, email TEXT, contact TEXT,
                        birth_date DATE, joined_at {moment});
CREATE TABLE {p}products (id INTEGER PRIMARY KEY, title {title} UNIQUE, price NUMERIC(10, 2));
CREATE TABLE {p}orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES {p}customers (id),
                     ordered_on DATE, total NUMERIC(10, 2), note TEXT);
CREATE TABLE {p}order_items (order_id INTEGER REFERENCES {p}orders (id), product_id INTEGER REFERENCES {p}products (id),
                          quantity INTEGER, PRIMARY KEY (order_id, product_id));
CREATE VIEW {p}big_orders AS SELECT id, total FROM {p}orders WHERE total > 10;
INSERT INTO {p}customers VALUES
  (1, 'Ada Byron', 'London', 'ada@example.com', '+44 20 7946 0958', '1815-12-10', '2023-01-05 10:00:00'),
  (2, 'Li Wei', '上海', 'wei@example.com', '+1 212 555 0172', '1990-02-03', '2023-06-01 00:00:00');
INSERT INTO {p}products VALUES (1, 'Tea 100%', 4.10), (2, 'Cup: blue', 9.99), (3, 'Édith', 1);
INSERT INTO {p}orders VALUES (1, 1, '2024-01-31', 14.09, NULL), (2, 2, '2024-02-01', 4.10, 'ring ada@example.com'),
  (3, 2, '2024-02-02', 4.10, 'leave at the door'), (4, 2, '2024-02-03', 4.10, 'gift wrap'),
  (5, 2, '2024-02-04', 4.10, 'no hurry'), (6, 2, '2024-02-05', 4.10, 'a card'), (7, 2, '2024-02-06', 4.10, 'red'),
  (8, 2, '2024-02-07', 4.10, 'blue'), (9, 2, '2024-02-08', 4.10, 'green'), (10, 2, '2024-02-09', 4.10, 'black'),
  (11, 2, '2024-02-10', 4.10, 'white'), (12, 2, '2024-02-11', 4.10, 'pink');
INSERT INTO {p}order_items VALUES (1, 1, 1), (1, 2, 1), (2, 1, 1);
"""


MOMENTS = {"postgres": "TIMESTAMP", "sqlite": "DATETIME", "duckdb": "TIMESTAMP", "mysql": "DATETIME"}


def schema(dialect: str, prefix: str = "") -> str:
    # MySQL has no unique TEXT.
    return SCHEMA.format(p=prefix, moment=MOMENTS[dialect], title="VARCHAR(99)" if dialect == "mysql" else "TEXT")


def sqlite_shop(folder: Path, more: str = "") -> str:
    """The DSN of a new file."""
    return sqlite_file(folder / "shop.db", schema("sqlite") + more)


def sqlite_file(path: Path, sql: str) -> str:
    """The DSN of a new file that is made of these statements."""
    with sqlite3.connect(path) as connection:
        connection.executescript(sql)
    connection.close()
    return f"sqlite:///{path}"


def duckdb_shop(folder: Path, more: str = "") -> str:
    """The DSN of a new file."""
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(schema("duckdb") + more)
    return f"duckdb:///{path}"


def mysql_shop(server: str, more: str = "") -> str:
    """The DSN of a new database on this server."""
    name = f"shop_{uuid4().hex[:12]}"
    with mysql_owner(server) as owner:
        for sql in (
            f"CREATE DATABASE {name} CHARACTER SET utf8mb4",
            f"USE {name}",
            *(schema("mysql") + more).split(";"),
        ):
            if sql.strip():
                owner.cursor().execute(sql)
    return server + name


def mysql_owner(dsn: str) -> Any:
    """A connection of the account in the DSN."""
    url = make_url(dsn)
    return pymysql.connect(
        host=url.host,
        port=url.port,
        user=url.username,
        password=str(url.password).encode(),
        database=url.database or None,
        autocommit=True,
    )
