"""The sample database: a company's sales from 2022 to a last day, written by `make_sample` as a SQLite file.

For trying questions without a database at hand, for the documentation and for the evaluation. The last day is today
unless one is given, so "this year" and "last month" have data. The same last day gives the same data on every machine.
A later last day adds customers, orders and logins and settles open orders; settled orders stay as they are.

Customers and some test accounts in four regions order forty products in eight categories; an order that was not
cancelled is a sale, whose amount is the sum of the order's lines. Nobody in it is real; every address ends in
example.com.
"""

from __future__ import annotations

import random
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, islice
from pathlib import Path

FIRST_DAY = date(2022, 1, 1)
SEED = 20_220_101
CUSTOMERS, EMPLOYEES = 104, 24  # on the first day
NEW_CUSTOMER_DAYS = 14  # in which one customer more signs up
SETTLED_DAYS = 21  # after which an order is delivered, returned or cancelled
Row = tuple[object, ...]
Rows = Sequence[Row]

TABLES = """
CREATE TABLE regions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE employees (
    id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, title TEXT NOT NULL,
    region_id INTEGER NOT NULL REFERENCES regions (id), manager_id INTEGER REFERENCES employees (id),
    hired_on DATE NOT NULL, salary NUMERIC NOT NULL
);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT NOT NULL, city TEXT NOT NULL,
    region_id INTEGER NOT NULL REFERENCES regions (id), tier TEXT NOT NULL, status TEXT NOT NULL,
    is_test BOOLEAN NOT NULL, signed_up_on DATE NOT NULL, last_login_at DATETIME,
    lifetime_value NUMERIC NOT NULL DEFAULT 0
);
CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, category_id INTEGER NOT NULL REFERENCES categories (id),
    price NUMERIC NOT NULL, stock INTEGER NOT NULL
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    employee_id INTEGER NOT NULL REFERENCES employees (id), ordered_at DATETIME NOT NULL, status TEXT NOT NULL,
    channel TEXT NOT NULL
);
CREATE TABLE order_lines (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    product_id INTEGER NOT NULL REFERENCES products (id), quantity INTEGER NOT NULL, unit_price NUMERIC NOT NULL
);
CREATE TABLE sales (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL UNIQUE REFERENCES orders (id),
    region_id INTEGER NOT NULL REFERENCES regions (id), sale_date DATE NOT NULL, amount NUMERIC NOT NULL
);
"""
# The price of a line is the product's; before 2024, when prices rose, nine tenths of it.
UNIT_PRICES = """
UPDATE order_lines SET unit_price = (
    SELECT round(p.price * iif(o.ordered_at < '2024', 0.9, 1), 2) FROM products p, orders o
    WHERE p.id = order_lines.product_id AND o.id = order_lines.order_id)
"""
SALES = """
INSERT INTO sales (order_id, region_id, sale_date, amount)
SELECT o.id, c.region_id, date(o.ordered_at), round(sum(l.quantity * l.unit_price), 2)
FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_lines l ON l.order_id = o.id
WHERE o.status <> 'cancelled' GROUP BY o.id ORDER BY o.id
"""
LIFETIME = """
UPDATE customers SET lifetime_value = coalesce(
    (SELECT round(sum(s.amount), 2) FROM sales s JOIN orders o ON o.id = s.order_id WHERE o.customer_id = customers.id),
    0)
"""

