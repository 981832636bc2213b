"""Which recalled messages answer a question: each gets the probability that it has the answer. Pure.

The features are few and say what they measure; the weights were fitted on dialogues with questions
(bench/dialogues.py). A message is evidence only if it states something: the caller leaves out questions and our own
quotations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.recall.answer_types import Subjects, find_about, rate_subject, rate_type, read_subjects, read_wanted
from recollect.recall.lexemes import bigrams, lexemes
from recollect.recall.question import surfaces
from recollect.recall.spelling import respell
from recollect.recall.word_lists import REQUEST_WORDS, STOP_WORDS
from recollect.values.query import Arm, Hit, Recall
from recollect.values.text import CJK_CHARACTER, WORD, stemmer

ASKING_WORDS = frozenset((
    "who", "whom", "whose", "what", "which", "when", "where", "why", "how", "many", "much", "long", "old", "kind",
    "kinds", "type", "name", "called", "again", "now", "currently", "still", "exactly", "actually", "ever", "use",
    "get", "need", "want", "like",
))  # fmt: skip
ASKING = re.compile(
    rf"\b(?:{'|'.join(sorted(ASKING_WORDS))})\b"
    r"|什么|时候|多少|怎么|如何|哪[里儿个些位所家]?|几|谁|多久|多大|现在|告诉|说过?",
    re.IGNORECASE,
)
QUESTION_WORDS = ASKING_WORDS | STOP_WORDS | REQUEST_WORDS
ALIKE = 0.8  # cosine from which two words mean nearly the same
MOST_MARGIN = 3.0  # by which the best message may be ahead
NO_ARM = Arm(0, 0.0)
NO_PEOPLE = frozenset[str]()
LEAST_SPAN = 0.5  # between the best and the average message; below, none stands out


@dataclass(frozen=True, slots=True)
class Features:
    covered: float  # share of the question's words, by weight, that the message has
    nearby: float  # share that only the messages beside it have
    ahead: float  # cosine with the question, above the average of all messages
    similar: float  # similarity of its words to the question's, above the average of all messages
    typed: float  # 1 if it has the type of answer that the question asks for, -1 if not, 0 if any type will do
    subject: float  # 1 if it is about whom the question is about, below 0 if not, 0 if that is unknown
    unheard: float  # share of the question's words that were never said


# These weights, and those of Confidence, were fitted by bench/fit_answers.py.
WEIGHTS = Features(covered=1.26, nearby=3.4, ahead=3.76, similar=5.63, typed=1.32, subject=0.4, unheard=0.0)
CONFIDENT = 0.85  # probability from which a message is given as an answer; below, as the closest there is
ALL_COVERED, LIKELY = 0.99, 0.3  # share of the words of the question, and probability from which having them is enough
UNSURE = 0.25  # most of what may answer a question about somebody of whom no message is
CLOSEST = 0.2  # below, it is not worth showing
ALL_UNHEARD = 0.99  # share of the question's words
AS_GOOD = 1.0  # difference from the best total up to which a message answers as well


@dataclass(frozen=True, slots=True)
class Confidence:
    """What argues for the best message being an answer."""

    above: float  # its total above that of the average message
    margin: float  # and above the next best
    typed: float
    known: float  # share of the question's words that it or the messages beside it have
    unheard: float


F = TypeVar("F", Features, Confidence)
CONFIDENCE = Confidence(above=0.18, margin=0.51, typed=0.4, known=0.23, unheard=-0.26)
CONFIDENCE_BIAS = -0.82


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message with its total, and with the probability that it answers if it is the best."""

    hit: Hit
    total: float
    features: Features
    probability: float = 0.0

    @property
    def is_confident(self) -> bool:
        is_fitting = self.features.typed >= 0 and self.features.subject >= 0
        has_all = self.features.covered >= ALL_COVERED and self.probability >= LIKELY
        return is_fitting and (has_all or self.probability >= CONFIDENT)

    @property
    def is_close(self) -> bool:
        """Whether it is worth showing if nothing answers: something of the question was said before, or both are about
        the user."""
        is_related = self.features.unheard < ALL_UNHEARD or self.features.subject > 0
        return is_related and self.probability >= CLOSEST

    def is_as_good(self, best: Ranked) -> bool:
        """Whether it answers as well as the best message does."""
        return self is best or (self.total >= best.total - AS_GOOD and self.features.typed >= best.features.typed)


