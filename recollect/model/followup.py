"""Follow-ups: "what about 2023?" made a question that is understood alone, by rules. Every host asks here before it
searches; `flows/rewrite.py` asks a model first where there is one.

`followup` takes the user's question and his earlier ones. A fragment ("and in Paris?", 那上海呢) takes its place in the
question before it (followup_fill.py), a pronoun gets what it stands for (followup_pronouns.py), and everything else is
left alone: a question of its own, a greeting, a thing to be remembered. When it is not sure, it is left alone, too: a
question that was dragged into another is worse than one that misses a word. Pure; nothing is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.model.followup_fill import Swap, filled
from recollect.model.followup_pronouns import person, resolved
from recollect.model.followup_slots import Fragment, Slot, content, fragment
from recollect.model.followup_words import (
    CLAUSE,
    CLAUSE_ZH,
    COMMANDS,
    ENDING,
    EXCLUDES_ZH,
    JOINTS,
    MODIFIES,
    NARROWS,
    OPENER,
    OPENER_ZH,
    PRONOUN_ONLY,
    SMALL_TALK,
    STATES,
    TEACHES,
)
from recollect.model.text import is_cjk, lexemes

MOST_CHARS = 400  # of a question that is looked at; a pasted page follows nothing up
MOST_CHAIN = 8  # earlier questions that are looked at
MOST_FRAGMENT = 8  # words
MOST_FRAGMENT_ZH = 14  # characters
ADDS = ("also", "plus")  # "and Berlin?" is said instead, "also Berlin" besides
MOST_MODIFIER = 5
MOST_UNKNOWN = 2  # words of a fragment that no slot knows: with more it has a topic of its own


@dataclass(frozen=True, slots=True)
class Followup:
    text: str  # the question, understood alone
    is_followup: bool = False
    kept: tuple[str, ...] = ()  # words carried over from the earlier question
    replaced: tuple[Swap, ...] = ()
    why: str = "a question of its own"


def followup(question: str, previous: Sequence[str]) -> Followup:
    """`previous` are the user's earlier questions in this session, newest last, rewritten or as they were asked."""
    return standalone(question, topics(previous))


def topics(previous: Sequence[str]) -> list[str]:
    """Earlier questions, each understood alone. Greetings and notes change no topic."""
    found: list[str] = []
    for question in previous[-MOST_CHAIN:]:
        if is_topic(question, found):
            found.append(standalone(question, found).text)
    return found


def is_topic(question: str, earlier: Sequence[str]) -> bool:
    """A fragment of which nobody knows what it is a piece of is none."""
    if len(question) > MOST_CHARS:
        return True
    if is_aside(question) or not lexemes(question):
        return False
    return bool(earlier) or elliptic(question, earlier) is None


def is_aside(question: str) -> bool:
    return bool(SMALL_TALK.fullmatch(question.strip()) or TEACHES.match(question))


def standalone(question: str, earlier: Sequence[str]) -> Followup:
    if not earlier:
        return Followup(question, why="nothing was asked before it")
    base = earlier[-1]
    if max(len(question), len(base)) > MOST_CHARS or is_cjk(question) != is_cjk(base):
        return Followup(question)
    if is_aside(question) or question == base:
        return Followup(question)
    if (new := elliptic(question, earlier)) is not None:
        found = filled(base, new) if new.text and not STATES.match(base) else None
    else:
        found = resolved(question, base)
    return told(question, base, *found) if found else Followup(question)


def told(question: str, base: str, text: str, swaps: tuple[Swap, ...]) -> Followup:
    changes = "; ".join(f"{swap.new} instead of {swap.old}" if swap.old else f"with {swap.new}" for swap in swaps)
    return Followup(text, True, carried(question, base, text), swaps, f"follows up “{base}”: {changes}")


def carried(question: str, base: str, text: str) -> tuple[str, ...]:
    own, now = lexemes(question), lexemes(text)
    words = [base] if is_cjk(base) else content(base)
    return tuple(word for word in words if any(each in now and each not in own for each in lexemes(word)))


