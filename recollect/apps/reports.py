"""The report as one self-contained HTML page (`recollect report --html`): no script, font or link, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from recollect.apps.ask.charts import build_chart, can_draw, draw_svg
from recollect.apps.ask.sources.running import Rows
from recollect.errors import describe_missing_extra, require_extra
from recollect.values.report import (
    WEEK_COLUMNS,
    Day,
    Gauge,
    Report,
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
CLIPS = re.compile(r' clip-path="[^"]*"|<defs>.*?</defs>', re.DOTALL)
FORMATS = {  # what templates need to show a report
    "signs": {"ok": "✓", "over": "▲", "under": "▼", "too few": "–", "not measured": "–"},
    **{each.__name__: each for each in (count_week, describe_totals, format_percent, format_value)},
    "week_columns": WEEK_COLUMNS,
}


def render_page(report: Report) -> str:
    require_extra("server", "the report as a page")
    from jinja2 import Environment, StrictUndefined

    page, style = (files("recollect.apps").joinpath(f"report.{kind}").read_text("utf-8") for kind in ("html", "css"))
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    shown = {"report": report, "style": style, "charts": draw_charts(report), "draw_gauge": draw_gauge}
    return environment.from_string(page).render(**shown, **FORMATS)


def draw_gauge(gauge: Gauge) -> str:
    """Draw a value on a scale that ends some way above its limit."""
    value, limit = gauge.value, gauge.limit
    if value is None:
        return ""
    top = max(value, limit) * 1.25
    # Browsers show a value as good on the side of the limit where the optimum is.
    optimum = {"over": 0.0, "under": top}.get(gauge.verdict, value)
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
