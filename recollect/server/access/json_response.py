"""JSON responses, encoded by msgspec. Responses are not validated on the way out; tests/server/http/test_schema.py
holds them to OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response


def encode_other(value: Any) -> Any:
    """Return a value that msgspec has no encoding for as one that it has."""
    return dict(value) if isinstance(value, Mapping) else str(value)


ENCODER = msgspec.json.Encoder(enc_hook=encode_other)


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return ENCODER.encode(content)
