"""DuckDB, and CSV and Parquet files through it, opened so that statements reach nothing else. `make_duckdb_opener` is
the entry point; `read_tables` reads the catalog.

A DuckDB file is opened read-only for each connection, so that its owner can write it in between. CSV and Parquet files
are loaded into memory as one table each, and again when a file has changed. Then the file system, extensions and
settings are locked, and a connection runs nothing but one SELECT at a time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import IdentifierPreparer

from recollect.apps.ask.semantic.catalog import Column, ColumnType, ForeignKey, Table
from recollect.apps.ask.sources.address_rules import DUCKDB, TABLE_FILES, Address
from recollect.apps.ask.sources.running import NotConnected

MOST_FILES = 200
MOST_BYTES = 500_000_000  # of all files of a source, on disk
# Nothing is written beside the user's file: a statement that needs more memory fails.
SETTINGS: Mapping[str, Any] = {
    "memory_limit": "2GB",
    "threads": 2,
    "temp_directory": "",
    "allow_community_extensions": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # a table is never a variable of this process
}
# Set after the others, which they would refuse.
LOCKS: Mapping[str, bool] = {"enable_external_access": False, "lock_configuration": True}
PATTERN = re.compile(r"[*?\[\]{}]")  # DuckDB would read such a name as a pattern
ODD_IN_NAME = re.compile(r"[.\"`\\\x00-\x1f]")
FindFile = Callable[[str], Path]
# Column types by the beginning of DuckDB's name.
TYPES: Mapping[str, ColumnType] = {
    r".*[\[\]]": "other",
    r"U?(TINY|SMALL|BIG|HUGE)?INT|DECIMAL\(\d+,0\)": "integer",
    "FLOAT|DOUBLE|DECIMAL": "number",
    "TIMESTAMP": "datetime",
    "DATE": "date",
    "TIME": "time",
    "BOOLEAN": "boolean",
    "VARCHAR|ENUM": "text",
}
COLUMNS = """
SELECT schema_name, table_name, coalesce(t.comment, v.comment, ''), v.view_name IS NOT NULL,
       column_name, data_type, is_nullable, coalesce(c.comment, '')
  FROM duckdb_columns() c
  LEFT JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
  LEFT JOIN duckdb_views() v
    ON (c.database_name, c.schema_name, table_name) = (v.database_name, v.schema_name, view_name)
 WHERE c.database_name = current_database() AND NOT c.internal
 ORDER BY schema_name <> 'main', schema_name, table_name, column_index
"""
KEYS = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
  FROM duckdb_constraints() WHERE database_name = current_database()
"""
TEXT = re.compile(r"'((?:[^']|'')*)'")


class DuckConnection:
    """A DB-API connection. DuckDB's own cursors are connections with a transaction each."""

    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver
        self.close, self.interrupt = driver.close, driver.interrupt

    def begin(self) -> None:
        """Begin a transaction that cannot write."""
        self._driver.execute("BEGIN TRANSACTION READ ONLY")

    def cursor(self) -> DuckCursor:
        return DuckCursor(self._driver)

    def commit(self) -> None:
        """Do nothing: there is nothing to keep."""

    def rollback(self) -> None:
        with suppress(duckdb.TransactionException):  # none was begun
            self._driver.rollback()


class DuckCursor:
    """A cursor that runs one SELECT at a time and refuses anything else."""

    arraysize = 1
    rowcount = -1
    lastrowid = None

    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver
        self.fetchone, self.fetchmany, self.fetchall = driver.fetchone, driver.fetchmany, driver.fetchall

    @property
    def description(self) -> list[Any] | None:
        return self._driver.description

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        statements = self._driver.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise duckdb.ProgrammingError("one SELECT is run at a time, and nothing else")
        self._driver.execute(statements[0], list(parameters))

    def close(self) -> None:
        """Do nothing: the next statement takes the place of this one."""


def make_duckdb_opener(address: Address, find_file: FindFile, find_folder: FindFile) -> Callable[[], DuckConnection]:
    """Return a function that opens a connection. `find_file` and `find_folder` return what may be opened, with links
    followed; they are called each time, because a link may have changed."""
    if address.driver == DUCKDB:
        return lambda: DuckConnection(open_database(find_file(address.file)))
    return LoadedFiles(address, find_file, find_folder).connect


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    return lock_settings(duckdb.connect(str(path), read_only=True, config=dict(SETTINGS)))


