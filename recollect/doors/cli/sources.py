"""`recollect sources`: the databases that a project asks: added, listed, shown, read again, described, dropped."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Json, Project, User, Yes, confirm, scope_of
from recollect.doors.cli.paper import paper, said, say_json, waiting
from recollect.doors.cli.tables import table
from recollect.errors import InvalidInput
from recollect.model.data_source import DataSource

if TYPE_CHECKING:
    from recollect.hosts.sql.library import Library, Shelf

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is called.", show_default=False)]
Dsn = Annotated[
    str,
    typer.Argument(
        metavar="DSN", help="sqlite:///path, postgresql://user:${PASSWORD}@host/name, ...", show_default=False
    ),
]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="YAML or JSON; - reads stdin.", show_default=False)]
app = typer.Typer(help="The databases that a project asks.", no_args_is_help=True)


def at_library(work: Callable[[Library], Awaitable[Any]]) -> Any:
    async def opened() -> Any:
        from recollect.settings import read_settings
        from recollect.wire import analysing, connect

        settings = read_settings()
        async with AsyncExitStack() as stack:
            with waiting("opening the memory"):
                engine = await stack.enter_async_context(connect(settings, worker=False))
            analyst = await stack.enter_async_context(analysing(engine, settings))
            return await work(analyst.library)

    return asyncio.run(opened())


@app.command("add")
def add(name: Name, dsn: Dsn, user: User = None, project: Project = None, json: Json = False) -> None:
    """Open a database, read it and draft a model of it. Nothing in it is ever changed."""
    whose = scope_of(user, None, project)
    with waiting("reading the database"):
        shelf = at_library(lambda library: library.add(whose, name, dsn))
    show(shelf, json)


@app.command("list")
def list_sources(user: User = None, project: Project = None, json: Json = False) -> None:
    """The databases of the project."""
    whose = scope_of(user, None, project)
    found: list[DataSource] = at_library(lambda library: library.listed(whose))
    if json:
        say_json({"datasources": [brief(each) for each in found]})
        return
    made = table("name", "address", "dialect", "read")
    for each in found:
        made.add_row(said(each.name), said(each.masked_dsn), each.dialect, f"{each.updated_at:%Y-%m-%d %H:%M}")
    paper().print(made)


@app.command("show")
def show_source(name: Name, user: User = None, project: Project = None, json: Json = False) -> None:
    """A database: its tables, and what they are called."""
    whose = scope_of(user, None, project)
    show(at_library(lambda library: library.find(whose, name)), json)


@app.command("refresh")
def refresh(name: Name, user: User = None, project: Project = None, json: Json = False) -> None:
    """Read a database again, after its tables have changed."""
    whose = scope_of(user, None, project)
    shelf, has_changed = at_library(lambda library: library.refresh(whose, name))
    if not json:
        typer.echo("its shape has changed" if has_changed else "its shape is as it was")
    show(shelf, json)


@app.command("model")
def model(name: Name, file: File = None, user: User = None, project: Project = None, json: Json = False) -> None:
    """Print the semantic model as YAML; with a file, take that in its place."""
    from recollect.sql.semantic_file import model_data, write_model

    whose = scope_of(user, None, project)
    if file is None:
        shelf: Shelf = at_library(lambda library: library.find(whose, name))
        say_json(model_data(shelf.model)) if json else typer.echo(write_model(shelf.model), nl=False)
        return
    text = sys.stdin.read() if str(file) == "-" else read(file)
    at_library(lambda library: library.edit(whose, name, model=text))
    done(json, name, f"has the model of {file}")


@app.command("access")
def access(name: Name, file: File = None, user: User = None, project: Project = None, json: Json = False) -> None:
    """Print what each role may see, as JSON; with a file, take that in its place."""
    whose = scope_of(user, None, project)
    if file is None:
        shelf: Shelf = at_library(lambda library: library.find(whose, name))
        say_json(dict(shelf.kept.access))
        return
    text = sys.stdin.read() if str(file) == "-" else read(file)
    try:
        rules = json_text.loads(text)
    except ValueError:
        raise InvalidInput("access", f"{file} is not JSON") from None
    at_library(lambda library: library.edit(whose, name, access=rules))
    done(json, name, f"has the rules of {file}")


@app.command("drop")
def drop(name: Name, yes: Yes = False, user: User = None, project: Project = None, json: Json = False) -> None:
    """Forget a database; nothing in it is touched."""
    if not yes:
        confirm(f"Forget the data source {name}")
    whose = scope_of(user, None, project)
    at_library(lambda library: library.drop(whose, name))
    done(json, name, "is forgotten")


def done(as_json: bool, name: str, what: str) -> None:
    say_json({"name": name, "done": what}) if as_json else typer.echo(f"{name} {what}")


def read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("file", f"{file} cannot be read: {error}") from None


def brief(source: DataSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "address": source.masked_dsn,
        "dialect": source.dialect,
        "fingerprint": source.fingerprint,
        "updated_at": source.updated_at,
    }


def show(shelf: Shelf, as_json: bool) -> None:
    if as_json:
        tables = {each.name: [column.name for column in each.columns] for each in shelf.catalog.tables}
        say_json(brief(shelf.kept) | {"tables": tables})
        return
    made = table("table", "rows", "columns", "called")
    for each in shelf.catalog.tables:
        names = next((entity.names for entity in shelf.model.entities if entity.table == each.name), ())
        rows = "" if each.rows is None else f"{each.rows:,}"
        made.add_row(said(each.name), rows, str(len(each.columns)), said(", ".join(names[:3])))
    paper().print(made)
