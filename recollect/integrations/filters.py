"""Filters of LangGraph and mem0, as pure functions. A value that cannot be compared does not match; an unknown operator
is an error."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from recollect.errors import InvalidInput
from recollect.integrations.mem0_facts import IDS, Fact, Owner

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
ITEM_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte")
ORDER_OPERATORS = ("gt", "gte", "lt", "lte")


def matches_filter(value: object, wanted: object) -> bool:
    """Whether a value matches a LangGraph filter: a value, operators ($gt), or a dict whose entries all match."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(matches_operator(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            matches_filter(value.get(name), other) for name, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        same_length = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same_length and all(map(matches_filter, value, wanted))  # type: ignore[call-overload]
    return value == wanted


def matches_operator(value: Any, name: str, wanted: Any) -> bool:
    plain = name.removeprefix("$")
    if plain == name or plain not in ITEM_OPERATORS:
        raise InvalidInput("filter", f"{name!r} is not one of {', '.join(f'${each}' for each in ITEM_OPERATORS)}")
    try:
        # As in LangGraph's own stores, order operators compare numbers.
        return (
            compare(float(value), plain, float(wanted)) if plain in ORDER_OPERATORS else compare(value, plain, wanted)
        )
    except (TypeError, ValueError):
        return False


LOGIC: Mapping[str, Callable[[Iterable[bool]], bool]] = {"AND": all, "OR": any, "NOT": lambda parts: not any(parts)}


def compare(value: Any, name: str, wanted: Any) -> bool:
    try:
        return bool(OPERATORS[name](value, wanted))
    except (TypeError, AttributeError):
        return False


def split_filters(filters: Mapping[str, Any] | None, **given: str | None) -> tuple[Owner, Fact]:
    """Return the owner from ids given by name or in the filters (at the top or in an AND), and the other filters."""
    ids = {name: value for name, value in given.items() if value is not None}
    top = read_ids(filters or {})
    left: Fact = {name: wanted for name, wanted in (filters or {}).items() if name not in top}
    ids = top | ids
    for part in left.get("AND") or ():
        ids = read_ids(part) | ids
    return Owner(**ids), left


def read_ids(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that the filters ask for by value."""
    return {name: filters[name] for name in IDS if isinstance(filters.get(name), str) and filters[name] != "*"}


def matches_mem0_filter(found: Fact, filters: Mapping[str, Any]) -> bool:
    """Whether a fact matches mem0's filters: ids and metadata, operators, AND, OR and NOT."""
    return all(matches_mem0_condition(found, name, wanted) for name, wanted in filters.items())


def matches_mem0_condition(found: Fact, name: str, wanted: Any) -> bool:
    if name in LOGIC:
        return LOGIC[name](matches_mem0_filter(found, part) for part in wanted)
    value = found.get(name, (found["metadata"] or {}).get(name))
    if wanted == "*":
        return value is not None
    conditions = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
    if unknown := [condition for condition in conditions if condition not in OPERATORS]:
        raise InvalidInput("filters", f"{unknown[0]!r} is not one of {', '.join(OPERATORS)}")
    return all(compare(value, condition, other) for condition, other in conditions.items())
