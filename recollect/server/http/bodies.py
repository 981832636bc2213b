"""Request bodies of the verbs and of the memory API; bodies.toml has the descriptions, examples and limits of all. Only
types are checked here: the library checks the values, so that all interfaces give the same errors."""

from __future__ import annotations

import tomllib
from datetime import datetime
from importlib.resources import files
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recollect.server.access.responses import describe_limits
from recollect.values.conversation import Role, Turn
from recollect.values.identity import Grant
from recollect.values.identity import Role as KeyRole
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import MemoryKind, Source
from recollect.values.query import Kind, Query, Reach, check_range
from recollect.values.term import Term, TermKind
from recollect.values.text import DEEPEST, is_deeper

FIELDS = tomllib.loads(files("recollect.server.http").joinpath("bodies.toml").read_text("utf-8"))


def check_depth(data: dict[str, Any] | None) -> dict[str, Any] | None:
    if is_deeper(data, DEEPEST):
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    return data


Learnable = Literal["terminology", "preference", "definition", "correction"]
Data = Annotated[dict[str, Any] | None, AfterValidator(check_depth)]


class Body(BaseModel):
    """A body of our own interface. An unknown field is an error: it may be a misspelt one."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Add what bodies.toml says of the fields."""
        rows = FIELDS["every_body"] | FIELDS.get(cls.__name__, {})
        for name in cls.model_fields.keys() & rows.keys():
            about, row = cls.model_fields[name], rows[name]
            about.description, about.examples = row.get("description"), row.get("examples")
            about.json_schema_extra = describe_limits(row)
        cls.model_rebuild(force=True)

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

    user: str | None = None
    project: str | None = None
    session: str | None = None


class TurnBody(Body):
    role: Role
    text: str
    speaker: str | None = None
    at: datetime | None = None
    data: Data = None
    high_value: bool = False

    def turn(self) -> Turn:
        return Turn(self.role, self.text, self.speaker, self.at, self.data, self.high_value)


class RecordBody(ScopeBody):
    turns: list[TurnBody]


class QueryBody(ScopeBody):
    text: str
    scope: Reach = "auto"
    kinds: list[Kind] = ["turn", "memory", "episode"]
    as_of: datetime | None = None
    limit: int = 10
    budget: int = 2000
    max_turns: int | None = None
    turn_chars: int = 600
    recent: int | None = None
    recency: float = 0.0
    exclude: list[str] = []
    definitions: dict[str, str] = {}

    def query(self) -> Query:
        given = self.model_dump(include=set(Query.__dataclass_fields__))
        return Query(**{**given, "kinds": tuple(self.kinds), "exclude": tuple(self.exclude)})


class RecallManyBody(ScopeBody):
    queries: list[QueryBody] = Field(max_length=50)


class ResolveBody(ScopeBody):
    terms: list[str]
    definitions: dict[str, str] = {}


class LessonBody(ScopeBody):
    value: str
    key: str = "note"
    kind: MemoryKind = "note"
    source: Source = "explicit"
    owner: Owner | None = None
    confidence: float | None = None
    importance: float = 0.6
    data: Data = None
    question: str | None = None
    pending: bool = False
    said_in: str | None = None

    def lesson(self) -> Lesson:
        return Lesson(**self.model_dump(include=set(Lesson.__dataclass_fields__)))


class CorrectBody(ScopeBody):
    memory: str
    value: str


class MemoryBody(Body):
    """Names the user and project of a memory; its id is in the path."""

    user: str | None = None
    project: str | None = None


class ForgetBody(ScopeBody):
    """A memory; or a session; or, with neither and `everything`, all of the user's data."""

    memory: str | None = None
    everything: bool = False


class MarkBody(ScopeBody):
    ref: str
    high_value: bool = True


class OntologyBody(Body):
    project: str | None = None
    source: str | dict[str, Any]
    replace: bool = False


class TermBody(Body):
    project: str | None = None
    name: str
    kind: TermKind
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
    user_id: str | None = None
    memory_type: Learnable | None = Field(default=None, alias="type")
    key: str
    value: str
    source: Source = "explicit"
    confidence: float | None = None


class UserMemoryPatch(OpenBody):
    value: str
    user_id: str | None = None


class KnowledgeBody(OpenBody):
    """Both `{fact, category}` and `{fact_type, value, context}` are accepted."""

    fact: str | None = None
    category: str | None = None
    fact_type: str | None = None
    value: str | None = None
    context: str | None = None


class KeyBody(Body):
    """What a new key allows. It is valid in `project`, or with `every_project` in all projects."""

    role: KeyRole
    name: str
    project: str | None = None
    every_project: bool = False
    user: str | None = None
    expires_at: datetime | None = None

    def grant(self, project: str | None) -> Grant:
        return Grant(role=self.role, name=self.name, project=project, user=self.user, expires_at=self.expires_at)
