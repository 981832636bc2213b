"""Charts of the report page as inline SVG: columns and lines over days, bars by name, and a gauge with its limit.

Colours are CSS classes, so that light and dark schemes apply. Every mark has its number in a <title>; colour is never
the only information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from html import escape

WIDTH, HEIGHT = 560, 180
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 26
MAX_LABELS = 8
MAX_LARGE_DOTS = 31
GAUGE_WIDTH = 120


def draw_columns(label: str, values: Mapping[str, float]) -> str:
    """Draw one column per name, from zero."""
    top = round_up(max(values.values(), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    gap = min(step * 0.3, 14)
    marks = [
        f'<rect class="fill1" x="{LEFT + n * step + gap / 2:.1f}" y="{y_of(value, top):.1f}" width="{step - gap:.1f}"'
        f' height="{HEIGHT - BOTTOM - y_of(value, top):.1f}" rx="2"><title>{escape(name)}: {value:,g}</title></rect>'
        for n, (name, value) in enumerate(values.items())
    ]
    return make_svg(label, [*draw_grid(top, ""), *marks, *draw_labels(list(values), step)])


def draw_lines(label: str, days: Sequence[date], series: Mapping[str, Sequence[float | None]], unit: str) -> str:
    """Draw a line per series over the days, with a legend above; days without a value are skipped."""
    top = round_up(max((value for values in series.values() for value in values if value is not None), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(len(days), 1)
    radius = 3.5 if len(days) <= MAX_LARGE_DOTS else 1.5
    marks = []
    for number, (name, values) in enumerate(series.items(), 1):
        points = [
            (LEFT + (n + 0.5) * step, y_of(value, top), value, day)
            for n, (value, day) in enumerate(zip(values, days, strict=True))
            if value is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
        marks.append(f'<polyline class="line{number}" points="{path}"/>')
        marks += [
            f'<circle class="fill{number}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">'
            f"<title>{day:%d %b}, {escape(name)}: {value:,.3g}{unit}</title></circle>"
            for x, y, value, day in points
        ]
    chart = make_svg(
        label,
        [*draw_grid(top, "%" if unit == "%" else ""), *marks, *draw_labels([f"{day:%d %b}" for day in days], step)],
    )
    return draw_legend(list(series)) + chart


def draw_bars(counts: Mapping[str, int]) -> str:
    """Draw a table of names, bars and counts, which is readable without the bars too."""
    most, whole = max(counts.values(), default=0), sum(counts.values())
    rows = [
        # SVG rather than a styled box: the console's pages allow no inline style.
        f'<tr><th scope="row">{escape(name)}</th><td class="bar">'
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="fill1" width="{max(count / most * 100, 1):.1f}" height="8"/></svg></td>'
        f'<td class="number">{count:,}</td><td class="number">{count / whole:.1%}</td></tr>'
        for name, count in counts.items()
        if count
    ]
    return f'<table class="bars">{"".join(rows)}</table>' if rows else '<p class="quiet">none</p>'


def draw_gauge(value: float | None, limit: float, is_bad: bool) -> str:
    """Draw a value on its scale, with a tick at the limit."""
    if value is None:
        return ""
    scale = GAUGE_WIDTH / (max(value, limit) * 1.25)
    style = "bad" if is_bad else "fill1"
    return (
        f'<svg class="gauge" viewBox="0 0 {GAUGE_WIDTH} 12" aria-hidden="true">'
        f'<rect class="track" y="3" width="{GAUGE_WIDTH}" height="6" rx="3"/>'
        f'<rect class="{style}" y="3" width="{value * scale:.1f}" height="6" rx="3"/>'
        f'<rect class="tick" x="{limit * scale:.1f}" width="2" height="12"/></svg>'
    )


def make_svg(label: str, marks: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{''.join(marks)}</svg>"
    )


def draw_grid(top: float, unit: str) -> list[str]:
    marks = []
    for part in (0, 0.5, 1):
        y = y_of(top * part, top)
        marks.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        marks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * part:,.4g}{unit}</text>')
    return marks


def draw_labels(texts: Sequence[str], step: float) -> list[str]:
    """Return labels for the axis, at most MAX_LABELS."""
    every = -(-len(texts) // MAX_LABELS)
    return [
        f'<text x="{LEFT + (n + 0.5) * step:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(text)}</text>'
        for n, text in enumerate(texts)
        if n % every == 0
    ]


def draw_legend(series: Sequence[str]) -> str:
    keys = [
        f'<span><svg viewBox="0 0 16 8"><rect class="fill{n}" width="16" height="8" rx="2"/></svg>{escape(name)}</span>'
        for n, name in enumerate(series, 1)
    ]
    return f'<p class="legend">{"".join(keys)}</p>'


def y_of(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def round_up(most: float) -> float:
    """Return the next of 1, 2, 4, 6, 8, 10, 20 ...: the top of the axis, whose half is a round number too."""
    if most <= 0:
        return 1
    power = 10.0 ** (len(f"{int(most)}") - 1)
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= most)
