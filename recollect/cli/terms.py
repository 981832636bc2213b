"""`recollect resolve` and `recollect ontology`: what words mean, and the project's tables, columns and values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from recollect.cli.options import Command, echo, print_with
from recollect.cli.output import make_text
from recollect.cli.tables import make_table, shorten
from recollect.errors import InvalidInput
from recollect.values.plain_yaml import write_yaml
from recollect.values.resolution import Resolution
from recollect.values.term import KINDS, MAX_TERMS, ImportReport, Term, TermKind
from recollect.values.term_file import dump_ontology

KIND_NAMES = "|".join(KINDS)
Terms = Annotated[list[str], typer.Argument(metavar="TERM...", help="The words to resolve.", show_default=False)]
Define = Annotated[
    list[str] | None,
    typer.Option("--define", "-d", metavar="TERM=MEANING", help="What a word means in this session; repeatable."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON; - reads stdin.", show_default=False)]
Replace = Annotated[bool, typer.Option("--replace", help="Remove terms that are not in the file.")]
Search = Annotated[str | None, typer.Argument(metavar="[SEARCH]", help="Words to search for.", show_default=False)]
OnlyKind = Annotated[str | None, typer.Option("--kind", metavar=KIND_NAMES, help="Only this kind.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of terms.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A word, a table, table.column, or table.column=value.", show_default=False),
]
Kind = Annotated[str, typer.Option("--kind", metavar=KIND_NAMES, help="Kind of term.")]
Description = Annotated[str | None, typer.Option("--description", help="Meaning of the term.")]
Synonyms = Annotated[list[str] | None, typer.Option("--synonym", metavar="WORD", help="A synonym; repeatable.")]
Sql = Annotated[str | None, typer.Option("--sql", help="SQL of the term.")]

app = typer.Typer(help="The ontology: the project's tables, columns, values and glossary.", no_args_is_help=True)


def show_resolutions(console: Console, resolutions: Sequence[Resolution]) -> None:
    table = make_table("term", "meaning", "tier", "sure", "why")
    for each in resolutions:
        meaning = make_text(shorten(each.meaning)) if each.meaning else make_text("unknown", "yellow")
        sure = f"{each.confidence:.2f}" if each.is_resolved else ""
        table.add_row(each.term, meaning, each.tier or "", sure, make_text(each.why, "dim"))
    console.print(table)


def show_terms(console: Console, terms: Sequence[Term]) -> None:
    if not terms:
        typer.echo("No such term.")
        return
    table = make_table("kind", "name", "meaning", "synonyms", "SQL")
    for term in terms:
        synonyms, sql = shorten(", ".join(term.synonyms)), shorten(term.sql or "")
        table.add_row(term.kind, term.name, shorten(term.description), synonyms, sql)
    console.print(table)


def describe_import(report: ImportReport) -> str:
    changes = f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed"
    return f"{changes}, {report.unchanged:,} unchanged"


@print_with(show_resolutions, key="resolutions")
def resolve(command: Command, terms: Terms, define: Define = None) -> list[Resolution]:
    """Resolve words to their meaning: in this session, for the user, in the project, or in its ontology."""
    definitions = parse_definitions(define or ())
    return command.engine.resolve_all(command.scope, terms, definitions=definitions)


@app.command("import")
@print_with(echo(describe_import), convert=asdict)
def import_file(command: Command, file: File, replace: Replace = False) -> ImportReport:
    """Add and change the terms of a file."""
    source = read_source(file)
    return command.engine.terms.load(command.scope, source, replace=replace)


@app.command("list")
@print_with(show_terms, key="terms", convert=asdict)
def list_terms(command: Command, search: Search = None, kind: OnlyKind = None, limit: Limit = 100) -> list[Term]:
    """List terms, or search for them; misspelt words are found too."""
    return command.engine.terms.find(command.scope, search, kind=cast("TermKind | None", kind), limit=limit)


@app.command("set")
@print_with(lambda console, term: show_terms(console, [term]), convert=asdict)
def set_term(
    command: Command,
    name: Name,
    kind: Kind = "glossary",
    description: Description = None,
    synonym: Synonyms = None,
    sql: Sql = None,
) -> Term:
    """Add a term, or change the given fields of a term."""
    term_kind = cast("TermKind", kind)
    found = command.engine.terms.find(command.scope, name, kind=term_kind)
    old = next((term for term in found if term.name == name), Term(name, term_kind))
    new = replace(
        old,
        description=old.description if description is None else description,
        synonyms=old.synonyms if synonym is None else synonym,
        sql=sql or old.sql,
    )
    return command.engine.terms.put(command.scope, new)


@app.command("drop")
@print_with(echo(lambda dropped: f"dropped {dropped['dropped']}"))
def drop_term(command: Command, name: Name, kind: OnlyKind = None) -> dict[str, str]:
    """Remove a term; a table with its columns, a column with its values."""
    command.engine.terms.drop(command.scope, name, kind=cast("TermKind | None", kind))
    return {"dropped": name}


@app.command("export")
@print_with(lambda _, shape: typer.echo(write_yaml(shape), nl=False))
def export_terms(command: Command) -> dict[str, Any]:
    """Print all terms as YAML, or with --json as JSON, in the format that import reads."""
    return dump_ontology(command.engine.terms.find(command.scope, limit=MAX_TERMS))


def parse_definitions(options: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in options]
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
