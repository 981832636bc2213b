"""What goes into a chat and comes out of it, and what kind of message one is. Used by hosts/chat and the doors to it.

Reading a message is a matter of rules: what it teaches comes from the rulebooks, as learning reads it, so that what is
confirmed is what will be learned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args
from uuid import UUID

from recollect.model.conversation import MAX_TURN_CHARS, Turn
from recollect.model.extract import extract
from recollect.model.fact import Extraction
from recollect.model.gates import gated_clauses
from recollect.model.ids import RequestId
from recollect.model.known import EpisodeHit, MemoryHit
from recollect.model.memory import LearnedBy
from recollect.model.rulebook import Rulebook, compiled
from recollect.model.search import Context, Hit, Path, Reach, Reached, check_choice
from recollect.model.sentences import sentences
from recollect.model.text import checked_text

Intent = Literal["small talk", "profile", "why", "teaching", "question", "statement"]
ErrorStage = Literal["llm_reply", "retrieval"]

GREETING_CHARS = 6  # "Hello, what is my name?" states nothing
EPISODE = re.compile(r"#\d+-\d+$")
ABOUT_ME = re.compile(
    r"\bwhat (?:all )?(?:do|did|have) you (?:\w+ )?(?:know|remember(?:ed)?|learned|stored|saved|got)(?: all)?"
    r" (?:about|on|of) (?:me|myself)\b|\b(?:everything|all) you (?:know|remember) (?:about|on|of) me\b"
    r"|(?:你|您)?(?:都|还)?(?:知道|了解|记得|记住了?)(?:些|了)?(?:我(?:的)?(?:哪些|什么|多少)|(?:哪些|什么)?关于我)"
    r"|关于我，?(?:你|您)(?:都|还)?(?:知道|记得|了解)",
    re.IGNORECASE,
)
WHY = re.compile(
    r"^\W*(?:(?:and|but|so|ok|okay|hm+)\W+)*(?:why (?:do|did|would) you (?:say|think|believe|know) (?:that|this|so)"
    r"|how (?:do|did|would) you know(?: (?:that|this))?|why(?: is| was)? that|says who"
    r"|where (?:do|did) you (?:get|have) (?:that|this) from|what(?:'s| is) (?:that|this) based on|why)\W*$"
    r"|^\W*(?:你)?(?:为什么|为啥)(?:你)?(?:这么|这样|那么)?(?:说|认为|觉得)?\W*$|^\W*(?:你)?(?:怎么|从哪里?|如何)知道的?\W*$"
    r"|^\W*(?:你的)?(?:依据|根据)(?:是|在)?(?:什么|哪里?)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A message of a user's. `scope` is how far memory looks; the same `key` and text again get the same answer.
    Without `memory` nothing is recalled for it, without `history` it is understood alone; it is kept all the same."""

    text: str
    scope: Reach = "auto"
    key: str | None = None
    memory: bool = True
    history: bool = True

    def __post_init__(self) -> None:
        checked_text("message", self.text, MAX_TURN_CHARS)
        check_choice("scope", self.scope, get_args(Reach))


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What memory gave to an answer. `sources` are what the answer rests on: refs of turns, memories and episodes;
    `rewritten` is the question as memory was asked it, where that differs; `notes` what could not be done."""

    request_id: RequestId | None = None
    scope_used: Reached | None = None
    widened: str | None = None
    path: Path | None = None
    hits_found: int = 0
    hits_used: int = 0
    facts: int = 0
    episodes: int = 0
    tokens: int = 0
    truncated: bool = False
    notes: tuple[str, ...] = ()
    rewritten: str | None = None
    learned_by: tuple[LearnedBy, ...] = ()
    sources: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As a turn keeps it: references and numbers, nobody's words but the question's."""
        return asdict(self) | {"request_id": self.request_id and str(self.request_id)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> MemoryUse:
        kept = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        lists = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
        asked = kept.get("request_id")
        return cls(**{**kept, **lists, "request_id": RequestId(UUID(asked)) if asked else None})


@dataclass(frozen=True, slots=True)
class Said:
    """A reply, before it is kept. Without a `model` it was put together from memory. `ended` are memories that the
    message closed: nothing further is suggested of them."""

    text: str
    sources: tuple[str, ...] = ()
    model: str | None = None
    model_ms: int | None = None
    error_stage: ErrorStage | None = None
    error: str | None = None
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user gets. `ref` is the reply in the log; None where it could not be kept, and `memory.notes` say so."""

    response: str
    session: str
    latency_ms: int
    memory: MemoryUse
    suggestions: tuple[str, ...] = ()
    model: str | None = None
    error_stage: ErrorStage | None = None
    ref: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the rules read it."""

    text: str
    intent: Intent
    asks: bool
    read: Extraction


def read_message(text: str, books: Sequence[Rulebook]) -> Message:
    read = extract(text, "user", books)
    is_asking = asks(text, books)
    return Message(text, intent_of(text, read, is_asking, books), is_asking, read)


def intent_of(text: str, read: Extraction, is_asking: bool, books: Sequence[Rulebook]) -> Intent:
    if is_small_talk(text, books):
        return "small talk"
    if ABOUT_ME.search(text):
        return "profile"
    if WHY.search(text):
        return "why"
    if read.facts or read.commands:
        return "teaching"
    return "question" if is_asking else "statement"


def is_small_talk(text: str, books: Sequence[Rulebook]) -> bool:
    """Nothing but greetings, thanks and the like."""
    return any(compiled(pattern).search(text.strip()) for pattern in gates(books, "small talk"))


def asks(text: str, books: Sequence[Rulebook]) -> bool:
    """Some sentence of it wants an answer."""
    patterns = [*gates(books, "question"), *gates(books, "request")]
    said = [text[slice(*span)] for span in sentences(text, frozenset().union(*(book.abbreviations for book in books)))]
    return any(sentence.endswith(("?", "？")) or is_any(patterns, sentence) for sentence in said)


def only_asks(text: str, books: Sequence[Rulebook]) -> bool:
    """Nothing is stated in it: each sentence is a question, and so is each clause of some length."""
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    return all(not states(text[slice(*span)], books) for span in sentences(text, abbreviations))


def states(sentence: str, books: Sequence[Rulebook]) -> bool:
    """The last clause of a question states nothing, whatever it looks like."""
    is_asking = asks(sentence, books)
    for book in (book for book in books if compiled(book.script).search(sentence)):
        clauses = gated_clauses(sentence, book)[: -1 if is_asking else None]
        if any(not clause.reasons and clause.span[1] - clause.span[0] > GREETING_CHARS for clause in clauses):
            return True
    return False


def is_any(patterns: Sequence[str], text: str) -> bool:
    return any(compiled(pattern).search(text) for pattern in patterns)


def gates(books: Sequence[Rulebook], reason: str) -> list[str]:
    return [gate.pattern for book in books for gate in book.gates if gate.reason == reason]


def memory_use(context: Context, rewritten: str | None, notes: Sequence[str] = ()) -> MemoryUse:
    """What a context gave: found and used are different numbers."""
    recall, hits = context.recall, context.hits
    facts = [hit for hit in hits if isinstance(hit, MemoryHit)]
    return MemoryUse(
        request_id=recall.request_id,
        scope_used=recall.scope_used,
        widened=recall.widened,
        path=recall.path,
        hits_found=recall.found,
        hits_used=sum(isinstance(hit, Hit) for hit in hits),
        facts=len(facts),
        episodes=sum(isinstance(hit, EpisodeHit) for hit in hits),
        tokens=context.tokens,
        truncated=context.truncated,
        notes=(*recall.notes, *notes),
        rewritten=rewritten,
        learned_by=tuple(sorted({hit.memory.learned_by for hit in facts})),
        sources=tuple(line.source for line in context.lines),
    )


def quoted_use(use: MemoryUse, sources: Sequence[str]) -> MemoryUse:
    """The same where the answer only quotes: what it quotes is what was used."""
    facts = sum(source.startswith("memory:") for source in sources)
    episodes = sum(EPISODE.search(source) is not None for source in sources)
    return replace(
        use, facts=facts, episodes=episodes, hits_used=len(sources) - facts - episodes, sources=tuple(sources)
    )


def was_recited(turn: Turn) -> bool:
    """A reply that only repeats what was said elsewhere, or says that there is none: it is no source of its own."""
    data = turn.data or {}
    return turn.role == "assistant" and "answers" in data and (data.get("model") is None or bool(data["error_stage"]))
