"""`recollect recall`, `context` and `explain`: what is remembered about a question, and why."""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from recollect.doors.cli.options import (
    AsOf,
    Exclude,
    Json,
    Kinds,
    Project,
    Question,
    Recency,
    Session,
    User,
    Where,
    scope_of,
)
from recollect.doors.cli.paper import margin, memory, paper, said, say_json, visible
from recollect.doors.cli.tables import context_footer, explanation_tree, show_asides, show_recall
from recollect.doors.cli.terms import Define, definitions
from recollect.doors.shapes import context_shape, explanation_shape, recall_shape
from recollect.model.search import Context, Kind, Query, Reach

Limit = Annotated[int, typer.Option("--limit", "-n", help="Most hits to show.")]
Budget = Annotated[int, typer.Option("--budget", "-b", help="Most tokens.")]
MaxTurns = Annotated[int | None, typer.Option(help="Most recalled turns.", show_default="as many as fit")]
TurnChars = Annotated[int, typer.Option(help="A longer turn enters as an excerpt.")]
Recent = Annotated[
    int | None, typer.Option(help="Last turns of the session to add.", show_default="MEMORY_MAX_HISTORY_MESSAGES")
]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="As recall and context print it.", show_default=False)
]


def recall(
    question: Question,
    scope: Where = "auto",
    limit: Limit = 10,
    as_of: AsOf = None,
    recency: Recency = 0.0,
    exclude: Exclude = None,
    define: Define = None,
    kind: Kinds = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Find what speaks to a question: messages, memories, episodes and terms, each with why."""
    query = Query(
        question,
        scope=cast("Reach", scope),
        kinds=kinds(kind),
        as_of=as_of,
        limit=limit,
        recency=recency,
        exclude=tuple(exclude or ()),
        definitions=definitions(define or ()),
    )
    whose = scope_of(user, session, project)
    with memory() as engine:
        found = engine.recall(whose, query)
    if json:
        say_json(recall_shape(found))
    else:
        show_recall(paper(), found)


def context(
    question: Question,
    budget: Budget = 2000,
    scope: Where = "auto",
    max_turns: MaxTurns = None,
    turn_chars: TurnChars = 600,
    recent: Recent = None,
    as_of: AsOf = None,
    recency: Recency = 0.0,
    exclude: Exclude = None,
    define: Define = None,
    kind: Kinds = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Text for a prompt: what is known and was said, cited, within a budget of tokens."""
    query = Query(
        question,
        scope=cast("Reach", scope),
        kinds=kinds(kind),
        as_of=as_of,
        budget=budget,
        max_turns=max_turns,
        turn_chars=turn_chars,
        recent=recent,
        recency=recency,
        exclude=tuple(exclude or ()),
        definitions=definitions(define or ()),
    )
    whose = scope_of(user, session, project)
    with memory() as engine:
        packed = engine.context(whose, query)
    if json:
        say_json(context_shape(packed))
    else:
        show_context(packed)


def explain(
    request_id: RequestId, user: User = None, project: Project = None, session: Session = None, json: Json = False
) -> None:
    """Show what a past recall or context found, and why."""
    whose = scope_of(user, session, project)
    with memory() as engine:
        told = engine.explain(whose, request_id)
    if json:
        say_json(explanation_shape(told))
    else:
        paper().print(explanation_tree(told))


def kinds(chosen: list[str] | None) -> tuple[Kind, ...]:
    return cast("tuple[Kind, ...]", tuple(chosen or get_args(Kind)))


def show_context(packed: Context) -> None:
    """The text alone goes to stdout, as it is, so that a pipe gets what a prompt would; the rest stands beside it."""
    beside = margin()
    if packed.text:
        typer.echo(visible(packed.text) if paper().is_terminal else packed.text)
        beside.print()
    else:
        beside.print("Nothing is remembered about it.")
    show_asides(beside, packed.recall)
    for line in context_footer(packed):
        beside.print(said(line, "dim"), soft_wrap=True)
