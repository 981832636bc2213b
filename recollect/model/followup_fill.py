"""Filling in: the fragment "what about 2023?" takes its place in the question before it. `followup.py` calls `filled`.

Like takes the place of like ("2023" of "2024", "to London" of "to Rome"); what finds no place is put at the end; where
two places would do, neither is chosen. A fragment that brings a topic of its own is given back as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from recollect.model.followup_slots import WORDS, Fragment, Slot, content, slots
from recollect.model.followup_words import ARTICLES, DIRECTED, GRAIN_ADJECTIVE, JOINTS
from recollect.model.text import is_cjk, lexemes
from recollect.model.words import STOP_WORDS

Edit = tuple[int, int, str]
TIMES = ("year", "quarter", "month", "day", "when")
# What a slot may take the place of: the first kind that the earlier question has.
INSTEAD_OF = {
    "year": ("year", "when"),
    "quarter": ("quarter", "month", "when"),
    "month": ("month", "quarter", "when"),
    "day": ("day", "when"),
    "when": TIMES,
    "grain": ("grain",),
    "by": ("by",),
    "top": ("top",),
    "place": ("place", "name"),
    "name": ("name", "person", "place"),
    "person": ("person", "name"),
    "measure": ("measure",),
    "party": ("party",),
    "amount": ("amount",),
    "degree": ("degree",),
    "part": ("part",),
}
ADJECTIVES = frozenset((*GRAIN_ADJECTIVE.values(), "annual"))
ENDS = re.compile(r"[\s?.!。？！…]*$")
THINGS = ("place", "name", "person", "measure", "party")
MOST_UNPLACED = 1  # unknown words that are put at the end; with more it has a topic of its own
ZH_WORD = 4  # characters that count as one word
MOST_OBJECT = 3  # words that a preposition is taken to govern


@dataclass(frozen=True, slots=True)
class Swap:
    """`new` stands where `old` stood; without `old` it was added."""

    old: str
    new: str


def filled(base: str, new: Fragment) -> tuple[str, tuple[Swap, ...]] | None:
    """The earlier question with the fragment in it, and what was exchanged; None if the fragment has its own topic."""
    if new.is_modifier:
        return extended(base, [new.text]), (Swap("", new.text),)
    if (place := same_noun(base, new.text)) is not None:
        return edited(base, [place]), (Swap(base[place[0] : place[1]], place[2]),)
    unknown = unheard(new.rest, base)
    if unknown and new.slots:
        return None
    edits: list[Edit] = []
    added: list[str] = []
    olds = slots(base)
    for slot in new.slots:
        found = placed(base, slot, olds, new.replaces)
        found = [] if overlap(edits, found) else found
        edits += found
        added += [] if found else [with_joint(slot)]
    if unknown and (place := same_preposition(base, new.rest)) is not None and not overlap(edits, [place]):
        edits.append(place)
    elif len(unknown) > MOST_UNPLACED:
        return None
    elif unknown:
        added.append(new.text)
    swaps = [Swap(base[start:end], text) for start, end, text in edits if text]
    return extended(edited(base, edits), added), (*swaps, *(Swap("", each) for each in added))


def unheard(rest: str, base: str) -> list[str]:
    """Words of the rest that the earlier question has not; a Chinese rest counts by its length."""
    if is_cjk(rest):
        return [] if rest in base else [rest[at : at + ZH_WORD] for at in range(0, len(rest), ZH_WORD)]
    said = lexemes(base)
    return [word for word in content(rest) if not lexemes(word).keys() <= said.keys()]


def placed(base: str, slot: Slot, olds: list[Slot], replaces: bool) -> list[Edit]:
    """Where it goes in the earlier question, and what goes with what was there."""
    old = counterpart(slot, olds, replaces)
    if old is None:
        place = same_preposition(base, with_joint(slot)) if slot.kind in THINGS else None
        return [place] if place else []
    olds.remove(old)
    return [exchange(base, old, slot), *leftovers(base, old, slot, olds)]


def counterpart(new: Slot, olds: list[Slot], replaces: bool) -> Slot | None:
    kinds = ("grain", "by") if replaces and new.kind in ("grain", "by") else INSTEAD_OF[new.kind]
    for kind in kinds:
        same = [old for old in olds if old.kind == kind and not holds(old, new) and not is_odd(old, new)]
        joined = [old for old in same if new.joint and old.joint == new.joint]
        if len(joined) == 1:
            return joined[0]
        if same and (len(same) == 1 or new.kind in TIMES) and fits(new, same[0]):
            return same[0]
    return None


def holds(old: Slot, new: Slot) -> bool:
    """A month or a quarter of "last year" is in it, not instead of it."""
    return old.kind == "when" and new.kind in ("month", "quarter") and re.search("year|年", old.text) is not None


def is_odd(old: Slot, new: Slot) -> bool:
    """ "Who wrote hamburg?", "by product users" for "daily users"."""
    if new.kind == "place" and old.kind == "name":
        return bool(new.joint) and not old.joint
    return new.kind == "by" and old.text.lower() in ADJECTIVES


def fits(new: Slot, old: Slot) -> bool:
    """ "from Paris" is no place for "to London"; "for 2024" is one for "in 2023"."""
    return new.joint == old.joint or new.joint not in DIRECTED or (new.kind in TIMES and not old.joint)


def exchange(base: str, old: Slot, new: Slot) -> Edit:
    start, text = old.start, new.text
    if new.kind == "when" and old.kind != "when" and old.joint in ("in", "on", "for", "during"):
        start = base.rindex(old.joint, 0, old.start) if old.joint in base[: old.start] else old.start
    elif old.kind == "when" and new.kind != "when" and not old.joint and not is_cjk(base):
        text = f"{new.joint or ('on' if new.kind == 'day' else 'in')} {text}"
    elif new.kind == "grain" and old.text.lower() in ADJECTIVES:
        text = GRAIN_ADJECTIVE.get(text.split()[-1].lower(), text)
    return start, old.end, text


def leftovers(base: str, old: Slot, new: Slot, olds: list[Slot]) -> list[Edit]:
    """ "Last year" takes the place of "May 2023" as a whole."""
    if new.kind != "when":
        return []
    return [exchange(base, each, Slot("when", 0, 0, "")) for each in olds if each.kind in TIMES and each is not old]


def same_noun(base: str, rest: str) -> Edit | None:
    """ "Trial users" for "active users", "section 5" for "section 4"."""
    words = WORDS.findall(rest)
    while words and (words[0].lower() in ARTICLES or words[0].lower() in JOINTS):
        words.pop(0)
    if len(words) != 2 or is_cjk(rest) or words[0].lower() in STOP_WORDS:
        return None
    numbered = words[1].isdigit()
    found = [pair for pair in pairwise(WORDS.finditer(base)) if is_like(pair, words, numbered)]
    return (found[0][0].start(), found[0][1].end(), " ".join(words)) if len(found) == 1 else None


def is_like(pair: tuple[re.Match[str], re.Match[str]], words: list[str], numbered: bool) -> bool:
    first, last = (word[0].lower() for word in pair)
    if numbered:
        return first == words[0].lower() and last.isdigit()
    return last == words[1].lower() and first not in STOP_WORDS


def same_preposition(base: str, rest: str) -> Edit | None:
    """ "For clients" for "for employees"."""
    joint, _, thing = rest.partition(" ")
    if joint.lower() not in JOINTS or not thing:
        return None
    found = list(objects(joint.lower()).finditer(base))
    if len(found) != 1 or any(slot.kind not in THINGS for slot in slots(found[0][1], is_whole=False)):
        return None
    return found[0].start(1), found[0].end(1), thing


@cache
def objects(joint: str) -> re.Pattern[str]:
    """A few words after the preposition, if what follows does not belong to them, as in "about the trip to Greece"."""
    word = rf"(?!(?:{'|'.join(sorted(JOINTS))})\b)[\w'’-]+"
    thing = rf"((?:the |our |my )?{word}(?: {word}){{0,{MOST_OBJECT - 1}}})"
    return re.compile(rf"\b{joint} {thing}(?=\W*$| (?:in|for|on|by|during|since|per)\b)", re.IGNORECASE)


def overlap(edits: Iterable[Edit], others: Iterable[Edit]) -> bool:
    return any(edit[0] < other[1] and other[0] < edit[1] for edit in edits for other in others)


def with_joint(slot: Slot) -> str:
    joint = slot.joint or ("in" if slot.kind in ("year", "quarter", "month") and not is_cjk(slot.text) else "")
    return f"{joint} {slot.text}".strip()


def edited(base: str, edits: Iterable[Edit]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        base = base[:start] + text + base[end:]
    return re.sub(r"  +", " ", base) if edits else base


def extended(base: str, added: list[str]) -> str:
    if not added:
        return base
    mark = ENDS.search(base)
    at = mark.start() if mark else len(base)
    link = "，" if is_cjk(base) else " " if added[0].partition(" ")[0].lower() in JOINTS else ", "
    return base[:at].rstrip() + link + " ".join(added) + base[at:].strip()
