"""Read the catalog of a database: first the whole schema, then values (column_values.py) while there is time, so that
a large database is known after a bounded wait, if in less detail. Runs in a thread of source.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.semantic.catalog import Catalog, Column, ColumnType, ForeignKey, Table
from recollect.apps.ask.sources.column_values import CatalogLimits, infer_types, sample_table
from recollect.apps.ask.sources.postgres import read_columns
from recollect.apps.ask.sources.statement import Job, read_only

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.reflection import Inspector

# Schemas of the database itself, and our own.
SYSTEM_SCHEMAS = re.compile(r"pg_|(information_schema|INFORMATION_SCHEMA|mysql|performance_schema|sys|recollect)$")


def read_catalog(engine: Engine, job: Job, dialect: str, role: str | None, limits: CatalogLimits) -> Catalog:
    """Return the catalog of the tables that this role may read."""
    with read_only(engine, job, role) as connection:
        tables = list(_read_tables(connection, limits))[: limits.most_tables]
    values = job.part(limits.seconds)
    made, columns = [], 0
    for table in tables:
        typed = infer_types(engine, values, role, table) if dialect == "sqlite" else table
        made.append(sample_table(engine, values, role, typed, limits) if columns < limits.most_columns else typed)
        columns += len(table.columns)
    return Catalog(dialect, tuple(made))


def _read_tables(connection: Connection, limits: CatalogLimits) -> Iterator[Table]:
    from sqlalchemy import inspect

    inspector = inspect(connection)
    for schema in _list_schemas(inspector, limits):
        yield from _read_schema(connection, inspector, schema)


def _list_schemas(inspector: Inspector, limits: CatalogLimits) -> list[str | None]:
    """Return the schemas to read, the default one first, as None."""
    default, dialect = inspector.default_schema_name, inspector.dialect.name
    # A MySQL address names one database; the account may see others, which are other sources.
    if default is None or dialect == "sqlite" or (dialect == "mysql" and not limits.schemas):
        return [None]
    named = limits.schemas or [name for name in inspector.get_schema_names() if not SYSTEM_SCHEMAS.match(name)]
    schemas = [None if name == default else name for name in named]
    return sorted(schemas, key=lambda name: name is not None)


def _read_schema(connection: Connection, inspector: Inspector, schema: str | None) -> Iterator[Table]:
    from sqlalchemy.engine.reflection import ObjectKind

    columns = inspector.get_multi_columns(schema=schema, kind=ObjectKind.ANY)
    primary = inspector.get_multi_pk_constraint(schema=schema, kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(schema=schema, kind=ObjectKind.ANY)
    comments: Any = _read_if_supported(lambda: inspector.get_multi_table_comment(schema=schema, kind=ObjectKind.ANY))
    materialized: Any = _read_if_supported(lambda: inspector.get_materialized_view_names(schema))
    views = {*inspector.get_view_names(schema), *materialized}
    no_key: Any = {"constrained_columns": ()}
    no_comment: Any = {"text": ""}
    unique, readable = _find_unique_columns(inspector, schema), read_columns(connection, schema)
    for key in sorted(columns, key=lambda each: each[1]):
        name, keys = key[1], tuple((primary.get(key) or no_key)["constrained_columns"])
        own = unique.get(key, set()) | ({*keys} if len(keys) == 1 else set())
        given = [each for each in columns[key] if readable is None or (name, each["name"]) in readable]
        if given:
            yield Table(
                name=_join_name(schema, name),
                columns=tuple(_make_column(each, own, keys) for each in given),
                primary_key=keys,
                foreign_keys=tuple(_read_foreign_keys(foreign.get(key, ()), inspector.default_schema_name)),
                comment=comments.get(key, no_comment)["text"] or "",
                is_view=name in views,
            )


def _read_if_supported(read: Callable[[], Any]) -> Any:
    """Return what a dialect reflects; nothing if it does not implement this."""
    try:
        return read()
    except NotImplementedError:
        return {}


def _join_name(schema: str | None, name: str) -> str:
    return f"{schema}.{name}" if schema else name


def _make_column(given: Any, unique: set[str], keys: tuple[str, ...]) -> Column:
    from sqlalchemy.types import NullType

    kind, name = given["type"], given["name"]
    enums = tuple(getattr(kind, "enums", None) or ())
    return Column(
        name=name,
        type=classify_type(kind),
        # SQLite's columns need no type, and the expressions of its views have none.
        native="" if isinstance(kind, NullType) else str(kind),
        nullable=bool(given.get("nullable", True)) and keys != (name,),
        comment=given.get("comment") or "",
        values=enums,
        is_complete=bool(enums),
        is_unique=name in unique,
    )


def classify_type(kind: Any) -> ColumnType:
    """Return a driver's column type as one of ours."""
    from sqlalchemy import types

    if isinstance(kind, types.Numeric | types.Float):
        return "integer" if type(kind).__name__ in ("NUMERIC", "DECIMAL") and kind.scale == 0 else "number"
    known: tuple[tuple[type[Any], ColumnType], ...] = (
        (types.Boolean, "boolean"),
        (types.Integer, "integer"),
        (types.DateTime, "datetime"),
        (types.Date, "date"),
        (types.Time, "time"),
        (types.Uuid, "other"),
        (types.String, "text"),
    )
    return next((name for each, name in known if isinstance(kind, each)), "other")


def _read_foreign_keys(given: Iterable[Any], default: str | None) -> Iterator[ForeignKey]:
    for key in given:
        schema = key.get("referred_schema")
        table = _join_name(None if schema == default else schema, key["referred_table"])
        yield ForeignKey(tuple(key["constrained_columns"]), table, tuple(key["referred_columns"] or ()))


def _find_unique_columns(inspector: Inspector, schema: str | None) -> Mapping[Any, set[str]]:
    """Return for each table the columns that have a unique index or constraint of their own."""
    from sqlalchemy.engine.reflection import ObjectKind

    found: dict[Any, set[str]] = {}
    indexes: Any = inspector.get_multi_indexes(schema=schema, kind=ObjectKind.TABLE)
    constraints: Any = inspector.get_multi_unique_constraints(schema=schema, kind=ObjectKind.TABLE)
    for key, given in (*indexes.items(), *constraints.items()):
        sets = [each["column_names"] for each in given if each.get("unique", True)]
        found.setdefault(key, set()).update(names[0] for names in sets if len(names) == 1 and names[0])
    return found
