"""Changes of mind: which earlier statement a later message replaces or ends. Pure; recall marks outdated turns with it,
and learning ends memories.

A message is read once: its sentences without questions, hypotheses and other people's words, and a few signs of change.
Two messages are compared by a weighted sum of these signs; the weights were fitted on stories in which a value changes
and on dialogues in which nothing does (bench/data). No word decides alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from recollect.learning.extract import APOSTROPHES
from recollect.learning.gates import blank_spans, find_quoted_spans, find_text_reason, gate_clauses
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.learning.rules import rulebooks
from recollect.learning.similarity import get_gist
from recollect.recall.answer_ranking import UNKNOWN, Relevance
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.word_lists import REQUEST_WORDS, TIME_WORDS
from recollect.values.memory import Memory
from recollect.values.text import WORD, is_cjk

NOT_SAID = frozenset(("question", "role play", "joke", "small talk"))  # reasons of clauses that are not compared at all
NOT_NOW = frozenset(("hypothetical", "reported", "denied", "past"))  # of clauses that change nothing
CUES = ("ends", "changes", "corrects", "happened")
MOST_CHARS = 2_000  # of a message that is compared
LIKELY = 0.12  # probability from which a statement may be outdated
AS_LIKELY = 0.5  # of the highest probability: of several such changes of one statement the last holds
ENDS_MEMORY = 0.5  # from which a memory ends
NEAR = 8  # messages: how far back one looks that shares no word with what it changes
# Relevance to the question (of the less relevant one) up to which two messages without a common word are about
# different matters, and from which they may be about the same.
OTHER_MATTER, SAME_MATTER = -0.8, -0.1
LONG = 60  # characters of a message of average length; a third of them in Chinese
MOST_LENGTH = 200  # beyond, length says nothing more
MOST_OVERLAP = 0.6  # likewise
NAMES = re.compile(r"(?<=\s)[A-Z][\w'&-]*(?: (?:& )?[A-Z][\w'-]*)*")
# Words that two statements may share without being about the same matter.
COMMON = TIME_WORDS | {
    *("thing", "time", "evening", "get", "got", "go", "going", "went", "come", "came", "take", "took", "make", "made"),
    *("want", "need", "like", "love", "think", "know", "new", "old", "good", "bad", "big", "little", "bit", "lot"),
    *("way", "people", "really", "still", "back", "first", "one", "two", "much", "many", "work", "use", "name", "call"),
}


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for a change; the first six are signs of the later message alone."""

    ends: float  # says that something ended
    changes: float  # or began, or is new
    corrects: float  # or was wrong
    happened: float  # reports an event
    negated: float
    length: float  # from 0 to 1
    overlap: float = 0.0  # of the words of both
    numbers: float = 0.0  # both have one
    times: float = 0.0  # both have one
    others: float = 0.0  # the later one is about people whom the earlier one does not name


WEIGHTS = Signs(
    ends=1.15, changes=2.1, corrects=1.95, happened=1.0, negated=0.45, length=4.5, overlap=6.7, numbers=0.5, times=0.75,
    others=-1.0,
)  # fmt: skip
BIAS = -7.55


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states something. `now` are the words of what it says of the present: plans, hypotheses, and
    other people's words change nothing, but may be outdated themselves."""

    text: str
    words: frozenset[str]
    now: frozenset[str]
    cues: frozenset[str]
    negated: bool
    people: frozenset[str]
    has_number: bool
    has_time: bool


@lru_cache(maxsize=2_000)
def read_statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a user's message, in order."""
    books = rulebooks()
    whole = text[:MOST_CHARS].translate(APOSTROPHES)
    own = blank_spans(whole, list(find_quoted_spans(whole, books)))
    if any(find_text_reason(own, book) for book in books):
        return ()
    abbreviations = frozenset[str]().union(*(book.abbreviations for book in books))
    said = [part for span in sentences(own, abbreviations) for part in split_subjects(own[slice(*span)], books)]
    return tuple(each for part in said if (each := read_statement(part, books)) is not None)


