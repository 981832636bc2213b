"""Lookup: do these phrases stand in these columns? For names in tables too large to be read whole.

One parametrised query per column, case ignored, bounded in phrases, finds and time. What is not found in time counts as
not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.semantic.access import find_row_rule
from recollect.apps.ask.sources.opening import FOLD
from recollect.apps.ask.sources.statement import Job, read_only
from recollect.errors import QueryFailed

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Select

MOST_PHRASES = 50
MOST_COLUMNS = 40
MOST_FOUND = 50  # in one column
LONGEST_PHRASE = 200


@dataclass(frozen=True, slots=True)
class Found:
    """The value as it is written there."""

    table: str
    column: str
    value: str


def find_values(
    engine: Engine,
    job: Job,
    role: str | None,
    refs: Sequence[tuple[str, str]],
    phrases: Sequence[str],
    rules: Mapping[str, str],
) -> list[Found]:
    """`rules` are conditions per table, as Access.rows has them: only rows that meet them are looked at."""
    wanted = worth_asking(phrases)
    found: list[Found] = []
    if not wanted:
        return found
    for place in list(dict.fromkeys(refs))[:MOST_COLUMNS]:
        if job.is_over:
            break
        found += in_column(engine, job, role, place, wanted, find_row_rule(rules, place[0]))
    return found


def worth_asking(phrases: Sequence[str]) -> list[str]:
    folded = dict.fromkeys(" ".join(phrase.split()).lower() for phrase in phrases)
    return [phrase for phrase in folded if phrase and len(phrase) <= LONGEST_PHRASE][:MOST_PHRASES]


def in_column(
    engine: Engine, job: Job, role: str | None, place: tuple[str, str], wanted: list[str], rule: str | None
) -> list[Found]:
    try:
        with read_only(engine, job, role) as connection:
            values = connection.execute(statement(connection, place, wanted, rule)).scalars().all()
    except QueryFailed:
        if job.is_over and not job.stopped.is_set():
            return []
        raise
    return [Found(*place, str(value)) for value in values]


def statement(connection: Connection, place: tuple[str, str], wanted: list[str], rule: str | None) -> Select[Any]:
    from sqlalchemy import String, and_, cast, column, func, select, text

    asked: Any = column(place[1])
    # SQLite's own is three times as fast, and enough where nothing but A to Z is asked for.
    is_plain = connection.dialect.name != "sqlite" or all(phrase.isascii() for phrase in wanted)
    fold = getattr(func, "lower" if is_plain else FOLD)
    held = fold(cast(asked, String)).in_(wanted)
    # The rule was parsed when it was given; a colon in it is no parameter.
    where = held if rule is None else and_(text("(" + rule.replace(":", "\\:") + ")"), held)
    return select(asked).distinct().select_from(named_table(place[0])).where(where).limit(MOST_FOUND)


def named_table(name: str) -> Any:
    """`schema.table` outside the default schema."""
    from sqlalchemy import table

    schema, _, bare = name.rpartition(".")
    return table(bare, schema=schema or None)
