"""Turns, conversations and episodes. The log stores turns for good; everything else is derived from it.

An episode summarizes a run of turns and never replaces them. `find_due_ranges` computes which turns become an episode
from counts alone, so two workers never choose different ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.values.scope import MAX_NAME, ConversationId
from recollect.values.text import check_data, check_optional_text, check_text, shorten

Role = Literal["user", "assistant", "system", "tool"]
MAX_TURN_CHARS = 1_000_000
MAX_DATA_CHARS = 1_000_000
MAX_TURNS_AT_ONCE = 100_000
NAME_CHARS = 80
DATABASE_HOST = "sql"  # in the data of turns of questions to a database


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. The caller gives role and text; the log adds `session`, `index` and the time."""

    role: Role
    text: str
    speaker: str | None = None
    at: datetime | None = None
    data: Mapping[str, Any] | None = None
    high_value: bool = False
    session: str | None = None
    index: int | None = None

    @property
    def ref(self) -> str:
        """How citations and `explain` name this turn."""
        return f"{self.session}#{self.index}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One session of one user. `interactions` counts questions, `turns` messages of any role."""

    id: ConversationId
    session: str
    name: str
    turns: int
    interactions: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What `record` appended: the turns of `conversation` from index `first` on. `replayed` if the key was used
    before."""

    conversation: Conversation
    first: int
    count: int
    replayed: bool = False

    @property
    def refs(self) -> list[str]:
        return [f"{self.conversation.session}#{index}" for index in range(self.first, self.first + self.count)]

    def to_json(self) -> str:
        """Return the answer as it is stored under an idempotency key."""
        import msgspec

        return msgspec.json.encode(self).decode()

    @classmethod
    def replay(cls, answer: Mapping[str, Any]) -> Recorded:
        """Rebuild the stored answer."""
        import msgspec

        return replace(msgspec.convert(answer, cls), replayed=True)


TurnLike = Turn | tuple[Role, str]


def check_turns(given: Sequence[TurnLike], now: datetime) -> list[Turn]:
    """Return the turns as the log stores them: checked, each with a time. Accepts `(role, text)` pairs."""
    if not given:
        raise InvalidInput("turns", "give at least one turn")
    if len(given) > MAX_TURNS_AT_ONCE:
        raise InvalidInput("turns", f"{len(given):,} at once; record at most {MAX_TURNS_AT_ONCE:,} per call")
    return [_check_turn(f"turns[{i}]", turn, now) for i, turn in enumerate(given)]


def name_conversation(turns: list[Turn]) -> str:
    """Return a conversation's name: its first question, shortened."""
    first = next((turn for turn in turns if turn.role == "user"), turns[0])
    return shorten(" ".join(first.text[: NAME_CHARS * 4].split()), NAME_CHARS)


def list_turns(turns: Turn | Iterable[TurnLike]) -> list[TurnLike]:
    """Return the turns as a list; a generator is read once."""
    if isinstance(turns, Turn):
        return [turns]
    if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Iterable):
        raise InvalidInput("turns", "give a Turn, or a list of Turn or (role, text)")
    return list(turns)


def _check_turn(field: str, given: TurnLike, now: datetime) -> Turn:
    turn = given
    if isinstance(given, tuple | list) and len(given) == 2:
        turn = Turn(role=given[0], text=given[1])
    if not isinstance(turn, Turn):
        raise InvalidInput(field, f"a {type(given).__name__} is neither a Turn nor a (role, text) pair")
    if turn.role not in get_args(Role):
        raise InvalidInput(f"{field}.role", f"{turn.role!r} is not one of {', '.join(get_args(Role))}")
    check_text(f"{field}.text", turn.text, MAX_TURN_CHARS)
    check_optional_text(f"{field}.speaker", turn.speaker, MAX_NAME)
    check_data(f"{field}.data", turn.data, MAX_DATA_CHARS)
    if not isinstance(turn.high_value, bool):
        raise InvalidInput(f"{field}.high_value", f"{turn.high_value!r} is neither True nor False")
    at = now if turn.at is None else to_utc(f"{field}.at", turn.at)
    return replace(turn, at=at, session=None, index=None)


def to_utc(field: str, at: object) -> datetime:
    """Return a time in UTC; a naive one is taken as UTC."""
    if not isinstance(at, datetime):
        raise InvalidInput(field, f"must be a datetime, got {type(at).__name__}")
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise InvalidInput(field, f"{at} is not between the years 1 and 9999 in UTC") from None


@dataclass(frozen=True, slots=True)
class Window:
    """The last turns of a session as a cache stored them, oldest first and without a gap, and the number of redactions
    at that time. The database says whether they are still valid."""

    conversation: ConversationId
    redactions: int
    turns: Sequence[Turn]

    @property
    def is_whole(self) -> bool:
        """Whether the indexes are consecutive; a cached value may be anything."""
        first = self.turns[0].index if self.turns else None
        return first is not None and [turn.index for turn in self.turns] == list(range(first, first + len(self.turns)))

    def continues(self, kept: Window | None) -> bool:
        """Return whether this window belongs to the same state of the conversation as the cached one."""
        return kept is not None and (self.conversation, self.redactions) == (kept.conversation, kept.redactions)

    def is_long_enough(self, limit: int) -> bool:
        """Return whether the window holds the last `limit` turns, or all turns."""
        return self.is_whole and (len(self.turns) >= limit or self.turns[0].index == 0)

    def extend_with(self, said: Sequence[Turn], limit: int) -> Window:
        """Return the window with later turns, limited to the last ones."""
        return Window(self.conversation, self.redactions, [*self.turns, *said][-limit:])


LearnedBy = Literal["rules", "model"]
EVERY = 20
WINDOW = 10


@dataclass(frozen=True, slots=True)
class Episode:
    """A summary of the turns `first` to `last` of a session, both included. `tokens` is the size of `text`."""

    id: UUID
    session: str
    first: int
    last: int
    summary: str
    facts: tuple[str, ...]
    preferences: tuple[str, ...]
    decisions: tuple[str, ...]
    todos: tuple[str, ...]
    entities: tuple[str, ...]
    learned_by: LearnedBy
    model: str | None
    tokens: int
    said_from: datetime
    said_to: datetime
    created_at: datetime

    @property
    def ref(self) -> str:
        """How citations and `explain` name this episode."""
        return f"{self.session}#{self.first}-{self.last}"

    @property
    def text(self) -> str:
        """The summary and a line for each list that is not empty, for search and for a prompt."""
        lists = {
            "Facts": self.facts,
            "Preferences": self.preferences,
            "Decisions": self.decisions,
            "To do": self.todos,
            "Names": self.entities,
        }
        return "\n".join([self.summary, *(f"{name}: {'; '.join(said)}" for name, said in lists.items() if said)])


def find_due_ranges(turns: int, covered: int, every: int = EVERY, window: int = WINDOW) -> list[tuple[int, int]]:
    """Return the runs of turns, first and last, that are to become episodes, in a session of `turns` whose first
    `covered` turns have episodes. When `every` turns have none, the oldest of them become one, and `window` remain.

    `window` is less than `every`; settings are checked where they are read. With the same settings the ranges are the
    same, however often and late this is called.
    """
    size = every - window
    return [(first, first + size - 1) for first in range(covered, turns - every + 1, size)]
