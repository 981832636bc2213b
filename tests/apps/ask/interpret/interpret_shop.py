"""A small shop in SQLite, read through the real source reader, and helpers that interpret a question over it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from recollect.apps.ask.gate import Allowed, check_sql
from recollect.apps.ask.interpret import (
    Candidate,
    Decision,
    Frame,
    Result,
    SchemaIndex,
    Vocabulary,
    decide,
    link_question,
    propose,
)  # fmt: skip
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.semantic.draft import draft_model
from recollect.apps.ask.sources.address_rules import LOCAL_RULES
from recollect.apps.ask.sources.source import open_source

TODAY = date(2025, 6, 15)
SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, country TEXT, is_active INTEGER, last_login DATE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id),
  order_date DATE, amount REAL, status TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, unit_price REAL);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id),
  product_id INTEGER REFERENCES products(id), quantity INTEGER);
CREATE TABLE airports (code TEXT PRIMARY KEY, city TEXT);
CREATE TABLE flights (number INTEGER PRIMARY KEY, source_airport TEXT REFERENCES airports(code),
  dest_airport TEXT REFERENCES airports(code));
INSERT INTO customers VALUES (1,'Ada','Germany',1,'2025-06-10'),(2,'Ben','France',0,'2025-06-01'),
  (3,'Cleo','Germany',1,'2024-01-05'),(4,'Dan','Spain',1,'2023-03-03');
INSERT INTO orders VALUES (1,1,'2024-03-05',100,'paid'),(2,1,'2025-02-01',50,'paid'),
  (3,2,'2024-12-31',100,'open'),(4,3,'2025-01-01',70,'paid');
INSERT INTO products VALUES (1,'Pen','Office',2),(2,'Desk','Office',100),(3,'Ball','Sport',10);
INSERT INTO order_lines VALUES (1,1,1,5),(2,1,2,1),(3,2,1,10),(4,3,3,2),(5,4,2,1);
INSERT INTO airports VALUES ('AAA',' Aberdeen '),('BBB','Boston'),('CCC','Cork');
INSERT INTO flights VALUES (1,'AAA','BBB'),(2,' AAA','CCC'),(3,'BBB','AAA');
"""


@dataclass(slots=True)
class Shop:
    """The database, its index, and the interpreter over both."""

    path: Path
    catalog: Catalog
    index: SchemaIndex

    def candidates(
        self, question: str, last: Frame | None = None, vocabulary: Vocabulary | None = None
    ) -> list[Candidate]:
        return propose(link_question(question, self.index, vocabulary, today=TODAY, last=last))

    def ask(self, question: str, last: Frame | None = None, vocabulary: Vocabulary | None = None) -> Decision:
        candidates = self.candidates(question, last, vocabulary)
        return decide(candidates, {each.id: Result(self.run(each.sql)) for each in candidates})

    def best(self, question: str, last: Frame | None = None, vocabulary: Vocabulary | None = None) -> Candidate:
        return self.ask(question, last, vocabulary).candidates[0]

    def rows(self, question: str, last: Frame | None = None, vocabulary: Vocabulary | None = None) -> list[Any]:
        return sorted(self.run(self.best(question, last, vocabulary).sql), key=repr)

    def run(self, sql: str) -> tuple[tuple[Any, ...], ...]:
        """Pass the gate, then run: as every path does."""
        tables = {table.name: [column.name for column in table.columns] for table in self.catalog.tables}
        checked = check_sql(sql, "sqlite", Allowed(tables), rows=100)
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return tuple(connection.execute(checked.sql).fetchall())
        finally:
            connection.close()


def open_shop(path: Path, schema: str) -> Shop:
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    connection.close()

    async def read() -> Catalog:
        source = await open_source(f"sqlite:///{path}", rules=LOCAL_RULES)
        try:
            return await source.read_catalog()
        finally:
            await source.close()

    catalog = asyncio.run(read())
    return Shop(path, catalog, SchemaIndex.build(draft_model(catalog), catalog))


def names(rows: Sequence[Sequence[Any]]) -> set[str]:
    return {str(row[0]) for row in rows}
