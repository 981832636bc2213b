"""What a question to a database costs without a model, and what memory's share of that is: the same question with
memory and without, in pairs, on users with 1,000 turns each, asked of the sample database. Counted as the chat bench
counts: CPU of this process and of PostgreSQL's; SQLite runs in this process. `recollect bench ask` runs this."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from recollect.evals.bench_chat import PAIRS, QUICK_PAIRS, TURNS, USERS, ChatBench
from recollect.evals.chat_report import ChatReport

WHOLE = 60.0  # CPU ms for a question with memory, at the 95th percentile
QUESTIONS = (
    "total sales by region for 2024",
    "how many customers are there per tier",
    "top 5 products by quantity",
    "number of orders per month in 2023",
    "total sales by region in 2023",
    "number of orders by channel",
    "total sales for each category",
    "customers with more than 10 orders",
)


class AskBench(ChatBench):
    def _messages(self) -> Iterator[tuple[int, str, str]]:
        users = list(self._texts)
        for n in count():
            yield n, users[n % len(users)], QUESTIONS[n // len(users) % len(QUESTIONS)]

    @property
    def project(self) -> str:
        return self._project


async def run(bench: AskBench, *, quick: bool = False, users: int = USERS, turns: int = TURNS) -> ChatReport:
    try:
        await bench.fill(users, turns)
        return replace(await bench.cost(QUICK_PAIRS if quick else PAIRS), whole=WHOLE)
    finally:
        await bench.clean_up()
