"""`python -m bench cost`: the cost of each verb compared with bare psycopg on the same server, and how it grows.

Figures are CPU milliseconds of client and server together; compare the ratios. `quick` leaves out the largest sizes.
Everything is recorded in a separate project and forgotten afterwards.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from typing import Any

from psycopg import AsyncConnection

from bench.baseline import Baseline
from bench.meter import Cost, Meter
from recollect.bootstrap import connect, find_server, make_embedder
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.engine import Engine
from recollect.ports import Embedder
from recollect.settings import Settings
from recollect.values.query import Query
from recollect.values.scope import Scope, user_scope_id, uuid7

Progress = Callable[[str], None]
SESSION_TURNS = 25
COPIED_TABLES = ("conversation", "turn", "sketch", "embedding")
OWN_SIZES = (1_000, 10_000, 100_000)
OTHER_SIZES = (10_000, 100_000, 1_000_000)
IMPORT_SCRIPT = """
import re, time
before = time.process_time()
import recollect
{more}
print(time.process_time() - before, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
QUESTION = "When did we talk about {} and {}?"
# What users write in a chat; most of it has nothing to learn.
CHAT = (
    "I moved to {} last month.",
    "hi there",
    "My favourite food is {} soup.",
    "Can you help me with {} and {}?",
    "thanks, that works",
    "I'm allergic to {}.",
    "what's the best way to {} a {}?",
    "We use {} at work, and {} is next.",
    "lol ok",
    "Remember that the {} report is due on Friday.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `floor` is the baseline: bare psycopg, or the smallest size where growth is measured."""

    what: str
    ours: float
    unit: str
    floor: float | None = None
    limit: str = ""
    wall_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.floor else None


@dataclass(slots=True)
class Report:
    figures: list[Row] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {"figures": [{**asdict(row), "ratio": row.ratio} for row in self.figures]}

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """(what, ours, floor, ratio, limit) for a table."""
        return [
            (
                row.what,
                f"{row.ours:,.2f} {row.unit}" if row.ours < 1000 else f"{row.ours:,.0f} {row.unit}",
                "" if row.floor is None else f"{row.floor:,.2f}" if row.floor < 1000 else f"{row.floor:,.0f}",
                "" if row.ratio is None else f"{row.ratio:.2f}x",
                row.limit,
            )
            for row in self.figures
        ]


async def measure_verbs(settings: Settings, *, quick: bool, progress: Progress) -> Report:
    embedder = make_embedder(settings) or make_embedder(replace(settings, embedder="local"))
    assert embedder is not None
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(settings, embedder=embedder, worker=False))
        baseline = await stack.enter_async_context(Baseline(owner_dsn))
        benchmark = VerbBenchmark(memory, embedder, owner_dsn, progress)
        try:
            await benchmark.measure_append(baseline)
            await benchmark.measure_learning()
            await benchmark.measure_reads(baseline)
            await benchmark.measure_bulk(baseline)
            await benchmark.measure_own_growth(OWN_SIZES[:2] if quick else OWN_SIZES)
            await benchmark.measure_others_growth(OTHER_SIZES[:2] if quick else OTHER_SIZES)
            benchmark.measure_imports()
        finally:
            progress("cleaning up")
            await benchmark.clean_up()
    return benchmark.report


def show_verbs(report: Report, as_json: bool) -> None:
    if as_json:
        print_json(report.to_dict())
        return
    table = make_table("what", "ours", "floor", "ratio", "limit")
    for row in report.rows():
        table.add_row(*row)
    stdout_console().print(table)


class VerbBenchmark:
    """`dsn` connects as owner, for the baseline's tables and the CPU time of the server's processes."""

    def __init__(self, memory: Engine, embedder: Embedder, dsn: str, progress: Progress) -> None:
        self._memory = memory
        self._embedder = embedder
        self._dsn = dsn
        self._progress = progress
        self._meter = Meter(dsn)
        self._sentences = SentenceGenerator()
        self._project = f"bench-{uuid7()}"
        self._users: list[str] = []
        self.report = Report()

    async def measure_append(self, baseline: Baseline) -> None:
        self._progress("appending pairs")
        scope = self._scope("appender", "one")
        texts = cycle([self._sentences.sentence() for _ in range(1000)])

        async def ours() -> None:
            await self._memory.record(scope, [("user", next(texts)), ("assistant", next(texts))])

        async def searchable() -> None:
            pair = next(texts), next(texts)
            await baseline.append_searchable(*pair, await self._embedder.embed(pair))

        async def rows() -> None:
            await baseline.append_rows(next(texts), next(texts))

        mine, least, bare = await self._meter.side_by_side([ours, searchable, rows], 500)
        self._note("append a pair, searchable", mine, least, "<= 2x")
        self._note("  compared with two bare rows, not searchable", mine, bare)

    async def measure_learning(self) -> None:
        """Learn by rules, after each pair and for a whole conversation; the baseline is appending a turn."""
        self._progress("learning from chat")
        messages = cycle([self._sentences.chat(n) for n in range(1000)])
        live, alone, whole = (self._scope(user, "one") for user in ("learner", "listener", "settler"))

        def pair() -> list[Any]:
            return [("user", next(messages)), ("assistant", self._sentences.sentence())]

        async def record_and_learn() -> None:
            await self._memory.record(live, pair())
            await self._memory.settle(live)

        both, append = await self._meter.side_by_side(
            [record_and_learn, lambda: self._memory.record(alone, pair())], 200
        )
        self._note_turns("learn a turn, each pair at once", both.cpu - append.cpu, both.wall - append.wall, append, 2)
        await self._memory.record(whole, [turn for _ in range(200) for turn in pair()])
        settled = await self._meter.once(lambda: self._memory.settle(whole))
        self._note_turns("learn a turn, of 400 at once", settled.cpu, settled.wall, append, 400)

    def _note_turns(self, what: str, cpu: float, wall: float, append: Cost, turns: int) -> None:
        self.report.figures.append(Row(what, cpu / turns, "CPU ms", append.cpu / 2, "<= 3 ms", wall / turns))

    async def measure_reads(self, baseline: Baseline) -> None:
        self._progress("recall and context for 1,000 turns")
        texts = [self._sentences.sentence() for _ in range(1000)]
        scope = await self._load("reader", texts)
        conversation = await baseline.fill(texts, await self._embedder.embed(texts))

        async def vector() -> Any:
            return (await self._embedder.embed([self._question()]))[0]

        async def bare_recall() -> None:
            await baseline.recall(conversation, await vector())

        async def bare_context() -> None:
            await baseline.context(conversation, await vector())

        async def context() -> None:
            await self._memory.context(scope, Query(self._question(), scope="user", recent=10))

        mine, least = await self._meter.side_by_side([self._recall(scope), bare_recall], 200)
        self._note("recall, 1,000 turns", mine, least, "<= 10 ms")
        mine, least = await self._meter.side_by_side([context, bare_context], 200)
        self._note("context: last 10 turns + recall", mine, least)

    async def measure_bulk(self, baseline: Baseline) -> None:
        self._progress("bulk recording of 10,000 turns")
        texts = [self._sentences.sentence() for _ in range(10_000)]
        scope = self._scope("bulk", "one")
        mine = await self._meter.once(lambda: self._memory.record(scope, [("user", text) for text in texts]))
        least = await self._meter.once(lambda: baseline.bulk(texts))
        rates = [len(texts) / cost.cpu * 1000 for cost in (mine, least)]
        self.report.figures.append(
            Row("bulk recording, embedded", rates[0], "turns/CPU-s", rates[1], ">= 2,000/s", mine.wall)
        )

    async def measure_own_growth(self, sizes: tuple[int, ...]) -> None:
        smallest = None
        for size in sizes:
            self._progress(f"one user with {size:,} turns")
            scope = await self._load(f"own-{size}", [self._sentences.sentence() for _ in range(size)])
            await self._memory.settle(scope)
            cost = await self._meter.cost(self._recall(scope), 50)
            smallest = smallest or cost
            self._note(
                f"recall, one user with {size:,} turns", cost, smallest, "<= 60 ms" if size == OWN_SIZES[-1] else ""
            )

    async def measure_others_growth(self, sizes: tuple[int, ...]) -> None:
        scope = await self._load("among-others", [self._sentences.sentence() for _ in range(1000)])
        present, smallest = 0, None
        for size in sizes:
            self._progress(f"{size:,} turns of other users")
            await self._multiply(scope, (size - present) // 1000)
            present = size
            cost = await self._meter.cost(self._recall(scope), 100)
            smallest = smallest or cost
            self._note(
                f"recall with {size:,} turns of others", cost, smallest, "<= 1.3x" if size == OTHER_SIZES[-1] else ""
            )

    def measure_imports(self) -> None:
        for what, more, limit in (
            ("import recollect", "", True),
            ("  and what connect() needs", "recollect.connect", False),
        ):
            code = IMPORT_SCRIPT.format(more=more)
            printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
            seconds, megabytes = map(float, printed.split())
            self.report.figures.append(Row(what, seconds, "CPU s", limit="<= 0.4 s" if limit else ""))
            self.report.figures.append(Row("  memory", megabytes, "MB", limit="< 60 MB" if limit else ""))

    async def clean_up(self) -> None:
        for user in self._users:
            await self._memory.forget(Scope(user, project=self._project))

    def _recall(self, scope: Scope) -> Callable[[], Any]:
        return lambda: self._memory.recall(scope, Query(self._question(), scope="user"))

    def _question(self) -> str:
        """Return a question about a recorded turn."""
        return QUESTION.format(*self._sentences.pick_words(next(self._question_texts)))

    def _scope(self, user: str, session: str | None = None) -> Scope:
        if user not in self._users:
            self._users.append(user)
        return Scope(user, session, self._project)

    async def _load(self, user: str, texts: list[str]) -> Scope:
        """Record these turns in sessions of usual length, and return the scope of the first session."""
        self._question_texts = cycle(texts)
        for start in range(0, len(texts), SESSION_TURNS):
            turns: list[Any] = [
                ("assistant" if n % 2 else "user", text) for n, text in enumerate(texts[start : start + SESSION_TURNS])
            ]
            await self._memory.record(self._scope(user, f"s{start // SESSION_TURNS}"), turns)
        return self._scope(user, "s0")

    async def _multiply(self, scope: Scope, copies: int) -> None:
        """Copy a user's rows to other users, each written within its own scope."""
        # As the owner: the application's role may not create temporary tables.
        options = "-c search_path=recollect,public"
        async with await AsyncConnection.connect(self._dsn, autocommit=True, options=options) as connection:
            async with connection.transaction():
                await connection.execute("SELECT open_scope(%s)", [scope.id])
                for table in COPIED_TABLES:
                    own = f"SELECT * FROM {table} WHERE scope_id = '{scope.id}'"
                    await connection.execute(f"CREATE TEMPORARY TABLE my_{table} AS {own}".encode())
            for _ in range(copies):
                user = f"other-{len(self._users)}"
                self._scope(user)
                other = user_scope_id(self._project, user)
                async with connection.transaction():
                    await connection.execute("SELECT open_scope(%s)", [other])
                    for table in COPIED_TABLES:
                        await connection.execute(f"UPDATE my_{table} SET scope_id = %s".encode(), [other])
                        await connection.execute(f"INSERT INTO {table} SELECT * FROM my_{table}".encode())

    def _note(self, what: str, cost: Cost, floor: Cost, limit: str = "") -> None:
        self.report.figures.append(Row(what, cost.cpu, "CPU ms", floor.cpu, limit, cost.wall))


class SentenceGenerator:
    """Sentences of made-up words with a natural frequency distribution; the same in every run."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
        self._words = ["".join(self._random.choices(syllables, k=self._random.randint(2, 4))) for _ in range(5000)]
        self._weights = [1 / (rank + 10) for rank in range(len(self._words))]

    def pick_words(self, sentence: str) -> list[str]:
        """Return two words of a sentence to ask about."""
        return self._random.sample(sentence.lower().rstrip(".").split(), 2)

    def chat(self, n: int) -> str:
        """Return a typical chat message with made-up words."""
        return CHAT[n % len(CHAT)].format(*self._random.choices(self._words, k=2))

    def sentence(self) -> str:
        return (
            " ".join(self._random.choices(self._words, self._weights, k=self._random.randint(8, 28))).capitalize() + "."
        )
