"""Charts: a picture of a result, where one suits it: a line over time, bars for a few things, points for two figures.
The kind is chosen from the rows, unless the caller names one. Drawn without a display; the library is loaded when it is
needed. Its font has no Chinese signs, so Chinese labels show as boxes unless the machine has a font that does."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from recollect.hosts.sql.running import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["line", "bar", "barh", "pie", "scatter"]
MOST_BARS = 30
MOST_SLICES = 8
MOST_POINTS = 2_000
LONG_LABEL = 12
LABEL_CHARS = 30
PERIOD = re.compile(r"^\d{4}(-\d{2}(-\d{2}.*)?|-?Q[1-4]|-W\d{2})?$")
WORDS: tuple[tuple[Kind, str], ...] = (
    ("pie", r"\bpie\b|饼图"),
    ("line", r"\blines?\b|\btrend\b|折线"),
    ("barh", r"\bhorizontal\b|条形"),
    ("bar", r"\bbars?\b|\bcolumns?\b|柱"),
    ("scatter", r"\bscatter\b|\bpoints?\b|散点"),
)


def chart_kind(rows: Rows, wish: str = "") -> Kind | None:
    """None where no picture would say more than the table."""
    figures, labels = figure_columns(rows), label_columns(rows)
    if len(rows.rows) < 2 or not figures:
        return None
    wished = next((kind for kind, words in WORDS if re.search(words, wish, re.IGNORECASE)), None)
    if wished == "scatter" or (not labels and len(figures) > 1):
        return "scatter" if len(figures) > 1 else None
    if not labels:
        return None
    if wished is not None and (wished != "pie" or is_pie(rows, figures[0])):
        return wished
    values = [row[labels[0]] for row in rows.rows]
    if all(PERIOD.match(str(value)) for value in values if value is not None):
        return "line" if len(values) > 2 else "bar"
    if len(values) > MOST_BARS:
        return None
    return "barh" if max(len(str(value)) for value in values) > LONG_LABEL else "bar"


def is_pie(rows: Rows, figure: int) -> bool:
    return len(rows.rows) <= MOST_SLICES and all((row[figure] or 0) >= 0 for row in rows.rows)


def figure_columns(rows: Rows) -> list[int]:
    """Columns of numbers; a first column of years is a label."""
    found = [n for n in range(len(rows.columns)) if is_figures([row[n] for row in rows.rows])]
    if len(found) > 1 and found[0] == 0 and all(is_year(row[0]) for row in rows.rows):
        return found[1:]
    return found


def label_columns(rows: Rows) -> list[int]:
    figures = figure_columns(rows)
    return [n for n in range(len(rows.columns)) if n not in figures]


def is_figures(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def is_year(value: Any) -> bool:
    return isinstance(value, int) and 1000 <= value <= 2999


def drawn(rows: Rows, title: str, wish: str = "") -> str:
    """The chart as PNG in base64; empty where none suits."""
    kind = chart_kind(rows, wish)
    if kind is None:
        return ""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(axes, kind, rows)
    axes.set_title(title[:90], fontsize=11, loc="left", parse_math=False)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(out, format="png")
    return base64.b64encode(out.getvalue()).decode()


def draw(axes: Axes, kind: Kind, rows: Rows) -> None:
    figures, labels = figure_columns(rows), label_columns(rows)
    if kind == "scatter":
        return points(axes, rows, figures)
    names = [label(" / ".join(str(row[n]) for n in labels)) for row in rows.rows]
    series = [(rows.columns[n], [float(row[n] or 0) for row in rows.rows]) for n in figures]
    if kind == "pie":
        axes.pie(series[0][1], labels=names, autopct="%1.0f%%")
    elif kind == "barh":
        axes.barh(range(len(names)), series[0][1], tick_label=names)
        axes.invert_yaxis()
        axes.set_xlabel(label(series[0][0]), parse_math=False)
    else:
        upright(axes, kind, names, series)
    return None


def upright(axes: Axes, kind: Kind, names: Sequence[str], series: Sequence[tuple[str, list[float]]]) -> None:
    for n, (name, values) in enumerate(series if kind == "line" else series[:1]):
        if kind == "line":
            axes.plot(range(len(names)), values, marker="o", label=label(name), color=f"C{n}")
        else:
            axes.bar(range(len(names)), values)
    step = max(1, len(names) // 15)
    axes.set_xticks(range(0, len(names), step), names[::step], rotation=30 if len(names) > 6 else 0, ha="center")
    axes.set_ylabel(label(series[0][0]), parse_math=False)
    if kind == "line" and len(series) > 1:
        axes.legend()


def points(axes: Axes, rows: Rows, figures: Sequence[int]) -> None:
    x, y = figures[0], figures[1]
    some = [row for row in rows.rows[:MOST_POINTS] if row[x] is not None and row[y] is not None]
    axes.scatter([row[x] for row in some], [row[y] for row in some], s=14)
    axes.set_xlabel(label(rows.columns[x]), parse_math=False)
    axes.set_ylabel(label(rows.columns[y]), parse_math=False)


def label(text: str) -> str:
    """Short, and never read as a formula."""
    return (text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…").replace("$", r"\$")
