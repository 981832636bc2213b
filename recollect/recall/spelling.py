"""Spelling: if the words of a question were never said, they may be misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from string import ascii_lowercase
from typing import TYPE_CHECKING

from recollect.values.text import WORD, stemmer

if TYPE_CHECKING:  # the command line uses this module, and its help must not wait for numpy
    from recollect.recall.fuse import Bools, Fused
    from recollect.recall.question import Question

SIMILAR = 0.35  # trigram similarity: "grup" and "group" have 0.38
UNHEARD = 0.7  # of what a question's words are worth: the share of unknown ones from which similar words are tried
SHORTEST = 4
SHORTEST_SWAPPED = 3  # letters of a word of which two may be swapped
SHORT = 5  # letters of a word up to which one more or less, or two in the wrong order, is all that is forgiven
LONG = 8  # from here on two mistakes are
MAX_WORDS = 8


def find_unknown_words(question: Question, fused: Fused, stated: Bools) -> tuple[list[str], bool]:
    """Return the words of a question that no turn states, and whether they outweigh the others. `stated` are the turns
    that count: not the question itself, nor other questions, in which the same mistake may have been made."""
    heard = fused.counts[stated].sum(axis=0) > 0
    outweigh = float(fused.idf[~heard].sum()) >= UNHEARD * float(fused.idf.sum())
    words = [word for word, known in zip(question.lexemes, heard, strict=True) if not known and is_checked(word)]
    return words[:MAX_WORDS] if stated.any() else [], outweigh


def swap_letters(word: str) -> list[str]:
    """Return the word with two neighbouring letters swapped, each pair in turn: a short word has few trigrams."""
    swapped = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))
    return [each for each in swapped if each != word]


def choose_spellings(unknown: Sequence[str], similar: Mapping[str, str], outweigh: bool) -> dict[str, str]:
    """Return, for each unknown word, what it misspells: itself with two letters swapped, or a similar word if most of
    the question is unknown. A word that was merely never said is seldom another with two letters swapped."""
    chosen = {word: similar[word] for word in unknown if outweigh and word in similar}
    for word in unknown:
        said = next((swapped for swapped in swap_letters(word) if similar.get(swapped) == swapped), None)
        chosen |= {word: said} if said else {}
    return chosen


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


def is_checked(word: str, shortest: int = SHORTEST) -> bool:
    """Return whether a word may be misspelt: ASCII letters, and not too few."""
    return len(word) >= shortest and word.isascii() and word.isalpha()


def with_spellings(question: Question, similar: Mapping[str, str]) -> Question:
    """Return the question with the words that were really said."""
    words = dict.fromkeys(similar.get(word, word) for word in question.lexemes)
    return replace(question, lexemes=tuple(words), respelt=tuple(similar.values()))


@lru_cache(maxsize=256)
def respell(text: str, known: frozenset[str]) -> str:
    """Return a text in which each word that is not known is replaced by the known one that it misspells, if any."""
    stem = stemmer()

    def correct(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in known or stem(word) in known or not is_checked(word, SHORTEST_SWAPPED):
            return match[0]
        swapped = [each for each in swap_letters(word) if each in known]
        near = swapped or [each for each in known if is_misspelling(word, each)]
        return min(near, key=lambda each: (count_mistakes(word, each), each), default=match[0])

    return WORD.sub(correct, text)


@lru_cache(maxsize=4096)
def is_misspelling(said: str, word: str) -> bool:
    """Return whether a word is misspelled and not another word: the first letter is the same, and short words differ by
    more than one other letter."""
    if said[:1] != word[:1] or abs(len(said) - len(word)) > 2:
        return False
    if len(word) > SHORT:
        return count_mistakes(said, word) <= (2 if len(word) >= LONG else 1)
    is_other_word = len(said) == len(word) and sorted(said) != sorted(word)
    return len(word) > 3 and not is_other_word and count_mistakes(said, word) == 1


def count_mistakes(said: str, word: str) -> int:
    """Return the number of extra, missing, wrong or swapped letters."""
    before: list[int] = []
    row = list(range(len(word) + 1))
    for i, letter in enumerate(said, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(word, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == word[j - 2] and said[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
