"""Backup and restore of the whole schema, as one file: `make_backup` and `restore_backup`.

A backup is a zip archive with the rows of each table in COPY's text format, all of one snapshot, and a manifest. It
holds no SQL: a restore runs this release's own migrations up to the backup's version, loads the rows and applies the
rest, in one transaction. Both refuse rather than miss rows that row-level security hides.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from recollect.errors import Conflict, InvalidInput, SchemaMismatch, StoreUnavailable
from recollect.store import migrate as schema
from recollect.store.database import queries
from recollect.store.migrate import Difference, Owner, SchemaStatus, read_rows

FORMAT = 1
MANIFEST = "manifest.json"
PIECE = 1 << 20  # bytes read at a time
# What a database has that was only migrated and opened: it may be replaced without asking.
NOT_DATA = ("installation", "errand", "embedding_model")

Progress = Callable[[str, int, int], None]  # the table, rows done so far, all rows


@dataclass(frozen=True, slots=True)
class SavedTable:
    name: str
    columns: Sequence[str]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup file holds."""

    format: int
    made_at: str
    release: str
    server: str
    schema_version: int
    migrations: Sequence[int]
    tables: Sequence[SavedTable]
    sequences: Mapping[str, int]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


def ignore_progress(table: str, done: int, of: int) -> None:
    """Ignore progress reports."""


async def make_backup(
    connection: Owner, path: Path, *, replace: bool = False, progress: Progress = ignore_progress
) -> Manifest:
    """Write everything to a file and return its manifest. The file gets its name once it is complete and was read
    back."""
    with write_whole_file(path, replace) as partial:
        async with connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            await show_everything(connection)
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
                manifest = await write_archive(connection, archive, progress)
        verify_backup(partial, read_manifest(partial))
    return manifest


