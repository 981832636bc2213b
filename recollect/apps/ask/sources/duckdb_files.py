"""DuckDB, and CSV and Parquet files through it, opened so that statements reach nothing else. `duckdb_opener` is the
entry point.

A DuckDB file is opened read-only for each connection, so that its owner can write it in between. CSV and Parquet files
are loaded into memory as one table each, and again when a file has changed. Then the file system, extensions and
settings are locked, and a connection runs nothing but one SELECT at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from recollect.apps.ask.sources.address_rules import DUCKDB, TABLE_FILES, Address
from recollect.apps.ask.sources.statement import NotConnected

MOST_FILES = 200
MOST_BYTES = 500_000_000  # of all files of a source, on disk
# Nothing is written beside the customer's file: a statement that needs more memory fails.
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


class DuckConnection:
    """A connection as Python's DB-API has it. DuckDB's own cursors are connections with a transaction each."""

    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver

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

    def close(self) -> None:
        self._driver.close()

    def interrupt(self) -> None:
        self._driver.interrupt()


class DuckCursor:
    """Runs one SELECT; anything else is refused, whatever the text says."""

    arraysize = 1
    rowcount = -1
    lastrowid = None

    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver

    @property
    def description(self) -> list[Any] | None:
        return self._driver.description

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        statements = self._driver.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise duckdb.ProgrammingError("one SELECT is run at a time, and nothing else")
        self._driver.execute(statements[0], list(parameters))

    def fetchone(self) -> Any:
        return self._driver.fetchone()

    def fetchmany(self, size: int = 1) -> list[Any]:
        return self._driver.fetchmany(size)

    def fetchall(self) -> list[Any]:
        return self._driver.fetchall()

    def close(self) -> None:
        """Do nothing: the next statement takes the place of this one."""


def duckdb_opener(address: Address, find_file: FindFile, find_folder: FindFile) -> Callable[[], DuckConnection]:
    """Return what opens a connection. `find_file` and `find_folder` return what may be opened, with links followed;
    they are asked each time, because a link may have changed."""
    if address.driver == DUCKDB:
        return lambda: DuckConnection(open_database(find_file(address.file)))
    return LoadedFiles(address, find_file, find_folder).connect


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(str(path), read_only=True, config=dict(SETTINGS))
    lock_settings(made)
    return made


def lock_settings(driver: duckdb.DuckDBPyConnection) -> None:
    """Lock the file system and the settings. Connections to one file share a database, which may be locked already."""
    for setting, value in LOCKS.items():
        with suppress(duckdb.InvalidInputException):
            driver.execute(f"SET {setting} = {str(value).lower()}")
    for setting, value in LOCKS.items():
        if driver.execute("SELECT current_setting(?)", [setting]).fetchall() != [(value,)]:
            raise NotConnected(f"DuckDB does not take {setting} = {value}")


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
                check_sizes([size for _, _, size in state])
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


def check_sizes(sizes: Sequence[int]) -> None:
    if sum(sizes) > MOST_BYTES:
        raise NotConnected(
            f"the files have more than {MOST_BYTES:,} bytes; load them into a DuckDB file and use duckdb:///"
        )


def load_tables(files: Sequence[Path], kind: str) -> duckdb.DuckDBPyConnection:
    """Return a database that has each file as a table, locked."""
    made = duckdb.connect(":memory:", config=dict(SETTINGS))
    for file in files:
        name = table_name(file)
        if PATTERN.search(str(file)):
            raise NotConnected(f"{file}: the path may not have any of * ? [ ] {{ }}")
        read = "read_parquet" if kind == "parquet" else "read_csv"
        try:
            made.execute(
                f'CREATE TABLE "{name}" AS SELECT * FROM {read}($path, hive_partitioning = false)', {"path": str(file)}
            )
        except duckdb.CatalogException:
            raise NotConnected(f"two files would be the table {name}; rename {file.name}") from None
    lock_settings(made)
    return made


def table_name(file: Path) -> str:
    """Return the file's name without its ending; signs that would need care in SQL become underscores."""
    return ODD_IN_NAME.sub("_", file.stem)
