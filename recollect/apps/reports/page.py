"""The report as one self-contained HTML page (`recollect report --html`): no script, font or link, light and dark.

It contains counts and our own names, never text of a user.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recollect.apps.reports.charts import draw_bars, draw_columns, draw_gauge, draw_lines
from recollect.values.report import (
    WEEK_COLUMNS,
    Day,
    Gauge,
    Report,
    Week,
    count_week,
    describe_totals,
    format_percent,
    format_value,
)

SEARCH_NAMES = {
    "hybrid": "full text and vectors",
    "fts": "full text",
    "vector": "vectors",
    "trgm": "trigrams",
    "window": "the latest turns",
    "none": "nothing",
}
NUMBER = ' class="number"'
SIGNS = {"ok": "✓", "over": "▲", "under": "▼", "too few": "–", "not measured": "–"}

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
.under { color: var(--warn); } .not-measured, .too-few { color: var(--quiet); font-weight: 400; }
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


def render_page(report: Report) -> str:
    title = f"Memory report: {escape(report.project)}"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>",
            f"<header><h1>{title}</h1>{render_period(report)}</header>",
            render_tiles(report),
            render_gauges("Recommended changes", report.triggers, "recommended"),
            render_gauges("Goals", report.goals, ""),
            '<div class="charts">',
            *(render_section(title, body) for title, body in draw_charts(report).items()),
            "</div>",
            render_weeks(report.asking),
            render_facts(report),
            "</body></html>\n",
        )
    )


def render_period(report: Report) -> str:
    line = f"{report.since:%d %B %Y} to {report.until:%d %B %Y, %H:%M} UTC"
    return f'<p class="quiet">{line}</p>' + "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)


def render_weeks(weeks: Sequence[Week]) -> str:
    """Show per week how often a question needed a clarification, and how often a repeated one did not."""
    if not weeks:
        return ""
    first, *counted = WEEK_COLUMNS
    head = f'<th scope="col">{first}</th>' + "".join(f'<th scope="col"{NUMBER}>{name}</th>' for name in counted)
    body = "".join(
        f'<tr><th scope="row">{each.week}</th>'
        + "".join(f"<td{NUMBER}>{count}</td>" for count in count_week(each))
        + "</tr>"
        for each in weeks
    )
    title = "<h2>Questions to databases per week</h2>"
    return f"<section>{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>"


def render_tiles(report: Report) -> str:
    t = report.totals
    figures = {
        "requests": f"{t.requests:,}",
        "users": f"{t.users:,}",
        "sessions": f"{t.sessions:,}",
        "used memory": format_percent(t.hit, t.requests),
        "retrieval, p95": format_value(t.retrieval_p95, "ms"),
    }
    tiles = [
        f'<div class="tile"><b>{value}</b><span class="quiet">{name}</span></div>' for name, value in figures.items()
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def render_gauges(title: str, gauges: Sequence[Gauge], advice: str) -> str:
    head = f'<th></th><th></th><th class="number">value</th><th class="number">limit</th><th></th><th>{advice}</th>'
    rows = "".join(map(render_gauge, gauges))
    return render_section(title, f'<table class="gauges"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')


def render_gauge(item: Gauge) -> str:
    style = item.verdict.replace(" ", "-")
    return (
        f'<tr><td class="verdict {style}">{SIGNS[item.verdict]} {item.verdict}</td>'
        f'<th scope="row">{escape(item.name)}<div class="note">{escape(item.note)}</div></th>'
        f'<td class="number">{format_value(item.value, item.unit)}</td>'
        f'<td class="number">{format_value(item.limit, item.unit)}</td>'
        f"<td>{draw_gauge(item.value, item.limit, item.verdict in ('over', 'under'))}</td>"
        f"<td>{escape(item.argues_for) if item.verdict == 'over' else ''}</td></tr>"
    )


def draw_charts(report: Report) -> dict[str, str]:
    """Return each chart by its title."""
    days = report.days
    dates = [day.day for day in days]
    by_day = {f"{day.day:%d %b}": float(day.requests) for day in days}
    latency = {"p50": [day.retrieval_p50 for day in days], "p95": [day.retrieval_p95 for day in days]}
    return {
        "Requests per day": draw_columns("requests per day", by_day),
        "Retrieval per day, in milliseconds": draw_lines("milliseconds of retrieval per day", dates, latency, " ms"),
        "Shares per day": draw_lines("shares per day", dates, compute_shares(days), "%"),
        "Retrieval time": draw_bars(report.latencies),
        "Search that answered": draw_bars({SEARCH_NAMES.get(way, way): count for way, count in report.paths.items()}),
        "Errors": draw_bars(report.errors),
        "Memories learned, by source": draw_bars(report.learned),
        "Not remembered, by reason": draw_bars(report.rejected),
    }


def compute_shares(days: Sequence[Day]) -> dict[str, list[float | None]]:
    def percents(part: str, whole: str) -> list[float | None]:
        counted = [(getattr(day, part), getattr(day, whole)) for day in days]
        return [100 * some / all_of if all_of else None for some, all_of in counted]

    return {
        "fewer than 3 full-text hits": percents("few_words", "requests"),
        "fallback": percents("fallback", "requests"),
        "truncated": percents("truncated", "contexts"),
    }


def render_facts(report: Report) -> str:
    known = describe_totals(report.totals)
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(fact)}</td></tr>' for name, fact in known.items())
    return render_section("Figures", f"<table>{rows}</table>")


def render_section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"
