"""The values of a chat, and the classification of messages. What a message teaches is read by the same rulebooks that
learning uses, so a reply confirms exactly what will be learned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args
from uuid import UUID

from recollect.apps.chat.window import read_window_question
from recollect.learning.asked_keys import find_asked_keys
from recollect.learning.extract import extract
from recollect.learning.gates import gate_clauses
from recollect.learning.rulebook import Rulebook, compile_pattern, list_books
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.spelling import is_misspelling
from recollect.recall.word_lists import FIRST_PERSON
from recollect.values.conversation import MAX_TURN_CHARS, Turn
from recollect.values.memory import Extraction, LearnedBy
from recollect.values.query import Context, EpisodeHit, Hit, MemoryHit, Path, Reach, Reached, check_choice
from recollect.values.scope import RequestId
from recollect.values.text import check_text

Intent = Literal["small talk", "profile", "why", "window", "teaching", "question", "order", "statement"]
ErrorStage = Literal["llm_reply", "retrieval"]

ASKING = frozenset(("question", "request", "small talk"))  # reasons of clauses that state nothing
GREETING_CHARS = 3  # a shorter clause, such as a greeting, states nothing
FIRST_WORD = re.compile(r"\W*([A-Za-z]{3,})\b")
QUESTION_WORDS = ("what", "when", "where", "which", "whose", "whats")
ABOUT_USER = re.compile(
    r"\b(?:i|my|(?:tell|show|remind) me|mine|we|our)\b|\b(?:who|what|when|where|which|how)\b|(?<![帮给替为])我",
    re.IGNORECASE,
)
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
    """A user's message. `scope` is how far memory searches. The same `key` and text again return the same answer.
    Without `memory` nothing is recalled; without `history` the message is understood alone; it is recorded in both
    cases."""

    text: str
    scope: Reach = "auto"
    key: str | None = None
    memory: bool = True
    history: bool = True

    def __post_init__(self) -> None:
        check_text("message", self.text, MAX_TURN_CHARS)
        check_choice("scope", self.scope, get_args(Reach))


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What memory contributed to an answer. `sources` are references of the turns, memories and episodes used;
    `rewritten` is the question as it was searched, if different; `notes` are problems."""

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
        """Return the form in which a turn stores it: references and numbers, and no text except the question."""
        return asdict(self) | {"request_id": self.request_id and str(self.request_id)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> MemoryUse:
        kept = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        lists = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
        asked = kept.get("request_id")
        return cls(**{**kept, **lists, "request_id": RequestId(UUID(asked)) if asked else None})


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply before it is recorded. Without a `model` it was made from memory. `ended` are memories that the message
    closed; nothing is suggested about them."""

    text: str
    sources: tuple[str, ...] = ()
    model: str | None = None
    model_ms: int | None = None
    error_stage: ErrorStage | None = None
    error: str | None = None
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user gets. `ref` is the reply in the log; None if it could not be recorded, which `memory.notes`
    reports."""

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
    is_asking = has_question(text, books)
    return Message(text, classify_intent(text, read, is_asking, books), is_asking, read)


def classify_intent(text: str, read: Extraction, is_asking: bool, books: Sequence[Rulebook]) -> Intent:
    if is_small_talk(text, books):
        return "small talk"
    if ABOUT_ME.search(text):
        return "profile"
    if WHY.search(text):
        return "why"
    if (is_asking or has_request(text, books)) and read_window_question(text):
        return "window"
    if read.facts or read.commands:
        return "teaching"
    if is_asking:
        return "profile" if asks_nothing_in_particular(text, books) else "question"
    return "order" if has_request(text, books) else "statement"


def asks_nothing_in_particular(text: str, books: Sequence[Rulebook]) -> bool:
    """Return whether a question is about the user and names nothing else: "Who am I?"."""
    return bool(FIRST_PERSON.search(text)) and not lexemes(text) and not find_asked_keys(text, books)


def is_small_talk(text: str, books: Sequence[Rulebook]) -> bool:
    """Whether a message has only greetings, thanks and the like."""
    return any(compile_pattern(pattern).search(text.strip()) for pattern in gate_patterns(books, "small talk"))


def has_question(text: str, books: Sequence[Rulebook]) -> bool:
    """Whether a sentence of the text asks something. "Tell me where I live" asks; "book the bus" does not."""
    patterns = gate_patterns(books, "question")
    said = split_sentences(text, books)
    if any(
        sentence.endswith(("?", "？")) or matches_any(patterns, sentence) or begins_asking(sentence)
        for sentence in said
    ):
        return True
    return any(ABOUT_USER.search(sentence) for sentence in said if has_request(sentence, books))


def has_request(text: str, books: Sequence[Rulebook]) -> bool:
    """Whether a sentence of the text tells the assistant to do something."""
    return any(matches_any(gate_patterns(books, "request"), sentence) for sentence in split_sentences(text, books))


def begins_asking(sentence: str) -> bool:
    """Whether the first word is a misspelt question word."""
    first = FIRST_WORD.match(sentence)
    return first is not None and any(is_misspelling(first[1].lower(), word) for word in QUESTION_WORDS)


def split_sentences(text: str, books: Sequence[Rulebook]) -> list[str]:
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    return [text[slice(*span)] for span in sentences(text, abbreviations)]


def has_only_questions(text: str, books: Sequence[Rulebook]) -> bool:
    """Whether the text states nothing: each sentence is a question, and so is each longer clause."""
    return all(not has_statement(sentence, books) for sentence in split_sentences(text, books))


def has_statement(sentence: str, books: Sequence[Rulebook]) -> bool:
    """Whether a sentence states something. The last clause of a question does not count."""
    is_asking = has_question(sentence, books)
    for book in list_books(sentence, books):
        clauses = gate_clauses(sentence, book)[: -1 if is_asking else None]
        if any(
            ASKING.isdisjoint(clause.reasons) and clause.span[1] - clause.span[0] > GREETING_CHARS for clause in clauses
        ):
            return True
    return False


def matches_any(patterns: Sequence[str], text: str) -> bool:
    return any(compile_pattern(pattern).search(text) for pattern in patterns)


def gate_patterns(books: Sequence[Rulebook], reason: str) -> list[str]:
    return [gate.pattern for book in books for gate in book.gates if gate.reason == reason]


def describe_memory_use(context: Context, rewritten: str | None, notes: Sequence[str] = ()) -> MemoryUse:
    """Return what a context contributed. Found and used are different numbers."""
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


def describe_quoted_use(use: MemoryUse, sources: Sequence[str]) -> MemoryUse:
    """Return the same for an answer of quotations: what it quotes was used."""
    facts = sum(source.startswith("memory:") for source in sources)
    episodes = sum(EPISODE.search(source) is not None for source in sources)
    return replace(
        use, facts=facts, episodes=episodes, hits_used=len(sources) - facts - episodes, sources=tuple(sources)
    )


def is_quoted_reply(turn: Turn) -> bool:
    """Whether a reply only repeats other turns or reports that there are none. It is no source of its own."""
    data = turn.data or {}
    return turn.role == "assistant" and "answers" in data and (data.get("model") is None or bool(data["error_stage"]))
