"""What the health room shows, in the order and the words in which people read it: parts with their state, numbers
against their limits, charts. Made from the report and from what the engine says of itself; nothing is asked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from recollect.doors.report_charts import gauge
from recollect.doors.report_page import SIGNS, drawings
from recollect.errors import InvalidInput
from recollect.model.health import LONGEST_LAG, Health
from recollect.model.report import Report, Stored
from recollect.model.report_rules import Gauge, Verdict, percent, shown
from recollect.model.work import WorkStatus

PERIODS = (7, 30, 90)
Look = Literal["good", "wrong", "quiet"]
LOOKS: Mapping[Look, str] = {"good": "✓", "wrong": "▲", "quiet": "–"}
UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Judged:
    """A number against its limit, ready to be printed."""

    gauge: Gauge
    sign: str
    value: str
    limit: str
    chart: Markup


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the installation. `look` is how it stands; `note` what it is, or what to do about it."""

    name: str
    look: Look
    state: str
    note: str

    @property
    def sign(self) -> str:
        return LOOKS[self.look]


def drawn(chart: str) -> Markup:
    """The one place where HTML goes into a page as it is. That is safe for charts alone: report_charts.py makes them
    of numbers and of fixed tags, and escapes every name that it prints."""
    return Markup(chart)


def charts(report: Report) -> dict[str, Markup]:
    return {title: drawn(chart) for title, chart in drawings(report).items()}


def judged(gauges: Sequence[Gauge]) -> list[Judged]:
    return [
        Judged(
            each,
            SIGNS[each.verdict],
            shown(each.value, each.unit),
            shown(each.limit, each.unit),
            drawn(gauge(each.value, each.limit, is_bad(each.verdict))),
        )
        for each in gauges
    ]


def is_bad(verdict: Verdict) -> bool:
    return verdict in ("over", "under")


def tiles(report: Report) -> dict[str, str]:
    t = report.totals
    return {
        "requests": f"{t.requests:,}",
        "users": f"{t.users:,}",
        "sessions": f"{t.sessions:,}",
        "used memory": percent(t.hit, t.requests),
        "retrieval, p95": shown(t.retrieval_p95, "ms"),
    }


def parts_of(state: Health) -> list[Part]:
    """Store, embedder, model, worker: whether each works. Of the middle two that shows in the work they are needed
    for; nobody is called only to see."""
    is_up = state.store == "ok"
    made = [Part("Store", "good", "works", "PostgreSQL") if is_up else Part("Store", "wrong", "away", state.store)]
    failing = failing_stages(state.work)
    made.append(helper("Embedder", state.embedder, "embed" in failing, "none: only words find anything"))
    made.append(helper("Model", state.model, "reason" in failing, "none: rules learn, and answers come from memory"))
    return [*made, worker(state.work)] if state.work else made


def helper(name: str, used: str | None, fails: bool, without: str) -> Part:
    if used is None:
        return Part(name, "quiet", "not used", without)
    return Part(name, "wrong", "work that needs it fails", used) if fails else Part(name, "good", "no complaint", used)


def failing_stages(work: WorkStatus | None) -> set[str]:
    return {stage for trouble in (work.troubles if work else ()) for stage in trouble.parked}


def worker(work: WorkStatus) -> Part:
    lag = max(work.lag, work.documents_lag)
    note = f"the oldest work has waited {duration(lag)}" if lag else "nothing waits"
    if lag > LONGEST_LAG:
        return Part("Worker", "wrong", "behind", f"{note}; is one running? `recollect worker`")
    return Part("Worker", "good", "keeps up", note)


def duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def size(number: int) -> str:
    """Bytes, as people say them."""
    amount, unit = float(number), UNITS[0]
    for unit in UNITS:
        if amount < 1000 or unit == UNITS[-1]:
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == UNITS[0] else f"{amount:,.1f} {unit}"


def owner_of(row: Stored) -> str:
    return "shared in the project" if row.user is None else row.user


def days_of(text: str) -> int:
    if text not in map(str, PERIODS):
        raise InvalidInput("days", f"a period of {text!r} days is not offered; choose 7, 30 or 90")
    return int(text)
