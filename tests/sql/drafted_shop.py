"""A small shop as companies have one, its model drafted from what the database itself says: five tables, two ways from
a customer to a product, three dates in one table, a status beside them. `asked` reads, renders and runs a question."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

TODAY = date(2024, 12, 31)
DATA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, gender TEXT, city TEXT, signup_date TEXT, birth_date TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, brand TEXT, price REAL, stock_qty INTEGER, is_active INTEGER);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), status TEXT, ship_city TEXT,
    created_at TEXT, shipped_at TEXT, total_amount REAL, shipping_cost REAL, last_update TEXT
);
CREATE TABLE order_items (
    id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), product_id INTEGER REFERENCES products (id),
    quantity INTEGER NOT NULL, unit_price REAL NOT NULL
);
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products (id), customer_id INTEGER REFERENCES customers (id),
    rating INTEGER, created_at TEXT
);
CREATE TABLE refunds (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), amount REAL, created_at TEXT);
CREATE TABLE rides (RideId INTEGER, bike_id INTEGER, duration_min INTEGER, started_on TEXT, release_year INTEGER);
INSERT INTO customers VALUES (1, 'Ann', 'F', 'Bern', '2022-02-01', '1990-01-01'),
    (2, 'Bo', 'M', 'Oslo', '2024-03-01', '1970-01-01'), (3, 'Cy', 'M', 'Oslo', '2023-05-05', '1980-01-01');
INSERT INTO products VALUES (1, 'Lamp', 'Acme', 10, 0, 1), (2, 'Desk', 'Acme', 80, 4, 1),
    (3, 'Chair', 'Zorn', 40, 9, 0);
INSERT INTO orders VALUES
    (1, 1, 'shipped', 'Oslo', '2023-12-30', '2024-01-02', 90, 5, '2024-06-01'),
    (2, 1, 'cancelled', 'Bern', '2024-02-10', NULL, 2000, 5, '2024-06-01'),
    (3, 2, 'shipped', 'Oslo', '2024-12-20', '2024-12-22', 40, 0, '2024-06-01');
INSERT INTO order_items VALUES (1, 1, 1, 1, 10), (2, 1, 2, 1, 80), (3, 2, 2, 25, 80), (4, 3, 3, 1, 40);
INSERT INTO reviews VALUES (1, 1, 3, 5, '2024-01-01'), (2, 2, 1, 2, '2023-01-01');
INSERT INTO refunds VALUES (1, 1, 30, '2024-03-03'), (2, 3, 5, '2024-12-30');
INSERT INTO rides VALUES (1, 7, 30, '2024-01-01', 2010), (2, 7, 90, '2024-01-02', 2011), (3, 8, 60, '2024-02-01', 2010);
"""


SHOP = Drafted(DATA, TODAY)
shop, read, asked = SHOP.both, SHOP.read, SHOP.asked
