"""Many workers at once, some of them killed: everything is learned exactly once, and nothing said is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from recollect import Scope, connect
from recollect.settings import Settings
from recollect.worker import Worker
from tests.bounds import bound

USERS, SESSIONS, TURNS = bound(10, 50), 10, 40
FACTS = 3  # per conversation
PROGRAM = """
import asyncio, sys
from recollect import connect
from recollect.worker import Worker

async def work():
    async with connect(dsn=sys.argv[1], embedder="none", worker=False) as memory:
        worker = Worker(memory._deps)
        while True:
            await worker.drain()
            await asyncio.sleep(0.1)

asyncio.run(work())
"""


def conversation(user: int, session: int) -> list[tuple[Any, str]]:
    """Forty turns: a few facts, one of them shared by all the user's conversations, among small talk."""
    said = [("user" if n % 2 == 0 else "assistant", f"Line {n}: how is the weather in week {n}?") for n in range(TURNS)]
    said[4] = ("user", f"Remember that box {user}-{session} holds the blue keys.")
    said[12] = ("user", f"Remind me to call supplier {user}-{session} tomorrow.")
    said[20] = ("user", f"My name is User{chr(65 + user % 26)}{chr(97 + user // 26)}.")
    return said


def one(database: str, query: str) -> int:
    with psycopg.connect(database, options="-c search_path=recollect,public") as owner:
        row = owner.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def start(database: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, database], env=environment)


async def until(database: str, least: int) -> None:
    """Until so many conversations are learned."""
    for _ in range(3000):
        if one(database, "SELECT count(*) FROM conversation WHERE NOT due") >= least:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the workers did not get that far")


@pytest.mark.long
async def test_killed_workers_lose_and_repeat_nothing(settings: Settings, database: str) -> None:
    by_rules = replace(settings, embedder="none")
    async with connect(by_rules, worker=False) as memory:
        for user in range(USERS):
            for session in range(SESSIONS):
                await memory.record(Scope(f"user{user}", f"s{session}"), conversation(user, session))
        workers = [start(database) for _ in range(4)]
        try:
            for n, victim in enumerate(workers[:2], 1):
                await until(database, n * USERS * SESSIONS // 5)
                victim.send_signal(signal.SIGKILL)
                victim.wait()
            # All but what the killed had a lease on.
            await until(database, USERS * SESSIONS - 2 * 4)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        with psycopg.connect(database) as owner:
            owner.execute("UPDATE recollect.conversation SET lease_until = now() - interval '1 s' WHERE due")
        await Worker(memory._deps).drain()
        status = await memory.health()

    conversations = USERS * SESSIONS
    assert one(database, "SELECT count(*) FROM turn") == conversations * TURNS
    assert (
        one(database, f"SELECT count(*) FROM conversation WHERE learned_turns = {TURNS} AND NOT due") == conversations
    )
    assert one(database, "SELECT count(*) FROM evidence") == conversations * FACTS
    # Of each conversation a note and a todo; of each user one name, however often he said it.
    assert one(database, "SELECT count(*) FROM memory WHERE status = 'active'") == conversations * 2 + USERS
    assert one(database, "SELECT count(*) FROM (SELECT DISTINCT scope_id, key, value FROM memory) m") == one(
        database, "SELECT count(*) FROM memory"
    )
    assert one(database, "SELECT count(*) FROM evidence WHERE memory_id IS NULL") == 0
    assert one(database, "SELECT count(*) FROM episode") == conversations * 3
    assert status.ok
