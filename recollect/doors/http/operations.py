"""Operations: one line in the log for each that writes, erases or exports. Who did what to whom, and whether it worked;
never what it said. A user is told by the id of his scope, which is a hash. On with MEMORY_LOG_OPERATIONS."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from recollect.doors.http.border import Passed
from recollect.model.identity import Identity
from recollect.model.permissions import Action
from recollect.model.scope import Scope

log = logging.getLogger("recollect.operations")

READS: frozenset[Action] = frozenset(
    (
        *("recall", "context", "history", "explain", "resolve", "resolve_all", "memories", "episodes", "rejections"),
        *("settle", "audit", "terms", "memories_project", "audit_project", "report", "metrics", "ask"),
        *("data_sources", "documents"),
    )
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request set out to do. A refused one counts too: then there is no scope."""

    action: Action
    identity: Identity
    scope: Scope | None = None


def note_operation(passed: Passed) -> None:
    did = passed.state.get("operation")
    if not isinstance(did, Operation) or did.action in READS or (passed.method == "GET" and did.action != "export"):
        return
    log.info(
        "%s %s role=%s name=%r scope=%s request=%s",
        did.action,
        passed.status,
        did.identity.role,
        did.identity.name,
        "-" if did.scope is None else did.scope.id,
        passed.request_id,
    )