def lock_settings(driver: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Lock the file system and the settings, and return the connection. Connections to one file share a database, which
    may be locked already."""
    for setting, value in LOCKS.items():
        with suppress(duckdb.InvalidInputException):
            driver.execute(f"SET {setting} = {str(value).lower()}")
    for setting, value in LOCKS.items():
        if driver.execute("SELECT current_setting(?)", [setting]).fetchall() != [(value,)]:
            raise NotConnected(f"DuckDB does not take {setting} = {value}")
    return driver


class LoadedFiles:
    """CSV or Parquet files in an in-memory database."""

    def __init__(self, address: Address, find_file: FindFile, find_folder: FindFile) -> None:
        self._address = address
        self._find_file, self._find_folder = find_file, find_folder
        self._lock = Lock()
        self._state: object = None
        self._database: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> DuckConnection:
        """Return a connection to the tables as the files are now."""
        with self._lock:
            try:
                files = self.find_files()
                state = [(str(file), stat.st_mtime_ns, stat.st_size) for file in files for stat in [file.stat()]]
            except OSError as error:
                raise NotConnected(f"the files cannot be read: {error}") from None
            if self._database is None or self._state != state:
                if sum(size for _, _, size in state) > MOST_BYTES:
                    raise NotConnected(f"the files have more than {MOST_BYTES:,} bytes; use a DuckDB file (duckdb:///)")
                self._database = load_tables(files, self._address.driver)
                self._state = state
            return DuckConnection(self._database.cursor())

    def find_files(self) -> list[Path]:
        """Return the file of the address, or the files of its folder, each checked by itself."""
        given, endings = self._address.file, TABLE_FILES[self._address.driver]
        if given.lower().endswith(endings):
            return [self._find_file(given)]
        folder = self._find_folder(given)
        names = sorted(each.name for each in folder.iterdir() if each.name.lower().endswith(endings))
        if not names or len(names) > MOST_FILES:
            raise NotConnected(f"{folder} has {len(names)} files that end in {' or '.join(endings)}; 1 to {MOST_FILES}")
        return [self._find_file(str(folder / name)) for name in names]


def load_tables(files: Sequence[Path], kind: str) -> duckdb.DuckDBPyConnection:
    """Return a database that has each file as a table, locked."""
    made = duckdb.connect(":memory:", config=dict(SETTINGS))
    for file in files:
        name = ODD_IN_NAME.sub("_", file.stem)
        if PATTERN.search(str(file)):
            raise NotConnected(f"{file}: the path may not have any of * ? [ ] {{ }}")
        read = "read_parquet" if kind == "parquet" else "read_csv"
        try:
            made.execute(
                f'CREATE TABLE "{name}" AS SELECT * FROM {read}($path, hive_partitioning = false)', {"path": str(file)}
            )
        except duckdb.CatalogException:
            raise NotConnected(f"two files would be the table {name}; rename {file.name}") from None
    return lock_settings(made)


# Catalog --------------------------------------------------------------------------------------------------------------


class QuotedNames(IdentifierPreparer):
    """Quote every name: case does not matter in DuckDB, and its list of reserved words is long."""

    def _requires_quotes(self, value: str) -> bool:
        return True


class DuckDBDialect(DefaultDialect):
    """What SQLAlchemy needs to connect and to build a SELECT; `read_tables` reads the catalog."""

    name = "duckdb"
    driver = "duckdb"
    preparer = QuotedNames
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return duckdb

    def initialize(self, connection: Any) -> None:
        """Ask nothing: what SQLAlchemy wants to know is above."""


def read_tables(connection: Any) -> Iterator[Table]:
    """Yield the tables and views with their columns and keys; those of the schema main first, without its name."""
    keys: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for schema, table, kind, *key in connection.exec_driver_sql(KEYS):
        keys[schema, table, kind].append(key)
    rows = connection.exec_driver_sql(COLUMNS).all()
    for (schema, name, comment, is_view), columns in groupby(rows, itemgetter(0, 1, 2, 3)):
        place = "" if schema == "main" else f"{schema}."
        primary = [columns for columns, _, _ in keys[schema, name, "PRIMARY KEY"]]
        unique = [columns for columns, _, _ in keys[schema, name, "UNIQUE"]] + primary
        foreign = keys[schema, name, "FOREIGN KEY"]
        yield Table(
            place + name,
            tuple(make_column(*row[4:], is_unique=[row[4]] in unique) for row in columns),
            primary_key=tuple(primary[0]) if primary else (),
            foreign_keys=tuple(ForeignKey(tuple(own), place + to, tuple(others)) for own, to, others in foreign),
            comment=comment,
            is_view=is_view,
        )


def make_column(name: str, native: str, nullable: bool, comment: str, *, is_unique: bool) -> Column:
    enums = tuple(value.replace("''", "'") for value in TEXT.findall(native)) if native.startswith("ENUM(") else ()
    kind: ColumnType = next((kind for form, kind in TYPES.items() if re.match(form, native)), "other")
    return Column(name, kind, native, nullable, comment, enums, is_complete=bool(enums), is_unique=is_unique)
