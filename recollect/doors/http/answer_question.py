"""/answerQuestion and its neighbours, with the fields that callers of that interface know: a question to a database,
answered with SQL, rows and words; with `user_id`, memory takes part. Doors only translate: recollect/hosts/sql answers,
`app.state.analyst` holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from recollect.doors.ask_shapes import AnswerQuestionAnswer, ExecutionResult, answer_shape, execution_result
from recollect.doors.http.ask_bodies import AskBody, ExecuteBody, asked, split
from recollect.doors.http.caller import Called, Caller, Key, does
from recollect.doors.http.refusals import REFUSALS
from recollect.doors.http.render import Json
from recollect.doors.http.repeats import Repeat
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.sql.analyst import Analyst
from recollect.hosts.sql.asking import MAX_ROWS, Answer
from recollect.hosts.sql.charts import drawn
from recollect.hosts.sql.metadata import similar_tables
from recollect.hosts.sql.recording import from_log
from recollect.model.scope import Scope
from recollect.model.search import check_range

router = APIRouter(tags=["ask"], responses=REFUSALS)
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer, piece by piece.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
Asked = Annotated[AskBody, Query()]
DISCLAIMER = "\n\nThis answer was written by a language model; the query beside it says what was counted."


class ExecuteAnswer(BaseModel):
    vql: str
    execution_result: ExecutionResult


class ViewAnswer(BaseModel):
    view: str
    columns: list[str]


class DatabaseAnswer(BaseModel):
    database: str
    changed: bool
    views: list[ViewAnswer]


class MetadataAnswer(BaseModel):
    databases: list[DatabaseAnswer]


class DeletedAnswer(BaseModel):
    deleted: list[str]


class SimilarView(BaseModel):
    view_name: str
    view_text: str
    score: float | None = None


class SimilarAnswer(BaseModel):
    views: list[SimilarView]


def scope_of(called: Called, body: AskBody) -> Scope:
    """Whose memory takes part; without `user_id` nobody's, and the caller need only be allowed to ask. Nobody names
    another, even where memory is not used."""
    if body.user_id is not None and body.use_memory:
        return called.scope("record", body.user_id, body.session_id, body.project)
    return called.scope("ask", body.user_id, None, body.project)


async def answered(called: Called, request: Request, body: AskBody, mode: str | None = None) -> Answer:
    scope, ask = scope_of(called, body), asked(body, called.identity.role, called.settings, mode)
    return await analyst_of(request).answer(scope, ask, mode or body.mode)


def analyst_of(request: Request) -> Analyst:
    analyst: Analyst = request.app.state.analyst
    return analyst


async def shaped(answer: Answer, body: AskBody) -> dict[str, Any]:
    graph = ""
    if body.plot and answer.rows:
        # Drawing takes a tenth of a second, in which others want to be served.
        graph = await asyncio.to_thread(drawn, answer.rows, answer.question, body.plot_details)
    shape = answer_shape(answer, told_rows=body.llm_response_rows_limit, graph=graph)
    if not body.verbose and answer.sql:
        shape |= {"answer": answer.sql, "related_questions": []}
    elif body.disclaimer and answer.model and answer.sql:
        shape["answer"] += DISCLAIMER
    return shape


async def respond(
    called: Called, request: Request, body: AskBody, key: str | None, mode: str | None = None
) -> Response:
    async def first() -> Answer:
        return await answered(called, request, body, mode)

    async def shape(answer: Answer) -> dict[str, Any]:
        return await shaped(answer, body)

    remembers = body.user_id is not None and body.use_memory
    said = ["answer", mode, body.model_dump()]
    return await once(called, scope_of(called, body), key if remembers else None, said, first, shape)


async def once(
    called: Caller,
    scope: Scope,
    key: str | None,
    body: object,
    first: Callable[[], Awaitable[Answer]],
    shape: Callable[[Answer], Awaitable[dict[str, Any]]],
) -> Response:
    """A question under an idempotency key: asked once, and answered again from the log. With the key only its place
    there is kept; an answer that could not be logged is found anew."""
    refs: list[str | None] = []

    async def work() -> Mapping[str, Any]:
        answer = await first()
        refs.append(answer.ref)
        return await shape(answer)

    async def told(kept: Mapping[str, Any], engine: Engine, scope: Scope) -> Mapping[str, Any]:
        return await shape(await from_log(engine, scope, kept["ref"]) if kept["ref"] else await first())

    repeat = Repeat(lambda answer: {"ref": refs[-1]}, told)
    return await called.once(scope, key, body, work, repeat, status=200)


@router.post("/answerQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_question(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask a database. With `user_id`, what was asked and taught before takes part, and this is remembered."""
    return await respond(called, request, body, key)


