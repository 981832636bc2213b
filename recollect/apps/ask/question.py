"""Ask and Answer: a question to a database, and what came of it, as every interface of this application knows them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from recollect.apps.ask.interpret.frame import Frame
from recollect.apps.ask.sources.running import Rows
from recollect.errors import InvalidInput
from recollect.values.conversation import Conversation, Turn
from recollect.values.lesson import Owner
from recollect.values.memory import Memory
from recollect.values.query import MAX_QUERY_CHARS, check_range
from recollect.values.scope import MemoryId, RequestId
from recollect.values.text import check_text

T = TypeVar("T")
OnText = Callable[[str], Awaitable[None]]
Way = Literal["repeat", "pattern", "frame", "edit", "model", "given"]
MAX_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a word was taken to mean, and who says so."""

    term: str
    meaning: str
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Choice:
    """An interpretation that is offered. `frame` is enough to answer it later; `teaches` are pairs of a word and what
    choosing this says that it means, empty where the choice is about this question only. `question` is what it answers;
    empty where it leaves out words, or changes the last answer, so that it does not answer the question alone."""

    id: str
    label: str
    frame: Mapping[str, Any] = field(default_factory=dict)
    teaches: tuple[tuple[str, str], ...] = ()
    sql: str = ""  # where a model wrote it and there is no frame
    question: str = ""


@dataclass(frozen=True, slots=True)
class Clarification:
    """What has to be known before a question can be answered. `suggestions` are the labels of the choices, or texts
    that a model proposes."""

    term: str
    question: str
    suggestions: tuple[str, ...] = ()
    category: str = "unknown"
    id: str = ""
    choices: tuple[Choice, ...] = ()

    @property
    def is_ambiguous(self) -> bool:
        """Whether every word is known, and only the readings differ."""
        return self.category == "ambiguous" and bool(self.choices)


