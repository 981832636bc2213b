"""`recollect chat`: one message, or a conversation through a pipe."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from recollect.doors.cli.chat import chat

app = typer.Typer()
app.command()(chat)


@pytest.fixture(autouse=True)
def surroundings(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("RECOLLECT_USER", "alex")


def run(*arguments: str, types: str = "") -> str:
    done = CliRunner().invoke(app, arguments, input=types)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_conversation_goes_on_line_by_line_until_it_is_left() -> None:
    out = run(types="My name is Alex.\n\nWhat's my name?\n/exit\nWhat is lost?\n")
    noted, name = out.strip().splitlines()
    assert noted.startswith("Noted: name: Alex [")
    assert name.startswith("Your name is Alex.")


def test_programs_get_an_object_for_each_answer() -> None:
    run("My name is Alex.", "--session", "monday")
    answer: dict[str, Any] = json.loads(run("What's my name?", "--session", "tuesday", "--json"))
    assert (answer["session"], answer["ref"], answer["memory"]["facts"]) == ("tuesday", "tuesday#1", 1)
