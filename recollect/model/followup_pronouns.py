"""Pronouns: whom "she" and what "it" mean in a question that follows another. `followup.py` calls `resolved`.

A pronoun is read only where nothing in its own sentence could be meant by it, and only if the earlier question has one
thing, of the right kind, that could. What is short takes the pronoun's place ("how old is Ada Lovelace?"); what is
longer is put in front, where it reads as the topic ("reset the router: how long does it take?").
"""

from __future__ import annotations

import re

from recollect.model.followup_fill import Swap
from recollect.model.followup_slots import Slot, content, slots
from recollect.model.followup_words import (
    ASKS,
    ASKS_WHO,
    BEFORE_PRONOUN_ZH,
    COMPARATIVE,
    COMPARES,
    COUNTS,
    EMPTY_IT,
    HOLLOW,
    JOINTS,
    KIN_HE,
    KIN_HE_ZH,
    KIN_SHE,
    KIN_SHE_ZH,
    LEAD_IN,
    LEAD_IN_ZH,
    OWNERS,
    PARTIES_ZH,
    PRONOUN,
    PRONOUN_ZH,
    TOPIC_ZH,
)
from recollect.model.text import is_cjk
from recollect.model.words import STOP_WORDS

Resolved = tuple[str, tuple[Swap, ...]]
MOST_WORDS = 14
ASKING = re.compile(r"\?\s*$|\bones\W*$")
AUXILIARY = re.compile(r"\b(?:does|do|did|can|will|has|have)\b", re.IGNORECASE)
ABOUT = re.compile(r"\W*(?:what|how) about\b", re.IGNORECASE)
SHORT = 4  # words that may stand where a pronoun stood
PLURAL = re.compile(r"(?:[^\Wsui]s|[iu]ds|ies|people|children|men|women|staff)$", re.IGNORECASE)
OFFICE = re.compile(r" (?:of|at) (?:the )?[A-Z]\w*(?: [A-Z]\w*)*")
PLACED = frozenset(["in", "at", "from", "to", "near", "of", "for"])  # a name after one of these is hardly a person


def resolved(question: str, base: str) -> Resolved | None:
    """The question with what its pronouns mean, and the exchange; None if it needs none, or none is sure."""
    if is_cjk(question):
        return resolved_zh(question, base)
    if len(question.split()) > MOST_WORDS or not (ASKS.match(question) or ASKING.search(question)):
        return None
    if dangling(base):  # nobody knows what was asked before, either
        return None
    pronouns = dangling(question)
    if pronouns:
        return meant(question, base, pronouns)
    return counted(question, base) or compared(question, base)


def dangling(question: str) -> list[re.Match[str]]:
    """The pronouns, if nothing that is said before the first of them could be meant."""
    found = list(PRONOUN.finditer(question))
    if not found or ABOUT.match(question) or (found[0].lastgroup in ("it", "that") and EMPTY_IT.search(question)):
        return []
    before = content(question[: found[0].start()])
    return found if all(word.lower() in HOLLOW for word in before) else []


def meant(question: str, base: str, pronouns: list[re.Match[str]]) -> Resolved | None:
    if pronouns[0].lastgroup in ("he", "she") and ASKS_WHO.match(base):
        return headed(question, base.strip(" ?.!"))  # the answer is meant, and only the question is known
    kinds = {match.lastgroup or "" for match in pronouns}
    antecedents = {kind: antecedent(kind, base) for kind in kinds}
    if not all(antecedents.values()):
        return None
    [first, *others] = pronouns
    what = antecedents[first.lastgroup or ""]
    if not others and can_stand(what, first, base):
        new = f"{what}'s" if first[0].lower() in OWNERS and not is_object(question, first) else what
        return question[: first.start()] + new + question[first.end() :], (Swap(first[0], what),)
    return headed(question, topic(base))


def can_stand(what: str, pronoun: re.Match[str], base: str) -> bool:
    if pronoun.lastgroup == "they":
        return pronoun[0].lower() not in OWNERS
    if pronoun.lastgroup == "that":
        return False
    if pronoun.lastgroup in ("he", "she"):
        return True
    if AUXILIARY.search(base):  # "does the lease end": where the thing ends is not known
        return False
    return len(what.split()) <= SHORT and not any(word in JOINTS for word in what.split()[1:])