REGIONS = {
    "North": ("Leeds", "Oslo", "Tromsø"),
    "South": ("Lisbon", "Naples", "Seville"),
    "East": ("Gdańsk", "Riga", "Vienna"),
    "West": ("Brest", "Cork", "Porto"),
}
TITLES = ("Sales Representative", "Account Manager", "Support Agent")
FIRST = ("Ada", "Ben", "Chen", "Dana", "Emil", "Fatima", "Greta", "Hugo", "Ines", "Jonas", "Kim", "Lena")
LAST = ("Abel", "Berg", "Costa", "Duarte", "Ek", "Fischer", "Garcia", "Holm", "Ito", "Jansen", "Kaya", "Lind")
KINDS = ("Bakery", "Bikes", "Books", "Clinic", "Coffee", "Design", "Foods", "Garden", "Hotel", "Labs", "Press", "Tools")
TREES = ("Alder", "Ash", "Aspen", "Beech", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Holly", "Larch", "Linden")
MORE_TREES = ("Maple", "Oak", "Pine", "Poplar", "Rowan", "Spruce", "Willow", "Yew")
SUFFIXES = ("", " Group", " House", " Partners")  # so that there are names for 30 years
TIERS, STATUSES = ("standard", "silver", "gold"), ("open", "paused", "closed")
PRODUCTS = {
    "Chairs": ("Desk Chair", "Folding Chair", "Lounge Chair", "Office Stool", "Visitor Chair"),
    "Desks": ("Corner Desk", "Oak Desk", "Reading Desk", "Standing Desk", "Writing Desk"),
    "Lighting": ("Ceiling Light", "Clamp Lamp", "Desk Lamp", "Floor Lamp", "Wall Light"),
    "Storage": ("Bookshelf", "Drawer Unit", "Filing Cabinet", "Key Box", "Locker"),
    "Paper": ("Card Box", "Envelope Pack", "Label Roll", "Notebook", "Printer Paper"),
    "Screens": ("Curved Monitor", "Portable Monitor", "Projector", "Small Monitor", "Wide Monitor"),
    "Audio": ("Conference Phone", "Headset", "Microphone", "Soundbar", "Speaker"),
    "Kitchen": ("Coffee Machine", "Fridge", "Kettle", "Microwave", "Water Cooler"),
}
PRICES = {"Paper": (4, 25), "Lighting": (20, 120), "Desks": (180, 700), "Screens": (140, 620)}
ORDERS_PER_DAY = {2022: 1.0, 2023: 1.25, 2024: 1.75, 2025: 1.5}
LATER_ORDERS_PER_DAY = 1.65


def make_sample(path: Path, last_day: date | None = None) -> None:
    """Write a new file that ends with `last_day`, today (UTC) by default; an existing file is replaced."""
    path.unlink(missing_ok=True)
    until = last_day or datetime.now(UTC).date()
    chance = random.Random(SEED)
    customers = list(list_customers(chance, until))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(TABLES)
        fill(connection, "regions", list(enumerate(REGIONS, 1)))
        fill(connection, "employees", [make_employee(chance, number) for number in range(1, EMPLOYEES + 1)])
        fill(connection, "customers", customers)
        for table, rows in (*make_products(chance), *make_orders(customers, until)):
            fill(connection, table, rows)
        for statement in (UNIT_PRICES, SALES, LIFETIME):
            connection.execute(statement)


def fill(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def make_employee(chance: random.Random, number: int) -> Row:
    """The first four are the managers of the regions, and the first of them is everyone's."""
    region = (number - 1) % 4 + 1
    title = "Regional Manager" if number <= 4 else TITLES[number % 3]
    manager = region if number > 4 else 1 if number > 1 else None
    first, last = FIRST[(number - 1) % 12], LAST[(number * 7) % 12 if number <= 12 else (number * 7 + 3) % 12]
    hired = date(2015, 1, 1) + timedelta(days=chance.randrange(3_400))
    salary = (72_000 if number <= 4 else 38_000) + 500 * chance.randrange(40)
    return number, first, last, title, region, manager, hired.isoformat(), salary


def list_customers(chance: random.Random, until: date) -> Iterator[Row]:
    """Yield the customers who are there from the first day, then those who signed up later."""
    plain = [f"{tree} {kind}" for tree in (*TREES, *MORE_TREES) for kind in KINDS]
    chance.shuffle(plain)
    names = iter(f"{name}{suffix}" for suffix in SUFFIXES for name in plain)
    tests = [f"Test Account {number}" for number in range(1, 9)]
    for number, name in enumerate([*islice(names, CUSTOMERS - len(tests)), *tests], 1):
        signed_up = date(2020, 1, 1) + timedelta(days=chance.randrange(730))
        yield make_customer(chance, number, name, signed_up, until)
    for later in range((until - FIRST_DAY).days // NEW_CUSTOMER_DAYS + 1):
        own = random.Random(SEED + later + 1)  # the same customer whatever the last day is
        signed_up = FIRST_DAY + timedelta(days=later * NEW_CUSTOMER_DAYS + own.randrange(NEW_CUSTOMER_DAYS))
        if signed_up <= until:
            yield make_customer(own, CUSTOMERS + later + 1, next(names), signed_up, until)


def make_customer(chance: random.Random, number: int, name: str, signed_up: date, until: date) -> Row:
    region = chance.choices(range(1, 5), (4, 3, 2, 3))[0]
    city = chance.choice(REGIONS[list(REGIONS)[region - 1]])
    email = f"office@{name.lower().replace(' ', '-')}.example.com"
    tier, status = chance.choices(TIERS, (6, 3, 1))[0], chance.choices(STATUSES, (8, 1, 1))[0]
    ago = timedelta(days=int(chance.expovariate(1 / 70)), minutes=chance.randrange(1_440))
    login = max(datetime.combine(until, time(23, 59)) - ago, datetime.combine(signed_up, time(9)))
    seen = login.isoformat(" ") if number % 26 else None
    is_test = int(name.startswith("Test"))
    return number, name, email, city, region, tier, status, is_test, signed_up.isoformat(), seen, 0


def make_products(chance: random.Random) -> Iterator[tuple[str, Rows]]:
    yield "categories", list(enumerate(PRODUCTS, 1))
    named = [(name, of, kind) for of, kind in enumerate(PRODUCTS, 1) for name in PRODUCTS[kind]]
    products = list[Row]()
    for number, (name, of, kind) in enumerate(named, 1):
        price = chance.randrange(*PRICES.get(kind, (30, 300))) + chance.choice((0.49, 0.95, 0.99))
        stock = chance.randrange(1, 400) if number % 13 else 0  # of every thirteenth product there is none
        products.append((number, name, of, price, stock))
    yield "products", products


def make_orders(customers: Rows, until: date) -> Iterator[tuple[str, Rows]]:
    """Yield orders and their lines. Each day has random numbers of its own, so that a later last day changes none of
    the earlier days. One product in twenty never sells, and one customer in thirteen never orders."""
    weights = random.Random(SEED)
    known = sorted((str(row[8]), int(str(row[0]))) for row in customers)  # by the day they signed up
    often = list(accumulate(1 + 9 * weights.random() ** 3 if number % 13 else 0 for _, number in known))
    sold = [product for product in range(1, 41) if product % 20]
    orders, lines = list[Row](), list[Row]()
    for day in map(date.fromordinal, range(FIRST_DAY.toordinal(), until.toordinal() + 1)):
        chance = random.Random(day.toordinal())
        count = bisect_right(known, day.isoformat(), key=lambda each: each[0])
        mean = ORDERS_PER_DAY.get(day.year, LATER_ORDERS_PER_DAY)
        for at in sorted(chance.randrange(600) for _ in range(int(mean) + (chance.random() < mean % 1))):
            _, customer = chance.choices(known[:count], cum_weights=often[:count])[0]
            orders.append(make_order(chance, len(orders) + 1, customer, day, at, until))
            for product in chance.sample(sold, chance.choices((1, 2, 3, 4), (4, 3, 2, 1))[0]):
                quantity = chance.choices((1, 2, 3, 10), (6, 3, 2, 1))[0]
                lines.append((len(lines) + 1, len(orders), product, quantity, 0))  # UNIT_PRICES sets the price
    yield "orders", orders
    yield "order_lines", lines


def make_order(chance: random.Random, number: int, customer: int, day: date, minute: int, until: date) -> Row:
    at = datetime.combine(day, time(8)) + timedelta(minutes=minute)
    settled = chance.choices(("delivered", "cancelled", "returned"), (90, 7, 3))[0]
    is_open = (until - day).days <= SETTLED_DAYS
    status = ("shipped" if number % 3 else "placed") if is_open else settled
    channel = chance.choices(("web", "phone", "store"), (6, 2, 2))[0]
    return number, customer, chance.randrange(5, EMPLOYEES + 1), at.isoformat(" "), status, channel
