"""The commands of `python -m bench`: their arguments and output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.verb_cost import Report, Row
from recollect.settings import Settings

from .cli_program import Cli

CONVERSATION = {
    "id": "c1",
    "turns": [
        {"id": name, "session": "s", "at": "2026-05-01T10:00:00Z", "speaker": "Kim", "role": "user", "text": text}
        for name, text in (("t1", "I keep bees in Wales"), ("t2", "My car is blue"))
    ],
    "questions": [
        {"id": "q1", "text": "where are the bees?", "category": "places", "evidence": ["t1"]},
        {"id": "q2", "text": "which colour is the car?", "category": "colours", "evidence": ["t2"]},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tiny.jsonl"
    path.write_text(f"{json.dumps(CONVERSATION)}\n{json.dumps({**CONVERSATION, 'id': 'c2'})}\n")
    return str(path)


def test_eval_shows_every_category(bench: Cli, file: str) -> None:
    ran = bench("retrieval", file)
    assert ran.code == 0
    assert all(text in ran.out for text in ("places", "colours", "all", "recall@10", "p95"))


def test_eval_for_programs_is_a_line_per_file(bench: Cli, file: str) -> None:
    options = ("--exclude-category", "colours", "--limit-conversations", "1", "--json")
    lines = [json.loads(line) for line in bench("retrieval", file, file, *options).out.splitlines()]
    assert [line["file"] for line in lines] == [file, file]
    assert [line["questions"] for line in lines] == [1, 1]
    assert lines[0]["recall@10"] == 1.0
    assert set(lines[0]["by_category"]) == {"places"}


def test_eval_leaves_nothing_behind(bench: Cli, cli: Cli, file: str) -> None:
    bench("retrieval", file)
    assert cli("export", "--user", "c1").out == ""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The measurement takes a minute, so only the command's arguments and output are tested."""
    asked: list[bool] = []

    async def measure_verbs(settings: Settings, *, quick: bool, progress: Callable[[str], None]) -> Report:
        asked.append(quick)
        progress("appending pairs")
        return Report([Row("append a pair", 1.5, "CPU ms", 1.0, "<= 2x")])

    monkeypatch.setattr("bench.verb_cost.measure_verbs", measure_verbs)
    return asked


def test_bench_shows_figures_beside_their_floor(bench: Cli, measured: list[bool]) -> None:
    ran = bench("cost", "--quick")
    assert (measured, ran.err) == ([True], "appending pairs\n")
    assert all(text in ran.out for text in ("append a pair", "1.50 CPU ms", "1.50x", "<= 2x"))


def test_bench_for_programs(bench: Cli, measured: list[bool]) -> None:
    assert bench("cost", "--json").json["figures"][0]["ratio"] == 1.5
    assert measured == [False]
