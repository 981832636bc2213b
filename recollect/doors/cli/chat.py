"""`recollect chat`: talk to an assistant that remembers, on the terminal or through a pipe, one message a line; or a
command (chat_commands.py)."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.doors.cli.chat_commands import Talk, obey
from recollect.doors.cli.options import Json, Project, Session, User, Where, scope_of
from recollect.doors.cli.paper import margin, paper, said, say_json, visible, waiting
from recollect.doors.shapes import own
from recollect.model.chat import Answer, Ask
from recollect.model.scope import Scope
from recollect.model.search import Reach

if TYPE_CHECKING:
    from recollect.hosts.chat.assistant import Assistant

Text = Annotated[
    str | None,
    typer.Argument(metavar="MESSAGE", help="What to say; without it, a message a line is read.", show_default=False),
]
ENDS = ("/exit", "/quit", "/bye")


def chat(
    message: Text = None,
    session: Session = None,
    scope: Where = "auto",
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Talk to an assistant that remembers. Without a language model it answers from memory alone. Commands: /why,
    /facts, /forget, /session, /exit."""
    whose = scope_of(user, session, project)
    asyncio.run(talk(whose, message, cast("Reach", scope), json))


async def talk(scope: Scope, message: str | None, reach: Reach, as_json: bool) -> None:
    from recollect.settings import read_settings
    from recollect.wire import chatting, connect

    settings = read_settings()
    async with AsyncExitStack() as stack:
        with waiting("opening the memory"):
            engine = await stack.enter_async_context(connect(settings))
        assistant = await stack.enter_async_context(chatting(engine, settings))
        await converse(assistant, Talk(engine, scope), message, reach, as_json)


async def converse(assistant: Assistant, talk: Talk, message: str | None, reach: Reach, as_json: bool) -> None:
    """One message, or all that are typed; each goes on in the session of the one before."""
    while (text := message or await asyncio.to_thread(typed)) is not None:
        if text.startswith("/") and message is None:
            await obey(talk, text)
        elif text.strip():
            talk.last = await spoken(assistant, talk.scope, Ask(text, reach), as_json)
            talk.scope = replace(talk.scope, session=talk.last.session)
        if message is not None:
            return


def typed() -> str | None:
    """The next message; None when there are no more."""
    if sys.stdin.isatty():
        margin().print("> ", end="", style="bold")
    line = sys.stdin.readline()
    return None if not line or line.strip().lower() in ENDS else line.rstrip("\n")


async def spoken(assistant: Assistant, scope: Scope, ask: Ask, as_json: bool) -> Answer:
    answer: Answer | None = None
    async for piece in assistant.stream(scope, ask):
        if isinstance(piece, Answer):
            answer = piece
        elif not as_json:
            typer.echo(visible(piece) if paper().is_terminal else piece, nl=False)
    assert answer is not None
    if as_json:
        say_json({**own(answer), "memory": own(answer.memory)})
    else:
        typer.echo()
        show_beside(answer)
    return answer


def show_beside(answer: Answer) -> None:
    """What memory gave, and what could not be done, beside the reply."""
    use = answer.memory
    if use.request_id:
        facts = f"{use.facts} facts, {use.hits_used} of {use.hits_found} turns, {use.tokens} tokens"
        margin().print(said(f"  {facts}; recollect explain {use.request_id}", "dim"))
    for note in use.notes:
        margin().print(said(f"  {note}", "yellow"))
