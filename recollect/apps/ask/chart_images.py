"""Pictures of charts: a Vega-Lite specification as SVG or PNG, drawn by vl-convert (extra `charts`) without network.

Drawing takes a tenth of a second, the first time in a process a second: callers on the event loop use a thread. Texts
in a PNG need a font of the machine: without one for Chinese, Chinese labels show as boxes. An SVG uses the reader's.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

from recollect.extras import require_extra

Theme = Literal["light", "dark"]
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans CJK SC', sans-serif"
SERIES = {
    "light": ["#0b6b6b", "#c2571a", "#6a3f9c", "#1f5fa8", "#8a6d00", "#a3261b", "#2c6a35", "#5b6068"],
    "dark": ["#67c7c0", "#f0a35e", "#c5a5ef", "#8dbcf5", "#e0c65a", "#ff9c91", "#8ecf97", "#a6abb3"],
}
INK = {"light": ("#1d1f21", "#5b6068", "#dcd9d0"), "dark": ("#e9e8e4", "#a6abb3", "#363b42")}  # text, quiet, rules
SCALE = 2  # pixels of a PNG per unit of the specification


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
    text, quiet, rules = INK[theme]
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
        "arc": {"stroke": "#ffffff" if theme == "light" else "#1d2024", "strokeWidth": 1},
    }
