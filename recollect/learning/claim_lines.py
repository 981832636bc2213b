"""A model's answer as claims: plain lines `number, category, key, value`, or one JSON object. Pure.

A line has no quote; the value is looked up in the message, or the sentence that says it. What cannot be found is
refused by the checks in claims.py, like any other claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from recollect.learning.claims import CATEGORIES, MOST_CLAIMS, Claim, Claims
from recollect.learning.quote_location import find_phrase, number_turns
from recollect.recall.lexemes import lexemes
from recollect.recall.sentences import sentences
from recollect.values.conversation import Turn

LINE = re.compile(
    rf"^[\s*-]*(?:turn\s*)?(?:(?P<turn>\d+)\s*[,.:|)]\s*)?(?P<category>{'|'.join(CATEGORIES)})\s*[,|:]\s*"
    r"(?P<key>[\w :'-]{1,60}?)\s*[,|:=]\s*(?P<value>\S.*?)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
NONE = re.compile(r"\W*(?:none|no facts?|nothing)\b", re.IGNORECASE)
MARKS = " \t\"'“”`."
WEIGHTY = ("identity", "constraint", "instruction")
WEIGHTY_IMPORTANCE, PLAIN_IMPORTANCE = 0.6, 0.5
LINE_CONFIDENCE = 0.7


def read_claims(text: str, turns: Sequence[Turn]) -> Claims | None:
    """Return the claims of an answer; None if it is neither lines, nor JSON, nor says that there are none."""
    text = text.rpartition("</think>")[2].strip()
    if "{" in text and (claims := decode_object(text)) is not None:
        return claims
    numbered = number_turns(turns)
    made = [make_claim(found, numbered) for found in list(LINE.finditer(text))[:MOST_CLAIMS]]
    if not made and text and not NONE.match(text):
        return None
    return Claims(tuple(made))


def decode_object(text: str) -> Claims | None:
    try:
        return msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=Claims, strict=False)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def make_claim(found: re.Match[str], turns: dict[int, Turn]) -> Claim:
    category, value = found["category"].lower(), found["value"].strip(MARKS)
    named = int(found["turn"]) if found["turn"] else -1
    turn = named if named in turns else find_turn(value, turns)
    quote = find_words(value, turns[turn].text) if turn in turns else ""
    importance = WEIGHTY_IMPORTANCE if category in WEIGHTY else PLAIN_IMPORTANCE
    return Claim(turn, category, found["key"], value, quote, LINE_CONFIDENCE, importance, is_quoted=False)


def find_turn(value: str, turns: dict[int, Turn]) -> int:
    """Return the user's last turn that has the value; -1 if none has."""
    having = [at for at, turn in turns.items() if turn.role == "user" and find_words(value, turn.text)]
    return having[-1] if having else -1


def find_words(value: str, text: str) -> str:
    """Return the words of a text that say the value: itself, or the sentence with all of its words."""
    if (at := find_phrase(value, text)) is not None:
        return text[slice(*at)]
    wanted = set(lexemes(value))
    said = (text[slice(*span)] for span in sentences(text, ()))
    return next((each for each in said if wanted and wanted <= lexemes(each).keys()), "")
