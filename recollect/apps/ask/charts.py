"""Charts as Vega-Lite specifications.

`build_chart` chooses the kind from the rows, unless a wish names one: a line over time, bars for a few things, points
for two figures. A specification has its data, but no colours, so that a page can show it in its own theme;
`draw_svg` and `draw_png` make pictures of it. The report (apps/reports.py) uses the same charts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.util import find_spec
from itertools import chain, count, repeat
from typing import Any, Literal, NamedTuple

from recollect.apps.ask.answers.wording import describe_row_count, format_cell
from recollect.apps.ask.question import Answer
from recollect.apps.ask.sources.running import Rows
from recollect.errors import require_extra
from recollect.values.text import is_cjk, shorten

Kind = Literal["line", "bar", "barh", "pie", "scatter"]
Grain = Literal["year", "month", "day", "time"]
Spec = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MAX_BARS = 30
MAX_SLICES = 8
MAX_SERIES = 8
MAX_POINTS = 2_000
UPRIGHT_BARS = 12  # more of them, or longer labels, are drawn horizontally
UPRIGHT_LABEL = 12
LABEL_CHARS = 40
TITLE_CHARS = 90
SAME_SCALE = 50  # figures whose greatest values differ by more than this factor are not drawn together
WIDTH, HEIGHT = 520, 300
LEGEND_ROOM = 40  # right of a legend, because the reader's font may be wider than the one that was measured


@dataclass(frozen=True, slots=True)
class Shape:
    """How a kind of chart is called, in a description and in wishes in English and Chinese, and how it is drawn: its
    mark, and the channels of label and value."""

    name: str
    english: str
    chinese: str
    mark: Mapping[str, Any]
    channels: tuple[str, str] = ("x", "y")


SHAPES: Mapping[Kind, Shape] = {
    "pie": Shape(
        "Pie chart", "pie|donut|doughnut", "饼图|饼状图|圆饼图", {"type": "arc", "outerRadius": 110}, ("color", "theta")
    ),
    "scatter": Shape("Scatter chart", r"scatter(?: ?plot)?|points?", "散点图?", {"type": "point", "filled": True}),
    "barh": Shape("Bar chart", r"horizontal(?: bars?)?", "条形图?", {"type": "bar"}, ("y", "x")),
    "line": Shape("Line chart", r"lines?|trends?", "折线图?|曲线图|趋势图", {"type": "line"}),
    "bar": Shape("Bar chart", r"bars?|columns?", "柱状图|柱形图|柱图|直方图", {"type": "bar"}),
}
UNITS = {"year": "utcyear", "month": "utcyearmonth", "day": "utcyearmonthdate"}
FORMATS = {"year": "%Y", "month": "%b %Y", "day": "%d %b %Y", "time": "%d %b %H:%M"}
FORMATS_ZH = {"year": "%Y年", "month": "%Y年%-m月", "day": "%Y-%m-%d", "time": "%m-%d %H:%M"}
MAX_TICKS = {"year": 16, "month": 13, "day": 15}  # up to so many units each has its tick
MONTH = r"[12]\d{3}-(0[1-9]|1[0-2])"
DAY = rf"{MONTH}-(0[1-9]|[12]\d|3[01])"
GRAINS: dict[Grain, re.Pattern[str]] = {  # what all values of a column of dates look like, the coarsest first
    "year": re.compile(r"[12]\d{3}"),
    "month": re.compile(MONTH),
    "day": re.compile(rf"{DAY}([T ]00:00(:00(\.0+)?)?(Z|[+-]\d{{2}}(:?\d{{2}})?)?)?"),
    "time": re.compile(rf"{DAY}([T ]\d{{2}}:\d{{2}}.*)?"),
}
PERIOD = re.compile(r"[12]\d{3}-?(Q[1-4]|W?\d{2})")  # quarters and weeks: in order, but not dates
KEY_NAME = re.compile(r"(^|_)id$", re.IGNORECASE)
Theme = Literal["light", "dark", "page"]  # a page has its own colours, as CSS variables
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans CJK SC', sans-serif"
SERIES = {
    "light": ["#0b6b6b", "#c2571a", "#6a3f9c", "#1f5fa8", "#8a6d00", "#a3261b", "#2c6a35", "#5b6068"],
    "dark": ["#67c7c0", "#f0a35e", "#c5a5ef", "#8dbcf5", "#e0c65a", "#ff9c91", "#8ecf97", "#a6abb3"],
    "page": ["var(--one)", "var(--two)", "var(--three)"],
}
INK = {  # text, quiet, rules, and what lies between slices
    "light": ("#1d1f21", "#5b6068", "#dcd9d0", "#ffffff"),
    "dark": ("#e9e8e4", "#a6abb3", "#363b42", "#1d2024"),
    "page": ("var(--ink)", "var(--quiet)", "var(--rule)", "var(--card)"),
}
SCALE = 2  # pixels of a PNG per unit of the specification


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    name: str
    header: str
    values: tuple[Any, ...]

    @property
    def labels(self) -> list[str]:
        texts = (format_cell(each) if isinstance(each, bool | None) else str(each) for each in self.values)
        return [shorten(text, LABEL_CHARS) for text in texts]

    @property
    def texts(self) -> list[str]:
        """The values as text: an array or a JSON object cannot be in a set."""
        return list(map(str, self.values))

    @property
    def size(self) -> int:
        """The number of different values."""
        return len(set(self.texts))

    @property
    def greatest(self) -> float:
        return find_greatest(self.values) or 1

    @property
    def is_index(self) -> bool:
        """Whether numbers stand for things: years, months of a year, days of a week."""
        values = self.values
        if self.size < len(values) or not all(isinstance(value, int) for value in values):
            return False
        return all(1000 <= value <= 2999 for value in values) or max(values) - min(values) < 2 * len(values)

    @property
    def is_sequence(self) -> bool:
        """Whether the values have an order of their own, but are no dates: numbers, quarters, weeks."""
        texts = [str(value) for value in self.values if value is not None]
        return self.grain is None and all(PERIOD.fullmatch(text) or text.lstrip("-").isdecimal() for text in texts)

    @property
    def grain(self) -> Grain | None:
        """The unit of a column of dates; None where one of its values is no date."""
        if "week" in self.name.casefold() or any(isinstance(value, bool | float | None) for value in self.values):
            return None
        grain = next((grain for grain, form in GRAINS.items() if all(map(form.fullmatch, self.texts))), None)
        return grain if grain and all(map(is_date, self.texts)) else None


def is_date(text: str) -> bool:
    """Return whether the calendar has the day that a text in one of the forms of dates names."""
    try:
        date.fromisoformat(f"{text}-01-01"[:10])  # of a year or a month the first
    except ValueError:
        return False
    return True


def find_greatest(values: Sequence[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0)


class Point(NamedTuple):
    label: Any
    value: float | None
    series: str = ""

    @property
    def size(self) -> float:
        """The value by which the largest are kept."""
        return self.value or 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn. `notes` say what the chart leaves out or draws otherwise than wished."""

    kind: Kind
    points: tuple[Point, ...]
    label: str  # header of the labels; of the first figure in a scatter chart
    value: str
    series: str = ""
    grain: Grain | None = None
    is_ordered: bool = False  # labels keep the order of the rows
    notes: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What the chart shows, for people who cannot see it."""
        figures = self.value or ", ".join(dict.fromkeys(point.series for point in self.points))
        series = f" and {self.series}" if self.series and self.value else ""
        over = "over" if self.kind == "scatter" else "by"
        return f"{SHAPES[self.kind].name}: {figures} {over} {self.label}{series}, {len(self.points)} values."

    def add_note(self, note: str, **changes: Any) -> Plan:
        return replace(self, notes=(*self.notes, note), **changes)

    def write_points(self) -> Iterator[Spec]:
        """Yield the data of the specification."""
        suffix = {"year": "-01-01", "month": "-01"}.get(self.grain or "", "")
        for label, value, series in self.points:
            point = {"label": f"{label}{suffix}" if suffix else label, "value": value}
            yield point | ({"series": series} if self.series else {})


def chart_answer(answer: Answer, wish: str = "") -> Spec | None:
    """Return the chart of an answer's rows; None where none suits. The question may name its kind."""
    if answer.rows is None:
        return None
    named = answer.question if find_kind(answer.question, is_strict=True) else ""
    return build_chart(answer.rows, answer.headers, answer.title or answer.question, wish or named)


