"""The header X-Session-Context: what it may say, and what is said of it when it makes no sense."""

from __future__ import annotations

import pytest

from recollect.apps.ask.session_context import SessionContext, read_session_context
from recollect.errors import InvalidInput


def test_it_is_read_whole_and_unknown_fields_are_left_alone() -> None:
    text = '{"time_focus": "Q4 2024", "exclude_test": true, "definitions": {"big": "total > 9"}, "other": [1]}'
    assert read_session_context(text) == SessionContext("Q4 2024", "", True, {}, {"big": "total > 9"})
    assert read_session_context(None) == read_session_context("") == read_session_context("{}") == SessionContext()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "3",
        '{"time_focus": 3}',
        '{"exclude_test": "yes"}',
        '{"custom_filters": []}',
        '{"custom_filters": {"a": {}}}',
        '{"definitions": {"a": 1}}',
        '{"time_focus": "' + "x" * 9_000 + '"}',
        "[" * 100_000,
    ],
)
def test_what_makes_no_sense_is_refused_by_the_header_s_name(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_session_context(text)
    assert refused.value.field == "X-Session-Context"
