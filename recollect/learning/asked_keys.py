"""Which keys a text mentions without their value: questions ask for them ("where do I live?"), commands name them
("forget where I live"). The words are in the rulebooks; misspelled ones match too. Pure; used by recall, learning and
chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recollect.learning.extract import MARKS
from recollect.learning.rulebook import Rulebook, compile_pattern
from recollect.recall.spelling import is_misspelling

AFTER_MY = re.compile(r"(?<=\bmy )(?P<first>[a-z]{3,})(?: (?P<second>[a-z]{3,}))?", re.IGNORECASE)
BRITISH = (("our", "or"), ("or", "our"), ("tre", "ter"), ("ter", "tre"), ("ise", "ize"), ("ize", "ise"))


def find_asked_keys(text: str, books: Sequence[Rulebook]) -> list[str]:
    """Return the canonical keys that a question asks for; if there are none, those of a word that is nearly one of the
    rulebooks'."""
    return match_keys(text, books) or next(
        filter(None, (match_keys(each, books) for each in iter_corrected(text, books))), []
    )


def match_keys(text: str, books: Iterable[Rulebook]) -> list[str]:
    found = [
        key
        for book in books
        for asked, pattern in book.asked.items()
        if (match := compile_pattern(pattern).search(text))
        for key in expand_key(asked, match)
    ]
    return list(dict.fromkeys(found))


def expand_key(key: str, match: re.Match[str]) -> list[str]:
    """Return a key that contains a term, for each spelling of the term."""
    if "{" not in key:
        return [key]
    return [key.format(term=term) for term in list_spellings(match["term"].lower())]


def list_spellings(word: str) -> list[str]:
    """Return British and American spellings of a word, such as "colour" and "color"."""
    turned = [word[: -len(old)] + new for old, new in BRITISH if word.endswith(old)]
    return list(dict.fromkeys([word, *turned]))


def find_named_keys(text: str, books: Sequence[Rulebook]) -> list[str]:
    """Return the keys that a command names without a value, such as "my birthday" or "where I live"."""
    told = text.strip(MARKS).lower()
    for book in books:
        if (match := compile_pattern(book.naming).fullmatch(told)) is not None:
            return find_word_keys(match["word"] or "", book) or find_indirect_keys(told, book)
    return []


def find_word_keys(word: str, book: Rulebook) -> list[str]:
    for spelling in (word, word.removesuffix("s")):
        if spelling in book.aliases:
            return [book.aliases[spelling][1]]
        if spelling in book.vocabulary:
            return [spelling]
    return []


def find_indirect_keys(told: str, book: Rulebook) -> list[str]:
    """Return the keys of an indirect question; a name that is no question has a term at most."""
    is_question = any(compile_pattern(gate.pattern).search(told) for gate in book.gates if gate.reason == "question")
    table = {key: pattern for key, pattern in book.asked.items() if is_question or "{" in key}
    return [
        key
        for asked, pattern in table.items()
        if (m := compile_pattern(pattern).search(told))
        for key in expand_key(asked, m)
    ]


def is_everything(text: str, books: Iterable[Rulebook]) -> bool:
    """Return whether a command is about everything known."""
    return any(compile_pattern(book.everything).fullmatch(text.strip(MARKS)) for book in books)


def iter_corrected(text: str, books: Iterable[Rulebook]) -> Iterator[str]:
    """Yield the text with the word after "my" replaced by each key that it nearly spells."""
    if AFTER_MY.search(text) is None:
        return
    words = {word for book in books for word in book.vocabulary if word.isascii()}
    for match in AFTER_MY.finditer(text):
        for group in ("first", "second"):
            start, end = match.span(group)
            said = text[start:end].lower()
            for word in sorted(words) if said and said not in words else ():
                if is_misspelling(said, word):
                    yield text[:start] + word + text[end:]
