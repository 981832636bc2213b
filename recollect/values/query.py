"""Query -> Recall -> Context: what is asked, what was found and why, and what fits into the prompt.

A new search option is a field of Query with a default; every interface then has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.values.conversation import Episode, Turn, to_utc
from recollect.values.memory import Memory
from recollect.values.resolution import Resolution
from recollect.values.scope import MAX_NAME, ConversationId, RequestId, Tier
from recollect.values.text import check_text

Reached = Literal["session", "user"]
Reach = Literal["auto", Reached]
Kind = Literal["turn", "memory", "episode"]
Section = Literal["terms", "known", "episodes", "recalled", "recent"]
Path = Literal["hybrid", "fts", "vector", "trgm", "window", "none"]

MAX_QUERY_CHARS = 20_000
MAX_HITS = 200
MAX_BUDGET = 200_000
MAX_REF = MAX_NAME + 20


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for. `auto` searches the session first and widens to the user if that finds little."""

    text: str
    scope: Reach = "auto"
    kinds: tuple[Kind, ...] = ("turn", "memory", "episode")
    as_of: datetime | None = None  # as if nothing had been said after it
    limit: int = 10  # hits of recall
    budget: int = 2000  # tokens of context
    max_turns: int | None = None  # recalled turns in a context; None: as many as fit
    turn_chars: int = 600  # a longer turn enters a context as an excerpt
    recent: int | None = None  # last turns of the session in a context; None: the setting
    recency: float = 0.0  # weight of being recent
    fallback: int = 0  # statements of the user to return at least: when little matches, the best of the rest
    exclude: tuple[str, ...] = ()  # refs of turns not to find, e.g. the question's own
    definitions: Mapping[str, str] = field(default_factory=dict)  # what words mean in this session

    def __post_init__(self) -> None:
        check_text("text", self.text, MAX_QUERY_CHARS)
        check_choice("scope", self.scope, get_args(Reach))
        check_choices("kinds", self.kinds, get_args(Kind))
        _check_type("exclude", self.exclude, "tuple", tuple, list)
        _check_type("definitions", self.definitions, "mapping", Mapping)
        for ref in self.exclude:
            check_text("exclude", ref, MAX_REF)
        for term, meaning in self.definitions.items():
            check_text("definitions", term, MAX_NAME)
            check_text(f"definitions[{term!r}]", meaning, MAX_QUERY_CHARS)
        check_range("limit", self.limit, 1, MAX_HITS)
        check_range("budget", self.budget, 1, MAX_BUDGET)
        check_range("turn_chars", self.turn_chars, 50, 100_000)
        check_range("recency", self.recency, 0, 10, whole=False)
        check_range("fallback", self.fallback, 0, MAX_HITS)
        check_range("max_turns", self.max_turns, 0, MAX_HITS, optional=True)
        check_range("recent", self.recent, 0, MAX_HITS, optional=True)
        if self.as_of is not None:
            object.__setattr__(self, "as_of", to_utc("as_of", self.as_of))


@dataclass(frozen=True, slots=True)
class Arm:
    """The rank and score that one search arm gave a hit."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Outdated:
    """A statement of a turn that a later turn may replace or end."""

    statement: str
    by: str  # the later turn
    probability: float

    @property
    def is_sure(self) -> bool:
        return self.probability >= 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn that was found, how, and its score. `parts` add up to `score`."""

    turn: Turn
    conversation: ConversationId
    tier: Tier
    score: float
    arms: Mapping[str, Arm]
    parts: Mapping[str, float]
    words: tuple[str, ...]  # of the query, that it has
    rank: int = 0  # from 1, in the order of the recall
    outdated: tuple[Outdated, ...] = ()  # of what it says
    similarity: float = 0.0  # of its words to the question's, above the average; only for answers without a model

    @property
    def source(self) -> str:
        return self.turn.ref

    @property
    def text(self) -> str:
        return self.turn.text

    @property
    def why(self) -> str:
        """A one-line explanation."""
        return explain_hit(self.words, self.arms, self.parts)


@dataclass(frozen=True, slots=True)
class Recall:
    """What was found, best first. `notes` says what could not be done, such as searching by vectors."""

    request_id: RequestId
    query: Query
    hits: Sequence[Hit]
    found: int  # turns that any arm found; hits are the best of them
    counts: Mapping[str, int]  # turns that each arm found
    scope_used: Reached
    widened: str | None  # why the search left the session
    path: Path
    terms: Mapping[str, float]  # lexemes of the query and their weights
    notes: tuple[str, ...] = ()
    memories: Sequence[MemoryHit] = ()  # matching memories
    episodes: Sequence[EpisodeHit] = ()
    resolved: Sequence[Resolution] = ()  # what its words mean here


