"""The memory room: everything known about a user, and what his project knows; where each of it comes from, what it was
before, and a hand to change it. Whoever looks can also see what would be recalled, the episodes, and what was turned
away.

    memory.py          the list, and teaching by hand
    memory_story.py    one memory with its story; episodes; what was turned away
    memory_acts.py     what the forms of a memory do
    memory_search.py   the dry run
    memory_shapes.py   how things are put for a page
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from starlette.responses import Response

from recollect.doors.console import memory_acts, memory_search, memory_story
from recollect.doors.console.memory_acts import (
    OWNERS,
    as_owner,
    lesson_said,
    owner_said,
    project_scope,
    reading,
    to_page,
)
from recollect.doors.console.memory_shapes import (
    KINDS,
    STATUSES,
    by_kind,
    end_of_day,
    tally,
    whole_number,
)
from recollect.doors.console.render import link, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput
from recollect.model.lesson import Owner
from recollect.model.memory import MemoryKind, Status

PAGE = 25
COUNTED = 1_000  # memories of a tier that are counted by kind
EXAMPLES: Sequence[dict[str, str]] = (
    {"kind": "identity", "key": "location", "value": "Porto"},
    {"kind": "definition", "key": "active customer", "value": "logged in within the last 30 days"},
    {"kind": "instruction", "key": "answers", "value": "Answer with a table where there are more than three numbers."},
)
UNTAUGHT = {"kind": "note", "key": "", "value": "", "owner": "user", "always": "on"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the list is to show, as the address says it."""

    owner: Owner
    kind: str
    status: str
    as_of: str

    @property
    def kinds(self) -> Sequence[MemoryKind] | None:
        return [cast("MemoryKind", self.kind)] if self.kind else None

    @property
    def states(self) -> Sequence[Status] | None:
        return STATUSES[self.status][1]

    @property
    def moment(self) -> datetime | None:
        return end_of_day("as_of", self.as_of)

    def link(self, **other: str) -> str:
        """The same list, but for something."""
        given = {"owner": self.owner, "kind": self.kind, "status": self.status, "as_of": self.as_of} | other
        return link("memory", **(given | {"owner": "" if given["owner"] == "user" else given["owner"]}))

    @property
    def path(self) -> str:
        """For forms, to come back to."""
        return self.link().removeprefix("/console/")


def wanted_by(visit: Visit) -> Wanted:
    wanted = Wanted(
        as_owner(visit.asked("owner", "user")), visit.asked("kind"), visit.asked("status"), visit.asked("as_of")
    )
    if wanted.status not in STATUSES:
        raise InvalidInput("status", f"{wanted.status!r} is not one of {', '.join(filter(None, STATUSES))}")
    return wanted


async def memory_page(visit: Visit) -> Response:
    return await known_page(visit, wanted_by(visit), taught_before(visit), "")


async def known_page(visit: Visit, wanted: Wanted, typed: dict[str, str], problem: str) -> Response:
    """`typed` is what stands in the form that teaches; `problem` why it was not taken."""
    scope = reading(visit, wanted.owner)
    found = await visit.engine.memories(
        scope,
        kinds=wanted.kinds,
        status=wanted.states,
        owner=wanted.owner,
        as_of=wanted.moment,
        limit=PAGE,
        after=visit.asked("after") or None,
    )
    values = {
        "wanted": wanted,
        "groups": by_kind(found),
        "following": str(found[-1].id) if len(found) == PAGE else "",
        "tallies": await tallies(visit, wanted),
        "typed": typed,
        "problem": problem,
        "examples": EXAMPLES,
    }
    named: dict[str, Any] = {"kinds": KINDS, "statuses": STATUSES, "is_paged": bool(visit.asked("after"))}
    return page(visit, "memory.html", values | named, 400 if problem else 200)


async def tallies(visit: Visit, wanted: Wanted) -> dict[str, Any]:
    """Both tiers, counted by kind; with the filters, but for the kind."""

    async def counted(owner: Owner) -> Any:
        found = await visit.engine.memories(
            reading(visit, owner), status=wanted.states, owner=owner, as_of=wanted.moment, limit=COUNTED
        )
        return tally(found, COUNTED)

    return dict(zip(OWNERS, await asyncio.gather(*map(counted, OWNERS)), strict=True))


def taught_before(visit: Visit) -> dict[str, str]:
    """The form as it opens: empty, or with an example that somebody clicked."""
    number = whole_number("example", visit.asked("example"), 0)
    example = EXAMPLES[number - 1] if 0 < number <= len(EXAMPLES) else {}
    return UNTAUGHT | example


async def learn(visit: Visit) -> Response:
    owner = owner_said(visit)
    typed = {name: visit.said(name, "") for name in UNTAUGHT} | {"owner": owner}
    scope = visit.scope("learn") if owner == "user" else project_scope(visit, "learn_project")
    try:
        made = await visit.engine.learn(scope, lesson_said(typed, owner))
    except InvalidInput as error:  # the page keeps what was typed
        return await known_page(visit, Wanted(owner, "", "", ""), typed, str(error))
    told = "shared" if made.status == "pending" else "learned"
    return to_page(Wanted(owner, "", "", "").path, told, made)


routes = (
    shown("/memory", memory_page),
    done("/memory/learn", learn),
    *memory_story.routes,
    *memory_search.routes,
    *memory_acts.routes,
)