@dataclass(frozen=True, slots=True)
class Learned:
    """A memory that an answer taught; deleting it by its id takes that back. `replaces` is what the term meant to the
    user before."""

    id: str
    term: str
    meaning: str
    scope: Owner
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class SchemaLimits:
    """How much of a database a model is shown."""

    is_whole: bool = True  # all tables, if they are not too many to read; otherwise:
    tables: int = 5  # those linked to the question; what joins them comes on top
    most: int = 20
    values: int = 3  # rows of a table
    column_chars: int = 200  # of a description
    table_chars: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`source` None: the project's, if it has one; else the one whose words fit. `role` decides what may be seen."""

    question: str
    source: str | None = None
    sources: tuple[str, ...] = ()  # those that come into question; none: all of the project
    tags: tuple[str, ...] = ()
    role: str = "admin"
    remembers: bool = True  # somebody asks whose memory counts
    context: SessionContext | None = None  # None: the one of the session's last question
    history: int | None = None  # interactions that are looked back at; None: the setting
    similar: int | None = None  # earlier questions that are looked for; 0: none
    views: tuple[str, ...] = ()  # tables that must be there, `source.table` or `table`
    only_views: bool = False  # and no others
    instructions: str = ""
    rows: int = 100
    execute: bool = True
    clarify: bool = True  # ask rather than assume
    fix: bool = True  # ask the model again where the database refuses its statement
    review: bool = True  # and where the result is empty
    samples: int | None = None  # statements that a model is asked for; 1: the cheap mode; None: the setting
    by_model: bool = True
    model_rows: int = 100  # rows that a model is shown for its answer
    schema: SchemaLimits = SchemaLimits()
    verbose: bool = True
    markdown: bool = True
    model: str = ""  # another one at the same server
    temperature: float = 0.0
    max_tokens: int = 4096
    choice: Choice | None = None  # one that was offered for an earlier question; answered as it stands
    on_text: OnText | None = field(default=None, compare=False)  # gets a model's answer piece by piece
    learns: bool = True  # whether a choice may teach
    learned: tuple[Learned, ...] = ()  # what was taught with this question

    def __post_init__(self) -> None:
        check_text("question", self.question, MAX_QUERY_CHARS)
        if not self.question.strip():
            raise InvalidInput("question", "is empty")
        check_range("rows", self.rows, 1, MAX_ROWS)
        if self.history is not None:
            check_range("max_history_messages", self.history, 1, 50)
        if self.similar is not None:
            check_range("semantic_search_k", self.similar, 0, 10)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and seconds."""

    input_tokens: int = 0
    output_tokens: int = 0
    llm: float = 0.0
    search: float = 0.0
    sql: float = 0.0
    memory: float = 0.0
    whole: float = 0.0


@dataclass(frozen=True, slots=True)
class MemoryUsed:
    """What memory gave; history and similar count interactions. `conversation` is as it stands after this one."""

    history: int = 0
    similar: int = 0
    tokens: int = 0
    truncated: bool = False
    request_id: RequestId | None = None
    conversation: Conversation | None = None
    is_summarized: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Without `sql` it is a question back (`clarifications`), or a refusal that `text` explains. `memory` None: it took
    no part, or failed; the answer may be in the log all the same. Each way to an answer begins one with its statement,
    confidence and assumptions; the analyst runs and words it."""

    question: str
    text: str = ""
    source: str = ""
    dialect: str = ""
    sql: str = ""
    explanation: str = ""
    title: str = ""  # what the rows are, in words
    headers: tuple[str, ...] = ()  # of the columns, in words
    rows: Rows | None = None
    full_sql: str = ""  # `sql` without the row cap
    error: str | None = None
    tables: tuple[str, ...] = ()
    way: Way | None = None
    pattern: str | None = None
    examples: int = 0
    confidence: float = 1.0
    clarifications: tuple[Clarification, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    frame: Frame | None = None
    standalone: str | None = None
    related: tuple[str, ...] = ()
    related_tables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    model: str | None = None
    spent: Spent = field(default_factory=Spent)
    memory: MemoryUsed | None = None
    ref: str | None = None  # the answer in the log
    session: str | None = None
    used: tuple[MemoryId, ...] = ()
    learned: tuple[Learned, ...] = ()

    @property
    def needs_clarification(self) -> bool:
        return not self.sql and bool(self.clarifications)


HEADER = "X-Session-Context"
MAX_CHARS = 8_000
MAX_ENTRIES = 50
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SessionContext:
    time_focus: str = ""  # "Q4 2024": holds where a question names no period
    user_segment: str = ""  # a value that stands in the data, e.g. "premium"
    exclude_test: bool = False
    custom_filters: Mapping[str, Scalar] = field(default_factory=dict)  # column, or table.column, to its value
    definitions: Mapping[str, str] = field(default_factory=dict)


def read_session_context(text: str | None) -> SessionContext | None:
    """Return the context that a header gives; None without a header. An empty object ends an earlier context."""
    if not text:
        return None
    if len(text) > MAX_CHARS:
        raise InvalidInput(HEADER, f"give a JSON object of at most {MAX_CHARS:,} characters")
    try:
        given = json.loads(text)
        fields = {name: value for name, value in given.items() if value is not None}
        context: SessionContext = msgspec.convert(fields, SessionContext)
    except msgspec.ValidationError as error:
        raise InvalidInput(HEADER, str(error)) from None
    except AttributeError:
        raise InvalidInput(HEADER, "give a JSON object") from None
    except (ValueError, RecursionError):
        raise InvalidInput(HEADER, "is not JSON") from None
    for name in ("custom_filters", "definitions"):
        if len(getattr(context, name)) > MAX_ENTRIES:
            raise InvalidInput(HEADER, f"{name}: at most {MAX_ENTRIES} entries")
    return context


def get_data(stored: Turn | Memory) -> Mapping[str, Any]:
    """Return what is stored with a turn or a memory; empty if that is nothing."""
    return stored.data or {}


def read_stored_context(turn: Turn) -> SessionContext | None:
    """Return the context stored with a turn, if there is one."""
    stored = get_data(turn).get("context")
    return read_stored(stored, SessionContext) if isinstance(stored, Mapping) else None


def read_stored(value: Any, kind: type[T]) -> T:
    """Return a value of one of these classes from the data of a turn. Raises TypeError if it is not one of ours."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise TypeError(f"the data of this turn are not ours: {error}") from None


# Clarifications -----------------------------------------------------------------------------------------------

# The vague words of the seed, by category.
CATEGORIES = {
    "temporal": ("recent", "recently", "latest", "current", "currently", "new", "old", "最近", "当前"),
    "quantitative": ("top", "best", "high", "significant", "big", "large", "low", "good", "worst", "重要"),
    "state": ("active", "valid", "inactive", "invalid", "open", "closed", "available", "pending", "活跃", "有效"),
    "aggregation": ("summary", "overview", "performance", "statistics", "report", "汇总", "业绩"),
    "entity": ("it", "they", "them", "this", "that", "those", "these", "他们", "它"),
}


def find_category(term: str) -> str:
    return next((name for name, words in CATEGORIES.items() if term.casefold() in words), "unknown")


def read_clarifications(data: Mapping[str, Any]) -> tuple[Clarification, ...]:
    """Return the clarifications stored with a turn."""
    return read_stored(data.get("clarifications") or (), tuple[Clarification, ...])


def list_offered(data: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Return the choices that an answer offered, in order."""
    return tuple(choice for each in read_clarifications(data) for choice in each.choices)
