"""What HTTP costs: `context` over `recollect serve`, beside the same verb called in this process, and beside a bare
route of the same framework (bare_route.py). All in one run, in turns, on the same users with 1,000 turns each.

CPU milliseconds per request are those of the serving process and of PostgreSQL's; the clients' are told apart. Of the
rounds the cheapest counts, the dearest is shown too: what else a machine does only ever adds. `soak` loads the server
for minutes and looks at what it holds before and after. `recollect bench http` runs both.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from typing import Any

import psycopg

from recollect.engine import Engine
from recollect.errors import Unauthorized
from recollect.evals import bare_route
from recollect.evals.bench import SESSION_TURNS, Babble, Progress
from recollect.evals.http_load import Ask, Client, Ran, Served, load, served, so_long, so_many
from recollect.evals.http_report import HTTP, ROUTE, VERB, Figure, Held, HttpReport, Round, Soak, figure, made
from recollect.evals.meter import Meter
from recollect.model.api_key import Grant, NewKey
from recollect.model.ids import uuid7
from recollect.model.scope import Scope
from recollect.model.search import Query
from recollect.settings import Settings

TURNS = 1000
USERS = 8
CLIENTS = (1, 32)
REQUESTS = {1: 100, 32: 320}  # of a round
ROUNDS = 5
ASKED = 100  # questions of each user
WRITES = 10  # of so many requests of the soak one writes
WARM_UP = 0.2  # of the soak's time
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"

Asking = Callable[[Client, int], Ask]  # what a client, and the how manieth it is, asks
Way = tuple[Served | None, Asking]  # no server: in this process


async def run(
    memory: Engine, settings: Settings, dsn: str, *, minutes: float = 0, quick: bool = False, progress: Progress
) -> HttpReport:
    """`dsn` is an owner's connection. With `minutes` the soak alone."""
    async with bench_on(memory, settings, dsn, progress) as bench:
        if minutes:
            return HttpReport(soak=await bench.soak(minutes * 60))
        return HttpReport(await bench.cost(rounds=2 if quick else ROUNDS))


@asynccontextmanager
async def bench_on(
    memory: Engine, settings: Settings, dsn: str, progress: Progress, *, users: int = USERS, turns: int = TURNS
) -> AsyncIterator[HttpBench]:
    """A bench with its users, who are forgotten afterwards."""
    bench = HttpBench(memory, settings, dsn, progress)
    try:
        await bench.fill(users, turns)
        yield bench
    finally:
        progress("cleaning up")
        await bench.clean_up()


