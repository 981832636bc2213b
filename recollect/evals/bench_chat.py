"""What memory costs in front of a model: a message to the chat host with memory, beside the same message with memory
switched off, in pairs, on users with 1,000 turns each. The model is scripted and costs nothing.

A message's figure is the CPU of this process and of PostgreSQL's, with all that the host does once the answer has gone
out. Switched off, the host still keeps what is said, so the difference is what recall, prompt and their bookkeeping
cost; the first row is the whole of it. `recollect bench chat` runs this; chat_report.py has the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Protocol

from recollect.engine import Engine
from recollect.evals.bench import QUESTION, SESSION_TURNS, Babble, Progress
from recollect.evals.chat_report import ChatReport, Pair, Spent
from recollect.evals.meter import Meter
from recollect.model.chat import Answer, Ask
from recollect.model.ids import uuid7
from recollect.model.scope import Scope

TURNS = 1000
USERS = 4
PAIRS, QUICK_PAIRS = 120, 24
WARM_UP = 2  # pairs of each user
LONGEST = 10  # seconds to wait for what a message set going
REPLY = "Let me see what I have on that, and come back to you with it."  # what the scripted model says


class Host(Protocol):
    """An assistant; hosts/ has it, and whoever runs the bench brings it."""

    async def answer(self, scope: Scope, ask: Ask) -> Answer: ...


async def run(
    memory: Engine, remembering: Host, forgetful: Host, dsn: str, *, quick: bool = False, progress: Progress
) -> ChatReport:
    """`forgetful` is the same host with memory switched off; `dsn` is an owner's connection."""
    async with bench_on(memory, remembering, forgetful, dsn, progress) as bench:
        return await bench.cost(QUICK_PAIRS if quick else PAIRS)


@asynccontextmanager
async def bench_on(
    memory: Engine,
    remembering: Host,
    forgetful: Host,
    dsn: str,
    progress: Progress,
    *,
    users: int = USERS,
    turns: int = TURNS,
) -> AsyncIterator[ChatBench]:
    """A bench with its users, who are forgotten afterwards."""
    bench = ChatBench(memory, remembering, forgetful, dsn, progress)
    try:
        await bench.fill(users, turns)
        yield bench
    finally:
        progress("cleaning up")
        await bench.clean_up()


class ChatBench:
    def __init__(self, memory: Engine, remembering: Host, forgetful: Host, dsn: str, progress: Progress) -> None:
        self._memory = memory
        self._remembering = remembering
        self._forgetful = forgetful
        self._progress = progress
        self._meter = Meter(dsn)
        self._said = Babble()
        self._project = f"bench-{uuid7()}"
        self._texts: dict[str, list[str]] = {}
        self._turns = 0

    async def fill(self, users: int, turns: int) -> None:
        """Users with chat behind them, learned from."""
        self._progress(f"recording {users} users with {turns:,} turns each")
        self._turns = turns
        for user in (f"user-{n}" for n in range(users)):
            self._texts[user] = [self._said.chat(n // 2) if n % 4 == 0 else self._said.sentence() for n in range(turns)]
            await self._record(user)
            await self._memory.settle(Scope(user, project=self._project))

    async def _record(self, user: str) -> None:
        texts = self._texts[user]
        for start in range(0, len(texts), SESSION_TURNS):
            said = texts[start : start + SESSION_TURNS]
            turns: list[Any] = [("assistant" if n % 2 else "user", text) for n, text in enumerate(said)]
            await self._memory.record(Scope(user, f"s{start // SESSION_TURNS}", self._project), turns)

    async def clean_up(self) -> None:
        for user in self._texts:
            await self._memory.forget(Scope(user, project=self._project))

    async def cost(self, pairs: int) -> ChatReport:
        """Both ways in turns, each first as often as the other, so that whatever else happens falls on both."""
        messages = self._messages()
        self._progress("warming up")
        for _ in range(WARM_UP * len(self._texts)):
            await self._pair(*next(messages))
        self._progress(f"{pairs} messages, each with memory and without")
        return ChatReport([await self._pair(*next(messages)) for _ in range(pairs)], self._turns)

    def _messages(self) -> Iterator[tuple[int, str, str]]:
        """(number, user, text): of each user in turn, about something that was said."""
        users = list(self._texts)
        for n in count():
            user = users[n % len(users)]
            texts = [text for place, text in enumerate(self._texts[user]) if place % 4]
            yield n, user, QUESTION.format(*self._said.words_of(texts[n % len(texts)]))

    async def _pair(self, n: int, user: str, text: str) -> Pair:
        ways = {"on": self._remembering, "off": self._forgetful}
        spent = {}
        for way in sorted(ways, reverse=bool(n // len(self._texts) % 2)):
            spent[way] = await self._spent(ways[way], Scope(user, f"chat-{way}", self._project), text)
        return Pair(spent["on"], spent["off"])

    async def _spent(self, host: Host, scope: Scope, text: str) -> Spent:
        """Of one message. What was set going is waited for, or it would fall on the next one."""
        answers: list[Answer] = []
        before = asyncio.all_tasks()

        async def ask() -> None:
            answers.append(await host.answer(scope, Ask(text)))

        async def finish() -> None:
            if begun := asyncio.all_tasks() - before:
                await asyncio.wait(begun, timeout=LONGEST)

        until_answer = await self._meter.once(ask)
        afterwards = await self._meter.once(finish)
        [answer] = answers
        return Spent(until_answer.cpu, afterwards.cpu, len(answer.memory.sources), answer.error_stage is not None)
