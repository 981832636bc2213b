"""Files of Claude's memory tool as memories, and back; pure functions that do not import Anthropic's SDK.

A file is a note with the key `file:/memories/<path>`. Its text is in the note's data; the note's value is the path and
the beginning of the text, which recall and people read. The value ends in a version, "(v2)": evidence with equal text
is merged into one memory, and two versions of a file must stay separate.

Folders are not stored: a folder exists if a file is below it. A file keeps its `id` when it is renamed, so that
deleting it finds all versions. The id is a number, because masking of sensitive data could change a string.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard
from urllib.parse import unquote

from recollect.errors import InvalidInput
from recollect.values.lesson import MAX_DATA_CHARS, MAX_VALUE_CHARS, Lesson
from recollect.values.memory import Memory
from recollect.values.scope import MAX_NAME, uuid7

ROOT = "/memories"
PREFIX = "file:"
DATA = "anthropic"  # key of the file in the note's data
# Just too low to be in every context: a file is recalled when it is relevant, and is pruned last.
IMPORTANCE = 0.49
MAX_PATH_CHARS = 500
MAX_TEXT_CHARS = MAX_VALUE_CHARS - 20  # of path and text; leaves room for the version
MAX_LEVELS = 2  # shown of a folder
UNITS = ("B", "K", "M")
CONTEXT_LINES = 2  # shown before and after a change
NUMBER_WIDTH = 6  # of line numbers


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
        """The keys of the stored version and of the next one."""
        return {make_key(self.path)} | ({self.memory.key} if self.memory else set())


def parse_path(path: str) -> str:
    """Return a normalized path; a path outside /memories is an error."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput("path", f"must start with {ROOT}, got: {path}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if any(is_parent_reference(part) for part in parts):
        raise InvalidInput("path", f"{path} would escape the {ROOT} directory")
    if len(path) > MAX_PATH_CHARS:
        raise InvalidInput("path", f"{len(path):,} characters; at most {MAX_PATH_CHARS}")
    return "/" + "/".join(parts)


def is_parent_reference(part: str) -> bool:
    """Whether a part is `..`, also as %2e%2e or with a backslash, which other systems may interpret."""
    while (plain := unquote(part)) != part:
        part = plain
    return ".." in part.replace("\\", "/").split("/")


def make_key(path: str) -> str:
    """Return a unique key of a path; a digest if it would be too long."""
    key = PREFIX + path
    return key if len(key) <= MAX_NAME else PREFIX + hashlib.sha256(path.encode()).hexdigest()


def is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def list_parents(path: str) -> list[str]:
    """Return the folders above a path, without the root."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]


def move_file(file: File, old: str, new: str) -> File:
    """Return a file after it or one of its folders was renamed."""
    return replace(file, path=parse_path(new + file.path.removeprefix(old)))


def make_file(path: str, text: str) -> File:
    return File(path, text, id=uuid7().int, version=0)


def make_lesson(file: File, earlier: Iterable[File]) -> Lesson:
    """Return the next version of a file; `earlier` are the versions under its keys."""
    version = 1 + max([file.version, *(other.version for other in earlier)])
    data = {DATA: {"path": file.path, "text": file.text, "file": file.id, "version": version}}
    check_length(file, len(json.dumps(data, ensure_ascii=False)))
    return Lesson(
        value=f"{f'{file.path}: {file.text}'[:MAX_TEXT_CHARS].strip()} (v{version})",
        key=make_key(file.path),
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


def parse_file(memory: Memory) -> File:
    kept = (memory.data or {})[DATA]
    return File(kept["path"], kept["text"], kept["file"], kept["version"], memory)


def select_files(memories: Iterable[Memory]) -> list[File]:
    return [parse_file(memory) for memory in memories if memory.key.startswith(PREFIX) and DATA in (memory.data or {})]


def select_latest(memories: Iterable[Memory]) -> dict[str, File]:
    """Return files by path. Of several active versions the highest counts: another process may be ending the others."""
    return {file.path: file for file in sorted(select_files(memories), key=lambda file: file.version)}


def render_folder(folder: str, known: Iterable[File]) -> str:
    """Return the entries of a folder, two levels deep, with sizes; a folder has the size of its files."""
    inside = [file for file in known if is_below(file.path, folder)]
    sizes: dict[str, int] = {}
    for file in inside:
        parts = file.path.removeprefix(f"{folder}/").split("/")
        for place in list_entries(parts):
            sizes[place] = sizes.get(place, 0) + file.size
    ordered = sorted(sizes, key=lambda place: place.split("/"))
    lines = [f"{format_size(sizes[place])}\t{folder}/{place}" for place in ordered]
    total = f"{format_size(sum(file.size for file in inside))}\t{folder}"
    header = f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items:"
    return "\n".join([header, total, *lines])


def list_entries(parts: Sequence[str]) -> list[str]:
    """Return the entries of a file in a listing: its folders, each with a slash, and itself, unless hidden."""
    places = []
    for depth, part in enumerate(parts[:MAX_LEVELS], start=1):
        if part.startswith("."):
            break
        places.append("/".join(parts[:depth]) + ("/" if depth < len(parts) else ""))
    return places


def format_size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}".removesuffix(".0") + UNITS[unit]


def render_file(path: str, lines: Sequence[str], wanted: object) -> str:
    """Return the numbered lines of a file, or of a range [first, last]; -1 is the end."""
    first, last = wanted if is_range(wanted) else (1, -1)
    first, last = max(first, 1), len(lines) if last == -1 else last
    return f"Here's the content of {path} with line numbers:\n" + number_lines(lines, first, last)


def is_range(wanted: object) -> TypeGuard[tuple[int, int]]:
    return isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(number, int) for number in wanted)


def number_lines(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], start=first)
    )


def render_change(lines: Sequence[str], changed: int) -> str:
    return number_lines(lines, max(changed - CONTEXT_LINES, 1), changed + CONTEXT_LINES)


def find_lines(text: str, part: str) -> list[int]:
    """Return the numbers of the lines in which a part begins."""
    found, at = [], text.find(part)
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + max(len(part), 1)) if at < len(text) else -1
    return found


def insert_text(text: str, number: int, added: str) -> str | None:
    """Return the text with `added` after a line; None if there is no such line. The result ends with a newline."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= number <= len(lines):
        return None
    lines.insert(number, added.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def count_lines(text: str) -> int:
    return len(text.removesuffix("\n").split("\n")) if text else 0
