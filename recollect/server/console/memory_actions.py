"""The forms that change a memory, on every page that shows one. Each checks the permission, calls the engine and leads
back to the page that had the form."""

from __future__ import annotations

from starlette.responses import Response

from recollect.errors import InvalidInput
from recollect.server.console.render import redirect_back
from recollect.server.console.visit import Visit
from recollect.values.lesson import Owner
from recollect.values.memory import Memory
from recollect.values.permissions import Action
from recollect.values.scope import Scope

OWNERS: tuple[Owner, ...] = ("user", "project")


def parse_owner(text: str) -> Owner:
    for owner in OWNERS:
        if owner == text:
            return owner
    raise InvalidInput("owner", f"must be user or project, got {text!r}")


def read_owner(visit: Visit) -> Owner:
    return parse_owner(visit.field("owner", "") or "user")


def scope_to_read(visit: Visit, owner: Owner) -> Scope:
    return visit.scope("memories" if owner == "user" else "memories_project")


def scope_to_change(visit: Visit, action: Action, owner: Owner) -> Scope:
    """Return a scope for the action on a user's memory; project memories need the permission to change the project."""
    return visit.scope(action) if owner == "user" else visit.project_scope("change_project")


def finish(visit: Visit, notice: str, memory: Memory | None = None) -> Response:
    """Redirect to the page that had the form, there to the memory if it still exists."""
    return redirect_back(visit.field("back", "memory"), notice, f"memory-{memory.id}" if memory else "")


async def correct(visit: Visit) -> Response:
    owner = read_owner(visit)
    scope = scope_to_change(visit, "correct", owner)
    memory = await visit.engine.correct(scope, visit.field("id"), visit.field("value"), owner=owner)
    return finish(visit, "corrected", memory)


async def close(visit: Visit) -> Response:
    owner = read_owner(visit)
    memory = await visit.engine.close(scope_to_change(visit, "close", owner), visit.field("id"), owner=owner)
    return finish(visit, "closed", memory)


async def promote(visit: Visit) -> Response:
    await visit.engine.promote(visit.scope("promote"), visit.field("id"))
    return finish(visit, "promoted")


async def approve(visit: Visit) -> Response:
    return finish(visit, "approved", await visit.engine.approve(visit.scope("approve"), visit.field("id")))


async def reject(visit: Visit) -> Response:
    return finish(visit, "rejected", await visit.engine.reject(visit.scope("reject"), visit.field("id")))


async def forget(visit: Visit) -> Response:
    owner = read_owner(visit)
    await visit.engine.forget(scope_to_change(visit, "forget", owner), memory=visit.field("id"), owner=owner)
    return finish(visit, "forgotten")


async def redact(visit: Visit) -> Response:
    await visit.engine.redact(visit.scope("redact"), visit.field("id"), owner="user")
    return finish(visit, "redacted")


async def mark(visit: Visit) -> Response:
    """Mark a message as important, or remove the mark. The mark is in the index: the log never changes."""
    is_marked = visit.is_checked("high_value")
    await visit.engine.mark(visit.scope("mark"), visit.field("ref"), high_value=is_marked)
    return finish(visit, "marked" if is_marked else "saved")


POST_ROUTES = {
    "/memory/correct": correct,
    "/memory/close": close,
    "/memory/promote": promote,
    "/memory/approve": approve,
    "/memory/reject": reject,
    "/memory/forget": forget,
    "/memory/redact": redact,
    "/memory/mark": mark,
}
