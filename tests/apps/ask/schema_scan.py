"""A look at every column of every table of the store, as its owner, for words that should not be there."""

from __future__ import annotations

import psycopg
from psycopg import sql

COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = 'recollect' AND table_name <> 'schema_migration' ORDER BY 1, 2
"""


def scan(database: str, *words: str, apart: bool = False) -> list[str]:
    """Every `table.column: word` that has one of the words, whatever the column's type. `apart`: only where the word
    stands alone, because it is so short that an id or a figure may have it by chance."""
    found = []
    with psycopg.connect(database) as owner:
        for table, column, kind in owner.execute(COLUMNS.encode()).fetchall():
            told = sql.SQL("encode({}, 'escape')" if kind == "bytea" else "{}::text").format(sql.Identifier(column))
            place = sql.Identifier("recollect", table)
            for word in words:
                pattern = f"(^|[^0-9a-z.-]){word}([^0-9a-z]|$)" if apart else word.replace(".", "[.]")
                query = sql.SQL("SELECT count(*) FROM {} WHERE {} ~* %s").format(place, told)
                row = owner.execute(query, [pattern]).fetchone()
                if row and row[0]:
                    found.append(f"{table}.{column}: {word} ({row[0]})")
    return found
