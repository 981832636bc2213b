"""Questions about the session itself: "What did I just say?", "What was the second thing I asked?" They are answered
from the session's messages in order, not by search. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollect.values.conversation import Turn

SAID = r"(?:say|said|tell|told|mention(?:ed)?|write|wrote|type[d]?)"
ASKED = r"(?:ask(?:ed)?|request(?:ed)?|want(?:ed)?)"
LAST = re.compile(
    rf"\bdid i just (?:{SAID}|{ASKED})\b"
    rf"|\bdid i (?:{SAID}|{ASKED})\b.*\b(?:last|just now|a (?:moment|minute|second) ago)\W*$"
    rf"|\b(?:last|previous) (?:thing|question|message|sentence)\b.*\bi\b.*\b(?:{SAID}|{ASKED})\b"
    r"|\bmy (?:last|previous) (?:question|message)\b"
    r"|我?(?:刚才|刚刚|刚|最后)(?:又|都)?(?:说|问|讲|提)了?(?:些|的)?(?:什么|啥|哪)|我?上一(?:句|个问题|条)",
    re.IGNORECASE,
)
NTH = re.compile(
    rf"\b(?P<en>first|second|third|fourth|fifth) \w+\b.*\bi\b.*\b(?:{SAID}|{ASKED})\b"
    r"|第(?P<zh>[一二三四五])(?:句|个|样|件|条).{0,12}|我.{0,8}第(?P<after>[一二三四五])(?:句|个|样|件|条)",
    re.IGNORECASE,
)
ORDINALS = ("first", "second", "third", "fourth", "fifth")
PLACES = {name: n for names in (ORDINALS, "一二三四五") for n, name in enumerate(names)}
ASKS = re.compile(rf"\b{ASKED}\b|问|让你|要你", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WindowQuestion:
    place: int  # among the user's messages of the session; -1 is the last
    asked_only: bool  # only among those that ask for something


def read_window_question(text: str) -> WindowQuestion | None:
    """Return which message of the session a question is about; None if it is about none."""
    asked = ASKS.search(text) is not None
    if LAST.search(text):
        return WindowQuestion(-1, asked)
    if (found := NTH.search(text)) and (asked or re.search(rf"\b{SAID}\b|说", text, re.IGNORECASE)):
        return WindowQuestion(PLACES[(found["en"] or found["zh"] or found["after"]).lower()], asked)
    return None


def find_message(question: WindowQuestion, history: Sequence[Turn], asks: Callable[[str], bool]) -> Turn | None:
    """Return the message that is meant. `history` is the session before the question, oldest first."""
    said = [turn for turn in history if turn.role == "user"]
    asked = [turn for turn in said if asks(turn.text)] if question.asked_only else said
    for turns in (asked, said):
        if -len(turns) <= question.place < len(turns):
            return turns[question.place]
    return None
