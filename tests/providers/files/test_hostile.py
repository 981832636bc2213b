"""Whatever a file contains, the caller gets a last word with a reason, and the reader keeps to its limits."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.values.document import FAILURE_MESSAGES, Failure, Limits
from tests.providers.files.conftest import Read, read_path
from tests.providers.files.hostile import ALL, Hostile

LIMITS = Limits(unpacked_bytes=100_000_000, characters=8_000_000, cpu_seconds=6, seconds=240.0)
SLOW = replace(LIMITS, cpu_seconds=2)  # for files of which some are read until their time is over


@pytest.mark.parametrize("hostile", [pytest.param(hostile, id=name) for name, hostile in ALL.items()])
async def test_a_hostile_file_gets_a_reason_and_does_no_harm(hostile: Hostile, read: Read) -> None:
    before = most_memory(resource.RUSAGE_CHILDREN)
    reading = await read(hostile.make(), hostile.name, SLOW if "too_slow" in hostile.right else LIMITS)
    assert reading.reason in hostile.right, reading.last
    if isinstance(reading.last, Failure):
        assert reading.last.sentence == FAILURE_MESSAGES[reading.last.reason]
        assert not reading.blocks
    else:
        assert reading.last.blocks == len(reading.blocks) > 0
        assert not any("root:" in text or "\0" in text for text in reading.texts())
    # A child counts what its parent held when it was made: in a long run of tests that may be more than any reading.
    own = most_memory(resource.RUSAGE_SELF)
    assert most_memory(resource.RUSAGE_CHILDREN) <= max(before, own, LIMITS.memory_bytes)
    assert not was_unpacked()


def most_memory(whose: int) -> int:
    return resource.getrusage(whose).ru_maxrss * 1024


def was_unpacked() -> bool:
    return Path("/tmp/recollect-evil").exists()


def test_there_are_many_of_them_and_most_are_refused_for_one_reason() -> None:
    assert len(ALL) >= 90
    assert sum(len(hostile.right) == 1 for hostile in ALL.values()) >= 60


async def test_a_sparse_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    reading = await read_path(path, "a.txt", LIMITS)
    assert reading.last == Failure("too_large", f"{1 << 30} bytes; at most {LIMITS.file_bytes}")


async def test_a_pipe_and_a_folder_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "upload")
    for path in (tmp_path / "upload", tmp_path):
        assert (await read_path(path, "a.txt", LIMITS)).reason == "unsupported"
