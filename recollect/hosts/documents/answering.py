"""Answering: the words of an answer, from a model where there is one, else quoted from the documents.

A model's answer counts only if it names passages that it was given, or says that they do not say. One that does
neither, and a model that fails, is replaced by a quotation; that is in the log, and never learned from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from recollect.hosts.chat.phrases import phrases_for
from recollect.hosts.chat.voice import voiced
from recollect.hosts.documents.asking import Recollection, Reply
from recollect.hosts.documents.prompting import cited, messages
from recollect.hosts.documents.quoting import quoted
from recollect.model.conversation import Turn
from recollect.model.document_search import ChunkHit
from recollect.ports import Reasoner

NO_PASSAGE = "the model named no passage that it was given"
DOES_NOT_KNOW = re.compile(
    r"\b(?:do(?:es)? not|don['’]t|doesn['’]t|did not|cannot|can['’]t|could not|no) (?:\w+ ){0,3}?"
    r"(?:know|say|mention|answer|contain|find|found|tell|state|specify|information|provide)"
    r"|\bnot (?:\w+ ){0,2}?(?:mentioned|stated|specified|found|contained|provided|in the (?:documents|passages))"
    r"|不知道|没有(?:提到|提及|说明|相关|找到)|未(?:提到|提及|找到)|没找到|无法(?:回答|确定)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """What an answer can be made of. `standalone` is the question as it is understood alone."""

    question: str
    standalone: str
    hits: Sequence[ChunkHit]
    memories: Sequence[Recollection]
    history: Sequence[Turn]


async def reply_from(reasoner: Reasoner | None, found: Found) -> Reply:
    if reasoner is None or not found.hits:
        return quoted(found.standalone, found.hits, found.memories, found.question)
    asked = messages(found.question, found.hits, found.memories, found.history, datetime.now(UTC))
    said = await voiced(reasoner, asked, phrases_for(found.question), lambda _: None)
    if said.error_stage is not None:
        return instead(found, said.error or "", said.model_ms)
    places = cited(said.text, found.hits)
    if not places and not DOES_NOT_KNOW.search(said.text):
        return instead(found, NO_PASSAGE, said.model_ms)
    return Reply(said.text, places, said.model, said.model_ms)


def instead(found: Found, error: str, model_ms: int | None) -> Reply:
    """What the documents say themselves."""
    reply = quoted(found.standalone, found.hits, asked=found.question)
    return replace(reply, model_ms=model_ms, error_stage="llm_reply", error=error)
