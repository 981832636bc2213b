"""The report as one page of HTML that needs nothing but itself: no script, no font, no address. Light and dark.

Made for `recollect report --html`; whoever serves it may send it as it is. It holds counts and names of ours, never a
text of a user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from recollect.doors.report_charts import bars, columns, gauge, lines
from recollect.model.report import Day, Report, Week
from recollect.model.report_rules import Gauge, facts, percent, shown

WAYS = {
    "hybrid": "words and vectors",
    "fts": "words",
    "vector": "vectors",
    "trgm": "spelling",
    "window": "the latest turns",
    "none": "nothing",
}
RIGHT = ' class="number"'
WEEK_COLUMNS = (("week of", ""), ("asked", RIGHT), ("asked back", RIGHT), ("corrected", RIGHT))
SIGNS = {"ok": "✓", "over": "▲", "under": "▼", "not measured": "–"}

STYLE = """
:root { color-scheme: light dark; --page: #f6f6f4; --card: #fff; --ink: #1c1d1f; --quiet: #62656b; --rule: #dfdfdb;
  --one: #2463c5; --two: #b4570a; --three: #6b4fb8; --good: #1d6f42; --bad: #b3261e; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --card: #1f2226; --ink: #e8e8e6; --quiet: #a2a6ad; --rule: #363a40;
    --one: #7fb0ff; --two: #f0a35e; --three: #b9a2ff; --good: #6fce98; --bad: #ff8f86; --warn: #e6b455; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 28px 20px 48px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 24px; } h2 { margin: 0 0 10px; font-size: 16px; }
.quiet, .note { color: var(--quiet); } .note { font-size: 13px; }
.tiles, .charts { display: grid; gap: 16px; margin-top: 16px; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
section, .tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 16px 18px; }
section { margin-top: 16px; overflow-x: auto; } .charts section { margin: 0; }
.tile b { display: block; font-size: 25px; line-height: 1.2; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 6px 14px 6px 0; text-align: left; vertical-align: top; border-top: 1px solid var(--rule); }
thead th { border-top: 0; color: var(--quiet); font-weight: 500; font-size: 13px; }
th[scope=row] { font-weight: 500; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.verdict { white-space: nowrap; font-weight: 600; } .ok { color: var(--good); } .over { color: var(--bad); }
.under { color: var(--warn); } .not-measured { color: var(--quiet); font-weight: 400; }
.chart { display: block; width: 100%; height: auto; } .chart text { fill: var(--quiet); font-size: 12px; }
.gauges { min-width: 680px; } .gauges th[scope=row] { min-width: 230px; }
.grid { stroke: var(--rule); } .gauge { width: 120px; height: 12px; margin-top: 6px; }
.track { fill: var(--rule); } .tick { fill: var(--ink); } .bad { fill: var(--bad); }
.fill1 { fill: var(--one); } .fill2 { fill: var(--two); } .fill3 { fill: var(--three); }
polyline { fill: none; stroke-width: 2; } .line1 { stroke: var(--one); } .line2 { stroke: var(--two); }
.line3 { stroke: var(--three); }
.legend { margin: 0 0 4px; display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--quiet); }
.legend svg { width: 16px; height: 8px; margin-right: 6px; }
@media (max-width: 700px) {
  .gauges { min-width: 0; } .gauges thead { display: none; }
  .gauges tr { display: grid; grid-template-columns: 1fr auto auto; border-top: 1px solid var(--rule); padding: 8px 0; }
  .gauges th, .gauges td { border: 0; padding: 1px 0 1px 14px; } .gauges td.verdict { padding: 1px 0; }
  .gauges th[scope=row], .gauges td:nth-child(n + 5) { grid-column: 1 / -1; padding-left: 0; }
  .gauges th[scope=row] { order: -1; } .gauges td:nth-child(4)::before { content: "limit "; color: var(--quiet); }
}
.bars td.bar { width: 45%; padding-top: 13px; }
.bars td.bar svg { display: block; width: 100%; height: 8px; border-radius: 2px; }
"""


def page(report: Report) -> str:
    title = f"Memory report: {escape(report.project)}"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>",
            f"<header><h1>{title}</h1>{period_line(report)}</header>",
            tiles(report),
            gauges("Does a number argue for an upgrade?", report.triggers, "argues for"),
            gauges("Does it do what it should?", report.goals, ""),
            charts(report),
            weeks_section(report.asking),
            facts_section(report),
            "</body></html>\n",
        )
    )


def period_line(report: Report) -> str:
    line = f"{report.since:%d %B %Y} to {report.until:%d %B %Y, %H:%M} UTC"
    return f'<p class="quiet">{line}</p>' + "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)


def weeks_section(weeks: Sequence[Week]) -> str:
    """Whether learning helps: fewer questions to databases should be asked back."""
    if not weeks:
        return ""
    head = "".join(f'<th scope="col"{number}>{name}</th>' for name, number in WEEK_COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{each.week}</th><td class="number">{each.asked:,}</td>'
        f'<td class="number">{each.asked_back:,} ({percent(each.asked_back, each.asked)})</td>'
        f'<td class="number">{each.corrected:,}</td></tr>'
        for each in weeks
    )
    title = "<h2>Questions to databases: does it learn?</h2>"
    return f"<section>{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>"


def tiles(report: Report) -> str:
    t = report.totals
    shown_first = {
        "requests": f"{t.requests:,}",
        "users": f"{t.users:,}",
        "sessions": f"{t.sessions:,}",
        "used memory": percent(t.hit, t.requests),
        "retrieval, p95": shown(t.retrieval_p95, "ms"),
    }
    made = [
        f'<div class="tile"><b>{value}</b><span class="quiet">{name}</span></div>'
        for name, value in shown_first.items()
    ]
    return f'<div class="tiles">{"".join(made)}</div>'


def gauges(title: str, chosen: Sequence[Gauge], last: str) -> str:
    head = f'<th></th><th></th><th class="number">value</th><th class="number">limit</th><th></th><th>{last}</th>'
    rows = "".join(map(gauge_row, chosen))
    return section(title, f'<table class="gauges"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')


def gauge_row(item: Gauge) -> str:
    style = item.verdict.replace(" ", "-")
    return (
        f'<tr><td class="verdict {style}">{SIGNS[item.verdict]} {item.verdict}</td>'
        f'<th scope="row">{escape(item.name)}<div class="note">{escape(item.note)}</div></th>'
        f'<td class="number">{shown(item.value, item.unit)}</td><td class="number">{shown(item.limit, item.unit)}</td>'
        f"<td>{gauge(item.value, item.limit, item.verdict in ('over', 'under'))}</td>"
        f"<td>{escape(item.argues_for) if item.verdict == 'over' else ''}</td></tr>"
    )


def charts(report: Report) -> str:
    made = drawings(report).items()
    return f'<div class="charts">{"".join(section(title, body) for title, body in made)}</div>'


def drawings(report: Report) -> dict[str, str]:
    """Each chart by its title."""
    days = report.days
    dates = [day.day for day in days]
    by_day = {f"{day.day:%d %b}": float(day.requests) for day in days}
    latency = {"p50": [day.retrieval_p50 for day in days], "p95": [day.retrieval_p95 for day in days]}
    return {
        "Requests per day": columns("requests per day", by_day),
        "Retrieval per day, in milliseconds": lines("milliseconds of retrieval per day", dates, latency, " ms"),
        "Shares per day": lines("shares per day", dates, day_shares(days), "%"),
        "How long retrieval took": bars(report.latencies),
        "What answered": bars({WAYS.get(way, way): count for way, count in report.paths.items()}),
        "What failed": bars(report.errors),
        "What was learned, by whom": bars(report.learned),
        "What learning turned away": bars(report.rejected),
    }


def day_shares(days: Sequence[Day]) -> dict[str, list[float | None]]:
    def percents(part: str, whole: str) -> list[float | None]:
        counted = [(getattr(day, part), getattr(day, whole)) for day in days]
        return [100 * some / all_of if all_of else None for some, all_of in counted]

    return {
        "fewer than 3 hits by words": percents("few_words", "requests"),
        "fallback": percents("fallback", "requests"),
        "truncated": percents("truncated", "contexts"),
    }


def facts_section(report: Report) -> str:
    known: Mapping[str, str] = facts(report.totals)
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(fact)}</td></tr>' for name, fact in known.items())
    return section("In numbers", f"<table>{rows}</table>")


def section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"
