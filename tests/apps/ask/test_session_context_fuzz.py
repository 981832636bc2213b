"""X-Session-Context: whatever a client sends is read, or refused with the name of the header."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.apps.ask.question import HEADER, SessionContext, read_session_context
from recollect.errors import InvalidInput

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(("time_focus", "user_segment", "exclude_test", "custom_filters", "definitions", "other"))


def read_or_refuse(text: str) -> SessionContext | None:
    try:
        return read_session_context(text)
    except InvalidInput as error:
        if error.field != HEADER:
            raise
        return None


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    read_or_refuse(text)


@given(st.dictionaries(FIELDS, VALUES, max_size=6))
def test_any_object_is_read_or_refused_by_name(given: dict[str, Any]) -> None:
    context = read_or_refuse(json.dumps(given))
    if context is not None:
        assert isinstance(context.time_focus, str)
        assert isinstance(context.exclude_test, bool)
        assert all(isinstance(value, str | int | float | bool) for value in context.custom_filters.values())
        assert all(isinstance(value, str) for value in context.definitions.values())
