"""Spelling: when most words of a question were never said, the likely reason is how they are spelt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recollect.model.fuse import Fused
from recollect.model.question import Question

SIMILAR = 0.35  # trigram similarity: "grup" and "group" have 0.38
SHORTEST = 4
MOST_WORDS = 8


def unknown_words(question: Question, fused: Fused) -> list[str]:
    """The words worth a second look: at least half of the question's, none of them short or a number."""
    known = fused.counts.sum(axis=0)
    unknown = [word for word, seen in zip(question.lexemes, known, strict=True) if not seen]
    if not len(fused.counts) or len(unknown) * 2 < len(question.lexemes):
        return []
    return [word for word in unknown if len(word) >= SHORTEST and word.isascii() and word.isalpha()][:MOST_WORDS]


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """The question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))