def elliptic(question: str, earlier: Sequence[str]) -> Fragment | None:
    """What the question says of its own, if it is only a piece of one."""
    return elliptic_zh(question, earlier) if is_cjk(question) else elliptic_en(question, earlier)


def elliptic_en(question: str, earlier: Sequence[str]) -> Fragment | None:
    opener = OPENER.match(question)
    joins, opens = (opener["joins"], opener["opens"]) if opener else (None, None)
    text = question[opener.end() :] if opener else question
    is_instead = False
    while (ending := ENDING.search(text)) is not None:
        is_instead |= ending[1] is not None
        text = text[: ending.start()]
    if (joins or opens) and (pronoun := PRONOUN_ONLY.fullmatch(text)) is not None:
        return fragment(another(pronoun.lastgroup or "", earlier))
    if is_sentence(text):
        return None
    new = fragment(text, replaces=is_instead or not joins)
    narrows = (opens or "").strip(" ,").lower() in NARROWS
    if (opens and not narrows) or is_instead:
        return new if is_short(new) else None
    if new.is_modifier:
        return new if len(content(new.rest)) <= MOST_MODIFIER else None
    if joins and joins.lower().startswith(ADDS) and new.slots and is_short(new):
        return Fragment(new.text, (), new.text, is_modifier=True)
    if joins and new.slots and content(new.rest) and not question.rstrip().endswith("?"):
        return None  # "but Anna lives in Rome": told, not asked
    if narrows or joins:
        return new if is_short(new) and (new.slots or (joins and not narrows) or leads(new)) else None
    return new if is_bare(new, question) else None


def another(kind: str, earlier: Sequence[str]) -> str:
    """ "And him?": someone of whom an earlier question asked, not the last one; nothing, if that is not sure."""
    found = {person(kind, question) for question in earlier[:-1]} if kind in ("he", "she") else set()
    found = {name for name in found if name and name not in earlier[-1]}
    return found.pop() if len(found) == 1 else ""


def is_sentence(text: str) -> bool:
    words = text.lower().split()
    if not words or len(words) > MOST_FRAGMENT or (words[0] in COMMANDS and not MODIFIES.match(text)):
        return True
    return any(word.strip(",;:") in CLAUSE for word in words)


def is_short(new: Fragment) -> bool:
    return len(content(new.rest)) <= MOST_UNKNOWN and bool(new.slots or content(new.rest))


def leads(new: Fragment) -> bool:
    """It begins with a preposition."""
    return new.text.partition(" ")[0].lower() in JOINTS


def is_bare(new: Fragment, question: str) -> bool:
    """Without an opener all of it must be slots, and a name or place a question: it may be an answer."""
    if not new.slots or content(new.rest) or any(slot.kind in ("measure", "party") for slot in new.slots):
        return False
    return question.rstrip().endswith(("?", "？")) or all(is_frame(slot) for slot in new.slots)


def is_frame(slot: Slot) -> bool:
    return slot.kind in ("grain", "by", "top", "amount")


def elliptic_zh(question: str, earlier: Sequence[str]) -> Fragment | None:
    opener = OPENER_ZH.match(question.strip())
    if opener and opener["asks"] and (pronoun := PRONOUN_ONLY.fullmatch(opener["rest"])) is not None:
        return fragment(another(pronoun.lastgroup or "", earlier))
    if opener is None or len(opener["rest"]) > MOST_FRAGMENT_ZH or CLAUSE_ZH.search(opener["rest"]):
        return None
    opens, rest = opener["opens"] or "", opener["rest"]
    if opens in EXCLUDES_ZH:
        return Fragment(opens + rest, (), opens + rest, is_modifier=True)
    new = fragment(rest, replaces=bool(opens))
    if opens or opener["asks"]:
        return new if new.slots or len(new.rest) > 1 else None
    return new if not new.rest and is_bare(new, question) else None
