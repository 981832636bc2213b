"""Spelling: when the words of a question were never said, the likely reason is how they are spelt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

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


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """The question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))
