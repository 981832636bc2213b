"""Term: a word or phrase that means something particular here, and the form under which it is found again."""

from __future__ import annotations

from recollect.model.text import CJK_CHARACTER, WORD, stemmer

ARTICLES = frozenset(("a", "an", "the", "our", "my", "your", "their"))


def term_stem(text: str) -> str:
    """Case, articles and endings do not matter: "Active Users" and "an active user" are one term."""
    stem = stemmer()
    words = [word for word in WORD.findall(text.lower()) if word not in ARTICLES]
    return " ".join(word if CJK_CHARACTER.match(word) else stem(word) for word in words)
