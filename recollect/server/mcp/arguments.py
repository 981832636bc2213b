"""The arguments of each tool; the schemas that clients see are made from them. Only types are checked here: the library
checks values, so that every interface gives the same errors."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.values.lesson import MAX_VALUE_CHARS, Owner
from recollect.values.memory import MemoryKind
from recollect.values.query import MAX_BUDGET, MAX_HITS, MAX_QUERY_CHARS, Kind, Reach
from recollect.values.scope import MAX_NAME

EXAMPLE_ID = "01997f3e-6c1a-7d52-9f0e-3b8f5c2d7a10"
Mode = Literal["default", "data", "metadata"]


def length(maximum: int) -> dict[str, Any]:
    """Return the schema's length limits; the library enforces them."""
    return {"minLength": 1, "maxLength": maximum}


Id = Annotated[
    str,
    Field(
        description="The memory's id, or `memory:<id>` as cited by search_memories and get_context.",
        examples=[EXAMPLE_ID, f"memory:{EXAMPLE_ID}"],
    ),
]
Session = Annotated[
    str | None,
    Field(
        description="The conversation this belongs to; default: the connection's session, if any.",
        examples=["monday"],
        json_schema_extra=length(MAX_NAME),
    ),
]
Question = Annotated[
    str,
    Field(
        description="The question in natural language; a whole question works better than keywords.",
        examples=["When does Alex want the weekly report?"],
        json_schema_extra=length(MAX_QUERY_CHARS),
    ),
]
Scope = Annotated[
    Reach,
    Field(description="Where to search: `auto` starts with the session and widens if it finds little."),
]


class Arguments(BaseModel):
    """Unknown arguments are refused, so that the assistant can correct its mistake."""

    model_config = ConfigDict(extra="forbid")


class AddMemory(Arguments):
    text: str = Field(
        description="What to remember, as one self-contained sentence.",
        examples=["Wants the weekly report on Monday mornings."],
        json_schema_extra=length(MAX_VALUE_CHARS),
    )
    key: str | None = Field(
        default=None,
        description="What it is about, such as the term of a `definition`; without a key it is a note.",
        examples=["active customer"],
        json_schema_extra=length(MAX_NAME),
    )
    kind: MemoryKind = Field(default="note", description="The kind of memory.", examples=["preference"])
    owner: Owner | None = Field(
        default=None,
        description="Who it belongs to: this user, or everyone in the project. By default the wording decides.",
        examples=["user"],
    )


class SearchMemories(Arguments):
    query: Question
    limit: int = Field(
        default=10,
        description="Maximum number of turns; matching memories are returned in addition.",
        examples=[5],
        json_schema_extra={"minimum": 1, "maximum": MAX_HITS},
    )
    kinds: list[Kind] = Field(
        default=["turn", "memory", "episode"],
        description="What to search: turns, memories, episodes (summaries of conversations).",
        examples=[["memory"]],
    )
    scope: Scope = "auto"
    session: Session = None
    as_of: datetime | None = Field(
        default=None,
        description="Ignore everything after this time; UTC unless it has a time zone.",
        examples=["2026-05-01T14:30:00"],
    )


class GetMemory(Arguments):
    memory_id: Id


class UpdateMemory(Arguments):
    memory_id: Id
    text: str = Field(
        description="The correct value.",
        examples=["Wants the weekly report on Friday afternoons."],
        json_schema_extra=length(MAX_VALUE_CHARS),
    )


class DeleteMemory(Arguments):
    memory_id: Id


class MemoryHistory(Arguments):
    memory_id: Id


class GetContext(Arguments):
    query: Question
    budget: int = Field(
        default=2000,
        description="Maximum number of tokens.",
        examples=[1000],
        json_schema_extra={"minimum": 1, "maximum": MAX_BUDGET},
    )
    scope: Scope = "auto"
    session: Session = None


class ResolveTerm(Arguments):
    term: str = Field(
        description="The word or phrase.", examples=["active customer"], json_schema_extra=length(MAX_QUERY_CHARS)
    )
    definitions: dict[str, str] = Field(
        default={},
        description="What words mean in this conversation; takes precedence over everything else.",
        examples=[{"recent": "the last 7 days"}],
    )


class AskDatabase(Arguments):
    question: str = Field(
        description="The question in natural language. Follow-ups (`and in 2023?`) need the same session.",
        examples=["total sales by region for 2024"],
        json_schema_extra=length(MAX_QUERY_CHARS),
    )
    source: str | None = Field(
        default=None,
        description="The database to ask; default: the one that matches the question.",
        examples=["shop"],
        json_schema_extra=length(MAX_NAME),
    )
    session: Session = None
    mode: Mode = Field(
        default="default",
        description="`data`: answer with rows; `metadata`: answer about tables and columns; default: either.",
    )


class AskDocuments(Arguments):
    question: str = Field(
        description="The question in natural language. Follow-ups (`and on Sundays?`) need the same session.",
        examples=["How much is a tyre change?"],
        json_schema_extra=length(MAX_QUERY_CHARS),
    )
    documents: list[str] | None = Field(
        default=None,
        description="Ids of the documents to search, as cited by earlier answers; default: all.",
        examples=[[EXAMPLE_ID]],
    )
    session: Session = None
