"""`recollect learn`, `correct` and `recollect memory`: list, teach, correct and erase memories; `recollect resolve` and
`recollect ontology`: what words mean, and the project's tables, columns and values.

A memory is given by its id, as `recollect memory list` prints it, or as `memory:<id>`, as contexts cite it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.console import Console

from recollect.cli.options import AsOf, Command, Yes, confirm, echo, print_with
from recollect.cli.output import make_text, read_text
from recollect.cli.tables import make_table, shorten, show_memories, show_receipt, show_rows
from recollect.values.audit import Receipt
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.resolution import Resolution
from recollect.values.term import KINDS as TERM_KINDS
from recollect.values.term import MAX_TERMS, ImportReport, Term, TermKind
from recollect.values.term_file import dump_ontology, write_yaml

KINDS = "|".join(get_args(MemoryKind))
Id = Annotated[str, typer.Argument(metavar="ID", help="The id from `recollect memory list`.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.", show_default=False)]
Value = Annotated[str, typer.Argument(metavar="VALUE", help="The correct value.", show_default=False)]
DefinedTerm = Annotated[str | None, typer.Option("--term", help="The word that TEXT defines.")]
AboutQuestion = Annotated[str | None, typer.Option("--question", help="The question that TEXT answered.")]
Key = Annotated[str | None, typer.Option("--key", help="What it is about.", show_default="note")]
Kind = Annotated[str | None, typer.Option("--kind", metavar=KINDS, help="Kind of memory.", show_default="note")]
NewOwner = Annotated[
    str | None,
    typer.Option("--owner", metavar="user|project", help="Who it belongs to.", show_default="by the wording"),
]
Pending = Annotated[bool, typer.Option("--pending", help="It must be approved before it is used.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar=KINDS, help="Only this kind; repeatable.")]
OnlyKey = Annotated[str | None, typer.Option("--key", help="Only this key.")]
Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="|".join(get_args(Status)),
        help="Only this status; repeatable.",
        show_default="active and pending",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Include memories that have ended.")]
OwnerName = Annotated[
    str, typer.Option("--owner", metavar="user|project", help="The user's or the project's memories.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of memories, most important first.")]
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Continue after this memory.")]

app = typer.Typer(help="List, teach, correct, share and erase memories.")


print_memory = print_with(lambda console, memory: show_memories(console, [memory]))


@app.command()
@print_memory
def learn(
    command: Command,
    text: Text,
    term: DefinedTerm = None,
    question: AboutQuestion = None,
    key: Key = None,
    kind: Kind = None,
    owner: NewOwner = None,
    pending: Pending = False,
) -> Memory:
    """Teach something: a note, a value under a key, or what a word means."""
    if term and (key or kind):
        raise typer.BadParameter("use either --term, or --key and --kind")
    if term:
        lesson = Lesson.clarification(term, text, question)
    else:
        lesson = Lesson(text, key or "note", cast("MemoryKind", kind or "note"), question=question)
    lesson = replace(lesson, owner=cast("Owner | None", owner), pending=pending)
    return command.engine.learn(command.scope, lesson)


@app.command()
@print_memory
def correct(command: Command, memory_id: Id, value: Value) -> Memory:
    """Replace the value of a memory. The old value stays in the history, with the reason."""
    return command.engine.correct(command.scope, memory_id, value)


@app.command("list")
@print_with(show_memories, key="memories")
def list_memories(
    command: Command,
    kind: Kinds = None,
    key: OnlyKey = None,
    status: Statuses = None,
    every: All = False,
    owner: OwnerName = "user",
    as_of: AsOf = None,
    limit: Limit = 200,
    after: After = None,
) -> list[Memory]:
    """List memories."""
    if every and status:
        raise typer.BadParameter("use either --all or --status")
    return command.engine.memories(
        command.scope,
        kinds=cast("Sequence[MemoryKind] | None", kind),
        key=key,
        status=None if every else cast("Sequence[Status]", status or ("active", "pending")),
        owner=cast("Owner", owner),
        as_of=as_of,
        limit=limit,
        after=after,
    )


def add_change(name: str, help_text: str) -> None:
    """Add a command that calls the engine's verb of the same name with one memory."""

    def change(command: Command, memory_id: Id) -> Memory:
        changed: Memory = getattr(command.engine, name)(command.scope, memory_id)
        return changed

    app.command(name, help=help_text)(print_memory(change))


add_change("close", "End a memory: a to-do is done, a decision no longer stands.")
add_change("promote", "Turn a user's memory into a memory of the project.")
add_change("approve", "Approve a pending memory, so that it is used.")
add_change("reject", "Reject a pending memory.")


@app.command()
@print_with(lambda console, receipt: show_receipt(console, receipt, "Redacted", "rows changed or erased"))
def redact(command: Command, memory_id: Id, yes: Yes = False) -> Receipt:
    """Blank the value of a memory everywhere, also in the log. The memory itself remains listed."""
    confirm(f"Redact memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}", yes)
    return command.engine.redact(command.scope, memory_id)


