"""`python -m bench cost http`: the cost of `context` over `recollect serve`, compared with the same verb in this
process and with a bare route of the same framework (bare_route.py), in turns, on the same users with 1,000 turns each.

CPU milliseconds per request are those of the serving process and PostgreSQL; the clients' are listed separately. The
cheapest round counts, since other load on the machine only adds. With --minutes, `soak` loads the server instead and
compares the resources it holds before and after.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import psycopg

from bench import bare_route
from bench.http_load import Client, LoadResult, Send, ServerProcess, count_down, run_load, run_server, until_deadline
from bench.meter import Meter
from bench.verb_cost import QUESTION, SESSION_TURNS, Progress, SentenceGenerator
from recollect.bootstrap import connect, find_server
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.engine import Engine
from recollect.errors import Unauthorized
from recollect.settings import Settings
from recollect.values.identity import Grant, NewKey
from recollect.values.query import Query
from recollect.values.scope import Scope, uuid7

TURNS = 1000
USERS = 8
CLIENTS = (1, 32)
REQUESTS = {1: 100, 32: 320}  # of a round
ROUNDS = 5
QUESTIONS = 100  # of each user
WRITE_EVERY = 10  # one of so many requests of the soak writes
WARM_UP = 0.2  # of the soak's time
LIMIT = 1.5  # CPU ms that HTTP may add
ROUTE, VERB, HTTP = "bare route, SELECT 1", "context, in process", "context over HTTP"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"

MakeSend = Callable[[Client, int], Send]  # makes the requests of a client, given its number
Target = tuple[ServerProcess | None, MakeSend]  # no server: in this process


@dataclass(frozen=True, slots=True)
class Round:
    """CPU milliseconds per request, rate and latency of one round."""

    cpu: float
    postgres: float  # of `cpu`
    client: float
    rate: float  # requests a second
    p50: float
    p95: float
    failed: int


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    clients: int
    best: Round
    most: float  # CPU ms of the most expensive round
    failed: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the idle server holds."""

    resident_mb: float
    descriptors: int  # without those of its database connections
    connections: int  # to the database


@dataclass(frozen=True, slots=True)
class Soak:
    seconds: float
    requests: int
    failed: int
    problems: Sequence[str]  # the first ones
    rate: float
    p50: float
    p95: float
    before: Held
    after: Held


@dataclass(frozen=True, slots=True)
class Compared:
    clients: int
    added: float  # CPU ms that HTTP adds to the verb
    beside_bare: float  # times the bare route
    limit: float = LIMIT


@dataclass(frozen=True, slots=True)
class HttpReport:
    figures: Sequence[Figure] = ()
    soak: Soak | None = None

    @property
    def failed(self) -> int:
        return sum(figure.failed for figure in self.figures) + (self.soak.failed if self.soak else 0)

    @property
    def compared(self) -> list[Compared]:
        cpu = {(figure.what, figure.clients): figure.best.cpu for figure in self.figures}
        return [
            Compared(many, cpu[HTTP, many] - cpu[VERB, many], cpu[HTTP, many] / cpu[ROUTE, many])
            for many in dict.fromkeys(figure.clients for figure in self.figures)
        ]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "compared": [asdict(each) for each in self.compared]}

    def rows(self) -> list[tuple[str, ...]]:
        """(what, clients, CPU, of it PostgreSQL, clients' CPU, requests/s, p50, p95, failed) for a table."""
        return [
            (
                each.what,
                str(each.clients),
                f"{each.best.cpu:.2f} to {each.most:.2f}",
                f"{each.best.postgres:.2f}",
                f"{each.best.client:.2f}",
                f"{each.best.rate:,.0f}",
                f"{each.best.p50:.1f}",
                f"{each.best.p95:.1f}",
                str(each.failed),
            )
            for each in self.figures
        ]


def make_round(result: LoadResult, process: float, postgres: float, client: float) -> Round:
    each = 1000 / result.requests
    rate = result.requests / result.seconds
    cpu = (process + postgres) * each
    return Round(
        cpu, postgres * each, client * each, rate, result.percentile(0.5), result.percentile(0.95), len(result.problems)
    )


def make_figure(what: str, clients: int, rounds: Sequence[Round]) -> Figure:
    best = min(rounds, key=lambda each: each.cpu)
    most = max(each.cpu for each in rounds)
    return Figure(what, clients, best, most, sum(each.failed for each in rounds))


async def measure_http(settings: Settings, *, minutes: float, quick: bool, progress: Progress) -> HttpReport:
    """With `minutes`, run only the soak."""
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(settings, worker=False))
        benchmark = await stack.enter_async_context(open_benchmark(memory, settings, owner_dsn, progress))
        if minutes:
            return HttpReport(soak=await benchmark.soak(minutes * 60))
        return HttpReport(await benchmark.measure(rounds=2 if quick else ROUNDS))


