"""Commands on memories, on what words mean, and on what is relevant to a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import typer

from recollect import Context, Explanation, ImportReport, Lesson, Memory, Query, Recall, Receipt, Resolution, Term
from recollect.cli import tables
from recollect.cli.options import QUERY, SCOPE, SESSION_SCOPE, Command, confirm, echo, print_with
from recollect.cli.output import make_text, read_text, replace_control_chars, stderr_console, stdout_console
from recollect.values.lesson import Owner
from recollect.values.memory import MemoryKind, Status, check_current
from recollect.values.query import Kind, Reach
from recollect.values.term import MAX_TERMS, TermKind
from recollect.values.term_file import dump_ontology, write_yaml

app = typer.Typer(help="List, teach, correct, share and erase memories.")


print_memory = print_with(lambda console, memory: tables.show_memories(console, [memory]))


@app.command()
@print_memory
def learn(
    command: Command,
    text: str,
    term: str | None = None,
    question: str | None = None,
    key: str | None = None,
    kind: MemoryKind | None = None,
    owner: Owner | None = None,
    pending: bool = False,
) -> Memory:
    """Teach something: a note, a value under a key, or what a word means."""
    if term and (key or kind):
        raise typer.BadParameter("use either --term, or --key and --kind")
    if term:
        lesson = Lesson.clarification(term, text, question)
    else:
        lesson = Lesson(text, key or "note", kind or "note", question=question)
    lesson = replace(lesson, owner=owner, pending=pending)
    return command.engine.learn(command.scope, lesson)


@app.command()
@print_memory
def correct(command: Command, memory_id: str, value: str) -> Memory:
    """Replace the value of a memory. The old value stays in the history, with the reason."""
    return command.engine.correct(command.scope, memory_id, value)


@app.command("list")
@print_with(tables.show_memories, key="memories")
def list_memories(
    command: Command,
    kind: list[MemoryKind] | None = None,
    key: str | None = None,
    status: list[Status] | None = None,
    every: bool = False,
    owner: Owner = "user",
    as_of: datetime | None = None,
    limit: int = 200,
    after: str | None = None,
) -> list[Memory]:
    """List memories."""
    if every and status:
        raise typer.BadParameter("use either --all or --status")
    return command.engine.memories(
        command.scope,
        kinds=kind,
        key=key,
        status=None if every else status or ("active", "pending"),
        owner=owner,
        as_of=as_of,
        limit=limit,
        after=after,
    )


def add_change(name: str, help_text: str) -> None:
    """Add a command that calls the engine's verb of the same name with one memory."""

    def change(command: Command, memory_id: str) -> Memory:
        changed: Memory = getattr(command.engine, name)(command.scope, memory_id)
        return changed

    app.command(name, help=help_text)(print_memory(change))


add_change("close", "End a memory: a to-do is done, a decision no longer stands.")
add_change("promote", "Turn a user's memory into a memory of the project.")
add_change("approve", "Approve a pending memory, so that it is used.")
add_change("reject", "Reject a pending memory.")


@app.command()
@print_with(lambda console, receipt: tables.show_receipt(console, receipt, "Redacted", "rows changed or erased"))
def redact(command: Command, memory_id: str, yes: bool = False) -> Receipt:
    """Blank the value of a memory everywhere, also in the log. The memory itself remains listed."""
    confirm(f"Redact memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}", yes)
    return command.engine.redact(command.scope, memory_id)


@app.command()
@print_with(tables.show_receipt)
def forget(command: Command, memory_id: str, yes: bool = False) -> Receipt:
    """Erase a memory and its evidence, but not the messages in the log."""
    confirm(f"Forget memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}", yes)
    known = check_current(command.engine.memory(command.scope, memory_id))
    return command.engine.forget(command.scope, memory=known.id)


# Words and the ontology -----------------------------------------------------------------------------------------------

ontology = typer.Typer(help="The ontology: the project's tables, columns, values and glossary.")


show_resolutions = tables.show_list(
    "term",
    ("meaning", lambda each: tables.shorten(each.meaning) if each.meaning else make_text("unknown", "yellow")),
    "tier",
    ("sure", lambda each: each.confidence if each.is_resolved else None),
    ("why", lambda each: make_text(each.why, "dim")),
)
show_terms = tables.show_list(
    *("kind", "name", ("meaning", lambda term: tables.shorten(term.description))),
    ("synonyms", lambda term: tables.shorten(", ".join(term.synonyms))),
    ("SQL", lambda term: tables.shorten(term.sql or "")),
    empty="No such term.",
)
IMPORTED = "{0.added:,} added, {0.changed:,} changed, {0.removed:,} removed, {0.unchanged:,} unchanged"


