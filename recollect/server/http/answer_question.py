"""/answerQuestion and its relatives, with the fields that callers of that interface know: a question to a database,
answered with SQL, rows and text. A field that this server does not vary per request must match what is configured."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Header, Query
from starlette.responses import Response, StreamingResponse

from recollect import InvalidInput, MissingExtra, NotFound, SchemaMismatch, Scope, Settings, StoreUnavailable
from recollect.apps.ask.answers import answer_fields
from recollect.apps.ask.answers.answer_log import load_answer
from recollect.apps.ask.charts import chart_answer, draw_png
from recollect.apps.ask.llm.schema_prompt import similar_tables
from recollect.apps.ask.question import HEADER, Answer, Ask, OnText, SchemaLimits, read_session_context
from recollect.server.access.caller import Call, Caller, decode_utf8
from recollect.server.access.idempotency import IdempotencyKey, Replay, Stored, run_once, settle
from recollect.server.access.responses import Json, json_object, list_of
from recollect.server.http.bodies import OpenBody
from recollect.server.http.routing import OPENAPI, PROJECT, Routes

routes = Routes("", "ask", PROJECT)
Mode = Literal["default", "data", "metadata"]
PROVIDER = "openai"  # the protocol of the model server and of the embedder
DISCLAIMER = "\n\nThis answer was written by a language model; the query beside it says what was counted."
EXECUTED = json_object("ExecutedVql", vql=str, execution_result=answer_fields.ExecutionResult)
VIEW = json_object("MetadataView", view=str, columns=list[str])
DATABASE = json_object("MetadataDatabase", database=str, changed=bool, views=list_of(VIEW))
METADATA = json_object("Metadata", databases=list_of(DATABASE))
STREAMING = set[asyncio.Task[Response]]()  # answers that are being written
SessionContextHeader = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="JSON: time_focus, user_segment, exclude_test, custom_filters, definitions.",
        examples=['{"time_focus": "2024", "definitions": {"big": "amount > 1000"}}'],
    ),
]
Databases = Annotated[str, Query(description="Databases, separated by commas; empty: all.")]


class AskBody(OpenBody):
    question: str
    plot: bool = False
    plot_details: str = ""
    embeddings_provider: str = ""
    embeddings_model: str = ""
    vector_store_provider: str = ""
    llm_provider: str = ""
    llm_model: str = ""
    llm_temperature: float = 0.0
    llm_max_tokens: int = 4096
    vdp_database_names: str = ""
    vdp_tag_names: str = ""
    allow_external_associations: bool = False
    use_views: str = ""
    expand_set_views: bool = True
    custom_instructions: str = ""
    markdown_response: bool = True
    vector_search_k: int = 5
    vector_search_sample_data_k: int = 3
    vector_search_total_limit: int = 20
    vector_search_column_description_char_limit: int = 200
    vector_search_table_description_char_limit: int = 1000
    mode: Mode = "default"
    disclaimer: bool = True
    verbose: bool = True
    check_ambiguity: bool = True
    vql_execute_rows_limit: int = 100
    llm_response_rows_limit: int = 100
    enable_query_fixer: bool = True
    enable_query_reviewer: bool | None = None
    user_id: str | None = None
    session_id: str | None = None
    project: str | None = None
    use_memory: bool = True
    max_history_messages: int | None = None
    semantic_search_k: int | None = None


class ExecuteBody(OpenBody):
    vql: str
    limit: int = 100
    source: str | None = None
    project: str | None = None


def make_ask(body: AskBody, role: str, settings: Settings, mode: str | None, context: str | None) -> Ask:
    """Return the question as the analyst takes it."""
    check_providers(body, settings)
    body.check_ranges()
    return Ask(
        question=body.question,
        sources=tuple(split_names(body.vdp_database_names)),
        tags=tuple(split_names(body.vdp_tag_names)),
        role=role,
        remembers=body.user_id is not None and body.use_memory,
        context=read_session_context(context and decode_utf8(context)),
        history=body.max_history_messages,
        similar=body.semantic_search_k,
        views=tuple(split_names(body.use_views)),
        only_views=not body.expand_set_views,
        instructions="\n".join(filter(None, [settings.custom_instructions, body.custom_instructions])),
        rows=body.vql_execute_rows_limit,
        execute=mode != "generate",
        clarify=body.check_ambiguity,
        fix=body.enable_query_fixer,
        review=body.enable_query_fixer if body.enable_query_reviewer is None else body.enable_query_reviewer,
        model_rows=body.llm_response_rows_limit,
        schema=SchemaLimits(
            not {"vector_search_k", "vector_search_total_limit"} & body.model_fields_set,
            body.vector_search_k,
            body.vector_search_total_limit,
            body.vector_search_sample_data_k,
            body.vector_search_column_description_char_limit,
            body.vector_search_table_description_char_limit,
        ),
        verbose=body.verbose,
        markdown=body.markdown_response,
        model=body.llm_model,
        temperature=body.llm_temperature,
        max_tokens=body.llm_max_tokens,
    )


def check_providers(body: AskBody, settings: Settings) -> None:
    """Refuse other providers than the configured ones: a request cannot choose them."""
    if body.vector_store_provider and body.vector_store_provider.lower() != settings.vector_store:
        raise InvalidInput("vector_store_provider", f"only {settings.vector_store} is configured on this server")
    for field, given, extra in (
        ("llm_provider", body.llm_provider, "none"),
        ("embeddings_provider", body.embeddings_provider, settings.embedder),
    ):
        if given and given.lower() not in (PROVIDER, extra):
            raise InvalidInput(field, f"{given!r} is not configured on this server; leave it out, or use {PROVIDER}")


def split_names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


# Answers --------------------------------------------------------------------------------------------------------------


async def describe_with_chart(answer: Answer, body: AskBody) -> dict[str, Any]:
    """Return the fields of an answer, with a chart if the caller wants one and it can be drawn."""
    graph, chart = "", chart_answer(answer, body.plot_details) if body.plot else None
    if chart is not None:
        # Drawing takes a tenth of a second, in which other requests must be served.
        try:
            graph = base64.b64encode(await asyncio.to_thread(draw_png, chart)).decode()
        except MissingExtra as error:
            answer = replace(answer, notes=(*answer.notes, str(error)))
    described = answer_fields.describe_answer(answer, llm_rows=body.llm_response_rows_limit, graph=graph, chart=chart)
    if not body.verbose and answer.sql:
        described |= {"answer": answer.sql, "related_questions": []}
    elif body.disclaimer and answer.model and answer.sql:
        described["answer"] += DISCLAIMER
    return described


async def respond_to_question(
    call: Call, body: AskBody, key: str | None, mode: str | None, context: str | None, on_text: OnText | None = None
) -> Response:
    async def answer() -> Answer:
        ask = make_ask(body, call.role, call.caller.settings, mode, context)
        return await call.analyst.answer(call.scope, replace(ask, on_text=on_text), mode or body.mode)

    identity = ["answer", mode, context, body.model_dump()]
    return await answer_once(call, key, identity, answer, lambda answer: describe_with_chart(answer, body))


async def answer_once(
    call: Call,
    key: str | None,
    identity: object,
    answer: Callable[[], Awaitable[Answer]],
    describe: Callable[[Answer], Any],
    status: int = 200,
) -> Response:
    """Answer a question once per idempotency key, and repeat the answer from the log. `describe` may be async.

    Only the answer's place in the log is stored with the key; an answer that could not be logged is made again. While
    the store does not answer, neither key nor question can be stored, and the question is answered without them.
    """
    made: list[Answer] = []

    async def work() -> Answer:
        made.append(await answer())
        return made[-1]

    async def restore(stored: Stored, call: Call) -> Answer:
        ref = stored["ref"]
        return await load_answer(call.engine, call.scope, ref) if ref else await answer()

    replayed = False
    with call.engine.runtime.deadline():
        try:
            result, replayed = await run_once(
                call, key, identity, work, Replay(lambda each: {"ref": each.ref}, restore)
            )
        except (StoreUnavailable, SchemaMismatch):
            if key is None:
                raise
            result = made[-1] if made else await answer()
        described = await settle(describe(result))
    return Json(described, status, replayed=replayed)


async def stream_answer(call: Call, body: AskBody, key: str | None, context: str | None) -> StreamingResponse:
    """Return the text of an answer while a model writes it; without a model, once it is there. An error before the
    first piece is a response of its own. The question is answered and recorded even if the client goes away."""
    pieces = asyncio.Queue[str | None]()
    task = asyncio.create_task(respond_to_question(call, body, key, None, context, pieces.put))
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


def authorize_question(*, caller: Caller, body: AskBody, **_: Any) -> Scope:
    """Return the scope of a question. Without `user_id` no memory takes part, and the caller need only be allowed to
    ask; a user that the caller may not act for is refused even then."""
    if body.user_id is not None and body.use_memory:
        return caller.authorize("record", body.user_id, body.session_id, body.project)
    return caller.authorize("ask", body.user_id, None, body.project)


def add_question_routes(path: str, name: str, mode: str | None, description: str) -> None:
    """Add the routes that ask a question: with a body and, unless it only generates, with the fields in the query."""
    is_stream = name.startswith("stream")

    async def ask(
        call: Call, body: AskBody, context: SessionContextHeader = None, idempotency_key: IdempotencyKey = None
    ) -> Response:
        key = idempotency_key if body.user_id is not None and body.use_memory else None
        if is_stream:
            return await stream_answer(call, body, key, context)
        return await respond_to_question(call, body, key, mode, context)

    async def ask_by_address(
        call: Call, body: Annotated[AskBody, Query()], context: SessionContextHeader = None
    ) -> Response:
        return await ask(call, body, context)

    shown: dict[str, Any] = {"find_scope": authorize_question} | (
        {"response_class": Response, "responses": {200: OPENAPI["responses"]["text_stream"]}}
        if is_stream
        else {"model": answer_fields.AnswerQuestionAnswer}
    )
    routes.add(f"POST {path}", "ask", name=name, description=description, **shown)(ask)
    if mode != "generate":
        shown |= {"name": f"{name}_by_address", "description": f"As `POST {path}`, with the fields in the query."}
        routes.add(f"GET {path}", "ask", **shown)(ask_by_address)


for path, row in OPENAPI["questions"].items():
    add_question_routes(path, row["name"], row.get("mode"), row["description"])


@routes.add("POST /executeVQL", "ask", model=EXECUTED)
async def execute_vql(call: Call, body: ExecuteBody) -> dict[str, Any]:
    """Run a given statement, checked like any other: it can only read, and only what the caller may see."""
    body.check_ranges()
    name = await call.analyst.sources.choose_one(call.scope, body.source)
    checked, rows = await call.analyst.run(call.scope, name, call.role, body.vql, body.limit)
    return {"vql": checked.sql, "execution_result": answer_fields.execution_result(rows, body.limit)}


# The catalogue --------------------------------------------------------------------------------------------------------


@routes.add("GET /getMetadata", "put_data_source", model=METADATA)
async def get_metadata(call: Call, vdp_database_names: Databases = "") -> dict[str, Any]:
    """Read the schemas of the databases again and return them; for data stewards and admins."""
    sources = call.analyst.sources
    databases = []
    for name in await sources.find_names(call.scope, split_names(vdp_database_names)):
        opened, has_changed = await sources.refresh(call.scope, name)
        views = [{"view": table.name, "columns": [c.name for c in table.columns]} for table in opened.catalog.tables]
        databases.append({"database": name, "changed": has_changed, "views": views})
    return {"databases": databases}


@routes.write("DELETE /deleteMetadata", "put_data_source", model=json_object("DeletedMetadata", deleted=list[str]))
async def delete_metadata(call: Call, vdp_database_names: Databases = "") -> dict[str, Any]:
    """Forget the schemas of the databases, until they are read again; for data stewards and admins."""
    sources = call.analyst.sources
    names = await sources.find_names(call.scope, split_names(vdp_database_names))
    for name in names:
        await sources.empty(call.scope, name)
    return {"deleted": names}


@routes.add("GET /similaritySearch", "ask", model=json_object("SimilarViews", views=list[answer_fields.SimilarView]))
async def similarity_search(
    call: Call,
    query: str,
    vdp_database_names: Databases = "",
    n_results: Annotated[int, Query(ge=1, le=50)] = 5,
    scores: bool = False,
) -> dict[str, Any]:
    """Return the tables that match a text, best first."""
    sources = call.analyst.sources
    found = []
    for name in await sources.find_names(call.scope, split_names(vdp_database_names)):
        view = (await sources.find(call.scope, name)).view(call.role)
        found += similar_tables(name, view, query, n_results)
    found.sort(key=lambda each: -each["score"])
    if not found:
        raise NotFound("no table matches; /answerMetadataQuestion lists the tables")
    best = found[:n_results]
    return {"views": best if scores else [{k: v for k, v in each.items() if k != "score"} for each in best]}
