"""Which recalled messages answer a question: each gets the probability that it has the answer. Pure.

The features are few and say what they measure; the weights were fitted on dialogues with questions
(bench/dialogues.py). A message is evidence only if it states something: the caller leaves out questions and our own
quotations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.recall.lexemes import lexemes
from recollect.recall.question import surfaces
from recollect.recall.spelling import is_misspelling
from recollect.recall.word_lists import ASKS_WHEN, FIRST_PERSON, REQUEST_WORDS
from recollect.values.query import Hit, Recall
from recollect.values.text import WORD, stemmer

ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|many|much|long|old|kind|kinds|type|name|called|again|now|currently"
    r"|still|exactly|actually|ever|use|get|need|want|like)\b|什么|时候|多少|怎么|如何|哪[里儿个些位所家]?|几|谁|多久|多大|现在|告诉|说过?",
    re.IGNORECASE,
)
SHORTEST = 3  # letters of a word that may be misspelt
NEARLY = 0.8  # what a misspelt word is worth
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|half|once|twice)\b"
    r"|[一二三四五六七八九十百千万两半]",
    re.IGNORECASE,
)
TIME = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:jan|febr|mar|apr|may|jun|jul|aug|sept|oct|nov|dec)\w*\b"
    r"|\b(?:today|tonight|tomorrow|yesterday|morning|evening|afternoon|noon|week|weekend|month|year|spring|summer|autumn|winter)s?\b"
    r"|[周月号日年点]|星期|今天|明天|昨天|上午|下午|晚上|早上",
    re.IGNORECASE,
)
NAME = re.compile(r"(?<=[\w,;:(] )[A-Z][\w'-]+|\b(?:called|named|name'?s?)\b|[叫姓名是]|阿|老[一-龥]|小[一-龥]")
PLACE = re.compile(r"\b(?:in|at|on|to|from|near|round)\b|[在去到住从]", re.IGNORECASE)
TYPES = (
    (re.compile(r"\bhow (?:many|much|old|big|long|far|often)\b|多少|几|多久|多大|多高", re.IGNORECASE), NUMBER),
    (ASKS_WHEN, TIME),
    (re.compile(r"\b(?:who|whom|whose|who's)\b|\bname\b|\bcalled\b|谁|叫什么|姓什么|名字", re.IGNORECASE), NAME),
    (re.compile(r"\bwhere\b|\bwhich (?:city|town|country|place)\b|哪[里儿]|哪个城市|什么地方", re.IGNORECASE), PLACE),
)


@dataclass(frozen=True, slots=True)
class Features:
    covered: float  # share of the question's words, by weight, that the message has
    nearby: float  # share that only the messages beside it have
    ahead: float  # cosine with the question, above the average of all messages
    typed: float  # 1 if it has what the question word asks for (a number, a name), -1 if not, 0 if anything goes
    asked: float  # 1 if a memory of the requested key was learned from it
    unheard: float  # share of the question's words that were never said


WEIGHTS = Features(covered=5.2, nearby=2.9, ahead=4.5, typed=1.2, asked=2.0, unheard=2.5)
BIAS = -4.5
COVERED, UNTYPED = 1.9, 1.0  # weights of a later message in favour of a change
CONFIDENT = 0.6  # probability from which a message is given as an answer; below, as the closest there is
CLOSEST = 0.13  # below, it is not worth showing


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message with the probability that it answers the question."""

    hit: Hit
    probability: float
    features: Features
    is_personal: bool  # the question is about the user

    @property
    def is_confident(self) -> bool:
        return self.features.asked > 0 or (self.probability >= CONFIDENT and self.features.typed >= 0)

    def is_as_close(self, best: Ranked) -> bool:
        """Whether it answers as well as the best message does."""
        return self is best or (self.is_confident and self.features.covered >= best.features.covered)

    @property
    def is_close(self) -> bool:
        """Whether it is worth showing: it shares something with the question, or both are about the user."""
        is_related = self.features.covered + self.features.nearby > 0 or self.is_personal
        return is_related and self.probability >= CLOSEST


