"""PostgreSQL: named statements in .sql files, and one class per group of tables that runs them. `Store` in store.py is
the entry point; `open_database` in connection.py makes its pool."""
