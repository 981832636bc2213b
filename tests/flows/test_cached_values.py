"""What the cache gives back is checked: whose it is, under which name, and what."""

from __future__ import annotations

import pytest

from recollect import Scope
from recollect.flows import cache as values

MONDAY = Scope("alex", "monday")


def test_a_value_counts_for_its_owner_and_name_only() -> None:
    value = values.add_checksum(MONDAY.id, "w:1", b"body")

    assert values.verify_checksum(MONDAY.id, "w:1", value) == b"body"
    assert values.verify_checksum(Scope("blake").id, "w:1", value) is None
    assert values.verify_checksum(MONDAY.id, "w:2", value) is None


@pytest.mark.parametrize("body", [b"[]", b"null", b"[1,2,3]", b'["user","a",null,"2026","[]",false,"s",1]', b"{"])
def test_a_body_that_is_no_turn_is_none(body: bytes) -> None:
    assert values.decode_turn(body) is None
    assert values.decode_window(body) is None


@pytest.mark.parametrize("body", [b"", b"abc", b"\x00\x00\xc0\x7f"])
def test_a_body_that_is_no_vector_is_none(body: bytes) -> None:
    assert values.decode_vector(body) is None
