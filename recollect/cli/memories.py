"""`recollect learn`, `correct` and `recollect memory`: list, teach, correct and erase memories.

A memory is given by its id, as `recollect memory list` prints it, or as `memory:<id>`, as contexts cite it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, cast, get_args

import typer

from recollect.cli.options import AsOf, Command, Yes, confirm, print_with
from recollect.cli.tables import show_memories, show_receipt
from recollect.values.audit import Receipt
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status

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


print_memory = print_with(lambda console, memory: show_memories(console, [memory]))


@app.command()
@print_memory
def learn(
    command: Command,
    text: Text,
    term: Term = None,
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


@app.command()
@print_memory
def close(command: Command, memory_id: Id) -> Memory:
    """End a memory: a to-do is done, a decision no longer stands."""
    return command.engine.close(command.scope, memory_id)


@app.command()
@print_memory
def promote(command: Command, memory_id: Id) -> Memory:
    """Turn a user's memory into a memory of the project."""
    return command.engine.promote(command.scope, memory_id)


@app.command()
@print_memory
def approve(command: Command, memory_id: Id) -> Memory:
    """Approve a pending memory, so that it is used."""
    return command.engine.approve(command.scope, memory_id)


@app.command()
@print_memory
def reject(command: Command, memory_id: Id) -> Memory:
    """Reject a pending memory."""
    return command.engine.reject(command.scope, memory_id)


@app.command()
@print_with(lambda console, receipt: show_receipt(console, receipt, "Redacted", "rows changed or erased"))
def redact(command: Command, memory_id: Id, yes: Yes = False) -> Receipt:
    """Blank the value of a memory everywhere, also in the log. The memory itself remains listed."""
    if not yes:
        confirm(f"Redact memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}")
    return command.engine.redact(command.scope, memory_id)


@app.command()
@print_with(show_receipt)
def forget(command: Command, memory_id: Id, yes: Yes = False) -> Receipt:
    """Erase a memory and its evidence, but not the messages in the log."""
    if not yes:
        confirm(f"Forget memory {memory_id} of user {command.scope.user!r} in project {command.scope.project!r}")
    return command.engine.forget(command.scope, memory=memory_id)
