"""Which terms a question might use: everything in it that could be one, to be looked up in one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from recollect.recall.word_lists import STOP_WORDS
from recollect.values.text import ARTICLES, WORD, is_cjk, stem_term

MOST = 200
MAX_CHARS = 5_000  # of a question; terms are not looked for beyond
LONGEST = 6
MAX_WORDS = 4


def terms_in(question: str) -> list[str]:
    """Return the stems of its runs of one to four words, and Chinese runs of two to six characters; short ones first,
    at most 200."""
    words = [word for word in WORD.findall(question[:MAX_CHARS].lower()) if word not in ARTICLES]
    stems = [None if is_cjk(word) else stem_term(word) for word in words]
    runs = (run for length in range(1, LONGEST + 1) for run in list_runs(words, stems, length))
    return list(islice(dict.fromkeys(runs), MOST))


def list_runs(words: Sequence[str], stems: Sequence[str | None], length: int) -> Iterator[str]:
    """`stems` are those of the words; None for a Chinese run."""
    for word, stem in zip(words, stems, strict=True):
        if stem is None and (length > 1 or len(word) == 1):  # a single character only if it stands alone
            yield from (word[i : i + length] for i in range(len(word) - length + 1))
    if length <= MAX_WORDS:
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
