"""Questions about the conversation itself: "What did I just say?", "What was your last answer?" They are answered from
the messages in order, not by search. Such a question has no matter of its own: each of its words names a speaker, a way
of speaking, a place in the order, or nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from recollect.recall.word_lists import POLITE_YOU, STOP_WORDS
from recollect.values.conversation import Turn

Speaker = Literal["user", "assistant", "both"]
Part = Literal["asking", "telling", "any"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RECENT = 5  # messages that are shown if several are meant, or if the one that is meant does not exist
ORDINALS = ("first", "second", "third", "fourth", "fifth")
PLACES = {name: n for names in (ORDINALS, "一二三四五") for n, name in enumerate(names)}
# Words that ask for a person, a time or a reason, or for what may be, ask for more than a message.
MATTERS = _words("""
    who whom whose when where why how should shall might must can could would will not no nor
    he him his she her hers they them their
""")
FILLERS = (STOP_WORDS - MATTERS) | _words("please sorry hey ok okay exactly actually recall remember know far now")
ROLES = {
    "both": r"\b(?:we|our)\b|我们|咱们|\bconversation\b|对话",
    "user": r"\b(?:i|my)\b|我",
    "assistant": r"\b(?:you|your)\b|你|您",
    "place": rf"\b(?:{'|'.join(ORDINALS)})\b|第[一二三四五]",
    "latest": r"\b(?:last|latest|previous|just)\b|刚才|刚刚|刚|最后|上一",
    "today": r"\btoday\b|今天",
    "talking": r"\b(?:talk|discuss|chat)(?:t?ed|t?ing)?\b|聊|谈|讨论",
    "asking": r"\b(?:ask|request)(?:ed)?\b|\bquestions?\b|问题|问",
    "telling": r"\b(?:tell|told|mention|mentioned)\b|告诉|提到",
    "any": (
        r"\b(?:say|said|write|wrote|typed?|messages?|things?|sentence|words)\b|说|讲|写|句|话|消息|事情|事"
        r"|\b(?:answer|repl[yi]|respond|response)(?:e?d)?\b|回答|回复"
    ),
    "again": r"\b(?:again|repeat)\b|再|重复",
    "what": r"\b(?:what|which)\b|什么|啥|哪|怎么(?=回)",
    "filler": rf"\b(?:{'|'.join(sorted(FILLERS))})\b|[的了过是在都又些呢吗啊请能个件条样遍一还到]|可以|记得|知道|来着",
}
TOKEN = re.compile("|".join(f"(?P<{role}>{pattern})" for role, pattern in ROLES.items()), re.IGNORECASE)
SPEECH = ("talking", "asking", "telling", "any", "again")
SEVERAL = re.compile(r"\b(?:questions|messages|things)\b|哪些", re.IGNORECASE)
PARTS: tuple[Part, ...] = ("asking", "telling")
SPEAKERS: tuple[Speaker, ...] = ("both", "user", "assistant")
MOMENT_AGO = re.compile(r"\b(?:just now|(?:a (?:moment|minute|second)|moments|seconds) ago)\b", re.IGNORECASE)
TELL_ME = re.compile(rf"(?:^|{POLITE_YOU.pattern})\W*(?:please )?(?:tell|remind) me\b(?! to\b)", re.IGNORECASE)
COURTESY = re.compile(rf"{POLITE_YOU.pattern}|\bdo you (?:still )?(?:know|remember|recall)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WindowQuestion:
    speaker: Speaker
    part: Part  # of the speaker's messages
    place: int | None  # among these messages; -1 is the last; None if several are meant
    is_today: bool  # whether the messages of the day are meant, whatever their session


LATEST = WindowQuestion("user", "any", None, is_today=False)


def read_window_question(text: str) -> WindowQuestion | None:
    """Return which messages of the conversation a question is about; None if it is about something else."""
    plain = COURTESY.sub(" ", TELL_ME.sub(" what ", MOMENT_AGO.sub("just", text)))
    roles = [(str(token.lastgroup), token[0].lower()) for token in TOKEN.finditer(plain)]
    names = {role for role, _ in roles}
    speaker = find_speaker(roles)
    if re.search(r"\w", TOKEN.sub(" ", plain)) or not is_about_speech(names, speaker):
        return None
    default: Speaker = "assistant" if "again" in names else "user"
    part: Part = next((part for part in PARTS if part in names), "any")
    is_several = speaker == "both" or "talking" in names or SEVERAL.search(plain) is not None
    return WindowQuestion(speaker or default, part, None if is_several else find_place(roles), "today" in names)


def is_about_speech(names: Collection[str], speaker: Speaker | None) -> bool:
    """Return whether words with these roles ask what was said, and by whom or where in the conversation."""
    has_place = any(name in names for name in ("place", "latest", "again"))
    return any(name in names for name in SPEECH) and (has_place or (speaker is not None and "what" in names))


def find_place(roles: Sequence[tuple[str, str]]) -> int:
    """Return which of the messages is meant, the last if no place is named."""
    return next((PLACES[word.removeprefix("第")] for role, word in roles if role == "place"), -1)


def find_speaker(roles: Sequence[tuple[str, str]]) -> Speaker | None:
    """Return whose words are meant: the person named last before the first word of speech that has one before it."""
    last: Speaker | None = None
    for role, _ in roles:
        last = next((speaker for speaker in SPEAKERS if speaker == role), last)
        if last and role in SPEECH:
            return last
    return last


def find_messages(question: WindowQuestion, history: Sequence[Turn], asks: Callable[[str], bool]) -> list[Turn]:
    """Return the messages that are meant. `history` is what was said before the question, oldest first, without small
    talk."""
    said = [turn for turn in drop_window_questions(history) if is_by(turn, question.speaker)]
    if question.part != "any" and question.speaker == "user":
        said = [turn for turn in said if asks(turn.text) == (question.part == "asking")]
    if question.place is None:
        return said[-RECENT:]
    return [said[question.place]] if -len(said) <= question.place < len(said) else []


def drop_window_questions(history: Sequence[Turn]) -> list[Turn]:
    """Return the turns without questions about the conversation and their answers."""
    about = {turn.ref for turn in history if turn.role == "user" and read_window_question(turn.text)}
    return [turn for turn in history if turn.ref not in about and (turn.data or {}).get("answers") not in about]


def is_by(turn: Turn, speaker: Speaker) -> bool:
    """Whether a turn counts as said by a speaker. Of both, replies made without a model do not: they repeat."""
    if speaker == "both":
        return turn.role == "user" or bool((turn.data or {}).get("model"))
    return turn.role == speaker
