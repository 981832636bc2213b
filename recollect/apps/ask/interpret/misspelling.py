"""Misspelt words: a word of the question that names nothing is also read as the word that it is nearest to, among the
names and values of the source and the operators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from recollect.apps.ask.interpret.values import ValueIndex
from recollect.apps.ask.words import Phrase, Token, find_operators, list_operator_words
from recollect.recall.spelling import count_mistakes, is_misspelling
from recollect.recall.word_lists import STOP_WORDS

SHORTEST = 4  # letters of a word that is taken for a mistake


def group_known_words(names: Collection[Phrase], values: ValueIndex) -> dict[str, tuple[str, ...]]:
    """Return the stems of all words that can be linked, by their first letter."""
    grouped: defaultdict[str, dict[str, None]] = defaultdict(dict)
    words = (word for phrase in (*names, *values.list_stems(), *list_operator_words()) for word in phrase)
    for word in words:
        if len(word) >= SHORTEST and word.isascii() and word.isalpha():
            grouped[word[0]][word] = None
    return {letter: tuple(found) for letter, found in grouped.items()}


def respell(
    tokens: Sequence[Token], explained: Collection[int], known: Mapping[str, Sequence[str]]
) -> tuple[Token, ...]:
    """Return the tokens, those that nothing explains with the stem of the known word that they misspell."""
    return tuple(token if at in explained else respell_token(token, known) for at, token in enumerate(tokens))


def respell_token(token: Token, known: Mapping[str, Sequence[str]]) -> Token:
    stem = token.stem
    is_known = bool(token.quote or token.lower in STOP_WORDS or find_operators([token]))
    if is_known or len(stem) < SHORTEST or not (stem.isascii() and stem.isalpha()):
        return token
    near = [word for word in known.get(stem[0], ()) if is_misspelling(stem, word)]
    best = min(near, key=lambda word: count_mistakes(stem, word), default=stem)
    return replace(token, lower=best, stem=best) if best != stem else token
