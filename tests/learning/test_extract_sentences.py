"""Sentences, clauses and quotations, as ranges of the text."""

from __future__ import annotations

import re

from recollect.learning.gates import blank_spans, is_term
from recollect.recall.sentences import clause_spans, sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text, {"dr", "e.g"})]


def test_dots_that_end_nothing() -> None:
    assert split("Ask Dr. Lee about Python 3.11. It is J. Smith's, e.g. here. Done") == [
        *("Ask Dr. Lee about Python 3.11.", "It is J. Smith's, e.g. here.", "Done"),
    ]


def test_chinese_marks_and_lines() -> None:
    assert split("我叫李明。你呢？好！\n再见") == ["我叫李明。", "你呢？", "好！", "再见"]


def test_bullets_are_not_words() -> None:
    assert split("- one\n* two\n1. three\n2) four\n\n") == ["one", "two", "three", "four"]


def test_clauses_cover_the_sentence() -> None:
    text = "one, two, three"
    spans = clause_spans(text, re.compile(", "))
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) == 3


def test_what_is_blanked_leaves_the_rest_in_place() -> None:
    assert blank_spans("ab\ncd ef", [(1, 5)]) == "a \n   ef"


def test_a_short_quotation_is_a_term() -> None:
    assert is_term("active")
    assert is_term("活跃用户")
    assert not is_term("my name is Luca")
    assert not is_term("我叫阿甘，我喜欢跑步")