def rank_messages(recall: Recall, hits: Sequence[Hit], asked: frozenset[str]) -> list[Ranked]:
    """Return the hits, best first. `asked` are the messages that memories of the requested keys were learned from; all
    of `recall.hits` count as said beside them."""
    features = compute_features(recall, hits, asked)
    is_personal = FIRST_PERSON.search(recall.query.text) is not None
    ranked = [Ranked(hit, estimate(each), each, is_personal) for each, hit in zip(features, hits, strict=True)]
    return sorted(ranked, key=lambda each: -each.probability)


def rate_support(recall: Recall, hits: Sequence[Hit]) -> list[float]:
    """Return, for each hit, how much the question speaks for it as what holds now (see learning/changes.py): it has
    words of the question, and what the question word asks for."""
    return [COVERED * each.covered + UNTYPED * min(each.typed, 0.0) for each in compute_features(recall, hits)]


def estimate(features: Features) -> float:
    total = BIAS + sum(getattr(WEIGHTS, name) * getattr(features, name) for name in Features.__slots__)
    return 1 / (1 + math.exp(-total))


def compute_features(recall: Recall, hits: Sequence[Hit], asked: Collection[str] = ()) -> list[Features]:
    said = {hit.source: split_words(hit.text) for hit in recall.hits}
    vocabulary = frozenset[str]().union(*(said[hit.source] for hit in hits)) if hits else frozenset[str]()
    worth = weigh_words(recall)
    forms = {word: find_forms(word, vocabulary) for word in worth}
    total = sum(worth.values()) or 1.0
    cosines = {hit.source: get_cosine(hit) for hit in recall.hits}
    mean = sum(cosines[hit.source] for hit in hits) / max(len(hits), 1)
    wanted = next((has for asks, has in TYPES if asks.search(recall.query.text)), None)
    unheard = sum(weight for word, weight in worth.items() if not forms[word]) / total

    def share(words: Iterable[str], without: Iterable[str] = ()) -> float:
        words, without = frozenset(words), frozenset(without)
        return (
            sum(
                weight * max((value for form, value in forms[word].items() if form in words), default=0.0)
                for word, weight in worth.items()
                if not any(form in without for form in forms[word])
            )
            / total
        )

    return [
        Features(
            covered=share(said[hit.source]),
            nearby=share(list_nearby(hit, said), said[hit.source]),
            ahead=cosines[hit.source] - mean,
            typed=0.0 if wanted is None else 1.0 if wanted.search(hit.text) else -1.0,
            asked=float(hit.source in asked),
            unheard=unheard,
        )
        for hit in hits
    ]


def list_nearby(hit: Hit, said: Mapping[str, frozenset[str]]) -> frozenset[str]:
    session, _, index = hit.source.rpartition("#")
    beside = [said.get(f"{session}#{int(index) + step}", frozenset[str]()) for step in (-2, -1, 1)]
    return frozenset[str]().union(*beside)


def get_cosine(hit: Hit) -> float:
    return hit.arms["vector"].score if "vector" in hit.arms else 0.0


def weigh_words(recall: Recall) -> dict[str, float]:
    """Return the weight of each word of the question, without the words that only ask."""
    text = recall.query.text
    own = lexemes(ASKING.sub(" ", text), without=REQUEST_WORDS) or lexemes(text)
    spelt = surfaces(text)
    highest = max(recall.terms.values(), default=1.0)
    return {spelt.get(word, word): recall.terms.get(word, highest) for word in own}


@lru_cache(maxsize=2000)
def split_words(text: str) -> frozenset[str]:
    """Return the words of a message as written, and its lexemes."""
    return frozenset(WORD.findall(text.lower())) | frozenset(lexemes(text))


def find_forms(word: str, vocabulary: frozenset[str]) -> dict[str, float]:
    """Return what stands for a word of the question: itself, its lexeme, or what it misspells."""
    same = {form: 1.0 for form in (word, stemmer()(word)) if form in vocabulary}
    if same or len(word) < SHORTEST or not word.isascii():
        return same
    return {other: NEARLY for other in vocabulary if other.isascii() and is_misspelling(word, other)}
