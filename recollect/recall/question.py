"""Questions: what a query's text asks for, analysed once before any search, and which terms it might use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from recollect.recall import word_lists
from recollect.recall.lexemes import lexemes
from recollect.recall.sketch import speaker_key
from recollect.recall.word_lists import REQUEST_WORDS, STOP_WORDS
from recollect.values.text import ARTICLES, CJK, CJK_CHARACTER, WORD, is_cjk, stem_term, stemmer

MAX_LEXEMES = 48  # a pasted page is searched by its first words
HEAD_CHARS = 3_000  # of a longer text that are analysed, from its beginning
END_CHARS = 1_000  # and from its end
NAME_WORDS = 3
_WORD = re.compile(rf"[^\W_{CJK}]+|[{CJK}]")


@dataclass(frozen=True, slots=True)
class Question:
    lexemes: tuple[str, ...]
    names: tuple[int, ...]  # keys of what may be a speaker's name, in order of mention
    first_person: bool
    second_person: bool
    when: bool
    overview: bool
    order: bool  # what came first
    several: bool  # the answer has several parts
    before: bool  # speaks of an earlier session
    past: bool  # asks for what was so, and may not be any more
    surface: Mapping[str, str]  # each lexeme as the question spells it
    respelt: tuple[str, ...] = ()  # lexemes that stand for misspelt ones


def analysed_part(text: str) -> str:
    """Return what is analysed: all of a question; of a pasted page its beginning and end, where a question usually
    is."""
    if len(text) <= HEAD_CHARS + END_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-END_CHARS:]}"


def read_question(text: str) -> Question:
    found = lexemes(text, without=REQUEST_WORDS) or lexemes(text)
    plain = word_lists.POLITE_YOU.sub(" ", text)
    return Question(
        lexemes=tuple(found)[:MAX_LEXEMES],
        names=tuple(dict.fromkeys(map(speaker_key, list_possible_names(text)))),
        first_person=word_lists.FIRST_PERSON.search(plain) is not None,
        second_person=word_lists.SECOND_PERSON.search(plain) is not None,
        when=word_lists.ASKS_WHEN.search(text) is not None,
        overview=word_lists.ASKS_OVERVIEW.search(text) is not None,
        order=word_lists.ASKS_ORDER.search(text) is not None,
        several=word_lists.ASKS_SEVERAL.search(text) is not None or word_lists.ASKS_ORDER.search(text) is not None,
        before=word_lists.ASKS_BEFORE.search(text) is not None,
        past=word_lists.ASKS_PAST.search(text) is not None,
        surface=surfaces(text),
    )


def surfaces(text: str) -> dict[str, str]:
    stem = stemmer()
    return {stem(word): word for word in reversed(WORD.findall(text.lower()))}


def list_possible_names(text: str) -> list[str]:
    """Return runs of up to three words, or of two to four Chinese characters, in order."""
    words = _WORD.findall(text[:2000])
    names = []
    for i, word in enumerate(words):
        if CJK_CHARACTER.match(word):
            names += ["".join(words[i : i + n]) for n in (2, 3, 4)]
        else:
            names += [" ".join(words[i : i + n]) for n in range(1, NAME_WORDS + 1)]
    return names


MOST_TERMS = 200
TERM_CHARS = 5_000  # of a question; terms are not looked for beyond
LONGEST_TERM = 6  # Chinese characters
TERM_WORDS = 4


def terms_in(question: str) -> list[str]:
    """Return the stems of its runs of one to four words, and Chinese runs of two to six characters; short ones first,
    at most 200."""
    words = [word for word in WORD.findall(question[:TERM_CHARS].lower()) if word not in ARTICLES]
    stems = [None if is_cjk(word) else stem_term(word) for word in words]
    runs = (run for length in range(1, LONGEST_TERM + 1) for run in list_runs(words, stems, length))
    return list(islice(dict.fromkeys(runs), MOST_TERMS))


def list_runs(words: Sequence[str], stems: Sequence[str | None], length: int) -> Iterator[str]:
    """`stems` are those of the words; None for a Chinese run."""
    for word, stem in zip(words, stems, strict=True):
        if stem is None and (length > 1 or len(word) == 1):  # a single character only if it stands alone
            yield from (word[i : i + length] for i in range(len(word) - length + 1))
    if length <= TERM_WORDS:
        yield from list_word_runs(words, stems, length)
        yield from list_mixed_runs(words, length)


def list_word_runs(words: Sequence[str], stems: Sequence[str | None], length: int) -> Iterator[str]:
    for start in range(len(words) - length + 1):
        run = [stem for stem in stems[start : start + length] if stem is not None]
        if len(run) == length and not STOP_WORDS.issuperset(words[start : start + length]):
            yield " ".join(run)


def list_mixed_runs(words: Sequence[str], length: int) -> Iterator[str]:
    """A word beside so many characters: "VIP客户", "客户ID"."""
    for left, right in pairwise(words):
        if is_cjk(left) != is_cjk(right):
            yield stem_term(f"{left[-length:] if is_cjk(left) else left} {right[:length] if is_cjk(right) else right}")
