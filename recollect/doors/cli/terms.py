"""`recollect resolve` and `recollect ontology`: what words mean here, and what the project says about its data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.doors.cli.options import Json, Project, User, scope_of
from recollect.doors.cli.paper import memory, paper, said, say_json
from recollect.doors.cli.tables import shortened, table
from recollect.doors.shapes import resolution_shape
from recollect.errors import InvalidInput
from recollect.model.ontology import KINDS, MAX_TERMS, ImportReport, Term, TermKind
from recollect.model.resolution import Resolution

if TYPE_CHECKING:
    from rich.console import Console

KIND_NAMES = "|".join(KINDS)
Asked = Annotated[list[str], typer.Argument(metavar="TERM...", help="Words to explain.", show_default=False)]
Define = Annotated[
    list[str] | None,
    typer.Option("--define", "-d", metavar="TERM=MEANING", help="What a word means in this session; repeatable."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON; - reads stdin.", show_default=False)]
Replace = Annotated[bool, typer.Option("--replace", help="Remove what the file does not name.")]
Search = Annotated[str | None, typer.Argument(metavar="[SEARCH]", help="Words to look for.", show_default=False)]
OnlyKind = Annotated[str | None, typer.Option("--kind", metavar=KIND_NAMES, help="Only this kind.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most terms to show.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A word, a table, table.column, or table.column=value.", show_default=False),
]
Kind = Annotated[str, typer.Option("--kind", metavar=KIND_NAMES, help="What it is.")]
Description = Annotated[str | None, typer.Option("--description", help="What it means.")]
Synonyms = Annotated[
    list[str] | None, typer.Option("--synonym", metavar="WORD", help="Another word for it; repeatable.")
]
Sql = Annotated[str | None, typer.Option("--sql", help="What it is in SQL.")]

app = typer.Typer(help="What the project says about its tables, columns, values and words.", no_args_is_help=True)


def resolve(
    terms: Asked, define: Define = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Say what words mean: in this session, to the user, to the project, or by its ontology."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        found = engine.resolve_all(whose, terms, definitions=definitions(define or ()))
    if json:
        say_json({"resolutions": [resolution_shape(resolution) for resolution in found]})
    else:
        show_resolutions(paper(), found)


@app.command("import")
def import_file(
    file: File, replace: Replace = False, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Add and change what a file names."""
    whose, source = scope_of(user, None, project), read_source(file)
    with memory() as engine:
        report = engine.import_ontology(whose, source, replace=replace)
    if json:
        say_json(asdict(report))
    else:
        typer.echo(told(report))


@app.command("list")
def list_terms(
    search: Search = None,
    kind: OnlyKind = None,
    limit: Limit = 100,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Show terms, or those that answer to some words, misspelt ones too."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        found = engine.terms(whose, search, kind=cast("TermKind | None", kind), limit=limit)
    if json:
        say_json({"terms": [asdict(term) for term in found]})
    else:
        show_terms(paper(), found)


@app.command("set")
def set_term(
    name: Name,
    kind: Kind = "glossary",
    description: Description = None,
    synonym: Synonyms = None,
    sql: Sql = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Add a term, or change what is given of it."""
    whose, chosen = scope_of(user, None, project), cast("TermKind", kind)
    with memory() as engine:
        known = engine.terms(whose, name, kind=chosen)
        old = next((term for term in known if term.name == name), Term(name, chosen))
        new = replace(
            old,
            description=old.description if description is None else description,
            synonyms=old.synonyms if synonym is None else synonym,
            sql=sql or old.sql,
        )
        kept = engine.put_term(whose, new)
    if json:
        say_json(asdict(kept))
    else:
        show_terms(paper(), [kept])


@app.command("drop")
def drop_term(
    name: Name, kind: OnlyKind = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Remove a term: a table with its columns, a column with its values."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        engine.drop_term(whose, name, kind=cast("TermKind | None", kind))
    if json:
        say_json({"dropped": name})
    else:
        typer.echo(f"dropped {name}")


@app.command("export")
def export_terms(user: User = None, project: Project = None, json: Json = False) -> None:
    """Write all terms as YAML, or as JSON, in the shape that import reads."""
    from recollect.model.ontology_file import written
    from recollect.model.plain_yaml import write_yaml

    whose = scope_of(user, None, project)
    with memory() as engine:
        shape = written(engine.terms(whose, limit=MAX_TERMS))
    if json:
        say_json(shape)
    else:
        typer.echo(write_yaml(shape), nl=False)


def definitions(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for term, equals, meaning in pairs:
        if not (term.strip() and equals and meaning.strip()):
            raise typer.BadParameter(f"{term + equals + meaning!r} is not TERM=MEANING", param_hint="--define")
    return {term.strip(): meaning.strip() for term, _, meaning in pairs}


def read_source(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput("file", f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput("file", f"{file}: is not UTF-8 text") from None


def told(report: ImportReport) -> str:
    return (
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed,"
        f" {report.unchanged:,} as they were"
    )


def show_resolutions(console: Console, found: Sequence[Resolution]) -> None:
    rows = table("term", "meaning", "says", "sure", "why")
    for one in found:
        meaning = said(shortened(one.meaning)) if one.meaning else said("unknown", "yellow")
        sure = f"{one.confidence:.2f}" if one.is_resolved else ""
        rows.add_row(said(one.term), meaning, one.tier or "", sure, said(one.why, "dim"))
    console.print(rows)


def show_terms(console: Console, found: Sequence[Term]) -> None:
    if not found:
        console.print("No such term.")
        return
    rows = table("kind", "name", "meaning", "also called", "SQL")
    for term in found:
        also = said(shortened(", ".join(term.synonyms)))
        rows.add_row(
            term.kind, said(term.name), said(shortened(term.description)), also, said(shortened(term.sql or ""))
        )
    console.print(rows)
