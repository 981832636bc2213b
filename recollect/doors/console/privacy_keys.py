"""Keys, for admins: a page of the privacy room. They are listed without their secrets, made, and revoked, as by
`recollect keys` and over /v1/keys. A new key's secret is in the page that answers the form, which no browser keeps, and
nowhere else: in no address, and not to be had again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

from starlette.responses import Response

from recollect.doors.console.render import back, page
from recollect.doors.console.serving import done, shown
from recollect.doors.console.visit import Visit
from recollect.doors.http.operate import keyring
from recollect.errors import InvalidInput
from recollect.model.api_key import ROLES, UNBOUND, Grant, Role
from recollect.model.identity import LOCAL

MOST_DAYS = 36_500
ABOUT_ROLES = {
    "admin": "everything, with keys, the trail and everybody's memory",
    "data": "words, tables, what the project knows and the report; no user's data",
    "service": "an application that acts for many users",
    "user": "one person, with his own memory",
}


def wanted_project(visit: Visit, every: bool | None = None) -> str | None:
    """Whose keys are meant: those of all projects (None) where the visitor may see all, else of the one he is in."""
    is_every = visit.may_see_all() if every is None else every
    _, wanted = keyring(visit.caller, None if is_every else visit.place.project, is_every)
    return wanted


async def keys_page(visit: Visit) -> Response:
    return await shown_keys(visit)


async def shown_keys(visit: Visit, problem: str = "", status: int = 200) -> Response:
    project, now = wanted_project(visit), datetime.now(UTC)
    keys = await visit.engine.list_keys(project)
    about = {
        "project": project,
        "good": [key for key in keys if not key.problem(now)],
        "gone": [(key, key.problem(now)) for key in reversed(keys) if key.problem(now)],
        "is_first": visit.caller.identity is LOCAL,
        "roles": [(role, ABOUT_ROLES[role]) for role in ROLES],
        "problem": problem,
    }
    return page(visit, "privacy_keys.html", about, status)


async def create(visit: Visit) -> Response:
    """The page after it is the only one that ever shows the secret."""
    try:
        grant = grant_in(visit)
    except InvalidInput as error:
        return await shown_keys(visit, f"No key was made: {error}", 400)
    was_open = visit.caller.identity is LOCAL
    new = await visit.engine.create_key(grant, by=visit.caller.identity.name)
    return page(visit, "privacy_new_key.html", {"key": new.key, "secret": new.secret, "was_open": was_open})


def grant_in(visit: Visit) -> Grant:
    """What the form asks for, if the visitor may give it."""
    role, user, days = visit.said("role"), visit.said("user", "").strip(), visit.said("days", "").strip()
    project = wanted_project(visit, every=visit.ticked("every") and role in UNBOUND)
    expires_at = datetime.now(UTC) + timedelta(days=days_in(days)) if days else None
    name = visit.said("name", "").strip() or user or role
    return Grant(role=cast("Role", role), name=name, project=project, user=user or None, expires_at=expires_at)


def days_in(text: str) -> int:
    if not text.isdecimal() or len(text) > 5 or not 1 <= int(text) <= MOST_DAYS:
        raise InvalidInput("days", f"{text!r} is not a number of days from 1 to {MOST_DAYS:,}")
    return int(text)


async def revoke(visit: Visit) -> Response:
    by, project = visit.caller.identity.name, wanted_project(visit)
    await visit.engine.revoke_key(visit.said("id"), project=project, by=by)
    return back("privacy/keys", told="revoked")


routes = (
    shown("/privacy/keys", keys_page),
    done("/privacy/keys/create", create),
    done("/privacy/keys/revoke", revoke),
)
