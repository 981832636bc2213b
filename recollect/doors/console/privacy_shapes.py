"""What the privacy room tells: how much is kept about a user, by kind, and which rules are in force here. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.model.conversation import Conversation
from recollect.model.episode import Episode
from recollect.model.library import Document
from recollect.model.memory import Memory
from recollect.settings import Settings

MOST = 1000  # of each kind that a page counts; beyond that it says "or more"
LIVING = ("active", "pending")
# What the tables of a receipt hold, in words.
TABLES: Mapping[str, str] = {
    "audit": "lines of the trail",
    "chapter": "indexed stretches of messages",
    "chunk": "passages of documents",
    "chunk_vector": "vectors of passages",
    "conversation": "sessions",
    "document": "documents",
    "document_part": "files not read yet, in pieces",
    "embedding": "vectors of messages",
    "episode": "summaries",
    "evidence": "quotes that memories rest on",
    "holder": "the mark that something is known",
    "idempotency": "answers kept for repeated requests",
    "memory": "memories, with their history",
    "posting": "entries of the documents' word index",
    "request": "requests, with what they found",
    "sketch": "index entries of messages",
    "tally": "counts of what was turned away",
    "turn": "messages",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept about a user. `kinds` counts what is known now; `ended` what was believed before."""

    sessions: Sequence[Conversation]
    memories: Sequence[Memory]
    documents: Sequence[Document]
    episodes: Sequence[Episode]
    turned_away: int

    @property
    def counts(self) -> dict[str, str]:
        return {
            "sessions": counted(len(self.sessions)),
            "messages": counted(sum(each.turns for each in self.sessions), len(self.sessions) >= MOST),
            "memories": counted(sum(self.kinds.values()), len(self.memories) >= MOST),
            "earlier values": counted(self.ended, len(self.memories) >= MOST),
            "summaries": counted(len(self.episodes)),
            "documents": counted(len(self.documents)),
        }

    @property
    def kinds(self) -> dict[str, int]:
        return dict(Counter(each.kind for each in self.memories if each.status in LIVING).most_common())

    @property
    def ended(self) -> int:
        return sum(each.status not in LIVING for each in self.memories)

    @property
    def is_nothing(self) -> bool:
        return not (self.sessions or self.memories or self.documents or self.episodes)


def counted(number: int, is_cut: bool = False) -> str:
    return f"{number:,} or more" if is_cut or number == MOST else f"{number:,}"


def rules(settings: Settings) -> list[tuple[str, str, str]]:
    """What is in force, in words, with the variable that says so."""
    return [
        ("Conversations", retention(settings.retention_days), "MEMORY_RETENTION_DAYS"),
        ("Masking", masking(settings.mask_sensitive), "MEMORY_MASK_SENSITIVE_DATA"),
        ("Requests", f"can be explained and counted for {days(settings.request_days)}", "RECOLLECT_REQUEST_DAYS"),
        ("Earlier values", f"of what is known are kept for {days(settings.history_days)}", "RECOLLECT_HISTORY_DAYS"),
        ("Idle memories", forgetting(settings), "RECOLLECT_FORGET_BELOW"),
        ("Log of operations", logging(settings.log_operations), "MEMORY_LOG_OPERATIONS"),
        ("Learning across users", sharing(settings.cross_user), "MEMORY_ENABLE_CROSS_USER_LEARNING"),
    ]


def retention(after: int) -> str:
    return f"expire {days(after)} after their last message" if after else "never expire on their own"


def masking(is_on: bool) -> str:
    what = "e-mail addresses, phone numbers, cards, IBANs and national ids"
    if is_on:
        return f"on: {what} are masked before anything is kept"
    return f"off: texts are kept as they were said; {what} are masked in logs"


def forgetting(settings: Settings) -> str:
    if not settings.forget_below:
        return "are never forgotten on their own"
    after = days(settings.forget_days)
    return f"are forgotten after {after} without use, if their confidence is below {settings.forget_below:g}"


def logging(is_on: bool) -> str:
    return "on: who did what and how long it took, never a text" if is_on else "off"


def sharing(is_on: bool) -> str:
    if is_on:
        return "on: a question that three users asked alike is proposed to the project, without its literals"
    return "off: what one user asks teaches nobody else"


def days(number: int) -> str:
    return "a day" if number == 1 else f"{number:,} days"


def erased(rows: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """A receipt's lines: what it was, the table, how many; the most first, without those that had none."""
    found = sorted(((count, table) for table, count in rows.items() if count), reverse=True)
    return [(TABLES.get(table, table), table, count) for count, table in found]
