"""Asked: which keys a text speaks of without saying their value. Questions ask for them ("where do I live?"), orders
name them ("forget where I live"). All words are in the rulebooks; here is how they are matched, misspelt ones too.
Recall, learning and the chat call it; nothing is awaited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from recollect.model.rulebook import Rulebook, compiled
from recollect.model.value import MARKS

SHORT = 5  # letters of a word up to which one more or less, or two in the wrong order, is all that is forgiven
LONG = 8  # from here on two mistakes are
AFTER_MY = re.compile(r"(?<=\bmy )(?P<first>[a-z]{3,})(?: (?P<second>[a-z]{3,}))?", re.IGNORECASE)
BRITISH = (("our", "or"), ("or", "our"), ("tre", "ter"), ("ter", "tre"), ("ise", "ize"), ("ize", "ise"))


def asked_keys(text: str, books: Sequence[Rulebook]) -> list[str]:
    """Canonical keys that a question asks for, as the rulebooks know them; without any, those of a word that is nearly
    one of theirs."""
    return keys_in(text, books) or next(filter(None, (keys_in(each, books) for each in respelt(text, books))), [])


def keys_in(text: str, books: Iterable[Rulebook]) -> list[str]:
    found = [
        key
        for book in books
        for asked, pattern in book.asked.items()
        if (match := compiled(pattern).search(text))
        for key in spelt_out(asked, match)
    ]
    return list(dict.fromkeys(found))


def spelt_out(key: str, match: re.Match[str]) -> list[str]:
    """A key with a term in it, for each way to spell the term."""
    if "{" not in key:
        return [key]
    return [key.format(term=term) for term in variants(match["term"].lower())]


def variants(word: str) -> list[str]:
    """ "colour" and "color"."""
    turned = [word[: -len(old)] + new for old, new in BRITISH if word.endswith(old)]
    return list(dict.fromkeys([word, *turned]))


def named_keys(text: str, books: Sequence[Rulebook]) -> list[str]:
    """The keys that an order names without a value: of "my birthday", "where I live"."""
    told = text.strip(MARKS).lower()
    for book in books:
        if (match := compiled(book.naming).fullmatch(told)) is not None:
            return of_word(match["word"] or "", book) or of_indirect(told, book)
    return []


def of_word(word: str, book: Rulebook) -> list[str]:
    for spelling in (word, word.removesuffix("s")):
        if spelling in book.aliases:
            return [book.aliases[spelling][1]]
        if spelling in book.vocabulary:
            return [spelling]
    return []


def of_indirect(told: str, book: Rulebook) -> list[str]:
    """An indirect question asks for its keys; a name that is no question has a term at most."""
    is_question = any(compiled(gate.pattern).search(told) for gate in book.gates if gate.reason == "question")
    table = {key: pattern for key, pattern in book.asked.items() if is_question or "{" in key}
    return [
        key for asked, pattern in table.items() if (m := compiled(pattern).search(told)) for key in spelt_out(asked, m)
    ]


def is_everything(text: str, books: Iterable[Rulebook]) -> bool:
    """An order about all that is known at once."""
    return any(compiled(book.everything).fullmatch(text.strip(MARKS)) for book in books)


def respelt(text: str, books: Iterable[Rulebook]) -> Iterator[str]:
    """The text with the word after "my" as a key is spelt, for each that is nearly it."""
    if AFTER_MY.search(text) is None:
        return
    words = {word for book in books for word in book.vocabulary if word.isascii()}
    for match in AFTER_MY.finditer(text):
        for group in ("first", "second"):
            start, end = match.span(group)
            said = text[start:end].lower()
            for word in sorted(words) if said and said not in words else ():
                if is_nearly(said, word):
                    yield text[:start] + word + text[end:]


@lru_cache(maxsize=4096)
def is_nearly(said: str, word: str) -> bool:
    """Misspelt, and not another word: it begins alike, and short words differ by more than one other letter."""
    if said[0] != word[0] or abs(len(said) - len(word)) > 2:
        return False
    if len(word) <= SHORT:
        return len(word) > 3 and (len(said) != len(word) or sorted(said) == sorted(word)) and mistakes(said, word) == 1
    return mistakes(said, word) <= (2 if len(word) >= LONG else 1)


def mistakes(said: str, word: str) -> int:
    """Letters too many, missing, wrong, or two in the wrong order."""
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
