"""The store's part for a briefing: the end of a session, what is known to its user and to the project, and what may say
what some words mean; all in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.model.briefing import Brief
from recollect.model.conversation import Turn
from recollect.model.ids import ScopeId
from recollect.model.memory import Memory
from recollect.store.database import Database, Statement
from recollect.store.memories import as_memory
from recollect.store.rows import as_turn
from recollect.store.terms import Told, as_term, meanings_by, terms_by


@dataclass(frozen=True, slots=True)
class Background:
    turns: Sequence[Turn]
    own: Sequence[Memory]
    shared: Sequence[Memory]
    told: Told
    is_summarized: bool


class BackgroundStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self, user: ScopeId, project: ScopeId, session: str | None, wanted: Brief, stems: Sequence[str], now: datetime
    ) -> Background:
        asked = dict([*_of_user(session, wanted, stems, now), *_of_project(project, wanted, stems)])
        rows = dict(zip(asked, await self._database.run(user, *asked.values(), planned=False), strict=True))
        memories = {name: [as_memory(row) for row in rows.get(name, ())] for name in ("own", "shared", "mine", "ours")}
        return Background(
            turns=[as_turn(*row) for row in reversed(rows.get("turns", ()))],
            own=memories["own"],
            shared=memories["shared"],
            told=Told(memories["mine"], memories["ours"], [as_term(row) for row in rows.get("terms", ())]),
            is_summarized=bool(rows.get("summary")),
        )


def _of_user(session: str | None, wanted: Brief, stems: Sequence[str], now: datetime) -> list[tuple[str, Statement]]:
    statements: list[tuple[str, Statement]] = []
    if session is not None:
        last = {"session": session, "limit": wanted.recent, "now": now, "before": None}
        statements += [("turns", ("turn.recent", last)), ("summary", ("episode.first", {"session": session}))]
    statements.append(("own", ("memory.standing", _standing(wanted) | {"kinds": list(wanted.kinds)})))
    if stems:
        statements.append(("mine", meanings_by(stems)))
    return statements


def _of_project(project: ScopeId, wanted: Brief, stems: Sequence[str]) -> list[tuple[str, Statement]]:
    """After the user's: opening the project's scope closes the user's."""
    shared = _standing(wanted) | {"scope": project, "kinds": [], "status": ["active"]}
    statements: list[tuple[str, Statement]] = [
        ("open", ("server.open_scope_to_write", {"scope": project})),
        ("shared", ("memory.standing", shared)),
    ]
    if stems:
        statements += [("ours", meanings_by(stems, project)), ("terms", terms_by(project, stems))]
    return statements


def _standing(wanted: Brief) -> dict[str, object]:
    return {"habits": list(wanted.habits), "status": list(wanted.status), "limit": wanted.limit}
