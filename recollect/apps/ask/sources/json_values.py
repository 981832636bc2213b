"""Rendering: a database's value as JSON can carry it, looking as it did: cents stay, a date is text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

LONGEST_TEXT = 20_000
LONGEST_BYTES = 64
TRUSTED_DIGITS = 12
NOISE = 5  # digits that must vanish before we call them noise


def as_json(value: Any) -> Any:
    match value:
        case None | bool() | int():
            return value
        case str():
            return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
        case float():
            return without_noise(value) if math.isfinite(value) else not_a_number(value)
        case Decimal():
            return number(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return hexadecimal(bytes(value))
        case Mapping():
            return {str(key): as_json(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_json(inner) for inner in value]
        case timedelta():
            return str(value)
        case _:
            return str(value)[:LONGEST_TEXT]


def number(value: Decimal) -> int | float | str:
    """A number if it survives as one; otherwise its digits."""
    if not value.is_finite():
        return not_a_number(float(value)) if not value.is_snan() else "NaN"
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= 0:
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else format(value, "f")


def without_noise(value: float) -> float:
    """Sums of cents in a database without decimals end in noise: 523.0600000000003 is 523.06."""
    near = float(f"{value:.{TRUSTED_DIGITS}g}")
    return near if len(repr(near)) + NOISE <= len(repr(value)) else value


def not_a_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def hexadecimal(value: bytes) -> str:
    shown = f"0x{value[:LONGEST_BYTES].hex()}"
    return shown if len(value) <= LONGEST_BYTES else f"{shown}… ({len(value):,} bytes)"


def size_of(value: Any) -> int:
    """About how many bytes it takes as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, Mapping):
        return sum(size_of(key) + size_of(inner) for key, inner in value.items()) + 2
    return sum(map(size_of, value)) + 2 if isinstance(value, list) else 8
