"""sameness: whether two values say the same, the opposite, or something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.learning.similarity import adds_words, find_rejected_value, is_opposite, is_same, speaks_of

LONG = "everybody who has logged in at least once on the web or in the mobile app within the last {} days"


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("Paris", " PARIS ", "same"),
        ("peanut", "peanuts", "same"),
        ("hiking and photography", "photography and hiking", "same"),
        ("never use emojis", "don't use emojis", "same"),
        ("我的车位是B12", "我的车位是 B12。", "same"),
        ("use emojis", "never use emojis", "opposite"),
        ("吃辣", "不吃辣", "opposite"),
        ("Paris", "Berlin", "other"),
        ("北京", "上海", "other"),
        ("我的车位是B12", "我的车位是B13", "other"),
        ("use MySQL", "use Postgres", "other"),
        (LONG.format(30), LONG.format(60), "other"),
        (LONG.format(30), LONG.format(30) + " of use", "same"),
        ("the", "a", "other"),
    ],
)
def test_two_values_are_told_apart(one: str, other: str, verdict: str) -> None:
    assert (is_same(one, other), is_opposite(one, other)) == (verdict == "same", verdict == "opposite")


@given(st.text(max_size=60), st.text(max_size=60))
def test_sameness_is_mutual_and_never_both(one: str, other: str) -> None:
    assert is_same(one, one)
    assert is_same(one, other) == is_same(other, one)
    assert is_opposite(one, other) == is_opposite(other, one)
    assert not (is_same(one, other) and is_opposite(one, other))


@pytest.mark.parametrize(
    ("text", "value", "speaks"),
    [
        ("my locker code", "my locker code is 4471", True),
        ("the thing about the locker code being 4471", "locker code 4471", True),
        ("my passport", "my locker code is 4471", False),
        ("车位", "我的车位是B12", True),
        ("", "anything", False),
    ],
)
def test_a_text_speaks_of_a_value_if_the_words_of_one_are_in_the_other(text: str, value: str, speaks: bool) -> None:
    assert speaks_of(text, value) == speaks


@pytest.mark.parametrize(
    ("value", "old"),
    [
        ("Postgres instead of MySQL", "MySQL"),
        ("the red one rather than the blue one, please", "the blue one"),
        ("用Postgres而不是MySQL", "MySQL"),
        ("use Postgres", None),
    ],
)
def test_what_was_turned_down_is_read_from_a_value_that_says_both(value: str, old: str | None) -> None:
    assert find_rejected_value(value) == old


def test_a_shorter_wording_adds_nothing() -> None:
    assert not adds_words("red bikes", "the red bikes in the hall")
    assert adds_words("green bikes", "the red bikes in the hall")
