"""What can be done to memories: the forms of the memory room, and of every room that shows a memory. Each act asks
whether the caller may, has the engine do it, and goes back to where the form stood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import RedirectResponse, Response

from recollect.doors.console.render import HEADERS
from recollect.doors.console.serving import done
from recollect.doors.console.visit import Visit
from recollect.errors import InvalidInput
from recollect.model.lesson import IMPORTANCE, Lesson, Owner
from recollect.model.memory import ALWAYS_ON, Memory, MemoryKind
from recollect.model.permissions import Action
from recollect.model.scope import Scope

SELDOM = ALWAYS_ON - 0.1  # importance of what is mentioned only where it matters
OWNERS: tuple[Owner, ...] = ("user", "project")


def project_scope(visit: Visit, action: Action) -> Scope:
    """For what the project shares. The trail names whoever did it, not the user whose memory he looks at."""
    return visit.caller.scope(action, None, None, visit.place.project)


def as_owner(text: str) -> Owner:
    for owner in OWNERS:
        if owner == text:
            return owner
    raise InvalidInput("owner", f"{text!r} is neither user nor project")


def owner_said(visit: Visit) -> Owner:
    return as_owner(visit.said("owner", "") or "user")


def reading(visit: Visit, owner: Owner) -> Scope:
    return visit.scope("memories") if owner == "user" else visit.scope("memories_project")


def scope_to(visit: Visit, action: Action, owner: Owner) -> Scope:
    """To change a memory: the user's with the action of that name, the project's with its own."""
    return visit.scope(action) if owner == "user" else project_scope(visit, "change_project")


def returned(visit: Visit, told: str, memory: Memory | None = None) -> Response:
    """Back to the page that had the form, there to the memory, if one is left."""
    return to_page(visit.said("back", "memory"), told, memory)


def to_page(path: str, told: str, memory: Memory | None = None) -> Response:
    """Only ever a page of ours."""
    from recollect.doors.console.door import local  # the door lists the rooms: it is made after them

    parts = urlsplit(f"/console/{local(path) or 'memory'}")
    query = [pair for pair in parse_qsl(parts.query) if pair[0] != "told"]
    place = parts.fragment or (f"memory-{memory.id}" if memory else "")
    address = f"{parts.path}?{urlencode([*query, ('told', told)])}"
    return RedirectResponse(address + (f"#{place}" if place else ""), 303, HEADERS)


def lesson_said(fields: Mapping[str, str], owner: Owner) -> Lesson:
    """What the form teaches. Without a key it is a note."""
    kind = cast("MemoryKind", fields["kind"])
    importance = IMPORTANCE if fields["always"] else SELDOM
    return Lesson(
        fields["value"], fields["key"].strip() or "note", kind, source="manual", owner=owner, importance=importance
    )


async def correct(visit: Visit) -> Response:
    owner = owner_said(visit)
    scope = scope_to(visit, "correct", owner)
    made = await visit.engine.correct(scope, visit.said("id"), visit.said("value"), owner=owner)
    return returned(visit, "corrected", made)


async def close(visit: Visit) -> Response:
    owner = owner_said(visit)
    ended = await visit.engine.close(scope_to(visit, "close", owner), visit.said("id"), owner=owner)
    return returned(visit, "closed", ended)


async def promote(visit: Visit) -> Response:
    await visit.engine.promote(visit.scope("promote"), visit.said("id"))
    return returned(visit, "promoted")


async def approve(visit: Visit) -> Response:
    return returned(visit, "approved", await visit.engine.approve(visit.scope("approve"), visit.said("id")))


async def reject(visit: Visit) -> Response:
    return returned(visit, "rejected", await visit.engine.reject(visit.scope("reject"), visit.said("id")))


async def forget(visit: Visit) -> Response:
    owner = owner_said(visit)
    await visit.engine.forget(scope_to(visit, "forget", owner), memory=visit.said("id"), owner=owner)
    return returned(visit, "forgotten")


async def redact(visit: Visit) -> Response:
    await visit.engine.redact(visit.scope("redact"), visit.said("id"), owner="user")
    return returned(visit, "redacted")


async def mark(visit: Visit) -> Response:
    """A message that matters more than others, or no longer does. The mark is in the index: the log never changes."""
    is_marked = visit.ticked("high_value")
    await visit.engine.mark(visit.scope("mark"), visit.said("ref"), high_value=is_marked)
    return returned(visit, "marked" if is_marked else "saved")


routes = (
    done("/memory/correct", correct),
    done("/memory/close", close),
    done("/memory/promote", promote),
    done("/memory/approve", approve),
    done("/memory/reject", reject),
    done("/memory/forget", forget),
    done("/memory/redact", redact),
    done("/memory/mark", mark),
)
