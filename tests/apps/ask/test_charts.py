"""Charts: a specification of the kind that suits the rows, and none where it would say nothing."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.apps.ask.charts import Theme, build_chart, chart_answer, draw_png, draw_svg, find_kind, plan_chart
from recollect.apps.ask.question import Answer
from recollect.apps.ask.sources.running import Rows

REGIONS = Rows(("region", "total"), (("North", 10.5), ("South", 7), ("East", None), ("West", 20)))
MONTHS = Rows(("month", "total"), tuple((f"2024-{n:02}", n * 2) for n in range(1, 13)))
YEARS = Rows(("year", "total"), ((2021, 5), (2022, 9), (2023, 12)))
DAYS = Rows(("day", "total"), tuple((f"2024-03-{n:02}T00:00:00", n) for n in range(1, 9)))
QUARTERS = Rows(("quarter", "total"), tuple((f"2024-Q{n}", n) for n in range(1, 5)))
WEEKS = Rows(("week", "total"), tuple((f"2024-{n:02}", n) for n in range(1, 9)))
WEEKDAYS = Rows(("weekday", "total"), tuple((str(n), 9 - n) for n in range(7)))
CHINESE = Rows(("地区", "总额"), (("北京", 3), ("上海", 4)))
LONG = Rows(("name", "total"), (("a very long name of something", 3), ("another", 4)))
PAIRS = Rows(("price", "sold"), ((1.5, 20), (2.5, 10), (3.0, 4)))
MANY = Rows(("name", "total"), tuple((f"n{n}", n) for n in range(200)))
KEYED = Rows(("customer_id", "name", "total"), ((7, "Ann", 3), (9, "Bo", 4)))
MONTHS_BY_REGION = Rows(
    ("month", "region", "total"),
    tuple((f"2024-{n:02}", region, n) for n in range(1, 13) for region in ("North", "South")),
)
ARRAYS = Rows(("tags", "name", "total"), ((["a", {"b": 1}], "x", 1), ({"c": []}, "y", 2), ([], "x", 3)))
ODD_NAMES = Rows(("a.b[0]", "\"total\" $x_1$ 'y'"), (("<b>&amp;", 1), ("{expr: 1}", 2)))
ALL = (
    REGIONS,
    MONTHS,
    YEARS,
    DAYS,
    QUARTERS,
    WEEKS,
    WEEKDAYS,
    CHINESE,
    LONG,
    PAIRS,
    KEYED,
    ARRAYS,
    MONTHS_BY_REGION,
    ODD_NAMES,
)


def make_chart(rows: Rows, wish: str = "", title: str = "Total sales by region, 2024") -> dict[str, Any]:
    chart = build_chart(rows, title=title, wish=wish)
    assert chart is not None
    return chart


@pytest.mark.parametrize(
    ("rows", "wish", "kind"),
    [
        (REGIONS, "", "bar"),
        (REGIONS, "a pie chart please", "pie"),
        (REGIONS, "as lines", "line"),
        (MONTHS, "", "line"),
        (MONTHS, "柱状图", "bar"),
        (MONTHS, "饼图", "bar"),  # too many slices
        (YEARS, "", "line"),
        (DAYS, "", "line"),
        (QUARTERS, "", "line"),
        (WEEKDAYS, "", "bar"),
        (LONG, "", "barh"),
        (PAIRS, "", "scatter"),
        (MANY, "bar", "barh"),
        (Rows(("total",), ((5,),)), "", None),
        (Rows(("name",), (("a",), ("b",))), "", None),
        (MANY, "", None),
    ],
)
def test_kind_comes_from_the_rows_unless_it_is_named(rows: Rows, wish: str, kind: str | None) -> None:
    plan = plan_chart(rows, rows.columns, wish)
    assert (plan and plan.kind) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("as a pie chart", "pie"),
        ("bar chart by product line", "bar"),
        ("用折线图显示", "line"),
        ("画成饼图", "pie"),
        ("柱状图", "bar"),
        ("total sales by product line", None),
        ("how many bars are there?", None),
    ],
)
def test_question_asks_for_a_kind_only_as_a_chart(text: str, kind: str | None) -> None:
    assert find_kind(text, is_strict=True) == kind


REPEATED_YEARS = Rows(("year", "total"), (("2022", 1), ("2022", 2), ("2023", 3), ("2024", 4)))
NO_DAYS = Rows(("day", "total"), (("2023-02-28", 1), ("2023-02-30", 2), ("2023-03-01", 3)))


@pytest.mark.parametrize("rows", [REPEATED_YEARS, NO_DAYS])
def test_labels_that_are_no_dates_are_drawn_as_names(rows: Rows) -> None:
    labels = [value["label"] for value in make_chart(rows)["data"]["values"]]

    assert len(set(labels)) == len(rows.rows)
    assert make_chart(rows)["encoding"]["x"]["type"] == "nominal"


TEXTS = st.sampled_from(("", "a", "2022", "2022-13", "2023-02-30", "2024-02-29T99:99", "2024-Q1", "NaN", "中文"))
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
CELLS = VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(TEXTS, VALUES, max_size=2)
COLUMNS = st.sampled_from(("year", "week", "id", "total", ""))


@given(st.data(), st.integers(1, 4), st.sampled_from(("", "pie chart", "line chart", "scatter", "bars")))
def test_any_rows_have_a_chart_or_none(data: st.DataObject, width: int, wish: str) -> None:
    kinds = [data.draw(st.sampled_from((TEXTS, VALUES, CELLS))) for _ in range(width)]
    rows = data.draw(st.lists(st.tuples(*kinds), max_size=6))
    columns = data.draw(st.lists(COLUMNS, min_size=width, max_size=width))

    chart = build_chart(Rows(tuple(columns), tuple(rows)), wish=wish)

    assert chart is None or json.loads(json.dumps(chart)) == chart


def test_question_names_the_kind_of_its_chart() -> None:
    answer = Answer("total by region as a pie chart", "", rows=Rows(("region", "total"), (("N", 1), ("S", 2))))
    chart = chart_answer(answer)
    assert chart is not None
    assert chart["mark"]["type"] == "arc"


def test_headers_and_title_are_in_the_chart() -> None:
    chart = build_chart(REGIONS, ("Region", "Total sales"), "Total sales by region, 2024")
    assert chart is not None
    assert chart["title"]["text"] == "Total sales by region, 2024"
    assert (chart["encoding"]["x"]["title"], chart["encoding"]["y"]["title"]) == ("Region", "Total sales")
    assert chart["description"] == "Bar chart: Total sales by Region, 4 values."


def test_specification_is_json_without_colours() -> None:
    for rows in ALL:
        text = json.dumps(make_chart(rows))
        assert '"background": "transparent"' in text
        assert not any(word in text for word in ("#", '"fill"', '"black"', '"white"')), rows.columns


def test_time_axis_has_one_label_per_unit() -> None:
    for rows, unit, grain in ((MONTHS, "utcyearmonth", "month"), (YEARS, "utcyear", "year")):
        x = make_chart(rows)["encoding"]["x"]
        assert (x["type"], x["timeUnit"], x["axis"]["tickCount"]["interval"]) == ("temporal", unit, grain)
    assert make_chart(MONTHS)["data"]["values"][0] == {"label": "2024-01-01", "value": 2}


def test_weeks_are_not_taken_for_months() -> None:
    assert make_chart(WEEKS)["encoding"]["x"]["type"] == "ordinal"


def test_second_group_is_a_series() -> None:
    chart = make_chart(MONTHS_BY_REGION)
    assert (chart["mark"]["type"], chart["encoding"]["color"]["field"]) == ("line", "series")
    assert {each["series"] for each in chart["data"]["values"]} == {"North", "South"}
    bars = make_chart(MONTHS_BY_REGION, "bar")
    assert bars["encoding"]["xOffset"]["field"] == "series"


def test_figures_of_another_scale_are_not_drawn_together() -> None:
    near = Rows(("region", "sales", "cost"), (("N", 100, 80), ("S", 90, 70)))
    far = Rows(("region", "sales", "clicks"), (("N", 100, 8_000_000), ("S", 90, 7_000_000)))
    assert {each["series"] for each in make_chart(near)["data"]["values"]} == {"sales", "cost"}
    chart = make_chart(far)
    assert [each["value"] for each in chart["data"]["values"]] == [100, 90]
    assert chart["title"]["subtitle"] == ["Not drawn, for its scale: clicks."]


def test_bars_are_sorted_unless_the_rows_are() -> None:
    assert make_chart(REGIONS)["encoding"]["x"]["sort"] == "-y"
    rising = Rows(("region", "total"), (("N", 1), ("S", 2), ("E", 3)))
    assert make_chart(rising)["encoding"]["x"]["sort"] is None
    assert make_chart(WEEKDAYS)["encoding"]["x"]["sort"] == "ascending"


def test_pie_with_many_slices_becomes_bars_with_a_note() -> None:
    chart = make_chart(MANY, "as a pie chart")
    assert chart["mark"]["type"] == "bar"
    assert chart["title"]["subtitle"] == [
        "Bars instead of a pie: 200 slices would be too many.",
        "The 30 largest of 200.",
    ]
    assert min(each["value"] for each in chart["data"]["values"]) == 170
    below_zero = make_chart(Rows(("name", "total"), (("a", -3), ("b", 4))), "pie")
    assert "do not make a whole" in below_zero["title"]["subtitle"][0]


def test_chart_of_some_rows_says_so() -> None:
    assert make_chart(Rows(PAIRS.columns, PAIRS.rows, True, total=208))["title"]["subtitle"] == ["3 of 208 rows"]
    assert make_chart(Rows(PAIRS.columns, PAIRS.rows, True))["title"]["subtitle"] == [
        "First 3 rows; there are more"
    ]  # fmt: skip


def test_keys_are_not_figures_and_equal_names_stay_apart() -> None:
    assert [each["value"] for each in make_chart(KEYED)["data"]["values"]] == [3, 4]
    same = make_chart(Rows(("name", "total"), (("Ann", 3), ("Ann", 4))))
    assert [each["label"] for each in same["data"]["values"]] == ["Ann", "Ann (2)"]


@pytest.mark.parametrize("wish", ["", "pie", "bar", "line", "horizontal"])
def test_every_chart_can_be_drawn(wish: str) -> None:
    from PIL import Image

    for rows in ALL:
        picture = draw_png(make_chart(rows, wish, "Total $x_1$ by region"))
        with Image.open(io.BytesIO(picture)) as image:
            assert image.format == "PNG"
            assert len(image.convert("RGB").getcolors(1_000_000) or ()) > 10, (rows.columns, wish)


@pytest.mark.parametrize(("theme", "text"), [("light", "#1d1f21"), ("dark", "#e9e8e4")])
def test_svg_suits_light_and_dark_pages(theme: Theme, text: str) -> None:
    picture = draw_svg(make_chart(REGIONS), theme)
    assert f'fill="{text}"' in picture
    # The console's Content-Security-Policy allows neither of these.
    assert not any(part in picture for part in ("<script", "<style", "style=", "href="))
    assert 'fill="white"' not in picture


def test_names_and_values_are_text_in_the_picture() -> None:
    picture = draw_svg(make_chart(ODD_NAMES, title="<script>alert(1)</script>"))
    assert "<script" not in picture
    assert "&lt;b&gt;&amp;amp;" in picture
    assert "{expr: 1}" in picture


def test_legend_has_room_for_a_wider_font() -> None:
    """A browser's font may be wider than the one the server measured; what is drawn beyond the edge is cut off."""
    long = tuple((month, f"a rather long name, {region}", total) for month, region, total in MONTHS_BY_REGION.rows)
    picture = draw_svg(make_chart(Rows(MONTHS_BY_REGION.columns, long)), "page")
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', picture)[0])
    [left] = re.findall(r'transform="translate\(([\d.]+),[\d.]+\)"><g class="mark-group role-frame', picture)
    [start, legend] = re.findall(r'role-legend".*?translate\(([\d.]+),.*?h([\d.]+)', picture)[0]
    assert float(left) + float(start) + 1.2 * float(legend) <= width
