"""Vocabulary: words.toml and places.toml as a value. naming.py and the drafting files read it; nobody else needs it.

The words are data so that a trade's words can be added without touching code; the reader is cached, one per process.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Vocabulary:
    data: Mapping[str, Any]
    singulars: Mapping[str, str]
    pieces: frozenset[str]

    def words(self, *path: str) -> Sequence[Any]:
        """A list in the file."""
        found: Sequence[Any] = self.at(path, ())
        return found

    def table(self, *path: str) -> Mapping[str, Any]:
        """A table in the file."""
        found: Mapping[str, Any] = self.at(path, {})
        return found

    def at(self, path: Sequence[str], missing: Any) -> Any:
        found: Any = self.data
        for step in path:
            found = found.get(step, missing)
        return found


@cache
def vocabulary() -> Vocabulary:
    data = {**read("words.toml"), **read("places.toml")}
    singulars = {many: one for one, many in data["plurals"].items()}
    return Vocabulary(data, singulars, known_pieces(data))


def read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("recollect.sql").joinpath(name).read_text(encoding="utf-8"))


def known_pieces(data: Mapping[str, Any]) -> frozenset[str]:
    """What a lower-case identifier without separators may be made of."""
    said = [*data["pieces"], *data["synonyms"]["entities"], *data["synonyms"]["dimensions"]]
    return frozenset(word for phrase in said for word in phrase.split() if word.isascii())
