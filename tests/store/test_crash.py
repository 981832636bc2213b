"""Nothing said is lost: clients, servers and workers are killed with -9 in the middle of their work."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from recollect import Engine, Scope, connect
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings
from recollect.store import embedded
from recollect.worker import Worker

# Four tasks of one process talk in one session, one line at a time or many at once, and say what was acknowledged.
TALKER = """
import asyncio, sys
from recollect import Scope, connect
from recollect.providers.fake import FakeEmbedder

async def talk(memory, who):
    for n in range(100_000):
        size = 250 if n % 7 == 3 else 1 + n % 3
        said = [("user", f"{who}:{n}:{i}") for i in range(size)]
        recorded = await memory.record(Scope("alex", "monday"), said, idempotency_key=f"{who}-{n}" if n % 2 else None)
        for ref, (_, text) in zip(recorded.refs, said):
            print(ref, text, flush=True)

async def main():
    async with connect(dsn=sys.argv[1], embedder=FakeEmbedder(), worker=False) as memory:
        await asyncio.gather(*(talk(memory, who) for who in "abcd"))

asyncio.run(main())
"""

# One writer that repeats what got no answer, with the same key, until it is told to stop.
WRITER = """
import asyncio, sys
from pathlib import Path
from recollect import Scope, StoreUnavailable, connect
from recollect.providers.fake import FakeEmbedder

home, session, stop = sys.argv[1], sys.argv[2], Path(sys.argv[3])

async def main():
    async with connect(home=home, embedder=FakeEmbedder(), worker=False) as memory:
        n = 0
        while not stop.exists():
            line, key = ("user", f"line {n}"), f"{session}-{n}"
            try:
                recorded = await memory.record(Scope("alex", session), [line], idempotency_key=key)
            except StoreUnavailable as error:
                print("again", error, flush=True)
                await asyncio.sleep(0.05)
                continue
            print("kept", recorded.refs[0], f"line {n}", flush=True)
            n += 1

asyncio.run(main())
"""

# A worker whose embedder never answers.
STUCK = """
import asyncio, sys
from recollect import connect
from recollect.providers.fake import FakeEmbedder
from recollect.worker import Worker

class Stuck(FakeEmbedder):
    async def embed(self, texts):
        if texts != ["hello"]:
            print("embedding", flush=True)
            await asyncio.sleep(600)
        return await super().embed(texts)

async def main():
    async with connect(dsn=sys.argv[1], embedder=Stuck(is_local=False), embed_turns="all", worker=False) as memory:
        await Worker(memory._deps).once()

