"""Text: what we accept, and the lexemes we see in it. One analysis for turns and questions, so that they can meet.

English (and any other word-spaced text) becomes Snowball stems without stop words; Chinese, Japanese and Korean become
character bigrams, because nothing separates their words and PostgreSQL's dictionaries see one long one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput
from recollect.model.words import CJK_FUNCTION, STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORD = re.compile(rf"[^\W_{CJK}]+(?:[.,:'’-][0-9]+)*|[{CJK}]+")
CJK_CHARACTER = re.compile(f"[{CJK}]")
LEXEME_CHARS = 64  # PostgreSQL's limit is 2 KB; nothing longer is a word


def checked_text(field: str, value: object, most: int) -> str:
    """The text itself if it can be kept; otherwise an error that names the field."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"a {type(value).__name__} is not a text")
    if not value.strip():
        raise InvalidInput(field, "is empty")
    if len(value) > most:
        raise InvalidInput(field, f"{len(value):,} characters; at most {most:,}")
    if "\0" in value:
        raise InvalidInput(field, "contains a NUL character, which PostgreSQL cannot keep")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(field, f"is not valid Unicode: a lone surrogate at character {error.start}") from None
    return value


def lexemes(text: str, without: Collection[str] = ()) -> Counter[str]:
    """Lexemes with their counts."""
    found: list[str] = []
    stem = stemmer()
    for word in WORD.findall(text.lower()):
        if CJK_CHARACTER.match(word):
            found += bigrams(word)
        elif word not in STOP_WORDS and word not in without:
            found.append(stem(word)[:LEXEME_CHARS])
    return Counter(found)


def bigrams(run: str) -> list[str]:
    """Character pairs of each piece between function characters; a lone character stays alone."""
    pairs: list[str] = []
    for piece in CJK_FUNCTION.split(run):
        pairs += [piece] if len(piece) == 1 else [piece[i : i + 2] for i in range(len(piece) - 1)]
    return pairs


def is_cjk(text: str) -> bool:
    return CJK_CHARACTER.search(text) is not None


@cache
def stemmer() -> Callable[[str], str]:
    import Stemmer

    return Stemmer.Stemmer("english").stemWord  # type: ignore[no-any-return]
