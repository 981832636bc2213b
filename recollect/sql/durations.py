"""Durations: the many ways to ask how long something takes, said as the name under which two dates of a row are known
(draft_elapsed.py): "how long does a repair take on average", "number of days between order and shipment".

`named_shortly` is called by chinese.py with each question, and changes nothing where the data has no such name: "hours
between March and May" stays what it is. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.sql.lexer import stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.vocabulary import vocabulary

UNIT = r"(?P<unit>days|hours|minutes|time|gap|interval|lag)"
USUALLY = r"(?:usually |typically |normally |generally |on average,? )?"
ONE = r"(?:an? |the |our |one |each |its |their )?"
DOER = r"(?:we|they|people|customers|clients|members|guests|patients|users|owners|readers|borrowers|an? \w+)"
HOW_LONG = r"how (?:long|many (?P<unit>days|hours|minutes))"
NUMBER = r"(?:number of |amount of |elapsed )?"
DO, ON_AVERAGE = "(?:do|does|did)", "(?:on average )?"
NOUN, NOUNS, DEED = "[a-z]+(?: [a-z]+)??", "[a-z]+(?: [a-z]+)?", rf"(?P<one>(?:be )?[a-z]+)\b ?{ONE}"
PATTERNS = {
    "between": rf"\b{NUMBER}{UNIT}(?: passed| elapsed)? (?:between|from) {ONE}(?P<one>{NOUN}) (?:and|to|until) {ONE}"
    rf"(?P<other>{NOUNS})\b",
    "taking": rf"\b{HOW_LONG} {ON_AVERAGE}{DO} {ONE}(?P<one>{NOUN}) {USUALLY}(?:take|last)(?! to\b)(?: on average)?",
    "lasting": rf"\bhow long (?:is|are|was|were) {ONE}(?:average |typical )?(?P<one>{NOUNS}) on average\b",
    "doing": rf"\b{HOW_LONG} {ON_AVERAGE}{DO} {DOER} {USUALLY}(?:take|need) {ON_AVERAGE}to {DEED}",
    "costing": rf"\b{HOW_LONG} {ON_AVERAGE}does it {USUALLY}take {ON_AVERAGE}(?:us |our |the )?(?P<who>\w+ )?to {DEED}",
    "until": r"\baverage time (?:to|until|till) (?:the |be )?(?P<one>[a-z]+)(?: (?P<other>[a-z]+))?",
    "quickly": rf"\bhow (?:fast|quickly|soon) {DO} {DOER} {USUALLY}{DEED}",
    "needed": rf"\baverage {NUMBER}{UNIT}(?: it takes(?: us)?| taken| needed| required) to {DEED}",
    "kept": rf"\b{HOW_LONG} {ON_AVERAGE}{DO} {DOER} {USUALLY}(?P<one>keep|borrow|rent|stay)\b(?: with us)?"
    r"(?: (?:an?|the|our) (?P<other>[a-z]+))?",
    "being": rf"\b{NUMBER}{UNIT} (?:that )?(?:an?|the|our) (?P<other>[a-z]+) (?:is|are|was|were) "
    r"(?P<one>kept|rented out|rented|borrowed|on loan)\b",
}
KNOWN = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in PATTERNS.items()}
AGAIN = re.compile(r"(?:^|,? )on average\b,?", re.IGNORECASE)
TOLD = re.compile(r"\bin (?:days|hours|minutes)\b", re.IGNORECASE)


def named_shortly(text: str, lexicon: Lexicon) -> str:
    """The same question with the short name, if the data has one."""
    for kind, pattern in KNOWN.items():
        if (found := pattern.search(text)) and (name := name_of(kind, found, lexicon)):
            return with_unit(once(f"{text[: found.start()]}{name}{text[found.end() :]}"), found)
    return text


def once(text: str) -> str:
    """ "On average" beside "average" says nothing more."""
    return AGAIN.sub(" ", text) if re.search(r"\baverage (?:days|length|duration|\w+ time)\b", text) else text


def name_of(kind: str, found: re.Match[str], lexicon: Lexicon) -> str:
    one, who = found["one"].lower(), found.groupdict().get("who")
    if who and not is_entity(who.strip(), lexicon):
        return ""  # "how long does it take UPS to deliver"
    if kind == "between":
        return between(one, found["other"].lower(), lexicon)
    if kind == "until":
        return until(one, found["other"], lexicon)
    if kind in ("taking", "lasting"):
        return averaged(first((f"{noun} of {one}" for noun in ("duration", "length")), lexicon)
                        or first((f"{one} {noun}" for noun in ("time", "duration", "length")), lexicon))  # fmt: skip
    if kind in ("kept", "being"):
        name = first(vocabulary().words("moments", "kept") if one != "stay" else ("length of stay",), lexicon)
        thing = found["other"] or ""
        rest = "" if not thing or is_entity(thing, lexicon) else f" of the {thing}"  # each is one of them
        return f"{averaged(name) if kind == 'kept' else name}{rest}" if name else ""
    name = first((f"days to {one}",), lexicon)
    return f"{averaged(name)} of the " if name else ""


def between(one: str, other: str, lexicon: Lexicon) -> str:
    """The longest that is known, and what stands behind it."""
    first_word, _, rest = other.partition(" ")
    whole = first((f"days from {one} to {other}",), lexicon)
    short = first((f"days from {one} to {first_word}",), lexicon)
    return whole or (f"{short} {rest}" if short else "")


def until(one: str, other: str | None, lexicon: Lexicon) -> str:
    """ "Average time to first response", "to delivery", "to close tickets"."""
    if other and (name := first((f"{one} {other} time",), lexicon)):
        return averaged(name)
    name = first((f"{one} time", f"days to {one}"), lexicon)
    return f"{averaged(name)} {other or ''}".rstrip() if name else ""


def first(names: Iterable[str], lexicon: Lexicon) -> str:
    return next((name for name in names if lexicon.name(stem_key(name))), "")


def is_entity(word: str, lexicon: Lexicon) -> bool:
    return any(target.kind == "entity" for target in lexicon.name(stem_key(word)))


def averaged(name: str) -> str:
    return f"average {name}" if name else ""


def with_unit(text: str, found: re.Match[str]) -> str:
    """In hours, if hours were asked for."""
    unit = (found.groupdict().get("unit") or "").lower()
    is_told = unit in ("hours", "minutes") and not TOLD.search(text)
    return f"{text.rstrip(' ?.!')} in {unit}" if is_told else text
