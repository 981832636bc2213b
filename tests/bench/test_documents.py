"""Finding in documents is counted, and the measure can tell a right passage from a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.documents import evaluate
from recollect import Engine, InvalidInput

FILES = {
    "bees.md": "# Bees\n\nA hive holds one queen.\n\nHoney is taken in July.\n",
    "cars.txt": "A tyre change costs 40 euros.\n\nA service costs 120 euros.\n",
}
LINES: list[dict[str, Any]] = [
    {"question": "How many queens are in a hive?", "file": "bees.md", "phrase": "one  QUEEN"},
    {"question": "What does a tyre change cost?", "file": "cars.txt", "phrase": "40 euros"},
    {"question": "What does a service cost?", "file": "bees.md", "phrase": "120 euros"},
    {"question": "What does a service cost?", "first": "What does a tyre change cost?", "follow_up": "And a service?"},
]


def written(folder: Path, *lines: object) -> Path:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


async def test_passages_are_counted_and_nothing_is_left_behind(memory: Engine, database: str, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    result = await evaluate(memory, written(tmp_path, *LINES), lambda done, total: steps.append((done, total)))
    told = result.to_dict()
    assert (told["files"], told["questions"], told["follow_ups"], told["follow_ups_found"]) == (2, 3, 1, 1.0)
    assert told["recall@1"] == told["recall@5"] == pytest.approx(2 / 3)
    assert told["missed"] == ["What does a service cost?"]
    assert steps[-1] == (4, 4)
    with psycopg.connect(database) as owner:
        for table in ("document", "chunk", "posting"):
            assert owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()).fetchone() == (0,)


@pytest.mark.parametrize("line", [[], {"question": "x"}, {"question": "x", "file": "bees.md"}, {"file": "bees.md"}])
async def test_a_line_that_asks_nothing_is_told_by_its_number(memory: Engine, tmp_path: Path, line: object) -> None:
    with pytest.raises(InvalidInput, match=r"questions\.jsonl:1: "):
        await evaluate(memory, written(tmp_path, line))
