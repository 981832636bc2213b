"""Wanting: what a question looks for in a sentence. Its words without those that only ask, each with what it is worth,
and whether it wants a number. Pure; quoting.py judges sentences by it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from recollect.hosts.chat.answers import FRAME
from recollect.model.text import lexemes

OWN = 0.65  # of a follow-up's worth, in the words that were said now
LEAST_SENTENCES = 20  # with fewer, a word's rarity says too much
KIND = 0.5  # what a word counts that says which kind of thing is wanted: "period" in "notice period"
# How a question asks, which no answer repeats.
ASKING = re.compile(
    r"\bhow (?:much|many|long|often|far|large|big|do|does|can|should|is|are)\b|\bwhat (?:kinds?|sorts?|types?) of\b"
    r"|\b(?:does|do) (?:it|they|you|i|we|one) (?:mean|say|happen)\b|\b(?:tell me|explain|describe|please|happens?)\b"
    r"|\b(?:may|must|might|shall)(?= (?:i|we|you|one|they|it|he|she|a|an|the|be)\b)"
    r"|\b(?:called|named)(?=\s*\?)|\b(?:is|are) (?:needed|required|necessary)\b"
    r"|几(?:天|个|年|月|日|次|条|位|人|种|点|小时|分钟|元|岁|周)?|多(?:久|长|大|高|远|重)|请问|谁|可以|能不能|是否|需要",
    re.IGNORECASE,
)
KINDS = frozenset(lexemes("period duration length amount number name date price time"))
WANTS_NUMBER = re.compile(
    r"\bhow (?:much|many|long|often|far|large|big|old|high)\b|多少|几|多(?:久|长|大|高|远|重)", re.I
)
POINTED = re.compile(
    r"\b[Ww](?:hat|hich)(?:['’]s| is| are| was| were)?(?: the| a| an| my| our)? (\w+)|\b[Ww]ho (\w+)"
    r"|(?<=[\w,] )([A-Z0-9]\w+)"
)
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|ninety"
    r"|half|quarter|dozen|hundred|thousand|million|once|twice|daily|weekly|monthly|yearly|annually|every|each|free|no"
    r"|none|unlimited|never|always|until|as long as)\b|[零一二两三四五六七八九十百千万半每]|免费|直到",
    re.IGNORECASE,
)


def wanted(question: str) -> list[str]:
    return list(lexemes(ASKING.sub(" ", FRAME.sub(" ", question))) or lexemes(question))


def worths(question: str, sentences: Sequence[Collection[str]]) -> dict[str, float]:
    """How rare each word is among the sentences; one that none has is worth the most. Among few sentences that proves
    little: such a word is then worth what one is that stands once, unless the question is about that very thing."""
    words, pointed = wanted(question), pointed_at(question)
    many, is_few = max(len(sentences), LEAST_SENTENCES), len(sentences) <= LEAST_SENTENCES
    having = {word: sum(word in each for each in sentences) for word in words}
    if is_few:
        having |= {word: 1 for word, n in having.items() if n == 0 and word.isascii() and word not in pointed}
    rare = {word: math.log(1 + (many - n + 0.5) / (n + 0.5)) for word, n in having.items()}
    return rare if KINDS.issuperset(rare) else {word: rare[word] * (KIND if word in KINDS else 1.0) for word in rare}


def pointed_at(question: str) -> set[str]:
    """Names, and what stands after "what is the" and "who": an answer without them answers something else."""
    return set(lexemes(" ".join(found[found.lastindex or 0] for found in POINTED.finditer(question))))


def weighed(worth: Mapping[str, float], asked: Collection[str]) -> dict[str, float]:
    """As parts of one. Of a follow-up, the words that were said now are OWN of it, those carried over the rest."""
    now = {word: value for word, value in worth.items() if word in asked}
    if not now or len(now) == len(worth):
        return parts(worth, 1.0)
    carried = {word: value for word, value in worth.items() if word not in asked}
    return parts(now, OWN) | parts(carried, 1 - OWN)


def parts(worth: Mapping[str, float], whole: float) -> dict[str, float]:
    total = sum(worth.values()) or 1.0
    return {word: whole * value / total for word, value in worth.items()}
