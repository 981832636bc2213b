"""The privacy page: what is stored about a user, export, deletion with a receipt; for admins the audit log and the API
keys. The secret of a new key is only in the page that answers the form."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from starlette.responses import Response, StreamingResponse

from recollect.errors import InvalidInput
from recollect.server.access.caller import SWITCHES, key_scope
from recollect.server.access.responses import start_stream
from recollect.server.console.handlers import Pages, Values
from recollect.server.console.render import HEADERS, redirect, render_page
from recollect.server.console.visit import Visit, parse_number
from recollect.settings import Unset
from recollect.values.identity import LOCAL, ROLES, UNBOUND, Grant, Role
from recollect.values.lesson import Owner
from recollect.values.query import check_range

pages = Pages()
MAX_COUNTED = 1000  # of each kind; beyond that the page says "or more"
SHOWN_SESSIONS = 20
SHOWN_EVENTS = 100
MAX_DAYS = 36_500
CURRENT = ("active", "pending")


# Stored data ----------------------------------------------------------------------------------------------------------


@pages.get("/privacy")
async def render_privacy(visit: Visit, *, problem: str = "") -> Response:
    scope, engine, settings = visit.scope("memories"), visit.engine, visit.caller.settings
    memories = await engine.memories(scope, status=None, limit=MAX_COUNTED)
    disabled = {action: reason for action, (name, reason) in SWITCHES.items() if not getattr(settings, name)}
    values = {
        "sessions": await engine.conversations(scope, limit=MAX_COUNTED),
        "memories": memories,
        "kinds": Counter(each.kind for each in memories if each.status in CURRENT).most_common(),
        "documents": await engine.documents.find(scope, owner="user", limit=MAX_COUNTED),
        "episodes": await engine.episodes(scope, limit=MAX_COUNTED),
        "rejections": sum((await engine.rejections(scope)).values()),
        "max_counted": MAX_COUNTED,
        "shown_sessions": SHOWN_SESSIONS,
        "settings": settings,
        "expires_any": not isinstance(settings.retention_days, Unset),
        "disabled": disabled,
        "problem": problem,
    }
    return render_page(visit, "privacy.html", values, 400 if problem else 200)


@pages.get("/privacy/export")
async def export(visit: Visit) -> Response:
    """Stream everything about the user as JSON lines. The file name does not contain the user's name."""
    lines = await start_stream(visit.engine.export(visit.scope("export")))
    name = f"memory-export-{datetime.now(UTC):%Y-%m-%d}.jsonl"
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse((f"{line}\n" async for line in lines), media_type="application/x-ndjson", headers=headers)


@pages.post("/privacy/forget")
async def delete_session(visit: Visit) -> Response:
    return await delete(visit, visit.require_session())


@pages.post("/privacy/erase")
async def delete_all(visit: Visit, name: str) -> Response:
    """Delete everything about the user, after their name was typed."""
    if name.strip() != visit.scope("forget").user.strip():
        return await render_privacy(visit, problem="Nothing was deleted: the name you typed does not match.")
    return await delete(visit)


async def delete(visit: Visit, session: str | None = None) -> Response:
    """Delete a session, or everything about the user, and show the receipt: tables with the most rows first."""
    receipt = await visit.engine.forget(visit.scope("forget", session))
    rows = sorted(((count, table) for table, count in receipt.rows.items() if count), reverse=True)
    return render_page(visit, "privacy_receipt.html", {"receipt": receipt, "rows": rows})


@pages.get("/privacy/audit-log", "privacy_audit_log.html")
async def show_audit_log(visit: Visit, owner: Owner = "user") -> Values:
    """Show who changed or deleted what, newest first."""
    events = await visit.engine.audit(visit.scope("audit" if owner == "user" else "audit_project"), owner=owner)
    return {"owner": owner, "events": events[::-1][:SHOWN_EVENTS], "count": len(events)}


# API keys -------------------------------------------------------------------------------------------------------------


def choose_key_project(visit: Visit, is_every: bool) -> str | None:
    """Return the project whose keys are meant; None for all projects, where the caller may manage those."""
    return key_scope(visit.caller, None if is_every else visit.selection.project, is_every)[1]


@pages.get("/privacy/keys")
async def render_keys(visit: Visit, *, problem: str = "") -> Response:
    project, now = choose_key_project(visit, visit.is_global_admin), datetime.now(UTC)
    keys = await visit.engine.keys.find(project)
    values = {
        "project": project,
        "keys": [(key, key.problem(now)) for key in keys],
        "is_first": visit.caller.identity is LOCAL,
        "roles": ROLES,
        "problem": problem,
    }
    return render_page(visit, "privacy_keys.html", values, 400 if problem else 200)


@pages.post("/privacy/keys/create")
async def create_key(visit: Visit, role: Role, every: bool, user: str = "", days: str = "", name: str = "") -> Response:
    """Create a key; only this response ever shows its secret."""
    user, expires_at = user.strip(), None
    try:
        project = choose_key_project(visit, every and role in UNBOUND)
        if days.strip():
            number = parse_number("days", days, 0)
            check_range("days", number, 1, MAX_DAYS)
            expires_at = datetime.now(UTC) + timedelta(days=number)
        shown = name.strip() or user or role
        grant = Grant(role=role, name=shown, project=project, user=user or None, expires_at=expires_at)
    except InvalidInput as error:
        return await render_keys(visit, problem=f"No key was created. {visit.explain(error)}")
    was_open = visit.caller.identity is LOCAL
    new = await visit.engine.keys.create(grant, by=visit.caller.identity.name)
    return render_page(visit, "privacy_new_key.html", {"key": new.key, "secret": new.secret, "was_open": was_open})


@pages.post("/privacy/keys/revoke")
async def revoke_key(visit: Visit, id: str) -> Response:  # noqa: A002 - the field's name
    project = choose_key_project(visit, visit.is_global_admin)
    await visit.engine.keys.revoke(id, project=project, by=visit.caller.identity.name)
    return redirect("privacy/keys", notice="revoked")
