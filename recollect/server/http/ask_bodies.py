"""The request body of /answerQuestion. Every field of that interface is accepted; a field that this server does not
vary per request must match what is configured. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header
from pydantic import Field

from recollect.apps.ask.question import MAX_ROWS, Ask, Shown
from recollect.apps.ask.session_context import HEADER, read_session_context
from recollect.errors import InvalidInput
from recollect.server.access.request_checks import decode_utf8
from recollect.server.http.bodies import NAME, Body, Project, chars, within
from recollect.settings import Settings
from recollect.values.query import MAX_QUERY_CHARS, check_range

Mode = Literal["default", "data", "metadata"]
PROVIDER = "openai"  # the protocol of the model server and of the embedder


SessionContextHeader = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="JSON: time_focus, user_segment, exclude_test, custom_filters, definitions.",
        examples=['{"time_focus": "2024", "definitions": {"big": "amount > 1000"}}'],
    ),
]


class AskBody(Body):
    question: str = Field(json_schema_extra=chars(MAX_QUERY_CHARS), examples=["Total sales by region for 2024"])
    plot: bool = Field(default=False, description="Draw a chart of the result, if it suits one.")
    plot_details: str = Field(default="", description="Which kind of chart.", examples=["a pie chart"])
    embeddings_provider: str = ""
    embeddings_model: str = ""
    vector_store_provider: str = ""
    llm_provider: str = Field(default="", description="Only `openai`: any compatible server, as configured.")
    llm_model: str = ""
    llm_temperature: float = Field(default=0.0, json_schema_extra=within(0, 2))
    llm_max_tokens: int = Field(default=4096, json_schema_extra=within(1, 200_000))
    vdp_database_names: str = Field(default="", description="Data sources, separated by commas; empty: all.")
    vdp_tag_names: str = ""
    allow_external_associations: bool = False
    use_views: str = Field(default="", description="Tables that must be used: `source.table, ...`.")
    expand_set_views: bool = Field(default=True, description="false: use only the tables of `use_views`.")
    custom_instructions: str = ""
    markdown_response: bool = True
    vector_search_k: int = Field(default=5, json_schema_extra=within(1, 100))
    vector_search_sample_data_k: int = Field(default=3, json_schema_extra=within(0, 100))
    vector_search_total_limit: int = Field(default=20, json_schema_extra=within(1, 1000))
    vector_search_column_description_char_limit: int = Field(default=200, json_schema_extra=within(0, 100_000))
    vector_search_table_description_char_limit: int = Field(default=1000, json_schema_extra=within(0, 100_000))
    mode: Mode = "default"
    disclaimer: bool = True
    verbose: bool = Field(default=True, description="false: the answer is the SQL alone, without related questions.")
    check_ambiguity: bool = True
    vql_execute_rows_limit: int = Field(default=100, json_schema_extra=within(1, MAX_ROWS))
    llm_response_rows_limit: int = Field(default=100, json_schema_extra=within(1, MAX_ROWS))
    enable_query_fixer: bool = True
    enable_query_reviewer: bool | None = Field(
        default=None, description="Ask the model again if the result is empty. Left out: as `enable_query_fixer`."
    )
    user_id: str | None = Field(default=None, json_schema_extra=NAME, examples=["john@example.com"])
    session_id: str | None = Field(default=None, json_schema_extra=NAME)
    project: Project = None
    use_memory: bool = True
    max_history_messages: int | None = Field(default=None, json_schema_extra=within(1, 50))
    semantic_search_k: int | None = Field(default=None, json_schema_extra=within(0, 10), description="0: none.")


class ExecuteBody(Body):
    vql: str = Field(json_schema_extra=chars(MAX_QUERY_CHARS), examples=["SELECT count(*) FROM orders"])
    limit: int = Field(default=100, json_schema_extra=within(1, MAX_ROWS))
    source: str | None = Field(default=None, description="Which database; by default the project's only one.")
    project: Project = None


def make_ask(body: AskBody, role: str, settings: Settings, mode: str | None, context: str | None = None) -> Ask:
    """Return the question as the analyst takes it."""
    check_providers(body, settings)
    for field, low, high in RANGES:
        check_range(field, getattr(body, field), low, high, whole=field != "llm_temperature")
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
        told_rows=body.llm_response_rows_limit,
        shown=Shown(
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


RANGES: tuple[tuple[str, float, float], ...] = (
    ("llm_temperature", 0, 2),
    ("llm_max_tokens", 1, 200_000),
    ("vql_execute_rows_limit", 1, MAX_ROWS),
    ("llm_response_rows_limit", 1, MAX_ROWS),
    ("vector_search_k", 1, 100),
    ("vector_search_sample_data_k", 0, 100),
    ("vector_search_total_limit", 1, 1_000),
    ("vector_search_column_description_char_limit", 0, 100_000),
    ("vector_search_table_description_char_limit", 0, 100_000),
)


def split_names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
