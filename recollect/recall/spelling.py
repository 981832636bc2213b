"""Spelling: if the words of a question were never said, they may be misspelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from recollect.recall.fuse import Fused
from recollect.recall.question import Question

SIMILAR = 0.35  # trigram similarity: "grup" and "group" have 0.38
UNHEARD = 0.7  # of what the question's words are worth
SHORTEST = 4
MAX_WORDS = 8


def unknown_words(question: Question, fused: Fused) -> list[str]:
    """Return the words whose spelling is checked, if those never said outweigh the others."""
    heard = fused.counts.sum(axis=0) > 0
    if not len(fused.counts) or float(fused.idf[~heard].sum()) < UNHEARD * float(fused.idf.sum()):
        return []
    unknown = [word for word, known in zip(question.lexemes, heard, strict=True) if not known]
    return [word for word in unknown if len(word) >= SHORTEST and word.isascii() and word.isalpha()][:MAX_WORDS]


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


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """Return the question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))
