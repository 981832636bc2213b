"""The allow-lists of the gate, read once from gate_functions.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Lists:
    dialect: str
    nodes: frozenset[str]
    types: frozenset[str]
    words: frozenset[str]
    functions: frozenset[str]
    table_functions: Mapping[str, tuple[str, ...]]  # with the columns they give


@cache
def lists_of(dialect: str) -> Lists:
    text = files("recollect.apps.ask.gate").joinpath("functions.toml").read_text("utf-8")
    data = tomllib.loads(text)
    functions = data["functions"].get(dialect, [])
    table_functions = data["table_functions"].get(dialect, {})
    return Lists(
        dialect=dialect,
        nodes=frozenset([*data["nodes"], *functions]),
        types=frozenset(data["types"]),
        words=frozenset(data["words"]),
        functions=frozenset(functions),
        table_functions={name: tuple(columns) for name, columns in table_functions.items()},
    )
