"""/answerQuestion and its relatives, with the fields that callers of that interface know: a question to a database,
answered with SQL, rows and text. With `user_id`, memory takes part. The analyst (recollect/apps/ask) is
`app.state.analyst`."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.answer_fields import (
    AnswerQuestionAnswer,
    ExecutionResult,
    SimilarView,
    describe_answer,
    execution_result,
)
from recollect.apps.ask.chart_images import draw_png
from recollect.apps.ask.charts import chart_answer
from recollect.apps.ask.metadata import similar_tables
from recollect.apps.ask.question import MAX_ROWS, Answer, OnText
from recollect.apps.ask.recording import from_log
from recollect.errors import MissingExtra, NotFound, SchemaMismatch, StoreUnavailable
from recollect.server.access.caller import Caller, CurrentCaller
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored, run_once
from recollect.server.access.json_response import Json
from recollect.server.access.route_rules import authorized, idempotent, requires
from recollect.server.http.ask_bodies import AskBody, ExecuteBody, SessionContextHeader, make_ask, split_names
from recollect.server.http.openapi import ERRORS, json_object, list_of
from recollect.server.http.verbs import ProjectParam
from recollect.values.query import check_range
from recollect.values.scope import Scope

router = APIRouter(tags=["ask"], responses=ERRORS)
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer as a stream.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
DISCLAIMER = "\n\nThis answer was written by a language model; the query beside it says what was counted."
EXECUTED = json_object("ExecutedVql", vql=str, execution_result=ExecutionResult)
VIEW = json_object("MetadataView", view=str, columns=list[str])
DATABASE = json_object("MetadataDatabase", database=str, changed=bool, views=list_of(VIEW))
METADATA = json_object("Metadata", databases=list_of(DATABASE))
AskParams = Annotated[AskBody, Query()]
STREAMING = set[asyncio.Task[Response]]()  # answers that are being written
Databases = Annotated[str, Query(description="Databases, separated by commas; empty: all.")]


def get_analyst(request: Request) -> Analyst:
    analyst: Analyst = request.app.state.analyst
    return analyst


async def describe_with_chart(answer: Answer, body: AskBody) -> dict[str, Any]:
    """Return the fields of an answer, with a chart if the caller wants one and it can be drawn."""
    graph, chart = "", chart_answer(answer, body.plot_details) if body.plot else None
    if chart is not None:
        # Drawing takes a tenth of a second, in which other requests must be served.
        try:
            graph = base64.b64encode(await asyncio.to_thread(draw_png, chart)).decode()
        except MissingExtra as error:
            answer = replace(answer, notes=(*answer.notes, str(error)))
    described = describe_answer(answer, llm_rows=body.llm_response_rows_limit, graph=graph, chart=chart)
    if not body.verbose and answer.sql:
        described |= {"answer": answer.sql, "related_questions": []}
    elif body.disclaimer and answer.model and answer.sql:
        described["answer"] += DISCLAIMER
    return described


async def respond_to_question(
    caller: Caller,
    request: Request,
    body: AskBody,
    key: str | None,
    mode: str | None,
    context: str | None,
    on_text: OnText | None = None,
) -> Response:
    """Answer a question. Without `user_id` no memory takes part, and the caller need only be allowed to ask; a user
    that the caller may not act for is refused even then."""
    remembers = body.user_id is not None and body.use_memory
    if remembers:
        scope = caller.authorize("record", body.user_id, body.session_id, body.project)
    else:
        scope = caller.authorize("ask", body.user_id, None, body.project)

    async def answer() -> Answer:
        ask = make_ask(body, caller.identity.role, caller.settings, mode, context)
        return await get_analyst(request).answer(scope, replace(ask, on_text=on_text), mode or body.mode)

    async def describe(answer: Answer) -> dict[str, Any]:
        return await describe_with_chart(answer, body)

    identity = ["answer", mode, context, body.model_dump()]
    return await answer_once(caller, scope, key if remembers else None, identity, answer, describe)


async def answer_once(
    caller: Caller,
    scope: Scope,
    key: str | None,
    identity: object,
    answer: Callable[[], Awaitable[Answer]],
    describe: Callable[[Answer], Awaitable[dict[str, Any]]],
    status: int = 200,
) -> Response:
    """Answer a question once per idempotency key, and repeat the answer from the log.

    Only the answer's place in the log is stored with the key; an answer that could not be logged is made again. While
    the store does not answer, neither key nor question can be stored, and the question is answered without them.
    """
    refs: list[str | None] = []
    described: list[dict[str, Any]] = []

    async def work() -> dict[str, Any]:
        made = await answer()
        refs.append(made.ref)
        described.append(await describe(made))
        return described[-1]

    async def restore(stored: Stored, **_: Any) -> dict[str, Any]:
        return await describe(await from_log(caller.engine, scope, stored["ref"]) if stored["ref"] else await answer())

    replayed = False
    with caller.engine.runtime.deadline():
        try:
            replay = Replay(lambda _: {"ref": refs[-1]}, restore)
            result, replayed = await run_once(caller, scope, key, identity, work, replay)
        except (StoreUnavailable, SchemaMismatch):
            if key is None:
                raise
            result = described[-1] if described else await work()
    return Json(result, status, headers={"Idempotent-Replayed": "true"} if replayed else None)


@router.post("/answerQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_question(
    body: AskBody,
    caller: CurrentCaller,
    request: Request,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a database. With `user_id`, what was asked and taught before takes part, and the question is remembered."""
    return await respond_to_question(caller, request, body, idempotency_key, None, context)