@dataclass(frozen=True, slots=True)
class Line:
    """One numbered line of a context. `source` names the turn, memory, episode or term it comes from."""

    number: int
    section: Section
    source: str
    text: str
    tokens: int = 0
    excerpt: bool = False
    speaker: str | None = None  # of a turn
    day: tuple[str | None, str] = (None, "")  # session and date of a turn
    order: int = 0

    @property
    def recent(self) -> bool:
        """Whether it is there because it was said last, not because it was found."""
        return self.section == "recent"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A result that is not in the context, and why."""

    source: str
    reason: str
    is_over_budget: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Text for a prompt, within its budget, each line with its source."""

    recall: Recall
    text: str
    lines: Sequence[Line]
    tokens: int
    left_out: Sequence[LeftOut] = field(default_factory=tuple)

    @property
    def hits(self) -> list[Hit | MemoryHit | EpisodeHit]:
        packed = {line.source for line in self.lines}
        found: list[Hit | MemoryHit | EpisodeHit] = [*self.recall.memories, *self.recall.episodes, *self.recall.hits]
        return [hit for hit in found if hit.source in packed]

    @property
    def truncated(self) -> bool:
        """Whether the token budget was too small for everything that was found."""
        return any(each.is_over_budget for each in self.left_out)

    @property
    def request_id(self) -> RequestId:
        return self.recall.request_id


PART_NAMES = {
    "neighbours": "next to a message that matches",
    "session": "the conversation is about it",
    "speaker": "from the person the question is about",
    "kind": "states something",
    "recency": "recent",
}
LEAST_PART = 0.2  # of the score from which a part is a reason


def explain_hit(words: Sequence[str], arms: Mapping[str, Arm], parts: Mapping[str, float]) -> str:
    reasons = []
    if words:
        reasons.append(f"words {', '.join(words)} (#{arms['bm25'].rank} by words)")
    if "trigram" in arms:
        reasons.append("a word that is spelt similarly")
    if "vector" in arms:
        reasons.append(f"meaning {arms['vector'].score:.2f} (#{arms['vector'].rank})")
    return "; ".join([*reasons, *explain_parts(parts)]) or "nothing better was found"


def explain_parts(parts: Mapping[str, float]) -> list[str]:
    """Return the reasons other than words and meaning."""
    return [text for part, text in PART_NAMES.items() if parts.get(part, 0) >= LEAST_PART]


def check_range(name: str, value: Any, low: float, high: float, whole: bool = True, *, optional: bool = False) -> None:
    """Raise InvalidInput for anything but a number between two others; None is accepted where it is `optional`."""
    if optional and value is None:
        return
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InvalidInput(name, f"{value!r} is not a {'whole ' if whole else ''}number")
    if not low <= value <= high:
        raise InvalidInput(name, f"{value} is not between {low:,} and {high:,}")


def _check_type(name: str, value: object, wanted: str, *kinds: type) -> None:
    if not isinstance(value, kinds):
        raise InvalidInput(name, f"must be a {wanted}, got {type(value).__name__}")


def check_choice(name: str, value: Any, choices: Sequence[str], *, optional: bool = False) -> None:
    if value not in choices and not (optional and value is None):
        raise InvalidInput(name, f"{value!r} is not one of {', '.join(choices)}")


def check_choices(name: str, values: Any, choices: Sequence[str], *, optional: bool = False) -> None:
    """Raise InvalidInput for anything but a list or tuple of choices; None is accepted where it is `optional`."""
    if optional and values is None:
        return
    if not isinstance(values, list | tuple):
        raise InvalidInput(name, f"must be a list such as {[choices[0]]}, got {values!r}")
    for value in values:
        check_choice(name, value, choices)


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that matches the question, or that is in every context."""

    memory: Memory
    tier: Tier
    score: float
    words: tuple[str, ...] = ()
    is_asked: bool = False  # the question asks for its key, or uses its term
    is_outdated: bool = False  # perhaps: a later turn speaks against the one it was learned from

    @property
    def source(self) -> str:
        return self.memory.ref

    @property
    def text(self) -> str:
        return self.memory.text

    @property
    def why(self) -> str:
        return explain_memory(self.words, self.is_asked, self.memory.is_always_on, self.memory.reason)


@dataclass(frozen=True, slots=True)
class EpisodeHit:
    """A summary of past turns that matches the question."""

    episode: Episode
    tier: Tier
    score: float
    cosine: float | None
    words: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.episode.ref

    @property
    def text(self) -> str:
        return self.episode.summary

    @property
    def why(self) -> str:
        meaning = "" if self.cosine is None else f"meaning {self.cosine:.2f}"
        return "; ".join(filter(None, (f"words {', '.join(self.words)}" if self.words else "", meaning)))


def explain_memory(words: Sequence[str], is_asked: bool, is_always_on: bool, reason: str | None) -> str:
    reasons = {
        "the question asks for it": is_asked,
        f"words {', '.join(words)}": words,
        "important: in every context": is_always_on,
        f"ended: {reason}": reason,
    }
    return "; ".join(text for text, holds in reasons.items() if holds) or "known"
