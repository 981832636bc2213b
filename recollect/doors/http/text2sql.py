"""Text to SQL under a data source: a question, the answer to a question back, a correction, feedback, history. What the
header `X-Session-Context` says holds for all questions of a session."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from recollect.doors.ask_shapes import (
    AssumptionAnswer,
    ClarificationAnswer,
    assumption_shape,
    clarification_shape,
    execution_result,
)
from recollect.doors.http.answer_question import analyst_of, once
from recollect.doors.http.answers import MemoryAnswer
from recollect.doors.http.bodies import NAME, VALUE, Body, Session, chars, within
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import Repeat, found, memory_again
from recollect.doors.shapes import memory_shape
from recollect.engine import Engine
from recollect.hosts.sql import teaching
from recollect.hosts.sql.asking import MAX_ROWS, Answer, Ask
from recollect.hosts.sql.history import asked_before
from recollect.model.scope import Scope
from recollect.model.search import MAX_QUERY_CHARS, check_range
from recollect.sql.change import Correction
from recollect.sql.session_context import HEADER, read_session_context

router = APIRouter(prefix="/api/projects/{project}/datasources/{source}", tags=["text to SQL"], responses=REFUSALS)
SQL = chars(MAX_QUERY_CHARS)
UserId = Annotated[str | None, Field(description="Who asks; by default the caller.", json_schema_extra=NAME)]
SessionContextHeader = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="JSON: time_focus, user_segment, exclude_test, custom_filters, definitions.",
        examples=['{"time_focus": "2024", "definitions": {"big": "amount > 1000"}}'],
    ),
]


class QuestionBody(Body):
    question: str = Field(json_schema_extra=SQL, examples=["How many active customers are there?"])
    user_id: UserId = None
    session_id: Session = None
    execute: bool = Field(default=False, description="Run it too; the rows are in `metadata.execution_result`.")
    limit: int = Field(default=100, json_schema_extra=within(1, MAX_ROWS))


class ClarifyBody(Body):
    term: str = Field(json_schema_extra=NAME, examples=["active"])
    answer: str = Field(json_schema_extra=VALUE, examples=["last_login_at > NOW() - INTERVAL '30 days'"])
    question: str = Field(default="", examples=["How many active customers are there?"])
    user_id: UserId = None


class CorrectBody(Body):
    question: str = Field(json_schema_extra=VALUE, examples=["How many clients are there?"])
    generated_sql: str = Field(json_schema_extra=SQL, examples=["SELECT count(*) FROM users"])
    corrected_sql: str = Field(json_schema_extra=SQL, examples=["SELECT count(*) FROM customers"])
    user_id: UserId = None


class FeedbackBody(Body):
    question: str = Field(json_schema_extra=VALUE, examples=["How many customers are there?"])
    sql: str = Field(json_schema_extra=SQL, examples=["SELECT count(*) FROM customers"])
    good: bool = Field(description="Only what was found right, or approved, answers again.", examples=[True])
    user_id: UserId = None


class Text2SqlAnswer(BaseModel):
    sql: str
    confidence: float
    tables_used: list[str]
    examples_found: int
    needs_clarification: bool
    clarifications: list[ClarificationAnswer]
    assumptions: list[AssumptionAnswer]
    pattern_used: str | None
    metadata: dict[str, Any]


class ChangeAnswer(BaseModel):
    kind: str
    table: str | None
    before: str | None
    after: str | None
    word: str | None


class CorrectionAnswer(BaseModel):
    equivalent: bool
    changes: list[ChangeAnswer]
    learned: list[MemoryAnswer]


class AskedAnswer(BaseModel):
    ref: str
    session: str
    question: str
    sql: str
    tables: list[str]
    at: datetime
    feedback: str | None


class AskedListAnswer(BaseModel):
    queries: list[AskedAnswer]


def scope_of(called: Caller, project: str, user: str | None, session: str | None = None) -> tuple[Scope, bool]:
    """Whose memory takes part. A key that names nobody asks for nobody, without memory."""
    is_somebody = user is not None or called.identity.user is not None or "x-user-id" in called.headers
    if is_somebody:
        return called.scope("record", user, session, project), True
    return called.scope("ask", None, None, project), False


@router.post("/text2sql", response_model=Text2SqlAnswer, openapi_extra=does("ask"))
async def text_to_sql(
    project: str,
    source: str,
    body: QuestionBody,
    called: Called,
    request: Request,
    context: SessionContextHeader = None,
    key: Key = None,
) -> Response:
    """The SQL for a question, with what was assumed; or what has to be known first."""
    scope, remembers = scope_of(called, project, body.user_id, body.session_id)
    check_range("limit", body.limit, 1, MAX_ROWS)
    ask = Ask(
        question=body.question,
        source=source,
        role=called.identity.role,
        remembers=remembers,
        context=read_session_context(as_utf8(context)),
        rows=body.limit,
        execute=body.execute,
    )

    async def first() -> Answer:
        return await analyst_of(request).ask(scope, ask)

    said = ["text2sql", source, context, body.model_dump()]
    return await once(called, scope, key if remembers else None, said, first, text2sql_shape)


def as_utf8(header: str | None) -> str | None:
    """What a server read as Latin-1 may be UTF-8."""
    try:
        return header and header.encode("latin-1").decode()
    except UnicodeError:
        return header


async def text2sql_shape(answer: Answer) -> dict[str, Any]:
    return {
        "sql": answer.sql,
        "confidence": answer.confidence,
        "tables_used": list(answer.tables),
        "examples_found": answer.examples,
        "needs_clarification": answer.needs_clarification,
        "clarifications": [clarification_shape(each) for each in answer.clarifications],
        "assumptions": [assumption_shape(each) for each in answer.assumptions],
        "pattern_used": answer.pattern,
        "metadata": {
            "answer": answer.text,
            "explanation": answer.explanation,
            "way": answer.way,
            "model": answer.model,
            "notes": list(answer.notes),
            "session_id": answer.session,
            "ref": answer.ref,
            "error": answer.error,
            "execution_result": execution_result(answer.rows, MAX_ROWS),
        },
    }


@router.post("/text2sql/clarify", status_code=201, response_model=MemoryAnswer, openapi_extra=does("learn"))
async def clarify_term(
    project: str, source: str, body: ClarifyBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Answer a question back: what a word means. It is learned, for the user or for the project, by its wording; for
    the project only by those who may teach it."""
    scope, analyst, shares = called.scope("learn", body.user_id, None, project), analyst_of(request), may_share(called)

    async def work() -> object:
        learned = await teaching.clarify(
            analyst, scope, source, body.term, body.answer, body.question, may_share=shares
        )
        return memory_shape(learned)

    owner = teaching.owner_of(body.term, body.answer, may_share=shares)
    return await called.once(scope, key, ["clarify", source, body.model_dump()], work, memory_again(owner))