def is_object(question: str, pronoun: re.Match[str]) -> bool:
    """ "Her" that is no "her birthday"."""
    after = question[pronoun.end() :].strip(" ?.!")
    return pronoun[0].lower() == "her" and (not after or after.split()[0].lower() in JOINTS)


def antecedent(kind: str, base: str) -> str:
    """What the pronoun stands for, or nothing."""
    if kind in ("he", "she"):
        return person(kind, base)
    what = topic(base)
    if kind == "they":
        head = re.split(rf"\b(?:{'|'.join(JOINTS)})\b", what)[0].split()
        return what if any(PLURAL.search(word) for word in head[:3] if word not in STOP_WORDS) else ""
    return what if content(what) and not is_person(what, base) else ""


def person(kind: str, base: str) -> str:
    """The one person of whom the question speaks, or nothing."""
    if is_cjk(base):
        wrong = KIN_HE_ZH if kind == "she" else KIN_SHE_ZH
        found = {slot.text for slot in slots(base) if slot.kind == "person" and not wrong.search(slot.text)}
    else:
        kin = {with_office(base, slot) for slot in slots(base) if slot.kind == "person" and agrees(kind, slot.text)}
        found = kin or {slot.text for slot in slots(base) if slot.kind == "name" and can_be_person(slot)}
    return found.pop() if len(found) == 1 else ""


def with_office(base: str, slot: Slot) -> str:
    """ "The CEO of Siemens", not any other."""
    office = OFFICE.match(base, slot.end)
    return slot.text + office[0] if office else slot.text


def can_be_person(slot: Slot) -> bool:
    return slot.joint not in PLACED and not slot.text.isupper() and not re.search(r"\d|[a-z][A-Z]", slot.text)


def agrees(kind: str, text: str) -> bool:
    wrong = KIN_HE if kind == "she" else KIN_SHE
    return not wrong & set(text.lower().split())


def is_person(what: str, base: str) -> bool:
    """It begins with one, and not with something of his."""
    first = next((slot for slot in slots(what, is_whole=False) if slot.start == 0), None)
    if first is None or what[first.end :].startswith(("'", "’")):
        return False
    return first.kind == "person" or (first.kind == "name" and base.lower().startswith("who"))


def counted(question: str, base: str) -> Resolved | None:
    """ "How many are there?" needs what is counted."""
    what = antecedent("they", base) if COUNTS.fullmatch(question) else ""
    return headed(question, what) if what else None


def compared(question: str, base: str) -> Resolved | None:
    """ "Which is cheaper?" needs what was compared."""
    opening = COMPARES.match(question)
    if not opening or not COMPARATIVE.search(question) or re.search(r"\bthan\b|,", question):
        return None
    own = [word for word in content(COMPARATIVE.sub("", question[opening.end() :])) if word.lower() not in HOLLOW]
    what = topic(base)
    return headed(question, what) if not own and content(COMPARATIVE.sub("", what)) else None


def headed(question: str, what: str) -> Resolved:
    return f"{what}: {question.strip()}", (Swap("", what),)


def topic(base: str) -> str:
    """Without what makes it a question or a request; of "the router: how long does it take?" what stands in front."""
    text = base.partition(": ")[0].strip(" ?.!")
    for _ in range(4):
        lead = LEAD_IN.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def resolved_zh(question: str, base: str) -> Resolved | None:
    found = list(PRONOUN_ZH.finditer(question))
    if not found or BEFORE_PRONOUN_ZH.fullmatch(question[: found[0].start()]) is None:
        return None
    kind, start, end = found[0].lastgroup or "", found[0].start(), found[0].end()
    what = antecedent_zh(kind, base)
    if not what:
        return None
    if kind == "they":
        return f"{what}：{question.strip()}", (Swap("", what),)
    return question[:start] + what + question[end:], (Swap(found[0][0], what),)


def antecedent_zh(kind: str, base: str) -> str:
    if kind in ("he", "she"):
        return person(kind, base)
    text = LEAD_IN_ZH.sub("", base.strip(" ？?。！!"), count=1)
    if kind == "they":
        return text if re.search(PARTIES_ZH, text) else ""
    what = TOPIC_ZH.match(text)
    return what[0] if what and not any(slot.kind == "person" for slot in slots(what[0])) else ""
