"""Commands for operators: `serve` and `mcp`, `worker`, `work` and `maintain`, `settings`, `stats` and `report`."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from recollect.cli.options import PROJECT, Command, describe_options, echo, make_scope, print_with
from recollect.cli.output import (
    make_text,
    print_json,
    replace_control_chars,
    show_spinner,
    stderr_console,
    stdout_console,
)
from recollect.cli.tables import format_counts, format_time, make_fact_table, make_table, show_list
from recollect.errors import require_extra
from recollect.settings import Settings, format_setting, read_settings, trace_settings
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.admin import UserStats
    from recollect.learning.upkeep import UpkeepSummary
    from recollect.values.report import Report
    from recollect.values.work import WorkStatus


@describe_options
def serve(
    host: str = "127.0.0.1",
    port: int = 8008,
    workers: int = 1,
    learn: bool = True,
    sample: bool = False,
    verbose: bool = False,
) -> None:
    """Serve the HTTP API, and the console at /, until Ctrl-C or SIGTERM."""
    require_extra("server", "`recollect serve`")
    from recollect.server.sample import use_sample_project
    from recollect.server.serve import listen, prepare
    from recollect.server.serve import serve as run

    settings = use_sample_project(read_settings()) if sample else read_settings()
    with listen(host, port) as listening:
        stderr_console().print("Opening the memory.", style="dim")
        is_closed = asyncio.run(prepare(settings, host, sample))
        show_addresses(host, listening.getsockname()[1], is_closed, settings.project if sample else "")
        run(settings, listening, workers=workers, worker=learn, log_level="info" if verbose else "warning")


def show_addresses(host: str, port: int, is_closed: bool, default_project: str) -> None:
    """Print where the server listens; with the sample, also the project of requests that name none."""
    console = stderr_console()
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    console.print(make_text(f"Recollect listens on {address}  (API reference: {address}/docs)", "bold"), soft_wrap=True)
    if not is_closed:
        console.print(
            "Sign-in is off; the server accepts local connections only. `recollect keys create` turns sign-in on.",
            style="dim",
        )
    if default_project:
        console.print("Sample project: sample, with users dana and lee, and the database shop.", style="dim")
        console.print(f"Requests that name no project use {default_project}. Try:", style="dim", markup=False)
        ask = '{"question": "total sales by region for 2024", "user_id": "dana", "project": "sample"}'
        curl = f"  curl -s {address}/answerQuestion -H 'Content-Type: application/json' -d '{ask}'"
        console.print(make_text(curl, "dim"), soft_wrap=True)  # to be copied
    console.print(make_text(f"Console: open {address} in a browser.", "bold"))


@describe_options
def mcp(user: str | None = None, project: str | None = None, session: str | None = None) -> None:
    """Serve memory to an assistant over the Model Context Protocol, through stdin and stdout. Clients start this
    command; the how-to shows their configuration. `recollect serve` offers the same over HTTP at /mcp."""
    from recollect.server.mcp import check_sdk

    check_sdk()
    from recollect.server.mcp.server import serve_stdio

    asyncio.run(serve_stdio(read_settings(), make_scope(user, session, project)))


# Background work -----------------------------------------------------------------------------------------------------

UPKEEP = {
    "conversations": "expired conversations",
    "decayed": "memories with reduced confidence",
    "decayed_away": "memories ended by decay",
    "outlived": "replaced values past retention",
    "pruned": "minor memories above the limit",
    "requests": "requests past retention",
    "keys": "expired idempotency keys",
    "put_off": "users and projects postponed after a failure",
}
work = typer.Typer(help="Show and retry background work: learning, embedding, summaries.")


show_troubles = show_list(
    *("conversation", ("tries", "attempts"), "parked", ("failed", "failed_at"), ("next try", "next_try"), "error")
)


def show_work_status(console: Console, status: WorkStatus) -> None:
    counts = (status.due, status.leased, status.failing, status.parked)
    row = (*(f"{count:,}" for count in counts), f"{status.lag:,.0f} s")
    console.print(make_table("due", "in progress", "failing", "parked", "oldest waits", rows=[row]))
    console.print(f"documents: {status.documents_waiting:,} to read, {status.documents_failed:,} failed")
    if status.troubles:
        show_troubles(console, status.troubles)


@work.command()
@print_with(show_work_status, options=(), spinner="looking", is_failed=lambda status: status.parked)
async def status(command: Command) -> WorkStatus:
    """Show how much work is due and what fails. Exit code 1 if some work is parked."""
    from recollect import admin

    return await admin.work_status(command.settings)


RETRIED = "The next worker retries {woken} parked conversations."


@work.command()
@print_with(
    echo(lambda result: RETRIED.format(**result) if result["woken"] else "Nothing is parked."),
    options=(),
    spinner="retrying",
)
async def retry(command: Command) -> dict[str, int]:
    """Retry parked work; a worker picks it up."""
    from recollect import admin

    return {"woken": await admin.retry(command.settings)}


@print_with(echo(lambda result: f"{result['conversations']} conversations processed."), options=())
async def worker(command: Command, once: bool = False, concurrency: int | None = None) -> dict[str, int]:
    """Run a worker until it is stopped: learn from conversations, embed them, do maintenance."""
    from recollect import admin

    def log(line: str) -> None:
        typer.echo(f"recollect: {replace_control_chars(line)}", err=True)

    return {"conversations": await admin.work(command.settings, once=once, concurrency=concurrency, log=log)}


def show_upkeep(console: Console, upkeep: UpkeepSummary) -> None:
    rows = [(meaning, f"{getattr(upkeep, name):,}") for name, meaning in UPKEEP.items()]
    console.print(make_table("maintenance", "", rows=rows))
    if upkeep.rows:
        console.print(f"rows of the expired conversations: {format_counts(upkeep.rows)}", style="dim")


@print_with(show_upkeep, options=(), spinner="maintaining")
async def maintain(command: Command) -> UpkeepSummary:
    """Run the daily maintenance now: erase expired data, reduce the confidence of unused memories, prune."""
    from recollect import admin

    return await admin.maintain(command.settings)


# Settings, storage and figures ---------------------------------------------------------------------------------------

MASK = "***"


def show_settings(console: Console, listed: dict[str, Any]) -> None:
    table = make_table("variable", "value", "from", "meaning")
    for row in listed["settings"]:
        origin = row["file"] or row["source"]
        place = f"{origin}, line {row['line']}" if row["line"] else origin
        value = make_text(format_setting(row["value"]), "bold" if row["changed"] else "")
        table.add_row(row["variable"], value, place, row["meaning"])
    console.print(table if table.rows else "All settings have their defaults.")
    for warning in listed["warnings"]:
        stderr_console().print(make_text(f"warning: {warning}", "yellow"))


@print_with(show_settings, options=())
def settings(command: Command, changed: bool = False) -> dict[str, Any]:
    """List each setting with its value, where the value comes from, and its meaning. Opens no database."""
    reading = trace_settings()
    rows = []
    for field in fields(Settings):
        value, found = getattr(reading.settings, field.name), reading.found.get(field.metadata["env"])
        is_changed = value != field.default
        row = {
            "variable": field.metadata["env"],
            "field": field.name,
            "value": MASK if field.metadata["secret"] and is_changed else value,
            "default": field.default,
            "changed": is_changed,
            "source": "default" if found is None else "file" if found.file else "environment",
            "file": found.file if found else None,
            "line": found.line if found else None,
            "meaning": field.metadata["meaning"],
        }
        if is_changed or not changed:
            rows.append(row)
    return {"settings": rows, "warnings": list(reading.warnings)}


show_stats = show_list(
    ("user", lambda each: each.user or "(project)"),
    *("conversations", "turns", "memories", "documents", "vectors", "bytes", "due"),
    ("waiting since", "oldest"),
)


@print_with(show_stats, key="users", options=PROJECT, spinner="counting")
async def stats(command: Command, limit: int = 20) -> list[UserStats]:
    """Show what each user of a project stores, and how long their conversations have waited for the worker. For
    operators: it names users, but contains no text."""
    from recollect import admin

    return await admin.read_stats(command.settings, command.project, limit)


STYLES = {"ok": "green", "over": "bold red", "under": "bold yellow", "too few": "dim", "not measured": "dim"}


def show_report(console: Console, report: Report) -> None:
    from recollect.values.report import WEEK_COLUMNS, count_week, describe_totals, format_value

    period = f"{report.project}, {format_time(report.since)} to {format_time(report.until)} UTC"
    console.print(make_text(period, "bold"))
    counts = {
        "search": report.paths,
        "errors": report.errors,
        "learned by": report.learned,
        "not remembered": report.rejected,
    }
    counted = {name: format_counts(values) for name, values in counts.items()}
    console.print(make_fact_table({**describe_totals(report.totals), **counted}))
    for title, gauges in (("Recommended changes", report.triggers), ("Goals", report.goals)):
        table = make_table("", "", "value", "limit", "measured", title=title)
        for each in gauges:
            advice = f"; recommended: {each.argues_for}" if each.verdict == "over" and each.argues_for else ""
            verdict = make_text(each.verdict, STYLES[each.verdict])
            figures = (format_value(each.value, each.unit), format_value(each.limit, each.unit))
            table.add_row(verdict, each.name, *figures, make_text(each.note, "dim") + make_text(advice))
        console.print(table)
    if report.asking:
        rows = [(f"{each.week}", *count_week(each)) for each in report.asking]
        console.print(make_table(*WEEK_COLUMNS, rows=rows, title="Questions to databases per week"))
    for note in report.notes:
        console.print(make_text(note, "dim"))


@print_with(None, options=PROJECT)
def report(command: Command, days: int = 7, html: Path | None = None) -> None:
    """Show hits, latency, errors and recommended changes of a project. It contains counts, never texts."""
    engine = command.engine
    with show_spinner("counting"):
        result = engine.report(command.project, days=days)
    if html:
        from recollect.apps.reports import render_page

        try:
            html.write_text(render_page(result), encoding="utf-8")
        except OSError as error:
            raise typer.BadParameter(f"{html} cannot be written: {error.strerror}", param_hint="--html") from None
    if command.as_json:
        print_json(to_json(result))
    elif html:
        typer.echo(f"Wrote {html} (requests: {result.totals.requests:,}).")
    else:
        show_report(stdout_console(), result)
