"""Answers as bytes. The library's values are encoded as they are; nothing is validated twice on the way out."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

ENCODER = msgspec.json.Encoder(enc_hook=str)


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return ENCODER.encode(content)


def answered(content: Any, status: int = 201, *, replayed: bool = False) -> Response:
    """The same status for an answer that was given before; a header tells it apart."""
    headers = {"Idempotent-Replayed": "true"} if replayed else None
    if status == 204:
        return Response(status_code=204, headers=headers)
    return Json(content, status_code=status, headers=headers)