def may_share(called: Caller) -> bool:
    return called.may("learn_project")


@router.post("/text2sql/correct", status_code=201, response_model=CorrectionAnswer, openapi_extra=does("learn"))
async def correct_sql(
    project: str, source: str, body: CorrectBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Put a statement right. What the difference says is learned; the right one must be one that may run."""
    scope, analyst = called.scope("learn", body.user_id, None, project), analyst_of(request)

    async def work() -> object:
        done = await teaching.correct(
            analyst, scope, source, called.identity.role, body.question, body.generated_sql, body.corrected_sql
        )
        return correction_shape(done.correction, [memory_shape(memory) for memory in done.memories])

    async def told(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        shelf = await analyst.library.find(scope, source)
        same = teaching.difference(shelf, body.question, body.generated_sql, body.corrected_sql)
        return correction_shape(same, [memory_shape(await found(engine, scope, "user", each)) for each in kept["ids"]])

    repeat = Repeat(lambda answer: {"ids": [str(each["id"]) for each in answer["learned"]]}, told)
    return await called.once(scope, key, ["correct sql", source, body.model_dump()], work, repeat)


def correction_shape(correction: Correction, learned: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "equivalent": correction.equivalent,
        "changes": [change_shape(each) for each in correction.changes],
        "learned": learned,
    }


def change_shape(change: Any) -> dict[str, Any]:
    return {name: getattr(change, name) for name in ("kind", "table", "before", "after", "word")}


@router.post("/text2sql/feedback", status_code=201, response_model=MemoryAnswer, openapi_extra=does("learn"))
async def rate_sql(
    project: str, source: str, body: FeedbackBody, called: Called, request: Request, key: Key = None
) -> Response:
    """Say whether a statement was right for a question. A right one answers it again, for this user."""
    scope, analyst = called.scope("learn", body.user_id, None, project), analyst_of(request)

    async def work() -> object:
        rated = await teaching.rate(
            analyst, scope, source, called.identity.role, body.question, body.sql, good=body.good
        )
        return memory_shape(rated)

    return await called.once(scope, key, ["feedback", source, body.model_dump()], work, memory_again())


@router.get("/history", response_model=AskedListAnswer, openapi_extra=does("history"))
async def query_history(
    project: str,
    source: str,
    called: Called,
    request: Request,
    user_id: Annotated[str | None, Query(description="Whose; by default the caller's own.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Json:
    """What a user asked of this database lately, the last first, with the SQL and what he thought of it; nothing about
    tables that the caller may not see now."""
    scope = called.scope("history", user_id, None, project)
    shelf = await analyst_of(request).library.find(scope, source)
    view = shelf.view(called.identity.role)
    return Json({"queries": await asked_before(called.engine, scope, source, view, limit)})
