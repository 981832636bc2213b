"""Lexemes: the words of a text as recall compares them, for turns and questions alike.

English and other word-spaced text becomes Snowball stems without stop words. Chinese, Japanese and Korean become
character bigrams, because nothing separates their words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from recollect.recall.word_lists import CJK_FUNCTION, STOP_WORDS
from recollect.values.text import CJK_CHARACTER, WORD, stemmer

LEXEME_CHARS = 64  # PostgreSQL's limit is 2 KB; nothing longer is a word


def lexemes(text: str, without: Collection[str] = ()) -> Counter[str]:
    """Return the lexemes with their counts."""
    found: list[str] = []
    stem = stemmer()
    for word in WORD.findall(text.lower()):
        if CJK_CHARACTER.match(word):
            found += bigrams(word)
        elif word not in STOP_WORDS and word not in without:
            found.append(stem(word)[:LEXEME_CHARS])
    return Counter(found)


def bigrams(run: str) -> list[str]:
    """Return character pairs of each piece between function characters; a single character stays alone."""
    pairs: list[str] = []
    for piece in CJK_FUNCTION.split(run):
        pairs += [piece] if len(piece) == 1 else [piece[i : i + 2] for i in range(len(piece) - 1)]
    return pairs
