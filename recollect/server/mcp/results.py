"""The results of tools that no value of the library is, and `to_text`, which makes the text for a model of any result.
What users, documents or databases wrote is put between marks, so that it cannot pass as the server's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import singledispatch
from typing import Any
from uuid import UUID

from recollect import Memory, Receipt, Resolution
from recollect.apps.ask.answers.answer_fields import ClarificationAnswer
from recollect.apps.ask.question import Assumption
from recollect.prompts import mark_data
from recollect.values.query import Kind
from recollect.values.scope import Tier

NOTHING_FOUND = "Nothing was found."


@dataclass(frozen=True, slots=True)
class SearchHit:
    """`source` cites it: `session#turn`, `memory:<id>` or an episode. `at` is when it was said, or since when it is
    valid."""

    source: str
    kind: Kind
    text: str
    score: float
    why: str
    tier: Tier
    at: datetime | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Memories, then episodes, then turns; each best first. `notes` say what could not be done."""

    request_id: UUID
    results: Sequence[SearchHit]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class ContextResult:
    """`text` is numbered lines for a prompt: data, never instructions. `sources` has the source of each line;
    `truncated`: something was left out or shortened; `notes` say what could not be done."""

    request_id: UUID
    text: str
    tokens: int
    truncated: bool
    sources: Sequence[str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """Every value of a memory, oldest first."""

    memory: UUID
    versions: Sequence[Memory]


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """An answer without `sql` is either a clarification, or `text` says why there is no answer. `is_truncated`: the
    result had more rows. `clarifications` are questions that the user has to answer first: ask again with the label or
    the number of a choice. `assumptions` say how ambiguous terms were interpreted."""

    text: str
    sql: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_truncated: bool
    clarifications: Sequence[ClarificationAnswer]
    assumptions: Sequence[Assumption]


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage of a document. `start` to `end` is the quoted range in characters, or the whole passage; `text` is its
    beginning; `title` is empty if the document was deleted meanwhile; `cited`: the answer is based on it."""

    document: UUID
    title: str
    page: int | None
    text: str
    start: int
    end: int
    score: float
    cited: bool


@dataclass(frozen=True, slots=True)
class DocumentsResult:
    """`sources` are the passages found, best first. Pass `session` again to ask a follow-up question. `is_refused`:
    neither the documents nor memory have an answer. `asked` is the question as searched, completed from the
    conversation. `model` wrote the answer; null if it is quoted from the documents."""

    text: str
    session: str
    is_refused: bool
    asked: str
    sources: Sequence[CitedPassage]
    model: str | None


@singledispatch
def to_text(result: Any) -> str:
    """Return a result as text for a model."""
    raise TypeError(f"{type(result).__name__} has no text")


@to_text.register
def _(memory: Memory) -> str:
    until = f" until {memory.valid_to:%Y-%m-%d}" if memory.valid_to else ""
    why = f", {memory.reason}" if memory.reason else ""
    line = f"{memory.ref} ({memory.kind}, {memory.status}{why}), from {memory.valid_from:%Y-%m-%d}{until}"
    return f"{line}\n{mark_data('memory', memory.text)}"


@to_text.register
def _(result: SearchResult) -> str:
    lines = [f"{each.source} ({each.kind}): {each.text}" for each in result.results]
    return "\n".join([mark_data("memory", "\n".join(lines)) if lines else NOTHING_FOUND, *result.notes])


@to_text.register
def _(result: ContextResult) -> str:
    return "\n".join([mark_data("memory", result.text) if result.text else NOTHING_FOUND, *result.notes])


@to_text.register
def _(resolution: Resolution) -> str:
    others = [f"or: {each.meaning} ({each.source})" for each in resolution.candidates]
    sql = f"SQL: {resolution.sql}" if resolution.sql else ""
    body = "\n".join(filter(None, [resolution.meaning, sql, *others]))
    return "\n".join([*([mark_data("meaning", body)] if body else []), resolution.why])


@to_text.register
def _(receipt: Receipt) -> str:
    return f"Erased memory {receipt.memory} for good: {receipt.total} rows."


@to_text.register
def _(result: HistoryResult) -> str:
    return "\n".join(map(to_text, result.versions))


@to_text.register
def _(result: AnswerResult) -> str:
    sql = [f"SQL: {result.sql}"] if result.sql else []
    assumed = [f"Assumed: {each.term} = {each.meaning} ({each.source})" for each in result.assumptions]
    to_ask = [f"To ask: {each.question}" for each in result.clarifications if each.question not in result.text]
    return "\n".join([mark_data("answer", result.text), *sql, *assumed, *to_ask])


@to_text.register
def _(result: DocumentsResult) -> str:
    cited = (
        f"From: {each.title or each.document}{f', page {each.page}' if each.page else ''}"
        for each in result.sources
        if each.cited
    )
    return "\n".join(
        [mark_data("answer", "\n".join([result.text, *dict.fromkeys(cited)])), f"Session: {result.session}"]
    )
