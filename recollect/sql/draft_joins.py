"""Joins: from the declared foreign keys; where a table declares none for a column, from its name.

A join is inferred where the column says the other table's name and "id" (or is named as its key), the types fit, and no
value seen lies outside of that key's values. What the other is to this one (manager, billing customer) is read from the
column's name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recollect.sql.catalog import Catalog, Column, ForeignKey, Table
from recollect.sql.naming import CHINESE, distinct, one, singular, words_of
from recollect.sql.semantic import Join
from recollect.sql.vocabulary import vocabulary

GENERIC = 1  # words in the name of a key that is called just "id"


@dataclass(frozen=True, slots=True)
class Keyed:
    """The tables whose rows one column can name: by what that key is called, and by what a row is."""

    by_key: defaultdict[str, list[Table]]
    by_name: defaultdict[str, list[Table]]
    names: Mapping[str, str]


def joins(catalog: Catalog, names: Mapping[str, str]) -> list[Join]:
    known = keyed(catalog, names)
    found = ((*declared(catalog, table, names), *inferred(known, table)) for table in catalog.tables)
    return [join for each in found for join in each]


def keyed(catalog: Catalog, names: Mapping[str, str]) -> Keyed:
    made = Keyed(defaultdict(list), defaultdict(list), names)
    for table in catalog.tables:
        if len(table.primary_key) == 1:
            made.by_key[table.primary_key[0].casefold()].append(table)
            made.by_name[names[table.name]].append(table)
    return made


def declared(catalog: Catalog, table: Table, names: Mapping[str, str]) -> Iterator[Join]:
    for key in table.foreign_keys:
        other = catalog.table(key.table)
        if other is not None:
            refers = key.refers or other.primary_key
            yield Join(table.name, key.columns, other.name, refers, role(key.columns, names[other.name]))


def inferred(known: Keyed, table: Table) -> Iterator[Join]:
    for column in table.columns:
        if is_declared(table.foreign_keys, column) or is_own_key(table, column):
            continue
        if other := named_by(known, table, column):
            own = (column.name,)
            yield Join(table.name, own, other.name, other.primary_key, role(own, known.names[other.name]))


def is_declared(keys: tuple[ForeignKey, ...], column: Column) -> bool:
    return any(column.name in key.columns for key in keys)


def is_own_key(table: Table, column: Column) -> bool:
    """The whole key; a part of one may well name another table's row."""
    return tuple(name.casefold() for name in table.primary_key) == (column.name.casefold(),)


def named_by(known: Keyed, table: Table, column: Column) -> Table | None:
    same = [
        other for other in known.by_key.get(column.name.casefold(), ()) if other is not table and fits(other, column)
    ]
    if len(same) == 1 and len(words_of(column.name)) > GENERIC:
        return same[0]
    if ended := ended_with(known, table, column):
        return ended
    if said := stem(column.name):
        called = (other for name in endings(said) for other in known.by_name.get(name, ()))
        if found := next((other for other in called if fits(other, column)), None):
            return found
        if found := last_of(known, table, column, said):
            return found
    return of_its_own(table, column, said or one(words_of(column.name)))


def ended_with(known: Keyed, table: Table, column: Column) -> Table | None:
    """`orig_ap_cd` names a row of the table whose key is `ap_cd`."""
    name = column.name.casefold()
    keys = [key for key in known.by_key if name.endswith(f"_{key}") and len(words_of(key)) > GENERIC]
    found = [other for key in keys for other in known.by_key[key] if other is not table and fits(other, column)]
    return found[0] if len(found) == 1 else None


def endings(said: str) -> list[str]:
    """What a "billing customer" may be, the longest first: just that, or a customer."""
    words = said.split()
    return [" ".join(words[start:]) for start in range(len(words))]


def last_of(known: Keyed, table: Table, column: Column, said: str) -> Table | None:
    """`copy_id` names a book copy, where nothing else is some kind of copy."""
    ends = [each for name, tables in known.by_name.items() if name.endswith(f" {said}") for each in tables]
    found = ends[0] if len(ends) == 1 else None
    return found if found is not None and found is not table and fits(found, column) else None


def of_its_own(table: Table, column: Column, said: str) -> Table | None:
    """An employee's manager is an employee, a category's parent a category."""
    return table if said in vocabulary().words("self_roles") and fits(table, column) else None


def fits(other: Table, column: Column) -> bool:
    """Its key is one column of this type, and holds what was seen of this column."""
    key = other.column(other.primary_key[0]) if len(other.primary_key) == 1 else None
    return (
        key is not None and key.type == column.type and key.type in ("integer", "text", "other") and holds(key, column)
    )


def holds(key: Column, column: Column) -> bool:
    if column.type == "text":
        return not (key.is_complete and column.values) or set(column.values) <= set(key.values)
    ends = (key.low, column.low, column.high, key.high)
    if any(end is None for end in ends):
        return True
    low, least, most, high = (float(end) for end in ends if end is not None)
    # 0 and -1 often stand for "none".
    return most <= high and (low <= least or least in (0, -1))


def stem(name: str) -> str:
    """The phrase before "id": "billing customer" of billing_customer_id; nothing if it does not end so."""
    words, listed = words_of(name), vocabulary().words("key_words")
    if CHINESE.search(name):
        return next((name.removesuffix(end) for end in listed if name.endswith(end) and name != end), "")
    return one(words[:-1]) if len(words) > 1 and singular(words[-1]) in listed else ""


def role(columns: tuple[str, ...], entity: str) -> tuple[str, ...]:
    """What the other is to this one; nothing if just that."""
    if len(columns) != 1:
        return ()
    said = stem(columns[0]) or one(words_of(columns[0]))
    rest = said.removesuffix(f" {entity}")
    if rest.rpartition(" ")[2] in vocabulary().table("roles"):
        said = rest  # the "sales rep employee" is the sales rep
    if not said or said == entity or entity.endswith(f" {said}") or said in vocabulary().words("key_words"):
        return ()
    known = vocabulary().table("roles")
    whole, _, last = said.rpartition(" ")
    instead = [f"{whole} {name}" for name in known.get(last, ()) if whole and not name.startswith(whole)]
    return distinct(known.get(said, [said, *instead, *loose(whole, last), *directed(said, entity)]))


def directed(said: str, entity: str) -> list[str]:
    """An "origin ap" of a flight is its origin airport, or just its origin."""
    first, _, rest = said.partition(" ")
    ends = (*vocabulary().words("qualifiers", "origins"), *vocabulary().words("qualifiers", "destinations"))
    return [f"{first} {entity}", first] if rest and first in ends else []


def loose(whole: str, last: str) -> list[str]:
    """A "support representative" is a representative, if that is a word for people at all."""
    known = vocabulary().table("roles")
    return [last, *known[last]] if whole and last in known else []