def show_http(report: HttpReport, as_json: bool) -> None:
    console = stdout_console()
    if as_json:
        print_json(report.to_dict())
    elif report.soak is not None:
        soak = report.soak
        console.print(
            f"{soak.requests:,} requests in {soak.seconds:,.0f} s, {soak.failed} failed; {soak.rate:,.0f} a second,"
            f" p50 {soak.p50:.1f} ms, p95 {soak.p95:.1f} ms"
        )
        table = make_table("", "memory MB", "descriptors", "connections")
        for name, held in (("after the warm-up", soak.before), ("at the end", soak.after)):
            table.add_row(name, f"{held.resident_mb:.0f}", str(held.descriptors), str(held.connections))
        console.print(table)
        for problem in soak.problems:
            console.print(problem, style="dim")
    else:
        names = ("what", "clients", "CPU ms", "PostgreSQL's", "clients'", "requests/s", "p50 ms", "p95 ms", "failed")
        table = make_table(*names)
        for row in report.rows():
            table.add_row(*row)
        console.print(table)
        for line in report.compared:
            console.print(
                f"{line.clients} clients: HTTP adds {line.added:.2f} CPU ms (<= {line.limit:g}) to the verb;"
                f" it takes {line.beside_bare:.1f} times the bare route",
                style="dim",
            )


@asynccontextmanager
async def open_benchmark(
    memory: Engine, settings: Settings, dsn: str, progress: Progress, *, users: int = USERS, turns: int = TURNS
) -> AsyncIterator[HttpBenchmark]:
    """Yield a benchmark with users, who are forgotten afterwards. `dsn` connects as owner."""
    benchmark = HttpBenchmark(memory, settings, dsn, progress)
    try:
        await benchmark.record_users(users, turns)
        yield benchmark
    finally:
        progress("cleaning up")
        await benchmark.clean_up()