@contextmanager
def write_whole_file(path: Path, replace: bool) -> Iterator[Path]:
    """Yield a new private file beside `path`, which replaces `path` if all goes well."""
    if path.exists() and not replace:
        raise InvalidInput("file", f"{path} exists; choose another name, or replace it with --force")
    partial = path.with_name(f".{path.name}.{uuid4().hex[:8]}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise InvalidInput("file", f"cannot write {path}: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


async def show_everything(connection: Owner) -> None:
    """Make every row visible in this transaction; SchemaMismatch if that is not certain."""
    status = await schema.read_status(connection)
    if not status.applied:
        raise SchemaMismatch("there is nothing to back up: the database has no schema of Recollect")
    [role] = await read_rows(connection, "server.role")
    refuse_hidden_rows(role, status, await schema.read_differences(connection))
    # Who bypasses row-level security gets an error where it would bind them after all. It binds the owner, whose
    # policies are in place.
    row_security = "off" if role.bypasses else "on"
    await connection.execute(queries()["backup.show_everything"], {"row_security": row_security})


def refuse_hidden_rows(role: Any, status: SchemaStatus, differences: Sequence[Difference]) -> None:
    """Raise SchemaMismatch if this role may not see every row."""
    strange = [each.problem for each in differences if each.kind == "row-level security" and not each.remedy]
    if strange:
        raise SchemaMismatch(f"{', '.join(strange)}, and a restore would lose it: move it to another schema first")
    if not role.bypasses and not role.owns:
        raise SchemaMismatch(
            f"row-level security hides rows from {role.name}: set MEMORY_DB_ADMIN_CONNECTION_STRING to the connection"
            " of the owner or of a superuser"
        )
    if not role.bypasses and (status.pending or differences):
        raise SchemaMismatch(
            f"row-level security may hide rows from {role.name}, because the schema or its policies are not in order:"
            " run `recollect db migrate` first, or back up as a superuser"
        )


async def write_archive(connection: Owner, archive: zipfile.ZipFile, progress: Progress) -> Manifest:
    """Write the rows of every table, then the manifest, and return it."""
    status = await schema.read_status(connection)
    columns = await read_columns(connection)
    counts = {table: await count_rows(connection, table) for table in columns}
    tables: list[SavedTable] = []
    for table, names in columns.items():
        progress(table, sum(saved.rows for saved in tables), sum(counts.values()))
        tables.append(await write_rows(connection, archive, table, names))
        if tables[-1].rows != counts[table]:
            raise SchemaMismatch(f"{table} has {counts[table]} rows and {tables[-1].rows} were read: please report it")
    sequences = await read_rows(connection, "backup.sequences")
    manifest = Manifest(
        format=FORMAT,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        release=version("recollect"),
        server=status.server,
        schema_version=max(status.applied),
        migrations=list(status.applied),
        tables=tables,
        sequences={row.name: row.last_value for row in sequences},
    )
    archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
    return manifest


async def read_columns(connection: Owner) -> dict[str, list[str]]:
    return {row.table_name: row.columns for row in await read_rows(connection, "backup.columns")}


async def count_rows(connection: Owner, table: str) -> int:
    [(rows,)] = await (await connection.execute(table_statement("SELECT count(*) FROM {table}", table))).fetchall()
    return int(rows)


def table_statement(statement: LiteralString, table: str, columns: Sequence[str] = ()) -> Composed:
    """Return a statement about one of our tables, whose names come from the catalogs."""
    listed = SQL(", ").join(map(Identifier, columns))
    return SQL(statement).format(table=Identifier("recollect", table), columns=listed)


async def write_rows(connection: Owner, archive: zipfile.ZipFile, table: str, columns: Sequence[str]) -> SavedTable:
    """Write a table's rows, a line each: COPY's text format has no other line breaks."""
    digest, rows = hashlib.sha256(), 0
    statement = table_statement("COPY {table} ({columns}) TO STDOUT", table, columns)
    with archive.open(name_member(table), "w", force_zip64=True) as file:
        async with connection.cursor().copy(statement) as copy:
            async for piece in copy:
                digest.update(piece)
                rows += bytes(piece).count(b"\n")
                file.write(piece)
    return SavedTable(table, columns, rows, digest.hexdigest())


def name_member(table: str) -> str:
    return f"tables/{table}.copy"


def read_manifest(path: Path) -> Manifest:
    """Return what a backup file says it holds; refuse what is no backup, or one that a newer release made."""
    try:
        with zipfile.ZipFile(path) as archive:
            read = json.loads(archive.read(MANIFEST))
        known = {migration.version for migration in schema.migrations()}
        if read["format"] > FORMAT or not known.issuperset(read["migrations"]):
            raise SchemaMismatch(
                f"{path} was made by a newer release ({read['release']}, schema version {read['schema_version']}):"
                " upgrade with `pip install --upgrade recollect`"
            )
        return Manifest(**{**read, "tables": [SavedTable(**table) for table in read["tables"]]})
    except OSError as error:
        raise InvalidInput("file", f"cannot read {path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise InvalidInput("file", f"{path} is not a backup that `recollect db backup` made, or is damaged") from error


def verify_backup(path: Path, manifest: Manifest) -> None:
    """Read the whole file; InvalidInput if anything differs from what its manifest says."""
    try:
        with zipfile.ZipFile(path) as archive:
            for table in manifest.tables:
                digest, rows = hashlib.sha256(), 0
                for piece in iter_pieces(archive, table.name):
                    digest.update(piece)
                    rows += piece.count(b"\n")
                if (digest.hexdigest(), rows) != (table.sha256, table.rows):
                    raise InvalidInput("file", f"{path} is damaged: {table.name} is not as it was written")
    except (OSError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise InvalidInput("file", f"{path} is damaged: {error}") from error


def iter_pieces(archive: zipfile.ZipFile, table: str) -> Iterator[bytes]:
    with archive.open(name_member(table)) as file:
        while piece := file.read(PIECE):
            yield piece


async def restore_backup(
    connection: Owner, path: Path, *, force: bool = False, progress: Progress = ignore_progress
) -> Manifest:
    """Make the database what the backup says, brought up to this release; all of it or nothing. A database that holds
    anything is replaced only with `force`."""
    manifest = read_manifest(path)
    verify_backup(path, manifest)
    await schema.check_server(connection)
    async with restore_transaction(connection):
        await drop_schema(connection, force)
        await schema.start_schema(connection)
        for migration in schema.migrations()[1:]:
            if migration.version in manifest.migrations:
                await schema.apply(connection, migration)
        await load_rows(connection, path, manifest, progress)
        for migration in (await schema.read_status(connection)).pending:
            await schema.apply(connection, migration)
        await schema.repair_access(connection)
        if left := await schema.read_differences(connection):
            raise SchemaMismatch(f"the restored database is not in order: {', '.join(each.problem for each in left)}")
    for table in await read_columns(connection):
        await connection.execute(table_statement("ANALYZE {table}", table))
    return manifest


@asynccontextmanager
async def restore_transaction(connection: Owner) -> AsyncIterator[None]:
    try:
        async with schema.owner_transaction(connection, "recollect db restore"):
            await connection.execute(queries()["backup.set_limits"])
            yield
    except psycopg.errors.LockNotAvailable:
        raise StoreUnavailable(
            "others are using the database: stop servers, workers and programs that are connected, then restore again"
        ) from None


async def drop_schema(connection: Owner, force: bool) -> None:
    """Remove the schema that is there; Conflict if it holds anything and `force` does not say so."""
    facts = await schema.read_facts(connection)
    if not facts.has_schema:
        return
    await lift_row_security(connection)
    tables = [table for table in await read_columns(connection) if table not in NOT_DATA]
    find = "SELECT FROM {table} LIMIT 1"
    held = [table for table in tables if (await connection.execute(table_statement(find, table))).rowcount > 0]
    if held and not force:
        raise Conflict(
            f"the database is not empty ({', '.join(held)}): restore into another one, or replace everything that is in"
            " it with --force"
        )
    await connection.execute("DROP SCHEMA recollect CASCADE")
    await connection.execute(queries()["backup.row_security"], {"value": "on"})


async def lift_row_security(connection: Owner) -> None:
    """Let the owner see and write every row; anybody else gets an error instead of fewer rows."""
    for table in await read_columns(connection):
        await connection.execute(table_statement("ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", table))
    await connection.execute(queries()["backup.row_security"], {"value": "off"})


async def load_rows(connection: Owner, path: Path, manifest: Manifest, progress: Progress) -> None:
    """Fill the tables and count what arrived."""
    columns = await read_columns(connection)
    if {table.name: sorted(table.columns) for table in manifest.tables} != {
        name: sorted(each) for name, each in columns.items()
    }:
        raise SchemaMismatch(
            f"{path} has other tables or columns than schema version {manifest.schema_version} of ours"
        )
    await lift_row_security(connection)
    saved = {table.name: table for table in manifest.tables}
    done = 0
    with zipfile.ZipFile(path) as archive:
        for name in await order_tables(connection, saved):
            progress(name, done, manifest.rows)
            await connection.execute(
                table_statement("DELETE FROM {table}", name)
            )  # what the migrations themselves put there
            async with connection.cursor().copy(
                table_statement("COPY {table} ({columns}) FROM STDIN", name, saved[name].columns)
            ) as copy:
                for piece in iter_pieces(archive, name):
                    await copy.write(piece)
            if (rows := await count_rows(connection, name)) != saved[name].rows:
                raise SchemaMismatch(f"{name} got {rows} rows of {saved[name].rows}: please report it")
            done += rows
    for sequence, value in manifest.sequences.items():
        await connection.execute(queries()["backup.set_sequence"], {"name": sequence, "value": value})
    await connection.execute(queries()["backup.row_security"], {"value": "on"})
    for name in columns:
        await connection.execute(table_statement("ALTER TABLE {table} FORCE ROW LEVEL SECURITY", name))


async def order_tables(connection: Owner, tables: Iterable[str]) -> list[str]:
    """Return the tables, each after those it refers to."""
    order: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(tables, ()))
    for row in await read_rows(connection, "backup.references"):
        order.add(row.table_name, row.needs)
    return list(order.static_order())
