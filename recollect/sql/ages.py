"""Ages and firsts: "65 or older" as a day of birth, "most recently hired" as the newest, "admitted most often" as the
most admissions. Said in the words that are read, and only where the data has the date or the event that they are about.

`told_by_dates` is called by reading.py with each question. What two people would reckon in two ways ("over 60": from 60
or from 61 on?) is left to be asked back. Pure.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from recollect.sql.dates import moved
from recollect.sql.lexer import stem_key
from recollect.sql.lexicon import Lexicon
from recollect.sql.naming import many
from recollect.sql.semantic import SemanticModel

OLD = r"(?: years?(?: old| of age)?)?"
LEAD = r"\b(?:who are |that are |are |is |aged )?"
AT_LEAST = re.compile(rf"{LEAD}(?:(\d{{1,3}}){OLD} (?:or|and) older|at least (\d{{1,3}}) years (?:old|of age))\b", re.I)
UNDER = re.compile(rf"{LEAD}(?:younger than (\d{{1,3}}){OLD}|under (\d{{1,3}}) years (?:old|of age))\b", re.I)
RECENTLY = re.compile(r"\bmost recently (\w+)\b", re.I)
SERVING = re.compile(r"\blongest[- ]serving\b", re.I)
OFTEN = re.compile(r"\b(?:(?:has|have|had) been|was|were|is|are) (\w+) (?:the )?most (?:often|frequently)\b", re.I)
FEW = 3  # words
Dates = frozenset[tuple[str, str]]
GONE = ("left", "terminated")


def told_by_dates(text: str, model: SemanticModel, lexicon: Lexicon, today: date) -> str:
    mains = frozenset((moment.table, moment.column) for moment in model.moments if moment.is_main)
    if not lexicon.name(("age",)):
        text = AT_LEAST.sub(lambda said: of_age(said, lexicon, f"before {born(said, today) + timedelta(days=1)}"), text)
        text = UNDER.sub(lambda said: of_age(said, lexicon, f"after {born(said, today)}"), text)
    text = RECENTLY.sub(lambda said: newest(said, lexicon, mains), text)
    if dated(lexicon, "hired") and not any(dated(lexicon, word) for word in GONE):
        text = SERVING.sub(lambda said: "earliest" if is_dated_by(said, lexicon, "hired", mains) else said[0], text)
    return OFTEN.sub(lambda said: often(said, model, lexicon, mains), text)


def born(said: re.Match[str], today: date) -> date:
    """The last day on which somebody of that age may have been born."""
    return moved(today, "year", -int(said[1] or said[2]))


def of_age(said: re.Match[str], lexicon: Lexicon, bound: str) -> str:
    """Said of whoever has a birthday: "patients 65 or older", and not of their invoices."""
    people = {table for table, _ in dated(lexicon, "born")}
    return f"born {bound}" if nearest(said.string[: said.start()].split()[::-1], lexicon) & people else said[0]


def newest(said: re.Match[str], lexicon: Lexicon, mains: Dates) -> str:
    return "newest" if is_dated_by(said, lexicon, said[1], mains) else said[0]


def is_dated_by(said: re.Match[str], lexicon: Lexicon, word: str, mains: Dates) -> bool:
    """Whether what stands behind it has that as its main date."""
    tables = nearest(said.string[said.end() :].split(), lexicon)
    return bool(tables) and any(each in mains for each in dated(lexicon, word) if each[0] in tables)


def often(said: re.Match[str], model: SemanticModel, lexicon: Lexicon, mains: Dates) -> str:
    """ "Admitted": the one table whose rows are dated by it, and which is not what is asked for."""
    found = dated(lexicon, said[1])
    tables = {table for table, _ in found}
    subject = nearest(said.string[: said.start()].split()[::-1], lexicon)
    if len(tables) != 1 or not found <= mains or not subject or subject & tables:
        return said[0]
    events = (many(entity.names[0]) for entity in model.entities if entity.table in tables)
    return next((f"has the most {event}" for event in events), said[0])


def dated(lexicon: Lexicon, word: str) -> Dates:
    """The dates that are called so."""
    found = lexicon.name(stem_key(word))
    return frozenset((target.table, target.column) for target in found if target.kind == "moment")


def nearest(words: list[str], lexicon: Lexicon) -> frozenset[str]:
    """The tables of the first thing that is named there."""
    for word in words[:FEW]:
        if found := frozenset(t.table for t in lexicon.name(stem_key(word)) if t.kind == "entity"):
            return found
    return frozenset()
