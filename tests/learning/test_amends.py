"""Reports and corrections as the rules read them, and which task a report names."""

from __future__ import annotations

import pytest

from recollect.learning.amendments import Swap, find_report, find_swap, is_named
from recollect.learning.rules import rulebooks


@pytest.mark.parametrize(
    ("said", "task", "is_match"),
    [
        ("I paid the rent", "pay the rent tomorrow", True),
        ("ordered the ink yesterday", "order more ink", True),
        ("finally called my mother", "call the plumber", False),
        ("The report is finished.", "finish the report", True),
        ("I bought a car.", "buy milk", False),
        ("I wanted to call the dentist.", "call the dentist", False),
        ("我去银行办卡了", "明天得去银行办卡", True),
        ("房租交了", "明天交房租", True),
        ("我给医生打电话了", "给牙医打电话", False),
    ],
)
def test_a_report_names_a_task_by_its_words(said: str, task: str, is_match: bool) -> None:
    report = find_report(said, rulebooks())
    assert report is not None
    assert is_named(report, task) == is_match


@pytest.mark.parametrize(
    "text", ["I have not called the dentist", "I will call the dentist", "我还没交房租", "我要交房租了"]
)
def test_what_is_still_to_be_done_is_no_report(text: str) -> None:
    assert find_report(text, rulebooks()) is None


@pytest.mark.parametrize(
    ("text", "swap"),
    [
        ("Actually it's Braga, not Lisbon.", Swap("Braga", "Lisbon")),
        ("No, not Lisbon but Braga", Swap("Braga", "Lisbon")),
        ("不是里斯本，是布拉加", Swap("布拉加", "里斯本")),
        ("The launch is in Braga, not Lisbon.", None),
        ("I like tea, not coffee.", None),
    ],
)
def test_a_correction_of_two_values_is_told_from_a_statement(text: str, swap: Swap | None) -> None:
    assert find_swap(text, rulebooks()) == swap
