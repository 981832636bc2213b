"""What is read out of corrections, measured on the pairs that are shipped (docs/why/sql-gate-and-corrections.md)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bench.corrections import SHIPPED, Result, corrections, evaluate, read_pairs
from recollect.errors import InvalidInput
from recollect.values.text import is_cjk

PAIR: dict[str, object] = {
    "question": "client orders",
    "generated_sql": "SELECT * FROM clients",
    "corrected_sql": "SELECT * FROM customers",
    "changes": ["table_substitution"],
}


def scored(tmp_path: Path, *pairs: dict[str, object]) -> Result:
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    return evaluate(path)


def command(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(corrections)
    ran = CliRunner().invoke(app, list(arguments))
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_nearly_all_changes_and_lessons_are_right() -> None:
    result = evaluate().to_dict()
    assert result["share"] >= 0.93, result["wrong"]
    assert all(score["share"] >= 0.85 for score in result["by_part"].values()), result["wrong"]
    assert result["learned"]["share"] >= 0.93, result["wrong"]


def test_the_set_is_large_and_varied() -> None:
    pairs = list(read_pairs(SHIPPED))
    counted = Counter(kind for pair in pairs for kind in pair.changes or ["equivalent"])
    assert len(pairs) >= 140
    assert counted["equivalent"] >= 10
    assert min(counted.values()) >= 5
    assert {pair.dialect for pair in pairs} == {"sqlite", "postgres"}
    assert sum(is_cjk(pair.question) for pair in pairs) >= 10
    assert sum(pair.part == "held-out" for pair in pairs) >= 60


def test_a_pair_is_right_when_exactly_its_changes_are_found(tmp_path: Path) -> None:
    result = scored(tmp_path, PAIR, {**PAIR, "changes": ["table_substitution", "limit"]}, {**PAIR, "changes": []})
    assert (result.changes.right, result.changes.total) == (1, 3)
    kinds = result.to_dict()["by_kind"]
    assert kinds["table_substitution"] == {"expected": 2, "made": 3, "precision": 0.6667, "recall": 1.0}
    assert kinds["equivalent"]["recall"] == 0.0
    assert [wrong["expected"] for wrong in result.wrong] == [["limit", "table_substitution"], []]


def test_what_is_learned_counts_where_it_is_labelled(tmp_path: Path) -> None:
    right = [["terminology", "clients"], ["terminology", "client"]]
    result = scored(tmp_path, PAIR, {**PAIR, "learned": right}, {**PAIR, "learned": right[:1]})
    assert (result.learned.right, result.learned.total) == (1, 2)
    assert result.wrong[0]["made"] == ["terminology client", "terminology clients"]


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ({"question": "x"}, "is not a pair"),
        ({**PAIR, "changes": ["tabel"]}, "'tabel' is not one of"),
        ({**PAIR, "corrected_sql": "SELECT FROM"}, "corrected_sql: cannot be parsed"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, pair: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidInput, match=rf"pairs\.jsonl:2.*{problem}"):
        scored(tmp_path, PAIR, pair)


def test_the_command_measures_what_is_shipped_or_the_files_given(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**PAIR, "changes": ["limit"]}), encoding="utf-8")
    first, second = (json.loads(line) for line in command(str(path), str(SHIPPED), "--json").splitlines())
    assert (first["right"], first["total"], second["total"]) == (0, 1, len(list(read_pairs(SHIPPED))))
    assert "wrong: client orders: expected limit; made table_substitution" in command(str(path))
    assert "held-out" in command()
