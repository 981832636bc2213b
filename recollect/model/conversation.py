"""What was said: turns in conversations. The log keeps them for good; everything else is derived from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.model.attached import check_data
from recollect.model.ids import ConversationId
from recollect.model.scope import MAX_NAME
from recollect.model.text import checked_text

Role = Literal["user", "assistant", "system", "tool"]
MAX_TURN_CHARS = 1_000_000
MAX_DATA_CHARS = 1_000_000
MAX_TURNS_AT_ONCE = 100_000
NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. The caller says who said what; the log adds `session`, `index` and the time."""

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
    """What `record` did: the turns of `conversation` from index `first` on. `replayed`: done before, same key."""

    conversation: Conversation
    first: int
    count: int
    replayed: bool = False

    @property
    def refs(self) -> list[str]:
        return [f"{self.conversation.session}#{index}" for index in range(self.first, self.first + self.count)]

    def to_json(self) -> str:
        """For the answer that is kept under an idempotency key."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def replay(cls, answer: Mapping[str, Any]) -> Recorded:
        """The same answer again."""
        kept = dict(answer["conversation"])
        for field in ("created_at", "updated_at", "expires_at"):
            kept[field] = kept[field] and datetime.fromisoformat(kept[field])
        kept["id"] = ConversationId(UUID(kept["id"]))
        return cls(Conversation(**kept), answer["first"], answer["count"], replayed=True)


TurnLike = Turn | tuple[Role, str]


def checked_turns(given: Sequence[TurnLike], now: datetime) -> list[Turn]:
    """The turns as the log will keep them: checked, with a time each. Accepts `(role, text)` pairs."""
    if not given:
        raise InvalidInput("turns", "give at least one turn")
    if len(given) > MAX_TURNS_AT_ONCE:
        raise InvalidInput("turns", f"{len(given):,} at once; record at most {MAX_TURNS_AT_ONCE:,} per call")
    return [_checked_turn(f"turns[{i}]", turn, now) for i, turn in enumerate(given)]


def conversation_name(turns: list[Turn]) -> str:
    """A conversation is called by its first question."""
    first = next((turn for turn in turns if turn.role == "user"), turns[0])
    line = " ".join(first.text[: NAME_CHARS * 4].split())
    return line if len(line) <= NAME_CHARS else line[: NAME_CHARS - 1] + "…"


def listed_turns(turns: Turn | Iterable[TurnLike]) -> list[TurnLike]:
    """One turn is a list of one; a generator is read once."""
    if isinstance(turns, Turn):
        return [turns]
    if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Iterable):
        raise InvalidInput("turns", "give a Turn, or a list of Turn or (role, text)")
    return list(turns)


def _checked_turn(field: str, given: TurnLike, now: datetime) -> Turn:
    turn = given if isinstance(given, Turn) else _from_pair(field, given)
    if turn.role not in get_args(Role):
        raise InvalidInput(f"{field}.role", f"{turn.role!r} is not one of {', '.join(get_args(Role))}")
    checked_text(f"{field}.text", turn.text, MAX_TURN_CHARS)
    if turn.speaker is not None:
        checked_text(f"{field}.speaker", turn.speaker, MAX_NAME)
    check_data(f"{field}.data", turn.data, MAX_DATA_CHARS)
    if not isinstance(turn.high_value, bool):
        raise InvalidInput(f"{field}.high_value", f"{turn.high_value!r} is neither True nor False")
    return replace(turn, at=_checked_time(f"{field}.at", turn.at, now), session=None, index=None)


def _from_pair(field: str, pair: object) -> Turn:
    if isinstance(pair, tuple | list) and len(pair) == 2:
        return Turn(role=pair[0], text=pair[1])
    raise InvalidInput(field, f"a {type(pair).__name__} is neither a Turn nor a (role, text) pair")


def _checked_time(field: str, at: object, now: datetime) -> datetime:
    return now if at is None else in_utc(field, at)


def in_utc(field: str, at: object) -> datetime:
    """A time as it is kept; a naive one is UTC."""
    if not isinstance(at, datetime):
        raise InvalidInput(field, f"a {type(at).__name__} is not a datetime")
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise InvalidInput(field, f"{at} is not between the years 1 and 9999 in UTC") from None
