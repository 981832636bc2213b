"""`recollect report`: for people, for programs, and as a page that needs nothing but itself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recollect.apps.reports import render_page
from recollect.cli.operate import show_report
from recollect.cli.output import stdout_console
from recollect.values.report import (
    Day,
    Report,
    ReportCounts,
    Totals,
    Week,
    count_week,
    evaluate_report,
    get_period,
    load_rules,
)

from .cli_program import Cli

NOON = datetime(2026, 5, 7, 12, tzinfo=UTC)


class Reader(HTMLParser):
    """Reads a page, and insists that what is opened is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def made(project: str = "shop", totals: Totals | None = None, days: int = 7) -> Report:
    since, until = get_period(NOON, days)
    asked = [Day(NOON.date(), 40, 3, 30, 20, 10, 35, 4, 12, 48)]
    named = {"path": {"hybrid": 30, "vector": 10}, "error": {}, "rejected": {"a question": 7}, "latency": {"2": 40}}
    return evaluate_report(project, since, until, ReportCounts(totals or Totals(40, 3, 5, 35, 20), asked, named))


def test_a_report_is_shown_with_every_gauge(cli: Cli) -> None:
    cli("record", "I live in Leeds.", "--session", "monday")
    cli("recall", "where do I live?", "--session", "monday")

    shown = cli("report")

    assert shown.code == 0
    assert "1, for a context: 0; users: 1; sessions: 1" in shown.out
    assert all(rule.name in shown.out for rules in load_rules() for rule in rules)
    assert "fewer than 30 requests" in shown.out


def test_a_report_for_programs_has_the_same_numbers(cli: Cli) -> None:
    cli("record", "I live in Leeds.")
    cli("context", "where do I live?", "--project", "default")

    told = cli("report", "--json", "--days", "1").json

    assert (told["project"], told["totals"]["requests"], len(told["days"])) == ("default", 1, 1)
    assert {trigger["verdict"] for trigger in told["triggers"]} <= {"ok", "over", "too few", "not measured"}
    assert cli("report", "--json", "--project", "other").json["totals"]["requests"] == 0


def test_a_page_is_written_where_it_is_wanted(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "report.html"

    ran = cli("report", "--html", str(file))

    assert (ran.code, ran.out) == (0, f"Wrote {file} (requests: 0).\n")
    assert Reader(file.read_text(encoding="utf-8")).open == []
    assert cli("report", "--html", str(tmp_path / "nowhere" / "report.html")).code == 2
    assert cli("report", "--days", "0").code == 2


@pytest.mark.parametrize(
    "told",
    [
        made(),
        made(totals=Totals()),
        made(days=1),
        made(days=366),
        evaluate_report("x", *get_period(NOON, 3), ReportCounts(Totals(), [], {})),
    ],
    ids=["a week", "nothing", "a day", "a year", "no day with a request"],
)
def test_every_page_is_whole(told: Report) -> None:
    read = Reader(render_page(told))

    assert read.open == []
    assert read.seen.count("section") == 11
    assert "nan" not in render_page(told)


def test_page_and_table_show_how_learning_went(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    weeks = [Week(NOON.date(), asked=1200, asked_back=300, chosen=250, corrected=7, repeated=40, repeated_answered=30)]
    report = replace(made(), asking=weeks)
    assert count_week(weeks[0]) == ("1,200", "300 (25%)", "250", "7", "40", "30 (75%)")
    show_report(stdout_console(), report)
    for shown in (Reader(render_page(report)).said, capsys.readouterr().out):
        assert all(count in shown for count in count_week(weeks[0]))


def test_a_page_asks_nobody_for_anything_and_runs_nothing() -> None:
    text = render_page(made())

    assert re.findall(r"https?:|//|url\(|@import|src=|href=|<script|<link", text) == []
    assert "prefers-color-scheme: dark" in text


def test_names_are_shown_as_they_are_and_never_obeyed() -> None:
    read = Reader(render_page(made(project="<script>alert('&')</script>")))

    assert "script" not in read.seen
    assert "<script>alert('&')</script>" in read.said
