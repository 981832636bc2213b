"""RecollectMemoryTool and AsyncRecollectMemoryTool: Claude's client-side memory tool (memory_20250818) on the engine.
Needs the extra `recollect[anthropic]`. A mistake of Claude's is a ToolError, which the SDK's runner passes on to it.

A file is a note with the key `file:/memories/<path>`: its text is in the note's data, and the note's value, which
recall and people read, begins with the path. A folder exists if a file is below it. A file keeps its `id` when it is
renamed, so that deleting it finds all versions; the id is a number, because masking could change a string.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from recollect import Engine, InvalidInput, Lesson, Memory, Scope, SyncEngine
from recollect.integrations import engine_loop
from recollect.sync import wait_for
from recollect.values.lesson import MAX_DATA_CHARS
from recollect.values.memory import Status
from recollect.values.scope import uuid7

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types import beta
except ImportError:
    raise ImportError("RecollectMemoryTool needs Anthropic's SDK; run `pip install recollect[anthropic]`") from None

View = beta.BetaMemoryTool20250818ViewCommand
Create = beta.BetaMemoryTool20250818CreateCommand
StrReplace = beta.BetaMemoryTool20250818StrReplaceCommand
Insert = beta.BetaMemoryTool20250818InsertCommand
Delete = beta.BetaMemoryTool20250818DeleteCommand
Rename = beta.BetaMemoryTool20250818RenameCommand
PAGE_SIZE = 10_000
ACTIVE: tuple[Status, ...] = ("active",)

ROOT = "/memories"
PREFIX = "file:"
DATA = "anthropic"  # key of the file in the note's data
# Just too low to be in every context: a file is recalled when it is relevant, and is pruned last.
IMPORTANCE = 0.49
MAX_PATH_CHARS = 500
MAX_LEVELS = 2  # shown of a folder
UNITS = ("B", "K", "M")
CONTEXT_LINES = 2  # shown before and after a change
NUMBER_WIDTH = 6  # of line numbers
MISSING = "The path {path} does not exist. Please provide a valid path."


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


def parse_path(path: str) -> str:
    """Return a normalized path; a path outside /memories is an error."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"path: must start with {ROOT}, got: {path}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    plain = path
    while (decoded := unquote(plain)) != plain:  # `..` may be there as %2e%2e or with a backslash, too
        plain = decoded
    if ".." in plain.replace("\\", "/").split("/"):
        raise ToolError(f"path: {path} would escape the {ROOT} directory")
    if len(path) > MAX_PATH_CHARS:
        raise ToolError(f"path: {len(path):,} characters; at most {MAX_PATH_CHARS}")
    return "/" + "/".join(parts)


def is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def make_lesson(file: File, earlier: Iterable[File]) -> Lesson:
    """Return the next version of a file; `earlier` are the versions under its keys."""
    version = 1 + max([file.version, *(other.version for other in earlier)])
    data = {DATA: {"path": file.path, "text": file.text, "file": file.id, "version": version}}
    written = len(json.dumps(data, ensure_ascii=False))
    if written > MAX_DATA_CHARS:
        raise ToolError(
            f"{file.path}: the file would have {len(file.text):,} characters, {written:,} as it is stored, and at most "
            f"{MAX_DATA_CHARS:,} can be; nothing was changed. Split it into several files"
        )
    return engine_loop.make_note(
        engine_loop.make_note_key(PREFIX + file.path), f"{file.path}: {file.text}", IMPORTANCE, version, data
    )


def select_files(memories: Iterable[Memory]) -> list[File]:
    return [
        File(fields["path"], fields["text"], fields["file"], fields["version"], memory)
        for memory, fields in engine_loop.read_notes(memories, PREFIX, DATA)
    ]


def select_latest(memories: Iterable[Memory]) -> dict[str, File]:
    """Return files by path. Of several active versions the highest counts: another process may be ending the others."""
    return {file.path: file for file in sorted(select_files(memories), key=lambda file: file.version)}


