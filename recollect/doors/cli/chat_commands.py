"""What can be typed in `recollect chat` beside messages:

/why              what the last reply rests on       /session          the sessions; the one you are in is marked
/facts            what is known about you            /session NAME     go on in that one, or begin it
/forget 2         forget the second of /facts        /session new      begin a new one
/forget           forget this session
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.doors.cli.paper import margin, paper, said
from recollect.doors.cli.tables import clock, explanation_tree, show_receipt, table
from recollect.errors import RecollectError
from recollect.model.chat import Answer
from recollect.model.memory import Memory
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.engine import Engine

HELP = "/why  /facts  /forget [NUMBER]  /session [NAME or new]  /exit"


@dataclass(slots=True)
class Talk:
    """Whose conversation it is, its last answer, and the facts as they were last shown."""

    engine: Engine
    scope: Scope
    last: Answer | None = None
    facts: list[Memory] = field(default_factory=list)


async def obey(talk: Talk, line: str) -> None:
    """A command; what is wrong with it is told, and the conversation goes on."""
    name, _, rest = line.strip().partition(" ")
    commands = {"/why": why, "/facts": facts, "/forget": forget, "/session": session}
    command = commands.get(name.lower())
    if command is None:
        margin().print(said(f"  {HELP}", "dim"))
        return
    try:
        await command(talk, rest.strip())
    except RecollectError as error:
        margin().print(said(f"  {error}", "red"))


async def why(talk: Talk, rest: str) -> None:
    request = talk.last.memory.request_id if talk.last else None
    if request is None:
        paper().print("Nothing was recalled for the last reply." if talk.last else "Nothing was said yet.")
        return
    paper().print(explanation_tree(await talk.engine.explain(talk.scope, request)))


async def facts(talk: Talk, rest: str) -> None:
    talk.facts = await talk.engine.memories(talk.scope)
    if not talk.facts:
        paper().print("Nothing is known about you yet.")
        return
    rows = table("#", "what", "known", "since", "from")
    for number, memory in enumerate(talk.facts, 1):
        since, origin = clock(memory.valid_from), ", ".join(memory.refs[:2])
        rows.add_row(str(number), memory.kind, said(memory.text), since, said(origin))
    paper().print(rows)


async def forget(talk: Talk, rest: str) -> None:
    """One of the facts that were shown, or the whole session."""
    if rest:
        if not rest.isdecimal() or not 1 <= int(rest) <= len(talk.facts):
            margin().print(said("  say /facts first, then /forget with its number", "yellow"))
            return
        gone = talk.facts.pop(int(rest) - 1)
        show_receipt(paper(), await talk.engine.forget(talk.scope, memory=gone.id, owner="user"))
    elif talk.scope.session is None:
        margin().print(said("  this session has not begun", "yellow"))
    else:
        show_receipt(paper(), await talk.engine.forget(talk.scope))
        talk.scope, talk.last = replace(talk.scope, session=None), None


async def session(talk: Talk, rest: str) -> None:
    if rest:
        talk.scope = replace(talk.scope, session=None if rest.lower() == "new" else rest)
        talk.last = None
        paper().print(said("A new session begins." if talk.scope.session is None else f"In session {rest}."))
        return
    rows = table("", "session", "name", "questions", "last")
    for each in await talk.engine.conversations(talk.scope, limit=20):
        mark = "*" if each.session == talk.scope.session else ""
        rows.add_row(mark, said(each.session), said(each.name), str(each.interactions), clock(each.updated_at))
    paper().print(rows)
