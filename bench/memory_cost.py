"""`python -m bench cost chat` and `cost ask`: what memory adds to a chat message and to a question to a database.

The same message is sent with memory and without, in pairs, by users with 1,000 turns each. The chat model is scripted
and costs nothing; the database is the sample in SQLite. The figure of a message is the CPU time of this process and
PostgreSQL, including what is done after the answer. Messages are recorded with memory switched off too, so the
difference is the cost of recall, prompt and their bookkeeping.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bench.meter import Meter
from bench.verb_cost import QUESTION, SESSION_TURNS, Progress, SentenceGenerator
from recollect.apps.ask.analyst import Analyst
from recollect.apps.ask.question import Ask as Question
from recollect.apps.ask.sample import make_sample
from recollect.apps.chat.message import Answer, Ask, MemoryUse
from recollect.bootstrap import connect, find_server, open_analyst, open_assistant
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.engine import Engine
from recollect.providers.fake import FakeReasoner
from recollect.settings import Settings
from recollect.values.scope import Scope, uuid7

LIMIT = 25.0  # CPU ms that memory may add to a message, at the 95th percentile
ASK_LIMIT = 60.0  # CPU ms of a question to a database with memory, at the 95th percentile
ON, OFF, ADDED, AFTERWARDS = "with memory", "memory switched off", "memory adds", "  of it after the answer"
TURNS = 1000
USERS = 4
PAIRS, QUICK_PAIRS = 120, 24
WARM_UP = 2  # pairs of each user
TASK_SECONDS = 10  # to wait for background tasks of a message
REPLY = "Let me see what I have on that, and come back to you with it."  # of the scripted model
SOURCE = "bench"
SAMPLE_DAY = date(2025, 12, 31)  # the same questions cost the same every day
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


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU milliseconds of one message."""

    until_answer: float
    afterwards: float
    sources: int  # that memory contributed
    failed: bool = False

    @property
    def cpu(self) -> float:
        return self.until_answer + self.afterwards


@dataclass(frozen=True, slots=True)
class Pair:
    """The same message with memory and without."""

    on: Spent
    off: Spent

    @property
    def failed(self) -> bool:
        """Whether one was not answered, or memory contributed nothing when on, or something when off."""
        return self.on.failed or self.off.failed or not self.on.sources or bool(self.off.sources)


@dataclass(frozen=True, slots=True)
class Spread:
    """CPU milliseconds."""

    what: str
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class MemoryReport:
    pairs: Sequence[Pair]
    turns: int  # of each user at the start
    limit: float = LIMIT
    whole: float | None = None  # limit of the message with memory, if there is one

    @property
    def figures(self) -> list[Spread]:
        return [
            make_spread(ON, [pair.on.cpu for pair in self.pairs]),
            make_spread(OFF, [pair.off.cpu for pair in self.pairs]),
            make_spread(ADDED, [pair.on.cpu - pair.off.cpu for pair in self.pairs]),
            make_spread(AFTERWARDS, [pair.on.afterwards - pair.off.afterwards for pair in self.pairs]),
        ]

    @property
    def added(self) -> Spread:
        return next(figure for figure in self.figures if figure.what == ADDED)

    @property
    def holds(self) -> bool:
        return self.added.p95 < self.limit and (self.whole is None or self.figures[0].p95 <= self.whole)

    @property
    def failed(self) -> int:
        return sum(pair.failed for pair in self.pairs)

    def to_dict(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "messages": len(self.pairs),
            "failed": self.failed,
            "figures": [{**asdict(figure), "what": figure.what.strip()} for figure in self.figures],
            "limit": self.limit,
            "whole": self.whole,
            "holds": self.holds,
        }


def make_spread(what: str, values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    return Spread(what, median(ordered), ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)])


def show_memory_cost(report: MemoryReport, as_json: bool) -> None:
    if as_json:
        print_json(report.to_dict())
        return
    table = make_table("CPU ms of a message", "median", "p95", title=f"{report.turns:,} turns of each user")
    for figure in report.figures:
        table.add_row(figure.what, f"{figure.median:.2f}", f"{figure.p95:.2f}")
    console = stdout_console()
    console.print(table)
    verdict = "holds" if report.holds else "does not hold"
    if report.whole is not None:
        verdict += f", with at most {report.whole:g} in all"
    console.print(f"memory adds less than {report.limit:g} CPU ms to 95 % of {len(report.pairs)} messages: {verdict}")
    if report.failed:
        console.print(f"{report.failed} messages failed; the figures are not valid", style="red")


class Assistant(Protocol):
    """Answers a message, with memory or without."""

    async def answer(self, scope: Scope, ask: Ask) -> Answer: ...


@dataclass(frozen=True, slots=True)
class DatabaseAssistant:
    """An analyst as an Assistant. Memory contributes the end of the session and similar questions."""

    analyst: Analyst
    remembers: bool

    async def answer(self, scope: Scope, ask: Ask) -> Answer:
        answer = await self.analyst.ask(scope, Question(question=ask.text, source=SOURCE, remembers=self.remembers))
        use = MemoryUse(sources=("memory",) if answer.memory else ())
        is_answered = bool(answer.sql) and not answer.error
        return Answer(answer.text, scope.session or "", 0, use, error_stage=None if is_answered else "retrieval")


