"""The response of /answerQuestion: the fields of that interface, together with what memory adds and what was assumed.
The three fields about memory are null if memory took no part, or failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from recollect.apps.ask.answers.wording import csv_text
from recollect.apps.ask.question import Answer, Clarification, MemoryUsed
from recollect.apps.ask.sources.running import Rows


class ChoiceAnswer(BaseModel, from_attributes=True):
    id: str
    label: str


class ClarificationAnswer(BaseModel, from_attributes=True):
    """`choices` can be sent back by id, number or label; each leads to an answer. `suggestions` are their labels."""

    id: str
    term: str
    question: str
    suggestions: list[str]
    choices: list[ChoiceAnswer]
    category: str


class LearnedAnswer(BaseModel):
    """What a choice or an answer taught; deleting the memory takes it back."""

    id: str
    term: str
    meaning: str
    scope: str


class AssumptionAnswer(BaseModel):
    term: str
    meaning: str
    source: str
    confidence: float


class ConversationMetadata(BaseModel):
    conversation_id: str
    session_id: str
    session_name: str
    message_count: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    is_summarized: bool


class MemoryContextUsed(BaseModel):
    history_messages_count: int
    similar_queries_count: int
    context_tokens: int
    context_truncated: bool
    memory_enabled: bool


class Tokens(BaseModel):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class ExecutionResult(BaseModel):
    """All rows, and those that a model is shown, each also as CSV; `{}` if there are none."""

    full: list[dict[str, Any]] = []
    full_csv: str = ""
    llm: list[dict[str, Any]] = []
    llm_csv: str = ""


class SimilarView(BaseModel):
    view_name: str
    view_text: str
    score: float | None = None


class AnswerQuestionAnswer(BaseModel):
    answer: str
    sql_query: str
    query_explanation: str
    tokens: Tokens
    execution_result: ExecutionResult
    related_tables: list[str]
    related_questions: list[str]
    tables_used: list[str]
    raw_graph: str = Field(description="The chart as PNG in base64; empty without `plot`, or where no chart suits.")
    chart: dict[str, Any] | None = Field(description="The same chart as a Vega-Lite specification.")
    title: str = Field(description="What the rows are, in words.")
    headers: list[str] = Field(description="Names of the columns in words, in their order.")
    is_truncated: bool = Field(description="There are more rows than `execution_result` has.")
    total_rows: int | None = Field(description="The number of all rows, if it is known.")
    sql_execution_time: float
    vector_store_search_time: float
    llm_time: float
    total_execution_time: float
    llm_provider: str
    llm_model: str
    conversation_metadata: ConversationMetadata | None
    memory_context_used: MemoryContextUsed | None
    memory_retrieval_time: float | None
    clarifications: list[ClarificationAnswer]
    assumptions: list[AssumptionAnswer]
    learned: list[LearnedAnswer]
    notes: list[str]
    confidence: float
    answer_ref: str | None


def describe_answer(
    answer: Answer, *, llm_rows: int = 100, graph: str = "", chart: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    spent = answer.spent
    return {
        "answer": answer.text,
        "sql_query": answer.sql,
        "query_explanation": answer.explanation,
        "tokens": {
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "total_tokens": spent.input_tokens + spent.output_tokens,
        },
        "execution_result": execution_result(answer.rows, llm_rows),
        "related_tables": list(answer.related_tables),
        "related_questions": list(answer.related),
        "tables_used": list(answer.tables),
        "raw_graph": graph,
        "chart": chart,
        **describe_table(answer),
        "sql_execution_time": spent.sql,
        "vector_store_search_time": spent.search,
        "llm_time": spent.llm,
        "total_execution_time": spent.whole,
        "llm_provider": "openai" if answer.model else "",
        "llm_model": answer.model or "",
        **describe_memory(answer.memory, spent.memory),
        "clarifications": [describe_clarification(each) for each in answer.clarifications],
        "assumptions": [asdict(each) for each in answer.assumptions],
        "learned": [asdict(each) for each in answer.learned],
        "notes": list(answer.notes),
        "confidence": answer.confidence,
        "answer_ref": answer.ref,
    }


def describe_table(answer: Answer) -> dict[str, Any]:
    """Return what the rows are and whether they are all."""
    rows = answer.rows
    return {
        "title": answer.title,
        "headers": list(answer.headers),
        "is_truncated": rows is not None and rows.is_truncated,
        "total_rows": None if rows is None else rows.total if rows.is_truncated else len(rows.rows),
    }


def describe_clarification(each: Clarification) -> dict[str, Any]:
    return ClarificationAnswer.model_validate(each).model_dump()


def execution_result(rows: Rows | None, llm_rows: int) -> dict[str, Any]:
    """Return all rows and the first `llm_rows`, each also as CSV; an empty dict if there are no rows."""
    if rows is None or not rows.rows:
        return {}
    names = make_unique(rows.columns)
    full = [dict(zip(names, row, strict=True)) for row in rows.rows]
    return {
        "full": full,
        "full_csv": csv_text(rows.columns, rows.rows),
        "llm": full[:llm_rows],
        "llm_csv": csv_text(rows.columns, rows.rows[:llm_rows]),
    }


def make_unique(columns: Sequence[str]) -> list[str]:
    """Return column names with a number added to repeated ones: a JSON object needs distinct names."""
    names = list[str]()
    for column in columns:
        tries = (column, *(f"{column}_{n}" for n in range(2, len(columns) + 2)))
        names.append(next(name for name in tries if name not in names))
    return names


def describe_memory(memory: MemoryUsed | None, seconds: float) -> dict[str, Any]:
    if memory is None or memory.conversation is None:
        return dict.fromkeys(("conversation_metadata", "memory_context_used", "memory_retrieval_time"))
    talk = memory.conversation
    return {
        "conversation_metadata": {
            "conversation_id": str(talk.id),
            "session_id": talk.session,
            "session_name": talk.name,
            "message_count": talk.interactions,
            "created_at": talk.created_at,
            "updated_at": talk.updated_at,
            "expires_at": talk.expires_at,
            "is_summarized": memory.is_summarized,
        },
        "memory_context_used": {
            "history_messages_count": memory.history,
            "similar_queries_count": memory.similar,
            "context_tokens": memory.tokens,
            "context_truncated": memory.truncated,
            "memory_enabled": True,
        },
        "memory_retrieval_time": seconds,
    }
