"""Slots: the parts of a question that another can take the place of, a year, a place, a "by month", and how they are
found. `followup.py` reads a fragment with it, followup_fill.py the question before it, followup_pronouns.py the people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from recollect.model.followup_words import (
    CHINESE_SLOTS,
    COMMANDS,
    ENGLISH_SLOTS,
    HOLLOW_ZH,
    JOINTS,
    KNOWN,
    MODIFIES,
    NOT_NAMES,
    PREPOSITION,
)
from recollect.model.text import is_cjk
from recollect.model.words import REQUEST_WORDS, STOP_WORDS

WORDS = re.compile(r"[\w'’-]+")
EMPTY = ("and", "'s", "’s", ",", "year", "ones", "one")


@dataclass(frozen=True, slots=True)
class Slot:
    kind: str
    start: int
    end: int
    text: str
    joint: str = ""  # the preposition before it


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a follow-up says of its own, without its opener."""

    text: str
    slots: tuple[Slot, ...]
    rest: str  # what no slot covers, with the preposition that leads it
    is_modifier: bool = False  # "sorted by name": goes to the end as it is
    replaces: bool = False  # "instead": any grouping takes the place of any other


def slots(text: str, is_whole: bool = True) -> list[Slot]:
    """`is_whole`: it begins a sentence, where a capital says nothing."""
    if is_cjk(text):
        return [slot_of(text, match) for match in CHINESE_SLOTS.finditer(text)]
    found = [slot_of(text, match) for match in ENGLISH_SLOTS.finditer(text)]
    found = [slot for slot in found if slot.kind != "name" or is_name(slot, is_whole)]
    return sorted([*found, *known(text, found)], key=attrgetter("start"))


def slot_of(text: str, match: re.Match[str]) -> Slot:
    kind, start, end = match.lastgroup or "", match.start(), match.end()
    while kind == "name" and (first := text[start:end].partition(" "))[1] and is_common(first[0]):
        start += len(first[0]) + 1  # "Show Acme": the verb is no part of the name
    kind = KNOWN.get(text[start:end].lower(), kind) if kind == "name" else kind
    return Slot(kind, start, end, text[start:end], joint_before(text, start))


def joint_before(text: str, start: int) -> str:
    joint = PREPOSITION.search(text, max(0, start - 24), start)
    return joint[1].lower() if joint else ""


def known(text: str, found: list[Slot]) -> Iterator[Slot]:
    """Places, measures and people by the list: how they are written says nothing."""
    taken = {at for slot in found for at in range(slot.start, slot.end)}
    words = [word for word in WORDS.finditer(text) if word.start() not in taken]
    end = 0
    for word, last in pairs(words):
        name = text[word.start() : last.end()]
        if word.start() >= end and name.lower() in KNOWN and name not in STOP_WORDS:
            end = last.end()
            yield Slot(KNOWN[name.lower()], word.start(), end, name, joint_before(text, word.start()))


def pairs(words: list[re.Match[str]]) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Each word with the next, then by itself: "south africa" before "africa"."""
    for at, word in enumerate(words):
        yield from ((word, last) for last in (*words[at + 1 : at + 2], word))


def is_name(slot: Slot, is_whole: bool) -> bool:
    if is_common(slot.text):
        return False
    return not is_whole or slot.start > 0 or " " in slot.text


def is_common(word: str) -> bool:
    word = word.lower()
    return word in STOP_WORDS or word in REQUEST_WORDS or word in COMMANDS or word in NOT_NAMES


def fragment(text: str, replaces: bool = False) -> Fragment:
    text = text.strip(" ,:，：、")
    if MODIFIES.match(text):
        return Fragment(text, (), text, is_modifier=True)
    found = tuple(slots(text, is_whole=False))
    return Fragment(text, found, uncovered(text, found), replaces=replaces)


def uncovered(text: str, found: Iterable[Slot]) -> str:
    """What is left without the slots and the prepositions that belong to them."""
    pieces, at = [], 0
    for slot in found:
        pieces.append(PREPOSITION.sub("", text[at : slot.start]) if slot.joint else text[at : slot.start])
        at = slot.end
    pieces.append(text[at:])
    left = " ".join(pieces)
    if is_cjk(text):
        return HOLLOW_ZH.sub("", left)
    return " ".join(word for word in left.split() if word.lower() not in EMPTY).strip(" ,")


def content(text: str) -> list[str]:
    return [word for word in WORDS.findall(text) if word.lower() not in STOP_WORDS and word.lower() not in JOINTS]
