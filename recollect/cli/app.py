"""The program: all commands, and `main`, which turns errors into messages and exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from recollect.cli import ask, db, docs, log, memories, operate
from recollect.cli.chat import chat
from recollect.cli.options import OPTIONS
from recollect.cli.output import EXIT_CODES, FAILED
from recollect.errors import InvalidSetting, RecollectError

app = typer.Typer(
    **OPTIONS["program"],
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = {
    "Remember": (
        *(log.record, memories.recall, memories.context, memories.resolve, chat, ask.ask),
        *(log.conversations, log.rename, log.history, log.episodes),
    ),
    "Teach": (memories.learn, memories.correct, log.mark),
    "Explain, export and erase": (memories.explain, log.export, log.forget, log.audit, log.rejections),
    "Operate": (
        *(operate.serve, operate.mcp, operate.settings, operate.worker, operate.maintain, operate.report),
        operate.stats,
    ),
}
GROUPS = (
    ("memory", memories.app, "Teach"),
    ("ontology", memories.ontology, "Teach"),
    ("sources", ask.sources, "Teach"),
    ("docs", docs.app, "Remember"),
    ("work", operate.work, "Operate"),
    ("keys", db.keys, "Operate"),
    ("db", db.app, "Operate"),
)
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
for name, group, panel in GROUPS:
    app.add_typer(group, name=name, rich_help_panel=panel)


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
    """Run one command and return its exit code."""
    return run_command(app, "recollect", arguments)


def run_command(program: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run one command of a program and return its exit code; errors are reported on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show Chinese text still shows the rest.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = get_command(program).main(given, prog_name=name, standalone_mode=False)
    except RecollectError as error:
        field = error.setting if isinstance(error, InvalidSetting) else getattr(error, "field", None)
        print_error(error.code, str(error), field, as_json)
        return EXIT_CODES.get(error.code, FAILED)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context else ""
        print_error("usage", f"{error.format_message().rstrip('.')}{hint}", None, as_json)
        return error.exit_code
    except typer.Abort:
        print_error("aborted", "nothing was done", None, as_json)
        return FAILED
    return code if isinstance(code, int) else 0


def print_error(code: str, message: str, field: str | None, as_json: bool) -> None:
    """Print an error as one line (with --json as one object) on stderr."""
    line = " ".join(message.split())
    error = {"code": code, "message": line} | ({"field": field} if field else {})
    typer.echo(json.dumps({"error": error}) if as_json else f"recollect: {line}", err=True)