asyncio.run(main())
"""


@contextmanager
def process(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        if running.stdout:
            running.stdout.close()


def lines(running: subprocess.Popen[str], count: int, beginning: str = "") -> list[str]:
    """The next lines of a process, until `count` of them begin so."""
    assert running.stdout is not None
    read, wanted = [], 0
    while wanted < count:
        line = running.stdout.readline()
        assert line, "the process ended"
        read.append(line.rstrip("\n"))
        wanted += line.startswith(beginning)
    return read


def rest(running: subprocess.Popen[str]) -> list[str]:
    """What a process still said before its end; a line that the kill cut off was not said."""
    assert running.stdout is not None
    return [line.rstrip("\n") for line in running.stdout if line.endswith("\n")]


def counted(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as owner:
        row = owner.execute(f"SELECT count(*) FROM recollect.{table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


async def whole_history(memory: Engine, scope: Scope) -> list[tuple[str, str]]:
    """Every turn of a session: its ref and its text."""
    turns = await memory.history(scope, limit=1000)
    while turns[0].index:
        turns = await memory.history(scope, limit=1000, before=turns[0].index) + turns
    return [(turn.ref, turn.text) for turn in turns]


@pytest.mark.parametrize("after", [1, 700])
async def test_what_a_killed_client_had_acknowledged_is_there_once_and_in_order(
    settings: Settings, database: str, alex: Scope, after: int
) -> None:
    with process(TALKER, database) as client:
        said = lines(client, after)
        client.kill()
        said += rest(client)
    acknowledged = [tuple(line.split(" ")) for line in said]

    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        kept = await whole_history(memory, alex)

    assert [ref for ref, _ in kept] == [f"monday#{index}" for index in range(len(kept))]
    assert set(acknowledged) <= set(kept)
    assert len({text for _, text in kept}) == len(kept)
    for who in "abcd":
        own = [tuple(map(int, text.split(":")[1:])) for _, text in kept if text.startswith(who)]
        assert own == sorted(own)
    assert counted(database, "turn") == counted(database, "sketch") == counted(database, "embedding") == len(kept)


@pytest.fixture
def own_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="recollect-crash-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def kill_server(home: Path) -> None:
    # Lines of before the last kill may still be read while the server is on its way back.
    for _ in range(600):
        if (pid := embedded.read_status(home).pid) is not None:
            break
        time.sleep(0.1)
    assert pid is not None
    postmaster = psutil.Process(pid)
    for one in [postmaster, *postmaster.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # some leave by themselves when they see the first one gone
            one.kill()


async def test_a_killed_server_comes_back_by_itself_and_has_lost_and_doubled_nothing(own_home: Path) -> None:
    stop = own_home / "stop"
    with (
        process(WRITER, str(own_home), "monday", str(stop)) as first,
        process(WRITER, str(own_home), "tuesday", str(stop)) as second,
    ):
        writers = {"monday": first, "tuesday": second}
        said = {session: lines(writer, 30, "kept") for session, writer in writers.items()}
        for _ in range(2):
            kill_server(own_home)
            for session, writer in writers.items():
                said[session] += lines(writer, 30, "kept")
        stop.touch()
        for session, writer in writers.items():
            said[session] += rest(writer)
            assert writer.wait() == 0

    async with connect(home=str(own_home), embedder=FakeEmbedder(), worker=False) as memory:
        kept = {session: await whole_history(memory, Scope("alex", session)) for session in writers}
    for session, turns in kept.items():
        acknowledged = [tuple(line.split(" ", 2)[1:]) for line in said[session] if line.startswith("kept")]
        assert turns == acknowledged
        assert turns == [(f"{session}#{n}", f"line {n}") for n in range(len(turns))]
    assert not embedded.read_status(own_home).running


async def test_an_engine_whose_server_was_killed_answers_the_next_question(
    own_home: Path, alex: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.database.LOST_SECONDS", 30.0)  # however slow this machine starts one
    async with connect(home=str(own_home), embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(alex, [("user", "the code word is heron")])
        kill_server(own_home)

        assert (await memory.recall(alex, "code word")).hits[0].text == "the code word is heron"
        await memory.record(alex, [("user", "thank you")])
        assert len(await memory.history(alex)) == 2


async def test_connections_that_the_server_hung_up_on_are_replaced_unseen(
    settings: Settings, database: str, alex: Scope
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        await asyncio.gather(*(memory.record(alex, [("user", "the code word is heron")]) for _ in range(5)))
        with psycopg.connect(database, autocommit=True) as owner:
            hung_up = owner.execute(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
        assert hung_up is not None
        assert hung_up[0] > 0

        await memory.record(alex, [("user", "thank you")])
        assert (await memory.recall(alex, "code word")).hits


async def test_the_work_of_a_killed_worker_is_finished_by_another_when_its_lease_has_run_out(
    settings: Settings, database: str, alex: Scope
) -> None:
    with_all = replace(settings, embed_turns="all")
    async with connect(with_all, embedder=FakeEmbedder(is_local=False), worker=False) as memory:
        await memory.record(alex, [("user", f"line {n}") for n in range(3)])
        worker = Worker(memory._deps)
        with process(STUCK, database) as stuck:
            lines(stuck, 1)
            stuck.kill()

        assert await worker.once() == 0
        with psycopg.connect(database) as owner:
            owner.execute("UPDATE recollect.conversation SET lease_until = lease_until - interval '6 minutes'")
        assert counted(database, "embedding") == 0
        assert await worker.once() == 1

    assert counted(database, "embedding") == 3