def split_subjects(sentence: str, books: Sequence[Rulebook]) -> list[str]:
    """Return the parts of a sentence that speak of different people: "I am a carpenter, my brother is a postman"."""
    book = next((book for book in books if compile_pattern(book.script).search(sentence)), None)
    return compile_pattern(book.cues["subject"]).split(sentence) if book else [sentence]


def read_statement(sentence: str, books: Sequence[Rulebook]) -> Statement | None:
    """Return the open clauses of a sentence as a statement; None if there are none."""
    book = next((book for book in books if compile_pattern(book.script).search(sentence)), None)
    if book is None:
        return None
    clauses = [clause for clause in gate_clauses(sentence, book) if NOT_SAID.isdisjoint(clause.reasons)]
    if not clauses:
        return None

    def find(cue: str, text: str) -> list[str]:
        return compile_pattern(book.cues[cue]).findall(text)

    ignored = NOT_NOW - {"past", "reported"} if find("corrects", sentence) else NOT_NOW
    said = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses)
    now = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses if ignored.isdisjoint(clause.reasons))
    return Statement(
        text=sentence.strip(),
        words=list_topic_words(said),
        now=list_topic_words(now),
        cues=frozenset(cue for cue in CUES if find(cue, now)),
        negated=get_gist(now).negated,
        people=frozenset(person.lower() for person in find("people", said)),
        has_number=bool(find("number", said)),
        has_time=bool(find("time", said)),
    )


def list_topic_words(text: str) -> frozenset[str]:
    """Return the words that say what a statement is about."""
    return frozenset(word for word in lexemes(text, without=REQUEST_WORDS | COMMON) if word not in COMMON)


@dataclass(frozen=True, slots=True)
class Message:
    """The statements of a message taken together, as a possible change. `own` are the signs of it alone."""

    statements: tuple[Statement, ...]
    now: frozenset[str]
    people: frozenset[str]
    has_number: bool
    has_time: bool
    is_cjk: bool
    own: Signs


@lru_cache(maxsize=2_000)
def read_changes(text: str) -> Message:
    """Return a message as what it may change."""
    said = read_statements(text)
    cues = frozenset[str]().union(*(each.cues for each in said))
    size = min(len(text) * (3 if is_cjk(text) else 1), MOST_LENGTH)
    own = Signs(
        ends=float("ends" in cues),
        changes=float("changes" in cues),
        corrects=float("corrects" in cues),
        happened=float("happened" in cues),
        negated=float(sum(each.negated for each in said) % 2),
        length=size / (size + LONG),
    )
    return Message(
        statements=said,
        now=frozenset[str]().union(*(each.now for each in said)),
        people=frozenset[str]().union(*(each.people for each in said)),
        has_number=any(each.has_number for each in said),
        has_time=any(each.has_time for each in said),
        is_cjk=is_cjk(text),
        own=own,
    )


def compare(old: Statement, new: Message) -> Signs:
    """Return the signs that a later message changes a statement."""
    shared = len(old.words & new.now)
    overlap = shared / math.sqrt(len(old.words) * len(new.now)) if shared else 0.0
    return replace(
        new.own,
        # Bigrams: of two phrases that share a word, most differ.
        overlap=min(overlap * (2 if new.is_cjk else 1), MOST_OVERLAP),
        numbers=float(old.has_number and new.has_number),
        times=float(old.has_time and new.has_time),
        others=float(not new.people <= old.people),
    )


def weigh(signs: Signs) -> float:
    return float(sum(getattr(WEIGHTS, field.name) * getattr(signs, field.name) for field in fields(Signs)))