def render_folder(folder: str, known: Iterable[File]) -> str:
    """Return the entries of a folder, two levels deep and without hidden ones; a folder has the size of its files."""
    inside = [file for file in known if is_below(file.path, folder)]
    sizes: dict[str, int] = {}
    for file in inside:
        parts = file.path.removeprefix(f"{folder}/").split("/")
        for depth, part in enumerate(parts[:MAX_LEVELS], start=1):
            if part.startswith("."):
                break
            entry = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[entry] = sizes.get(entry, 0) + file.size
    ordered = sorted(sizes, key=lambda entry: entry.split("/"))
    lines = [f"{format_size(sizes[entry])}\t{folder}/{entry}" for entry in ordered]
    total = f"{format_size(sum(file.size for file in inside))}\t{folder}"
    header = f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items:"
    return "\n".join([header, total, *lines])


def format_size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}".removesuffix(".0") + UNITS[unit]


def render_file(path: str, lines: Sequence[str], wanted: object) -> str:
    """Return the numbered lines of a file, or of a range [first, last]; -1 is the end."""
    first, last = 1, -1
    if isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(number, int) for number in wanted):
        first, last = wanted
    text = number_lines(lines, max(first, 1), len(lines) if last == -1 else last)
    return f"Here's the content of {path} with line numbers:\n{text}"


def number_lines(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], start=first)
    )


def insert_text(text: str, number: object, added: str) -> str:
    """Return the text with `added` after a line. The result ends with a newline."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if not isinstance(number, int) or not 0 <= number <= len(lines):
        valid_range = f"It should be within the range [0, {len(lines)}]."
        raise ToolError(f"Invalid `insert_line` parameter: {number}. {valid_range}")
    lines.insert(number, added.removesuffix("\n"))
    return "\n".join(lines) + "\n"


class Files:
    """The commands on the files of one user."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine, self._scope = engine, scope
        self._lock = asyncio.Lock()  # a file must not change between reading and writing it

    async def view(self, command: View) -> str:
        path = read_path(command)
        files = await self._read_files()
        if (file := files.get(path)) is not None:
            await self._engine.runtime.count_use(self._scope, [file.memory.id] if file.memory else [])
            return render_file(path, file.lines, getattr(command, "view_range", None))
        if path != ROOT and not any(is_below(other, path) for other in files):
            raise ToolError(MISSING.format(path=path))
        return render_folder(path, files.values())

    async def create(self, command: Create) -> str:
        path, text = read_path(command), read_text(command, "file_text")
        async with self._lock:
            check_free(path, await self._read_files(), f"File {path} already exists")
            await self._write(File(path, text, id=uuid7().int, version=0))
        return f"File created successfully at: {path}"

    async def str_replace(self, command: StrReplace) -> str:
        path, old, new = read_path(command), read_text(command, "old_str"), read_text(command, "new_str")
        async with self._lock:
            file = await self._file(path)
            line = find_only_line(file, old)
            changed = replace(file, text=file.text.replace(old, new))
            await self._write(changed)
        message = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{message}\n{number_lines(changed.lines, max(line - CONTEXT_LINES, 1), line + CONTEXT_LINES)}"

    async def insert(self, command: Insert) -> str:
        path, added = read_path(command), read_text(command, "insert_text")
        number = getattr(command, "insert_line", None)
        async with self._lock:
            file = await self._file(path)
            await self._write(replace(file, text=insert_text(file.text, number, added)))
        return f"The file {path} has been edited."

    async def delete(self, command: Delete) -> str:
        path = read_path(command)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        async with self._lock:
            await self._forget(select_at_or_below(path, await self._read_files()))
        return f"Successfully deleted {path}"

    async def rename(self, command: Rename) -> str:
        old, new = read_path(command, "old_path"), read_path(command, "new_path")
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        async with self._lock:
            files = await self._read_files()
            chosen = select_at_or_below(old, files)
            check_free(new, files, f"The destination {new} already exists")
            if is_below(new, old):
                raise ToolError(f"Cannot move {old} into itself")
            # A path that would become too long is an error before any file is written.
            moved = [replace(file, path=parse_path(new + file.path.removeprefix(old))) for file in chosen]
            for file in moved:
                await self._write(file)
        return f"Successfully renamed {old} to {new}"

    async def clear(self) -> str:
        """Forget all files. Claude has no command for this; it is for the application."""
        async with self._lock:
            await self._forget((await self._read_files()).values())
        return "All memory cleared"

    async def _read_files(self) -> dict[str, File]:
        return select_latest(await engine_loop.read_memories(self._engine, self._scope, ACTIVE, ("note",)))

    async def _file(self, path: str) -> File:
        files = await self._read_files()
        if path in files:
            return files[path]
        if path == ROOT or any(is_below(other, path) for other in files):
            raise ToolError(f"The path {path} is not a file.")
        raise ToolError(MISSING.format(path=path))

    async def _write(self, file: File) -> None:
        """Store the new version before ending the old one, which has another key after a rename: an interruption must
        not lose the file."""
        keys = {engine_loop.make_note_key(PREFIX + file.path), *([file.memory.key] if file.memory else ())}
        before = await self._engine.memories(self._scope, key=list(keys), status=None, limit=PAGE_SIZE)
        try:
            await self._engine.learn(self._scope, make_lesson(file, select_files(before)))
        except InvalidInput as error:
            raise ToolError(str(error)) from None
        for memory in before:
            if memory.status == "active":
                await self._engine.close(self._scope, memory.id, owner="user")

    async def _forget(self, chosen: Collection[File]) -> None:
        """Forget files with all their versions."""
        ids, paths = {file.id for file in chosen}, {file.path for file in chosen}
        stored = await engine_loop.read_memories(self._engine, self._scope, None, ("note",))
        versions = [
            memory
            for memory, fields in engine_loop.read_notes(stored, PREFIX, DATA)
            if fields["file"] in ids or (memory.status == "active" and fields["path"] in paths)
        ]
        await engine_loop.forget_versions(self._engine, self._scope, versions)


