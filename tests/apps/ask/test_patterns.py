"""Patterns: an approved question with parameters answers those of its form, and only literals enter its SQL."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.apps.ask.memories.patterns import (
    check_pattern,
    fill_examples,
    fill_pattern,
    match_pattern,
    normalize_question,
)
from recollect.errors import InvalidInput

BY_REGION = check_pattern(
    "Sales in {{ region }} for {{year}}",
    "SELECT sum(amount) FROM sales WHERE region = '{{region}}' AND year = {{year}}",
    [{"name": "year", "type": "year", "default": 2024}],
)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Sales in North for 2023", {"region": "North", "year": "2023"}),
        ("  sales  in South-East   for 2023 ?", {"region": "South-East", "year": "2023"}),
        ("Sales in North", None),
        ("Sales in North for 20244", None),
        ("Total sales in North for 2023", None),
        ("Sales in North for 2023 by month", None),
    ],
)
def test_a_question_fits_as_a_whole_or_not(question: str, values: dict[str, str] | None) -> None:
    assert match_pattern(BY_REGION, question) == values


def test_a_value_becomes_a_literal_and_nothing_else() -> None:
    values = match_pattern(BY_REGION, "sales in x' OR '1'='1 for 2023")
    assert values is not None
    assert "region = 'x'' OR ''1''=''1' AND year = 2023" in fill_pattern(BY_REGION, values)


@given(st.text(max_size=40))
def test_no_text_leaves_its_literal(text: str) -> None:
    try:
        made = fill_pattern(BY_REGION, {"region": text})
    except InvalidInput:
        assert "\\" in text or "\0" in text
        return
    inside = made.removeprefix("SELECT sum(amount) FROM sales WHERE region = '").removesuffix("' AND year = 2024")
    assert inside.replace("''", "").count("'") == 0
    assert inside.replace("''", "'") == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [("integer", "1; DROP"), ("year", "12"), ("date", "2024-13-01"), ("number", "1e5"), ("text", "\\")],
)
def test_a_value_of_another_type_is_refused_by_its_name(kind: str, value: str) -> None:
    pattern = check_pattern("since {{day}}", "SELECT {{day}}", [{"name": "day", "type": kind}])
    with pytest.raises(InvalidInput) as refused:
        fill_pattern(pattern, {"day": value})
    assert refused.value.field == "parameters.day"


@pytest.mark.parametrize(
    ("parameters", "field"),
    [([{}], "parameters[0].name"), ([{"name": "a", "type": "colour"}], "parameters[0].type"), ([], "sql")],
)
def test_a_pattern_that_makes_no_sense_is_refused(parameters: list[dict[str, Any]], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_pattern("sales", "SELECT {{a}}", parameters)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("prompt", "sql", "parameters", "field"),
    [
        ("sales in {{region}}", "SELECT 1", [], "sql"),
        ("sales in {{region}}", "SELECT 1", [{"name": "region"}], "sql"),
        ("sales", "SELECT 1", [{"name": "region", "default": "x"}], "parameters[0].name"),
        ("of {{a}}", "SELECT {{a}}", [{"name": "a"}, {"name": "a"}], "parameters[1].name"),
        ("of {{a}}", "SELECT {{a}}", [{"name": "a", "type": "year", "default": "soon"}], "parameters.a"),
        ("of {{a}}", "SELECT {{a}}", [{"name": "a", "type": "date", "example": "1.5.2024"}], "parameters.a"),
    ],
)
def test_a_parameter_must_be_used_and_of_its_type(
    prompt: str, sql: str, parameters: list[dict[str, Any]], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_pattern(prompt, sql, parameters)
    assert refused.value.field == field


def test_a_pattern_can_be_tried_with_examples_and_a_default_fills_a_gap() -> None:
    assert fill_examples(BY_REGION) == "SELECT sum(amount) FROM sales WHERE region = 'x' AND year = 2024"
    assert fill_pattern(BY_REGION, {"region": "North"}).endswith("region = 'North' AND year = 2024")
    with pytest.raises(InvalidInput, match="no value and no default"):
        fill_pattern(BY_REGION, {})


def test_questions_are_alike_whatever_their_case_and_marks() -> None:
    assert normalize_question(" Sales  by REGION? ") == normalize_question("sales by region") == "sales by region"
    assert normalize_question("按地区的销售额？") == normalize_question("按地区的销售额")
