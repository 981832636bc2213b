"""`recollect chat`: one message, or a conversation through a pipe."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from recollect.cli import main
from recollect.cli.chat import chat
from tests.cli.cli_program import Terminal

app = typer.Typer()
app.command()(chat)


@pytest.fixture(autouse=True)
def surroundings(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("RECOLLECT_USER", "alex")


def run(*arguments: str, types: str = "", session: str | None = None) -> str:
    named = ("--session", session) if session else ()
    done = CliRunner().invoke(app, [*arguments, *named], input=types)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_conversation_goes_on_line_by_line_until_it_is_left() -> None:
    out = run(types="My name is Alex.\n\nWhat's my name?\n/exit\nWhat is lost?\n")
    noted, name = out.strip().splitlines()
    assert noted.startswith("Noted: name: Alex [")
    assert name.startswith("name: Alex.")


def test_programs_get_an_object_for_each_answer() -> None:
    run("My name is Alex.", "--session", "monday")
    answer: dict[str, Any] = json.loads(run("What's my name?", "--session", "tuesday", "--json"))
    assert (answer["session"], answer["ref"], answer["memory"]["facts"]) == ("tuesday", "tuesday#1", 1)


def test_why_tells_what_the_last_reply_rests_on() -> None:
    out = run(types="/why\nMy name is Alex.\nWhat's my name?\n/why\n", session="monday")
    assert out.startswith("There is no reply yet.")
    assert "name: Alex" in out.rpartition("name: Alex.")[2]


def test_facts_are_numbered_and_one_is_forgotten_by_its_number() -> None:
    out = run("--yes", types="/facts\nMy name is Alex. I live in Porto.\n/facts\n/forget 9\n/forget 1\n/facts\n")
    before, _, after = out.partition("Forgotten")

    assert before.startswith("Nothing is known about you yet.")
    known = [fact for fact in ("Alex", "Porto") if fact in before.rpartition("since")[2]]
    left = [fact for fact in known if fact in after.rpartition("since")[2]]
    assert (len(known), len(left)) == (2, 1)


def test_sessions_are_listed_changed_begun_and_forgotten() -> None:
    lines = "Hello there, remember the bees.\n/session tuesday\nHello.\n/session\n/forget\n/session\n/session new\nHi\n"
    out = run("--yes", types=lines)
    before, _, after = out.partition("Forgotten")

    assert "In session tuesday." in before
    assert before.rpartition("session")[2].count("*") == 1
    assert "bees" in after
    assert "tuesday" not in after.partition("last")[2]
    assert "New session." in after


@pytest.mark.parametrize(("answer", "is_forgotten"), [("n", False), ("y", True)])
def test_forgetting_is_confirmed_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, is_forgotten: bool
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(f"My name is Alex.\n/forget\n{answer}\n/exit\n"))
    assert main(["chat", "--session", "monday"]) == 0
    said = capsys.readouterr()
    assert "Forget session monday permanently?" in said.err
    assert ("Forgotten" in said.out) == is_forgotten
    assert ("monday" in run(types="/session\n")) == (not is_forgotten)


def test_nothing_is_forgotten_through_a_pipe_without_yes() -> None:
    out = run(types="My name is Alex.\n/forget\n/facts\n/forget 1\n/facts\n", session="monday")
    assert "Forgotten" not in out
    assert "Alex" in out.rpartition("since")[2]


def test_an_unknown_command_is_no_message() -> None:
    assert run(types="/dance\n/session\n").count("dance") == 0
