"""Kinds: a driver's column type as one of ours."""

from __future__ import annotations

from typing import Any

from recollect.apps.ask.semantic.catalog import ColumnType


def type_of(kind: Any) -> ColumnType:
    from sqlalchemy import types

    if isinstance(kind, types.Numeric | types.Float):
        return "integer" if type(kind).__name__ in ("NUMERIC", "DECIMAL") and kind.scale == 0 else "number"
    for known, name in kinds():
        if isinstance(kind, known):
            return name
    return "other"


def kinds() -> tuple[tuple[type[Any], ColumnType], ...]:
    from sqlalchemy import types

    return (
        (types.Boolean, "boolean"),
        (types.Integer, "integer"),
        (types.DateTime, "datetime"),
        (types.Date, "date"),
        (types.Time, "time"),
        (types.Uuid, "other"),
        (types.String, "text"),
    )


def is_typeless(kind: Any) -> bool:
    """SQLite's columns need no type, and the expressions of its views have none."""
    from sqlalchemy.types import NullType

    return isinstance(kind, NullType)