def estimate_change(old: Statement, new: Message, before: Relevance = UNKNOWN, after: Relevance = UNKNOWN) -> float:
    """Return the probability that a later message changes a statement: that they are about the same matter, times that
    it is a change then. Whatever cues it has, a message changes nothing else. `before` and `after` say how much both
    are relevant to the question."""
    matter = 1.0
    if old.words.isdisjoint(new.now):
        relevance = min(before.score, after.score)
        matter = min(max((relevance - OTHER_MATTER) / (SAME_MATTER - OTHER_MATTER), 0.0), 1.0)
    return matter / (1 + math.exp(-(BIAS + weigh(compare(old, new)) + after.support))) if new.now else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """A statement of one message that a later message replaces or ends."""

    message: int
    statement: str
    by: int
    probability: float


def find_outdated(messages: Sequence[str], relevance: Sequence[Relevance] = ()) -> list[Change]:
    """Return what may be outdated in a user's messages, given in the order they were said; each statement with the
    last message that probably changes it. `relevance` is that of each message to the question."""
    read = [read_changes(text) for text in messages]
    relevance = relevance or [UNKNOWN] * len(read)
    found = (
        find_change(message, old, read, relevance) for message, earlier in enumerate(read) for old in earlier.statements
    )
    return [change for change in found if change is not None]


def find_change(message: int, old: Statement, read: Sequence[Message], relevance: Sequence[Relevance]) -> Change | None:
    """Return the last of the most probable changes of a statement by later messages; None if none is likely."""
    changes = [
        Change(message, old.text, by, estimate_change(old, new, relevance[message], relevance[by]))
        for by, new in enumerate(read[message + 1 :], message + 1)
        if by - message <= NEAR or relevance[by].support > 0 or not old.words.isdisjoint(new.now)
    ]
    best = max((change.probability for change in changes), default=0.0)
    if best < LIKELY:
        return None
    return [change for change in changes if change.probability >= best * AS_LIKELY][-1]


def has_change_cue(message: str) -> bool:
    """Return whether a message has a cue of change."""
    return any(each.cues for each in read_statements(message))


def find_ended(message: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories that a message ends; of several todos only the one that it names best."""
    new = read_changes(message)
    scored = [(memory, score_memory(new, memory)) for memory in known]
    ended = [(memory, score) for memory, score in scored if score >= ENDS_MEMORY]
    best = max((score for memory, score in ended if memory.kind == "todo"), default=0.0)
    return [memory for memory, score in ended if memory.kind != "todo" or score == best]


def score_memory(new: Message, memory: Memory) -> float:
    """Return how probably a message ends a memory: it says that something ended or was wrong, and names the value."""
    words = list_topic_words(memory.value)
    if words.isdisjoint(new.now) or not new.own.ends + new.own.corrects:
        return 0.0
    named = min(len(words & new.now) / len(words), MOST_OVERLAP)
    return 1 / (1 + math.exp(-(BIAS + weigh(replace(new.own, overlap=named)))))


def cut_to_change(text: str) -> str:
    """Return the part of a message that says what holds now: from its first clause with a cue of change on."""
    for start, end in sentences(text, frozenset()):
        for book in rulebooks():
            if compile_pattern(book.script).search(text[start:end]):
                for clause in gate_clauses(text[start:end], book):
                    at = start + clause.span[0]
                    said = text[at : start + clause.span[1]]
                    if any(compile_pattern(book.cues[cue]).search(said) for cue in ("changes", "corrects")):
                        return "… " + text[at:].lstrip() if at else text
    return text


def find_successor(message: str, old: str) -> str | None:
    """Return the name that takes the place of another one in a message: "left Barclays and joined Monzo". None if the
    message names no or several others after it."""
    words = list_topic_words(old)
    for said in read_statements(message):
        named = [found.end() for found in WORD.finditer(said.text) if not words.isdisjoint(lexemes(found[0]))]
        if named and "changes" in said.cues:
            names = [
                name for name in NAMES.findall(said.text[named[-1] :]) if not TIME_WORDS & set(name.lower().split())
            ]
            return names[0] if len(names) == 1 else None
    return None
