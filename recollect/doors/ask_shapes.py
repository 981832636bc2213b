"""What callers of /answerQuestion get: the fields of that interface, and beside them what memory adds and what was
assumed. The three fields of memory are null where memory took no part, or failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Any

from pydantic import BaseModel

from recollect.hosts.sql.asking import Answer, MemoryUsed
from recollect.hosts.sql.running import Rows
from recollect.hosts.sql.wording import csv_text


class ClarificationAnswer(BaseModel):
    term: str
    question: str
    suggestions: list[str]
    category: str


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
    """All rows, and those that a model is shown, each also as CSV; `{}` where there are none."""

    full: list[dict[str, Any]] = []
    full_csv: str = ""
    llm: list[dict[str, Any]] = []
    llm_csv: str = ""


class AnswerQuestionAnswer(BaseModel):
    answer: str
    sql_query: str
    query_explanation: str
    tokens: Tokens
    execution_result: ExecutionResult
    related_tables: list[str]
    related_questions: list[str]
    tables_used: list[str]
    raw_graph: str
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
    notes: list[str]
    confidence: float
    answer_ref: str | None


def answer_shape(answer: Answer, *, told_rows: int = 100, graph: str = "") -> dict[str, Any]:
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
        "execution_result": execution_result(answer.rows, told_rows),
        "related_tables": list(answer.related_tables),
        "related_questions": list(answer.related),
        "tables_used": list(answer.tables),
        "raw_graph": graph,
        "sql_execution_time": spent.sql,
        "vector_store_search_time": spent.search,
        "llm_time": spent.llm,
        "total_execution_time": spent.whole,
        "llm_provider": "openai" if answer.model else "",
        "llm_model": answer.model or "",
        **memory_shape(answer.memory, spent.memory),
        "clarifications": [clarification_shape(each) for each in answer.clarifications],
        "assumptions": [assumption_shape(each) for each in answer.assumptions],
        "notes": list(answer.notes),
        "confidence": answer.confidence,
        "answer_ref": answer.ref,
    }


def clarification_shape(each: Any) -> dict[str, Any]:
    return {
        "term": each.term,
        "question": each.question,
        "suggestions": list(each.suggestions),
        "category": each.category,
    }


def assumption_shape(each: Any) -> dict[str, Any]:
    return {"term": each.term, "meaning": each.meaning, "source": each.source, "confidence": each.confidence}


def execution_result(rows: Rows | None, told: int) -> dict[str, Any]:
    """All rows, and those that a model was shown, each also as CSV; nothing where there are none."""
    if rows is None or not rows.rows:
        return {}
    names = unique(rows.columns)
    full = [dict(zip(names, row, strict=True)) for row in rows.rows]
    return {
        "full": full,
        "full_csv": csv_text(rows.columns, rows.rows),
        "llm": full[:told],
        "llm_csv": csv_text(rows.columns, rows.rows[:told]),
    }


def unique(columns: Sequence[str]) -> list[str]:
    """Two columns may have one name; in an object each needs its own."""
    names = list[str]()
    for column in columns:
        again = (f"{column}_{n}" for n in count(2))
        names.append(column if column not in names else next(name for name in again if name not in names))
    return names


def memory_shape(memory: MemoryUsed | None, seconds: float) -> dict[str, Any]:
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
