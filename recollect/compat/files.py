"""Files: what Claude's memory tool keeps, as memories; and back. Pure, and without Anthropic's SDK, for anthropic.py.

A file is a note under a key of its own, `file:/memories/<path>`. Its text is in the note's data; the note's value is
the path and the beginning of the text, which is what recall and people read. The value ends in a version, "(v2)": a
memory is what all evidence of the same words comes to, and two versions of a file must never be taken for one.

Folders are not kept: there is one wherever a file is below it. A file keeps its `id` through renames, so that deleting
it finds all of it. The id is a number: where sensitive text is masked, a string might be taken for some.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard
from urllib.parse import unquote

from recollect.errors import InvalidInput
from recollect.model.ids import uuid7
from recollect.model.lesson import MAX_DATA_CHARS, MAX_VALUE_CHARS, Lesson
from recollect.model.memory import Memory
from recollect.model.scope import MAX_NAME

ROOT = "/memories"
PREFIX = "file:"
DATA = "anthropic"  # under which the file is in the note's data
# Just below what is in every context: a file is there when its words are asked for. Of what may be pruned when there is
# much of it, it is the last to go.
IMPORTANCE = 0.49
MOST_PATH = 500
ROOM = MAX_VALUE_CHARS - 20  # for path and text; the rest is for the version
LEVELS = 2  # of a folder that are listed
UNITS = ("B", "K", "M")
MARGIN = 2  # lines shown before and after a change
WIDTH = 6  # of a line's number


@dataclass(frozen=True, slots=True)
class File:
    path: str
    text: str
    id: int
    version: int
    memory: Memory | None = None

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def size(self) -> int:
        return len(self.text.encode(errors="surrogatepass"))

    @property
    def is_current(self) -> bool:
        return self.memory is not None and self.memory.status == "active"

    @property
    def keys(self) -> set[str]:
        """Where the version that was read is, and where the next one goes."""
        return {memory_key(self.path)} | ({self.memory.key} if self.memory else set())


# Paths


def checked_path(path: str) -> str:
    """The path as it is kept; an error if it is not one below /memories."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput("path", f"must start with {ROOT}, got: {path}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(is_climbing(part) for part in parts):
        raise InvalidInput("path", f"{path} would escape the {ROOT} directory")
    if len(path) > MOST_PATH:
        raise InvalidInput("path", f"{len(path):,} characters; at most {MOST_PATH}")
    return "/" + "/".join(parts)


def is_climbing(part: str) -> bool:
    """Also written as %2e%2e or with a backslash, which some other system might read as such."""
    while (plain := unquote(part)) != part:
        part = plain
    return ".." in part.replace("\\", "/").split("/")


def memory_key(path: str) -> str:
    """One for each path; of a long one the digest, the path itself is in the data."""
    key = PREFIX + path
    return key if len(key) <= MAX_NAME else PREFIX + hashlib.sha256(path.encode()).hexdigest()


def is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def parents(path: str) -> list[str]:
    """The folders a path is in, without the first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]


def moved(file: File, old: str, new: str) -> File:
    """The file after a rename of itself or of a folder it is in."""
    return replace(file, path=checked_path(new + file.path.removeprefix(old)))


# As memories


def new_file(path: str, text: str) -> File:
    return File(path, text, id=uuid7().int, version=0)


def as_lesson(file: File, earlier: Iterable[File]) -> Lesson:
    """The next version of a file; `earlier` are those that were under its keys."""
    version = 1 + max([file.version, *(other.version for other in earlier)])
    data = {DATA: {"path": file.path, "text": file.text, "file": file.id, "version": version}}
    check_length(file, len(json.dumps(data, ensure_ascii=False)))
    return Lesson(
        value=f"{f'{file.path}: {file.text}'[:ROOM].strip()} (v{version})",
        key=memory_key(file.path),
        importance=IMPORTANCE,
        owner="user",
        data=data,
    )


def check_length(file: File, written: int) -> None:
    if written > MAX_DATA_CHARS:
        raise InvalidInput(
            file.path,
            f"the file would have {len(file.text):,} characters, {written:,} as it is stored, and at most "
            f"{MAX_DATA_CHARS:,} can be; nothing was changed. Split it into several files",
        )


def as_file(memory: Memory) -> File:
    kept = (memory.data or {})[DATA]
    return File(kept["path"], kept["text"], kept["file"], kept["version"], memory)


def files(memories: Iterable[Memory]) -> list[File]:
    return [as_file(memory) for memory in memories if memory.key.startswith(PREFIX) and DATA in (memory.data or {})]


def latest(memories: Iterable[Memory]) -> dict[str, File]:
    """By path. Of several active versions the highest counts: another process may be about to end the others."""
    return {file.path: file for file in sorted(files(memories), key=lambda file: file.version)}


# What Claude reads


def listing(folder: str, known: Iterable[File]) -> str:
    """What is in a folder, two levels deep, with sizes; of a folder, that of the files in it."""
    inside = [file for file in known if is_below(file.path, folder)]
    sizes: dict[str, int] = {}
    for file in inside:
        parts = file.path.removeprefix(f"{folder}/").split("/")
        for place in shown(parts):
            sizes[place] = sizes.get(place, 0) + file.size
    ordered = sorted(sizes, key=lambda place: place.split("/"))
    lines = [f"{written_size(sizes[place])}\t{folder}/{place}" for place in ordered]
    total = f"{written_size(sum(file.size for file in inside))}\t{folder}"
    header = f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items:"
    return "\n".join([header, total, *lines])


def shown(parts: Sequence[str]) -> list[str]:
    """The places of a listing that a file appears in: its folders, each with a slash, and itself; nothing hidden."""
    places = []
    for depth, part in enumerate(parts[:LEVELS], start=1):
        if part.startswith("."):
            break
        places.append("/".join(parts[:depth]) + ("/" if depth < len(parts) else ""))
    return places


def written_size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}".removesuffix(".0") + UNITS[unit]


def content(path: str, lines: Sequence[str], wanted: object) -> str:
    """The lines of a file, or those from the first to the second number; -1 is the end."""
    first, last = wanted if is_range(wanted) else (1, -1)
    first, last = max(first, 1), len(lines) if last == -1 else last
    return f"Here's the content of {path} with line numbers:\n" + numbered(lines, first, last)


def is_range(wanted: object) -> TypeGuard[tuple[int, int]]:
    return isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(number, int) for number in wanted)


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(f"{number:{WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], start=first))


def around(lines: Sequence[str], changed: int) -> str:
    return numbered(lines, max(changed - MARGIN, 1), changed + MARGIN)


def lines_with(text: str, part: str) -> list[int]:
    """The numbers of the lines in which a part begins."""
    found, at = [], text.find(part)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + max(len(part), 1)) if at < len(text) else -1
    return found


def with_line(text: str, number: int, added: str) -> str | None:
    """The text with more after a line; None if there is no such line. It ends in a line's end, as a file does."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= number <= len(lines):
        return None
    lines.insert(number, added.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def line_count(text: str) -> int:
    return len(text.removesuffix("\n").split("\n")) if text else 0
