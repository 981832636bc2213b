"""Spoken conditions: "logged in within the last 30 days" as SQL over a table's columns, read like a question about that
table. What is not wholly understood is no condition: then somebody is asked."""

from __future__ import annotations

from datetime import date

from recollect.sql.catalog import Catalog
from recollect.sql.frame import Frame
from recollect.sql.reading import read_question
from recollect.sql.render import sql_of
from recollect.sql.semantic import Entity, SemanticModel

MAX_CHARS = 200
OPENINGS = ("", "with", "that have", "whose")  # between what it is about and what is said of it


def spoken_condition(meaning: str, entity: Entity, model: SemanticModel, catalog: Catalog, today: date) -> str | None:
    """What makes a row of the entity such a one, by its own columns alone."""
    if len(meaning) > MAX_CHARS:
        return None
    for opening in OPENINGS:
        read = read_question(f"list all {entity.names[0]} {opening} {meaning}", model, catalog, today=today)
        if read.frame is not None and is_plain(read.frame, entity.table):
            return where_of(sql_of(read.frame, model, catalog), catalog.dialect)
    return None


def is_plain(frame: Frame, table: str) -> bool:
    """Rows of the table, chosen by its own columns, and nothing else."""
    is_filtered = bool(frame.filters or frame.periods)
    return is_filtered and frame.tables == {table} and not (frame.metrics or frame.groups or frame.having)


def where_of(sql: str, dialect: str) -> str | None:
    """The condition of a statement over one table, without the table's name."""
    import sqlglot
    from sqlglot import exp

    where = sqlglot.parse_one(sql, dialect=dialect).find(exp.Where)
    if where is None:
        return None
    for column in where.find_all(exp.Column):
        column.set("table", None)
    return str(where.this.sql(dialect=dialect))
