"""Amends: messages that change what is known without naming its key. "I called the dentist" closes what was to be done;
"it's Braga, not Lisbon" replaces a value. Pure: the chat (hosts/chat/amend.py) gives what is known and does what is
decided here. Only where exactly one memory can be meant is anything changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recollect.model.memory import Memory
from recollect.model.rulebook import Rulebook, compiled
from recollect.model.sameness import is_same
from recollect.model.text import is_cjk, lexemes
from recollect.model.value import MARKS
from recollect.model.words import BASES, CJK_TIME, TIME_WORDS

LEAST_WORDS = 2  # of what was to be done, that name it without the rest
NOT_TOLD = TIME_WORDS | {"finish", "finished", "complete", "completed"}  # "finish the report" is done when it is
MODAL = re.compile("必须|需要|之前|以前|[得要前过了]")
WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Report:
    """That something is done. Without `what` it is what was spoken of; `is_plain`: any statement may look like it."""

    what: str
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Swap:
    value: str
    old: str


def report_in(text: str, books: Iterable[Rulebook]) -> Report | None:
    for book in books:
        match = compiled(book.done).match(text.strip()) if compiled(book.script).search(text) else None
        if match is not None and (group := match.lastgroup):
            what = match[group].strip(MARKS)
            is_it = group == "bare" or compiled(book.it).fullmatch(what) is not None
            return Report("" if is_it else what, is_plain=group == "did")
    return None


def swap_in(text: str, books: Iterable[Rulebook]) -> Swap | None:
    patterns = (pattern for book in books if compiled(book.script).search(text) for pattern in book.swaps)
    match = next(filter(None, (compiled(pattern).match(text.strip()) for pattern in patterns)), None)
    return Swap(match["value"].strip(MARKS), match["old"].strip(MARKS)) if match else None


def finished(report: Report, open_tasks: Sequence[Memory]) -> list[Memory]:
    """Those of the open tasks that a report names."""
    return [task for task in open_tasks if names(report, task.value)]


def names(report: Report, task: str) -> bool:
    said, wanted = content(report.what), content(task)
    if not said or not wanted:
        return False
    if report.is_plain and not is_cjk(task) and not content(report.what.split()[0]) & wanted:
        return False
    is_part = said <= wanted and len(said) >= min(LEAST_WORDS, len(wanted))
    return wanted <= said or (is_part and not (report.is_plain and is_cjk(task)))


def content(text: str) -> frozenset[str]:
    """The words that tell what is to be done, verbs in their plain form; not when. Of Chinese the characters: what is
    done is told in another order."""
    if is_cjk(text):
        plain = MODAL.sub("", CJK_TIME.sub("", text))
        return frozenset(letter for word in lexemes(plain) for letter in word)
    plain = WORD.sub(lambda word: BASES.get(word[0].lower(), word[0]), text)
    return frozenset(word for word in lexemes(plain, without=NOT_TOLD) if not word.isdigit())


def replaced(swap: Swap, known: Iterable[Memory]) -> list[Memory]:
    return [memory for memory in known if is_same(memory.value, swap.old)]
