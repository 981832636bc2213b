"""Text to SQL for one data source: a question, the answer to a clarification, a correction, feedback, history."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from recollect import InvalidInput, Memory, Scope
from recollect.apps.ask import teaching
from recollect.apps.ask.answers import answer_fields
from recollect.apps.ask.charts import chart_answer
from recollect.apps.ask.corrections import Change, Correction
from recollect.apps.ask.memories.reader import list_questions
from recollect.apps.ask.question import MAX_ROWS, Answer, Ask, read_session_context
from recollect.server.access.caller import Call, Caller, decode_utf8
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored
from recollect.server.access.responses import Shape, json_object, list_of
from recollect.server.http.answer_question import SessionContextHeader, answer_once
from recollect.server.http.bodies import OpenBody
from recollect.server.http.routing import Routes, name_parameter
from recollect.values.identity import Action

HistoryUser = Annotated[str | None, Query(description="Whose; by default the caller's own.")]
routes = Routes("/api/projects/{project}/datasources/{source}", "text to SQL", name_parameter("user_id", HistoryUser))


class QuestionBody(OpenBody):
    question: str
    user_id: str | None = None
    session_id: str | None = None
    execute: bool = False
    limit: int = 100


class ClarifyBody(OpenBody):
    """Either `clarification_id` and `choice`, or `term` and `answer`."""

    clarification_id: str | None = None
    choice: str | int | None = None
    term: str | None = None
    answer: str | None = None
    question: str = ""
    user_id: str | None = None
    session_id: str | None = None
    execute: bool = False
    limit: int = 100

    @property
    def choice_text(self) -> str:
        return "" if self.choice is None else str(self.choice)

    def check(self) -> None:
        if self.clarification_id is None and not ((self.term and self.answer) or (self.choice_text and self.question)):
            raise InvalidInput("clarification_id", "give clarification_id and choice, or term and answer")


class CorrectSqlBody(OpenBody):
    question: str
    generated_sql: str
    corrected_sql: str
    user_id: str | None = None


class FeedbackBody(OpenBody):
    question: str
    sql: str
    good: bool
    user_id: str | None = None


TEXT2SQL = Shape(
    "Text2SqlAnswer",
    Answer,
    sql="sql",
    confidence="confidence",
    tables_used=(list[str], lambda answer: list(answer.tables)),
    examples_found="examples",
    needs_clarification="needs_clarification",
    clarifications=(
        list[answer_fields.ClarificationAnswer],
        lambda answer: list(map(answer_fields.describe_clarification, answer.clarifications)),
    ),
    assumptions=(list[answer_fields.AssumptionAnswer], lambda answer: list(map(asdict, answer.assumptions))),
    pattern_used="pattern",
    learned=(list[answer_fields.LearnedAnswer], lambda answer: list(map(asdict, answer.learned))),
    metadata=(dict[str, Any], lambda answer: describe_metadata(answer)),
)
CORRECTED = json_object("CorrectedSql", equivalent=bool, changes=list[Change], learned=list[Memory])
PAST_QUESTION = json_object(
    "PastQuestion", ref=str, session=str, question=str, sql=str, tables=list[str], at=datetime, feedback=str | None
)
PAST_QUESTIONS = json_object("PastQuestions", queries=list_of(PAST_QUESTION))


def make_ask(call: Call, source: str, body: QuestionBody | ClarifyBody, context: str | None, **more: Any) -> Ask:
    body.check_ranges()
    session_context = read_session_context(context and decode_utf8(context))
    given: dict[str, Any] = {"question": body.question, "rows": body.limit, "execute": body.execute} | more
    uses_memory = remembers(call.caller, body)
    return Ask(source=source, role=call.role, context=session_context, remembers=uses_memory, **given)


def authorize_question(*, caller: Caller, project: str, body: QuestionBody | ClarifyBody, **_: Any) -> Scope:
    """Return the scope of a question or of an answer to a clarification. Without a user, to ask is enough."""
    if not remembers(caller, body):
        return caller.authorize("ask", None, None, project)
    action: Action = "learn" if isinstance(body, ClarifyBody) else "record"
    return caller.authorize(action, body.user_id, body.session_id, project)


def remembers(caller: Caller, body: QuestionBody | ClarifyBody) -> bool:
    """Whether memory takes part: a user is named, or the meaning of a term is taught."""
    has_user = body.user_id is not None or caller.identity.user is not None or "x-user-id" in caller.headers
    return has_user or (isinstance(body, ClarifyBody) and body.clarification_id is None)


@routes.add("POST /text2sql", "ask", model=TEXT2SQL.model, find_scope=authorize_question)
async def text_to_sql(
    call: Call,
    source: str,
    body: QuestionBody,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Return the SQL for a question and the assumptions it rests on; or what has to be clarified first."""
    ask = make_ask(call, source, body, context, learns=call.caller.can("learn"))
    identity = ["text2sql", source, context, body.model_dump()]
    key = idempotency_key if ask.remembers else None
    return await answer_once(call, key, identity, lambda: call.analyst.ask(call.scope, ask), TEXT2SQL.describe)


