"""Summary: what a conversation came to, in the same shape whether a model wrote it or sentences were picked from it.

`flows/reason.py` decodes a model's answer into it; the extractive path makes one without any model. A plain dataclass,
so that neither needs the other's libraries. `grounded` takes out what a model made up, as far as words can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import islice

from recollect.model.grounds import is_said
from recollect.model.text import lexemes

MOST_SUMMARY = 2000  # characters
MOST_ENTRY = 300
MOST_ENTRIES = 12


@dataclass(frozen=True, slots=True)
class Summary:
    """`summary` is a few sentences; the lists are short statements, each understandable alone."""

    summary: str
    facts: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


def tidied(summary: Summary) -> Summary:
    """As it can be kept, whoever wrote it: bounded, each entry once and on one line."""
    text, *lists = (getattr(summary, each.name) for each in fields(summary))
    return Summary(line(text, MOST_SUMMARY), *(entries(each) for each in lists))


def grounded(summary: Summary, texts: Iterable[str]) -> Summary:
    """Without entries whose words were never said. The summary itself is prose, and stays as it is."""
    said = lexemes("\n".join(texts))
    text, *lists = (getattr(summary, each.name) for each in fields(summary))
    return Summary(text, *(tuple(each for each in given if is_said(each, said)) for given in lists))


def entries(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(filter(None, (line(each, MOST_ENTRY) for each in given))), MOST_ENTRIES))


def line(text: str, most: int) -> str:
    """Without NUL, which PostgreSQL cannot keep."""
    text = " ".join(text.replace("\0", " ").split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