def build_chart(rows: Rows, headers: Sequence[str] = (), title: str = "", wish: str = "") -> Spec | None:
    """Return a Vega-Lite specification with the rows as its data; None where a chart would say no more than a table."""
    plan = plan_chart(rows, headers or rows.columns, wish)
    if plan is None:
        return None
    notes = list(filter(None, (describe_row_count(rows), *plan.notes)))
    heading: Spec = {"text": shorten(title, TITLE_CHARS), "anchor": "start"}
    has_legend = plan.series or plan.kind == "pie"
    return {
        "$schema": SCHEMA,
        "title": heading | ({"subtitle": notes} if notes else {}),
        "description": plan.description,
        "background": "transparent",
        "width": WIDTH,
        "height": 40 + 24 * len(plan.points) if plan.kind == "barh" else HEIGHT,
        "padding": {"left": 5, "top": 5, "right": LEGEND_ROOM if has_legend else 5, "bottom": 5},
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": list(plan.write_points())},
        **encode(plan, is_chinese=is_cjk(title)),
    }


# What is drawn --------------------------------------------------------------------------------------------------------


def find_kind(wish: str, *, is_strict: bool = False) -> Kind | None:
    """Return the kind that a text names: "line chart" before a mere "line", which `is_strict` does not accept."""
    patterns = [r"\b(?:{0.english})[ -](?:chart|graph|plot|diagram)s?\b|{0.chinese}", r"\b(?:{0.english})\b"]
    for pattern in patterns[:1] if is_strict else patterns:
        for kind, shape in SHAPES.items():
            if re.search(pattern.format(shape), wish, re.IGNORECASE):
                return kind
    return None


