"""Definitions in a sentence: the term and its meaning, and the terms by which `resolve` finds a memory."""

from __future__ import annotations

import re

from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.values.memory import MemoryKind, list_lookup_terms
from recollect.values.text import stem_term

# Words around a term that are not part of it: "actually, active now means ...".
ASIDE = re.compile(r"^(?:actually|now|from now on|so|well)\b[, ]*|[, ]*\b(?:now|from now on|again)$", re.IGNORECASE)

EQUATION = re.compile(
    r"(?:an? |the |our )?(?:(?P<term>\w[\w -]{0,60}?)\s*[=＝]\s*(?P<meaning>[^=].+)"
    r"|(?P<year>(?:fiscal|financial) year|fy|财年|财政年度)\s*(?P<bounds>\S.*))",
    re.IGNORECASE,
)


def find_definition(text: str) -> tuple[str, str] | None:
    """Return the term and the meaning of a sentence such as "active means logged in within 30 days"; else None."""
    for fact in extract(text, "user", rulebooks()).facts:
        kind, _, term = fact.key.partition(":")
        if kind == "definition" and term and fact.value.casefold() != text.strip().casefold():
            return ASIDE.sub("", term), fact.value
    return None


def find_definition_in_fact(fact: str) -> tuple[str, str] | None:
    """Return the term and the meaning of a fact, which may also be an equation ("active user = logged in lately") or
    say when a fiscal year begins or ends."""
    equation = EQUATION.fullmatch(fact.strip().rstrip(".。"))
    said = (equation["term"] or equation["year"], equation["meaning"] or equation["bounds"]) if equation else None
    return find_definition(fact) or said


def list_defined_terms(kind: MemoryKind, key: str, value: str) -> tuple[str, ...]:
    """Return the terms that a memory says the meaning of: its own, or the one that a note defines."""
    found = find_definition_in_fact(value) if kind == "note" else None
    return (stem_term(found[0]),) if found else list_lookup_terms(kind, key, value)
