"""`recollect recall`, `context` and `explain`: what is relevant to a question, and why."""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from recollect.cli.memories import Define, parse_definitions
from recollect.cli.options import (
    SCOPE,
    SESSION_SCOPE,
    AsOf,
    Command,
    Exclude,
    Kinds,
    Question,
    Recency,
    SearchScope,
    print_with,
)
from recollect.cli.output import make_text, replace_control_chars, stderr_console, stdout_console
from recollect.cli.tables import describe_context, make_explanation_tree, show_notes, show_recall
from recollect.values.explanation import Explanation
from recollect.values.query import Context, Kind, Query, Reach, Recall

Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of hits.")]
Budget = Annotated[int, typer.Option("--budget", "-b", help="Maximum number of tokens.")]
Fallback = Annotated[int, typer.Option(help="Turns to return at least: when little matches, the best of the rest.")]
MaxTurns = Annotated[int | None, typer.Option(help="Maximum number of recalled turns.", show_default="as many as fit")]
TurnChars = Annotated[int, typer.Option(help="Longer turns are shortened to an excerpt.")]
Recent = Annotated[
    int | None, typer.Option(help="Latest turns of the session to add.", show_default="MEMORY_MAX_HISTORY_MESSAGES")
]
RequestId = Annotated[
    str, typer.Argument(metavar="REQUEST_ID", help="The request id that recall and context print.", show_default=False)
]


@print_with(show_recall, options=SESSION_SCOPE)
def recall(
    command: Command,
    question: Question,
    scope: SearchScope = "auto",
    limit: Limit = 10,
    fallback: Fallback = 0,
    as_of: AsOf = None,
    recency: Recency = 0.0,
    exclude: Exclude = None,
    define: Define = None,
    kind: Kinds = None,
) -> Recall:
    """Find messages, memories, episodes and terms relevant to a question, each with an explanation."""
    query = Query(
        question,
        scope=cast("Reach", scope),
        kinds=choose_kinds(kind),
        as_of=as_of,
        limit=limit,
        fallback=fallback,
        recency=recency,
        exclude=tuple(exclude or ()),
        definitions=parse_definitions(define),
    )
    return command.engine.recall(command.scope, query)


@print_with(lambda _, packed: show_context(packed), options=SESSION_SCOPE)
def context(
    command: Command,
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
) -> Context:
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
        definitions=parse_definitions(define),
    )
    return command.engine.context(command.scope, query)


@print_with(
    lambda console, explanation: console.print(make_explanation_tree(explanation)), options=(*SCOPE, SESSION_SCOPE[0])
)
def explain(command: Command, request_id: RequestId) -> Explanation:
    """Explain what a past recall or context found."""
    return command.engine.explain(command.scope, request_id)


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
