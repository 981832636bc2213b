"""One memory with its whole story: every value that was believed in its place, who told it, when, why it ended, and the
messages it rests on. Beside it, what else memory makes of the log: episodes, and what it turned away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.responses import Response

from recollect.doors.console.memory_acts import OWNERS, as_owner, reading
from recollect.doors.console.memory_shapes import TURNED_AWAY, story_of, whole_number
from recollect.doors.console.render import link, page
from recollect.doors.console.serving import shown
from recollect.doors.console.visit import Visit
from recollect.engine import as_memory_id
from recollect.errors import NotFound
from recollect.model.conversation import Turn
from recollect.model.ids import MemoryId
from recollect.model.lesson import Owner
from recollect.model.memory import Memory

LOOKED_THROUGH = 1_000  # memories at a time
QUOTED = 5  # messages under a memory
EPISODES = 20
MOST_EPISODES = 1_000


async def one_page(visit: Visit) -> Response:
    """A memory with its whole story, and the messages it rests on."""
    owner, known = await memory_named(visit)
    under_key = await visit.engine.memories(reading(visit, owner), key=known.key, status=None, owner=owner)
    story = story_of(known, under_key)
    quotes = await quoted(visit, story.current.refs if owner == "user" else ())
    here = link("memory/one", id=known.id, owner=owner).removeprefix("/console/")
    values = {"owner": owner, "story": story, "quotes": quotes, "here": here, "list": list_of(visit, owner)}
    return page(visit, "memory_one.html", values)


def list_of(visit: Visit, owner: Owner) -> str:
    """Where the memory stands among others: with the words, for a key that may see no user's memory."""
    if not visit.may("memories"):
        return "terms"
    return "memory" if owner == "user" else "memory?owner=project"


async def memory_named(visit: Visit) -> tuple[Owner, Memory]:
    """By its id; where the address does not say whose it is, the user's or else the project's."""
    wanted, owner = as_memory_id(visit.asked("id")), visit.asked("owner")
    for each in (as_owner(owner),) if owner else OWNERS:
        if known := await memory_of(visit, each, wanted):
            return each, known
    raise NotFound("this memory is not there any more; it was forgotten, or made anew under another id")


async def memory_of(visit: Visit, owner: Owner, wanted: MemoryId) -> Memory | None:
    """The engine lists memories, it does not fetch one: the list is looked through, a long page at a time."""
    scope, last = reading(visit, owner), None
    while found := await visit.engine.memories(scope, status=None, owner=owner, limit=LOOKED_THROUGH, after=last):
        if known := next((memory for memory in found if memory.id == wanted), None):
            return known
        last = found[-1].id
    return None


async def quoted(visit: Visit, refs: Sequence[str]) -> list[tuple[str, Turn | None]]:
    """The messages that some refs name; None where one is gone."""
    places = [ref for ref in refs if ref.rpartition("#")[2].isdecimal()][:QUOTED]
    if not visit.may("history"):
        return []
    return list(zip(places, await asyncio.gather(*(turn_of(visit, ref) for ref in places)), strict=True))


async def turn_of(visit: Visit, ref: str) -> Turn | None:
    session, _, index = ref.rpartition("#")
    try:
        turns = await visit.engine.history(visit.scope("history", session), limit=1, before=int(index) + 1)
    except NotFound:
        return None
    return turns[0] if turns and turns[0].ref == ref else None


async def episodes_page(visit: Visit) -> Response:
    """Of one session or of all, the newest first."""
    session, start = visit.asked("session"), whole_number("from", visit.asked("from"), 0)
    found = await visit.engine.episodes(visit.scope("episodes", session), limit=MOST_EPISODES)
    newest = found[::-1]
    following = start + EPISODES if len(newest) > start + EPISODES else None
    values = {"episodes": newest[start : start + EPISODES], "count": len(found), "session": session, "start": start}
    return page(visit, "memory_episodes.html", values | {"following": following})


async def turned_away_page(visit: Visit) -> Response:
    counted = await visit.engine.rejections(visit.scope("rejections"))
    return page(visit, "memory_turned_away.html", {"counted": counted, "meanings": TURNED_AWAY})


routes = (
    shown("/memory/one", one_page),
    shown("/memory/episodes", episodes_page),
    shown("/memory/turned-away", turned_away_page),
)
