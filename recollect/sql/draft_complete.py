"""What a catalog does not declare, completed before a model is drafted: the key of a table that names none, and dates
that are kept as texts in a column whose values are not shown. Called by draft.py; nothing of it is kept in the catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recollect.sql.catalog import Catalog, Column, Table
from recollect.sql.draft_columns import moment_type, said
from recollect.sql.naming import singular, words_of
from recollect.sql.vocabulary import vocabulary


def completed(catalog: Catalog, names: Mapping[str, str]) -> Catalog:
    is_iso = writes_iso(catalog)
    return replace(
        catalog, tables=tuple(with_key(with_dates(each, is_iso), names[each.name]) for each in catalog.tables)
    )


def writes_iso(catalog: Catalog) -> bool:
    """Whether the texts that are called dates, as far as they can be seen, are ISO dates."""
    texts = [c for table in catalog.tables for c in table.columns if c.type == "text" and c.values]
    return any(map(moment_type, texts)) and all(moment_type(each) for each in texts if is_called_date(each))


def is_called_date(column: Column) -> bool:
    return bool(set(said(column)) & {"date", "birthday", "birthdate", "dob"})


def with_dates(table: Table, is_iso: bool) -> Table:
    """A birth date is not shown; where all other dates are ISO texts, it is one too."""
    columns = tuple(replace(each, type="date") if is_iso and is_hidden_date(each) else each for each in table.columns)
    return replace(table, columns=columns)


def is_hidden_date(column: Column) -> bool:
    return column.type == "text" and column.is_sensitive and is_called_date(column)


def with_key(table: Table, name: str) -> Table:
    if table.primary_key or table.is_view:
        return table
    key = next((each for each in table.columns if is_key(table, each, name)), None)
    return replace(table, primary_key=(key.name,)) if key else table


def is_key(table: Table, column: Column, name: str) -> bool:
    words = words_of(column.name)
    if not words or singular(words[-1]) not in vocabulary().words("sure_key_words"):
        return False
    owner = " ".join(words[:-1])
    is_own = not owner or owner == name or name.endswith(f" {owner}")
    is_first = column is table.columns[0]
    return is_unique(table, column, leaves_gaps=is_own) and (is_own or is_first)


def is_unique(table: Table, column: Column, *, leaves_gaps: bool) -> bool:
    """Seen to be, or a number that runs from one end to the other with no more rows than it has places."""
    if column.is_unique:
        return True
    if column.type != "integer" or table.rows is None or column.low is None or column.high is None:
        return False
    places = int(float(column.high)) - int(float(column.low)) + 1
    return table.rows == places or (leaves_gaps and 0 < table.rows < places)