def rank_messages(recall: Recall, hits: Sequence[Hit]) -> list[Ranked]:
    """Return the hits, best first. All of `recall.hits` count as said beside them."""
    features = compute_features(recall, hits)
    ranked = [Ranked(hit, weigh(WEIGHTS, each), each) for each, hit in zip(features, hits, strict=True)]
    wanted = read_wanted(spell_question(recall), find_subjects(recall)[0].names)
    ranked.sort(key=lambda each: -each.total)
    is_about_stranger = bool(wanted.people) and all(each.subject < 1 for each in features)
    if ranked:
        others = [each.total for each in ranked[1:] if not is_change(ranked[0].hit, each.hit)]
        confidence = read_confidence([ranked[0].total, *others], ranked[0].features)
        most = UNSURE if is_about_stranger else 1.0
        ranked[0] = replace(ranked[0], probability=min(estimate(confidence), most))
    return ranked


def is_change(one: Hit, other: Hit) -> bool:
    """Return whether one of two messages changes the other: they answer the same question, and do not compete."""
    return any(part.by == other.source for part in one.outdated) or any(
        part.by == one.source for part in other.outdated
    )


def read_confidence(totals: Sequence[float], best: Features) -> Confidence:
    """Return what argues for the best message. `totals` are those of all messages, the highest first."""
    following = totals[1] if len(totals) > 1 else totals[0] - MOST_MARGIN
    return Confidence(
        above=totals[0] - median(totals),
        margin=min(totals[0] - following, MOST_MARGIN),
        typed=best.typed,
        known=best.covered + best.nearby,
        unheard=best.unheard,
    )


def estimate(confidence: Confidence) -> float:
    return 1 / (1 + math.exp(-(CONFIDENCE_BIAS + weigh(CONFIDENCE, confidence))))


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant a message is to the question."""

    score: float  # 1 as the best of all messages, 0 as the average one; -1 at least, and if it is about other people
    typed: float = 0.0  # -1 if it lacks the type of answer that the question asks for


UNKNOWN = Relevance(0.0)


def rate_relevance(recall: Recall, hits: Sequence[Hit]) -> list[Relevance]:
    """Return how relevant each hit is to the question (see learning/changes.py)."""
    features = compute_features(recall, hits)
    totals = [weigh(WEIGHTS, each) for each in features]
    middle = median(totals) if totals else 0.0
    span = max(max(totals, default=0.0) - middle, LEAST_SPAN)
    return [
        Relevance(score=max((total - middle) / span, -1.0) if each.subject >= 0 else -1.0, typed=each.typed)
        for total, each in zip(totals, features, strict=True)
    ]


def weigh(weights: F, values: F) -> float:
    return float(sum(getattr(weights, name) * getattr(values, name) for name in weights.__slots__))


def compute_features(recall: Recall, hits: Sequence[Hit]) -> list[Features]:
    said = {hit.source: split_words(hit.text) for hit in recall.hits}
    vocabulary = frozenset[str]().union(*(said[hit.source] for hit in hits))
    worth = weigh_words(recall)
    forms = {word: vocabulary.intersection((word, stemmer()(word))) for word in worth}
    total = sum(worth.values()) or 1.0
    cosines = {hit.source: hit.arms.get("vector", NO_ARM).score for hit in recall.hits}
    mean = sum(cosines[hit.source] for hit in hits) / max(len(hits), 1)
    subjects, people, about = find_subjects(recall)
    wanted = read_wanted(spell_question(recall), subjects.names)
    unheard = sum(weight for word, weight in worth.items() if not forms[word]) / total

    def share(words: frozenset[str], without: frozenset[str] = frozenset()) -> float:
        shared = [word for word in worth if without.isdisjoint(forms[word]) and not words.isdisjoint(forms[word])]
        return sum(worth[word] for word in shared) / total

    return [
        Features(
            covered=share(said[hit.source]),
            nearby=share(list_nearby(hit, said), said[hit.source]),
            ahead=cosines[hit.source] - mean,
            similar=hit.similarity,
            typed=rate_type(wanted, hit.text),
            subject=rate_subject(wanted, hit.text, about.get(hit.source, NO_PEOPLE), people.get(hit.source, NO_PEOPLE)),
            unheard=unheard,
        )
        for hit in hits
    ]


def find_subjects(recall: Recall) -> tuple[Subjects, dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return whom the user's messages are about, all together, and by source whom each mentions and is about."""
    said = [hit for hit in recall.hits if hit.turn.role == "user" and hit.turn.at is not None]
    said.sort(key=lambda hit: (hit.turn.at, hit.turn.index))
    subjects = read_subjects(tuple(hit.text for hit in said))
    people = {hit.source: people for hit, people in zip(said, subjects.people, strict=True)}
    about = {
        hit.source: find_about(hit.text, subjects.names, before)
        for hit, before in zip(said, subjects.before, strict=True)
    }
    return subjects, people, about


