"""The privacy room: what is kept about a user, to be taken along, forgotten in part, or erased whole with a receipt;
and which rules are in force. Admins have two further pages: the trail of who changed what, and the keys
(privacy_keys.py).

Everything here is about one user: the visitor's own, or the one an admin or an application looks at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, cast

from starlette.responses import Response, StreamingResponse

from recollect.doors.console import privacy_keys
from recollect.doors.console import privacy_shapes as shapes
from recollect.doors.console.render import HEADERS, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.doors.http.caller import SWITCHES
from recollect.errors import InvalidInput
from recollect.model.lesson import Owner
from recollect.model.permissions import Action
from recollect.model.scope import Scope

SESSIONS = 20  # shown at once
DEEDS = 100  # of the trail
OWNERS = ("user", "project")


async def privacy_page(visit: Visit) -> Response:
    return await shown_kept(visit)


async def shown_kept(visit: Visit, problem: str = "", status: int = 200) -> Response:
    scope = visit.scope("memories")
    kept = await kept_of(visit, scope)
    about: dict[str, Any] = {
        "kept": kept,
        "sessions": kept.sessions[:SESSIONS],
        "rules": shapes.rules(visit.caller.settings),
        "off": {"export": switched_off(visit, "export"), "forget": switched_off(visit, "forget")},
        "problem": problem,
    }
    return page(visit, "privacy.html", about, status)


async def kept_of(visit: Visit, scope: Scope) -> shapes.Kept:
    engine = visit.engine
    return shapes.Kept(
        await engine.conversations(scope, limit=shapes.MOST),
        await engine.memories(scope, status=None, limit=shapes.MOST),
        await engine.documents(scope, owner="user", limit=shapes.MOST),
        await engine.episodes(scope, limit=shapes.MOST),
        sum((await engine.rejections(scope)).values()),
    )


def switched_off(visit: Visit, action: Action) -> str:
    """Why nobody may, where a setting says so."""
    setting, reason = SWITCHES[action]
    return "" if getattr(visit.caller.settings, setting) else reason


async def export(visit: Visit) -> Response:
    """A file, made while it is sent: however much there is, little of it is held. Its name names nobody."""
    lines = visit.engine.export(visit.scope("export"))
    first = await anext(lines, None)  # what refuses it does so while there is still a page to say it on
    name = f"memory-export-{datetime.now(UTC):%Y-%m-%d}.jsonl"
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(streamed(first, lines), media_type="application/x-ndjson", headers=headers)


async def streamed(first: str | None, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    if first is not None:
        yield first + "\n"
    async for line in rest:
        yield line + "\n"


async def forget_session(visit: Visit) -> Response:
    receipt = await visit.engine.forget(visit.scope("forget", named(visit.said("session"))))
    return page(visit, "privacy_receipt.html", {"receipt": receipt, "lines": shapes.erased(receipt.rows)})


def named(session: str) -> str:
    """Without a session `forget` would mean everything."""
    if not session:
        raise InvalidInput("session", "say which session is to be forgotten")
    return session


async def erase(visit: Visit) -> Response:
    """Everything about the user, once his name was typed."""
    scope = visit.scope("forget")
    if visit.said("name").strip() != scope.user.strip():
        return await shown_kept(visit, "Nothing was erased: the name that was typed is another.", 400)
    receipt = await visit.engine.forget(scope)
    return page(visit, "privacy_receipt.html", {"receipt": receipt, "lines": shapes.erased(receipt.rows)})


async def trail(visit: Visit) -> Response:
    """Who changed or erased what; the newest first."""
    owner = visit.asked("owner", "user")
    if owner not in OWNERS:
        raise InvalidInput("owner", f"{owner!r} is neither user nor project")
    scope = visit.scope("audit" if owner == "user" else "audit_project")
    deeds = await visit.engine.audit(scope, owner=cast("Owner", owner))
    about = {"owner": owner, "deeds": deeds[::-1][:DEEDS], "count": len(deeds)}
    return page(visit, "privacy_trail.html", about)


routes = (
    shown("/privacy", privacy_page),
    shown("/privacy/export", export),
    shown("/privacy/trail", trail),
    done("/privacy/forget", forget_session),
    done("/privacy/erase", erase),
    *privacy_keys.routes,
)
