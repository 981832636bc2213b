"""Messages that change memories without naming a key: "I called the dentist" closes a todo, "it's Braga, not Lisbon"
replaces a value, "I sold the Volvo" ends one. Pure: flows/learn.py passes what is known and writes the evidence. A todo
or a value is changed only if exactly one memory can be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from recollect.learning.changes import find_ended, find_successor, has_change_cue
from recollect.learning.evidence import build_endings, build_evidence
from recollect.learning.extract import MARKS
from recollect.learning.rulebook import Rulebook, compile_pattern, list_books
from recollect.learning.rules import rulebooks
from recollect.learning.similarity import is_same
from recollect.recall.lexemes import lexemes
from recollect.recall.word_lists import BASES, CJK_TIME, TIME_WORDS
from recollect.values.conversation import Turn
from recollect.values.memory import Evidence, Fact, Memory
from recollect.values.text import is_cjk
from recollect.values.work import Job

LEAST_WORDS = 2  # of what was to be done, that name it without the rest
NOT_TOLD = TIME_WORDS | {"finish", "finished", "complete", "completed"}  # "finish the report" is done when it is
MODAL = re.compile("必须|需要|之前|以前|[得要前过了]")
WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DoneReport:
    """A report that something is done. Without `what` it refers to the topic of the conversation; `is_plain` if any
    statement may look like it."""

    what: str
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Swap:
    """A correction that names the new and the old value."""

    value: str
    old: str


def reports_change(text: str) -> bool:
    """Return whether a message may change something that is known: a cheap test before anything is read."""
    books = rulebooks()
    return has_change_cue(text) or find_report(text, books) is not None or find_swap(text, books) is not None


def build_changes(job: Job, turn: Turn, active: Sequence[Memory], here: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence of what a turn changes in the `active` memories, beside what it states itself (`here`)."""
    stated = {(said.key, said.value) for said in here}
    known = list({memory.id: memory for memory in active if (memory.key, memory.value) not in stated}.values())
    if (swap := find_swap(turn.text, rulebooks())) and len(replaced := find_replaced(swap, known)) == 1:
        return [build_correction(job, turn, swap, replaced[0])]
    ended = find_ended_memories(turn.text, known)
    named = [find_new_name(turn.text, memory) for memory in ended]
    corrections = [
        build_correction(job, turn, Swap(value, memory.value), memory)
        for memory, value in zip(ended, named, strict=True)
        if value
    ]
    over = [memory for memory, value in zip(ended, named, strict=True) if not value]
    return corrections + build_endings(job, turn, over, here)


def find_new_name(text: str, memory: Memory) -> str | None:
    """Return the name that a text gives instead of the value of a memory. Of a whole statement a name alone is no
    successor: what the text says instead is kept as a statement, too."""
    return None if memory.kind in ("todo", memory.key) else find_successor(text, memory.value)


def find_ended_memories(text: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the task that a message reports as done, or else the memories that it ends."""
    report = find_report(text, rulebooks())
    done = find_finished(report, [m for m in known if m.kind == "todo"]) if report and report.what else []
    return done if len(done) == 1 else find_ended(text, known)


def build_correction(job: Job, turn: Turn, swap: Swap, old: Memory) -> Evidence:
    fact = Fact("fact", old.key, swap.value, 1.0, old.importance, (0, 0), corrects=True, old=old.value)
    return replace(build_evidence(job, turn, [fact], "rules")[0], kind=old.kind, key=old.key)


def find_report(text: str, books: Iterable[Rulebook]) -> DoneReport | None:
    for book in list_books(text, books):
        match = compile_pattern(book.done).match(text.strip())
        if match is not None and (group := match.lastgroup):
            what = match[group].strip(MARKS)
            is_it = group == "bare" or compile_pattern(book.it).fullmatch(what) is not None
            return DoneReport("" if is_it else what, is_plain=group == "did")
    return None


def find_swap(text: str, books: Iterable[Rulebook]) -> Swap | None:
    patterns = (pattern for book in list_books(text, books) for pattern in book.swaps)
    match = next(filter(None, (compile_pattern(pattern).match(text.strip()) for pattern in patterns)), None)
    return Swap(match["value"].strip(MARKS), match["old"].strip(MARKS)) if match else None


def find_finished(report: DoneReport, open_tasks: Sequence[Memory]) -> list[Memory]:
    """Return the open tasks that a report names."""
    return [task for task in open_tasks if is_named(report, task.value)]


def is_named(report: DoneReport, task: str) -> bool:
    """Return whether a report names a task."""
    said, wanted = list_content_words(report.what), list_content_words(task)
    if not said or not wanted:
        return False
    if report.is_plain and not is_cjk(task) and not list_content_words(report.what.split()[0]) & wanted:
        return False
    is_part = said <= wanted and len(said) >= min(LEAST_WORDS, len(wanted))
    return wanted <= said or (is_part and not (report.is_plain and is_cjk(task)))


def list_content_words(text: str) -> frozenset[str]:
    """Return the words that say what is to be done, verbs in their base form, without times. Of Chinese return the
    characters, because reports reorder them."""
    if is_cjk(text):
        plain = MODAL.sub("", CJK_TIME.sub("", text))
        return frozenset(letter for word in lexemes(plain) for letter in word)
    plain = WORD.sub(lambda word: BASES.get(word[0].lower(), word[0]), text)
    return frozenset(word for word in lexemes(plain, without=NOT_TOLD) if not word.isdigit())


def find_replaced(swap: Swap, known: Iterable[Memory]) -> list[Memory]:
    return [memory for memory in known if is_same(memory.value, swap.old)]
