"""The commands, put together, and the one place where an error leaves the program."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from recollect.doors.cli import db, docs, keys, log, measure, memories, sources, terms, work
from recollect.doors.cli.ask import ask
from recollect.doors.cli.chat import chat
from recollect.doors.cli.demo import demo
from recollect.doors.cli.failures import report, report_abort, report_usage
from recollect.doors.cli.mcp import mcp
from recollect.doors.cli.recall import context, explain, recall
from recollect.doors.cli.record import record
from recollect.doors.cli.report import report as show_report
from recollect.doors.cli.serve import serve
from recollect.doors.cli.settings import settings
from recollect.errors import RecollectError

HELP = (
    "Memory for applications that talk.\n\nWithout settings everything lives in an embedded PostgreSQL that starts when"
    " it is needed. Set MEMORY_DB_CONNECTION_STRING to use another."
)
EPILOG = (
    "Exit codes: 0 done; 1 failed (conflict, schema, embedder, a check); 2 the command line, an input or a setting"
    " cannot be used; 3 not found; 4 PostgreSQL does not answer, try again; 130 interrupted. Errors are one line on"
    ' stderr; with --json an object {"error": {"code", "message", "field"}}.'
)

app = typer.Typer(
    help=HELP,
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in {
    "Remember": (
        record,
        recall,
        context,
        terms.resolve,
        chat,
        ask,
        log.conversations,
        log.rename,
        log.history,
        log.episodes,
    ),
    "Teach": (memories.learn, memories.correct, log.mark),
    "Account for it": (explain, log.export, log.forget, log.audit, log.rejections),
    "Try and measure": (demo, measure.bench),
    "Operate": (serve, mcp, settings, work.worker, work.maintain),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command("report", rich_help_panel="Operate")(show_report)
app.add_typer(memories.app, name="memory", rich_help_panel="Teach")
app.add_typer(terms.app, name="ontology", no_args_is_help=False, rich_help_panel="Teach")
app.add_typer(sources.app, name="sources", rich_help_panel="Teach")
app.add_typer(docs.app, name="docs", rich_help_panel="Remember")
app.add_typer(measure.evaluations, name="eval", rich_help_panel="Try and measure")
app.add_typer(work.app, name="work", rich_help_panel="Operate")
app.add_typer(keys.app, name="keys", rich_help_panel="Operate")
app.add_typer(db.app, name="db", rich_help_panel="Operate")


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"recollect {version('recollect')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    invocation: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if invocation.invoked_subcommand is None:
        typer.echo(invocation.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show Chinese should still show the rest.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = get_command(app).main(given, prog_name="recollect", standalone_mode=False)
    except RecollectError as error:
        return report(error, as_json)
    except typer.TyperException as error:
        return report_usage(error, as_json)
    except typer.Abort:
        return report_abort(as_json)
    return code if isinstance(code, int) else 0
