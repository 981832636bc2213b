"""What callers send, as OpenAPI shows it. Only shapes are checked here; what a value may be is the library's business,
so that every door refuses the same things in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recollect.model.api_key import Grant
from recollect.model.api_key import Role as KeyRole
from recollect.model.conversation import MAX_TURN_CHARS, Role, Turn
from recollect.model.lesson import MAX_VALUE_CHARS, Lesson, Owner
from recollect.model.memory import MemoryKind, Source
from recollect.model.ontology import Term, TermKind
from recollect.model.scope import MAX_NAME
from recollect.model.search import MAX_BUDGET, MAX_HITS, MAX_QUERY_CHARS, Kind, Query, Reach

DEEPEST = 100  # levels of what a host attaches; some thousand would be more than a stack holds when it is written out


def shallow(data: dict[str, Any] | None) -> dict[str, Any] | None:
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in parts(each)]
        if not level:
            return data
    raise ValueError(f"nested more than {DEEPEST} levels deep")


def parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


Data = Annotated[dict[str, Any] | None, AfterValidator(shallow), Field(description="What the host attaches.")]


def chars(most: int) -> dict[str, Any]:
    """For the schema: how long a text may be."""
    return {"minLength": 1, "maxLength": most}


def within(low: float, high: float) -> dict[str, Any]:
    return {"minimum": low, "maximum": high}


NAME = chars(MAX_NAME)
SHARE = within(0, 1)
VALUE = chars(MAX_VALUE_CHARS)
User = Annotated[
    str | None,
    Field(description="Whose memory; by default the caller's own.", examples=["alex"], json_schema_extra=NAME),
]
Project = Annotated[
    str | None, Field(description="The project; by default the caller's.", examples=["shop"], json_schema_extra=NAME)
]
Session = Annotated[str | None, Field(description="The session.", examples=["monday"], json_schema_extra=NAME)]


class Body(BaseModel):
    """Unknown fields are ignored: a newer client may speak to an older server."""

    model_config = ConfigDict(extra="ignore", arbitrary_types_allowed=True)


class Whose(Body):
    user: User = None
    project: Project = None
    session: Session = None


class TurnBody(Body):
    role: Role = Field(examples=["user"])
    text: str = Field(json_schema_extra=chars(MAX_TURN_CHARS), examples=["Call our customers clients, please."])
    speaker: str | None = Field(default=None, json_schema_extra=NAME)
    at: datetime | None = None
    data: Data = None
    high_value: bool = False

    def turn(self) -> Turn:
        return Turn(self.role, self.text, self.speaker, self.at, self.data, self.high_value)


class RecordBody(Whose):
    turns: list[TurnBody] = Field(
        json_schema_extra={"minItems": 1},
        examples=[
            [{"role": "user", "text": "Call our customers clients, please."}, {"role": "assistant", "text": "I will."}]
        ],
    )


class QueryBody(Whose):
    text: str = Field(
        description="The question.",
        examples=["how many clients signed up in May?"],
        json_schema_extra=chars(MAX_QUERY_CHARS),
    )
    scope: Reach = "auto"
    kinds: list[Kind] = ["turn", "memory", "episode"]
    as_of: datetime | None = None
    limit: int = Field(default=10, description="Hits of recall.", json_schema_extra=within(1, MAX_HITS))
    budget: int = Field(default=2000, description="Tokens of context.", json_schema_extra=within(1, MAX_BUDGET))
    max_turns: int | None = Field(default=None, json_schema_extra=within(0, MAX_HITS))
    turn_chars: int = Field(default=600, json_schema_extra=within(50, 100_000))
    recent: int | None = Field(default=None, json_schema_extra=within(0, MAX_HITS))
    recency: float = Field(default=0.0, json_schema_extra=within(0, 10))
    exclude: list[str] = []
    definitions: dict[str, str] = Field(default={}, examples=[{"recent": "the last 7 days"}])

    def query(self) -> Query:
        given = self.model_dump(include=set(Query.__dataclass_fields__))
        return Query(**{**given, "kinds": tuple(self.kinds), "exclude": tuple(self.exclude)})


class RecallManyBody(Whose):
    queries: list[QueryBody] = Field(
        max_length=50,
        description="Each may name its own user, project and session.",
        examples=[[{"text": "how many clients?"}, {"text": "who is Dana?"}]],
    )


class ResolveBody(Whose):
    terms: list[str] = Field(examples=[["active", "clients"]], json_schema_extra={"minItems": 1, "maxItems": 100})
    definitions: dict[str, str] = {}


class LessonBody(Whose):
    value: str = Field(examples=["logged in within 30 days"], json_schema_extra=VALUE)
    key: str = Field(default="note", examples=["active"], json_schema_extra=NAME)
    kind: MemoryKind = Field(default="note", examples=["definition"])
    source: Source = "explicit"
    owner: Owner | None = None
    confidence: float | None = Field(default=None, json_schema_extra=SHARE)
    importance: float = Field(default=0.6, json_schema_extra=SHARE)
    data: Data = None
    question: str | None = Field(default=None, json_schema_extra=VALUE)
    pending: bool = False
    said_in: str | None = Field(default=None, description="The turn that it comes from.", examples=["monday#1"])

    def lesson(self) -> Lesson:
        return Lesson(**self.model_dump(include=set(Lesson.__dataclass_fields__)))


class CorrectBody(Whose):
    memory: str = Field(
        description="A memory's id, or `memory:<id>` as citations name it.",
        examples=["01890000-0000-7000-8000-000000000000"],
    )
    value: str = Field(examples=["logged in within 90 days"], json_schema_extra=VALUE)


class MemoryBody(Whose):
    """Says whose memory is meant; the id is in the path."""


class ForgetBody(Whose):
    """A memory; or a session; or, with neither, everything of the user."""

    memory: str | None = None
    everything: bool = Field(default=False, description="Must be true to forget a whole user.")


class MarkBody(Whose):
    ref: str = Field(examples=["monday#3"])
    high_value: bool = True


class OntologyBody(Body):
    project: Project = None
    source: str | dict[str, Any] = Field(
        description="YAML or JSON text, or the same as an object.",
        examples=[{"tables": {"customers": {"description": "One row per person.", "synonyms": ["clients"]}}}],
    )
    replace: bool = False


class TermBody(Body):
    project: Project = None
    name: str = Field(examples=["orders.total"], json_schema_extra=NAME)
    kind: TermKind = Field(examples=["column"])
    description: str = ""
    synonyms: list[str] = []
    sql: str | None = None
    data: dict[str, Any] = {}

    def term(self) -> Term:
        given = self.model_dump(exclude={"project"})
        return Term(**{**given, "synonyms": tuple(self.synonyms)})


class UserMemoryBody(Body):
    """A memory of a user, as the text-to-SQL API names its fields."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)
    user_id: User = None
    memory_type: Literal["terminology", "preference", "definition", "correction"] | None = Field(
        default=None, alias="type", examples=["definition"]
    )
    key: str = Field(examples=["active"], json_schema_extra=NAME)
    value: str = Field(examples=["logged in within 30 days"], json_schema_extra=VALUE)
    source: Source = "explicit"
    confidence: float | None = Field(default=None, json_schema_extra=SHARE)


class UserMemoryPatch(Body):
    value: str = Field(examples=["logged in within 90 days"], json_schema_extra=VALUE)
    user_id: User = None


class KnowledgeBody(Body):
    """Both `{fact, category}` and `{fact_type, value, context}` are accepted."""

    fact: str | None = Field(default=None, examples=["The fiscal year ends in March."])
    category: str | None = Field(default=None, examples=["fiscal_year"])
    fact_type: str | None = None
    value: str | None = None
    context: str | None = None


class KeyBody(Body):
    """What a new key is to permit. It belongs to `project`, unless it is to be good for every one."""

    role: KeyRole = Field(examples=["service"])
    name: str = Field(description="How people tell it from others.", examples=["web shop"], json_schema_extra=NAME)
    project: Project = None
    every_project: bool = Field(default=False, description="For the roles service and admin.")
    user: str | None = Field(default=None, description="Whose key; for the role user.")
    expires_at: datetime | None = None

    def grant(self, project: str | None) -> Grant:
        return Grant(role=self.role, name=self.name, project=project, user=self.user, expires_at=self.expires_at)