def plan_chart(rows: Rows, headers: Sequence[str], wish: str = "") -> Plan | None:
    """Return what is drawn of the rows; None if nothing suits."""
    if len(rows.rows) < 2:
        return None
    figures, labels = split_columns(list(map(Column, rows.columns, headers, zip(*rows.rows, strict=True))))
    wished = find_kind(wish)
    if not labels or wished == "scatter":
        return plan_points(*figures[:2]) if len(figures) > 1 else None
    if not figures:
        return None
    plan = read_points(figures, labels)
    kind = choose_kind(plan)
    return grant_wish(replace(plan, kind=kind or "barh"), wished) if kind or wished else None


def choose_kind(plan: Plan) -> Kind | None:
    """Return the kind that suits: a line over time, else bars, flat ones for many or long labels; None for too many."""
    names = {str(point.label) for point in plan.points}
    if plan.grain or all(map(PERIOD.fullmatch, names)):
        return "line" if len(names) > 2 else "bar"
    if len(names) > MAX_BARS:
        return None
    is_flat = len(names) > UPRIGHT_BARS or max(map(len, names)) > UPRIGHT_LABEL
    return "barh" if is_flat and not plan.series else "bar"


def grant_wish(plan: Plan, wished: Kind | None) -> Plan:
    """Return the plan with the wished kind, or with a note why it has another."""
    if wished == "pie":
        problem = find_pie_problem(plan)
        if not problem:
            points = tuple(point._replace(label=str(point.label)) for point in plan.points)
            return replace(plan, kind="pie", grain=None, points=points)
        plan, wished = plan.add_note(f"Bars instead of a pie: {problem}."), "bar"
    kind = "bar" if wished == "barh" and (plan.series or plan.grain) else wished
    return limit_bars(plan if kind is None or (kind, plan.kind) == ("bar", "barh") else replace(plan, kind=kind))


def limit_bars(plan: Plan) -> Plan:
    """Keep the largest bars where there are too many of them, and say so. Bars over time are not cut."""
    has_order = plan.grain or plan.is_ordered or plan.series
    if len(plan.points) <= MAX_BARS or plan.kind not in ("bar", "barh") or has_order:
        return plan
    largest = tuple(sorted(plan.points, key=lambda point: -point.size)[:MAX_BARS])
    return plan.add_note(f"The {MAX_BARS} largest of {len(plan.points):,}.", kind="barh", points=largest)


def find_pie_problem(plan: Plan) -> str:
    """Return why the points cannot be slices; empty if they can."""
    size, values = len(plan.points), [point.size for point in plan.points]
    if size > MAX_SLICES:
        return f"{size} slices would be too many"
    return "its parts do not make a whole" if plan.series or min(values) < 0 or not sum(values) else ""


def plan_points(x: Column, y: Column) -> Plan:
    points = [Point(*pair) for pair in zip(x.values, y.values, strict=True) if None not in pair]
    notes = (f"The first {MAX_POINTS:,} of {len(points):,} points.",) if len(points) > MAX_POINTS else ()
    return Plan("scatter", tuple(points[:MAX_POINTS]), x.header, y.header, notes=notes)


