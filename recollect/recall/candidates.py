"""Candidates: all turns of a scope that recall scores, as columns. The store makes them; bm25.py and fuse.py read
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from recollect.values.scope import ConversationId

# numpy's types do not follow how its operators widen float32; the names say what is meant.
Floats: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[Any]
Seconds: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Row i is turn `turn[i]` of conversation `conversations[conversation[i]]`. The rows of a conversation are in
    order."""

    conversations: list[ConversationId]
    sessions: list[str]
    conversation: Ints
    turn: Ints
    tokens: Floats
    length: Floats  # in lexemes
    flags: Ints  # bits of `sketch.Flag`
    speaker: Ints  # by `sketch.speaker_key`
    distinct: Floats  # different lexemes
    said_at: Seconds
    cosine: Floats  # NaN where there is no vector
    folded: Floats  # a column per query lexeme; bm25 unfolds frequencies from it
    redactions: Mapping[ConversationId, int] = field(default_factory=dict)  # of conversations that had some

    def __len__(self) -> int:
        return len(self.turn)


@dataclass(frozen=True, slots=True)
class Chapters:
    """The chapters of a very large scope, as columns."""

    conversation: NDArray[Any]  # 16 bytes each
    first: Ints
    last: Ints
    length: Floats
    cosine: Floats
    folded: Floats
