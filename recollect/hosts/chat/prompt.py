"""Prompt: what a language model is told before it replies. Pure; assistant.py calls it, proxy.py for `remembered`.

What is remembered goes into the system's message as data, between marks that it cannot contain (recollect/prompts).
What was said in this session follows in its own roles, then the message. Errors of ours are no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.model.conversation import Turn
from recollect.model.search import Context
from recollect.model.tokens import count_tokens
from recollect.ports import Message
from recollect.prompts import marked, prompt

HISTORY_TOKENS = 2000
HISTORY_CHARS = 4000  # of one turn
NOTHING = "(Nothing is remembered that speaks to this.)"


def messages(text: str, context: Context | None, history: Sequence[Turn], now: datetime | None) -> list[Message]:
    known = context.text if context and context.text else NOTHING
    date = f"{now:%A, %d %B %Y}" if now else "not known"
    system = prompt("chat", date=date, memory=marked("memory", known))
    before = [Message("user" if turn.role == "user" else "assistant", cut(turn.text)) for turn in just_said(history)]
    return [Message("system", system), *before, Message("user", text)]


def remembered(context: Context) -> str:
    """For a conversation that is not ours: data to stand before the question, whatever the instructions are."""
    return prompt("remembered", memory=marked("memory", context.text))


def just_said(history: Sequence[Turn]) -> list[Turn]:
    """As many of the last turns as fit, oldest first."""
    chosen: list[Turn] = []
    room = HISTORY_TOKENS
    for turn in reversed(history):
        if turn.role not in ("user", "assistant") or (turn.data or {}).get("error_stage"):
            continue
        room -= count_tokens(cut(turn.text))
        if room < 0:
            break
        chosen.append(turn)
    return chosen[::-1]


def cut(text: str) -> str:
    return text if len(text) <= HISTORY_CHARS else text[:HISTORY_CHARS] + " …"


def spoken(text: str) -> str:
    """What a model said so far, without its thinking aloud at the beginning; nothing while it may still think."""
    begun = text.lstrip()
    if begun.startswith("<think>"):
        return begun.partition("</think>")[2].lstrip()
    return "" if "<think>".startswith(begun) else begun
