"""Prompting: what a language model is told before it answers from documents, and what of its answer can be believed.
Pure; answering.py calls it. Passages and memories go in as data, between marks that they cannot contain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from recollect.hosts.documents.asking import Place, Recollection
from recollect.model.conversation import Turn
from recollect.model.document_search import ChunkHit
from recollect.model.document_turns import CITATION
from recollect.model.tokens import count_tokens
from recollect.ports import Message
from recollect.prompts import marked, prompt

SOURCE_TOKENS = 8_000
MEMORY_TOKENS = 1_000
TURN_CHARS = 2_000
NO_SOURCES = "(No passage was found.)"
NO_MEMORY = "(Nothing is remembered that speaks to this.)"


def messages(
    question: str, hits: Sequence[ChunkHit], memories: Sequence[Recollection], history: Sequence[Turn], now: datetime
) -> list[Message]:
    sources = "\n\n".join(fitting([passage(hit) for hit in hits], SOURCE_TOKENS)) or NO_SOURCES
    known = "\n".join(fitting([f"- ({each.source}) {each.preview}" for each in memories], MEMORY_TOKENS)) or NO_MEMORY
    system = prompt(
        "documents",
        date=f"{now:%A, %d %B %Y}",
        sources=marked("sources", sources),
        memory=marked("memory", known),
    )
    before = [Message("user" if turn.role == "user" else "assistant", cut(turn.text)) for turn in history]
    return [Message("system", system), *before, Message("user", question)]


def passage(hit: ChunkHit) -> str:
    chunk = hit.chunk
    where = [hit.document.title, *chunk.headings, *([f"page {chunk.page}"] if chunk.page else [])]
    lead = f"{chunk.lead}\n" if chunk.lead else ""
    return f"{hit.source} ({' > '.join(where)}):\n{lead}{chunk.text}"


def fitting(texts: Sequence[str], room: int) -> list[str]:
    """As many of the first as there is room for; the first in any case, as far as it fits."""
    chosen: list[str] = []
    for text in texts:
        room -= count_tokens(text)
        if room < 0:
            return chosen or [text[: 2 * max(room + count_tokens(text), 0)] + " …"]
        chosen.append(text)
    return chosen


def trimmed(turns: Sequence[Turn], room: int) -> tuple[list[Turn], int]:
    """The last turns that fit into so many tokens, oldest first, and how many they take. Errors of ours are no part."""
    chosen: list[Turn] = []
    used = 0
    for turn in reversed(turns):
        if turn.role not in ("user", "assistant") or (turn.data or {}).get("error_stage"):
            continue
        tokens = count_tokens(cut(turn.text))
        if used + tokens > room:
            break
        chosen.append(turn)
        used += tokens
    return chosen[::-1], used


def cut(text: str) -> str:
    return text if len(text) <= TURN_CHARS else text[:TURN_CHARS] + " …"


def cited(text: str, hits: Sequence[ChunkHit]) -> dict[str, Place | None]:
    """The passages that an answer names, of those that it was given."""
    given = {hit.source for hit in hits}
    named = [f"Doc {document_id(found[1])}/Chunk {int(found[2])}" for found in CITATION.finditer(text)]
    return dict.fromkeys(name for name in named if name in given)


def document_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        return text
