"""Similarity: whether two values say the same, the opposite, or something else, decided by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from recollect.recall.lexemes import lexemes

NEAR = 0.8  # share of common words from which two values are one
MOST_WORDS = 600  # of a value that are compared; two longer values are one only if they are equal
NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|without|cannot|\w+n't|don't|avoid|stop|no longer)\b|[不没无未别勿]", re.IGNORECASE
)
# What was turned down, in a value that says both: "Postgres instead of MySQL".
TURNED_DOWN = re.compile(
    r"\b(?:instead of|rather than|in place of|not|over|and not)\s+(?P<old>[^,;.]{2,60})|而不是(?P<cjk>[^，。；]{1,30})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Gist:
    """A value reduced to what is compared, computed once because values are compared many times."""

    folded: str
    words: frozenset[str]
    negated: bool
    anchors: frozenset[str]  # words of which every near value has at least one
    is_cut: bool = False  # `words` are only the first of its words

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.words if any(map(str.isdigit, word)))

    def resembles(self, other: Gist) -> bool:
        """Return False if the other is neither the same nor the opposite: a quick test for most comparisons."""
        if self.anchors.isdisjoint(other.words):
            return self.folded == other.folded
        return compute_overlap(self, other) >= NEAR or self.folded == other.folded

    def is_same(self, other: Gist) -> bool:
        return self.folded == other.folded or (self.negated == other.negated and self.is_near(other))

    def is_opposite(self, other: Gist) -> bool:
        return self.negated != other.negated and self.is_near(other)

    def is_near(self, other: Gist) -> bool:
        """Return whether most words are common; different numbers make two values different."""
        if compute_overlap(self, other) < NEAR:  # first, because it is so for nearly all that are compared
            return False
        return not (self.is_cut or other.is_cut) and not (self.numbers - other.numbers and other.numbers - self.numbers)

    def is_part(self, other: Gist) -> bool:
        return self.negated == other.negated and len(self.words) > 1 and self.words <= other.words

    def speaks_of(self, other: Gist) -> bool:
        first, second = self.words, other.words
        return bool(first and second) and len(first & second) >= min(len(first), len(second)) * NEAR


@lru_cache(maxsize=20_000)
def get_gist(value: str) -> Gist:
    negations = len(NEGATION.findall(value))
    words = lexemes(NEGATION.sub(" ", value)) or lexemes(value)
    return Gist(
        folded=" ".join(value.casefold().split()),
        words=frozenset(islice(words, MOST_WORDS)),
        negated=negations % 2 == 1,
        anchors=choose_anchors(list(islice(words, MOST_WORDS))),
        is_cut=len(words) > MOST_WORDS,
    )


def choose_anchors(words: Sequence[str]) -> frozenset[str]:
    """Return so many words, rare ones first, that two values which share `NEAR` of theirs share one of these."""
    shared = -(-len(words) * 4 // 5)  # NEAR of them, rounded up
    rare = sorted(words, key=lambda word: (any(map(str.isdigit, word)), len(word)), reverse=True)
    return frozenset(rare[: len(words) - shared + 1])


def is_same(one: str, other: str) -> bool:
    return get_gist(one).is_same(get_gist(other))


def is_opposite(one: str, other: str) -> bool:
    return get_gist(one).is_opposite(get_gist(other))


def adds_words(value: str, known: str) -> bool:
    """Return whether a value has words that another one lacks."""
    return not get_gist(value).words <= get_gist(known).words


def is_part(one: str, other: str) -> bool:
    """Return whether all words of one, several of them, are in the other: "colour technologist" of "44-year-old colour
    technologist", but not "York" of "New York"."""
    return get_gist(one).is_part(get_gist(other))


def speaks_of(text: str, value: str) -> bool:
    """Return whether the words of a value, or of a text about it, are within the other."""
    return get_gist(text).speaks_of(get_gist(value))


def find_rejected_value(value: str) -> str | None:
    found = TURNED_DOWN.search(value)
    return (found["old"] or found["cjk"]) if found else None


def compute_overlap(one: Gist, other: Gist) -> float:
    common = len(one.words & other.words)
    return common / (len(one.words) + len(other.words) - common) if common else 0.0
