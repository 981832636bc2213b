"""`recollect recall`, `context` and `explain`: what is relevant to a question, and why."""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from recollect.cli.options import (
    AsOf,
    Exclude,
    Json,
    Kinds,
    Project,
    Question,
    Recency,
    SearchScope,
    Session,
    User,
    make_scope,
)
from recollect.cli.output import (
    make_text,
    open_engine,
    print_json,
    replace_control_chars,
    stderr_console,
    stdout_console,
)
from recollect.cli.tables import describe_context, make_explanation_tree, show_notes, show_recall
from recollect.cli.terms import Define, parse_definitions
from recollect.values.query import Context, Kind, Query, Reach
from recollect.values.serialization import to_json

Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of hits.")]
Budget = Annotated[int, typer.Option("--budget", "-b", help="Maximum number of tokens.")]
MaxTurns = Annotated[int | None, typer.Option(help="Maximum number of recalled turns.", show_default="as many as fit")]
TurnChars = Annotated[int, typer.Option(help="Longer turns are shortened to an excerpt.")]
Recent = Annotated[
    int | None, typer.Option(help="Latest turns of the session to add.", show_default="MEMORY_MAX_HISTORY_MESSAGES")
]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="The request id that recall and context print.", show_default=False)
]


def recall(
    question: Question,
    scope: SearchScope = "auto",
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
    """Find messages, memories, episodes and terms relevant to a question, each with an explanation."""
    query = Query(
        question,
        scope=cast("Reach", scope),
        kinds=choose_kinds(kind),
        as_of=as_of,
        limit=limit,
        recency=recency,
        exclude=tuple(exclude or ()),
        definitions=parse_definitions(define or ()),
    )
    with open_engine() as engine:
        result = engine.recall(make_scope(user, session, project), query)
    if json:
        print_json(to_json(result))
    else:
        show_recall(stdout_console(), result)


def context(
    question: Question,
    budget: Budget = 2000,
    scope: SearchScope = "auto",
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
    """Build text for a prompt: relevant memories and messages with citations, within a token budget."""
    query = Query(
        question,
        scope=cast("Reach", scope),
        kinds=choose_kinds(kind),
        as_of=as_of,
        budget=budget,
        max_turns=max_turns,
        turn_chars=turn_chars,
        recent=recent,
        recency=recency,
        exclude=tuple(exclude or ()),
        definitions=parse_definitions(define or ()),
    )
    with open_engine() as engine:
        packed = engine.context(make_scope(user, session, project), query)
    if json:
        print_json(to_json(packed))
    else:
        show_context(packed)


def explain(
    request_id: RequestId, user: User = None, project: Project = None, session: Session = None, json: Json = False
) -> None:
    """Explain what a past recall or context found."""
    with open_engine() as engine:
        explanation = engine.explain(make_scope(user, session, project), request_id)
    if json:
        print_json(to_json(explanation))
    else:
        stdout_console().print(make_explanation_tree(explanation))


def choose_kinds(names: list[str] | None) -> tuple[Kind, ...]:
    return cast("tuple[Kind, ...]", tuple(names or get_args(Kind)))


def show_context(packed: Context) -> None:
    """Print only the text to stdout, unchanged, so that it can be piped into a prompt; the rest goes to stderr."""
    console = stderr_console()
    if packed.text:
        typer.echo(replace_control_chars(packed.text) if stdout_console().is_terminal else packed.text)
        console.print()
    else:
        console.print("Nothing is remembered about it.")
    show_notes(console, packed.recall)
    for line in describe_context(packed):
        console.print(make_text(line, "dim"), soft_wrap=True)
