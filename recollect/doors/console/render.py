"""Render: templates into pages. Everything a template prints is escaped; scripts and styles come from our own files
only, and the browser is told to take no others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from recollect.doors.console.visit import Visit
from recollect.doors.report_page import WAYS

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
STATIC = HERE / "static"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
CITED = re.compile(r"\[([^\s\[\]]{1,220}#\d{1,9}(?:-\d{1,9})?|memory:[0-9a-f-]{36})\]")
MOST_OF_A_REF = 20
ROOMS = (  # path, name, what it takes to see it
    ("chat", "Chat", "history"),
    ("ask", "Ask a database", "data_sources"),
    ("documents", "Documents", "documents"),
    ("memory", "Memory", "memories"),
    ("terms", "Words", "terms"),
    ("health", "Health", "report"),
    ("privacy", "Privacy", "memories"),
    ("settings", "Settings", "work"),
)
# What a page says after something was done; the address carries the short name only.
TOLD: Mapping[str, str] = {
    "learned": "Learned.",
    "corrected": "Corrected. The old value is in the history.",
    "forgotten": "Forgotten.",
    "redacted": "Blanked, also where it was said.",
    "closed": "Ended. It stays in the history.",
    "promoted": "It is the project's now: everybody's answers use it.",
    "approved": "Approved. It counts from now on.",
    "rejected": "Turned down. It will not count.",
    "renamed": "Renamed.",
    "saved": "Saved.",
    "source-added": "The database was opened and read. Ask it something.",
    "dropped": "Removed.",
    "shared": "Proposed for the project.",
    "revoked": "Revoked. It is out at once here, and within half a minute in other processes.",
    "retried": "Parked work is tried again at the worker's next look.",
    "signed-out": "Signed out.",
    "marked": "Marked.",
    "added": "Taken in; it is being read.",
}


@cache
def templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(link=link, static=static, turn_link=turn_link, ways=WAYS)
    made.filters.update(when=when, day=day, percent=percent, thousands=thousands, short=short, cited=cited, prose=prose)
    return made


def page(visit: Visit, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """A whole page, or, for a script that asks, the template alone: pages extend `layout`, which shows either."""
    rooms = [(path, name) for path, name, action in ROOMS if visit.may(action)]  # type: ignore[arg-type]
    told = TOLD.get(visit.asked("told"), "")
    layout = "piece.html" if visit.wants_piece else "layout.html"
    about = {"visit": visit, "place": visit.place, "rooms": rooms, "told": told, "layout": layout}
    return html(template, status, **about, **values)


def html(template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(templates().get_template(template).render(values), status, HEADERS)


def back(path: str, **query: str) -> Response:
    """After something was done: look at it. `told` names what to say (TOLD)."""
    return RedirectResponse(link(path, **query), 303, HEADERS)


def link(path: str, **query: object) -> str:
    """The address of a room, with what the query says; what is empty is left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"/console/{path}" + (f"?{urlencode(given)}" if given else "")


def turn_link(ref: str) -> str:
    """Where the message stands that a ref names: `monday#3`. Refs of episodes name their first message."""
    session, _, place = ref.rpartition("#")
    index = place.partition("-")[0]
    return f"{link('chat', session=session, at=index)}#turn-{index}"


def short(ref: str) -> str:
    """A ref as people can read it: sessions that got no name have a long one."""
    session, _, place = ref.rpartition("#")
    return f"…{session[-4:]}#{place}" if len(session) > MOST_OF_A_REF else ref


def prose(text: str) -> str:
    """Without the tables that an answer in Markdown has; the room they were asked in shows them as such."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("| ")).strip() or text


def cited(text: str) -> list[tuple[str, str]]:
    """A reply in pieces: text, and the ref that follows it; the last piece has none."""
    parts = CITED.split(text)
    return list(zip(parts[::2], [*parts[1::2], ""], strict=True))


@cache
def static(name: str) -> str:
    """The address of a file, with its digest: it can be kept for good."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/console/static/{name}?v={digest}"


def when(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%d %b %Y, %H:%M}"


def day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%d %b %Y}"


def percent(share: float) -> str:
    return f"{share:.0%}"


def thousands(number: float) -> str:
    return f"{number:,}"
