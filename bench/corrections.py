"""`python -m bench corrections`: what is learned from a corrected query, on labelled pairs: JSON lines, one each.

    {"question", "generated_sql", "corrected_sql", "dialect": "sqlite", "changes": ["table_substitution", ...],
     "learned": [["terminology", "clients"], ...]}

A pair is right if the kinds of its changes are exactly the expected ones, in any order; no changes means that both
queries are equivalent. If `learned` is given, the kinds and keys of the lessons, without the pair itself, are counted
too. The default pairs are in corrections.jsonl; their `part` says how they were used (docs/why/corrections.md).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bench.evaluation import read_numbered_lines, share
from recollect.apps.ask.corrections import ChangeKind, Correction, compare_queries
from recollect.apps.ask.corrections.lessons import draw_lessons
from recollect.cli.options import Json
from recollect.cli.output import make_text, print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.errors import InvalidInput

SHIPPED = Path(str(files("bench").joinpath("corrections.jsonl")))
EQUIVALENT = "equivalent"
COLUMNS = ("expected", "made", "precision", "recall")
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="JSON lines, one labelled pair of queries each; default: the included pairs.",
        exists=True,
        dir_okay=False,
    ),
]


def corrections(files: Files = None, json: Json = False) -> None:
    """Compare generated and corrected queries, and count the pairs whose changes are all found. Stores nothing."""
    for path in files or [SHIPPED]:
        result = evaluate(path).to_dict()
        if json:
            print_json({"file": str(path), **result})
        else:
            show(path, result)


def show(path: Path, result: Mapping[str, Any]) -> None:
    table = make_table("change", *COLUMNS, title=str(path))
    for name, values in result["by_kind"].items():
        table.add_row(name, *(f"{values[column]:.4g}" for column in COLUMNS))
    console = stdout_console()
    console.print(table)
    for name, score in {**result["by_part"], "all": result, "what is learned": result["learned"]}.items():
        console.print(make_text(f"{name}: {score['right']} of {score['total']} right ({score['share']:.3f})"))
    console.print(make_text(f"{result['ms_per_pair']:.2f} ms per pair", "dim"))
    for wrong in result["wrong"]:
        expected, made = (", ".join(wrong[name]) or "nothing" for name in ("expected", "made"))
        console.print(make_text(f"wrong: {wrong['question']}: expected {expected}; made {made}", "dim"))


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

    def compare(self) -> Correction:
        try:
            return compare_queries(self.generated_sql, self.corrected_sql, self.dialect, self.question)
        except InvalidInput as error:
            raise InvalidInput("file", f"{self.where}: {error}") from None

    def list_lessons(self, found: Correction) -> frozenset[tuple[str, str]]:
        made = draw_lessons(found, self.question, self.generated_sql, self.corrected_sql)
        return frozenset((lesson.kind, lesson.key) for lesson in made if lesson.kind != "correction")


@dataclass(slots=True)
class Tally:
    """How often a kind was expected, made, and both."""

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
    """`wrong` shows why a score is low."""

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
            self.count_lessons(pair, pair.list_lessons(found))

    def tally(self, expected: Sequence[str], made: Sequence[str]) -> None:
        both = Counter(expected) & Counter(made)
        for name, kinds in (("expected", Counter(expected)), ("made", Counter(made)), ("found", both)):
            for kind, times in kinds.items():
                tally = self.by_kind.setdefault(kind, Tally())
                setattr(tally, name, getattr(tally, name) + times)

    def count_lessons(self, pair: Pair, made: frozenset[tuple[str, str]]) -> None:
        self.learned.count(made == pair.learned)
        if made != pair.learned:
            self.wrong.append(
                {"question": pair.question, "expected": format_keys(pair.learned or ()), "made": format_keys(made)}
            )


def format_keys(keys: frozenset[tuple[str, str]] | tuple[()]) -> list[str]:
    return sorted(f"{kind} {key}" for kind, key in keys)


def evaluate(path: Path = SHIPPED) -> Result:
    result, pairs = Result(), list(read_pairs(path))
    for pair in pairs[:1]:  # before measuring: the parser is loaded when first needed
        pair.compare()
    started = time.process_time()
    found = [pair.compare() for pair in pairs]
    result.seconds = time.process_time() - started
    for pair, correction in zip(pairs, found, strict=True):
        result.count(pair, correction)
    return result


def read_pairs(path: Path) -> Iterator[Pair]:
    return (parse_pair(path, number, line) for number, line in read_numbered_lines(path))


def parse_pair(path: Path, number: int, line: str) -> Pair:
    try:
        given = json.loads(line)
        texts = {name: str(given[name]) for name in ("question", "generated_sql", "corrected_sql")}
        changes = tuple(check_kind(kind) for kind in given["changes"])
        learned = None if given.get("learned") is None else frozenset((str(k), str(key)) for k, key in given["learned"])
        dialect, part = str(given.get("dialect") or "sqlite"), str(given.get("part") or "all")
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("file", f"{path}:{number} is not a pair of queries with its changes: {error}") from None
    return Pair(**texts, dialect=dialect, changes=changes, learned=learned, part=part, where=f"{path}:{number}")


def check_kind(kind: str) -> str:
    if kind not in get_args(ChangeKind):
        raise ValueError(f"{kind!r} is not one of {', '.join(get_args(ChangeKind))}")
    return kind
