"""A workshop that sells what it makes: promised and actual days, rates of discount, a stock and what it must not fall
below. For questions that compare, divide and reckon. `asked` reads, renders and runs a question, `read` only reads."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

DATA = """
CREATE TABLE shops (shop_id INTEGER PRIMARY KEY, shop_name TEXT NOT NULL);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, customer_name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE categories (category_id INTEGER PRIMARY KEY, category_name TEXT NOT NULL);
CREATE TABLE products (
    product_id INTEGER PRIMARY KEY, product_name TEXT NOT NULL,
    category_id INTEGER REFERENCES categories(category_id), list_price REAL NOT NULL,
    units_in_stock INTEGER NOT NULL, reorder_level INTEGER NOT NULL
);
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(customer_id),
    shop_id INTEGER REFERENCES shops(shop_id), order_date DATE NOT NULL, required_date DATE NOT NULL,
    shipped_at DATETIME
);
CREATE TABLE order_lines (
    line_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(order_id),
    product_id INTEGER NOT NULL REFERENCES products(product_id), quantity INTEGER NOT NULL,
    unit_price REAL NOT NULL, discount REAL NOT NULL
);
INSERT INTO shops VALUES (1, 'Harbour'), (2, 'Market');
INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bo', 'Oslo'), (3, 'Cy', 'Bern'), (4, 'Di', 'Rome');
INSERT INTO categories VALUES (1, 'Tables'), (2, 'Lamps');
INSERT INTO products VALUES
    (1, 'Desk', 1, 100, 5, 10), (2, 'Bench', 1, 60, 20, 10), (3, 'Lantern', 2, 40, 10, 10), (4, 'Bulb', NULL, 8, 0, 5);
INSERT INTO orders VALUES
    (1, 1, 1, '2024-03-02', '2024-03-10', '2024-03-10 09:30:00'),
    (2, 1, 2, '2024-03-09', '2024-03-12', '2024-03-14 10:00:00'),
    (3, 2, 1, '2024-03-30', '2024-04-05', '2024-04-01 08:00:00'),
    (4, 3, NULL, '2024-12-28', '2025-01-05', NULL);
INSERT INTO order_lines VALUES
    (1, 1, 1, 2, 100, 0.1), (2, 2, 3, 5, 40, 0), (3, 3, 2, 1, 60, 0.5), (4, 3, 4, 10, 7, 0), (5, 4, 1, 1, 100, 0.2);
"""
workshop = Drafted(DATA, date(2025, 1, 15))
asked, read = workshop.asked, workshop.read
