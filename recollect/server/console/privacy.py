"""The privacy page: what is stored about a user, export, deletion with a receipt, and the rules in force. Admins also
get the audit log and the API keys.

The secret of a new key is only in the page that answers the form: in no address, and it cannot be shown again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from starlette.responses import Response, StreamingResponse

from recollect.errors import InvalidInput
from recollect.server.access.caller import SWITCHES, key_scope
from recollect.server.access.responses import stream_lines
from recollect.server.console.memory import OWNERS
from recollect.server.console.render import HEADERS, redirect, render_page
from recollect.server.console.visit import Visit, parse_choice
from recollect.settings import Settings, Unset
from recollect.values.api_key import ROLES, UNBOUND, Grant, Role
from recollect.values.conversation import Conversation, Episode
from recollect.values.document import Document
from recollect.values.identity import LOCAL
from recollect.values.memory import Memory

MAX_COUNTED = 1000  # of each kind; beyond that the page says "or more"
SHOWN_SESSIONS = 20
SHOWN_EVENTS = 100
MAX_DAYS = 36_500
CURRENT = ("active", "pending")
ROLE_DESCRIPTIONS = {
    "admin": "full access, including API keys, the audit log and all users' data",
    "data": "glossary, databases, shared knowledge and reports; no user data",
    "service": "an application that acts for many users",
    "user": "one person with their own memory",
}
TABLES: Mapping[str, str] = {  # what the tables of a receipt hold
    "audit": "Audit log entries",
    "chapter": "Indexed message ranges",
    "chunk": "Document passages",
    "chunk_vector": "Passage vectors",
    "conversation": "Sessions",
    "document": "Documents",
    "document_part": "Uploaded file parts",
    "embedding": "Message vectors",
    "episode": "Summaries",
    "evidence": "Quotes that support memories",
    "holder": "Markers for stored data",
    "idempotency": "Stored responses for retries",
    "memory": "Memories and their history",
    "posting": "Document index entries",
    "request": "Logged requests",
    "sketch": "Message index entries",
    "tally": "Counts of what was not remembered",
    "turn": "Messages",
}


@dataclass(frozen=True, slots=True)
class StoredData:
    """What is stored about a user."""

    sessions: Sequence[Conversation]
    memories: Sequence[Memory]
    documents: Sequence[Document]
    episodes: Sequence[Episode]
    rejections: int

    @property
    def counts(self) -> dict[str, str]:
        has_more = len(self.memories) >= MAX_COUNTED
        current = sum(self.kinds.values())
        return {
            "sessions": format_count(len(self.sessions)),
            "messages": format_count(sum(each.turns for each in self.sessions), len(self.sessions) >= MAX_COUNTED),
            "memories": format_count(current, has_more),
            "previous values": format_count(len(self.memories) - current, has_more),
            "summaries": format_count(len(self.episodes)),
            "documents": format_count(len(self.documents)),
        }

    @property
    def kinds(self) -> dict[str, int]:
        """The number of current memories of each kind, most frequent first."""
        return dict(Counter(each.kind for each in self.memories if each.status in CURRENT).most_common())

    @property
    def is_empty(self) -> bool:
        return not (self.sessions or self.memories or self.documents or self.episodes)


def format_count(number: int, has_more: bool = False) -> str:
    return f"{number:,} or more" if has_more or number == MAX_COUNTED else f"{number:,}"


# Stored data ----------------------------------------------------------------------------------------------------------


async def render_privacy(visit: Visit, problem: str = "", status: int = 200) -> Response:
    scope, engine, settings = visit.scope("memories"), visit.engine, visit.caller.settings
    stored = StoredData(
        await engine.conversations(scope, limit=MAX_COUNTED),
        await engine.memories(scope, status=None, limit=MAX_COUNTED),
        await engine.documents.find(scope, owner="user", limit=MAX_COUNTED),
        await engine.episodes(scope, limit=MAX_COUNTED),
        sum((await engine.rejections(scope)).values()),
    )
    switches = {action: SWITCHES[action] for action in SWITCHES if action in ("export", "forget")}
    values = {
        "stored": stored,
        "sessions": stored.sessions[:SHOWN_SESSIONS],
        "rules": describe_rules(settings),
        "disabled": {
            action: "" if getattr(settings, setting) else reason for action, (setting, reason) in switches.items()
        },
        "problem": problem,
    }
    return render_page(visit, "privacy.html", values, status)


def describe_rules(settings: Settings) -> list[tuple[str, str, str]]:
    """Return the rules in force: name, description, and the setting that controls it."""
    sensitive = "E-mail addresses, phone numbers, card numbers, IBANs and national ids"
    retention = "Sessions never expire."
    if settings.retention_days:
        which = "Questions to a database" if isinstance(settings.retention_days, Unset) else "Sessions"
        retention = f"{which} expire {format_days(settings.retention_days)} after their last message."
    masking = f"Off. Messages are stored as written. {sensitive} are masked in logs."
    if settings.mask_sensitive:
        masking = f"On. {sensitive} are masked before anything is stored."
    unused = "Unused memories are never deleted automatically."
    if settings.forget_below:
        unused = (
            f"Memories with a confidence below {settings.forget_below:g} are deleted after"
            f" {format_days(settings.forget_days)} without use."
        )
    sharing = "Off. One user's questions never affect other users."
    if settings.cross_user:
        sharing = "On. A question that three users ask is proposed to the project, without its values."
    logging = "On. The log has who did what and how long it took, never message text."
    history = f"Previous values of memories are kept for {format_days(settings.history_days)}."
    return [
        ("Session retention", retention, "MEMORY_RETENTION_DAYS"),
        ("Masking", masking, "MEMORY_MASK_SENSITIVE_DATA"),
        ("Requests", f"Requests are logged for {format_days(settings.request_days)}.", "RECOLLECT_REQUEST_DAYS"),
        ("Memory history", history, "RECOLLECT_HISTORY_DAYS"),
        ("Unused memories", unused, "RECOLLECT_FORGET_BELOW"),
        ("Operation log", logging if settings.log_operations else "Off.", "MEMORY_LOG_OPERATIONS"),
        ("Learning across users", sharing, "MEMORY_ENABLE_CROSS_USER_LEARNING"),
    ]


def format_days(number: int) -> str:
    return "1 day" if number == 1 else f"{number:,} days"


async def export(visit: Visit) -> Response:
    """Stream everything about the user as JSON lines. The file name does not contain the user's name."""
    lines = await stream_lines(visit.engine.export(visit.scope("export")))
    name = f"memory-export-{datetime.now(UTC):%Y-%m-%d}.jsonl"
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


