"""Rewrite: a follow-up made a question of its own, by a model where there is one, else by rules. Hosts call it before
they search; what the user asked stays in the log as he asked it.

A model's rewrite is taken only if it keeps the question's own words and adds none that nobody said: one that answers
the question, or obeys what it reads, is dropped for the rules' (model/followup.py). So is no answer at all: this never
raises. No model is asked where there is nothing to follow up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.errors import ReasonerFailed
from recollect.flows.reason import asked, structured
from recollect.model.conversation import Turn
from recollect.model.followup import MOST_CHAIN, MOST_CHARS, followup, is_aside
from recollect.model.followup_words import OPENING_WORDS, OPENING_ZH
from recollect.model.text import CJK_CHARACTER, is_cjk, lexemes
from recollect.model.words import CJK_FUNCTION
from recollect.ports import Reasoner
from recollect.prompts import prompt

REWRITE_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Rewrite:
    question: str


async def rewritten(reasoner: Reasoner | None, question: str, previous: Sequence[str]) -> str:
    """The question as it is understood alone. `previous` are the user's earlier ones, newest last."""
    ruled = followup(question, previous).text
    if reasoner is None or not previous or len(question) > MOST_CHARS or is_aside(question):
        return ruled
    earlier = [each for each in previous[-MOST_CHAIN:] if each.strip()]
    turns = [Turn("user", each) for each in (*earlier, question)]
    try:
        made = await structured(reasoner, asked(prompt("rewrite"), turns), Rewrite, REWRITE_TOKENS)
    except ReasonerFailed:
        return ruled
    text = " ".join(made.question.split())
    return text if is_faithful(text, question, earlier) else ruled


def is_faithful(text: str, question: str, previous: Sequence[str]) -> bool:
    """It keeps what the question says, and says nothing that was not said."""
    if not text or len(text) > 2 * MOST_CHARS:
        return False
    said = words(question).union(*map(words, previous))
    return own_words(question) <= words(text) <= said


def own_words(question: str) -> set[str]:
    """Without what only marks it as a follow-up."""
    return words(OPENING_ZH.sub("", question)) - OPENING_WORDS


def words(text: str) -> set[str]:
    """Lexemes; where nothing separates words, characters: a rewrite moves them about."""
    if not is_cjk(text):
        return set(lexemes(text))
    plain = CJK_FUNCTION.sub(" ", text)
    return {*CJK_CHARACTER.findall(plain), *lexemes(CJK_CHARACTER.sub(" ", plain))}
