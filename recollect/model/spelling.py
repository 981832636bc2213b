"""Spelling: when the words of a question were never said, the likely reason is how they are spelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from recollect.model.fuse import Fused
from recollect.model.question import Question

SIMILAR = 0.35  # trigram similarity: "grup" and "group" have 0.38
UNHEARD = 0.7  # of what the question's words are worth
SHORTEST = 4
MOST_WORDS = 8


def unknown_words(question: Question, fused: Fused) -> list[str]:
    """The words worth a second look, when what was never said outweighs what was."""
    heard = fused.counts.sum(axis=0) > 0
    if not len(fused.counts) or float(fused.idf[~heard].sum()) < UNHEARD * float(fused.idf.sum()):
        return []
    unknown = [word for word, known in zip(question.lexemes, heard, strict=True) if not known]
    return [word for word in unknown if len(word) >= SHORTEST and word.isascii() and word.isalpha()][:MOST_WORDS]


def beginnings(words: Sequence[str]) -> list[str]:
    """What similar words begin with: two letters, and three. The longer ones are few, and are then looked at even where
    there is no time for all of the others."""
    return list(dict.fromkeys(word[:length] for length in (3, 2) for word in words))


def second_letters(word: str) -> Iterator[str]:
    """The words that differ from this one in the second letter: it is wrong, missing, too much, or comes too soon."""
    first, second, rest = word[0], word[1], word[2:]
    yield from (first + letter + rest for letter in ascii_lowercase if letter != second)
    yield from (first + letter + word[1:] for letter in ascii_lowercase)
    yield first + rest
    yield first + rest[:1] + second + rest[1:]


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """The question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))
