"""`recollect sources` and `recollect ask`: a database on the terminal, a question, a conversation through a pipe, and
what teaches it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from recollect.cli.ask import ask, sources
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
    assert run(sources, "refresh", "sales").stdout.startswith("the schema is unchanged")
    assert "sales is removed" in run(sources, "drop", "sales", "--yes").stdout
    failed = CliRunner().invoke(sources, ["show", "sales"])
    assert isinstance(failed.exception, NotFound)


@pytest.mark.usefixtures("added")
def test_the_model_is_printed_edited_and_taken_back(tmp_path: Path) -> None:
    text = run(sources, "model", "sales").stdout
    assert "employees:" in text
    file = tmp_path / "model.yaml"
    file.write_text(text.replace("names: employees", "names: employees, heron"), encoding="utf-8")
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
def test_chart_is_written_in_the_format_of_its_name(tmp_path: Path) -> None:
    for name, start in (("chart.svg", b"<svg"), ("chart.json", b"{")):
        run(app, "Total sales by region for 2024", "--chart", str(tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(start)
    chart = json.loads((tmp_path / "chart.json").read_bytes())
    assert chart["title"]["text"] == "Total sales by region, 2024"


@pytest.mark.parametrize("name", ["chart.gif", "chart"])
def test_chart_of_another_format_is_refused(tmp_path: Path, name: str) -> None:
    refused = CliRunner().invoke(app, ["Total sales", "--chart", str(tmp_path / name)])
    assert isinstance(refused.exception, InvalidInput)
    assert ".png, .svg or .json" in str(refused.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("added")
def test_rows_are_shown_with_words_and_their_number() -> None:
    done = run(app, "Total sales by region for 2024")
    assert done.stdout.splitlines()[0] == "Total sales by region, 2024"
    assert [line.split() for line in done.stdout.splitlines() if "Total sales " in line][1] == [
        "Region",
        "Total",
        "sales",
    ]
    assert "50 of 208 rows" in run(app, "Show me customer data").output


@pytest.mark.usefixtures("added")
def test_csv_file_has_every_row(tmp_path: Path) -> None:
    done = run(app, "Show me customer data", "--csv", str(tmp_path / "rows.csv"))
    rows = (tmp_path / "rows.csv").read_text("utf-8-sig").splitlines()
    assert len(rows) == 209
    assert "50 of 208 rows" in done.output
    run(app, "Show me customer data", "--csv", str(tmp_path / "some.csv"), "--rows", "7")
    assert len((tmp_path / "some.csv").read_text("utf-8-sig").splitlines()) == 8


@pytest.mark.usefixtures("added")
def test_programs_get_the_answer_as_an_object() -> None:
    answer = json.loads(run(app, "How many customers are there?", "--json", "--session", "one").stdout)
    assert answer["execution_result"]["full"] == [{"count": 208}]
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
    assert "Saved: the same question gets this SQL." in done.stdout
    assert "default_filter:customers.is_test" in done.stdout
    assert "200" in done.stdout
    assert "assumed:" in done.output
    assert "DELETE" in done.output
    assert "Noted: this SQL will not be used again." in done.stdout
    assert "/correct SQL" in done.output
    assert "lost" not in done.output


def test_commands_before_the_first_question_say_what_is_missing() -> None:
    done = run(app, types="/sql\n/good\n/correct SELECT 1\nHow many customers are there?\n")
    assert "no question was asked yet" in done.stdout
    assert "no SQL to rate" in done.output
    assert "no SQL to correct" in done.output
    assert "recollect sources add" in done.output
