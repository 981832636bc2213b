"""Distribution over a Citus cluster: `plan_distribution` and `run_plan` turn the schema of one server into a cluster's,
while it is in use.

Every table with a `scope_id` is distributed by it, all in one colocation group; small tables that every node needs
become reference tables. The plan is made of what is not done yet, so it can be interrupted and repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any

from recollect.errors import SchemaMismatch
from recollect.store.migrate import SEARCH_PATH, Owner, read_rows

# The first table; the others follow it. It has a row per scope.
ANCHOR = "holder"
SHARDS = 128
CLUSTER_SERVER = 180000  # earlier, Citus cannot plan our SQL functions, which have parameters
# Runs whole on the node of its scope, its first argument, if it is a transaction of its own.
DELEGATED = "append_turns"
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
    is_empty: bool


@dataclass(frozen=True, slots=True)
class ColumnRight:
    """A right of the application's role on some columns of a table."""

    table: str
    name: str
    columns: str


@dataclass(frozen=True, slots=True)
class Schema:
    """What the database has."""

    tables: Sequence[Table]
    references: Set[str]  # names of the foreign keys that exist
    functions: Sequence[str]
    column_rights: Sequence[ColumnRight]
    placed: Set[str]  # tables and functions that the cluster has already
    has_logical_log: bool

    def left(self, *, is_scoped: bool) -> list[Table]:
        """Return the tables that the cluster does not have yet."""
        return [table for table in self.tables if table.name not in self.placed and table.is_scoped == is_scoped]


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    sql: str


async def plan_distribution(connection: Owner, shards: int = SHARDS) -> list[Step]:
    """Return the statements that are still to be run; SchemaMismatch where the server cannot run them."""
    await connection.execute(SEARCH_PATH)
    [facts] = await read_rows(connection, "distribute.facts")
    refuse_unsuitable(facts)
    placed = await read_rows(connection, "distribute.placed")
    return build_plan(await read_schema(connection, {row.name for row in placed}, facts.has_logical_log), shards)


def refuse_unsuitable(facts: Any) -> None:
    """Raise unless the server is a coordinator that can distribute tables."""
    if not facts.has_citus:
        remedy = (
            "run CREATE EXTENSION citus in this database and add the workers with citus_add_node"
            if facts.can_have_citus
            else "install Citus 14 or later on it and on its workers; one PostgreSQL server needs no distribution"
        )
        raise SchemaMismatch(f"the server has no extension citus: {remedy}")
    if facts.version < CLUSTER_SERVER:
        raise SchemaMismatch("a cluster needs PostgreSQL 18 or later on every node")
    if facts.has_logical_log and facts.plugins and "citus" not in facts.plugins:
        raise SchemaMismatch(
            f"output_plugin_libraries is {facts.plugins!r}, so Citus cannot move tables in use: add citus to it"
        )


async def read_schema(connection: Owner, placed: Set[str], has_logical_log: bool) -> Schema:
    return Schema(
        tables=[Table(*row) for row in await read_rows(connection, "distribute.schema")],
        references={row.name for row in await read_rows(connection, "distribute.references")},
        functions=[row.name for row in await read_rows(connection, "distribute.functions")],
        column_rights=[ColumnRight(*row) for row in await read_rows(connection, "distribute.column_rights")],
        placed=placed,
        has_logical_log=has_logical_log,
    )


def build_plan(schema: Schema, shards: int = SHARDS) -> list[Step]:
    """Return the steps in their order: functions, which policies need on every node; reference tables; tables of
    scopes, without the references between them; rights on columns, which do not move with a table; the function that
    follows these tables; and the references again."""
    scoped = sorted(schema.left(is_scoped=True), key=lambda table: (table.name != ANCHOR, table.name))
    lost = REFERENCES.keys() - schema.references
    dropped = find_references(scoped) - lost
    functions = sorted(set(schema.functions) - schema.placed)
    moving = [
        *(
            Step(f"function {name}", f"SELECT create_distributed_function('recollect.{name}')")
            for name in functions
            if not name.startswith(DELEGATED)
        ),
        *(
            Step(f"reference table {table.name}", f"SELECT create_reference_table('recollect.{table.name}')")
            for table in schema.left(is_scoped=False)
        ),
        *(
            Step(f"drop {name}", f"ALTER TABLE recollect.{REFERENCES[name][0]} DROP CONSTRAINT {name}")
            for name in sorted(dropped)
        ),
        *chain.from_iterable(distribute_table(table, shards, schema.has_logical_log) for table in scoped),
    ]
    finishing = [
        *(delegate_function(name) for name in functions if name.startswith(DELEGATED)),
        *map(add_reference, [*sorted(dropped), *sorted(lost)]),
    ]
    # Nothing shows whether the nodes have them: they are granted again as long as there is anything to do.
    rights = map(grant_columns, schema.column_rights) if moving or finishing else ()
    return [*moving, *rights, *finishing]


def delegate_function(name: str) -> Step:
    arguments = f"'recollect.{name}', 'of_scope', colocate_with => 'recollect.{ANCHOR}'"
    return Step(f"delegate {name}", f"SELECT create_distributed_function({arguments})")


def grant_columns(right: ColumnRight) -> Step:
    grant = f"GRANT {right.name} ({right.columns}) ON recollect.{right.table} TO recollect_app"
    return Step(f"grant {right.name} on columns of {right.table}", grant)


def find_references(tables: Sequence[Table]) -> set[str]:
    """Return the foreign keys from or to some tables."""
    moving = {table.name for table in tables}
    return {name for name, (table, _, to) in REFERENCES.items() if moving & {table, to.split("(")[0]}}


def add_reference(name: str) -> Step:
    table, columns, to = REFERENCES[name]
    added = f"ADD CONSTRAINT {name} FOREIGN KEY {columns} REFERENCES recollect.{to}"
    return Step(f"add {name}", f"ALTER TABLE recollect.{table} {added}")


def distribute_table(table: Table, shards: int, has_logical_log: bool) -> Iterator[Step]:
    """Yield the steps that distribute a table: while it is in use, if it has rows and the server's log can be
    decoded."""
    concurrently = has_logical_log and not table.is_empty
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
