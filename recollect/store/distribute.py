"""Turn the schema of one server into one of a Citus cluster, while it is in use: `plan_distribution` and `run_plan`.

Every table with a `scope_id` is distributed by it, all in one colocation group, so that a scope is on one node. Small
tables that every node needs become reference tables. The plan is made of what is not done yet: it can be interrupted
and repeated, and a later migration's new tables are distributed by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from recollect.errors import SchemaMismatch
from recollect.store.database import queries
from recollect.store.migrate import SEARCH_PATH, Owner

# The first table; the others follow it. It has a row per scope.
ANCHOR = "holder"
SHARDS = 128
# Dropped before the tables are moved and added again after: said here, or an interrupted run would lose them.
REFERENCES = {
    "chunk_scope_id_document_id_fkey": ("chunk", "(scope_id, document_id)", "document(scope_id, id)"),
    "document_part_scope_id_document_id_fkey": ("document_part", "(scope_id, document_id)", "document(scope_id, id)"),
    "turn_scope_id_conversation_id_fkey": ("turn", "(scope_id, conversation_id)", "conversation(scope_id, id)"),
}

Progress = Callable[[str, int, int], None]  # the step, how many are done, all


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    is_scoped: bool
    has_key: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """What the database has."""

    tables: Sequence[Table]
    references: Set[str]  # names of the foreign keys that exist
    functions: Sequence[str]
    placed: Set[str]  # tables and functions that the cluster has already
    has_logical_log: bool


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    sql: str


async def plan_distribution(connection: Owner, shards: int = SHARDS) -> list[Step]:
    """Return the statements that are still to be run; SchemaMismatch where the server cannot run them."""
    await connection.execute(SEARCH_PATH)
    [facts] = await _read(connection, "distribute.facts")
    refuse_unsuitable(facts)
    placed = await _read(connection, "distribute.placed")
    return build_plan(await read_schema(connection, {row.name for row in placed}, facts.has_logical_log), shards)


def refuse_unsuitable(facts: Any) -> None:
    """Raise unless the server is a coordinator that can distribute tables."""
    if not facts.has_citus:
        remedy = (
            "run CREATE EXTENSION citus in this database and add the workers with citus_add_node"
            if facts.can_have_citus
            else "install Citus 13 or later on it and on its workers; one PostgreSQL server needs no distribution"
        )
        raise SchemaMismatch(f"the server has no extension citus: {remedy}")
    if facts.plugins and "citus" not in facts.plugins:
        raise SchemaMismatch(
            f"output_plugin_libraries is {facts.plugins!r}, so Citus cannot move tables in use: add citus to it"
        )


async def read_schema(connection: Owner, placed: Set[str], has_logical_log: bool) -> Schema:
    return Schema(
        tables=[Table(row.name, row.is_scoped, row.has_key) for row in await _read(connection, "distribute.schema")],
        references={row.name for row in await _read(connection, "distribute.references")},
        functions=[row.name for row in await _read(connection, "distribute.functions")],
        placed=placed,
        has_logical_log=has_logical_log,
    )


async def _read(connection: Owner, name: str) -> list[Any]:
    return await (await connection.execute(queries()[name])).fetchall()


def build_plan(schema: Schema, shards: int = SHARDS) -> list[Step]:
    """Return the steps in their order: functions, which policies need on every node; reference tables; tables of
    scopes, without the references between them; and these references again."""
    left = [table for table in schema.tables if table.name not in schema.placed]
    scoped = sorted((table for table in left if table.is_scoped), key=lambda table: (table.name != ANCHOR, table.name))
    moving = {table.name for table in scoped}
    steps = [
        Step(f"function {name}", f"SELECT create_distributed_function('recollect.{name}')")
        for name in schema.functions
        if name not in schema.placed
    ]
    steps += [
        Step(f"reference table {table.name}", f"SELECT create_reference_table('recollect.{table.name}')")
        for table in left
        if not table.is_scoped
    ]
    lost = [name for name in REFERENCES if name not in schema.references]
    dropped = [
        name for name, (table, _, to) in REFERENCES.items() if name not in lost and moving & {table, to.split("(")[0]}
    ]
    steps += [
        Step(f"drop {name}", f"ALTER TABLE recollect.{REFERENCES[name][0]} DROP CONSTRAINT {name}") for name in dropped
    ]
    for table in scoped:
        steps += distribute_table(table, shards, schema.has_logical_log)
    for name in [*dropped, *lost]:
        table_name, columns, to = REFERENCES[name]
        added = f"ADD CONSTRAINT {name} FOREIGN KEY {columns} REFERENCES recollect.{to}"
        steps.append(Step(f"add {name}", f"ALTER TABLE recollect.{table_name} {added}"))
    return steps


def distribute_table(table: Table, shards: int, concurrently: bool) -> Iterator[Step]:
    """Yield the steps that distribute a table: while it is in use, if the server's log can be decoded."""
    function = "create_distributed_table_concurrently" if concurrently else "create_distributed_table"
    where = (
        f"shard_count => {shards}, colocate_with => 'none'"
        if table.name == ANCHOR
        else f"colocate_with => 'recollect.{ANCHOR}'"
    )
    # Without a key a deleted row is found by all its columns.
    if concurrently and not table.has_key:
        yield Step(f"identify rows of {table.name}", f"ALTER TABLE recollect.{table.name} REPLICA IDENTITY FULL")
    yield Step(f"distribute {table.name}", f"SELECT {function}('recollect.{table.name}', 'scope_id', {where})")
    if concurrently and not table.has_key:
        yield Step(f"reset {table.name}", f"ALTER TABLE recollect.{table.name} REPLICA IDENTITY DEFAULT")


async def run_plan(connection: Owner, steps: Sequence[Step], progress: Progress) -> None:
    """Run the steps, each by itself: tables that are in use cannot be moved inside a transaction."""
    for done, step in enumerate(steps):
        progress(step.what, done, len(steps))
        await connection.execute(step.sql.encode())
