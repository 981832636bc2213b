"""The text of an answer from documents: by a model if there is one, otherwise by quotation.

A model's answer is used only if it cites given passages, has its words from one, or says that they do not answer the
question. Otherwise, and if the model fails, passages are quoted; that is logged and never learned from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from recollect.apps.chat.model_reply import stream_reply
from recollect.apps.chat.phrases import phrases_for
from recollect.apps.documents.question import Place, Recollection, Reply
from recollect.apps.documents.quotes import quote_answer
from recollect.learning.document_turns import CITATION
from recollect.ports import Message, Reasoner
from recollect.prompts import mark_data, render_prompt
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.values.conversation import Turn
from recollect.values.document import ChunkHit
from recollect.values.text import is_cjk

NO_PASSAGE = "the model named no passage that it was given"
QUOTED_INSTEAD = "(The language model gave no usable answer. This is quoted from the documents.)\n"
QUOTED_INSTEAD_ZH = "（语言模型没有给出可用的回答。以下引自文档。）\n"
DOES_NOT_KNOW = re.compile(
    r"\b(?:do(?:es)? not|don['’]t|doesn['’]t|did not|cannot|can['’]t|could not|no) (?:\w+ ){0,3}?"
    r"(?:know|say|mention|answer|contain|find|found|tell|state|specify|information|provide)"
    r"|\bnot (?:\w+ ){0,2}?(?:mentioned|stated|specified|found|contained|provided|in the (?:documents|passages))"
    r"|不知道|没有(?:提到|提及|说明|相关|找到)|未(?:提到|提及|找到)|没找到|无法(?:回答|确定)",
    re.IGNORECASE,
)
SUPPORT = 0.6  # of the words of an answer that names no passage
SOURCE_TOKENS = 8_000
MEMORY_TOKENS = 1_000
TURN_CHARS = 2_000
NO_SOURCES = "(No passage was found.)"
NO_MEMORY = "(No memory is relevant to this.)"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer is made from. `standalone` is the question as it can be understood alone."""

    question: str
    standalone: str
    hits: Sequence[ChunkHit]
    memories: Sequence[Recollection]
    history: Sequence[Turn]


async def make_reply(reasoner: Reasoner | None, found: Evidence) -> Reply:
    if reasoner is None or not found.hits:
        return quote_answer(found.standalone, found.hits, found.memories, found.question)
    asked = build_messages(found.question, found.hits, found.memories, found.history, datetime.now(UTC))
    said = await stream_reply(reasoner, asked, phrases_for(found.question), lambda _: None)
    if said.error_stage is not None:
        return quote_instead(found, said.error or "", said.model_ms)
    places = find_citations(said.text, found.hits)
    if places or DOES_NOT_KNOW.search(said.text):
        return Reply(said.text, places, said.model, said.model_ms)
    source = find_support(said.text, found.hits)
    if source is None:
        return quote_instead(found, NO_PASSAGE, said.model_ms)
    return Reply(f"{said.text} ({source})", {source: None}, said.model, said.model_ms)


def quote_instead(found: Evidence, error: str, model_ms: int | None) -> Reply:
    """Return a quotation in place of a model's answer; it says so."""
    reply = quote_answer(found.standalone, found.hits, found.memories, found.question)
    note = QUOTED_INSTEAD_ZH if is_cjk(found.question) else QUOTED_INSTEAD
    return replace(reply, text=note + reply.text, model_ms=model_ms, error_stage="llm_reply", error=error)


def build_messages(
    question: str, hits: Sequence[ChunkHit], memories: Sequence[Recollection], history: Sequence[Turn], now: datetime
) -> list[Message]:
    passages = take_fitting([format_passage(hit) for hit in hits], SOURCE_TOKENS)
    known = take_fitting([f"- ({each.source}) {each.preview}" for each in memories], MEMORY_TOKENS)
    sources = mark_data("sources", "\n\n".join(passages) or NO_SOURCES)
    memory = mark_data("memory", "\n".join(known) or NO_MEMORY)
    system = render_prompt("documents", date=f"{now:%A, %d %B %Y}", sources=sources, memory=memory)
    before = [Message("user" if turn.role == "user" else "assistant", truncate(turn.text)) for turn in history]
    return [Message("system", system), *before, Message("user", question)]


def format_passage(hit: ChunkHit) -> str:
    chunk = hit.chunk
    where = [hit.document.title, *chunk.headings, *([f"page {chunk.page}"] if chunk.page else [])]
    lead = f"{chunk.lead}\n" if chunk.lead else ""
    return f"{hit.source} ({' > '.join(where)}):\n{lead}{chunk.text}"


def take_fitting(texts: Sequence[str], room: int) -> list[str]:
    """Return the first texts that fit; the first one is truncated rather than left out."""
    chosen: list[str] = []
    for text in texts:
        room -= count_tokens(text)
        if room < 0:
            return chosen or [text[: 2 * max(room + count_tokens(text), 0)] + " …"]
        chosen.append(text)
    return chosen


def trim_history(turns: Sequence[Turn], room: int) -> tuple[list[Turn], int]:
    """Return the last turns that fit into `room` tokens, oldest first, and their tokens. Failed replies are left
    out."""
    chosen: list[Turn] = []
    used = 0
    for turn in reversed(turns):
        if turn.role not in ("user", "assistant") or (turn.data or {}).get("error_stage"):
            continue
        tokens = count_tokens(truncate(turn.text))
        if used + tokens > room:
            break
        chosen.append(turn)
        used += tokens
    return chosen[::-1], used


def truncate(text: str) -> str:
    return text if len(text) <= TURN_CHARS else text[:TURN_CHARS] + " …"


def find_citations(text: str, hits: Sequence[ChunkHit]) -> dict[str, Place | None]:
    """Return the given passages that an answer cites."""
    given = {hit.source for hit in hits}
    named = [f"Doc {found[1].lower()}/Chunk {int(found[2])}" for found in CITATION.finditer(text)]
    return dict.fromkeys(name for name in named if name in given)


def find_support(text: str, hits: Sequence[ChunkHit]) -> str | None:
    """Return the passage that has nearly all words of an answer, and each of its numbers; None if no passage has."""
    said = lexemes(text)
    numbers = {word for word in said if word[0].isdigit()}
    for hit in hits:
        given = lexemes(format_passage(hit))
        if said and numbers <= given.keys() and sum(word in given for word in said) >= SUPPORT * len(said):
            return hit.source
    return None
