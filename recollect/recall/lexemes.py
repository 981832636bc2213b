"""Lexemes: the words of a text as recall compares them, for turns and questions alike; and token counts.

English and other word-spaced text becomes Snowball stems without stop words. Chinese, Japanese and Korean become
character bigrams, because nothing separates their words. Tokens are estimated without a tokenizer: like the
pre-tokenizer of a byte-pair encoder, plus a share of the extra bytes of non-ASCII text. The estimate is a few per cent
high on English, code and Chinese (docs/why/recall.md), so budgets hold.
"""

from __future__ import annotations

import math
import re
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


PIECE = re.compile(r" ?[A-Za-z]{1,9}|\d{1,3}| ?[!-/:-@\[-`{-~]{1,3}\n*|\s+")
TOKENS_PER_EXTRA_BYTE = 0.65


def count_tokens(text: str) -> int:
    pieces = len(PIECE.findall(text))
    if text.isascii():
        return pieces
    extra = len(text.encode()) - len(text)
    return pieces + math.ceil(extra * TOKENS_PER_EXTRA_BYTE)
