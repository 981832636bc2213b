"""Changes of mind: which earlier statement a later one replaces or ends. Pure; recall marks outdated turns with it, and
learning ends memories.

A message is analysed once: its sentences without questions, hypotheses and other people's words; what each is about
(its words); and its cues. Two statements are about the same matter if they share words that are not common to
everything. Cues ("now", "instead", "no longer", "sold") raise the score of a change, cues of addition ("also",
"another") prevent it. Without any cue, only a statement of nearly the same words with another figure or name, or its
negation, is a change.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from recollect.learning.extract import APOSTROPHES
from recollect.learning.gates import blank_spans, find_quoted_spans, find_text_reason, gate_clauses
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.learning.rules import rulebooks
from recollect.learning.similarity import get_gist
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.recall.word_lists import REQUEST_WORDS, TIME_WORDS
from recollect.values.memory import Memory
from recollect.values.text import is_cjk

Cue = Literal["ends", "replaces", "changes", "corrects", "adds"]

NOT_SAID = frozenset(("question", "role play", "joke", "small talk"))  # reasons of clauses that are not compared at all
NOT_NOW = frozenset(("hypothetical", "reported", "denied", "past"))  # of clauses that change nothing
MOST_CHARS = 2_000  # of a message that is compared
ENDS_MEMORY = 0.75  # from which a memory ends; below, recall shows it as maybe outdated
SURE = 1.0  # score from which a statement is certainly outdated
LIKELY = 0.52  # from which it may be
STRENGTH: dict[Cue, float] = {"ends": 0.5, "replaces": 0.5, "corrects": 0.5, "changes": 0.4, "adds": 0.0}
LEAST_OVERLAP = 0.15  # of the words of two statements, below which a common one means nothing
SAME_WORDS = 0.5  # from which two statements without a cue have the same frame
SHORT_STATEMENT = 14  # words: a longer statement names what it speaks of
SHORT_MESSAGE = 3  # sentences of a message in which a cue speaks for all of them
LEAST_COMMON = 3  # messages that may have a word which still tells them apart
COMMON_SHARE = 0.05  # of all messages, likewise
NEAR_TURNS = 6  # messages: how far back a correction without a common word looks
JUST_BEFORE = 2  # how far back "it" does
VALUE = re.compile(r"\d[\d.,:]*|(?<=\S )[A-Z][\w'-]+|[一二三四五六七八九十百千万两]+(?=[\w一-龥])")
FIGURE = re.compile(r"\d|[一二三四五六七八九十百千万两]{1,}[万千百号点月年元块人级个]")
NAMES = re.compile(r"(?<=\s)[A-Z][\w'&-]*(?: (?:& )?[A-Z][\w'-]*)*")
# Words that two statements may share without being about the same matter.
COMMON = TIME_WORDS | {
    *("thing", "time", "evening", "get", "got", "go", "going", "went", "come", "came", "take", "took", "make", "made"),
    *("want", "need", "like", "love", "think", "know", "new", "old", "good", "bad", "big", "little", "bit", "lot"),
    *("way", "people", "really", "still", "back", "first", "one", "two", "much", "many", "work", "use", "name", "call"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a message that states something. `can_change` is what it says of now: plans, hypotheses, and other
    people's words change nothing, but may be outdated themselves."""

    text: str
    words: frozenset[str]
    can_change: frozenset[str]
    cues: frozenset[Cue]
    negated: bool
    refers: bool  # points at something said before, without naming it
    values: frozenset[str]  # figures and names


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
    corrects = compile_pattern(book.cues["corrects"]).search(sentence) is not None
    ignored = NOT_NOW - {"past", "reported"} if corrects else NOT_NOW
    said = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses)
    now = " ".join(sentence[slice(*clause.span)].strip() for clause in clauses if ignored.isdisjoint(clause.reasons))
    cues: frozenset[Cue] = frozenset(cue for cue in STRENGTH if compile_pattern(book.cues[cue]).search(now))
    return Statement(
        text=sentence.strip(),
        words=list_topic_words(said),
        can_change=list_topic_words(now),
        cues=cues,
        negated=get_gist(now).negated,
        refers=compile_pattern(book.cues["refers"]).search(now) is not None,
        values=frozenset(VALUE.findall(said)),
    )


def list_topic_words(text: str) -> frozenset[str]:
    """Return the words that say what a statement is about."""
    return frozenset(word for word in lexemes(text, without=REQUEST_WORDS | COMMON) if word not in COMMON)


@dataclass(frozen=True, slots=True)
class Change:
    """A statement of one message that a later message replaces or ends."""

    message: int
    statement: str
    by: int
    score: float

    @property
    def is_sure(self) -> bool:
        return self.score >= SURE


def find_outdated(messages: Sequence[str], breaks: Sequence[int] = ()) -> list[Change]:
    """Return what is outdated in a user's messages, given in the order they were said; each statement with the last
    message that changes it. `breaks` are the messages that begin a session."""
    read = [read_statements(text) for text in messages]
    common = find_common_words(read)
    changes: dict[tuple[int, str], list[Change]] = {}
    for by, new in enumerate(read):
        if not any(each.cues or each.values for each in new):
            continue
        begin = max((place for place in breaks if place <= by), default=0)
        for message in range(by):
            for old in read[message]:
                score = score_change(new, old, common, by - message if message >= begin else None)
                if score >= LIKELY:
                    changes.setdefault((message, old.text), []).append(Change(message, old.text, by, score))
    return list({**find_passed(changes, read), **{key: made[-1] for key, made in changes.items()}}.values())


