"""The report as one self-contained HTML page (`recollect report --html`): no script, font or link, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from recollect.apps.ask.charts import build_chart, can_draw, draw_svg
from recollect.apps.ask.sources.running import Rows
from recollect.errors import describe_missing_extra
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
CLIPS = re.compile(r' clip-path="[^"]*"|<defs>.*?</defs>', re.DOTALL)
SIGNS = {"ok": "✓", "over": "▲", "under": "▼", "too few": "–", "not measured": "–"}

STYLE = files("recollect.apps").joinpath("report.css").read_text("utf-8")


def render_page(report: Report) -> str:
    title = f"Memory report: {escape(report.project)}"
    totals = describe_totals(report.totals)
    figures = "".join(f'<tr><th scope="row">{name}</th><td>{escape(fact)}</td></tr>' for name, fact in totals.items())
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>\n{STYLE}</style></head><body>",
            f"<header><h1>{title}</h1>",
            f'<p class="quiet">{report.since:%d %B %Y} to {report.until:%d %B %Y, %H:%M} UTC</p>',
            *(f'<p class="note">{escape(note)}</p>' for note in report.notes),
            "</header>",
            render_tiles(report),
            render_gauges("Recommended changes", report.triggers, "recommended"),
            render_gauges("Goals", report.goals, ""),
            '<div class="charts">',
            *(render_section(title, body) for title, body in draw_charts(report).items()),
            "</div>",
            render_weeks(report.asking),
            render_section("Figures", f"<table>{figures}</table>"),
            "</body></html>\n",
        )
    )


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


def draw_gauge(value: float | None, limit: float, is_bad: bool) -> str:
    """Draw a value on a scale that ends some way above its limit."""
    if value is None:
        return ""
    top = max(value, limit) * 1.25
    # Browsers show a value as good on the side of the limit where the optimum is.
    optimum = value if not is_bad else 0 if value > limit else top
    zones = f'max="{top:g}" low="{limit:g}" high="{limit:g}" optimum="{optimum:g}"'
    return f'<meter class="gauge" {zones} value="{value:g}"></meter>'


def draw_charts(report: Report) -> dict[str, str]:
    """Return each chart by its title."""
    paths = {SEARCH_NAMES.get(way, way): count for way, count in report.paths.items()}
    days: dict[str, tuple[str, Mapping[str, Sequence[Any]]]] = {
        "Requests per day": ("bar", {"Requests": [day.requests for day in report.days]}),
        "Retrieval per day, in milliseconds": (
            "line",
            {"p50": [day.retrieval_p50 for day in report.days], "p95": [day.retrieval_p95 for day in report.days]},
        ),
        "Shares per day, in percent": ("line", compute_shares(report.days)),
    }
    return {
        **{title: draw_days(title, kind, report.days, figures) for title, (kind, figures) in days.items()},
        "Retrieval time": draw_bars(report.latencies),
        "Search that answered": draw_bars(paths),
        "Errors": draw_bars(report.errors),
        "Memories learned, by source": draw_bars(report.learned),
        "Not remembered, by reason": draw_bars(report.rejected),
    }


def compute_shares(days: Sequence[Day]) -> dict[str, list[float | None]]:
    def percents(part: str, whole: str) -> list[float | None]:
        counted = [(getattr(day, part), getattr(day, whole)) for day in days]
        return [100 * some / all_of if all_of else None for some, all_of in counted]

    return {
        "few full-text hits": percents("few_words", "requests"),
        "fallback": percents("fallback", "requests"),
        "truncated": percents("truncated", "contexts"),
    }


def draw_days(title: str, kind: str, days: Sequence[Day], figures: Mapping[str, Sequence[Any]]) -> str:
    """Draw figures over days in the colours of the page; without those that were never measured."""
    known = {name: values for name, values in figures.items() if any(value is not None for value in values)}
    names = ("Day", *known)
    rows = Rows(names, tuple(zip([day.day.isoformat() for day in days], *known.values(), strict=True)))
    chart = build_chart(rows, names, wish=f"{kind} chart")
    if chart is None:
        return '<p class="quiet">too few days with figures</p>'
    if not can_draw():
        missing = describe_missing_extra("the chart", "charts", ["vl_convert"])
        return f'<p class="quiet">{escape(missing)}</p>'
    # Inside a page an SVG needs no namespaces and no size of its own, and clips of several charts have the same names.
    root = f'<svg class="chart" role="img" aria-label="{escape(title)}"'
    return re.sub(r"^<svg [^>]*?(?= viewBox)", root, CLIPS.sub("", draw_svg(chart, "page")))


def draw_bars(counts: Mapping[str, int]) -> str:
    """Draw a table of names, bars and counts."""
    most, whole = max(counts.values(), default=0), sum(counts.values())
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td><meter max="{most}" value="{count}"></meter></td>'
        f'<td class="number">{count:,}</td><td class="number">{count / whole:.1%}</td></tr>'
        for name, count in counts.items()
        if count
    ]
    return f'<table class="bars">{"".join(rows)}</table>' if rows else '<p class="quiet">none</p>'


def render_section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"
