"""`python -m bench faults`: what was acknowledged survives whatever fails.

Clients write over HTTP to two servers and keep a history of what was acknowledged. Meanwhile processes are killed, the
network and the disk fail, PostgreSQL fails over to its standby, and clocks jump (`list_faults`). At the end the
histories are compared with what is stored: nothing acknowledged may be lost, doubled or out of order, and nothing
forgotten may be there.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
import typer

from bench.fault_system import FINISH_SECONDS, Fault, System, list_faults, open_folder
from recollect import Engine, Scope, StoreUnavailable, connect
from recollect.cli.options import Json
from recollect.cli.output import FAILED, print_json, stderr_console

PATIENCE = 30.0  # seconds until a client gives up a request; what became of it is then unknown
PAUSE = 3.0  # seconds between two faults
REFUSED = (400, 404, 422)  # repeating such a request is of no use
log = logging.getLogger("bench.faults")
QUESTION = "total sales by region for 2024"


@dataclass(slots=True)
class Operation:
    """A request of a client. `outcome` is acknowledged, refused, unknown, or unremembered: a question that was answered
    while memory was away."""

    verb: str
    value: str | None  # what the memory, the line or the question's session is afterwards; None: it is gone
    outcome: str = "unknown"


@dataclass(slots=True)
class History:
    """What one client did, one request after the other: lines of its session, changes of memories by key, documents,
    and questions by their session."""

    user: str
    lines: list[Operation] = field(default_factory=list)
    memories: dict[str, list[Operation]] = field(default_factory=dict)
    documents: list[Operation] = field(default_factory=list)
    questions: list[Operation] = field(default_factory=list)

    def operations(self) -> list[Operation]:
        changes = [each for changes in self.memories.values() for each in changes]
        return [*self.lines, *self.documents, *self.questions, *changes]


@dataclass(frozen=True, slots=True)
class FaultReport:
    seconds: float
    acknowledged: dict[str, int]
    outcomes: dict[str, int]
    attempts: int
    faults: dict[str, int]
    violations: Sequence[str]


def check_lines(history: History, stored: Sequence[str]) -> list[str]:
    """Return what is wrong with the lines of a session: lost, doubled, never sent, or out of order. A request that got
    no answer may still be carried out later, so only what was acknowledged has an order."""
    counts: Counter[str | None] = Counter(stored)
    sent = {line.value for line in history.lines}
    wrong = [
        f"lost: {each.value}" for each in history.lines if each.outcome == "acknowledged" and not counts[each.value]
    ]
    wrong += [f"doubled: {text}" for text, count in counts.items() if count > 1]
    wrong += [f"never sent: {text}" for text in counts if text not in sent]
    order = [each.value for each in history.lines if each.outcome == "acknowledged" and counts[each.value]]
    if order != [text for text in dict.fromkeys(stored) if text in set(order)]:
        wrong.append("out of order")
    return [f"{history.user}: {each}" for each in wrong]


def find_possible(changes: Sequence[Operation]) -> set[str | None]:
    """Return the values that a memory may have: one, unless it is unknown what became of a change."""
    possible: set[str | None] = {None}
    for change in changes:
        if change.outcome == "acknowledged":
            possible = {change.value}
        elif change.outcome == "unknown":
            possible.add(change.value)
    return possible


def check_memories(history: History, stored: Sequence[tuple[str, str]]) -> list[str]:
    """Return what is wrong with the active memories, given as (key, value)."""
    found: dict[str, list[str]] = {}
    for key, value in stored:
        found.setdefault(key, []).append(value)
    wrong = [f"doubled: {key} is {values}" for key, values in found.items() if len(values) > 1]
    for key, changes in history.memories.items():
        current = found[key][0] if key in found else None
        if current not in (possible := find_possible(changes)):
            wrong.append(f"{key} is {current!r} and should be {sorted(map(str, possible))}")
    return [f"{history.user}: {each}" for each in wrong]


def check_documents(history: History, stored: Sequence[str]) -> list[str]:
    """Return what is wrong with the documents, given by their names."""
    counts = Counter(stored)
    wrong = [
        f"lost: {each.value}"
        for each in history.documents
        if each.outcome == "acknowledged" and not counts[each.value or ""]
    ]
    wrong += [f"doubled: {name}" for name, count in counts.items() if count > 1]
    return [f"{history.user}: {each}" for each in wrong]


def check_questions(history: History, stored: Mapping[str, int]) -> list[str]:
    """Return what is wrong with the questions, given how often each session has one."""
    wrong = [
        f"lost: question of {each.value}"
        for each in history.questions
        if each.outcome == "acknowledged" and not stored.get(each.value or "")
    ]
    wrong += [f"doubled: question of {session}" for session, count in stored.items() if count > 1]
    return [f"{history.user}: {each}" for each in wrong]


class Client:
    """Somebody who writes, repeats what got no answer with the same key, and remembers what was acknowledged."""

    def __init__(self, user: str, ports: Sequence[int], chance: random.Random) -> None:
        self.history = History(user)
        self.attempts = 0
        self._ports = ports
        self._chance = chance
        self._ids: dict[str, str] = {}  # of memories that can still be changed, by key

    async def work(self, injected: asyncio.Task[None]) -> None:
        """Send requests until the last fault has happened."""
        async with httpx.AsyncClient(timeout=10) as http:
            number = 0
            while not injected.done():
                number += 1
                await self._act(http, number)

    async def _act(self, http: httpx.AsyncClient, number: int) -> None:
        """Send one of the requests that make sense now."""
        draw, history, user = self._chance.random(), self.history, self.history.user
        if draw < 0.55:
            line = Operation("record", f"{user} line {number}")
            history.lines.append(line)
            turns = [{"role": "user", "text": line.value}]
            await self._send(http, line, {"user": user, "session": "s", "turns": turns})
        elif draw < 0.6:
            upload = Operation("upload", f"{user} {number}.txt")
            history.documents.append(upload)
            await self._send(http, upload, {"user": user})
        elif draw < 0.65:
            question = Operation("ask", f"question {number}")
            history.questions.append(question)
            body = {"question": QUESTION, "user_id": user, "session_id": question.value}
            answer = await self._send(http, question, body)
            if answer and not answer["answer_ref"]:
                question.outcome = "unremembered"
        elif draw < 0.8 or not self._ids:
            key, change = f"slot {number}", Operation("learn", f"{user} value {number}")
            history.memories[key] = [change]
            body = {"user": user, "kind": "fact", "key": key, "value": change.value or "", "owner": "user"}
            if answer := await self._send(http, change, body):
                self._ids[key] = answer["id"]
        else:
            key = self._chance.choice(sorted(self._ids))
            is_last = draw > 0.92
            change = Operation("forget", None) if is_last else Operation("correct", f"{user} value {number} corrected")
            history.memories[key].append(change)
            change_body = {"user": user, "memory": self._ids.pop(key), **({} if is_last else {"value": change.value})}
            answer = await self._send(http, change, change_body)
            if answer and not is_last:
                self._ids[key] = answer["id"]

    async def _send(self, http: httpx.AsyncClient, operation: Operation, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send a request until it is acknowledged; return the answer, or None if there was none in time."""
        headers, until = {"Idempotency-Key": uuid4().hex}, time.monotonic() + PATIENCE
        before = self.attempts
        while time.monotonic() < until:
            self.attempts += 1
            port = self._chance.choice(self._ports)
            with suppress(httpx.HTTPError):
                answer = await self._post(http, f"http://127.0.0.1:{port}", operation, body, headers)
                if answer.status_code in (200, 201, 202):
                    operation.outcome = "acknowledged"
                    return dict(answer.json())
                if answer.status_code in REFUSED:
                    # An earlier attempt may have been carried out without an answer: then a memory that is to be
                    # forgotten is not found any more.
                    if self.attempts == before + 1:
                        operation.outcome = "refused"
                    return None
            await asyncio.sleep(0.2)
        return None

    async def _post(
        self, http: httpx.AsyncClient, server: str, operation: Operation, body: dict[str, Any], headers: dict[str, str]
    ) -> httpx.Response:
        if operation.verb == "upload":
            file = {"file": (operation.value, f"A file of {operation.value}.".encode())}
            address = f"{server}/api/v1/upload-ask/documents"
            return await http.post(address, files=file, params={"userId": body["user"]}, headers=headers)
        path = "/answerQuestion" if operation.verb == "ask" else f"/v1/{operation.verb}"
        return await http.post(f"{server}{path}", json=body, headers=headers)


