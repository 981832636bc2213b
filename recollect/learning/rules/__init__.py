"""Rules: what learning without a model knows about language, as data. One file per language; `extract` reads them.

An entry carries its examples: `examples` are texts and the value it finds in each, `not` are texts in which it must
find nothing. tests/learning/rules runs them all. How to add an entry: docs/howto/extraction-rules.md.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from recollect.learning.rulebook import Rulebook, read_rulebook

LANGUAGES = ("en", "zh")


@cache
def rulebooks() -> tuple[Rulebook, ...]:
    """All languages: each reads the sentences in its own script."""
    return tuple(rulebook(language) for language in LANGUAGES)


@cache
def rulebook(language: str) -> Rulebook:
    text = files("recollect.learning.rules").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return read_rulebook(tomllib.loads(text))
