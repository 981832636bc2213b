"""`recollect learn`, `correct` and `recollect memory`: list, teach, correct and erase memories.

A memory is given by its id, as `recollect memory list` prints it, or as `memory:<id>`, as contexts cite it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from recollect.cli.options import AsOf, Json, Project, User, Yes, confirm, make_scope
from recollect.cli.output import open_engine, print_json, stdout_console
from recollect.cli.tables import show_memories, show_receipt
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.sync import SyncEngine
    from recollect.values.scope import Scope

KINDS = "|".join(get_args(MemoryKind))
Id = Annotated[str, typer.Argument(metavar="ID", help="The id from `recollect memory list`.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.", show_default=False)]
Value = Annotated[str, typer.Argument(metavar="VALUE", help="The correct value.", show_default=False)]
Term = Annotated[str | None, typer.Option("--term", help="The word that TEXT defines.")]
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


@app.command()
def learn(
    text: Text,
    term: Term = None,
    question: AboutQuestion = None,
    key: Key = None,
    kind: Kind = None,
    owner: NewOwner = None,
    pending: Pending = False,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Teach something: a note, a value under a key, or what a word means."""
    if term and (key or kind):
        raise typer.BadParameter("use either --term, or --key and --kind")
    if term:
        lesson = Lesson.clarification(term, text, question)
    else:
        lesson = Lesson(text, key or "note", cast("MemoryKind", kind or "note"), question=question)
    lesson = replace(lesson, owner=cast("Owner | None", owner), pending=pending)
    run_verb(lambda engine, scope: engine.learn(scope, lesson), make_scope(user, None, project), json)


@app.command()
def correct(memory_id: Id, value: Value, user: User = None, project: Project = None, json: Json = False) -> None:
    """Replace the value of a memory. The old value stays in the history, with the reason."""
    run_verb(lambda engine, scope: engine.correct(scope, memory_id, value), make_scope(user, None, project), json)


@app.command("list")
def list_memories(
    kind: Kinds = None,
    key: OnlyKey = None,
    status: Statuses = None,
    every: All = False,
    owner: OwnerName = "user",
    as_of: AsOf = None,
    limit: Limit = 200,
    after: After = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """List memories."""
    if every and status:
        raise typer.BadParameter("use either --all or --status")
    chosen = None if every else cast("Sequence[Status]", status or ("active", "pending"))
    scope = make_scope(user, None, project)
    with open_engine() as engine:
        memories = engine.memories(
            scope,
            kinds=cast("Sequence[MemoryKind] | None", kind),
            key=key,
            status=chosen,
            owner=cast("Owner", owner),
            as_of=as_of,
            limit=limit,
            after=after,
        )
    if json:
        print_json({"memories": [to_json(each) for each in memories]})
    else:
        show_memories(stdout_console(), memories)


@app.command()
def close(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """End a memory: a to-do is done, a decision no longer stands."""
    run_verb(lambda engine, scope: engine.close(scope, memory_id), make_scope(user, None, project), json)


@app.command()
def promote(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Turn a user's memory into a memory of the project."""
    run_verb(lambda engine, scope: engine.promote(scope, memory_id), make_scope(user, None, project), json)


@app.command()
def approve(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Approve a pending memory, so that it is used."""
    run_verb(lambda engine, scope: engine.approve(scope, memory_id), make_scope(user, None, project), json)


@app.command()
def reject(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Reject a pending memory."""
    run_verb(lambda engine, scope: engine.reject(scope, memory_id), make_scope(user, None, project), json)


@app.command()
def redact(memory_id: Id, user: User = None, project: Project = None, yes: Yes = False, json: Json = False) -> None:
    """Blank the value of a memory everywhere, also in the log. The memory itself remains listed."""
    scope = make_scope(user, None, project)
    if not yes:
        confirm(f"Redact memory {memory_id} of user {scope.user!r} in project {scope.project!r}")
    with open_engine() as engine:
        receipt = engine.redact(scope, memory_id)
    if json:
        print_json(to_json(receipt))
    else:
        show_receipt(stdout_console(), receipt, "Redacted", "rows changed or erased")


@app.command()
def forget(memory_id: Id, user: User = None, project: Project = None, yes: Yes = False, json: Json = False) -> None:
    """Erase a memory and its evidence, but not the messages in the log."""
    scope = make_scope(user, None, project)
    if not yes:
        confirm(f"Forget memory {memory_id} of user {scope.user!r} in project {scope.project!r}")
    with open_engine() as engine:
        receipt = engine.forget(scope, memory=memory_id)
    if json:
        print_json(to_json(receipt))
    else:
        show_receipt(stdout_console(), receipt)


def run_verb(verb: Callable[[SyncEngine, Scope], Memory], scope: Scope, json: bool) -> None:
    """Run a verb of the engine and show the memory it returns."""
    with open_engine() as engine:
        memory = verb(engine, scope)
    if json:
        print_json(to_json(memory))
    else:
        show_memories(stdout_console(), [memory])
