"""`recollect docs`: added, asked, looked into, dropped; and memories made of what is in the log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from recollect import Upload, connect
from recollect.apps.documents.librarian import Librarian
from recollect.apps.documents.question import Question
from recollect.cli.docs import app
from recollect.settings import Settings

from .library_door import ALEX, PRICES


@pytest.fixture(autouse=True)
def surroundings(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("RECOLLECT_USER", "alex")


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.md"
    path.write_bytes(PRICES)
    return str(path)


def run(*arguments: str, types: str = "", code: int = 0) -> Result:
    done = CliRunner().invoke(app, arguments, input=types)
    assert done.exit_code == code, done.output
    return done


def told(*arguments: str) -> dict[str, Any]:
    return dict(json.loads(run(*arguments, "--json").stdout))


def test_a_file_is_added_read_asked_opened_and_dropped(prices: str) -> None:
    [document] = told("add", prices, "--title", "Prices")["documents"]
    assert (document["status"], document["title"]) == ("processed", "Prices")
    answer = told("ask", "How much is a tyre change?")
    [source] = [each for each in answer["sources"] if each["cited"]]
    place = ("--start", str(source["start"]), "--end", str(source["end"]))
    assert told("show", document["id"], *place)["text"] == "A tyre change costs 40 euros and takes half an hour."
    assert document["id"] in run("list").stdout
    run("rm", document["id"], "--yes")
    assert told("list")["documents"] == []


def test_questions_come_a_line_at_a_time_and_follow_each_other(prices: str) -> None:
    run("add", prices)
    out = run("ask", types="How much is a tyre change?\n\nAnd a service?\n/exit\nWhat is lost?\n").stdout
    first, second = [line for line in out.splitlines() if "Doc " in line]
    assert first.startswith("A tyre change costs 40 euros")
    assert second.startswith("A service costs 120 euros")


def test_a_file_that_cannot_be_read_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("  ")
    done = run("add", str(tmp_path / "empty.txt"), "--json", code=1)
    [document] = json.loads(done.stdout)["documents"]
    assert "contains no text" in document["failure"]


async def test_backfill_makes_each_missing_memory_once(settings: Settings) -> None:
    async with connect(settings, worker=False) as engine:
        await engine.documents.add(ALEX, Upload("prices.md", PRICES))
        await engine.settle(ALEX)
        silent = Librarian(engine, replace(settings, enabled=False))
        for query in ("How much is a tyre change?", "How much is a tyre change?", "How much is a service?", "Who won?"):
            await silent.query(ALEX, Question(query))
        assert await engine.memories(ALEX, kinds=("question",)) == []
        librarian = Librarian(engine, settings)
        assert [await librarian.backfill(ALEX) for _ in range(2)] == [2, 0]
        keys = {memory.key for memory in await engine.memories(ALEX, kinds=("question",))}
    assert keys == {"How much is a tyre change?", "How much is a service?"}


def test_documents_are_read_also_where_memory_is_switched_off(prices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_ENABLED", "0")
    [document] = told("add", prices)["documents"]
    assert document["status"] == "processed"
    answer = told("ask", "How much is a tyre change?")
    assert (answer["refused"], answer["memories"]) == (False, [])
