"""`recollect sources`: add, list, show, refresh, describe and remove the databases of a project."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Json, Project, User, Yes, confirm, make_scope
from recollect.cli.output import open_application, print_json, show_spinner, stdout_console
from recollect.cli.tables import make_table
from recollect.errors import InvalidInput
from recollect.values.data_source import DataSource

if TYPE_CHECKING:
    from recollect.apps.ask.source_registry import OpenSource, SourceRegistry

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the database.", show_default=False)]
Dsn = Annotated[
    str,
    typer.Argument(
        metavar="DSN",
        help="sqlite:///path, csv:///folder, postgresql://user:${PASSWORD}@host/name, ...",
        show_default=False,
    ),
]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="YAML or JSON; - reads stdin.", show_default=False)]
app = typer.Typer(help="The databases of a project.", no_args_is_help=True)


def run_with_library(work: Callable[[SourceRegistry], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        from recollect.bootstrap import open_analyst

        async with open_application(open_analyst, worker=False) as (_, analyst):
            return await work(analyst.sources)

    return asyncio.run(run())


@app.command("add")
def add(name: Name, dsn: Dsn, user: User = None, project: Project = None, json: Json = False) -> None:
    """Connect a database, read its schema and draft a semantic model. The database is never changed."""
    scope = make_scope(user, None, project)
    with show_spinner("reading the database"):
        shelf = run_with_library(lambda library: library.add(scope, name, dsn, local=True))
    show_tables(shelf, json)


@app.command("list")
def list_sources(user: User = None, project: Project = None, json: Json = False) -> None:
    """List the databases of the project."""
    scope = make_scope(user, None, project)
    found: list[DataSource] = run_with_library(lambda library: library.listed(scope))
    if json:
        print_json({"datasources": [describe_source(each) for each in found]})
        return
    table = make_table("name", "address", "dialect", "read")
    for each in found:
        table.add_row(each.name, each.masked_dsn, each.dialect, f"{each.updated_at:%Y-%m-%d %H:%M}")
    stdout_console().print(table)


@app.command("show")
def show_source(name: Name, user: User = None, project: Project = None, json: Json = False) -> None:
    """Show the tables of a database and their names."""
    scope = make_scope(user, None, project)
    show_tables(run_with_library(lambda library: library.find(scope, name)), json)


@app.command("refresh")
def refresh(name: Name, user: User = None, project: Project = None, json: Json = False) -> None:
    """Read the schema of a database again."""
    scope = make_scope(user, None, project)
    shelf, has_changed = run_with_library(lambda library: library.refresh(scope, name))
    if not json:
        typer.echo("the schema has changed" if has_changed else "the schema is unchanged")
    show_tables(shelf, json)


@app.command("model")
def model(name: Name, file: File = None, user: User = None, project: Project = None, json: Json = False) -> None:
    """Print the semantic model as YAML; with a file, replace it."""
    from recollect.apps.ask.semantic.model_file import dump_model, write_model

    scope = make_scope(user, None, project)
    if file is None:
        shelf: OpenSource = run_with_library(lambda library: library.find(scope, name))
        print_json(dump_model(shelf.model)) if json else typer.echo(write_model(shelf.model), nl=False)
        return
    text = sys.stdin.read() if str(file) == "-" else read_text(file)
    run_with_library(lambda library: library.edit(scope, name, model=text))
    report_change(json, name, f"has the model of {file}")


@app.command("access")
def access(name: Name, file: File = None, user: User = None, project: Project = None, json: Json = False) -> None:
    """Print the access rules of each role as JSON; with a file, replace them."""
    scope = make_scope(user, None, project)
    if file is None:
        shelf: OpenSource = run_with_library(lambda library: library.find(scope, name))
        print_json(dict(shelf.entry.access))
        return
    text = sys.stdin.read() if str(file) == "-" else read_text(file)
    try:
        rules = json_text.loads(text)
    except ValueError:
        raise InvalidInput("access", f"{file} is not JSON") from None
    run_with_library(lambda library: library.edit(scope, name, access=rules))
    report_change(json, name, f"has the rules of {file}")


@app.command("drop")
def drop(name: Name, yes: Yes = False, user: User = None, project: Project = None, json: Json = False) -> None:
    """Remove a database from the project. The database itself is not changed."""
    if not yes:
        confirm(f"Remove the data source {name}")
    scope = make_scope(user, None, project)
    run_with_library(lambda library: library.drop(scope, name))
    report_change(json, name, "is removed")


def report_change(as_json: bool, name: str, change: str) -> None:
    print_json({"name": name, "done": change}) if as_json else typer.echo(f"{name} {change}")


def read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("file", f"{file} cannot be read: {error}") from None


def describe_source(source: DataSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "address": source.masked_dsn,
        "dialect": source.dialect,
        "fingerprint": source.fingerprint,
        "updated_at": source.updated_at,
    }


def show_tables(shelf: OpenSource, as_json: bool) -> None:
    if as_json:
        tables = {each.name: [column.name for column in each.columns] for each in shelf.catalog.tables}
        print_json(describe_source(shelf.entry) | {"tables": tables})
        return
    table = make_table("table", "rows", "columns", "names")
    for each in shelf.catalog.tables:
        names = next((entity.names for entity in shelf.model.entities if entity.table == each.name), ())
        rows = "" if each.rows is None else f"{each.rows:,}"
        table.add_row(each.name, rows, str(len(each.columns)), ", ".join(names[:3]))
    stdout_console().print(table)
