"""Sameness: whether two values say the same, the opposite, or something else. Decided by their words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from recollect.model.text import lexemes

NEAR = 0.8  # share of common words from which two values are one
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
    """A value reduced to what is compared."""

    folded: str
    words: frozenset[str]
    negated: bool

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.words if any(map(str.isdigit, word)))


@lru_cache(maxsize=20_000)
def gist(value: str) -> Gist:
    negations = len(NEGATION.findall(value))
    plain = NEGATION.sub(" ", value)
    return Gist(" ".join(value.casefold().split()), frozenset(lexemes(plain) or lexemes(value)), negations % 2 == 1)


def is_same(one: str, other: str) -> bool:
    first, second = gist(one), gist(other)
    if first.folded == second.folded:
        return True
    return first.negated == second.negated and is_near(first, second)


def is_opposite(one: str, other: str) -> bool:
    first, second = gist(one), gist(other)
    return first.negated != second.negated and is_near(first, second)


def adds_words(value: str, known: str) -> bool:
    """Whether a value has words that another one lacks."""
    return not gist(value).words <= gist(known).words


def is_part(one: str, other: str) -> bool:
    """Whether all the words of one are within the other, several of them: "colour technologist" of "44-year-old colour
    technologist", but not "York" of "New York"."""
    first, second = gist(one), gist(other)
    return first.negated == second.negated and len(first.words) > 1 and first.words <= second.words


def speaks_of(text: str, value: str) -> bool:
    """Whether the words of a value, or of a text about it, are within the other."""
    first, second = gist(text).words, gist(value).words
    return bool(first and second) and len(first & second) >= min(len(first), len(second)) * NEAR


def turned_down(value: str) -> str | None:
    found = TURNED_DOWN.search(value)
    return (found["old"] or found["cjk"]) if found else None


def is_near(one: Gist, other: Gist) -> bool:
    """Most words are common; numbers tell two values apart, however long the rest is."""
    if overlap(one, other) < NEAR:  # first, because it is so for nearly all that are compared
        return False
    return not (one.numbers - other.numbers and other.numbers - one.numbers)


def overlap(one: Gist, other: Gist) -> float:
    common = 0 if one.words.isdisjoint(other.words) else len(one.words & other.words)
    return common / (len(one.words) + len(other.words) - common) if common else 0.0
