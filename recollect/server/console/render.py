"""Render templates into responses. Templates escape everything they print, and the Content-Security-Policy allows only
our own scripts and styles."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from starlette.responses import HTMLResponse, RedirectResponse, Response

from recollect.learning.document_turns import IN_BRACKETS
from recollect.server.console.visit import Visit

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
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
CITATION = re.compile(r"\[([^\s\[\]]{1,220}#\d{1,9}(?:-\d{1,9})?|memory:[0-9a-f-]{36})\]")
MAX_REF_LENGTH = 20
MAX_PATH_LENGTH = 2_000


@cache
def load_templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from recollect.server.console.ask_view import TEMPLATE_NAMES  # it imports this module

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(link=link, static=static_url, turn_link=turn_link, make_memory_ref=make_memory_ref)
    environment.globals.update(TEMPLATE_NAMES)
    environment.filters.update(
        when=format_time,
        day=format_day,
        percent=lambda share: f"{share:.0%}",
        thousands=lambda number: f"{number:,}",
        short_ref=shorten_ref,
        split_citations=split_citations,
        without_tables=remove_tables,
        without_passages=lambda text: IN_BRACKETS.sub("", text),
        size=format_size,
        pages=format_pages,
    )
    return environment


def render_page(visit: Visit, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """Return a whole page, or only its content where a script asks for a fragment."""
    common = {
        "visit": visit,
        "selection": visit.selection,
        "notice": visit.query("notice"),
        "layout": "fragment.html" if visit.wants_fragment else "layout.html",
    }
    return render_html(template, status, **common, **values)


def render_html(template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(load_templates().get_template(template).render(values), status, HEADERS)


def redirect(path: str, **query: str) -> Response:
    """Return a redirect to a page, as the answer to a form. `notice` names the sentence to show there."""
    return RedirectResponse(link(path, **query), 303, HEADERS)


def redirect_back(path: str, notice: str, anchor: str = "") -> Response:
    """Return a redirect to the page that had the form, with a notice; never to another site."""
    parts = urlsplit(f"/console/{local_path(path) or 'memory'}")
    query = urlencode({**dict(parse_qsl(parts.query)), "notice": notice})
    address = urlunsplit(("", "", parts.path, query, parts.fragment or anchor))
    return RedirectResponse(address, 303, HEADERS)


def local_path(path: str) -> str:
    """Return a path below /console, or nothing where it would lead elsewhere.

    Browsers read `%2e` as a dot and drop characters that cannot be printed, so the decoded path is checked.
    """
    wanted = path.lstrip("/")
    decoded = unquote(urlsplit(f"/console/{wanted}").path)
    is_local = "\\" not in decoded and ".." not in decoded and path.isprintable() and len(path) <= MAX_PATH_LENGTH
    return wanted if is_local else ""


def link(path: str, **query: object) -> str:
    """Return the address of a page; empty parameters are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"/console/{path}" + (f"?{urlencode(given)}" if given else "")


def turn_link(ref: str) -> str:
    """Return the address of a message, from a ref such as `monday#3`; for a range, of its first message."""
    session, _, place = ref.rpartition("#")
    index = place.partition("-")[0]
    return f"{link('chat', session=session, at=index)}#turn-{index}"


def make_memory_ref(name: str) -> str:
    """Return a ref as pages use it: refs of messages as they are, ids of memories with a prefix."""
    return name if "#" in name else f"memory:{name}"


def get_ref_index(ref: str | None) -> str:
    """Return the index of the message that a ref names; empty without a ref."""
    return (ref or "").rpartition("#")[2]


def shorten_ref(ref: str) -> str:
    """Return a ref with a long generated session id cut to its last characters."""
    session, _, place = ref.rpartition("#")
    return f"…{session[-4:]}#{place}" if len(session) > MAX_REF_LENGTH else ref


def remove_tables(text: str) -> str:
    """Return text without Markdown tables; the page it was asked on shows them as tables."""
    kept = "\n".join(line for line in text.split("\n") if not line.startswith("| ")).strip()
    return text if not kept or kept == text.strip() else kept.rstrip(":：")


def split_citations(text: str) -> list[tuple[str, str]]:
    """Return pairs of text and the ref that follows it; the last pair has no ref."""
    parts = CITATION.split(text)
    return list(zip(parts[::2], [*parts[1::2], ""], strict=True))


@cache
def static_url(name: str) -> str:
    """Return the address of a static file with its digest, so that browsers can cache it for good."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/console/static/{name}?v={digest}"


def format_pages(page: int | None, page_end: int | None) -> str:
    if page is None:
        return ""
    return f"page {page}" if page_end in (None, page) else f"pages {page}–{page_end}"


def format_size(number: int) -> str:
    """Return a number of bytes as `800 bytes`, `12 kB` or `3.4 MB`."""
    for size, unit, digits in ((1e12, "TB", 1), (1e9, "GB", 1), (1e6, "MB", 1), (1e3, "kB", 0)):
        if number >= size:
            return f"{number / size:,.{digits}f} {unit}".replace(".0 ", " ")
    return f"{number:,} bytes"


def format_time(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%d %b %Y, %H:%M}"


def format_day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%d %b %Y}"