async def delete_session(visit: Visit) -> Response:
    session = visit.field("session")
    if not session:  # without a session everything about the user would be deleted
        raise InvalidInput("session", "must name a session, got an empty text")
    return await delete(visit, session)


async def delete_all(visit: Visit) -> Response:
    """Delete everything about the user, after their name was typed."""
    if visit.field("name").strip() != visit.scope("forget").user.strip():
        return await render_privacy(visit, "Nothing was deleted: the name you typed does not match.", 400)
    return await delete(visit)


async def delete(visit: Visit, session: str | None = None) -> Response:
    """Delete a session, or everything about the user, and show the receipt: tables with the most rows first."""
    receipt = await visit.engine.forget(visit.scope("forget", session))
    rows = sorted(((count, table) for table, count in receipt.rows.items() if count), reverse=True)
    lines = [(TABLES.get(table, table), table, count) for count, table in rows]
    return render_page(visit, "privacy_receipt.html", {"receipt": receipt, "lines": lines})


async def show_audit_log(visit: Visit) -> Response:
    """Show who changed or deleted what, newest first."""
    owner = parse_choice("owner", visit.query("owner", "user"), OWNERS)
    events = await visit.engine.audit(visit.scope("audit" if owner == "user" else "audit_project"), owner=owner)
    values = {"owner": owner, "events": events[::-1][:SHOWN_EVENTS], "count": len(events)}
    return render_page(visit, "privacy_audit_log.html", values)


# API keys -------------------------------------------------------------------------------------------------------------


def choose_key_project(visit: Visit, is_every: bool) -> str | None:
    """Return the project whose keys are meant; None for all projects, where the caller may manage those."""
    _, project = key_scope(visit.caller, None if is_every else visit.selection.project, is_every)
    return project


async def render_keys(visit: Visit, problem: str = "", status: int = 200) -> Response:
    project, now = choose_key_project(visit, visit.is_global_admin), datetime.now(UTC)
    keys = await visit.engine.keys.find(project)
    values = {
        "project": project,
        "keys": [(key, key.problem(now)) for key in keys],
        "is_first": visit.caller.identity is LOCAL,
        "roles": [(role, ROLE_DESCRIPTIONS[role]) for role in ROLES],
        "problem": problem,
    }
    return render_page(visit, "privacy_keys.html", values, status)


async def create_key(visit: Visit) -> Response:
    """Create a key; only this response ever shows its secret."""
    try:
        grant = read_grant(visit)
    except InvalidInput as error:
        return await render_keys(visit, f"No key was created. {error}", 400)
    was_open = visit.caller.identity is LOCAL
    new = await visit.engine.keys.create(grant, by=visit.caller.identity.name)
    return render_page(visit, "privacy_new_key.html", {"key": new.key, "secret": new.secret, "was_open": was_open})


def read_grant(visit: Visit) -> Grant:
    """Return what the form asks for; raise Forbidden where the caller may not grant it."""
    role, user, days = visit.field("role"), visit.field("user", "").strip(), visit.field("days", "").strip()
    project = choose_key_project(visit, visit.is_checked("every") and role in UNBOUND)
    expires_at = parse_expiry(days) if days else None
    name = visit.field("name", "").strip() or user or role
    return Grant(role=cast("Role", role), name=name, project=project, user=user or None, expires_at=expires_at)


def parse_expiry(days: str) -> datetime:
    if not days.isdecimal() or len(days) > 5 or not 1 <= int(days) <= MAX_DAYS:
        raise InvalidInput("days", f"must be a number from 1 to {MAX_DAYS:,}, got {days!r}")
    return datetime.now(UTC) + timedelta(days=int(days))


async def revoke_key(visit: Visit) -> Response:
    project = choose_key_project(visit, visit.is_global_admin)
    await visit.engine.keys.revoke(visit.field("id"), project=project, by=visit.caller.identity.name)
    return redirect("privacy/keys", notice="revoked")


GET_ROUTES = {
    "/privacy": render_privacy,
    "/privacy/export": export,
    "/privacy/audit-log": show_audit_log,
    "/privacy/keys": render_keys,
}
POST_ROUTES = {
    "/privacy/forget": delete_session,
    "/privacy/erase": delete_all,
    "/privacy/keys/create": create_key,
    "/privacy/keys/revoke": revoke_key,
}
