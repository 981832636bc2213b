"""Document turns: which turns of a log are questions to documents and their answers, and what of them may be summed up.

The host "documents" writes `data` with each turn it records; the worker reads it here when a summary is due
(flows/compress.py), and the host when it asks which documents an answer rests on. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.model.conversation import Turn

HOST = "documents"
CITATION = re.compile(r"Doc\s+([0-9a-fA-F-]{36})\s*/\s*Chunk\s+(\d{1,9})")
IN_BRACKETS = re.compile(rf"\s*[(\[]\s*{CITATION.pattern}(?:\s*[,;]\s*{CITATION.pattern})*\s*[)\]]")


def kept_with(turn: Turn) -> Mapping[str, Any]:
    """What the host wrote beside a turn of its own; nothing beside another's."""
    data = turn.data or {}
    return data if data.get("host") == HOST else {}


def asks_documents(turns: Sequence[Turn]) -> bool:
    """Whether the last of them were asked of documents."""
    return bool(turns) and bool(kept_with(turns[-1]))


def cited_in(turns: Sequence[Turn]) -> set[str]:
    """The documents that their answers rest on."""
    sources = (source for turn in turns for source in kept_with(turn).get("sources") or ())
    return {str(source["document"]) for source in sources if source["cited"]}


def summable(turns: Sequence[Turn]) -> list[Turn]:
    """As a summary is made of them: questions to documents with their answers, and what others said. Not what failed or
    was not found, the question included: nothing is known by it. Without citations."""
    answered = {kept_with(turn).get("answers") for turn in turns if not is_stopgap(turn)}
    return [uncited(turn) for turn in turns if not is_stopgap(turn) and (turn.ref in answered or not is_question(turn))]


def is_question(turn: Turn) -> bool:
    return turn.role == "user" and bool(kept_with(turn))


def is_stopgap(turn: Turn) -> bool:
    data = kept_with(turn)
    return bool(data.get("error_stage") or data.get("refused"))


def uncited(turn: Turn) -> Turn:
    return replace(turn, text=IN_BRACKETS.sub("", turn.text).strip() or turn.text) if kept_with(turn) else turn
