-- The shop that the gate's tests ask. {json}, {time} and {number} are the types of the database at hand. The columns email and
-- salary and the table secrets are there to be hidden.
CREATE TABLE customers (id integer PRIMARY KEY, name text, region text, email text, tags {json}, created_at {time});
CREATE TABLE orders (
    id integer PRIMARY KEY, customer_id integer, amount {number}, status text, created_at {time}, data {json}
);
CREATE TABLE products (id integer PRIMARY KEY, name text, price {number}, category text);
CREATE TABLE order_items (order_id integer, product_id integer, quantity integer, price {number});
CREATE TABLE employees (id integer PRIMARY KEY, name text, manager_id integer, department text, salary {number}, hired_on date);
CREATE TABLE "Invoices" ("Id" integer PRIMARY KEY, "orderId" integer, "Total Sum" {number});
CREATE TABLE secrets (id integer PRIMARY KEY, name text, token text);
INSERT INTO customers VALUES
    (1, 'Ada', 'North', 'ada@example.org', '["vip", "new"]', '2023-01-15 10:00:00'),
    (2, 'Bo', 'South', 'bo@example.org', '["new"]', '2023-06-01 09:30:00'),
    (3, 'Cy', 'North', NULL, '[]', '2024-02-20 18:45:00'),
    (4, 'D''Arcy', NULL, 'd@example.org', NULL, '2024-03-01 00:00:00');
INSERT INTO orders VALUES
    (10, 1, 120.50, 'paid', '2024-01-05 11:00:00', '{{"items": [{{"sku": "a", "n": 2}}, {{"sku": "b", "n": 1}}], "gift": true}}'),
    (11, 1, 30.00, 'open', '2024-02-10 12:00:00', '{{"items": [], "gift": false}}'),
    (12, 2, 75.25, 'paid', '2024-02-11 13:00:00', '{{"items": [{{"sku": "a", "n": 5}}]}}'),
    (13, 3, 200.00, 'void', '2024-03-15 14:00:00', NULL),
    (14, 3, 10.00, 'paid', '2024-03-16 15:00:00', '{{"a''b": "100%"}}');
INSERT INTO products VALUES (1, 'Pen', 1.50, 'office'), (2, 'Desk', 150, 'furniture'), (3, 'Lamp', 45, 'furniture');
INSERT INTO order_items VALUES (10, 1, 10, 1.50), (10, 3, 1, 45), (11, 1, 20, 1.50), (12, 3, 2, 40), (13, 2, 1, 150);
INSERT INTO employees VALUES
    (1, 'Root', NULL, 'board', 900, '2010-01-01'), (2, 'Eve', 1, 'sales', 500, '2015-05-05'),
    (3, 'Finn', 2, 'sales', 300, '2020-10-10'), (4, 'Gus', 1, 'it', 450, '2018-08-08');
INSERT INTO "Invoices" VALUES (1, 10, 120.50), (2, 12, 75.25);
INSERT INTO secrets VALUES (1, 'root', 'hunter2');
