"""Reading: a database's catalog: what the schema says (here), and what stands in its columns (sampling.py).

Runs in a thread of source.py. The schema comes first and whole; values are added while there is time, so that a large
database is known after a bounded wait, if less well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.semantic.catalog import Catalog, Column, ForeignKey, Table
from recollect.apps.ask.sources.column_types import is_typeless, type_of
from recollect.apps.ask.sources.postgres import readable_columns
from recollect.apps.ask.sources.sampling import sampled, typed_by_content
from recollect.apps.ask.sources.statement import Job, read_only

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.reflection import Inspector

Key = tuple[str | None, str]
# Of the database itself, and our own.
SYSTEM_SCHEMAS = frozenset(
    (
        "information_schema",
        "mysql",
        "performance_schema",
        "sys",
        "recollect",
        "pg_catalog",
        "pg_toast",
        "INFORMATION_SCHEMA",
    )
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How much is read. No schemas means all that are the customer's."""

    schemas: tuple[str, ...] = ()
    seconds: float = 30.0  # for the values
    most_tables: int = 1_000
    most_columns: int = 2_000  # whose values are looked at
    most_values: int = 1_000
    longest_value: int = 80
    query_seconds: float = 2.0


def read(engine: Engine, job: Job, dialect: str, role: str | None, asked: Reading) -> Catalog:
    with read_only(engine, job, role) as connection:
        tables = list(reflected(connection, asked))
    values = job.part(asked.seconds)
    made, columns = [], 0
    for table in tables:
        typed = typed_by_content(engine, values, role, table) if dialect == "sqlite" else table
        made.append(sampled(engine, values, role, typed, asked) if columns < asked.most_columns else typed)
        columns += len(table.columns)
    return Catalog(dialect, tuple(made))


def reflected(connection: Connection, asked: Reading) -> Iterator[Table]:
    from sqlalchemy import inspect

    inspector = inspect(connection)
    count = 0
    for schema in schemas(inspector, asked):
        for table in tables_of(connection, inspector, schema):
            if count < asked.most_tables:
                yield table
            count += 1


def schemas(inspector: Inspector, asked: Reading) -> list[str | None]:
    """The default one first, as none."""
    default = inspector.default_schema_name
    named = asked.schemas or tuple(
        name for name in inspector.get_schema_names() if name not in SYSTEM_SCHEMAS and not name.startswith("pg_")
    )
    # A MySQL address names one database; the account may see others, which are other sources.
    if (
        default is None
        or inspector.dialect.name == "sqlite"
        or (inspector.dialect.name == "mysql" and not asked.schemas)
    ):
        return [None]
    others = [name for name in named if name != default]
    return [None, *others] if default in named else list(others)


def tables_of(connection: Connection, inspector: Inspector, schema: str | None) -> Iterator[Table]:
    from sqlalchemy.engine.reflection import ObjectKind

    columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    primary = inspector.get_multi_pk_constraint(schema=schema, kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.ANY)
    unique, comments = unique_columns(inspector, schema), table_comments(inspector, schema)
    views = {*inspector.get_view_names(schema), *materialized(inspector, schema)}
    readable = readable_columns(connection, schema)
    for key in sorted(columns, key=lambda each: each[1]):
        given = [each for each in columns[key] if readable is None or (key[1], each["name"]) in readable]
        if not given:
            continue
        table = Table(
            name=full_name(schema, key[1]),
            columns=tuple(column(each, unique.get(key, frozenset())) for each in given),
            primary_key=tuple(primary[key]["constrained_columns"]) if primary.get(key) else (),
            foreign_keys=tuple(foreign_keys(foreign.get(key, ()), inspector.default_schema_name)),
            comment=comments.get(key, ""),
            is_view=key[1] in views,
        )
        yield with_unique_key(table)


def full_name(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name


def column(given: Any, unique: frozenset[str]) -> Column:
    kind = given["type"]
    return Column(
        name=given["name"],
        type=type_of(kind),
        native="" if is_typeless(kind) else str(kind),
        nullable=bool(given.get("nullable", True)),
        comment=given.get("comment") or "",
        values=tuple(getattr(kind, "enums", None) or ()),
        is_complete=bool(getattr(kind, "enums", None)),
        is_unique=given["name"] in unique,
    )


def with_unique_key(table: Table) -> Table:
    """A key of one column is unique, and nothing in it is missing."""
    if len(table.primary_key) != 1:
        return table
    [key] = table.primary_key
    columns = (replace(each, is_unique=True, nullable=False) if each.name == key else each for each in table.columns)
    return replace(table, columns=tuple(columns))


def foreign_keys(given: Iterable[Any], default: str | None) -> Iterator[ForeignKey]:
    for key in given:
        schema = key.get("referred_schema")
        table = full_name(None if schema == default else schema, key["referred_table"])
        yield ForeignKey(tuple(key["constrained_columns"]), table, tuple(key["referred_columns"] or ()))


def unique_columns(inspector: Inspector, schema: str | None) -> Mapping[Any, frozenset[str]]:
    from sqlalchemy.engine.reflection import ObjectKind

    found: dict[Any, set[str]] = {}
    for key, indexes in inspector.get_multi_indexes(schema=schema, kind=ObjectKind.TABLE).items():
        found.setdefault(key, set()).update(single(each["column_names"] for each in indexes if each.get("unique")))
    for key, constraints in inspector.get_multi_unique_constraints(schema=schema, kind=ObjectKind.TABLE).items():
        found.setdefault(key, set()).update(single(each["column_names"] for each in constraints))
    return {key: frozenset(names) for key, names in found.items()}


def single(sets: Iterable[Sequence[str | None]]) -> list[str]:
    return [names[0] for names in sets if len(names) == 1 and names[0] is not None]


def table_comments(inspector: Inspector, schema: str | None) -> dict[Any, str]:
    from sqlalchemy.engine.reflection import ObjectKind

    try:
        found = inspector.get_multi_table_comment(schema=schema, kind=ObjectKind.ANY)
    except NotImplementedError:
        return {}
    return {key: comment["text"] or "" for key, comment in found.items()}


def materialized(inspector: Inspector, schema: str | None) -> list[str]:
    try:
        return inspector.get_materialized_view_names(schema)
    except NotImplementedError:
        return []