def describe_metadata(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "explanation": answer.explanation,
        "way": answer.way,
        "model": answer.model,
        "notes": list(answer.notes),
        "session_id": answer.session,
        "ref": answer.ref,
        "error": answer.error,
        "execution_result": answer_fields.execution_result(answer.rows, MAX_ROWS),
        **answer_fields.describe_table(answer),
        "chart": chart_answer(answer),
    }


@routes.add("POST /text2sql/clarify", "learn", model=TEXT2SQL.model, status=201, find_scope=authorize_question)
async def clarify_question(
    call: Call,
    source: str,
    body: ClarifyBody,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answer a clarification: with one of its choices, or by saying what a term means. The answer to the question comes
    back at once. What is learned belongs to the user, or by its wording to the project, if the caller may teach it."""
    body.check()
    question = body.question or body.term or body.choice_text or "clarification"
    ask = make_ask(call, source, body, context, question=question)
    identity = ["clarify", source, context, body.model_dump()]
    answer, key = partial(answer_clarification, call, ask, body), idempotency_key if ask.remembers else None
    return await answer_once(call, key, identity, answer, TEXT2SQL.describe, 201)


async def answer_clarification(call: Call, ask: Ask, body: ClarifyBody) -> Answer:
    if body.clarification_id is not None:
        return await call.analyst.choose(call.scope, ask, body.clarification_id, body.choice_text or body.answer or "")
    reply, may_share = body.answer or body.choice_text, call.caller.can("learn_project")
    if not body.question:
        return await call.analyst.teach(call.scope, ask, body.term or "", reply, may_share=may_share)
    return await call.analyst.clarify(call.scope, ask, body.term or reply, reply, may_share=may_share)


async def restore_correction(stored: Stored, call: Call, source: str, body: CorrectSqlBody) -> dict[str, Any]:
    opened = await call.analyst.sources.find(call.scope, source)
    correction = teaching.compare_statements(opened, body.question, body.generated_sql, body.corrected_sql)
    learned = [await call.engine.memory(call.scope, each, owner="user") for each in stored["ids"]]
    return describe_correction(correction, learned)


CORRECTION_REPLAY = Replay(lambda answer: {"ids": [str(each.id) for each in answer["learned"]]}, restore_correction)


@routes.write("POST /text2sql/correct", "learn", model=CORRECTED, replay=CORRECTION_REPLAY)
async def correct_sql(call: Call, source: str, body: CorrectSqlBody) -> dict[str, Any]:
    """Correct a statement. What the difference teaches is learned; the corrected one must be allowed to run."""
    statements = (body.question, body.generated_sql, body.corrected_sql)
    correction, memories = await teaching.correct(call.analyst, call.scope, source, call.role, *statements)
    return describe_correction(correction, memories)


def describe_correction(correction: Correction, learned: list[Memory]) -> dict[str, Any]:
    return {"equivalent": correction.equivalent, "changes": correction.changes, "learned": learned}


@routes.write("POST /text2sql/feedback", "learn")
async def rate_sql(call: Call, source: str, body: FeedbackBody) -> Memory:
    """Rate a statement for a question. A good one answers the question again, for this user."""
    return await teaching.rate(call.analyst, call.scope, source, call.role, body.question, body.sql, good=body.good)


@routes.add("GET /history", "history", model=PAST_QUESTIONS)
async def query_history(call: Call, source: str, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> dict[str, Any]:
    """List what a user asked of this database, the latest first, with the SQL and their rating; nothing about tables
    that the caller may not see now."""
    opened = await call.analyst.sources.find(call.scope, source)
    return {"queries": await list_questions(call.engine, call.scope, source, opened.view(call.role), limit)}