@router.get("/answerQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_question_by_address(
    body: AskParams, caller: CurrentCaller, request: Request, context: SessionContextHeader = None
) -> Response:
    """Ask a database, with the fields in the query."""
    return await respond_to_question(caller, request, body, None, None, context)


@router.post("/answerDataQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_data_question(
    body: AskBody,
    caller: CurrentCaller,
    request: Request,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for data; the question is never taken as one about the schema."""
    return await respond_to_question(caller, request, body, idempotency_key, "data", context)


@router.get("/answerDataQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_data_question_by_address(
    body: AskParams, caller: CurrentCaller, request: Request, context: SessionContextHeader = None
) -> Response:
    """Ask for data, with the fields in the query."""
    return await respond_to_question(caller, request, body, None, "data", context)


@router.post("/answerMetadataQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_metadata_question(
    body: AskBody,
    caller: CurrentCaller,
    request: Request,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask what the database contains; no query is run."""
    return await respond_to_question(caller, request, body, idempotency_key, "metadata", context)


@router.get("/answerMetadataQuestion", response_model=AnswerQuestionAnswer)
@requires("ask")
async def answer_metadata_question_by_address(
    body: AskParams, caller: CurrentCaller, request: Request, context: SessionContextHeader = None
) -> Response:
    """Ask what the database contains, with the fields in the query."""
    return await respond_to_question(caller, request, body, None, "metadata", context)


@router.post("/streamAnswerQuestion", response_class=Response, responses=TEXT)
@requires("ask")
async def stream_answer_question(
    body: AskBody,
    caller: CurrentCaller,
    request: Request,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a database, and get the text of the answer as a stream."""
    return await stream_answer(caller, request, body, idempotency_key, context)


@router.get("/streamAnswerQuestion", response_class=Response, responses=TEXT)
@requires("ask")
async def stream_answer_question_by_address(
    body: AskParams, caller: CurrentCaller, request: Request, context: SessionContextHeader = None
) -> Response:
    """Ask a database, with the fields in the query, and get the text of the answer as a stream."""
    return await stream_answer(caller, request, body, None, context)


async def stream_answer(
    caller: Caller, request: Request, body: AskBody, key: str | None, context: str | None
) -> StreamingResponse:  # fmt: skip
    """Return the text of an answer while a model writes it; without a model, once it is there. An error before the
    first piece is a response of its own. The question is answered and recorded even if the client goes away."""
    pieces = asyncio.Queue[str | None]()
    task = asyncio.create_task(respond_to_question(caller, request, body, key, None, context, pieces.put))
    STREAMING.add(task)
    task.add_done_callback(STREAMING.discard)
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    first = await pieces.get()
    headers = {} if first else (await task).headers
    replayed = {name: value for name, value in headers.items() if name == "idempotent-replayed"}

    async def stream() -> AsyncIterator[bytes]:
        piece, said = first, ""
        while piece is not None:
            said += piece
            yield piece.encode()
            piece = await pieces.get()
        text: str = msgspec.json.decode((await task).body)["answer"]
        # A model that broke off was replaced; otherwise only what is added to its words is missing.
        rest = text.removeprefix(said.rstrip())
        yield (rest if rest != text or not said else f"\n\n{text}").encode()

    return StreamingResponse(stream(), media_type="text/plain", headers=replayed)


@router.post("/generateVQL", response_model=AnswerQuestionAnswer)
@requires("ask")
async def generate_vql(
    body: AskBody,
    caller: CurrentCaller,
    request: Request,
    context: SessionContextHeader = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Return the SQL for a question, without running it."""
    return await respond_to_question(caller, request, body, idempotency_key, "generate", context)


@router.post("/executeVQL", response_model=EXECUTED)
@authorized("ask")
async def execute_vql(body: ExecuteBody, caller: CurrentCaller, scope: Scope, request: Request) -> Json:
    """Run a given statement, checked like any other: it can only read, and only what the caller may see."""
    analyst = get_analyst(request)
    check_range("limit", body.limit, 1, MAX_ROWS)
    name = await analyst.library.one(scope, body.source)
    checked, rows = await analyst.run(scope, name, caller.identity.role, body.vql, body.limit)
    return Json({"vql": checked.sql, "execution_result": execution_result(rows, body.limit)})


# The catalogue --------------------------------------------------------------------------------------------------------


@router.get("/getMetadata", response_model=METADATA)
@authorized("put_data_source")
async def get_metadata(
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    vdp_database_names: Databases = "",
    project: ProjectParam = None,
) -> dict[str, Any]:
    """Read the schemas of the databases again and return them; for data stewards and admins."""
    library = get_analyst(request).library
    databases = []
    for name in await library.wanted(scope, split_names(vdp_database_names)):
        shelf, has_changed = await library.refresh(scope, name)
        views = [{"view": table.name, "columns": [c.name for c in table.columns]} for table in shelf.catalog.tables]
        databases.append({"database": name, "changed": has_changed, "views": views})
    return {"databases": databases}


@router.delete("/deleteMetadata", response_model=json_object("DeletedMetadata", deleted=list[str]))
@authorized("put_data_source")
@idempotent()
async def delete_metadata(
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    vdp_database_names: Databases = "",
    project: ProjectParam = None,
) -> dict[str, Any]:
    """Forget the schemas of the databases, until they are read again; for data stewards and admins."""
    library = get_analyst(request).library
    names = await library.wanted(scope, split_names(vdp_database_names))
    for name in names:
        await library.empty(scope, name)
    return {"deleted": names}


@router.get("/similaritySearch", response_model=json_object("SimilarViews", views=list[SimilarView]))
@authorized("ask")
async def similarity_search(
    caller: CurrentCaller,
    scope: Scope,
    request: Request,
    query: str,
    vdp_database_names: Databases = "",
    n_results: Annotated[int, Query(ge=1, le=50)] = 5,
    scores: bool = False,
    project: ProjectParam = None,
) -> dict[str, Any]:
    """Return the tables that match a text, best first."""
    library = get_analyst(request).library
    found = []
    for name in await library.wanted(scope, split_names(vdp_database_names)):
        view = (await library.find(scope, name)).view(caller.identity.role)
        found += similar_tables(name, view, query, n_results)
    found.sort(key=lambda each: -each["score"])
    if not found:
        raise NotFound("no table matches; /answerMetadataQuestion lists the tables")
    best = found[:n_results]
    return {"views": best if scores else [{k: v for k, v in each.items() if k != "score"} for each in best]}
