"""DocumentQuery -> ChunkHit: what is asked of documents, and a passage that was found, with why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.model.document import Chunk
from recollect.model.lesson import Owner
from recollect.model.library import Document, DocumentId
from recollect.model.search import MAX_QUERY_CHARS, Arm, check_range, explain_hit
from recollect.model.text import checked_text

MAX_CHUNK_HITS = 100
MAX_FILTER = 1_000


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """What to look for in the user's documents and the project's. `mmr` from 0 to 1 trades being right for not saying
    the same twice: 1 is the plain order, 0.7 a good mixture."""

    text: str
    documents: tuple[DocumentId | UUID | str, ...] | None = None  # only in these
    owner: Owner | None = None  # only the user's, or only the project's
    limit: int = 8
    mmr: float | None = None

    def __post_init__(self) -> None:
        checked_text("query.text", self.text, MAX_QUERY_CHARS)
        check_range("query.limit", self.limit, 1, MAX_CHUNK_HITS)
        if self.mmr is not None:
            check_range("query.mmr", self.mmr, 0, 1, whole=False)
        if self.documents is not None:
            object.__setattr__(self, "documents", tuple(map(_document_id, self.documents[: MAX_FILTER + 1])))
            if len(self.documents) > MAX_FILTER:
                raise InvalidInput("query.documents", f"at most {MAX_FILTER:,}")


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk that was found, how, and how sure we are. `parts` add up to `score`."""

    document: Document
    chunk: Chunk
    score: float
    arms: Mapping[str, Arm]
    parts: Mapping[str, float]
    words: tuple[str, ...]  # of the query, that it has

    @property
    def source(self) -> str:
        """As answers cite it."""
        return f"Doc {self.document.id}/Chunk {self.chunk.index}"

    @property
    def text(self) -> str:
        return self.chunk.text

    @property
    def owner(self) -> Owner:
        return self.document.owner

    @property
    def why(self) -> str:
        """One line for a person."""
        return explain_hit(self.words, self.arms, self.parts)


def _document_id(value: object) -> DocumentId:
    try:
        return DocumentId(value if isinstance(value, UUID) else UUID(value))  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("query.documents", f"{value!r} is not a document id") from None