def find_passed(
    changes: Mapping[tuple[int, str], Sequence[Change]], read: Sequence[Sequence[Statement]]
) -> dict[tuple[int, str], Change]:
    """Return the changes that were themselves passed over: of two that concern one statement, the later one holds
    ("the orchard", "a hotel instead", "the orchard after all")."""
    return {
        (earlier.by, said.text): Change(earlier.by, said.text, made[-1].by, made[-1].score)
        for made in changes.values()
        for earlier in made[:-1]
        for said in read[earlier.by]
        if said.cues
    }


def has_change_cue(message: str) -> bool:
    """Return whether a message has a cue of change."""
    return any(each.cues - {"adds"} for each in read_statements(message))


def find_ended(message: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories that a message ends; of several todos only the one that it names best."""
    said = read_statements(message)
    scored = [(memory, score_memory(said, memory)) for memory in known]
    ended = [(memory, score) for memory, score in scored if score >= ENDS_MEMORY]
    best = max((score for memory, score in ended if memory.kind == "todo"), default=0.0)
    return [memory for memory, score in ended if memory.kind != "todo" or score == best]


def score_memory(said: Sequence[Statement], memory: Memory) -> float:
    """Return how surely a message ends a memory. Without the value, what it is of must be named: a relative, a task."""
    words = list_topic_words(memory.value)
    old = Statement(memory.text, words, words, frozenset(), get_gist(memory.value).negated, False, frozenset())
    return max(
        (score_statement(each, old, frozenset(), 0.0, None) for each in said if each.cues - {"adds"}), default=0.0
    )


def find_common_words(read: Sequence[Sequence[Statement]]) -> frozenset[str]:
    """Return the words that so many messages have that they do not tell what one is about."""
    counts = Counter(word for said in read for word in frozenset[str]().union(*(each.words for each in said)))
    most = max(LEAST_COMMON, COMMON_SHARE * len(read))
    return frozenset(word for word, count in counts.items() if count > most)


def score_change(new: Sequence[Statement], old: Statement, common: frozenset[str], turns: int | None) -> float:
    """Return how surely a later message, given by its statements, makes an earlier statement outdated. `turns` is how
    many messages lie between, if both are of one session."""
    around = max((sum(STRENGTH[cue] for cue in each.cues) for each in new), default=0.0)
    around = around * 0.8 if len(new) <= SHORT_MESSAGE else 0.0
    return max((score_statement(each, old, common, around, turns) for each in new), default=0.0)


def score_statement(new: Statement, old: Statement, common: frozenset[str], around: float, turns: int | None) -> float:
    strength = max(sum(STRENGTH[cue] for cue in new.cues), around)
    shared = find_shared(new.can_change - common, old.words - common)
    if not shared:
        return LIKELY if can_refer(new, old, turns) else 0.0
    overlap = len(shared) / math.sqrt(len(new.can_change) * len(old.words))
    if is_cjk(new.text):
        overlap *= 2  # bigrams: of two phrases that share a word, most differ
    if overlap < LEAST_OVERLAP:
        return 0.0
    differs = bool(new.values - old.values) and bool(old.values - new.values)
    if "adds" in new.cues:
        return 0.0
    if strength <= 0:
        return LIKELY + overlap / 2 if overlap >= SAME_WORDS and (differs or new.negated != old.negated) else 0.0
    named = 0.2 if old.values and any(value.lower() in new.text.lower() for value in old.values) else 0.0
    return strength + min(overlap, 0.6) + named + (0.2 if new.negated != old.negated else 0.0)


def can_refer(new: Statement, old: Statement, turns: int | None) -> bool:
    """Return whether a statement can change the one just before without naming it: "make that 23,000", "they rejected
    it, so we take the other instead"."""
    if turns is None or turns > NEAR_TURNS or "adds" in new.cues or not new.cues or len(new.words) > SHORT_STATEMENT:
        return False
    are_figures = FIGURE.search(new.text) is not None and FIGURE.search(old.text) is not None
    points = "replaces" in new.cues and new.refers and turns <= JUST_BEFORE and bool(old.values)
    return points or ("corrects" in new.cues and are_figures)


def find_shared(new: frozenset[str], old: frozenset[str]) -> frozenset[str]:
    """Return the words of the old statement that the new one has, also as the end of a longer word."""
    ends = {
        one
        for one in old
        for other in new
        if min(len(one), len(other)) >= 3 and not is_cjk(one) and (one.endswith(other) or other.endswith(one))
    }
    return (new & old) | ends


def cut_to_change(text: str) -> str:
    """Return the part of a message that says what holds now: from its first clause with a cue of change on."""
    for start, end in sentences(text, frozenset()):
        for book in rulebooks():
            if compile_pattern(book.script).search(text[start:end]):
                for clause in gate_clauses(text[start:end], book):
                    at = start + clause.span[0]
                    said = text[at : start + clause.span[1]]
                    if any(compile_pattern(book.cues[cue]).search(said) for cue in ("replaces", "changes", "corrects")):
                        return "… " + text[at:].lstrip() if at else text
    return text


def find_successor(message: str, old: str) -> str | None:
    """Return the name that takes the place of another one in a message: "left Barclays and joined Monzo". None if the
    message names no or several others after it."""
    at = message.find(old)
    for said in read_statements(message):
        if at >= 0 and old in said.text and said.cues & {"changes", "replaces"}:
            rest = said.text[said.text.find(old) + len(old) :]
            names = [name for name in NAMES.findall(rest) if not TIME_WORDS & set(name.lower().split())]
            return names[0] if len(names) == 1 else None
    return None
