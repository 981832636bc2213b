"""Personal: which columns of a customer's database are nobody else's business: by their name, or by what stands there.

Their values are never kept. The words are in recollect/sql/words.toml; contents are judged by model/sensitive.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model.sensitive import as_label, find_sensitive
from recollect.sql.draft_subjects import has_any
from recollect.sql.naming import words_of
from recollect.sql.vocabulary import vocabulary

LOOKED_AT = 100
SHARE = 0.1  # of the values looked at


def is_named_sensitive(name: str) -> bool:
    listed = (*vocabulary().words("columns", "sensitive"), *vocabulary().words("columns", "secret"))
    return has_any(words_of(name), listed)


def shows_sensitive(name: str, values: Sequence[str]) -> bool:
    looked = values[:LOOKED_AT]
    return bool(looked) and sum(is_sensitive(name, value) for value in looked) >= SHARE * len(looked)


def without_sensitive(name: str, values: Sequence[str]) -> list[str]:
    """The odd address in a column of notes is left out."""
    return [value for value in values if not is_sensitive(name, value)]


def is_sensitive(name: str, value: str) -> bool:
    label = as_label(name)
    return any(find.end > len(label) for find in find_sensitive(label + value))
