"""Bytes to and from PostgreSQL where the driver's general way is slow: vectors out, packed records in, COPY rows."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from recollect.model.candidates import Candidates

Vectors = NDArray[np.float32]

# One turn in `sketch.score`, without the frequencies that follow it (network byte order).
RECORD = np.dtype(
    [
        ("turn", ">i4"),
        ("tokens", ">i4"),
        ("length", ">i4"),
        ("flags", ">i2"),
        ("distinct", ">i2"),
        ("speaker", ">i4"),
        ("said_at", ">f8"),
        ("cosine", ">f4"),
    ]
)


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


def unpacked(rows: Iterable[tuple[Any, ...]], term_count: int) -> Candidates:
    """The rows of `sketch.score`: (conversation id, session, packed records)."""
    layout = np.dtype([*RECORD.descr, ("frequencies", ">f4", (term_count,))])
    rows = list(rows)
    records = np.frombuffer(b"".join(row[2] for row in rows), dtype=layout)
    sizes = [len(row[2]) // layout.itemsize for row in rows]
    return Candidates(
        conversations=[row[0] for row in rows],
        sessions=[row[1] for row in rows],
        conversation=np.repeat(np.arange(len(rows)), sizes),
        turn=records["turn"].astype(np.int32),
        tokens=records["tokens"].astype(np.float32),
        length=records["length"].astype(np.float32),
        flags=records["flags"].astype(np.int32),
        speaker=records["speaker"].astype(np.int32),
        distinct=records["distinct"].astype(np.float32),
        said_at=records["said_at"].astype(np.float64),
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
