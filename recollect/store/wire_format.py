"""Bytes to and from PostgreSQL where the driver's general way is slow: vectors out, packed records in, COPY rows."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from recollect.model.candidates import Candidates, Chapters
from recollect.model.ids import ConversationId

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
    """Vectors on their way to a halfvec[] parameter; one vector is an array of one."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors


def register_vectors(connection: psycopg.AsyncConnection[Any], halfvec: TypeInfo) -> None:
    """Teaches a connection to send VectorArray in PostgreSQL's binary array format."""

    class VectorArrayDumper(Dumper):
        format = Format.BINARY
        oid = halfvec.array_oid

        def dump(self, obj: VectorArray) -> bytes:
            return binary_array(obj.vectors, halfvec.oid)

    connection.adapters.register_dumper(VectorArray, VectorArrayDumper)


def binary_array(vectors: Vectors, element_oid: int) -> bytes:
    count, dimension = vectors.shape
    layout = np.dtype([("bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimension,))])
    elements = np.zeros(count, dtype=layout)
    elements["bytes"] = 4 + 2 * dimension
    elements["dimension"] = dimension
    elements["values"] = vectors
    return struct.pack(">iiIii", 1 if count else 0, 0, element_oid, count, 1) + elements.tobytes()


def unpacked(conversations: Mapping[ConversationId, str], sketches: Packed, cosines: Packed, terms: int) -> Candidates:
    """Candidates from packed rows; those of conversations that may not be searched are left out."""
    ids = list(conversations)
    place = {key: n for n, key in enumerate(ids)}
    owner, records = _joined(sketches, place, np.dtype([*SKETCH, ("frequencies", ">f4", (terms,))]))
    order = np.lexsort((records["turn"], owner))
    owner, records = owner[order], records[order]
    return Candidates(
        conversations=ids,
        sessions=list(conversations.values()),
        conversation=owner,
        turn=records["turn"].astype(np.int32),
        tokens=records["tokens"].astype(np.float32),
        length=records["length"].astype(np.float32),
        flags=records["flags"].astype(np.int32),
        speaker=records["speaker"].astype(np.int32),
        distinct=records["distinct"].astype(np.float32),
        said_at=(records["said_at"].astype(np.int64) + POSTGRES_EPOCH * 10**6) / 1e6,
        cosine=_aligned(owner, records["turn"], *_joined(cosines, place, COSINE)),
        folded=records["frequencies"].astype(np.float32),
    )


def _joined(
    rows: Packed, place: Mapping[ConversationId, int], layout: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """All records in one array, and beside it the place of the conversation that each belongs to."""
    kept = [(place[key], packed) for key, packed in rows if key in place]
    records = np.frombuffer(b"".join(packed for _, packed in kept), dtype=layout)
    sizes = [len(packed) // layout.itemsize for _, packed in kept]
    return np.repeat(np.array([n for n, _ in kept], np.int64), sizes), records


def _aligned(owner: NDArray[Any], turn: NDArray[Any], other: NDArray[Any], cosines: NDArray[Any]) -> NDArray[Any]:
    """The cosine of each turn, NaN where it has none; owner and turn are in order."""
    aligned = np.full(len(owner), np.nan, np.float32)
    wanted = owner.astype(np.int64) << 32 | turn.astype(np.int64)
    given = other << 32 | cosines["turn"].astype(np.int64)
    at = np.minimum(np.searchsorted(wanted, given), max(len(wanted) - 1, 0))
    known = wanted[at] == given if len(wanted) else np.zeros(len(given), np.bool_)
    aligned[at[known]] = cosines["cosine"][known]
    return aligned


def unpacked_chapters(packed: bytes | None, terms: int) -> Chapters:
    """The value of chapter.score."""
    records = np.frombuffer(packed or b"", np.dtype([*CHAPTER, ("frequencies", ">f4", (terms,))]))
    return Chapters(
        conversation=records["conversation"],
        first=records["first"],
        last=records["last"],
        length=records["length"].astype(np.float32),
        cosine=records["cosine"].astype(np.float32),
        folded=records["frequencies"].astype(np.float32),
    )


def copy_row(values: Iterable[Any]) -> bytes:
    """One row in COPY's text format."""
    return b"\t".join(map(copy_value, values)) + b"\n"


def copy_value(value: Any) -> bytes:
    match value:
        case None:
            return b"\\N"
        case str():
            return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r").encode()
        case _:
            return str(value).encode()


def copied_vectors(turns: Sequence[int], vectors: Vectors) -> bytes:
    """A whole binary COPY of (turn_index, vector), laid out as one array."""
    dimension = vectors.shape[1]
    rows = np.zeros(
        len(turns),
        dtype=[
            ("fields", ">i2"),
            ("turn_bytes", ">i4"),
            ("turn", ">i4"),
            ("vector_bytes", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f2", (dimension,)),
        ],
    )
    rows["fields"], rows["turn_bytes"], rows["turn"] = 2, 4, turns
    rows["vector_bytes"], rows["dimension"], rows["vector"] = 4 + 2 * dimension, dimension, vectors
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"