async def measure_faults(
    seconds: float, clients: int = 8, seed: int = 1, names: Sequence[str] = (), pause: float = PAUSE
) -> FaultReport:
    """Run clients and faults for some seconds, or until each fault has happened once if that is 0. Let everything
    recover, and check the histories. `names`: only these faults."""
    chance, started = random.Random(seed), time.monotonic()
    counts: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        system = System(Path(stack.enter_context(open_folder())))
        await system.start(stack)
        everybody = [Client(f"user {n}", system.ports, random.Random(seed + n)) for n in range(clients)]
        await wait_for_servers(system)
        manager = asyncio.create_task(system.keep_running())
        possible = {name: fault for name, fault in list_faults(system, chance).items() if name in names or not names}
        injected = asyncio.create_task(inject_faults(possible, chance, counts, seconds, pause))
        working = [asyncio.create_task(each.work(injected)) for each in everybody]
        await injected
        await asyncio.wait_for(asyncio.gather(*working), FINISH_SECONDS)
        await system.finish(manager)
        async with connect(dsn=system.dsn, worker=False) as memory:
            violations = [wrong for each in everybody for wrong in await check_history(memory, each.history)]
    done = [operation for each in everybody for operation in each.history.operations()]
    return FaultReport(
        seconds=round(time.monotonic() - started, 1),
        acknowledged=dict(Counter(each.verb for each in done if each.outcome == "acknowledged")),
        outcomes=dict(Counter(each.outcome for each in done)),
        attempts=sum(each.attempts for each in everybody),
        faults=dict(counts),
        violations=[*system.problems, *violations],
    )


