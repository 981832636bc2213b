"""The store's part for reports: what was counted over all scopes of a project, and nothing that anybody said."""

from __future__ import annotations

from datetime import datetime, timedelta

from recollect.model.ids import project_scope_id
from recollect.model.report import LATENCY_STEPS, MOST_STORED, WEEKS, Counted, Day, Stored, Week
from recollect.model.report_rules import Totals
from recollect.store.database import Database


class ReportStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def counted(self, project: str, since: datetime, until: datetime) -> Counted:
        """Seven questions, each with an answer of its own: rows that come meanwhile may be in some of them only."""
        span = {"project": project, "since": since, "until": until}
        [requests] = await self._database.ask("report.requests", span)
        [follow_ups] = await self._database.ask("report.follow_ups", span)
        [conversations] = await self._database.ask("report.conversations", span)
        days = await self._database.ask("report.days", span)
        counts = await self._database.ask("report.counts", {**span, "steps": list(LATENCY_STEPS)})
        named: dict[str, dict[str, int]] = {}
        for what, name, count in counts:
            named.setdefault(what, {})[name] = count
        weeks = await self._database.ask("report.asking", {**span, "since": until - timedelta(weeks=WEEKS)})
        totals = Totals(*requests, *follow_ups, *conversations)
        stored = await self._stored(project)
        return Counted(totals, [Day(*row) for row in days], named, [Week(*row) for row in weeks], stored)

    async def _stored(self, project: str) -> list[Stored]:
        asked = {"project": project, "shared": project_scope_id(project), "most": MOST_STORED}
        return [Stored(*row) for row in await self._database.ask("report.storage", asked)]