def read_points(figures: Sequence[Column], labels: Sequence[Column]) -> Plan:
    """Return the points with a label each: a series per figure, or per value of a second label, where that suits."""
    axis, series = choose_axes(labels)
    plan = Plan("bar", (), axis.header, figures[0].header, grain=axis.grain, is_ordered=axis.is_sequence)
    if series is not None:
        points = map(Point, axis.labels, figures[0].values, series.labels)
        return limit_series(replace(plan, points=tuple(points), series=series.header))
    if len(labels) > 1:
        plan = replace(plan, label=" / ".join(each.header for each in labels), grain=None, is_ordered=False)
    texts = list(map(" / ".join, zip(*(each.labels for each in labels), strict=True)))
    distinct = make_distinct(texts)
    if distinct != texts:  # a number after a date is no date
        plan = replace(plan, grain=None, is_ordered=False)
    return add_figures(plan, figures, distinct)


def add_figures(plan: Plan, figures: Sequence[Column], texts: Sequence[str]) -> Plan:
    """Return the plan with the points of the first figure, and of those that are drawn on the same scale."""
    first = figures[0]
    drawn = [each for each in figures if 1 / SAME_SCALE <= each.greatest / first.greatest <= SAME_SCALE]
    if len(drawn) < len(figures):
        left = ", ".join(each.header for each in figures if each not in drawn)
        plan = plan.add_note(f"Not drawn, for its scale: {left}.")
    if len(drawn) == 1 or len(drawn) > MAX_SERIES:
        return replace(plan, points=tuple(map(Point, texts, first.values)))
    lines = zip(*(map(Point, texts, each.values, repeat(each.header)) for each in drawn), strict=True)
    return replace(plan, points=tuple(chain(*lines)), value="", series="Figure")


def choose_axes(labels: Sequence[Column]) -> tuple[Column, Column | None]:
    """Return the column of the axis and the column of the series, if a second label can be one."""
    if len(labels) != 2:
        return labels[0], None
    # Dates are the axis; else the column with more values is.
    axis, series = sorted(labels, key=lambda each: (each.grain is None, -each.size))
    rows = len(axis.values)
    is_unique = len(set(zip(axis.texts, series.texts, strict=True))) == rows
    is_small = axis.grain is not None or series.size <= MAX_SERIES
    return (axis, series) if is_unique and is_small and axis.size < rows else (labels[0], None)


def limit_series(plan: Plan) -> Plan:
    """Keep the largest series where there are too many of them, and say so."""
    totals = defaultdict[str, float](float)
    for point in plan.points:
        totals[point.series] += point.size
    if len(totals) <= MAX_SERIES:
        return plan
    largest = sorted(totals, key=lambda name: -totals[name])[:MAX_SERIES]
    points = tuple(point for point in plan.points if point.series in largest)
    return plan.add_note(f"The {MAX_SERIES} largest of {len(totals)}: {plan.series}.", points=points)


