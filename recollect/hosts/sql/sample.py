"""The sample database: a company's sales from 2022 to 2025, made afresh as a SQLite file, the same on every machine.

For trying questions without a database at hand, for the documentation and for the evaluation. The calendar is fixed:
the last day is LAST_DAY, and "recent" is meant from there. Two hundred customers and some test accounts in four
regions order forty products in eight categories; an order that was not cancelled is a sale, whose amount is the sum of
the order's lines. Nobody in it is real; every address ends in example.com.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path

FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2025, 12, 31)
ORDERS, CUSTOMERS, EMPLOYEES = 2_000, 208, 24
Rows = Sequence[tuple[object, ...]]

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
MARKET = {2022: 4, 2023: 5, 2024: 7, 2025: 6}  # how much is ordered in a year, beside the others
SEEN = "UPDATE customers SET last_login_at = datetime(last_login_at, ?)"


def make_sample(path: Path, seen_until: date = LAST_DAY) -> None:
    """Writes a new file; what was there is replaced. `seen_until` is the day of the last logins: today, to try "logged
    in within 30 days"."""
    path.unlink(missing_ok=True)
    chance = random.Random(20_220_101)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(TABLES)
        for table, rows in (*people(chance), *goods(chance), *trade(chance)):
            fill(connection, table, rows)
        reprice(connection)
        connection.execute(SALES)
        connection.execute(LIFETIME)
        connection.execute(SEEN, [f"{(seen_until - LAST_DAY).days:+} days"])


def fill(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def people(chance: random.Random) -> Iterator[tuple[str, Rows]]:
    yield "regions", list(enumerate(REGIONS, 1))
    yield "employees", [employee(chance, number) for number in range(1, EMPLOYEES + 1)]
    names = chance.sample([f"{tree} {kind}" for tree in (*TREES, *MORE_TREES) for kind in KINDS], CUSTOMERS - 8)
    tests = [f"Test Account {number}" for number in range(1, 9)]
    yield "customers", [customer(chance, number, name) for number, name in enumerate([*names, *tests], 1)]


def employee(chance: random.Random, number: int) -> tuple[object, ...]:
    """The first four are the managers of the regions, and the first of them is everyone's."""
    region = (number - 1) % 4 + 1
    title = "Regional Manager" if number <= 4 else TITLES[number % 3]
    manager = region if number > 4 else 1 if number > 1 else None
    first, last = FIRST[(number - 1) % 12], LAST[(number * 7) % 12 if number <= 12 else (number * 7 + 3) % 12]
    hired = date(2015, 1, 1) + timedelta(days=chance.randrange(3_400))
    salary = (72_000 if number <= 4 else 38_000) + 500 * chance.randrange(40)
    return number, first, last, title, region, manager, hired.isoformat(), salary


def customer(chance: random.Random, number: int, name: str) -> tuple[object, ...]:
    region = chance.choices(range(1, 5), (4, 3, 2, 3))[0]
    city = chance.choice(REGIONS[list(REGIONS)[region - 1]])
    email = f"office@{name.lower().replace(' ', '-')}.example.com"
    tier, status = chance.choices(TIERS, (6, 3, 1))[0], chance.choices(STATUSES, (8, 1, 1))[0]
    signed_up = date(2020, 1, 1) + timedelta(days=chance.randrange(730))
    ago = timedelta(days=int(chance.expovariate(1 / 70)), minutes=chance.randrange(1_440))
    login = datetime.combine(LAST_DAY, time(23, 59)) - ago
    seen = login.isoformat(" ") if number % 26 else None
    is_test = int(name.startswith("Test"))
    return number, name, email, city, region, tier, status, is_test, signed_up.isoformat(), seen, 0


def goods(chance: random.Random) -> Iterator[tuple[str, Rows]]:
    yield "categories", list(enumerate(PRODUCTS, 1))
    named = [(name, number, kind) for number, kind in enumerate(PRODUCTS, 1) for name in PRODUCTS[kind]]
    yield "products", [(n, name, of, price(chance, kind), stock(chance)) for n, (name, of, kind) in enumerate(named, 1)]


def price(chance: random.Random, kind: str) -> float:
    low, high = PRICES.get(kind, (30, 300))
    return chance.randrange(low, high) + chance.choice((0.0, 0.5, 0.9))


def stock(chance: random.Random) -> int:
    return max(0, chance.randrange(-20, 400))


def trade(chance: random.Random) -> Iterator[tuple[str, Rows]]:
    """One product in twenty never sells, and one customer in thirteen never orders."""
    buyers = [number for number in range(1, CUSTOMERS + 1) if number % 13]
    often = [1 + 9 * chance.random() ** 3 for _ in buyers]
    times = sorted(moment(chance) for _ in range(ORDERS))
    who = chance.choices(buyers, often, k=ORDERS)
    yield "orders", [order(chance, number, by, at) for number, (by, at) in enumerate(zip(who, times, strict=True), 1)]
    yield "order_lines", list(lines(chance))


def moment(chance: random.Random) -> datetime:
    year = chance.choices(list(MARKET), list(MARKET.values()))[0]
    day = date(year, 1, 1) + timedelta(days=chance.randrange(365))
    return datetime.combine(day, time(8)) + timedelta(minutes=chance.randrange(600))


def order(chance: random.Random, number: int, customer: int, at: datetime) -> tuple[object, ...]:
    settled = chance.choices(("delivered", "cancelled", "returned"), (90, 7, 3))[0]
    status = settled if at.date() < date(2025, 12, 10) else "shipped" if number % 3 else "placed"
    channel = chance.choices(("web", "phone", "store"), (6, 2, 2))[0]
    return number, customer, chance.randrange(5, EMPLOYEES + 1), at.isoformat(" "), status, channel


def lines(chance: random.Random) -> Iterator[tuple[object, ...]]:
    """Priced afterwards: the price is the product's."""
    number = 0
    sold = [product for product in range(1, 41) if product % 20]
    for order_id in range(1, ORDERS + 1):
        for product in chance.sample(sold, chance.choices((1, 2, 3, 4), (4, 3, 2, 1))[0]):
            number += 1
            yield number, order_id, product, chance.choices((1, 2, 3, 10), (6, 3, 2, 1))[0], 0


def reprice(connection: sqlite3.Connection) -> None:
    """Prices rose by a tenth at the start of 2024: lines before it were cheaper."""
    connection.execute(
        "UPDATE order_lines SET unit_price = (SELECT round(p.price * iif(o.ordered_at < '2024', 0.9, 1), 2)"
        " FROM products p, orders o WHERE p.id = order_lines.product_id AND o.id = order_lines.order_id)"
    )
