"""Filters: which values are meant, in LangGraph's way of saying it and in mem0's. Pure.

What cannot be compared, such as a missing number, is not what a filter wants. An operator nobody knows is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from recollect.compat.facts import IDS, Fact, Who
from recollect.errors import InvalidInput

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: wanted.casefold() in value.casefold(),
}
OF_ITEMS = ("eq", "ne", "gt", "gte", "lt", "lte")
NUMERIC = ("gt", "gte", "lt", "lte")


def passes(value: object, wanted: object) -> bool:
    """LangGraph: equal, or by operators ($gt), or a dict of which each named part is so."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_passes(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(passes(value.get(name), other) for name, other in wanted.items())
    if isinstance(wanted, list | tuple):
        same_length = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same_length and all(map(passes, value, wanted))  # type: ignore[call-overload]
    return value == wanted


def _passes(value: Any, name: str, wanted: Any) -> bool:
    plain = name.removeprefix("$")
    if plain == name or plain not in OF_ITEMS:
        raise InvalidInput("filter", f"{name!r} is not one of {', '.join(f'${each}' for each in OF_ITEMS)}")
    try:
        # As LangGraph's own stores do: what is put in order is a number.
        return compares(float(value), plain, float(wanted)) if plain in NUMERIC else compares(value, plain, wanted)
    except (TypeError, ValueError):
        return False


def compares(value: Any, name: str, wanted: Any) -> bool:
    try:
        return bool(OPERATORS[name](value, wanted))
    except (TypeError, AttributeError):
        return False


def whose(filters: Mapping[str, Any] | None, **given: str | None) -> tuple[Who, Fact]:
    """The ids among some filters, at the top or in an AND, or given by name; and the filters without those."""
    ids = {name: value for name, value in given.items() if value is not None}
    left: Fact = {}
    for name, wanted in (filters or {}).items():
        if name in IDS and isinstance(wanted, str) and wanted != "*":
            ids.setdefault(name, wanted)
        else:
            left[name] = wanted
    for part in left.get("AND") or ():
        ids = {name: part[name] for name in IDS if isinstance(part.get(name), str) and part[name] != "*"} | ids
    return Who(**ids), left


def accepts(found: Fact, filters: Mapping[str, Any]) -> bool:
    """Whether a fact is what mem0's filters want: by its ids and metadata, operators, AND, OR and NOT."""
    return all(_accepts(found, name, wanted) for name, wanted in filters.items())


def _accepts(found: Fact, name: str, wanted: Any) -> bool:
    match name:
        case "AND":
            return all(accepts(found, part) for part in wanted)
        case "OR":
            return any(accepts(found, part) for part in wanted)
        case "NOT":
            return not any(accepts(found, part) for part in wanted)
    value = found.get(name, (found["metadata"] or {}).get(name))
    if wanted == "*":
        return value is not None
    conditions = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
    if unknown := [condition for condition in conditions if condition not in OPERATORS]:
        raise InvalidInput("filters", f"{unknown[0]!r} is not one of {', '.join(OPERATORS)}")
    return all(compares(value, condition, other) for condition, other in conditions.items())
