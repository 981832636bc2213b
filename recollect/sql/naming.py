"""Naming: from identifiers to what people say. Pure; used by the draft, and free to be used by whoever reads words.

`words_of("tblCustOrders")` is ("customer", "orders"); `singular` and `plural` know the irregular forms of words.toml. A
Chinese identifier is one word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from recollect.sql.vocabulary import vocabulary

CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
CHINESE = re.compile(r"[\u3400-\u9fff]")
SIBILANT = ("s", "x", "z", "ch", "sh")
LONGEST_JOINED = 40
NAMES = ("name", "title", "label")


@lru_cache(maxsize=20_000)
def words_of(identifier: str) -> tuple[str, ...]:
    """The words of an identifier, lower case, abbreviations written out."""
    raw = [piece for part in CAMEL.findall(identifier) for piece in split_joined(part.lower())]
    return tuple(word for piece in raw for word in expanded(piece))


def expanded(word: str) -> list[str]:
    return str(vocabulary().table("abbreviations").get(word, word)).split()


def split_joined(word: str) -> list[str]:
    """`unitprice` as unit and price, if known pieces cover the whole; otherwise the word as it is."""
    known = vocabulary().pieces
    if not word.isascii() or len(word) > LONGEST_JOINED or is_known(word):
        return [word]
    best: list[list[str] | None] = [[]] + [None] * len(word)
    for end in range(1, len(word) + 1):
        found = [
            [*before, word[at:end]] for at in range(end) if is_piece(word[at:end]) and (before := best[at]) is not None
        ]
        best[end] = min(found, key=len, default=None)
    whole = best[-1]
    return whole if whole and any(piece in known for piece in whole) else [word]


def is_known(word: str) -> bool:
    return singular(word) in vocabulary().pieces or word in vocabulary().table("abbreviations")


def is_piece(word: str) -> bool:
    return len(word) >= 2 and (word in vocabulary().pieces or (len(word) > 3 and singular(word) in vocabulary().pieces))


def table_words(name: str) -> tuple[str, ...]:
    """What a table is about: without its schema and without marks such as `tbl_` and `dim_`."""
    words = list(words_of(bare(name)))
    while len(words) > 1 and words[0] in vocabulary().words("prefixes"):
        words = words[1:]
    while len(words) > 1 and words[-1] in vocabulary().words("suffixes"):
        words = words[:-1]
    return tuple(chinese_stem(word) for word in words)


def bare(name: str) -> str:
    return name.rpartition(".")[2]


def chinese_stem(word: str) -> str:
    if not CHINESE.search(word):
        return word
    endings = (each for each in vocabulary().words("chinese_suffixes") if word.endswith(each) and word != each)
    return word[: -len(next(endings, "")) or None]


@lru_cache(maxsize=20_000)
def singular(word: str) -> str:
    known, same = vocabulary().singulars, vocabulary().words("forms", "unchanging")
    if word in known:
        return known[word]
    if word in same or word in vocabulary().table("plurals") or not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(tuple(f"{end}es" for end in ("ss", "x", "z", "ch", "sh"))):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(maxsize=20_000)
def plural(word: str) -> str:
    known = vocabulary().table("plurals")
    if word in known:
        return str(known[word])
    if word in vocabulary().words("forms", "unchanging") or not word.isascii() or singular(word) != word:
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(SIBILANT) else "s")


def one(words: Sequence[str]) -> str:
    """The phrase in the singular: "order items" as "order item"."""
    return " ".join((*words[:-1], singular(words[-1]))) if words else ""


def of(owner: str, name: str) -> str:
    """ "customer city"; Chinese is written without a space."""
    return f"{owner}{name}" if CHINESE.search(name) and CHINESE.search(owner) else f"{owner} {name}"


def without(owner: str, name: str) -> str:
    """The name without its owner: "city" of "customer city"."""
    rest = name.removeprefix(owner).strip() if CHINESE.search(owner) else name.removeprefix(f"{owner} ")
    return rest or name


def many(phrase: str) -> str:
    head, space, last = phrase.rpartition(" ")
    return f"{head}{space}{plural(last)}"


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names if (name := " ".join(each.lower().split()))))


def is_name(labels: Sequence[str]) -> bool:
    """A name tells a row from the others; a subject or a number may not, there the key is shown too."""
    return len(labels) != 1 or not words_of(labels[0]) or words_of(labels[0])[-1] in NAMES


def is_either(aggregate: str, name: str) -> bool:
    """Minutes and distances are added up as often as they are averaged; a price or a score is not."""
    return aggregate == "avg" and bool(set(name.split()) & set(vocabulary().words("aggregates", "either")))
