"""`recollect resolve` and `recollect ontology`: what words mean, and the project's tables, columns and values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, cast

import typer

from recollect.cli.options import Json, Project, User, make_scope
from recollect.cli.output import make_text, open_engine, print_json, stdout_console
from recollect.cli.tables import make_table, shorten
from recollect.errors import InvalidInput
from recollect.values.resolution import Resolution
from recollect.values.serialization import to_json
from recollect.values.term import KINDS, MAX_TERMS, Term, TermKind

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


def resolve(
    terms: Terms, define: Define = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Resolve words to their meaning: in this session, for the user, in the project, or in its ontology."""
    scope = make_scope(user, None, project)
    with open_engine() as engine:
        resolutions = engine.resolve_all(scope, terms, definitions=parse_definitions(define or ()))
    if json:
        print_json({"resolutions": [to_json(resolution) for resolution in resolutions]})
    else:
        show_resolutions(resolutions)


@app.command("import")
def import_file(
    file: File, replace: Replace = False, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Add and change the terms of a file."""
    scope, source = make_scope(user, None, project), read_source(file)
    with open_engine() as engine:
        report = engine.terms.load(scope, source, replace=replace)
    if json:
        print_json(asdict(report))
    else:
        changes = f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed"
        typer.echo(f"{changes}, {report.unchanged:,} unchanged")


@app.command("list")
def list_terms(
    search: Search = None,
    kind: OnlyKind = None,
    limit: Limit = 100,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """List terms, or search for them; misspelt words are found too."""
    scope = make_scope(user, None, project)
    with open_engine() as engine:
        terms = engine.terms.find(scope, search, kind=cast("TermKind | None", kind), limit=limit)
    if json:
        print_json({"terms": [asdict(term) for term in terms]})
    else:
        show_terms(terms)


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
    """Add a term, or change the given fields of a term."""
    scope, term_kind = make_scope(user, None, project), cast("TermKind", kind)
    with open_engine() as engine:
        found = engine.terms.find(scope, name, kind=term_kind)
        old = next((term for term in found if term.name == name), Term(name, term_kind))
        new = replace(
            old,
            description=old.description if description is None else description,
            synonyms=old.synonyms if synonym is None else synonym,
            sql=sql or old.sql,
        )
        saved = engine.terms.put(scope, new)
    if json:
        print_json(asdict(saved))
    else:
        show_terms([saved])


@app.command("drop")
def drop_term(
    name: Name, kind: OnlyKind = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Remove a term; a table with its columns, a column with its values."""
    scope = make_scope(user, None, project)
    with open_engine() as engine:
        engine.terms.drop(scope, name, kind=cast("TermKind | None", kind))
    if json:
        print_json({"dropped": name})
    else:
        typer.echo(f"dropped {name}")


@app.command("export")
def export_terms(user: User = None, project: Project = None, json: Json = False) -> None:
    """Print all terms as YAML, or with --json as JSON, in the format that import reads."""
    from recollect.values.plain_yaml import write_yaml
    from recollect.values.term_file import dump_ontology

    scope = make_scope(user, None, project)
    with open_engine() as engine:
        shape = dump_ontology(engine.terms.find(scope, limit=MAX_TERMS))
    if json:
        print_json(shape)
    else:
        typer.echo(write_yaml(shape), nl=False)


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


def show_resolutions(resolutions: Sequence[Resolution]) -> None:
    table = make_table("term", "meaning", "tier", "sure", "why")
    for each in resolutions:
        meaning = make_text(shorten(each.meaning)) if each.meaning else make_text("unknown", "yellow")
        sure = f"{each.confidence:.2f}" if each.is_resolved else ""
        table.add_row(each.term, meaning, each.tier or "", sure, make_text(each.why, "dim"))
    stdout_console().print(table)


def show_terms(terms: Sequence[Term]) -> None:
    if not terms:
        typer.echo("No such term.")
        return
    table = make_table("kind", "name", "meaning", "synonyms", "SQL")
    for term in terms:
        synonyms, sql = shorten(", ".join(term.synonyms)), shorten(term.sql or "")
        table.add_row(term.kind, term.name, shorten(term.description), synonyms, sql)
    stdout_console().print(table)
