"""Charts: a picture where one suits the rows, of the kind that suits them, and none where it would say nothing."""

from __future__ import annotations

import base64
import io

import pytest

from recollect.hosts.sql.charts import chart_kind, drawn
from recollect.hosts.sql.running import Rows

REGIONS = Rows(("region", "total"), (("North", 10.5), ("South", 7), ("East", None)))
MONTHS = Rows(("month", "total"), tuple((f"2024-{n:02}", n * 2) for n in range(1, 13)))
YEARS = Rows(("year", "total"), ((2021, 5), (2022, 9), (2023, 12)))
CHINESE = Rows(("地区", "总额"), (("北京", 3), ("上海", 4)))
LONG = Rows(("name", "total"), (("a very long name of something", 3), ("another", 4)))
PAIRS = Rows(("price", "sold"), ((1.5, 20), (2.5, 10), (3.0, 4)))


@pytest.mark.parametrize(
    ("rows", "wish", "kind"),
    [
        (REGIONS, "", "bar"),
        (REGIONS, "a pie chart please", "pie"),
        (REGIONS, "as lines", "line"),
        (MONTHS, "", "line"),
        (MONTHS, "饼图", "line"),  # too many slices
        (YEARS, "", "line"),
        (LONG, "", "barh"),
        (PAIRS, "", "scatter"),
        (Rows(("total",), ((5,),)), "", None),
        (Rows(("name",), (("a",), ("b",))), "", None),
        (Rows(("name", "total"), tuple((f"n{n}", n) for n in range(200))), "", None),
    ],
)
def test_the_kind_is_chosen_from_the_rows_unless_it_is_named(rows: Rows, wish: str, kind: str | None) -> None:
    assert chart_kind(rows, wish) == kind


@pytest.mark.parametrize("rows", [REGIONS, MONTHS, YEARS, LONG, PAIRS, CHINESE])
@pytest.mark.parametrize("wish", ["", "pie", "bar", "line", "horizontal"])
def test_a_chart_is_a_png_with_something_on_it(rows: Rows, wish: str) -> None:
    from matplotlib.image import imread

    picture = base64.b64decode(drawn(rows, "Total $x_1$ by region", wish), validate=True)

    assert picture.startswith(b"\x89PNG")
    assert len(set(map(tuple, imread(io.BytesIO(picture)).reshape(-1, 4).tolist()))) > 10


def test_where_no_chart_suits_there_is_none() -> None:
    assert drawn(Rows(("total",), ((5,),)), "Total") == ""
