"""Misspelt names, values and operators are read as what they are nearest to; words of the language stay as they are."""

from __future__ import annotations

import pytest

from recollect.apps.ask.interpret.misspelling import group_known_words, respell
from recollect.apps.ask.interpret.values import FoundValue, ValueIndex
from recollect.apps.ask.words import stem_word, tokenize


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("bookings by chanel", "channel"),
        ("montly bookings", "monthly"),
        ("patrons in Todmordn", "Todmorden"),
        ("bookings there", ""),
        ("bookings by cake", ""),
    ],
)
def test_misspelt_words_are_read_as_known_ones(question: str, meant: str) -> None:
    values = ValueIndex()
    values.add([FoundValue("patrons", "town", "Todmorden"), FoundValue("bookings", "kind", "care")])
    known = group_known_words([("channel",), ("booking",)], values)
    tokens = tokenize(question)
    changed = [
        token.stem
        for token, old in zip(respell(tokens, {0} if meant != "monthly" else {1}, known), tokens, strict=True)
        if token != old
    ]
    assert changed == ([stem_word(meant.lower())] if meant else [])
