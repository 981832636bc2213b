"""The process that reads keeps to its limits, waits for its caller, and is gone when the caller is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from recollect.providers.files import reader
from recollect.providers.files.reader import read_file
from recollect.providers.files.source import Item
from recollect.values.document import Batch, Failure, Finished, Limits
from tests.providers.files.conftest import Read
from tests.providers.files.hostile import ALL, WORD
from tests.providers.files.makers import PROSE, changed, docx


@pytest.fixture
def long_text(tmp_path: Path) -> Path:
    path = tmp_path / "long.txt"
    path.write_text((PROSE + "\n\n") * 100_000)
    return path


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if reader.CHILD in one.cmdline()]


async def first_batch(items: AsyncIterator[Item]) -> Batch:
    item = await anext(items)
    assert isinstance(item, Batch)
    return item


async def test_a_reader_has_limits_no_secrets_and_no_name_of_the_file(
    long_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", "postgresql://secret")
    async with aclosing(read_file(long_text, "a.txt", Limits(cpu_seconds=77))) as items:
        await first_batch(items)
        (child,) = children()
        assert "secret" not in str(child.environ())
        assert str(long_text) not in child.cmdline()
        assert os.getsid(child.pid) == child.pid
        assert child.rlimit(psutil.RLIMIT_AS)[0] == Limits().memory_bytes
        assert child.rlimit(psutil.RLIMIT_CPU)[0] == 77
        assert child.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
        assert child.rlimit(psutil.RLIMIT_NOFILE) == (64, 64)


async def test_a_reader_waits_for_its_caller_and_that_wait_is_free(
    long_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    clock = loop.time
    async with aclosing(read_file(long_text, "a.txt", Limits(seconds=120.0))) as items:
        batch = await first_batch(items)
        assert 0 < batch.done < batch.total == (len(PROSE) + 2) * 100_000
        (child,) = children()
        before = -1.0
        # It waits once it sleeps and computes nothing: a busy machine may give it no time either.
        while child.status() != psutil.STATUS_SLEEPING or child.cpu_times().user > before:
            before = child.cpu_times().user
            await asyncio.sleep(0.3)
        assert child.is_running()
        monkeypatch.setattr(loop, "time", lambda: clock() + 1_000)  # so long the caller took
        rest = [item async for item in items]
    assert isinstance(rest[-1], Finished)
    assert rest[-1].blocks == 100_000


async def test_a_caller_who_leaves_takes_the_reader_with_him(long_text: Path) -> None:
    async with aclosing(read_file(long_text, "a.txt")) as items:
        await first_batch(items)
        assert children()
    assert not children()


async def test_a_caller_who_is_cancelled_takes_the_reader_with_him(long_text: Path) -> None:
    began = asyncio.Event()

    async def caller() -> None:
        async with aclosing(read_file(long_text, "a.txt")) as items:
            async for _ in items:
                began.set()
                await asyncio.sleep(3600)

    task = asyncio.create_task(caller())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not children()


async def test_a_reader_that_is_killed_from_outside_is_a_reason(long_text: Path) -> None:
    async with aclosing(read_file(long_text, "a.txt")) as items:
        await first_batch(items)
        children()[0].kill()
        rest = [item async for item in items]
    assert isinstance(rest[-1], Failure)
    assert rest[-1].reason == "too_much_memory"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(seconds=0.001), "too_slow"),
        (Limits(memory_bytes=80_000_000), "too_much_memory"),
        (Limits(unpacked_bytes=1000), "too_large_unpacked"),
        (Limits(members=5), "too_large_unpacked"),
        (Limits(characters=50), "too_large_unpacked"),
        (Limits(file_bytes=1000), "too_large"),
    ],
)
async def test_each_limit_has_its_reason(read: Read, limits: Limits, reason: str) -> None:
    paragraphs = "".join(f"<w:p><w:r><w:t>{n} {PROSE}</w:t></w:r></w:p>" for n in range(60_000))
    whole = f'<w:document xmlns:w="{WORD}"><w:body>{paragraphs}</w:body></w:document>'
    assert (await read(changed(docx(), word__document_dot_xml=whole), "a.docx", limits)).reason == reason


async def test_a_reader_that_computes_for_too_long_is_a_reason(read: Read) -> None:
    reading = await read(ALL["a_row_far_below"].make(), "a.xlsx", Limits(cpu_seconds=1))
    assert reading.last == Failure("too_slow", "CPU")


async def test_a_failure_after_many_blocks_comes_last_and_says_to_drop_them(read: Read) -> None:
    reading = await read(b"a,b\n" + b"1,2\n" * 50_000 + b'3,"' + b"x,y\n" * 500_000, "a.csv")
    assert sum(len(batch.blocks) for batch in reading.batches) >= 50_000
    assert reading.reason == "corrupt"
    assert reading.blocks == []


async def test_a_child_that_sends_nonsense_or_cannot_start_is_a_reason(
    long_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("this", "no_such_module_anywhere"):
        monkeypatch.setattr(reader, "CHILD", module)
        items = [item async for item in read_file(long_text, "a.txt")]
        assert [item.reason for item in items if isinstance(item, Failure)] == ["corrupt"]
        assert len(items) == 1


async def test_a_file_that_is_not_there_is_our_error_not_a_reason(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await anext(read_file(tmp_path / "missing", "a.txt"))
