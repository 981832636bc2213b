"""Request bodies of the verbs and of the memory API. Only types are checked here; the library checks the values, so
that all interfaces refuse the same things with the same messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recollect.values.conversation import MAX_TURN_CHARS, Role, Turn
from recollect.values.identity import Grant
from recollect.values.identity import Role as KeyRole
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson, Owner
from recollect.values.memory import MemoryKind, Source
from recollect.values.query import MAX_BUDGET, MAX_HITS, MAX_QUERY_CHARS, Kind, Query, Reach, check_range
from recollect.values.scope import MAX_NAME
from recollect.values.term import Term, TermKind
from recollect.values.text import DEEPEST, is_deeper


def check_depth(data: dict[str, Any] | None) -> dict[str, Any] | None:
    if is_deeper(data, DEEPEST):
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    return data


Data = Annotated[
    dict[str, Any] | None, AfterValidator(check_depth), Field(description="What the application attaches.")
]


def chars(most: int) -> dict[str, Any]:
    """Return the length limits of a text, for OpenAPI."""
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
    """A body of our own interface. An unknown field is an error: it may be a misspelt one."""

    model_config = ConfigDict(extra="forbid")

    def check_ranges(self) -> None:
        """Raise InvalidInput for a number that is not between the limits of its field, where no verb checks it."""
        for name, about in type(self).model_fields.items():
            limits, value = about.json_schema_extra, getattr(self, name)
            if isinstance(limits, dict) and "minimum" in limits and value is not None:
                low, high = cast("float", limits["minimum"]), cast("float", limits["maximum"])
                check_range(name, value, low, high, whole=isinstance(value, int))


class OpenBody(Body):
    """A body of an interface that callers know from elsewhere. They may send fields that mean nothing here: these are
    ignored, and the response names them (`name_ignored`)."""

    # The schema does not invite them, so that the types of clients find a misspelt field.
    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: schema.pop("additionalProperties", None))


class ScopeBody(Body):
    """A body that names whose memory is meant."""

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


class RecordBody(ScopeBody):
    turns: list[TurnBody] = Field(
        json_schema_extra={"minItems": 1},
        examples=[
            [{"role": "user", "text": "Call our customers clients, please."}, {"role": "assistant", "text": "I will."}]
        ],
    )


class QueryBody(ScopeBody):
    text: str = Field(
        description="The question.",
        examples=["how many clients signed up in May?"],
        json_schema_extra=chars(MAX_QUERY_CHARS),
    )
    scope: Reach = "auto"
    kinds: list[Kind] = ["turn", "memory", "episode"]
    as_of: datetime | None = None
    limit: int = Field(default=10, description="How many hits a recall returns.", json_schema_extra=within(1, MAX_HITS))
    budget: int = Field(default=2000, description="Tokens of a context.", json_schema_extra=within(1, MAX_BUDGET))
    max_turns: int | None = Field(default=None, json_schema_extra=within(0, MAX_HITS))
    turn_chars: int = Field(default=600, json_schema_extra=within(50, 100_000))
    recent: int | None = Field(default=None, json_schema_extra=within(0, MAX_HITS))
    recency: float = Field(default=0.0, json_schema_extra=within(0, 10))
    exclude: list[str] = []
    definitions: dict[str, str] = Field(default={}, examples=[{"recent": "the last 7 days"}])

    def query(self) -> Query:
        given = self.model_dump(include=set(Query.__dataclass_fields__))
        return Query(**{**given, "kinds": tuple(self.kinds), "exclude": tuple(self.exclude)})


class RecallManyBody(ScopeBody):
    queries: list[QueryBody] = Field(
        max_length=50,
        description="Each may name its own user, project and session.",
        examples=[[{"text": "how many clients?"}, {"text": "who is Dana?"}]],
    )


class ResolveBody(ScopeBody):
    terms: list[str] = Field(examples=[["active", "clients"]], json_schema_extra={"minItems": 1, "maxItems": 100})
    definitions: dict[str, str] = {}


class LessonBody(ScopeBody):
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
    said_in: str | None = Field(default=None, description="The turn it comes from.", examples=["monday#1"])

    def lesson(self) -> Lesson:
        return Lesson(**self.model_dump(include=set(Lesson.__dataclass_fields__)))


class CorrectBody(ScopeBody):
    memory: str = Field(
        description="A memory's id, or `memory:<id>` as citations name it.",
        examples=["01890000-0000-7000-8000-000000000000"],
    )
    value: str = Field(examples=["logged in within 90 days"], json_schema_extra=VALUE)


class MemoryBody(Body):
    """Names the user and project of a memory; its id is in the path."""

    user: User = None
    project: Project = None


class ForgetBody(ScopeBody):
    """A memory; or a session; or, with neither and `everything`, all of the user's data."""

    memory: str | None = None
    everything: bool = Field(default=False, description="Must be true to forget a whole user.")


class MarkBody(ScopeBody):
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


class UserMemoryBody(OpenBody):
    """A user's memory, with the field names of the text-to-SQL API."""

    model_config = ConfigDict(populate_by_name=True)
    user_id: User = None
    memory_type: Literal["terminology", "preference", "definition", "correction"] | None = Field(
        default=None, alias="type", examples=["definition"]
    )
    key: str = Field(examples=["active"], json_schema_extra=NAME)
    value: str = Field(examples=["logged in within 30 days"], json_schema_extra=VALUE)
    source: Source = "explicit"
    confidence: float | None = Field(default=None, json_schema_extra=SHARE)


class UserMemoryPatch(OpenBody):
    value: str = Field(examples=["logged in within 90 days"], json_schema_extra=VALUE)
    user_id: User = None


class KnowledgeBody(OpenBody):
    """Both `{fact, category}` and `{fact_type, value, context}` are accepted."""

    fact: str | None = Field(default=None, examples=["The fiscal year ends in March."])
    category: str | None = Field(default=None, examples=["fiscal_year"])
    fact_type: str | None = None
    value: str | None = None
    context: str | None = None


class KeyBody(Body):
    """What a new key allows. It is valid in `project`, or with `every_project` in all projects."""

    role: KeyRole = Field(examples=["service"])
    name: str = Field(description="A name to recognize the key by.", examples=["web shop"], json_schema_extra=NAME)
    project: Project = None
    every_project: bool = Field(default=False, description="For the roles service and admin.")
    user: str | None = Field(default=None, description="Whose key; for the role user.")
    expires_at: datetime | None = None

    def grant(self, project: str | None) -> Grant:
        return Grant(role=self.role, name=self.name, project=project, user=self.user, expires_at=self.expires_at)
