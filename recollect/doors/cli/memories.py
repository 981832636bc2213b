"""`recollect learn`, `correct` and `recollect memory`: what is known, and what people tell it outright.

A memory is named by its id, as `recollect memory list` prints it, or as `memory:<id>`, as contexts cite it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from recollect.doors.cli.options import AsOf, Json, Project, User, Yes, confirm, scope_of
from recollect.doors.cli.paper import memory, paper, say_json
from recollect.doors.cli.tables import show_memories, show_receipt
from recollect.doors.shapes import memory_shape, receipt_shape
from recollect.model.lesson import Lesson, Owner
from recollect.model.memory import Memory, MemoryKind, Status

if TYPE_CHECKING:
    from recollect.model.scope import Scope
    from recollect.sync import SyncEngine

KINDS = "|".join(get_args(MemoryKind))
Id = Annotated[str, typer.Argument(metavar="ID", help="As `recollect memory list` prints it.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.", show_default=False)]
Value = Annotated[str, typer.Argument(metavar="VALUE", help="What is true instead.", show_default=False)]
Term = Annotated[str | None, typer.Option("--term", help="TEXT is the answer to what this word means.")]
Asked = Annotated[str | None, typer.Option("--question", help="What was asked when TEXT was the answer.")]
Key = Annotated[str | None, typer.Option("--key", help="What it is about.", show_default="note")]
Kind = Annotated[str | None, typer.Option("--kind", metavar=KINDS, help="What it is.", show_default="note")]
Whose = Annotated[
    str | None,
    typer.Option("--owner", metavar="user|project", help="Who is to know it.", show_default="by the wording"),
]
Pending = Annotated[bool, typer.Option("--pending", help="Somebody has to approve it first.")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar=KINDS, help="Only this kind; repeatable.")]
OnlyKey = Annotated[str | None, typer.Option("--key", help="Only about this.")]
Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="|".join(get_args(Status)),
        help="Only so; repeatable.",
        show_default="active and pending",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Also what is no longer so.")]
Of = Annotated[str, typer.Option("--owner", metavar="user|project", help="The user's, or the project's.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most memories, the important first.")]
After = Annotated[str | None, typer.Option("--after", metavar="ID", help="Go on after this one, the last of a page.")]

app = typer.Typer(help="See what is known, and teach, correct, share or erase it.")


@app.command()
def learn(
    text: Text,
    term: Term = None,
    question: Asked = None,
    key: Key = None,
    kind: Kind = None,
    owner: Whose = None,
    pending: Pending = False,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Remember what somebody says outright: a note, a value under a key, or what a word means."""
    if term and (key or kind):
        raise typer.BadParameter("--term has its own key and kind; say either --term, or --key and --kind")
    if term:
        lesson = Lesson.clarification(term, text, question)
    else:
        lesson = Lesson(text, key or "note", cast("MemoryKind", kind or "note"), question=question)
    lesson = replace(lesson, owner=cast("Owner | None", owner), pending=pending)
    answer(lambda engine, whose: engine.learn(whose, lesson), scope_of(user, None, project), json)


@app.command()
def correct(memory_id: Id, value: Value, user: User = None, project: Project = None, json: Json = False) -> None:
    """Give a memory another value. The old one stays in the history, with the reason."""
    answer(lambda engine, whose: engine.correct(whose, memory_id, value), scope_of(user, None, project), json)


@app.command("list")
def list_memories(
    kind: Kinds = None,
    key: OnlyKey = None,
    status: Statuses = None,
    every: All = False,
    owner: Of = "user",
    as_of: AsOf = None,
    limit: Limit = 200,
    after: After = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Show what is known."""
    if every and status:
        raise typer.BadParameter("say either --all or --status")
    chosen = None if every else cast("Sequence[Status]", status or ("active", "pending"))
    whose = scope_of(user, None, project)
    with memory() as engine:
        known = engine.memories(
            whose,
            kinds=cast("Sequence[MemoryKind] | None", kind),
            key=key,
            status=chosen,
            owner=cast("Owner", owner),
            as_of=as_of,
            limit=limit,
            after=after,
        )
    if json:
        say_json({"memories": [memory_shape(one) for one in known]})
    else:
        show_memories(paper(), known)


@app.command()
def close(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """End a memory: a to-do is done, a decision no longer stands."""
    answer(lambda engine, whose: engine.close(whose, memory_id), scope_of(user, None, project), json)


@app.command()
def promote(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Make a user's memory the project's."""
    answer(lambda engine, whose: engine.promote(whose, memory_id), scope_of(user, None, project), json)


@app.command()
def approve(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Let a pending memory count."""
    answer(lambda engine, whose: engine.approve(whose, memory_id), scope_of(user, None, project), json)


@app.command()
def reject(memory_id: Id, user: User = None, project: Project = None, json: Json = False) -> None:
    """Turn a pending memory down."""
    answer(lambda engine, whose: engine.reject(whose, memory_id), scope_of(user, None, project), json)


@app.command()
def redact(memory_id: Id, user: User = None, project: Project = None, yes: Yes = False, json: Json = False) -> None:
    """Blank a memory's value everywhere, also where it was said. That it was there stays known."""
    whose = scope_of(user, None, project)
    if not yes:
        confirm(f"Redact memory {memory_id} of user {whose.user!r} in project {whose.project!r}")
    with memory() as engine:
        receipt = engine.redact(whose, memory_id)
    if json:
        say_json(receipt_shape(receipt))
    else:
        show_receipt(paper(), receipt, "Redacted", "rows changed or erased")


@app.command()
def forget(memory_id: Id, user: User = None, project: Project = None, yes: Yes = False, json: Json = False) -> None:
    """Erase a memory with what it rests on, but not what was said."""
    whose = scope_of(user, None, project)
    if not yes:
        confirm(f"Forget memory {memory_id} of user {whose.user!r} in project {whose.project!r}")
    with memory() as engine:
        receipt = engine.forget(whose, memory=memory_id)
    if json:
        say_json(receipt_shape(receipt))
    else:
        show_receipt(paper(), receipt)


def answer(verb: Callable[[SyncEngine, Scope], Memory], whose: Scope, json: bool) -> None:
    """The memory that a verb leaves."""
    with memory() as engine:
        left = verb(engine, whose)
    if json:
        say_json(memory_shape(left))
    else:
        show_memories(paper(), [left])
