"""A workshop whose rows are told apart by words: states, kinds, codes, flags. Its model is drafted as it stands."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

TODAY = date(2025, 5, 12)
DATA = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT, country TEXT, state TEXT, gender TEXT, customer_type TEXT, smoker TEXT,
    is_vip INTEGER, grade TEXT
);
CREATE TABLE kinds (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, kind_id INTEGER REFERENCES kinds (id), price REAL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), product_id INTEGER REFERENCES products (id),
    order_status TEXT, payment_method TEXT, order_date TEXT, approved TEXT
);
CREATE TABLE shelves (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE stock (
    shelf_id INTEGER REFERENCES shelves (id), product_id INTEGER REFERENCES products (id), quantity INTEGER,
    PRIMARY KEY (shelf_id, product_id)
);
INSERT INTO customers VALUES (1, 'Weber Tools GmbH', 'DE', 'CA', 'F', 'private', 'yes', 1, 'B+'),
    (2, 'Acme Trade', 'US', 'TX', 'M', 'business', 'no', 0, 'B-'),
    (3, 'Acme Foods', 'US', 'CA', 'F', 'business', 'no', 0, 'A');
INSERT INTO kinds VALUES (1, 'Mountain Bikes'), (2, 'Road Bikes'), (3, 'City Bikes');
INSERT INTO products VALUES (1, 'Ridge 100', 1, 900), (2, 'Swift', 2, 1200), (3, 'Errand', 3, 400);
INSERT INTO orders VALUES (1, 1, 1, 'Pending', 'PayPal', '2025-01-02', 'Y'),
    (2, 2, 2, 'Cancelled', 'Cash', '2025-01-03', 'N'), (3, 3, 3, 'waiting_parts', 'PayPal', '2025-02-03', 'Y'),
    (4, 1, 3, 'Returned', 'Cash', '2025-03-03', 'N');
INSERT INTO shelves VALUES (1, 'North'), (2, 'South');
INSERT INTO stock VALUES (1, 1, 5), (1, 2, 0), (2, 1, 1), (2, 3, 0);
"""

WORKSHOP = Drafted(DATA, TODAY)
read, asked = WORKSHOP.read, WORKSHOP.asked
