"""Which table took the place of which, and which changes merely follow from that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from recollect.apps.ask.corrections.change import Change
from recollect.apps.ask.corrections.compare_items import likeness
from recollect.apps.ask.corrections.qualified_names import DERIVED
from recollect.apps.ask.corrections.question_words import parts

SECOND = re.compile(r"_\d+$")
SHARED_COLUMN = 0.5
SAME_PLACE = 0.5


def substitutes(before: exp.Query, after: exp.Query) -> dict[str, str]:
    """Tables only the first names, each with the likeliest of those only the second names."""
    old, new = _places(before), _places(after)
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    columns = _columns(before), _columns(after)
    pairs: dict[str, str] = {}

    def weight(pair: tuple[str, str]) -> float:
        one, other = pair
        shared = columns[0].get(one, set()) & columns[1].get(other, set())
        return SHARED_COLUMN * len(shared) + SAME_PLACE * (old[one] == new[other]) + likeness(one, other)

    for one, other in sorted(((one, other) for one in gone for other in come), key=weight, reverse=True):
        if one not in pairs and other not in pairs.values():
            pairs[one] = other
    return {one: pairs[one] for one in gone if one in pairs}


def once(tables: Mapping[str, str]) -> dict[str, str]:
    """Without the second use of a table that is joined with itself."""
    return {old: new for old, new in tables.items() if SECOND.sub("", old) not in tables or not SECOND.search(old)}


def _places(query: exp.Query) -> dict[str, int]:
    """Each table and how many were named before it."""
    names: list[str] = [label for label in _labels(query) if not label.startswith(DERIVED)]
    return {name: names.index(name) for name in names}


def _labels(query: exp.Query) -> Iterator[str]:
    return (table.meta.get("label", table.name) for table in query.find_all(exp.Table))


def _columns(query: exp.Query) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for column in query.find_all(exp.Column):
        found.setdefault(column.table, set()).add(column.name)
    return found


def follows(change: Change, tables: Mapping[str, str]) -> bool:
    """client_name to customer_name, where clients became customers."""
    if change.kind != "column_substitution" or not change.before or not change.after:
        return False
    old, new = parts(change.before), parts(change.after)
    went, came = [one for one in old if one not in new], [one for one in new if one not in old]
    return any(went == parts(one) and came == parts(other) for one, other in tables.items())