async def measure_chat(settings: Settings, *, quick: bool, progress: Progress) -> MemoryReport:
    """Compare two assistants that differ only in whether memory is enabled."""
    on, off = (replace(settings, enabled=enabled, model="", model_url="") for enabled in (True, False))
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(on, worker=False))
        without = await stack.enter_async_context(connect(off, worker=False))
        remembering = await stack.enter_async_context(open_assistant(memory, on, FakeReasoner(REPLY)))
        forgetful = await stack.enter_async_context(open_assistant(without, off, FakeReasoner(REPLY)))
        benchmark = MemoryBenchmark(memory, remembering, forgetful, owner_dsn, progress)
        async with record_users(benchmark):
            return await benchmark.measure(QUICK_PAIRS if quick else PAIRS)


async def measure_ask(settings: Settings, *, quick: bool, progress: Progress) -> MemoryReport:
    """Compare questions to the sample database, with memory and without."""
    plain = replace(settings, model="", model_url="")
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(plain, worker=False))
        analyst = await stack.enter_async_context(open_analyst(memory, plain))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_sample(folder / "sample.db", SAMPLE_DAY)
        remembering, forgetful = DatabaseAssistant(analyst, True), DatabaseAssistant(analyst, False)
        benchmark = MemoryBenchmark(memory, remembering, forgetful, owner_dsn, progress, QUESTIONS)
        scope = Scope("bench", project=benchmark.project)
        await analyst.sources.add(scope, SOURCE, f"sqlite:///{folder / 'sample.db'}", local=True)
        stack.push_async_callback(analyst.sources.drop, scope, SOURCE)
        async with record_users(benchmark):
            return replace(await benchmark.measure(QUICK_PAIRS if quick else PAIRS), whole=ASK_LIMIT)


@asynccontextmanager
async def record_users(benchmark: MemoryBenchmark, *, users: int = USERS, turns: int = TURNS) -> AsyncIterator[None]:
    """Record the benchmark's users, who are forgotten at the end of the block."""
    try:
        await benchmark.record_users(users, turns)
        yield
    finally:
        await benchmark.clean_up()


class MemoryBenchmark:
    """`dsn` connects as owner, for the CPU time of the server's processes. Without `questions`, users ask about their
    own turns."""

    def __init__(
        self,
        memory: Engine,
        remembering: Assistant,
        forgetful: Assistant,
        dsn: str,
        progress: Progress,
        questions: Sequence[str] = (),
    ) -> None:
        self._memory = memory
        self._assistants = {"on": remembering, "off": forgetful}
        self._progress = progress
        self._questions = questions
        self._meter = Meter(dsn)
        self._sentences = SentenceGenerator()
        self._texts: dict[str, list[str]] = {}
        self._turns = 0
        self.project = f"bench-{uuid7()}"

    async def record_users(self, users: int, turns: int) -> None:
        """Record users with a chat history and learn from it."""
        self._progress(f"recording {users} users with {turns:,} turns each")
        self._turns, make = turns, self._sentences
        for user in (f"user-{n}" for n in range(users)):
            texts = [make.chat(n // 2) if n % 4 == 0 else make.sentence() for n in range(turns)]
            self._texts[user] = texts
            for start in range(0, turns, SESSION_TURNS):
                session = texts[start : start + SESSION_TURNS]
                pairs: list[Any] = [("assistant" if n % 2 else "user", text) for n, text in enumerate(session)]
                await self._memory.record(Scope(user, f"s{start // SESSION_TURNS}", self.project), pairs)
            await self._memory.settle(Scope(user, project=self.project))

    async def clean_up(self) -> None:
        self._progress("cleaning up")
        for user in self._texts:
            await self._memory.forget(Scope(user, project=self.project))

    async def measure(self, pairs: int) -> MemoryReport:
        """Alternate which of the two goes first, so that other load on the machine affects both."""
        messages = self._make_messages()
        self._progress("warming up")
        for _ in range(WARM_UP * len(self._texts)):
            await self._measure_pair(*next(messages))
        self._progress(f"{pairs} messages, each with memory and without")
        return MemoryReport([await self._measure_pair(*next(messages)) for _ in range(pairs)], self._turns)

    def _make_messages(self) -> Iterator[tuple[int, str, str]]:
        """Yield (number, user, text), of each user in turn."""
        users = list(self._texts)
        for n in count():
            user = users[n % len(users)]
            if self._questions:
                yield n, user, self._questions[n // len(users) % len(self._questions)]
            else:
                texts = [text for place, text in enumerate(self._texts[user]) if place % 4]
                yield n, user, QUESTION.format(*self._sentences.pick_words(texts[n % len(texts)]))

    async def _measure_pair(self, n: int, user: str, text: str) -> Pair:
        spent = {}
        for mode in sorted(self._assistants, reverse=bool(n // len(self._texts) % 2)):
            scope = Scope(user, f"chat-{mode}", self.project)
            spent[mode] = await self._measure_message(self._assistants[mode], scope, text)
        return Pair(spent["on"], spent["off"])

    async def _measure_message(self, assistant: Assistant, scope: Scope, text: str) -> Spent:
        """Measure one message with its background tasks, which would otherwise be charged to the next one."""
        answers: list[Answer] = []
        before = asyncio.all_tasks()

        async def ask() -> None:
            answers.append(await assistant.answer(scope, Ask(text)))

        async def finish() -> None:
            if started := asyncio.all_tasks() - before:
                await asyncio.wait(started, timeout=TASK_SECONDS)

        until_answer = await self._meter.once(ask)
        afterwards = await self._meter.once(finish)
        [answer] = answers
        return Spent(until_answer.cpu, afterwards.cpu, len(answer.memory.sources), answer.error_stage is not None)
