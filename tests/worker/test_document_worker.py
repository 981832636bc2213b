"""The worker for documents: whenever it is killed, each of them ends processed or failed, and nothing is half found."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from recollect import Engine, NotFound, Scope, Upload, connect
from recollect.flows.read_document import MOST_TRIES, read_document
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from recollect.values.document import Batch, Block, Document, Failure, Finished
from recollect.values.work import WorkStatus, find_problems
from recollect.worker import DocumentWorker
from tests.providers.files.makers import PROSE, docx, pdf, pptx, scanned_pdf, xlsx

ALEX = Scope("alex")
PROGRAM = """
import asyncio, sys
from recollect import connect
from recollect.providers.fake import FakeEmbedder
from recollect.worker import DocumentWorker

async def work():
    async with connect(dsn=sys.argv[1], embedder=FakeEmbedder(), worker=False) as memory:
        worker = DocumentWorker(memory._deps)
        while True:
            await worker.drain()
            await asyncio.sleep(0.05)

asyncio.run(work())
"""
UNSEEN = (
    "SELECT count(*) FROM chunk c LEFT JOIN document d ON d.scope_id = c.scope_id AND d.id = c.document_id"
    " WHERE d.status IS DISTINCT FROM 'processed'"
)


class Scripted:
    """A reader that says what it was told to, and waits where it was told to."""

    def __init__(self, *items: Batch | Finished | Failure | asyncio.Event | Exception) -> None:
        self.items = items
        self.began = asyncio.Event()

    def glance(self, head: bytes) -> Failure | None:
        return None

    async def read(self, path: Path, name: str) -> AsyncGenerator[Batch | Finished | Failure, None]:
        self.began.set()
        for item in self.items:
            if isinstance(item, asyncio.Event):
                await item.wait()
            elif isinstance(item, Exception):
                raise item
            else:
                yield item


def some_pages(n: int = 200) -> Batch:
    return Batch([Block(f"Number {i}. {PROSE * 20}") for i in range(n)], 1, 2, "bytes")


def with_reader(memory: Engine, reader: Scripted) -> None:
    object.__setattr__(memory._deps, "files", reader)


def one(database: str, query: str) -> int:
    with psycopg.connect(database, options="-c search_path=recollect,public") as owner:
        row = owner.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def lapse(database: str) -> None:
    """As if the leases of the dead had run out."""
    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.document SET lease_until = now() - interval '1 s' WHERE lease_until > now()")


def start(database: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, database], env=environment)


def long_text(n: int, lines: int) -> str:
    return "\n\n".join(f"Document {n}, line {i}. {(PROSE * 4).strip()}" for i in range(lines))


async def until(database: str, query: str) -> None:
    """Until there is one."""
    for _ in range(1000):
        if one(database, query):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"no row for {query}")


async def test_workers_that_are_killed_leave_every_document_read_once_or_failed(
    settings: Settings, database: str
) -> None:
    chance = random.Random(5)
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        texts = [long_text(n, lines=400 + 100 * n) for n in range(5)]
        added = [await memory.documents.add(ALEX, Upload(f"{n}.txt", text.encode())) for n, text in enumerate(texts)]
        broken = await memory.documents.add(ALEX, Upload("broken.pdf", b"%PDF-1.4 no more"))
        for _ in range(4):
            worker = start(database)
            try:
                await until(database, "SELECT count(*) FROM document WHERE status = 'processing'")
                await asyncio.sleep(chance.random())
            finally:
                worker.send_signal(signal.SIGKILL)
                worker.wait()
            found = await memory.documents.search(ALEX, "document line records")
            assert all(hit.document.status == "processed" for hit in found)
            lapse(database)
            # What counts as a try is the crash; four of them are more than a document is given.
            with psycopg.connect(database) as owner:
                owner.execute("UPDATE recollect.document SET tries = 0")
        await DocumentWorker(memory._deps).drain()

        ended = [await memory.documents.get(ALEX, document.id) for document in added]
        assert [document.status for document in ended] == ["processed"] * 5
        assert (await memory.documents.get(ALEX, broken.id)).status == "failed"
        assert one(database, UNSEEN) == 0
        assert one(database, "SELECT count(*) FROM chunk") == sum(document.chunks for document in ended)
        assert one(database, "SELECT count(*) FROM chunk_vector") == sum(document.chunks for document in ended)
        assert one(database, "SELECT count(*) FROM document_part") == 0
        for document, text in zip(ended, texts, strict=True):
            assert (await memory.documents.passage(ALEX, document.id, len(text) - 50, len(text))).text == text[-50:]


@pytest.mark.parametrize(
    ("name", "content", "status", "detail"),
    [
        ("a.pdf", pdf([("Intro", [PROSE]), ("Fees", [PROSE * 30])]), "processed", 2),
        ("a.docx", docx(), "processed", 0),
        ("a.pptx", pptx(), "processed", 2),
        ("a.xlsx", xlsx(), "processed", 0),
        ("a.html", b"<html><body><h1>Fees</h1><p>Ten euros.</p></body></html>", "processed", 0),
        ("a.pdf", pdf([("Intro", [PROSE])], password="secret"), "failed", "encrypted"),
        ("a.pdf", scanned_pdf(), "failed", "scanned"),
        ("a.docx", b"PK\x03\x04 and no more", "failed", "corrupt"),
        ("a.txt", b"   \n\n  ", "failed", "empty"),
    ],
)
async def test_files_of_all_kinds_end_with_pages_or_a_reason(
    settings: Settings, name: str, content: bytes, status: str, detail: Any
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        added = await memory.documents.add(ALEX, Upload(name, content))
        assert await DocumentWorker(memory._deps).drain() == 1

        ended = await memory.documents.get(ALEX, added.id)
        assert ended.status == status
        assert (ended.pages if status == "processed" else ended.failure) == detail
        assert bool(ended.chunks) == (status == "processed")


async def begun(memory: Engine, reader: Scripted) -> tuple[Document, asyncio.Task[bool]]:
    """A document whose reading has begun and waits."""
    with_reader(memory, reader)
    added = await memory.documents.add(ALEX, Upload("a.txt", b"what the reader says does not depend on this"))
    reading = asyncio.create_task(read_document(memory._deps, ALEX.id, added.id))
    await reader.began.wait()
    return added, reading


async def test_what_is_written_before_the_last_word_is_seen_by_nobody(settings: Settings, database: str) -> None:
    gate = asyncio.Event()
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        added, reading = await begun(memory, Scripted(some_pages(), gate, Failure("corrupt")))
        await until(database, "SELECT count(*) FROM chunk")

        half = await memory.documents.get(ALEX, added.id)
        assert (half.status, half.progress) == ("processing", 0.5)
        assert await memory.documents.search(ALEX, "records archive court") == []
        with pytest.raises(NotFound):
            await memory.documents.passage(ALEX, added.id, 0, 100)
        gate.set()
        await reading

        assert (await memory.documents.get(ALEX, added.id)).failure == "corrupt"
        assert one(database, "SELECT (SELECT count(*) FROM chunk) + (SELECT count(*) FROM posting)") == 0


async def test_of_two_workers_one_reads_and_a_late_one_writes_nothing(settings: Settings, database: str) -> None:
    gate = asyncio.Event()
    ends = Finished("text", 1, 10)
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        added, late = await begun(memory, Scripted(gate, some_pages(), ends))
        assert await read_document(memory._deps, ALEX.id, added.id) is False
        lapse(database)
        with_reader(memory, Scripted(some_pages(3), ends))
        assert await read_document(memory._deps, ALEX.id, added.id) is True
        chunks = one(database, "SELECT count(*) FROM chunk")
        gate.set()

        assert await late is False
        assert (
            one(database, "SELECT count(*) FROM chunk") == chunks == (await memory.documents.get(ALEX, added.id)).chunks
        )


async def test_a_document_that_is_dropped_while_it_is_read_leaves_nothing(settings: Settings, database: str) -> None:
    gate = asyncio.Event()
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        added, reading = await begun(memory, Scripted(gate, some_pages(), Finished("text", 1, 10)))
        await memory.documents.drop(ALEX, added.id)
        gate.set()

        assert await reading is False
        assert one(database, "SELECT (SELECT count(*) FROM chunk) + (SELECT count(*) FROM document)") == 0


async def test_a_worker_that_is_told_to_leave_gives_the_document_back(settings: Settings, database: str) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        added, reading = await begun(memory, Scripted(some_pages(), asyncio.Event()))
        await until(database, "SELECT count(*) FROM chunk")
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

        assert (await memory.documents.get(ALEX, added.id)).status == "pending"
        with_reader(memory, Scripted(some_pages(3), Finished("text", 1, 10)))
        assert await DocumentWorker(memory._deps).drain() == 1
        assert one(database, "SELECT count(*) FROM chunk") == (await memory.documents.get(ALEX, added.id)).chunks


@pytest.mark.parametrize(
    ("failing", "after", "reason"), [(OSError("disk full"), MOST_TRIES, "interrupted"), (ValueError("x"), 0, "corrupt")]
)
async def test_what_keeps_failing_is_given_up_and_a_fault_of_ours_stops_nobody(
    settings: Settings, clock: FakeClock, failing: Exception, after: int, reason: str
) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False, clock=clock) as memory:
        with_reader(memory, Scripted(failing))
        added = await memory.documents.add(ALEX, Upload("a.txt", b"text"))
        for _ in range(after):
            assert await read_document(memory._deps, ALEX.id, added.id) is False
            assert (await memory.documents.get(ALEX, added.id)).status == "pending"
            clock.advance(hours=1)

        assert await read_document(memory._deps, ALEX.id, added.id) is True
        assert (await memory.documents.get(ALEX, added.id)).failure == reason


async def test_a_worker_in_the_same_process_takes_an_upload_up_at_once(settings: Settings) -> None:
    async with connect(settings, embedder=FakeEmbedder()) as memory:
        await asyncio.sleep(0)  # the worker listens
        added = await memory.documents.add(ALEX, Upload("a.txt", b"Zeppelins are moored on Thursday."))
        for _ in range(1000):
            if (await memory.documents.get(ALEX, added.id)).status == "processed":
                break
            await asyncio.sleep(0.02)

        assert [hit.document.id for hit in await memory.documents.search(ALEX, "zeppelins")] == [added.id]


async def test_health_counts_documents_that_wait_and_that_failed(memory: Engine) -> None:
    await memory.documents.add(ALEX, Upload("scan.pdf", scanned_pdf()))
    await memory.settle(ALEX)
    await memory.documents.add(Scope("blake"), Upload("own.txt", b"read me"))

    now = (await memory.health()).work

    assert now is not None
    assert (now.documents_waiting, now.documents_failed, now.ok) == (1, 1, True)


def test_documents_that_nobody_reads_are_a_complaint_and_failed_ones_are_not() -> None:
    assert find_problems(WorkStatus(0, 0, 0, 0, 0.0, (), 0, 7)) == []
    [told] = find_problems(WorkStatus(0, 0, 0, 0, 0.0, (), 3, 0, 1200.0))
    assert told == "3 documents wait, for 20 minutes: is a worker running?"