class HttpBench:
    def __init__(self, memory: Engine, settings: Settings, dsn: str, progress: Progress) -> None:
        self._memory = memory
        self._settings = settings
        self._dsn = dsn
        self._progress = progress
        self._meter = Meter(dsn)
        self._project = f"bench-{uuid7()}"
        self._questions: dict[str, list[str]] = {}
        self._key: NewKey | None = None

    async def fill(self, users: int, turns: int) -> None:
        """Users with chat behind them, learned from: a context has terms, memories and episodes, as in life."""
        self._progress(f"recording {users} users with {turns:,} turns each")
        said = Babble()
        for user in (f"user-{n}" for n in range(users)):
            texts = [said.chat(n // 2) if n % 4 == 0 else said.sentence() for n in range(turns)]
            long = [text for n, text in enumerate(texts) if n % 4]
            self._questions[user] = [
                f"When did we talk about {' and '.join(said.words_of(text))}?" for text in long[:ASKED]
            ]
            await self._record(user, texts)
            await self._memory.settle(Scope(user, project=self._project))
        await self._let_in()

    async def _record(self, user: str, texts: list[str]) -> None:
        for start in range(0, len(texts), SESSION_TURNS):
            scope = Scope(user, f"s{start // SESSION_TURNS}", self._project)
            turns: list[Any] = [
                ("assistant" if n % 2 else "user", text) for n, text in enumerate(texts[start : start + SESSION_TURNS])
            ]
            await self._memory.record(scope, turns)

    async def _let_in(self) -> None:
        """A key, where callers must have one; where they need not, making one would change that."""
        try:
            await self._memory.identify(None)
        except Unauthorized:
            self._key = await self._memory.create_key(
                Grant(role="service", name="bench", project=self._project), by="bench"
            )

    async def clean_up(self) -> None:
        for user in self._questions:
            await self._memory.forget(Scope(user, project=self._project))
        if self._key is not None:
            await self._memory.revoke_key(self._key.key.id, by="bench")

    async def cost(self, clients: Sequence[int] = CLIENTS, rounds: int = ROUNDS) -> list[Figure]:
        """Three ways in turns, so that whatever else the machine does falls on all of them."""
        async with self._bare() as bare, self._serving("--no-learn") as ours:
            ways: dict[str, Way] = {
                ROUTE: (bare, self._one),
                VERB: (None, self._verb),
                HTTP: (ours, self._context),
            }
            return [each for many in clients for each in await self._in_turns(ways, many, rounds)]

    async def _in_turns(self, ways: Mapping[str, Way], many: int, rounds: int) -> list[Figure]:
        self._progress(f"{many} client{'s' * (many > 1)}")
        rounds_of: dict[str, list[Round]] = {what: [] for what in ways}
        for _ in range(rounds + 1):
            for what, (server, way) in ways.items():
                rounds_of[what].append(await self._round(server, way, many))
        return [figure(what, many, each[1:]) for what, each in rounds_of.items()]  # the first one warmed up

    async def _round(self, server: Served | None, way: Asking, many: int) -> Round:
        async with self._clients(server, many) as clients:
            asks = [way(client, number) for number, client in enumerate(clients)]
            before, serving, own = self._meter.server_seconds(), server and server.cpu_seconds(), time.process_time()
            ran = await load(asks, so_many(REQUESTS.get(many, many * 10)))
            own = time.process_time() - own
            process = own if server is None else server.cpu_seconds() - (serving or 0)
            after = self._meter.server_seconds()
        postgres = sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
        return made(ran, process, postgres, 0.0 if server is None else own)

    async def soak(self, seconds: float, clients: int = max(CLIENTS)) -> Soak:
        """All clients at once, reading and writing, while the worker learns; after a warm-up, all over again."""
        async with self._serving("--learn") as server:
            self._progress("warming up")
            await self._loaded(server, clients, seconds * WARM_UP)
            before = await self._held(server)
            self._progress(f"{clients} clients for {seconds:,.0f} seconds")
            ran = await self._loaded(server, clients, seconds)
            after = await self._held(server)
        rate, p50, p95 = ran.requests / ran.seconds, ran.percentile(0.5), ran.percentile(0.95)
        failed = len(ran.problems)
        return Soak(ran.seconds, ran.requests, failed, ran.problems[:10], rate, p50, p95, before, after)

    async def _loaded(self, server: Served, clients: int, seconds: float) -> Ran:
        async with self._clients(server, clients) as connected:
            return await load([self._mixed(each, n) for n, each in enumerate(connected)], so_long(seconds))

    async def _held(self, server: Served) -> Held:
        """Once the clients are gone."""
        await asyncio.sleep(1)
        connections = self._connections()
        return Held(server.resident_mb(), server.descriptors() - connections, connections)

    def _connections(self) -> int:
        """Of the server under load to the database."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            row = connection.execute(OURS, [self._project]).fetchone()
        return int(row[0]) if row else 0

    def _bare(self) -> Any:
        def command(port: int) -> list[str]:
            return ["-m", bare_route.__name__, str(port)]

        return served(command, {bare_route.DSN: self._dsn}, "/docs")

    def _serving(self, *options: str) -> Any:
        """Our server with our own settings, whatever its folder's files say."""
        given = {f.metadata["env"]: str(getattr(self._settings, f.name)) for f in fields(Settings)}

        def command(port: int) -> list[str]:
            return ["-m", "recollect", "serve", "--port", str(port), *options]

        return served(command, {**given, "RECOLLECT_RATE_LIMIT": "0", "PGAPPNAME": self._project}, "/health")

    @asynccontextmanager
    async def _clients(self, server: Served | None, many: int) -> AsyncIterator[list[Client]]:
        """Connected, if there is a server."""
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key.secret}"}
        async with AsyncExitStack() as stack:
            clients = [Client(server.port if server else 0, headers) for _ in range(many)]
            if server is not None:
                for client in clients:
                    await stack.enter_async_context(client)
            yield clients

    def _one(self, client: Client, number: int) -> Ask:
        return lambda n: _answered(client.send("POST", bare_route.ROUTE), 200)

    def _context(self, client: Client, number: int) -> Ask:
        user, questions = self._asker(number)
        whose = {"user": user, "project": self._project, "session": "s0", "scope": "user", "recent": 10}
        bodies = [json.dumps({**whose, "text": question}).encode() for question in questions]
        return lambda n: _answered(client.send("POST", "/v1/context", bodies[n % len(bodies)]), 200)

    def _verb(self, client: Client, number: int) -> Ask:
        user, questions = self._asker(number)
        scope = Scope(user, "s0", self._project)

        async def ask(n: int) -> str | None:
            await self._memory.context(scope, Query(questions[n % len(questions)], scope="user", recent=10))
            return None

        return ask

    def _mixed(self, client: Client, number: int) -> Ask:
        """Mostly context; now and then a pair is written, under a key of its own."""
        user, questions = self._asker(number)
        read = self._context(client, number)
        whose = {"user": user, "project": self._project, "session": f"soak-{number}"}

        async def ask(n: int) -> str | None:
            if n % WRITES:
                return await read(n)
            said = [("user", questions[n % len(questions)]), ("assistant", "I will look.")]
            body = json.dumps({**whose, "turns": [{"role": role, "text": text} for role, text in said]}).encode()
            key = f"Idempotency-Key: {uuid7()}\r\n"
            return await _answered(client.send("POST", "/v1/record", body, key), 201)

        return ask

    def _asker(self, number: int) -> tuple[str, list[str]]:
        users = list(self._questions)
        user = users[number % len(users)]
        return user, self._questions[user]


async def _answered(sent: Awaitable[tuple[int, bytes]], wanted: int) -> str | None:
    """What is wrong with an answer, if anything."""
    try:
        status, body = await sent
    except (OSError, asyncio.IncompleteReadError) as error:
        return f"{type(error).__name__}: {error}"
    return None if status == wanted else f"{status}: {body[:200].decode(errors='replace')}"