def read_text(command: object, name: str) -> str:
    """Return a text of a command. The SDK does not check what a model sends."""
    value = getattr(command, name, None)
    if not isinstance(value, str):
        raise ToolError(f"The command needs the text `{name}`")
    return value


def read_path(command: object, name: str = "path") -> str:
    return parse_path(read_text(command, name))


def check_free(path: str, files: Mapping[str, File], problem: str) -> None:
    """Raise an error if a file or folder cannot be created at this path."""
    if path == ROOT or path in files or any(is_below(other, path) for other in files):
        raise ToolError(problem)
    parts = path.split("/")
    for parent in ("/".join(parts[:end]) for end in range(3, len(parts))):  # the folders above it, without the root
        if parent in files:
            raise ToolError(f"The path {parent} is a file; nothing can be below it")


def select_at_or_below(path: str, files: Mapping[str, File]) -> list[File]:
    found = [file for file in files.values() if file.path == path or is_below(file.path, path)]
    if not found:
        raise ToolError(f"The path {path} does not exist")
    return found


def find_only_line(file: File, part: str) -> int:
    """Return the line of the only occurrence of a part."""
    lines = [file.text.count("\n", 0, found.start()) + 1 for found in re.finditer(re.escape(part), file.text)]
    if not lines:
        raise ToolError(f"No replacement was performed, old_str `{part}` did not appear verbatim in {file.path}.")
    if len(lines) > 1:
        places = ", ".join(map(str, lines))
        problem = f"Multiple occurrences of old_str `{part}` in lines: {places}. Please ensure it is unique"
        raise ToolError(f"No replacement was performed. {problem}")
    return lines[0]


class EngineTool(engine_loop.Adapter):
    """What both tools have: the engine and the files of one user."""

    def __init__(
        self,
        engine: Engine | SyncEngine,
        *,
        user: str,
        project: str = "default",
        cache_control: beta.BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        self._engine_loop = engine_loop.EngineLoop(engine)
        self._target = Files(self._engine_loop.engine, Scope(user, project=project))


class RecollectMemoryTool(EngineTool, BetaAbstractMemoryTool):
    """For `Anthropic`, with the engine of `connect_sync`."""

    view = wait_for(Files.view)
    create = wait_for(Files.create)
    str_replace = wait_for(Files.str_replace)
    insert = wait_for(Files.insert)
    delete = wait_for(Files.delete)
    rename = wait_for(Files.rename)
    clear_all_memory = wait_for(Files.clear)


class AsyncRecollectMemoryTool(EngineTool, BetaAsyncAbstractMemoryTool):
    """For `AsyncAnthropic`. With the engine of `connect`, create the tool where the engine was opened."""

    view = engine_loop.awaiting(Files.view)
    create = engine_loop.awaiting(Files.create)
    str_replace = engine_loop.awaiting(Files.str_replace)
    insert = engine_loop.awaiting(Files.insert)
    delete = engine_loop.awaiting(Files.delete)
    rename = engine_loop.awaiting(Files.rename)
    clear_all_memory = engine_loop.awaiting(Files.clear)
