"""Named queries: the .sql files beside this one, read once, on first use.

A query is `<noun>.<name>`: the block under `-- name: <name>` in `<noun>.sql`. They are static; an optional filter is
`(%(x)s::type IS NULL OR column = %(x)s)`. Tests prepare every one of them against a migrated database.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
NOUNS = (
    *("conversation", "turn", "sketch", "embedding", "chapter", "idempotency", "request", "server"),
    *("work", "holder", "evidence", "memory", "tally", "audit", "episode", "redaction", "upkeep", "term", "key"),
    *("report", "data_source", "shape", "document", "document_part", "chunk", "posting", "chunk_vector"),
)


@cache
def queries() -> dict[str, bytes]:
    """Every named query, as the driver wants it."""
    folder = files("recollect.store")
    return {name: sql for noun in NOUNS for name, sql in _parsed(noun, folder.joinpath(f"{noun}.sql").read_text())}


def _parsed(noun: str, text: str) -> list[tuple[str, bytes]]:
    _, *blocks = _NAME.split(text)
    names, bodies = blocks[::2], blocks[1::2]
    return [(f"{noun}.{name}", body.strip().rstrip(";").encode()) for name, body in zip(names, bodies, strict=True)]
