"""What each tool takes. The schemas that clients see are made from these; only shapes are checked here, what a value
may be is the library's business, so that every door refuses the same things in the same words."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.model.lesson import MAX_VALUE_CHARS, Owner
from recollect.model.memory import MemoryKind
from recollect.model.scope import MAX_NAME
from recollect.model.search import MAX_BUDGET, MAX_HITS, MAX_QUERY_CHARS, Kind, Reach

AN_ID = "01997f3e-6c1a-7d52-9f0e-3b8f5c2d7a10"
Mode = Literal["default", "data", "metadata"]


def chars(most: int) -> dict[str, Any]:
    return {"minLength": 1, "maxLength": most}


Id = Annotated[
    str,
    Field(
        description="The memory's id, or `memory:<id>` as search_memories and get_context cite it.",
        examples=[AN_ID, f"memory:{AN_ID}"],
    ),
]
Session = Annotated[
    str | None,
    Field(
        description="Which conversation this belongs to; by default the connection's, if it has one.",
        examples=["monday"],
        json_schema_extra=chars(MAX_NAME),
    ),
]
Question = Annotated[
    str,
    Field(
        description="What to look for, in plain words; a whole question finds more than keywords.",
        examples=["When does Alex want the weekly report?"],
        json_schema_extra=chars(MAX_QUERY_CHARS),
    ),
]
Scope = Annotated[
    Reach,
    Field(description="How far to look: `auto` begins with the session and widens when it finds little."),
]


class Arguments(BaseModel):
    """An argument that no tool has is refused: it is a mistake that the assistant can mend."""

    model_config = ConfigDict(extra="forbid")


class AddMemory(Arguments):
    text: str = Field(
        description="What to remember, in one sentence that can be understood on its own.",
        examples=["Wants the weekly report on Monday mornings."],
        json_schema_extra=chars(MAX_VALUE_CHARS),
    )
    key: str | None = Field(
        default=None,
        description="What it is about. A term with the kind `definition`; without a key it is a note.",
        examples=["active customer"],
        json_schema_extra=chars(MAX_NAME),
    )
    kind: MemoryKind = Field(default="note", description="What kind of thing it is.", examples=["preference"])
    owner: Owner | None = Field(
        default=None,
        description="Who is to know it: this user, or everybody in the project. By default the wording decides.",
        examples=["user"],
    )


class SearchMemories(Arguments):
    query: Question
    limit: int = Field(
        default=10,
        description="Most turns to find; what is known about it comes beside them.",
        examples=[5],
        json_schema_extra={"minimum": 1, "maximum": MAX_HITS},
    )
    kinds: list[Kind] = Field(
        default=["turn", "memory", "episode"],
        description="What to look for: what was said, what is known, conversations in short.",
        examples=[["memory"]],
    )
    scope: Scope = "auto"
    session: Session = None
    as_of: datetime | None = Field(
        default=None,
        description="As if nothing had been said after this time; without a zone it is UTC.",
        examples=["2026-05-01T14:30:00"],
    )


class GetMemory(Arguments):
    memory_id: Id


class UpdateMemory(Arguments):
    memory_id: Id
    text: str = Field(
        description="What is true instead.",
        examples=["Wants the weekly report on Friday afternoons."],
        json_schema_extra=chars(MAX_VALUE_CHARS),
    )


class DeleteMemory(Arguments):
    memory_id: Id


class MemoryHistory(Arguments):
    memory_id: Id


class GetContext(Arguments):
    query: Question
    budget: int = Field(
        default=2000,
        description="Most tokens of text.",
        examples=[1000],
        json_schema_extra={"minimum": 1, "maximum": MAX_BUDGET},
    )
    scope: Scope = "auto"
    session: Session = None


class ResolveTerm(Arguments):
    term: str = Field(
        description="The word or phrase.", examples=["active customer"], json_schema_extra=chars(MAX_QUERY_CHARS)
    )
    definitions: dict[str, str] = Field(
        default={},
        description="What words mean in this conversation; it counts before everything else.",
        examples=[{"recent": "the last 7 days"}],
    )


class AskDatabase(Arguments):
    question: str = Field(
        description="The question, in plain words. Follow-ups (`and in 2023?`) go on in the same session.",
        examples=["total sales by region for 2024"],
        json_schema_extra=chars(MAX_QUERY_CHARS),
    )
    source: str | None = Field(
        default=None,
        description="Which database; by default the one whose words fit.",
        examples=["shop"],
        json_schema_extra=chars(MAX_NAME),
    )
    session: Session = None
    mode: Mode = Field(
        default="default",
        description="`data`: the answer is rows; `metadata`: it is about tables and columns; by default either.",
    )


class AskDocuments(Arguments):
    question: str = Field(
        description="The question, in plain words. Follow-ups (`and on Sundays?`) go on in the same session.",
        examples=["How much is a tyre change?"],
        json_schema_extra=chars(MAX_QUERY_CHARS),
    )
    documents: list[str] | None = Field(
        default=None,
        description="Only in the documents of these ids, as earlier answers cite them; by default in all.",
        examples=[[AN_ID]],
    )
    session: Session = None
