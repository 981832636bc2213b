"""Report: counts what the project's requests did, and judges it."""

from __future__ import annotations

from recollect.flows.parts import Parts
from recollect.model.report import MAX_DAYS, Report, evaluated, period
from recollect.model.scope import MAX_NAME
from recollect.model.search import check_range
from recollect.model.text import checked_text


async def report(parts: Parts, project: str, days: int) -> Report:
    checked_text("project", project, MAX_NAME)
    check_range("days", days, 1, MAX_DAYS)
    await parts.diary.flush()  # our own latest requests count too
    since, until = period(parts.clock.now(), days)
    return evaluated(project, since, until, await parts.store.report.counted(project, since, until))