@router.get("/answerQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_question_by_address(body: Asked, called: Called, request: Request) -> Response:
    """Ask a database, with the fields in the address."""
    return await respond(called, request, body, None)


@router.post("/answerDataQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_data_question(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask for data, whatever the question sounds like."""
    return await respond(called, request, body, key, "data")


@router.get("/answerDataQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_data_question_by_address(body: Asked, called: Called, request: Request) -> Response:
    """Ask for data, with the fields in the address."""
    return await respond(called, request, body, None, "data")


@router.post("/answerMetadataQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_metadata_question(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask what the database contains; nothing is run."""
    return await respond(called, request, body, key, "metadata")


@router.get("/answerMetadataQuestion", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def answer_metadata_question_by_address(body: Asked, called: Called, request: Request) -> Response:
    """Ask what the database contains, with the fields in the address."""
    return await respond(called, request, body, None, "metadata")


@router.post("/streamAnswerQuestion", response_class=Response, responses=TEXT, openapi_extra=does("ask"))
async def stream_answer_question(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """Ask a database, and get the words of the answer as a stream of text."""
    return streamed(await respond(called, request, body, key))


@router.get("/streamAnswerQuestion", response_class=Response, responses=TEXT, openapi_extra=does("ask"))
async def stream_answer_question_by_address(body: Asked, called: Called, request: Request) -> Response:
    """Ask a database, with the fields in the address, and get the words as a stream of text."""
    return streamed(await respond(called, request, body, None))


def streamed(whole: Response) -> StreamingResponse:
    text: str = msgspec.json.decode(whole.body)["answer"]
    replayed = {name: value for name, value in whole.headers.items() if name == "idempotent-replayed"}
    return StreamingResponse(pieces(text), media_type="text/plain", headers=replayed)


async def pieces(text: str) -> AsyncIterator[bytes]:
    for line in text.splitlines(keepends=True):
        yield line.encode()


@router.post("/generateVQL", response_model=AnswerQuestionAnswer, openapi_extra=does("ask"))
async def generate_vql(body: AskBody, called: Called, request: Request, key: Key = None) -> Response:
    """The SQL for a question, without running it."""
    return await respond(called, request, body, key, "generate")


@router.post("/executeVQL", response_model=ExecuteAnswer, openapi_extra=does("ask"))
async def execute_vql(body: ExecuteBody, called: Called, request: Request) -> Json:
    """Run a statement that you give, guarded like any other: it can only read, and only what you may see."""
    scope, analyst = called.scope("ask", None, None, body.project), analyst_of(request)
    check_range("limit", body.limit, 1, MAX_ROWS)
    name = await analyst.library.one(scope, body.source)
    made, rows = await analyst.run(scope, name, called.identity.role, body.vql, body.limit)
    return Json({"vql": made.sql, "execution_result": execution_result(rows, body.limit)})


# The catalogue -------------------------------------------------------------------------------------------------------

ProjectParam = Annotated[str | None, Query(description="The project; by default the caller's.", examples=["shop"])]
Names = Annotated[str, Query(description="Databases, separated by commas; empty: all.")]


@router.get("/getMetadata", response_model=MetadataAnswer, openapi_extra=does("put_data_source"))
async def get_metadata(
    called: Called, request: Request, vdp_database_names: Names = "", project: ProjectParam = None
) -> Json:
    """Read the databases again, and show what they contain; for data stewards and admins."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library
    shown = []
    for name in await library.wanted(scope, split(vdp_database_names)):
        shelf, has_changed = await library.refresh(scope, name)
        tables = [{"view": table.name, "columns": [c.name for c in table.columns]} for table in shelf.catalog.tables]
        shown.append({"database": name, "changed": has_changed, "views": tables})
    return Json({"databases": shown})


@router.delete("/deleteMetadata", response_model=DeletedAnswer, openapi_extra=does("put_data_source"))
async def delete_metadata(
    called: Called, request: Request, vdp_database_names: Names = "", project: ProjectParam = None, key: Key = None
) -> Response:
    """Forget what the databases contain, until they are read again; for data stewards and admins."""
    scope, library = called.scope("put_data_source", None, None, project), analyst_of(request).library

    async def work() -> object:
        names = await library.wanted(scope, split(vdp_database_names))
        for name in names:
            await library.empty(scope, name)
        return {"deleted": names}

    return await called.once(scope, key, ["delete metadata", vdp_database_names], work, status=200)


@router.get("/similaritySearch", response_model=SimilarAnswer, openapi_extra=does("ask"))
async def similarity_search(
    called: Called,
    request: Request,
    query: str,
    vdp_database_names: Names = "",
    n_results: Annotated[int, Query(ge=1, le=50)] = 5,
    scores: bool = False,
    project: ProjectParam = None,
) -> Json:
    """The tables that speak to a text, best first."""
    scope, library = called.scope("ask", None, None, project), analyst_of(request).library
    found = []
    for name in await library.wanted(scope, split(vdp_database_names)):
        view = (await library.find(scope, name)).view(called.identity.role)
        found += similar_tables(name, view, query, n_results)
    found.sort(key=lambda each: -each["score"])
    if not found:
        raise NotFound("no table matches; look at /answerMetadataQuestion for what there is")
    shown = found[:n_results]
    return Json({"views": shown if scores else [{k: v for k, v in each.items() if k != "score"} for each in shown]})
