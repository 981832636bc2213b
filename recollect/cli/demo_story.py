"""The sample conversation of `recollect demo`: a user asks questions about a sales database on two days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zlib import crc32

from recollect.values.conversation import Role, Turn
from recollect.values.scope import Scope

PROJECT = "recollect-demo"
DANA = Scope(user="dana", project=PROJECT)
TRYING = Scope(user="dana", session="try", project=PROJECT)

SALES = "SELECT region, sum(amount) FROM sales WHERE year = {} GROUP BY region ORDER BY 2 DESC"


def make_turns(start: datetime, *lines: tuple[Role, str, dict[str, Any] | None]) -> list[Turn]:
    """Return turns that are one minute apart."""
    return [
        Turn(role, text, "Dana" if role == "user" else None, start + timedelta(minutes=minute), data)
        for minute, (role, text, data) in enumerate(lines)
    ]


STORY = {
    "monday": make_turns(
        datetime(2026, 6, 1, 9, 0, tzinfo=UTC),
        ("user", "Before we start: active means logged in within the last 30 days.", None),
        ("assistant", "Noted. An active account has last_login within 30 days.", None),
        ("user", "And call our customers clients, please.", None),
        ("assistant", "Clients it is.", None),
        ("user", "Show me sales by region for 2024.", None),
        (
            "assistant",
            "Sales by region in 2024: North 4.1 M, West 3.2 M, South 2.7 M, East 1.9 M.",
            {"sql": SALES.format(2024)},
        ),
        ("user", "What about 2023?", None),
        (
            "assistant",
            "Sales by region in 2023: West 3.4 M, North 3.3 M, South 2.5 M, East 2.0 M.",
            {"sql": SALES.format(2023)},
        ),
    ),
    "wednesday": make_turns(
        datetime(2026, 6, 3, 14, 0, tzinfo=UTC),
        ("user", "How many active clients signed up in May?", None),
        ("assistant", "412 of the 530 clients who signed up in May are active.", None),
        ("user", "以后报表里的金额都用人民币。", None),
        ("assistant", "好的,以后金额都换算成人民币。", None),
        ("user", "The board meets on Thursday; Mei needs the slides the day before.", None),
        ("assistant", "I will have them ready on Wednesday.", None),
    ),
}

KEY = f"demo-{crc32(repr(STORY).encode()):08x}"  # a changed story is recorded again

QUESTIONS = (
    "what does active mean?",
    "which region sold most in 2023?",
    "报表的金额用什么货币?",
)
PROMPT_QUESTION = "How many active clients does each region have?"
PROMPT_BUDGET = 240