def split_columns(columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns that are figures and those that are labels. Keys are neither, if there is a label; a first
    column of years or other numbers in a row is a label."""
    kinds = defaultdict[str, list[Column]](list)
    for each in columns:
        kind = "label" if not is_figures(each.values) else "key" if KEY_NAME.search(each.name) else "figure"
        kinds[kind].append(each)
    figures, labels = kinds["figure"], kinds["label"] or kinds["key"][:1]
    if not labels and len(figures) > 1 and figures[0].is_index:
        return figures[1:], figures[:1]
    return figures, labels


def is_figures(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def make_distinct(labels: Sequence[str]) -> list[str]:
    """Number labels that repeat: two rows must not become one bar."""
    seen = defaultdict[str, Iterator[int]](lambda: count(1))
    numbered = ((label, next(seen[label])) for label in labels)
    return [label if number == 1 else f"{label} ({number})" for label, number in numbered]


# How it is written ----------------------------------------------------------------------------------------------------


def encode(plan: Plan, *, is_chinese: bool) -> Spec:
    """Return mark and encoding. Fields have fixed names, since a column's name may hold signs that Vega-Lite reads."""
    shape, greatest = SHAPES[plan.kind], find_greatest([point.value for point in plan.points])
    # The number format of d3: thousands with commas; small fractions with four digits.
    number = ",.2~f" if greatest >= 1 else ".4~g"
    label: Spec = {"field": "label", **encode_label_type(plan), "title": plan.label}
    value: Spec = {"field": "value", "type": "quantitative", "title": plan.value or None}
    series = [{"field": "series", "type": "nominal", "title": plan.series}] if plan.series else []
    tooltip = [label, *series, value | {"title": plan.value or "Value", "format": number}]
    if plan.kind == "pie":
        label, value = label | {"sort": None}, value | {"stack": True, "title": None}
    else:
        # Vega-Lite calls a thousand million G.
        large = {"labelExpr": "replace(format(datum.value, '~s'), 'G', 'B')"}
        value = value | {"axis": large if greatest >= 1e6 else {"format": number}}
        label = label | encode_labels(plan, is_chinese)  # the tooltip keeps the bare one
    places = dict(zip(shape.channels, (label, value), strict=True))
    mark = dict(shape.mark) | ({"point": len(plan.points) <= 60} if plan.kind == "line" else {})
    return {"mark": mark, "encoding": {**places, "tooltip": tooltip, **encode_series(plan)}}


def encode_series(plan: Plan) -> Spec:
    """Return the order of slices, or the colours of the series and the places of bars beside each other."""
    if plan.kind == "pie":
        return {"order": {"field": "value", "type": "quantitative", "sort": "descending"}}
    field = {"field": "series", "type": "nominal", "sort": None}
    color = {"color": field | {"title": plan.series if plan.value else None}} if plan.series else {}
    return color | ({"xOffset": field} if color and plan.kind == "bar" else {})


def encode_labels(plan: Plan, is_chinese: bool) -> Spec:
    """Return how labels are sorted and written. Bars are sorted by their own order, as the rows are if those are sorted
    by the figure, else the largest first."""
    if plan.kind == "scatter":
        return {"scale": {"zero": False}}
    if plan.grain:
        return {"axis": format_time_axis(plan, plan.grain, is_chinese)}
    values, sort = [point.size for point in plan.points], f"-{SHAPES[plan.kind].channels[1]}"
    is_sorted = plan.series or values in (sorted(values), sorted(values, reverse=True))
    order = "ascending" if plan.is_ordered else None if is_sorted else sort
    return {"sort": order, "axis": {"labelAngle": 0, "labelOverlap": True}}


def encode_label_type(plan: Plan) -> Spec:
    if plan.grain is None or plan.kind == "pie":
        return {"type": "quantitative" if plan.kind == "scatter" else "ordinal" if plan.is_ordered else "nominal"}
    unit = {"timeUnit": UNITS[plan.grain]} if plan.grain in UNITS else {}
    if unit and plan.kind == "bar":  # each bar has its place, and a gap to the next
        return {"type": "ordinal", **unit}
    return {"type": "temporal", "scale": {"type": "utc"}, **unit}


def format_time_axis(plan: Plan, grain: Grain, is_chinese: bool) -> Spec:
    """Return the axis of dates: where they are few, one tick for each unit, so that no label repeats."""
    axis: Spec = {"format": (FORMATS_ZH if is_chinese else FORMATS)[grain], "labelOverlap": True}
    if plan.kind == "bar":
        return axis | {"labelAngle": 0}
    days = [date.fromisoformat(f"{point.label}-01-01"[:10]) for point in plan.points]
    first, last = min(days), max(days)
    years = last.year - first.year
    counts = {"year": years, "month": 12 * years + last.month - first.month, "day": (last - first).days}
    if grain in counts and counts[grain] < MAX_TICKS[grain]:
        axis["tickCount"] = {"interval": grain, "step": 1}
    return axis


# Pictures ------------------------------------------------------------------------------------------------------------


def can_draw() -> bool:
    return find_spec("vl_convert") is not None


def draw_svg(chart: Mapping[str, Any], theme: Theme = "light") -> str:
    """Return the chart as SVG with a transparent background, its texts readable on a light or a dark page."""
    require_extra("charts", "a chart")
    import vl_convert

    return vl_convert.vegalite_to_svg(dict(chart), config=make_config(theme), allowed_base_urls=[])


def draw_png(chart: Mapping[str, Any]) -> bytes:
    """Return the chart as PNG on white, which is readable wherever it is shown."""
    require_extra("charts", "a chart")
    import vl_convert

    picture = {**chart, "background": "white"}
    return vl_convert.vegalite_to_png(picture, scale=SCALE, config=make_config("light"), allowed_base_urls=[])


def make_config(theme: Theme) -> dict[str, Any]:
    text, quiet, rules, gap = INK[theme]
    colors = SERIES[theme]
    axis = {"labelColor": quiet, "titleColor": text, "gridColor": rules, "domainColor": quiet, "tickColor": quiet}
    return {
        "font": FONT,
        "view": {"stroke": None},
        "title": {"color": text, "subtitleColor": quiet, "fontSize": 14, "subtitleFontSize": 12},
        # The reader's font may be wider than the one that was measured: room before the title keeps labels readable.
        "axis": axis | {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 14},
        "legend": {"labelColor": text, "titleColor": quiet, "labelFontSize": 12, "titleFontWeight": "normal"},
        "mark": {"color": colors[0]},
        "range": {"category": colors},
        "bar": {"cornerRadiusEnd": 2},
        "arc": {"stroke": gap, "strokeWidth": 1},
    }