def list_nearby(hit: Hit, said: Mapping[str, frozenset[str]]) -> frozenset[str]:
    session, _, index = hit.source.rpartition("#")
    beside = [said.get(f"{session}#{int(index) + step}", frozenset[str]()) for step in (-2, -1, 1)]
    return frozenset[str]().union(*beside)


def weigh_words(recall: Recall) -> dict[str, float]:
    """Return the weight of each word of the question, without the words that only ask."""
    text = spell_question(recall)
    own = lexemes(ASKING.sub(" ", text), without=REQUEST_WORDS) or lexemes(text)
    spelt = surfaces(text)
    highest = max(recall.terms.values(), default=1.0)
    return {spelt.get(word, word): recall.terms.get(word, highest) for word in own}


@lru_cache(maxsize=2000)
def split_words(text: str) -> frozenset[str]:
    """Return the words of a message as written, and its lexemes."""
    return frozenset(WORD.findall(text.lower())) | frozenset(lexemes(text))


@lru_cache(maxsize=2000)
def list_words(text: str) -> tuple[str, ...]:
    """Return the words of a text as their vectors are compared: no stop words, Chinese as pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(text.lower()):
        if CJK_CHARACTER.match(word):
            found += bigrams(word)
        elif word not in STOP_WORDS:
            found.append(word)
    return tuple(dict.fromkeys(found))


def list_question_words(recall: Recall) -> list[str]:
    """Return the words of the question that are compared, misspelt ones as they were said."""
    text = spell_question(recall)
    return [word for word in list_words(ASKING.sub(" ", text)) if word not in REQUEST_WORDS] or list(list_words(text))


def spell_question(recall: Recall) -> str:
    """Return the question with misspelt words as they were said, or as they are asked with."""
    said = frozenset[str]().union(*(split_words(hit.text) for hit in recall.hits))
    return respell(recall.query.text, QUESTION_WORDS | said)


def add_similarity(recall: Recall, vectors: Mapping[str, NDArray[Any]]) -> Recall:
    """Return the recall, each hit with the similarity of its words to the question's. A word of the question is worth
    the more, the fewer messages have one like it."""
    asked = list_question_words(recall)
    if not asked:  # "where am I from?" has stop words only
        return recall
    question = np.array([vectors[word] for word in asked])
    nearest = np.zeros((len(recall.hits), len(question)))
    for row, hit in enumerate(recall.hits):
        if words := list_words(hit.text):
            nearest[row] = np.maximum((question @ np.array([vectors[word] for word in words]).T).max(axis=1), 0.0)
    count = (nearest > ALIKE).sum(axis=0)
    worth = np.log1p((len(nearest) - count + 0.5) / (count + 0.5))
    ahead = (nearest - nearest.mean(axis=0)) @ (worth / worth.sum())
    hits = [replace(hit, similarity=round(float(value), 4)) for hit, value in zip(recall.hits, ahead, strict=True)]
    return replace(recall, hits=hits)
