"""`recollect report`: metrics of a project over the last days, as tables, JSON or an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.options import Json, Project
from recollect.cli.output import make_text, open_engine, print_json, show_spinner, stdout_console
from recollect.cli.tables import TextTable, format_counts, format_time, make_fact_table, make_table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from recollect.values.report import Gauge, Report

STYLES = {"ok": "green", "over": "bold red", "under": "bold yellow", "not measured": "dim"}
Days = Annotated[int, typer.Option("--days", "-d", min=1, max=366, help="Number of days, including today.")]
HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", dir_okay=False, help="Write a self-contained HTML page."),
]


def report(days: Days = 7, project: Project = None, html: HtmlFile = None, json: Json = False) -> None:
    """Show hits, latency, errors and recommended changes of a project. It contains counts, never texts."""
    settings = read_settings()
    with open_engine(settings) as engine, show_spinner("counting"):
        result = engine.report(project or settings.project, days=days)
    if html:
        from recollect.apps.reports.page import render_page

        try:
            html.write_text(render_page(result), encoding="utf-8")
        except OSError as error:
            raise typer.BadParameter(f"{html} cannot be written: {error.strerror}", param_hint="--html") from None
    if json:
        print_json(asdict(result))
    elif html:
        typer.echo(f"Wrote {html} (requests: {result.totals.requests:,}).")
    else:
        show_report(result)


def show_report(report: Report) -> None:
    from recollect.values.report import WEEK_COLUMNS, count_week, describe_totals

    console = stdout_console()
    console.print(
        make_text(f"{report.project}, {format_time(report.since)} to {format_time(report.until)} UTC", "bold")
    )
    counts = {
        "search": report.paths,
        "errors": report.errors,
        "learned by": report.learned,
        "not remembered": report.rejected,
    }
    counted = {name: format_counts(values) for name, values in counts.items()}
    console.print(make_fact_table({**describe_totals(report.totals), **counted}))
    console.print(make_gauge_table("Recommended changes", report.triggers))
    console.print(make_gauge_table("Goals", report.goals))
    if report.asking:
        table = make_table(*WEEK_COLUMNS, title="Questions to databases per week")
        for each in report.asking:
            table.add_row(f"{each.week}", *count_week(each))
        console.print(table)
    for note in report.notes:
        console.print(make_text(note, "dim"))


def make_gauge_table(title: str, gauges: Sequence[Gauge]) -> TextTable:
    from recollect.values.report import format_value

    table = make_table("", "", "value", "limit", "measured", title=title)
    for gauge in gauges:
        advice = f"; recommended: {gauge.argues_for}" if gauge.verdict == "over" and gauge.argues_for else ""
        table.add_row(
            make_text(gauge.verdict, STYLES[gauge.verdict]),
            gauge.name,
            format_value(gauge.value, gauge.unit),
            format_value(gauge.limit, gauge.unit),
            make_text(gauge.note, "dim") + make_text(advice),
        )
    return table