@print_with(show_resolutions, key="resolutions")
def resolve(command: Command, terms: list[str], define: list[str] | None = None) -> list[Resolution]:
    """Resolve words to their meaning: in this session, for the user, in the project, or in its ontology."""
    return command.engine.resolve_all(command.scope, terms, definitions=parse_definitions(define))


@ontology.command("import")
@print_with(echo(IMPORTED.format))
def import_file(command: Command, file: Path, replace: bool = False) -> ImportReport:
    """Add and change the terms of a file."""
    return command.engine.terms.load(command.scope, read_text(file), replace=replace)


@ontology.command("list")
@print_with(show_terms, key="terms")
def list_terms(
    command: Command, search: str | None = None, kind: TermKind | None = None, limit: int = 100
) -> list[Term]:
    """List terms, or search for them; misspelt words are found too."""
    return command.engine.terms.find(command.scope, search, kind=kind, limit=limit)


@ontology.command("set")
@print_with(lambda console, term: show_terms(console, [term]))
def set_term(
    command: Command,
    name: str,
    kind: TermKind = "glossary",
    description: str | None = None,
    synonym: list[str] | None = None,
    sql: str | None = None,
) -> Term:
    """Add a term, or change the given fields of a term."""
    found = command.engine.terms.find(command.scope, name, kind=kind)
    old = next((term for term in found if term.name == name), Term(name, kind))
    new = replace(
        old,
        description=old.description if description is None else description,
        synonyms=old.synonyms if synonym is None else synonym,
        sql=sql or old.sql,
    )
    return command.engine.terms.put(command.scope, new)


@ontology.command("drop")
@print_with(echo(lambda dropped: f"dropped {dropped['dropped']}"))
def drop_term(command: Command, name: str, kind: TermKind | None = None) -> dict[str, str]:
    """Remove a term; a table with its columns, a column with its values."""
    command.engine.terms.drop(command.scope, name, kind=kind)
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


# Recall ---------------------------------------------------------------------------------------------------------------


@print_with(tables.show_recall, options=(*QUERY, *SESSION_SCOPE))
def recall(command: Command, question: str, scope: Reach = "auto", limit: int = 10, fallback: int = 0) -> Recall:
    """Find messages, memories, episodes and terms relevant to a question, each with an explanation."""
    query = make_query(command, question, scope, limit=limit, fallback=fallback)
    return command.engine.recall(command.scope, query)


@print_with(lambda _, packed: show_context(packed), options=(*QUERY, *SESSION_SCOPE))
def context(
    command: Command,
    question: str,
    budget: int = 2000,
    scope: Reach = "auto",
    max_turns: int | None = None,
    turn_chars: int = 600,
    recent: int | None = None,
) -> Context:
    """Build text for a prompt: relevant memories and messages with citations, within a token budget."""
    limits = {"budget": budget, "max_turns": max_turns, "turn_chars": turn_chars, "recent": recent}
    query = make_query(command, question, scope, **limits)
    return command.engine.context(command.scope, query)


@print_with(tables.show_explanation, options=(*SCOPE, SESSION_SCOPE[0]))
def explain(command: Command, request_id: str) -> Explanation:
    """Explain what a past recall or context found."""
    return command.engine.explain(command.scope, request_id)


def make_query(command: Command, question: str, scope: Reach, **limits: Any) -> Query:
    given = command.options
    return Query(
        question,
        scope,
        tuple(given["kind"] or get_args(Kind)),
        as_of=given["as_of"],
        recency=given["recency"],
        exclude=tuple(given["exclude"] or ()),
        definitions=parse_definitions(given["define"]),
        **limits,
    )


def show_context(packed: Context) -> None:
    """Print only the text to stdout, unchanged, so that it can be piped into a prompt; the rest goes to stderr."""
    console = stderr_console()
    if packed.text:
        typer.echo(replace_control_chars(packed.text) if stdout_console().is_terminal else packed.text)
        console.print()
    else:
        console.print("Nothing is remembered about it.")
    tables.show_notes(console, packed.recall)
    left_out = f", {len(packed.left_out)} left out" if packed.left_out else ""
    facts = f"{packed.tokens} of {packed.recall.query.budget} tokens, {len(packed.lines)} lines{left_out}"
    for line in (facts, f"request {packed.request_id}"):
        console.print(make_text(line, "dim"), soft_wrap=True)
