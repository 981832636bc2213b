"""A small library without declared keys, its model drafted from what the database itself says: a copy is named only by
`copy_id`, a reader by two names, a branch is a hub between readers and copies. `asked` reads, renders and runs a
question, `read` only reads it."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

TODAY = date(2024, 12, 31)
DATA = """
CREATE TABLE clerk (id INTEGER PRIMARY KEY, clerk_name TEXT NOT NULL, salary REAL, hire_date TEXT NOT NULL);
CREATE TABLE branch (id INTEGER PRIMARY KEY, branch_name TEXT NOT NULL, clerk_id INTEGER NOT NULL);
CREATE TABLE writer (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL);
CREATE TABLE book (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, writer_id INTEGER NOT NULL, subject TEXT NOT NULL,
    published_year INTEGER NOT NULL
);
CREATE TABLE book_copy (
    id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL, branch_id INTEGER NOT NULL, purchase_price REAL NOT NULL
);
CREATE TABLE reader (
    id INTEGER PRIMARY KEY, given_name TEXT NOT NULL, surname TEXT NOT NULL, membership_type TEXT NOT NULL,
    home_branch_id INTEGER NOT NULL
);
CREATE TABLE loan (
    id INTEGER PRIMARY KEY, copy_id INTEGER NOT NULL, reader_id INTEGER NOT NULL, status TEXT NOT NULL,
    loan_date TEXT NOT NULL
);
CREATE TABLE fine (
    id INTEGER PRIMARY KEY, loan_id INTEGER NOT NULL, amount REAL NOT NULL, issued_on TEXT NOT NULL,
    is_paid INTEGER NOT NULL
);
CREATE TABLE event (id INTEGER PRIMARY KEY, event_name TEXT NOT NULL, branch_id INTEGER NOT NULL, held_on TEXT);
INSERT INTO clerk VALUES (1, 'Eva', 3000, '2023-01-01'), (2, 'Fay', 3100, '2022-01-01');
INSERT INTO branch VALUES (1, 'Harbour', 1), (2, 'Central', 2);
INSERT INTO writer VALUES (1, 'Ann Lee'), (2, 'Bo Tan'), (3, 'Dune');
INSERT INTO book VALUES (1, 'Dune', 1, 'Fiction', 2024), (2, 'Soup', 2, 'Cooking', 1999),
    (3, 'Ice', 3, 'Fiction', 1980), (4, 'Moon', 2, 'Art', 2024);
INSERT INTO book_copy VALUES (1, 1, 1, 10), (2, 2, 1, 20), (3, 2, 2, 30), (4, 3, 2, 40);
INSERT INTO reader VALUES (1, 'Ann', 'Lee', 'student', 1), (2, 'Cy', 'Ray', 'senior', 2),
    (3, 'Di', 'Fox', 'student', 2);
INSERT INTO loan VALUES (1, 1, 1, 'placed', '2023-05-01'), (2, 2, 1, 'done', '2024-01-05'),
    (3, 2, 2, 'done', '2024-02-01'), (4, 3, 1, 'placed', '2024-03-01');
INSERT INTO fine VALUES (1, 1, 2.5, '2023-07-01', 1), (2, 2, 4, '2024-02-01', 0);
INSERT INTO event VALUES (1, 'Reading night', 1, '2024-04-01'), (2, 'Quiz', 2, '2024-05-01');
"""


LIBRARY = Drafted(DATA, TODAY)
library, read, asked = LIBRARY.both, LIBRARY.read, LIBRARY.asked
