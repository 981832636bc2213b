"""What the cache keeps, as bytes: turns, windows and vectors. Reading is strict: a value that is not whole, that was
kept under another name or for another owner, or that is not of its type is none."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

import msgspec
import numpy as np

from recollect.model.conversation import Role, Turn
from recollect.model.ids import ConversationId
from recollect.model.window import Window
from recollect.store.wire_format import Vectors

CHECK = 8  # bytes


class KeptTurn(msgspec.Struct, array_like=True, frozen=True):
    role: Role
    text: str
    speaker: str | None
    at: datetime
    data: str | None  # JSON: the numbers in it may be larger than msgspec's
    high_value: bool
    session: str
    index: int


class KeptWindow(msgspec.Struct, array_like=True, frozen=True):
    conversation: UUID
    redactions: int
    turns: list[KeptTurn]


_encode = msgspec.json.Encoder().encode
_turn = msgspec.json.Decoder(KeptTurn)
_window = msgspec.json.Decoder(KeptWindow)


def sealed(owner: UUID, name: str, body: bytes) -> bytes:
    """With a checksum over whose it is and under which name. It finds accidents, not forgeries."""
    return _check(owner, name, body) + body


def unsealed(owner: UUID, name: str, value: bytes | None) -> bytes | None:
    if value is None or value[:CHECK] != _check(owner, name, value[CHECK:]):
        return None
    return value[CHECK:]


def _check(owner: UUID, name: str, body: bytes) -> bytes:
    return blake2b(b"%b%b\0%b" % (owner.bytes, name.encode(), body), digest_size=CHECK).digest()


def turn_bytes(turn: Turn) -> bytes:
    return _encode(_kept(turn))


def turn_in(body: bytes) -> Turn | None:
    try:
        return _said(_turn.decode(body))
    except ValueError:
        return None


def window_bytes(window: Window) -> bytes:
    return _encode(KeptWindow(window.conversation, window.redactions, [_kept(turn) for turn in window.turns]))


def window_in(body: bytes) -> Window | None:
    try:
        kept = _window.decode(body)
        return Window(ConversationId(kept.conversation), kept.redactions, [_said(turn) for turn in kept.turns])
    except ValueError:
        return None


def vector_bytes(vector: Vectors) -> bytes:
    return vector.astype("<f4").tobytes()


def vector_in(body: bytes) -> Vectors | None:
    if not body or len(body) % 4:
        return None
    vector = np.frombuffer(body, "<f4").astype(np.float32)
    return vector if np.isfinite(vector).all() else None


def digest(*parts: str) -> str:
    """A short name for texts that are too long, or too personal, to be one."""
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _kept(turn: Turn) -> KeptTurn:
    """A turn of the log, which has all of it."""
    assert turn.at is not None
    assert turn.session is not None
    assert turn.index is not None
    data = None if turn.data is None else json.dumps(turn.data)
    return KeptTurn(turn.role, turn.text, turn.speaker, turn.at, data, turn.high_value, turn.session, turn.index)


def _said(kept: KeptTurn) -> Turn:
    data = None if kept.data is None else json.loads(kept.data)
    if not isinstance(data, dict | None):
        raise ValueError("a turn's data is a mapping")
    return Turn(kept.role, kept.text, kept.speaker, kept.at, data, kept.high_value, kept.session, kept.index)
