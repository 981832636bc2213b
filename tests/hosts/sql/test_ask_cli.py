"""`recollect sources` and `recollect ask`: a database on the terminal, a question, a conversation through a pipe, and
what teaches it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from recollect.doors.cli.ask import ask
from recollect.doors.cli.sources import app as sources
from recollect.errors import InvalidInput, NotFound

app = typer.Typer()
app.command()(ask)


@pytest.fixture(autouse=True)
def surroundings(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", database)
    monkeypatch.setenv("RECOLLECT_USER", "alex")


def run(program: typer.Typer, *arguments: str, types: str = "") -> Result:
    done = CliRunner().invoke(program, arguments, input=types)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def added(sample: Path) -> dict[str, Any]:
    return dict(json.loads(run(sources, "add", "sales", f"sqlite:///{sample}", "--json").stdout))


def test_a_database_is_added_listed_shown_read_again_and_dropped(added: dict[str, Any]) -> None:
    assert (added["name"], added["dialect"], len(added["tables"])) == ("sales", "sqlite", 8)
    [listed] = json.loads(run(sources, "list", "--json").stdout)["datasources"]
    assert listed["fingerprint"] == added["fingerprint"]
    assert "sales" in run(sources, "list").stdout
    assert "order_lines" in run(sources, "show", "sales").stdout
    assert run(sources, "refresh", "sales").stdout.startswith("its shape is as it was")
    assert "sales is forgotten" in run(sources, "drop", "sales", "--yes").stdout
    failed = CliRunner().invoke(sources, ["show", "sales"])
    assert isinstance(failed.exception, NotFound)


@pytest.mark.usefixtures("added")
def test_the_model_is_printed_edited_and_taken_back(tmp_path: Path) -> None:
    text = run(sources, "model", "sales").stdout
    assert "employees:" in text
    file = tmp_path / "model.yaml"
    file.write_text(text.replace("staff member", "heron"), encoding="utf-8")
    assert "sales has the model" in run(sources, "model", "sales", str(file)).stdout
    assert "heron" in run(sources, "model", "sales").stdout
    assert "24" in run(app, "How many herons are there?").stdout
    wrong = CliRunner().invoke(sources, ["model", "sales", "-"], input="tables: {nothing: {names: x}}")
    assert isinstance(wrong.exception, InvalidInput)


@pytest.mark.usefixtures("added")
def test_who_may_see_what_is_printed_and_set() -> None:
    assert json.loads(run(sources, "access", "sales").stdout) == {}
    rules = {"user": {"tables": ["customers"]}}
    run(sources, "access", "sales", "-", types=json.dumps(rules))
    assert json.loads(run(sources, "access", "sales").stdout) == rules
    for text in ("no JSON", '{"user": {"tables": ["nothing"]}}'):
        assert isinstance(CliRunner().invoke(sources, ["access", "sales", "-"], input=text).exception, InvalidInput)


@pytest.mark.usefixtures("added")
def test_one_question_shows_its_statement_and_its_rows(tmp_path: Path) -> None:
    chart = tmp_path / "chart.png"
    done = run(app, "Total sales by region for 2024", "--chart", str(chart))
    assert all(region in done.stdout for region in ("North", "South", "East", "West"))
    assert "SUM(" in done.output
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert "no chart suits" in run(app, "How many customers are there?", "--chart", str(chart)).output
    only = run(app, "Total sales by region for 2024", "--no-run")
    assert "North" not in only.output


@pytest.mark.usefixtures("added")
def test_programs_get_the_answer_as_an_object() -> None:
    answer = json.loads(run(app, "How many customers are there?", "--json", "--session", "one").stdout)
    assert answer["execution_result"]["full"] == [{"count_customer": 208}]
    assert (answer["conversation_metadata"]["session_id"], answer["raw_graph"]) == ("one", "")


@pytest.mark.usefixtures("added")
def test_a_conversation_goes_on_and_is_taught_line_by_line() -> None:
    lines = [
        "Total sales by region for 2024",
        "What about 2023?",
        "/sql",
        "How many patrons are there?",
        "/mean patrons = I mean the customers table",
        "How many patrons are there?",
        "/good",
        "/correct SELECT COUNT(*) AS n FROM customers WHERE NOT customers.is_test",
        "How many customers are there?",
        "/correct DELETE FROM customers",
        "/bad",
        "/nonsense",
        "/exit",
        "What is lost?",
    ]
    done = run(app, types="\n".join(lines))
    assert "2023-01-01" in done.stdout
    assert "patrons: the customers table" in done.stdout
    assert "Kept: the same question gets this statement." in done.stdout
    assert "default_filter:customers.is_test" in done.stdout
    assert "200" in done.stdout
    assert "assumed:" in done.output
    assert "DELETE" in done.output
    assert "Noted: it will not be used again." in done.stdout
    assert "/correct SQL" in done.output
    assert "lost" not in done.output


def test_commands_before_the_first_question_say_what_is_missing() -> None:
    done = run(app, types="/sql\n/good\n/correct SELECT 1\nHow many customers are there?\n")
    assert "nothing was asked yet" in done.stdout
    assert "no statement to judge" in done.output
    assert "no statement to correct" in done.output
    assert "recollect sources add" in done.output
