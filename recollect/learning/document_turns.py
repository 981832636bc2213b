"""Turns of document questions: which turns are questions to documents and their answers, and which of them are
summarized.

The documents application writes `data` with each turn; the worker reads it when a summary is due (flows/derive.py), and
the application to find which documents an answer cites. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.values.conversation import Turn

HOST = "documents"
CITATION = re.compile(r"Doc\s+([0-9a-fA-F-]{36})\s*/\s*Chunk\s+(\d{1,9})")
IN_BRACKETS = re.compile(rf"\s*[(\[]\s*{CITATION.pattern}(?:\s*[,;]\s*{CITATION.pattern})*\s*[)\]]")


def get_host_data(turn: Turn) -> Mapping[str, Any]:
    """Return what the documents application stored with a turn; empty for other turns."""
    data = turn.data or {}
    return data if data.get("host") == HOST else {}


def asks_documents(turns: Sequence[Turn]) -> bool:
    """Return whether the last of the turns belongs to the documents application."""
    return bool(turns) and bool(get_host_data(turns[-1]))


def list_cited(turns: Sequence[Turn]) -> set[str]:
    """Return the documents that the answers cite."""
    sources = (source for turn in turns for source in get_host_data(turn).get("sources") or ())
    return {str(source["document"]) for source in sources if source["cited"]}


def select_for_summary(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns to summarize: answered document questions with their answers, and other turns. Failed and
    unanswered questions are left out; citations are removed."""
    answered = {get_host_data(turn).get("answers") for turn in turns if not is_stopgap(turn)}
    return [
        strip_citations(turn)
        for turn in turns
        if not is_stopgap(turn) and (turn.ref in answered or not is_question(turn))
    ]


def is_question(turn: Turn) -> bool:
    return turn.role == "user" and bool(get_host_data(turn))


def is_stopgap(turn: Turn) -> bool:
    data = get_host_data(turn)
    return bool(data.get("error_stage") or data.get("refused"))


def strip_citations(turn: Turn) -> Turn:
    return replace(turn, text=IN_BRACKETS.sub("", turn.text).strip() or turn.text) if get_host_data(turn) else turn
