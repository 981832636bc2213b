"""Labels: the columns by which a person names a row: its name, its title, first and last name; failing that a code."""

from __future__ import annotations

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import is_secret, moment_type, phrase
from recollect.sql.draft_subjects import Subject, is_number_key, shortened
from recollect.sql.naming import of
from recollect.sql.vocabulary import vocabulary


def label(subject: Subject) -> tuple[str, ...]:
    columns = by_phrase(subject)
    return (
        pair(columns)
        or single(columns, "names")
        or named_at_end(subject, columns)
        or single(columns, "rest")
        or unique(subject)
    )


def by_phrase(subject: Subject) -> dict[str, Column]:
    """Text columns by their name, with and without the table's own word."""
    texts = [column for column in subject.table.columns if is_label(subject, column)]
    short = {shortened(subject, phrase(column)): column for column in texts}
    return {**short, **{phrase(column): column for column in texts}}


def is_label(subject: Subject, column: Column) -> bool:
    usable = column.type == "text" and column.name.casefold() not in subject.refers and not is_secret(column)
    return usable and not moment_type(column) and not (subject.is_key(column) and is_number_key(subject, column))


def pair(columns: dict[str, Column]) -> tuple[str, ...]:
    for first, last in vocabulary().words("labels", "pairs"):
        if first in columns and last in columns:
            return columns[first].name, columns[last].name
    return ()


def single(columns: dict[str, Column], part: str) -> tuple[str, ...]:
    return next(((columns[name].name,) for name in vocabulary().words("labels", part) if name in columns), ())


def named_at_end(subject: Subject, columns: dict[str, Column]) -> tuple[str, ...]:
    """ "company name" in a table of suppliers; or the table's own word alone."""
    if own := columns.get(subject.name):
        return (own.name,)
    ends = vocabulary().words("labels", "names")
    own_words = (*vocabulary().words("labels", "qualifiers"), subject.name.split()[-1])
    named = {of(word, name) for word in own_words for name in ends}
    return next(((column.name,) for own, column in columns.items() if own in named), ())


def unique(subject: Subject) -> tuple[str, ...]:
    texts = [column for column in subject.table.columns if is_label(subject, column) and not column.is_sensitive]
    return next(((column.name,) for column in texts if column.is_unique), ())
