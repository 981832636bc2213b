"""Evaluation of what is read out of a corrected query, on labelled pairs: JSON lines, one pair each.

    {"question", "generated_sql", "corrected_sql", "dialect": "sqlite", "changes": ["table_substitution", ...],
     "learned": [["terminology", "clients"], ...]}

A pair is right when the kinds of its changes are exactly those expected, in any order; none means that both queries say
the same. Where `learned` is given, the kinds and keys of the lessons, without the pair itself, are counted too. The
pairs that are shipped are in corrections.jsonl; their `part` says how they were used (docs/why/corrections.md).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from recollect.errors import InvalidInput
from recollect.evals.extraction import share
from recollect.evals.lines import numbered
from recollect.sql.correction import ChangeKind, Correction, compared, lessons

SHIPPED = Path(str(files("recollect.evals").joinpath("corrections.jsonl")))
EQUIVALENT = "equivalent"


@dataclass(frozen=True, slots=True)
class Pair:
    question: str
    generated_sql: str
    corrected_sql: str
    dialect: str
    changes: tuple[str, ...]
    learned: frozenset[tuple[str, str]] | None = None
    part: str = "all"
    where: str = ""

    def compared(self) -> Correction:
        try:
            return compared(self.generated_sql, self.corrected_sql, self.dialect, self.question)
        except InvalidInput as error:
            raise InvalidInput("file", f"{self.where}: {error}") from None

    def taught(self, found: Correction) -> frozenset[tuple[str, str]]:
        made = lessons(found, self.question, self.generated_sql, self.corrected_sql)
        return frozenset((lesson.kind, lesson.key) for lesson in made if lesson.kind != "correction")


@dataclass(slots=True)
class Tally:
    """How often a kind was expected, how often it was found, and how often both."""

    expected: int = 0
    made: int = 0
    found: int = 0

    def to_dict(self) -> dict[str, Any]:
        precision, recall = share(self.found, self.made), share(self.found, self.expected)
        return {"expected": self.expected, "made": self.made, "precision": precision, "recall": recall}


@dataclass(slots=True)
class Score:
    right: int = 0
    total: int = 0

    def count(self, is_right: bool) -> None:
        self.right += is_right
        self.total += 1

    def to_dict(self) -> dict[str, Any]:
        return {"right": self.right, "total": self.total, "share": share(self.right, self.total)}


@dataclass(slots=True)
class Result:
    """`wrong` is what to read when a score is low."""

    changes: Score = field(default_factory=Score)
    learned: Score = field(default_factory=Score)
    seconds: float = 0.0
    by_kind: dict[str, Tally] = field(default_factory=dict)
    by_part: dict[str, Score] = field(default_factory=dict)
    wrong: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.changes.to_dict(),
            "learned": self.learned.to_dict(),
            "ms_per_pair": round(self.seconds * 1000 / max(self.changes.total, 1), 3),
            "by_kind": {name: tally.to_dict() for name, tally in sorted(self.by_kind.items())},
            "by_part": {name: score.to_dict() for name, score in sorted(self.by_part.items())},
            "wrong": self.wrong,
        }

    def count(self, pair: Pair, found: Correction) -> None:
        made = sorted(change.kind for change in found.changes)
        is_right = made == sorted(pair.changes)
        self.changes.count(is_right)
        self.by_part.setdefault(pair.part, Score()).count(is_right)
        self.tally(pair.changes or (EQUIVALENT,), made or (EQUIVALENT,))
        if not is_right:
            self.wrong.append({"question": pair.question, "expected": sorted(pair.changes), "made": made})
        if pair.learned is not None:
            self.count_lessons(pair, pair.taught(found))

    def tally(self, expected: Sequence[str], made: Sequence[str]) -> None:
        both = Counter(expected) & Counter(made)
        for name, kinds in (("expected", Counter(expected)), ("made", Counter(made)), ("found", both)):
            for kind, times in kinds.items():
                tally = self.by_kind.setdefault(kind, Tally())
                setattr(tally, name, getattr(tally, name) + times)

    def count_lessons(self, pair: Pair, made: frozenset[tuple[str, str]]) -> None:
        self.learned.count(made == pair.learned)
        if made != pair.learned:
            self.wrong.append({"question": pair.question, "expected": listed(pair.learned or ()), "made": listed(made)})


def listed(keys: frozenset[tuple[str, str]] | tuple[()]) -> list[str]:
    return sorted(f"{kind} {key}" for kind, key in keys)


def evaluate(path: Path = SHIPPED) -> Result:
    result, pairs = Result(), list(read(path))
    for pair in pairs[:1]:  # before the clock runs: the parser is loaded when first needed
        pair.compared()
    started = time.process_time()
    found = [pair.compared() for pair in pairs]
    result.seconds = time.process_time() - started
    for pair, correction in zip(pairs, found, strict=True):
        result.count(pair, correction)
    return result


def read(path: Path) -> Iterator[Pair]:
    return (parsed(path, number, line) for number, line in numbered(path))


def parsed(path: Path, number: int, line: str) -> Pair:
    try:
        given = json.loads(line)
        texts = {name: str(given[name]) for name in ("question", "generated_sql", "corrected_sql")}
        changes = tuple(checked_kind(kind) for kind in given["changes"])
        learned = None if given.get("learned") is None else frozenset((str(k), str(key)) for k, key in given["learned"])
        dialect, part = str(given.get("dialect") or "sqlite"), str(given.get("part") or "all")
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("file", f"{path}:{number} is not a pair of queries with its changes: {error}") from None
    return Pair(**texts, dialect=dialect, changes=changes, learned=learned, part=part, where=f"{path}:{number}")


def checked_kind(kind: str) -> str:
    if kind not in get_args(ChangeKind):
        raise ValueError(f"{kind!r} is not one of {', '.join(get_args(ChangeKind))}")
    return kind
