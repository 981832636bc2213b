"""Spelling: if the words of a question were never said, they may be misspelt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from recollect.recall.fuse import Fused
from recollect.recall.question import Question

SIMILAR = 0.35  # trigram similarity: "grup" and "group" have 0.38
UNHEARD = 0.7  # of what the question's words are worth
SHORTEST = 4
LONG = 8  # letters from which two slips are likely
MAX_WORDS = 8


def unknown_words(question: Question, fused: Fused) -> list[str]:
    """Return the words whose spelling is checked, if those never said outweigh the others."""
    heard = fused.counts.sum(axis=0) > 0
    if not len(fused.counts) or float(fused.idf[~heard].sum()) < UNHEARD * float(fused.idf.sum()):
        return []
    unknown = [word for word, known in zip(question.lexemes, heard, strict=True) if not known]
    return list(filter(is_checked, unknown))[:MAX_WORDS]


def beginnings(words: Sequence[str]) -> list[str]:
    """Return the first two and three letters of similar words. The longer beginnings are few and come first, in case
    there is no time for all."""
    return list(dict.fromkeys(word[:length] for length in (3, 2) for word in words))


def second_letters(word: str) -> Iterator[str]:
    """Yield the words that differ in the second letter: wrong, missing, superfluous or swapped."""
    first, second, rest = word[0], word[1], word[2:]
    yield from (first + letter + rest for letter in ascii_lowercase if letter != second)
    yield from (first + letter + word[1:] for letter in ascii_lowercase)
    yield first + rest
    yield first + rest[:1] + second + rest[1:]


def find_misspelt(words: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return, for each word that is not known, the nearest known one, if it differs by a slip of the hand."""
    found = {}
    for word in words:
        if word in known or not is_checked(word):
            continue
        near = [(count_slips(word, each), each) for each in known if is_slip(word, each)]
        if near:
            found[word] = min(near)[1]
    return found


def is_checked(word: str) -> bool:
    return len(word) >= SHORTEST and word.isascii() and word.isalpha()


def is_slip(word: str, other: str) -> bool:
    """Return whether one may be the other misspelt: a letter wrong, missing, superfluous or swapped with the next; two
    in long words."""
    most = 1 if len(word) < LONG else 2
    return abs(len(word) - len(other)) <= most and is_checked(other) and count_slips(word, other) <= most


def count_slips(one: str, other: str) -> int:
    """Return the edit distance in which swapping two neighbours is one step."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """Return the question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))
