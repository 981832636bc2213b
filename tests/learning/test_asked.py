"""Keys that a text asks for or names: exactly, misspelt, and not where another word is meant."""

from __future__ import annotations

import pytest

from recollect.learning.asked_keys import find_asked_keys, find_named_keys, is_everything
from recollect.learning.rules import rulebooks


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("what is my naem?", ["name", "nickname"]),
        ("when is my brithday", ["birthday"]),
        ("What is my game?", []),
        ("What is my rule?", []),
        ("Where do I work?", ["employer"]),
        ("where am I from?", ["hometown"]),
        ("我在哪里？", ["location"]),
        ("我最喜欢的颜色是什么？", ["favourite_颜色"]),
    ],
)
def test_a_question_asks_for_its_keys(text: str, keys: list[str]) -> None:
    assert find_asked_keys(text, rulebooks()) == keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("my birthday", ["birthday"]),
        ("what I told you about my job", ["job"]),
        ("how old I am", ["age"]),
        ("my allergies", ["allergy"]),
        ("my old address", []),
        ("my locker code is 4471", []),
        ("I am allergic to peanuts", []),
        ("我的名字", ["name"]),
        ("我住在上海", []),
    ],
)
def test_an_order_names_a_key_only_without_a_value(text: str, keys: list[str]) -> None:
    assert find_named_keys(text, rulebooks()) == keys


@pytest.mark.parametrize(
    ("text", "is_all"),
    [("everything you know about me", True), ("everything about the launch", False), ("所有关于我的信息", True)],
)
def test_everything_is_told_from_everything_of_a_topic(text: str, is_all: bool) -> None:
    assert is_everything(text, rulebooks()) == is_all
