"""What SQLAlchemy has to know of DuckDB to read a catalog and build a SELECT. Nothing in it writes."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import types
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import IdentifierPreparer

TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.SMALLINT,
    "UTINYINT": types.SMALLINT,
    "SMALLINT": types.SMALLINT,
    "USMALLINT": types.INTEGER,
    "INTEGER": types.INTEGER,
    "UINTEGER": types.BIGINT,
    "BIGINT": types.BIGINT,
    "UBIGINT": types.BIGINT,
    "HUGEINT": types.BIGINT,
    "UHUGEINT": types.BIGINT,
    "FLOAT": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "UUID": types.UUID,
}
DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
TEXT = re.compile(r"'((?:[^']|'')*)'")


class OtherType(types.UserDefinedType[Any]):
    """A list, a structure or whatever else, by its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


class QuotedNames(IdentifierPreparer):
    """Quotes every name: case does not matter in DuckDB, and its list of reserved words is long."""

    def _requires_quotes(self, value: str) -> bool:
        return True


class DuckDBDialect(DefaultDialect):
    name = "duckdb"
    driver = "duckdb"
    preparer = QuotedNames
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True

    @classmethod
    def import_dbapi(cls) -> Any:
        import duckdb

        return duckdb

    def initialize(self, connection: Any) -> None:
        self.default_schema_name = "main"

    def get_schema_names(self, connection: Any, **_: Any) -> list[str]:
        sql = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() AND NOT internal"
        return sorted({"main", *(row[0] for row in connection.exec_driver_sql(sql))})

    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        return self._names(connection, "duckdb_tables()", "table_name", schema)

    def get_view_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        return self._names(connection, "duckdb_views()", "view_name", schema)

    def _names(self, connection: Any, source: str, column: str, schema: str | None) -> list[str]:
        sql = (
            f"SELECT {column} FROM {source} WHERE database_name = current_database() AND schema_name = ?"
            " AND NOT internal ORDER BY 1"
        )
        return [row[0] for row in connection.exec_driver_sql(sql, (schema or "main",))]

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        sql = (
            "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE"
            " database_name = current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index"
        )
        rows = connection.exec_driver_sql(sql, (schema or "main", table_name))
        return [
            {"name": name, "type": read_type(kind), "nullable": nullable, "default": None, "comment": comment}
            for name, kind, nullable, comment in rows
        ]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        keys = self._constraints(connection, table_name, schema, "PRIMARY KEY")
        return {"constrained_columns": list(keys[0][0]) if keys else [], "name": None}

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        return [
            {
                "name": None,
                "constrained_columns": list(columns),
                "referred_schema": schema,
                "referred_table": table,
                "referred_columns": list(referred),
            }
            for columns, table, referred in self._constraints(connection, table_name, schema, "FOREIGN KEY")
        ]

    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        found = self._constraints(connection, table_name, schema, "UNIQUE")
        return [{"name": None, "column_names": list(columns)} for columns, _, _ in found]

    def _constraints(self, connection: Any, table_name: str, schema: str | None, kind: str) -> list[Any]:
        sql = (
            "SELECT constraint_column_names, referenced_table, referenced_column_names FROM duckdb_constraints() WHERE"
            " database_name = current_database() AND schema_name = ? AND table_name = ? AND constraint_type = ?"
        )
        return list(connection.exec_driver_sql(sql, (schema or "main", table_name, kind)))

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        return []

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        sql = (
            "SELECT comment FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ?"
            " AND table_name = ?"
        )
        row = connection.exec_driver_sql(sql, (schema or "main", table_name)).first()
        return {"text": row[0] if row else None}


def read_type(text: str) -> types.TypeEngine[Any]:
    """Return the type that DuckDB calls so."""
    if text in TYPES:
        return TYPES[text]()
    if found := DECIMAL.fullmatch(text):
        return types.DECIMAL(int(found[1]), int(found[2]))
    if text.startswith("TIMESTAMP"):
        return types.TIMESTAMP(timezone="TIME ZONE" in text)
    if text.startswith("ENUM(") and text.endswith(")"):
        return types.Enum(*(value.replace("''", "'") for value in TEXT.findall(text)), native_enum=True)
    return OtherType(text)
