"""Conversion of values, rows and bytes: dataclasses to JSON rows; and, where the driver's general way is slow, vectors
out and packed records in."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from recollect.recall.fuse import Candidates, Chapters
from recollect.values.conversation import Turn
from recollect.values.scope import ConversationId

Vectors = NDArray[np.float32]

# One turn in sketch.score, without the frequencies that follow it, and in embedding.score (network byte order).
SKETCH = [
    ("turn", ">i4"),
    ("tokens", ">i4"),
    ("length", ">i4"),
    ("flags", ">i2"),
    ("distinct", ">i2"),
    ("speaker", ">i4"),
    ("said_at", ">i8"),  # microseconds since PostgreSQL's epoch
]
POSTGRES_EPOCH = 946_684_800  # 2000-01-01, in seconds since 1970
CHAPTER = [("conversation", "V16"), ("first", ">i4"), ("last", ">i4"), ("length", ">i4"), ("cosine", ">f4")]
COSINE = np.dtype([("turn", ">i4"), ("cosine", ">f4")])
Packed = Sequence[tuple[ConversationId, bytes]]


class VectorArray:
    """Vectors for a halfvec[] parameter; one vector is an array of one."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors


def wrap_vector(vector: Vectors | None) -> VectorArray | None:
    """Return a vector as a parameter of a statement."""
    return None if vector is None else VectorArray(vector[None, :])


def to_row(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name. A statement takes the columns it needs and ignores the others."""
    names, read = _plan_row(type(value))  # type: ignore[arg-type]
    return dict(zip(names, read(value), strict=True))


@cache
def _plan_row(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names)


def encode_json(value: Any) -> str:
    """Return JSON as PostgreSQL reads it, with ids and times as text."""
    return json.dumps(value, default=str, ensure_ascii=False)


def register_vectors(connection: psycopg.AsyncConnection[Any], halfvec: TypeInfo) -> None:
    """Let a connection send VectorArray in PostgreSQL's binary array format."""

    class VectorArrayDumper(Dumper):
        format = Format.BINARY
        oid = halfvec.array_oid

        def dump(self, obj: VectorArray) -> bytes:
            return encode_array(obj.vectors, halfvec.oid)

    connection.adapters.register_dumper(VectorArray, VectorArrayDumper)


def encode_array(vectors: Vectors, element_oid: int) -> bytes:
    count, dimension = vectors.shape
    layout = np.dtype([("bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimension,))])
    elements = np.zeros(count, dtype=layout)
    elements["bytes"] = 4 + 2 * dimension
    elements["dimension"] = dimension
    elements["values"] = vectors
    return struct.pack(">iiIii", 1 if count else 0, 0, element_oid, count, 1) + elements.tobytes()


def unpack_candidates(
    conversations: Mapping[ConversationId, str], sketches: Packed, cosines: Packed, terms: int
) -> Candidates:
    """Return candidates from packed rows, without those of conversations that may not be searched."""
    ids = list(conversations)
    place = {key: n for n, key in enumerate(ids)}
    owner, records = _join_records(sketches, place, np.dtype([*SKETCH, ("frequencies", ">f4", (terms,))]))
    order = np.lexsort((records["turn"], owner))
    owner, records = owner[order], records[order]
    integers: dict[str, Any] = {name: records[name].astype(np.int32) for name in ("turn", "flags", "speaker")}
    floats: dict[str, Any] = {name: records[name].astype(np.float32) for name in ("tokens", "length", "distinct")}
    return Candidates(
        conversations=ids,
        sessions=list(conversations.values()),
        conversation=owner,
        **integers,
        **floats,
        said_at=(records["said_at"].astype(np.int64) + POSTGRES_EPOCH * 10**6) / 1e6,
        cosine=_align_cosines(owner, records["turn"], *_join_records(cosines, place, COSINE)),
        folded=records["frequencies"].astype(np.float32),
    )


def _join_records(
    rows: Packed, place: Mapping[ConversationId, int], layout: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all records in one array, and the index of the conversation that each belongs to."""
    kept = [(place[key], packed) for key, packed in rows if key in place]
    records = np.frombuffer(b"".join(packed for _, packed in kept), dtype=layout)
    sizes = [len(packed) // layout.itemsize for _, packed in kept]
    return np.repeat(np.array([n for n, _ in kept], np.int64), sizes), records


def _align_cosines(owner: NDArray[Any], turn: NDArray[Any], other: NDArray[Any], cosines: NDArray[Any]) -> NDArray[Any]:
    """Return the cosine of each turn, NaN if it has none; owner and turn are sorted."""
    aligned = np.full(len(owner), np.nan, np.float32)
    wanted = owner.astype(np.int64) << 32 | turn.astype(np.int64)
    given = other << 32 | cosines["turn"].astype(np.int64)
    at = np.minimum(np.searchsorted(wanted, given), max(len(wanted) - 1, 0))
    known = wanted[at] == given if len(wanted) else np.zeros(len(given), np.bool_)
    aligned[at[known]] = cosines["cosine"][known]
    return aligned


def unpack_chapters(packed: bytes | None, terms: int) -> Chapters:
    """Return the chapters from the value of chapter.score."""
    records = np.frombuffer(packed or b"", np.dtype([*CHAPTER, ("frequencies", ">f4", (terms,))]))
    return Chapters(
        conversation=records["conversation"],
        first=records["first"],
        last=records["last"],
        length=records["length"].astype(np.float32),
        cosine=records["cosine"].astype(np.float32),
        folded=records["frequencies"].astype(np.float32),
    )


def as_turn(
    session: str, index: int, role: Any, speaker: str | None, text: str, at: datetime, data: Any, high_value: bool
) -> Turn:
    """Build a turn from a row of the log."""
    return Turn(role, text, speaker, at, data, high_value, session, index)