@app.command()
@print_with(show_receipt)
def forget(command: Command, memory_id: Id, yes: Yes = False) -> Receipt:
    """Erase a memory and its evidence, but not the messages in the log."""
    confirm(f"Forget memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}", yes)
    return command.engine.forget(command.scope, memory=memory_id)


# Words and the ontology -----------------------------------------------------------------------------------------------

KIND_NAMES = "|".join(TERM_KINDS)
Words = Annotated[list[str], typer.Argument(metavar="TERM...", help="The words to resolve.", show_default=False)]
Define = Annotated[
    list[str] | None,
    typer.Option("--define", "-d", metavar="TERM=MEANING", help="What a word means in this session; repeatable."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON; - reads stdin.", show_default=False)]
Replace = Annotated[bool, typer.Option("--replace", help="Remove terms that are not in the file.")]
Search = Annotated[str | None, typer.Argument(metavar="[SEARCH]", help="Words to search for.", show_default=False)]
OnlyKind = Annotated[str | None, typer.Option("--kind", metavar=KIND_NAMES, help="Only this kind.")]
TermLimit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of terms.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A word, a table, table.column, or table.column=value.", show_default=False),
]
TermKindName = Annotated[str, typer.Option("--kind", metavar=KIND_NAMES, help="Kind of term.")]
Description = Annotated[str | None, typer.Option("--description", help="Meaning of the term.")]
Synonyms = Annotated[list[str] | None, typer.Option("--synonym", metavar="WORD", help="A synonym; repeatable.")]
Sql = Annotated[str | None, typer.Option("--sql", help="SQL of the term.")]

ontology = typer.Typer(help="The ontology: the project's tables, columns, values and glossary.")


def show_resolutions(console: Console, resolutions: Sequence[Resolution]) -> None:
    table = make_table("term", "meaning", "tier", "sure", "why")
    for each in resolutions:
        meaning = make_text(shorten(each.meaning)) if each.meaning else make_text("unknown", "yellow")
        sure = f"{each.confidence:.2f}" if each.is_resolved else ""
        table.add_row(each.term, meaning, each.tier or "", sure, make_text(each.why, "dim"))
    console.print(table)


def show_terms(console: Console, terms: Sequence[Term]) -> None:
    rows = [
        (term.kind, term.name, *map(shorten, (term.description, ", ".join(term.synonyms), term.sql or "")))
        for term in terms
    ]
    show_rows(console, ("kind", "name", "meaning", "synonyms", "SQL"), rows, "No such term.")


IMPORTED = "{0.added:,} added, {0.changed:,} changed, {0.removed:,} removed, {0.unchanged:,} unchanged"


@print_with(show_resolutions, key="resolutions")
def resolve(command: Command, terms: Words, define: Define = None) -> list[Resolution]:
    """Resolve words to their meaning: in this session, for the user, in the project, or in its ontology."""
    return command.engine.resolve_all(command.scope, terms, definitions=parse_definitions(define))


@ontology.command("import")
@print_with(echo(IMPORTED.format))
def import_file(command: Command, file: File, replace: Replace = False) -> ImportReport:
    """Add and change the terms of a file."""
    return command.engine.terms.load(command.scope, read_text(file), replace=replace)


@ontology.command("list")
@print_with(show_terms, key="terms")
def list_terms(command: Command, search: Search = None, kind: OnlyKind = None, limit: TermLimit = 100) -> list[Term]:
    """List terms, or search for them; misspelt words are found too."""
    return command.engine.terms.find(command.scope, search, kind=cast("TermKind | None", kind), limit=limit)


@ontology.command("set")
@print_with(lambda console, term: show_terms(console, [term]))
def set_term(
    command: Command,
    name: Name,
    kind: TermKindName = "glossary",
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


@ontology.command("drop")
@print_with(echo(lambda dropped: f"dropped {dropped['dropped']}"))
def drop_term(command: Command, name: Name, kind: OnlyKind = None) -> dict[str, str]:
    """Remove a term; a table with its columns, a column with its values."""
    command.engine.terms.drop(command.scope, name, kind=cast("TermKind | None", kind))
    return {"dropped": name}


@ontology.command("export")
@print_with(lambda _, shape: typer.echo(write_yaml(shape), nl=False))
def export_terms(command: Command) -> dict[str, Any]:
    """Print all terms as YAML, or with --json as JSON, in the format that import reads."""
    return dump_ontology(command.engine.terms.find(command.scope, limit=MAX_TERMS))


def parse_definitions(options: Sequence[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in options or ()]
    for term, equals, meaning in pairs:
        if not (term.strip() and equals and meaning.strip()):
            raise typer.BadParameter(f"{term + equals + meaning!r} is not TERM=MEANING", param_hint="--define")
    return {term.strip(): meaning.strip() for term, _, meaning in pairs}