class HttpBenchmark:
    def __init__(self, memory: Engine, settings: Settings, dsn: str, progress: Progress) -> None:
        self._memory = memory
        self._settings = settings
        self._dsn = dsn
        self._progress = progress
        self._meter = Meter(dsn)
        self._project = f"bench-{uuid7()}"
        self._questions: dict[str, list[str]] = {}
        self._key: NewKey | None = None

    async def record_users(self, users: int, turns: int) -> None:
        """Record users with a chat history and learn from it, so that a context has terms, memories and episodes."""
        self._progress(f"recording {users} users with {turns:,} turns each")
        sentences = SentenceGenerator()
        for user in (f"user-{n}" for n in range(users)):
            texts = [sentences.chat(n // 2) if n % 4 == 0 else sentences.sentence() for n in range(turns)]
            long = [text for n, text in enumerate(texts) if n % 4]
            self._questions[user] = [QUESTION.format(*sentences.pick_words(text)) for text in long[:QUESTIONS]]
            await self._record(user, texts)
            await self._memory.settle(Scope(user, project=self._project))
        await self._create_key()

    async def _record(self, user: str, texts: list[str]) -> None:
        for start in range(0, len(texts), SESSION_TURNS):
            scope = Scope(user, f"s{start // SESSION_TURNS}", self._project)
            turns: list[Any] = [
                ("assistant" if n % 2 else "user", text) for n, text in enumerate(texts[start : start + SESSION_TURNS])
            ]
            await self._memory.record(scope, turns)

    async def _create_key(self) -> None:
        """Create a key if sign-in is required; otherwise the first key would turn sign-in on."""
        try:
            await self._memory.keys.identify(None)
        except Unauthorized:
            self._key = await self._memory.keys.create(
                Grant(role="service", name="bench", project=self._project), by="bench"
            )

    async def clean_up(self) -> None:
        for user in self._questions:
            await self._memory.forget(Scope(user, project=self._project))
        if self._key is not None:
            await self._memory.keys.revoke(self._key.key.id, by="bench")

    async def measure(self, clients: Sequence[int] = CLIENTS, rounds: int = ROUNDS) -> list[Figure]:
        """Measure three targets in turns, so that other load on the machine affects all of them."""
        async with self._serve_bare() as bare, self._serve("--no-learn") as ours:
            targets: dict[str, Target] = {
                ROUTE: (bare, self._make_bare),
                VERB: (None, self._make_verb),
                HTTP: (ours, self._make_context),
            }
            return [each for many in clients for each in await self._measure_rounds(targets, many, rounds)]

    async def _measure_rounds(self, targets: Mapping[str, Target], many: int, rounds: int) -> list[Figure]:
        self._progress(f"{many} client{'s' * (many > 1)}")
        rounds_of: dict[str, list[Round]] = {what: [] for what in targets}
        for _ in range(rounds + 1):
            for what, (server, make) in targets.items():
                rounds_of[what].append(await self._measure_round(server, make, many))
        return [make_figure(what, many, each[1:]) for what, each in rounds_of.items()]  # the first one is the warm-up

    async def _measure_round(self, server: ServerProcess | None, make: MakeSend, many: int) -> Round:
        async with self._clients(server, many) as clients:
            sends = [make(client, number) for number, client in enumerate(clients)]
            before, serving, own = self._meter.server_seconds(), server and server.cpu_seconds(), time.process_time()
            result = await run_load(sends, count_down(REQUESTS.get(many, many * 10)))
            own = time.process_time() - own
            process = own if server is None else server.cpu_seconds() - (serving or 0)
            after = self._meter.server_seconds()
        postgres = sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
        return make_round(result, process, postgres, 0.0 if server is None else own)

    async def soak(self, seconds: float, clients: int = max(CLIENTS)) -> Soak:
        """Read and write with all clients while the worker learns, after a warm-up with the same load."""
        async with self._serve("--learn") as server:
            self._progress("warming up")
            await self._load(server, clients, seconds * WARM_UP)
            before = await self._measure_held(server)
            self._progress(f"{clients} clients for {seconds:,.0f} seconds")
            result = await self._load(server, clients, seconds)
            after = await self._measure_held(server)
        return Soak(
            seconds=result.seconds,
            requests=result.requests,
            failed=len(result.problems),
            problems=result.problems[:10],
            rate=result.requests / result.seconds,
            p50=result.percentile(0.5),
            p95=result.percentile(0.95),
            before=before,
            after=after,
        )

    async def _load(self, server: ServerProcess, clients: int, seconds: float) -> LoadResult:
        async with self._clients(server, clients) as connected:
            sends = [self._make_mixed(each, n) for n, each in enumerate(connected)]
            return await run_load(sends, until_deadline(seconds))

    async def _measure_held(self, server: ServerProcess) -> Held:
        """Return what the server holds after its clients have disconnected."""
        await asyncio.sleep(1)
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            row = connection.execute(CONNECTIONS, [self._project]).fetchone()
        connections = int(row[0]) if row else 0
        return Held(server.resident_mb(), server.descriptors() - connections, connections)

    def _serve_bare(self) -> Any:
        def command(port: int) -> list[str]:
            return ["-m", bare_route.__name__, str(port)]

        return run_server(command, {bare_route.DSN: self._dsn}, "/docs")

    def _serve(self, *options: str) -> Any:
        """Run our server with this benchmark's settings, whatever the files in its folder say."""
        given = {f.metadata["env"]: str(getattr(self._settings, f.name)) for f in fields(Settings)}

        def command(port: int) -> list[str]:
            return ["-m", "recollect", "serve", "--port", str(port), *options]

        return run_server(command, {**given, "RECOLLECT_RATE_LIMIT": "0", "PGAPPNAME": self._project}, "/health")

    @asynccontextmanager
    async def _clients(self, server: ServerProcess | None, many: int) -> AsyncIterator[list[Client]]:
        """Yield clients, connected if there is a server."""
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key.secret}"}
        async with AsyncExitStack() as stack:
            clients = [Client(server.port if server else 0, headers) for _ in range(many)]
            if server is not None:
                for client in clients:
                    await stack.enter_async_context(client)
            yield clients

    def _make_bare(self, client: Client, number: int) -> Send:
        return lambda n: check_response(client.send("POST", bare_route.ROUTE), 200)

    def _make_context(self, client: Client, number: int) -> Send:
        user, questions = self._pick_user(number)
        scope = {"user": user, "project": self._project, "session": "s0", "scope": "user", "recent": 10}
        bodies = [json.dumps({**scope, "text": question}).encode() for question in questions]
        return lambda n: check_response(client.send("POST", "/v1/context", bodies[n % len(bodies)]), 200)

    def _make_verb(self, client: Client, number: int) -> Send:
        user, questions = self._pick_user(number)
        scope = Scope(user, "s0", self._project)

        async def send(n: int) -> str | None:
            await self._memory.context(scope, Query(questions[n % len(questions)], scope="user", recent=10))
            return None

        return send

    def _make_mixed(self, client: Client, number: int) -> Send:
        """Mostly read a context; one of WRITE_EVERY requests records a pair under its own idempotency key."""
        user, questions = self._pick_user(number)
        read = self._make_context(client, number)
        scope = {"user": user, "project": self._project, "session": f"soak-{number}"}

        async def send(n: int) -> str | None:
            if n % WRITE_EVERY:
                return await read(n)
            pair = [("user", questions[n % len(questions)]), ("assistant", "I will look.")]
            body = json.dumps({**scope, "turns": [{"role": role, "text": text} for role, text in pair]}).encode()
            key = f"Idempotency-Key: {uuid7()}\r\n"
            return await check_response(client.send("POST", "/v1/record", body, key), 201)

        return send

    def _pick_user(self, number: int) -> tuple[str, list[str]]:
        users = list(self._questions)
        user = users[number % len(users)]
        return user, self._questions[user]


async def check_response(response: Awaitable[tuple[int, bytes]], expected: int) -> str | None:
    """Return what is wrong with a response, or None."""
    try:
        status, body = await response
    except (OSError, asyncio.IncompleteReadError) as error:
        return f"{type(error).__name__}: {error}"
    return None if status == expected else f"{status}: {body[:200].decode(errors='replace')}"
