"""`recollect chat`: talk to an assistant with memory, on a terminal or through a pipe, one message a line."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import typer

from recollect import Memory, Scope
from recollect.apps.chat.message import Answer, Ask
from recollect.cli import output
from recollect.cli.options import SESSION_SCOPE, Command, confirm, print_with
from recollect.cli.tables import show_explanation, show_list, show_receipt
from recollect.values.query import Reach
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from recollect.apps.chat.assistant import Assistant
    from recollect.engine import Engine

COMMANDS = "/why  /facts  /forget [NUMBER]  /session [NAME or new]  /exit"


@dataclass(slots=True)
class Chat:
    """The current conversation, its last answer, and the facts as /facts last listed them."""

    engine: Engine
    assistant: Assistant
    scope: Scope
    reach: Reach
    yes: bool  # /forget does not ask
    last: Answer | None = None
    facts: list[Memory] = field(default_factory=list)


@print_with(None, options=SESSION_SCOPE)
async def chat(command: Command, message: str | None = None, scope: Reach = "auto", yes: bool = False) -> None:
    """Talk to an assistant with memory. Without a language model it answers from memory alone. Commands: /why, /facts,
    /forget, /session, /exit."""
    from recollect.bootstrap import open_assistant

    as_json = command.as_json
    async with output.open_application(open_assistant) as (engine, assistant):
        current = Chat(engine, assistant, command.scope, scope, yes)
        send = partial(send_message, current, as_json)
        if message is None:
            handlers = {"why": explain_reply, "facts": list_facts, "forget": forget, "session": choose_session}
            commands = {name: partial(handle, current) for name, handle in handlers.items()}
            await output.converse("> ", send, COMMANDS, **commands)
            return
        if message.strip():
            await send(message)
        if current.last is not None and current.last.error_stage is not None:
            raise typer.Exit(output.FAILED)


async def send_message(chat: Chat, as_json: bool, text: str) -> None:
    """Print the reply as it arrives, and what memory contributed."""
    answer: Answer | None = None
    async for piece in chat.assistant.stream(chat.scope, Ask(text, chat.reach)):
        if isinstance(piece, Answer):
            answer = piece
        elif not as_json:
            typer.echo(output.replace_control_chars(piece) if output.stdout_console().is_terminal else piece, nl=False)
    assert answer is not None
    chat.last, chat.scope = answer, replace(chat.scope, session=answer.session)
    use = answer.memory
    if as_json:
        output.print_json(to_json(answer))
        return
    typer.echo()
    if use.request_id:
        facts = f"{use.facts} facts, {use.hits_used} of {use.hits_found} turns, {use.tokens} tokens"
        output.print_note(f"{facts}; recollect explain {use.request_id}")
    for note in use.notes:
        output.print_note(note, "yellow")


async def explain_reply(chat: Chat, rest: str) -> None:
    request = chat.last.memory.request_id if chat.last else None
    if request is None:
        output.print_text("Nothing was recalled for the last reply." if chat.last else "There is no reply yet.")
        return
    show_explanation(output.stdout_console(), await chat.engine.explain(chat.scope, request))


async def list_facts(chat: Chat, rest: str) -> None:
    chat.facts = await chat.engine.memories(chat.scope)
    numbers = {memory.id: number for number, memory in enumerate(chat.facts, 1)}
    show = show_list(
        *(("#", lambda memory: numbers[memory.id]), "kind", ("known", "text"), ("since", "valid_from")),
        ("from", lambda memory: memory.refs[:2]),
        empty="Nothing is known about you yet.",
    )
    show(output.stdout_console(), chat.facts)


async def forget(chat: Chat, rest: str) -> None:
    """Forget one of the listed facts, or the whole session."""
    if rest:
        if not rest.isdecimal() or not 1 <= int(rest) <= len(chat.facts):
            output.print_note("use /facts first, then /forget with a number of the list", "yellow")
            return
        fact = chat.facts[int(rest) - 1]
        await asyncio.to_thread(confirm, f"Forget {fact.text!r}", chat.yes)
        chat.facts.remove(fact)
        show_receipt(output.stdout_console(), await chat.engine.forget(chat.scope, memory=fact.id, owner="user"))
    elif chat.scope.session is None:
        output.print_note("this session has no messages yet", "yellow")
    else:
        await asyncio.to_thread(confirm, f"Forget session {chat.scope.session}", chat.yes)
        show_receipt(output.stdout_console(), await chat.engine.forget(chat.scope))
        chat.scope, chat.last = replace(chat.scope, session=None), None


async def choose_session(chat: Chat, rest: str) -> None:
    if rest:
        chat.scope = replace(chat.scope, session=None if rest.lower() == "new" else rest)
        chat.last = None
        output.print_text("New session." if chat.scope.session is None else f"In session {rest}.")
        return
    show = show_list(
        *(("", lambda each: "*" if each.session == chat.scope.session else ""), "session", "name"),
        *(("questions", "interactions"), ("last", "updated_at")),
        empty="There are no sessions yet.",
    )
    show(output.stdout_console(), await chat.engine.conversations(chat.scope, limit=20))
