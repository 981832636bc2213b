"""A dealer who sells cars one by one: a sales rep beside a job that is called so, payments beside sales, contracts that
end, bookings of days to come, purchases beside what is earned. `asked` reads, renders and runs a question."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

DATA = """
CREATE TABLE employees (employeeNumber INTEGER PRIMARY KEY, name TEXT NOT NULL, jobTitle TEXT NOT NULL, salary REAL);
CREATE TABLE customers (
    customerNumber INTEGER PRIMARY KEY, customerName TEXT NOT NULL, country TEXT NOT NULL,
    salesRepEmployeeNumber INTEGER REFERENCES employees (employeeNumber)
);
CREATE TABLE brandlines (line_id INTEGER PRIMARY KEY, line_name TEXT NOT NULL);
CREATE TABLE cars (
    car_id INTEGER PRIMARY KEY, car_name TEXT NOT NULL, line_id INTEGER REFERENCES brandlines (line_id),
    condition TEXT NOT NULL, price_per_car REAL NOT NULL, built_year INTEGER NOT NULL, added_on DATE NOT NULL
);
CREATE TABLE sales (
    sale_id INTEGER PRIMARY KEY, customerNumber INTEGER NOT NULL REFERENCES customers (customerNumber),
    car_id INTEGER NOT NULL REFERENCES cars (car_id), sale_date DATE NOT NULL, status TEXT NOT NULL,
    sale_amount REAL NOT NULL
);
CREATE TABLE payments (
    payment_id INTEGER PRIMARY KEY, customerNumber INTEGER NOT NULL REFERENCES customers (customerNumber),
    paid_on DATE NOT NULL, method TEXT NOT NULL, amount REAL NOT NULL
);
CREATE TABLE test_drives (
    drive_id INTEGER PRIMARY KEY, customerNumber INTEGER NOT NULL REFERENCES customers (customerNumber),
    booked_at DATE NOT NULL, start_date DATE NOT NULL
);
CREATE TABLE purchases (purchase_id INTEGER PRIMARY KEY, bought_on DATE NOT NULL, total_cost REAL NOT NULL);
INSERT INTO employees VALUES (1, 'Ina', 'Sales Rep', 50), (2, 'Joe', 'Sales Rep', 40), (3, 'Kim', 'Boss', 90);
INSERT INTO customers VALUES (1, 'Ann', 'USA', 1), (2, 'Bo', 'France', 1), (3, 'Cy', 'USA', NULL);
INSERT INTO brandlines VALUES (1, 'City'), (2, 'Offroad');
INSERT INTO cars VALUES
    (1, 'Ant', 1, 'New', 20, 2010, '2024-01-01'), (2, 'Bee', 1, 'Used', 5, 2015, '2024-01-01'),
    (3, 'Cat', 2, 'Used', 30, 2020, '2024-01-01');
INSERT INTO sales VALUES
    (1, 1, 1, '2023-05-02', 'done', 20), (2, 1, 2, '2024-03-01', 'on hold', 6), (3, 2, 3, '2024-03-09', 'done', 30),
    (4, 2, 2, '2024-11-30', 'done', 5);
INSERT INTO payments VALUES (1, 1, '2024-03-03', 'card', 10), (2, 2, '2024-03-20', 'cash', 30);
INSERT INTO test_drives VALUES (1, 1, '2024-12-01', '2025-01-04'), (2, 2, '2024-12-30', '2025-02-05');
INSERT INTO purchases VALUES (1, '2024-02-02', 12), (2, '2023-02-02', 3);
"""

DEALER = Drafted(DATA, date(2024, 12, 31))
read, asked = DEALER.read, DEALER.asked