async def inject_faults(
    faults: dict[str, Fault], chance: random.Random, counts: Counter[str], seconds: float, pause: float
) -> None:
    """Let things fail one after the other, each kind once before any comes again."""
    until = time.monotonic() + seconds
    while True:
        for name in chance.sample(sorted(faults), len(faults)):
            await asyncio.sleep(pause)
            if seconds and time.monotonic() > until:
                return
            await faults[name]()
            counts[name] += 1
            log.info("%s, %d faults so far", name, counts.total())
        if not seconds:
            return


async def wait_for_servers(system: System) -> None:
    until = time.monotonic() + FINISH_SECONDS
    async with httpx.AsyncClient(timeout=5) as http:
        for port in system.ports:
            while True:
                with suppress(httpx.HTTPError):
                    await http.get(f"http://127.0.0.1:{port}/health")
                    break
                if time.monotonic() > until:
                    raise StoreUnavailable(f"a server does not start: {system.read_output()[-2000:]}")
                await asyncio.sleep(0.2)


async def check_history(memory: Engine, history: History) -> list[str]:
    """Return what is stored of a client otherwise than it was acknowledged."""
    scope = Scope(history.user, "s")
    lines = [text for _, text in await read_turns(memory, scope)] if history.lines else []
    known = await memory.memories(scope, kinds=["fact"], limit=10_000)
    ours = [(each.key, each.value) for each in known if each.key in history.memories]
    documents = await read_documents(memory, scope)
    questions = {
        session: sum(role == "user" for role, _ in await read_turns(memory, Scope(history.user, session)))
        for session in (each.value or "" for each in history.questions)
    }
    return [
        *check_lines(history, lines),
        *check_memories(history, ours),
        *check_documents(history, documents),
        *check_questions(history, questions),
    ]


async def read_turns(memory: Engine, scope: Scope) -> list[tuple[str, str]]:
    """Return role and text of every turn of a session, in order."""
    turns: list[tuple[str, str]] = []
    before: int | None = None
    if await memory.conversation(scope) is None:
        return turns
    while before != 0 and (page := await memory.history(scope, limit=500, before=before)):
        turns = [(turn.role, turn.text) for turn in page] + turns
        before = page[0].index
    return turns


async def read_documents(memory: Engine, scope: Scope) -> list[str]:
    names: list[str] = []
    after = None
    while page := await memory.documents.find(scope, limit=1_000, after=after):
        names += [each.source for each in page]
        after = page[-1].id
    return names


Minutes = Annotated[float, typer.Option(min=0.1, help="How long clients write and things fail.")]
Clients = Annotated[int, typer.Option(min=1, max=64, help="Clients that write at the same time.")]
Seed = Annotated[int, typer.Option(help="What is drawn by chance.")]
Only = Annotated[list[str] | None, typer.Option(help="Only this fault; can be repeated.")]


def faults(minutes: Minutes = 2, clients: Clients = 8, seed: Seed = 1, only: Only = None, json: Json = False) -> None:
    """Let servers, worker, PostgreSQL, network, disk and clock fail while clients write, then check that nothing
    acknowledged is lost, doubled or out of order. Exit code 1 if something is."""
    report = asyncio.run(measure_faults(minutes * 60, clients, seed, only or ()))
    if json:
        print_json(asdict(report))
    else:
        show_faults(report)
    if report.violations:
        raise typer.Exit(FAILED)


def show_faults(report: FaultReport) -> None:
    def listed(counts: Mapping[str, int]) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))

    typer.echo(f"{report.seconds:.0f} s, acknowledged: {listed(report.acknowledged)}")
    typer.echo(f"operations: {listed(report.outcomes)}; {report.attempts} requests sent")
    typer.echo(f"{sum(report.faults.values())} faults: {listed(report.faults)}")
    typer.echo(f"violations: {len(report.violations)}")
    for each in report.violations:
        stderr_console().print(each)
