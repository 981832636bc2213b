"""`recollect report`: how memory did in a project over the last days, for people, for programs, or as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.options import Json, Project
from recollect.doors.cli.paper import memory, paper, said, say_json, waiting
from recollect.doors.cli.tables import clock, table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from rich.table import Table

    from recollect.model.report import Report, Week
    from recollect.model.report_rules import Gauge

STYLES = {"ok": "green", "over": "bold red", "under": "bold yellow", "not measured": "dim"}
Days = Annotated[int, typer.Option("--days", "-d", min=1, max=366, help="How many, today included.")]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", dir_okay=False, help="Write a page that needs nothing but itself."),
]


def report(days: Days = 7, project: Project = None, html: Page = None, json: Json = False) -> None:
    """Show how memory did: hits, latency, errors, and whether a number argues for an upgrade. Counts only, no texts."""
    settings = read_settings()
    with memory(settings) as engine, waiting("counting"):
        told = engine.report(project or settings.project, days=days)
    if html:
        from recollect.doors.report_page import page

        write_page(html, page(told))
    if json:
        say_json(asdict(told))
    elif html:
        typer.echo(f"{html} counts requests: {told.totals.requests:,}")
    else:
        show_report(told)


def write_page(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint="--html") from None


def show_report(told: Report) -> None:
    console = paper()
    console.print(said(f"{told.project}, {clock(told.since)} to {clock(told.until)} UTC", "bold"))
    console.print(facts_table(told))
    console.print(gauges_table("Does a number argue for an upgrade?", told.triggers))
    console.print(gauges_table("Does it do what it should?", told.goals))
    if told.asking:
        console.print(weeks_table(told.asking))
    for note in told.notes:
        console.print(said(note, "dim"))


def weeks_table(weeks: Sequence[Week]) -> Table:
    rows = table("week of", "asked", "asked back", "corrected", title="Questions to databases: does it learn?")
    for each in weeks:
        share = f" ({each.asked_back / each.asked:.0%})" if each.asked else ""
        rows.add_row(f"{each.week}", f"{each.asked:,}", f"{each.asked_back:,}{share}", f"{each.corrected:,}")
    return rows


def facts_table(told: Report) -> Table:
    from recollect.model.report_rules import facts

    rows = table("", "")
    rows.show_header = False
    named = {
        "by": told.paths,
        "errors": told.errors,
        "learned by": told.learned,
        "turned away": told.rejected,
    }
    for name, fact in {**facts(told.totals), **{name: listed(counts) for name, counts in named.items()}}.items():
        rows.add_row(name, said(fact))
    return rows


def listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def gauges_table(title: str, gauges: Sequence[Gauge]) -> Table:
    from recollect.model.report_rules import shown

    rows = table("", "", "value", "limit", "measured", title=title)
    for gauge in gauges:
        advice = f"; argues for: {gauge.argues_for}" if gauge.verdict == "over" and gauge.argues_for else ""
        rows.add_row(
            said(gauge.verdict, STYLES[gauge.verdict]),
            gauge.name,
            shown(gauge.value, gauge.unit),
            shown(gauge.limit, gauge.unit),
            said(gauge.note, "dim") + said(advice),
        )
    return rows
