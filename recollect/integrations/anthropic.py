"""RecollectMemoryTool and AsyncRecollectMemoryTool: Claude's client-side memory tool (memory_20250818) on the engine.
Needs the extra `recollect[anthropic]`.

    view                   shows a file with numbered lines, or a folder
    create                 stores a new file (anthropic_files.py)
    str_replace, insert    store a new version; the old one ends and stays in the history
    rename                 moves a file to another path; old versions keep their paths
    delete                 forgets a file with all its versions

All files belong to one user. `Files` implements the commands for both tools. A mistake of Claude's is a ToolError,
which the SDK's tool runner passes on to it; other errors are raised, and the runner logs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec

from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.integrations.anthropic_files import (
    ROOT,
    File,
    count_lines,
    find_lines,
    insert_text,
    is_below,
    list_parents,
    make_file,
    make_lesson,
    move_file,
    parse_path,
    render_change,
    render_file,
    render_folder,
    select_files,
    select_latest,
)
from recollect.integrations.engine_loop import EngineLoop, forget_versions, read_memories
from recollect.sync import SyncEngine
from recollect.values.memory import Memory, Status
from recollect.values.scope import Scope

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
P = ParamSpec("P")
PAGE_SIZE = 10_000
ACTIVE: tuple[Status, ...] = ("active",)


class Files:
    """The commands on the files of one user."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine, self._scope = engine, scope
        self._lock = asyncio.Lock()  # a file must not change between reading and writing it

    async def view(self, command: View) -> str:
        path = read_path(command)
        files = await self._read_files()
        if (file := files.get(path)) is not None:
            await self._engine.runtime.count_use(self._scope, [memory.id for memory in list_memories([file])])
            return render_file(path, file.lines, getattr(command, "view_range", None))
        if path != ROOT and not any(is_below(other, path) for other in files):
            raise make_missing_error(path)
        return render_folder(path, files.values())

    async def create(self, command: Create) -> str:
        path, text = read_path(command), read_text(command, "file_text")
        async with self._lock:
            check_free(path, await self._read_files(), f"File {path} already exists")
            await self._write(make_file(path, text))
        return f"File created successfully at: {path}"

    async def str_replace(self, command: StrReplace) -> str:
        path, old, new = read_path(command), read_text(command, "old_str"), read_text(command, "new_str")
        async with self._lock:
            file = await self._file(path)
            line = find_only_line(file, old)
            changed = replace(file, text=file.text.replace(old, new))
            await self._write(changed)
        message = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{message}\n{render_change(changed.lines, line)}"

    async def insert(self, command: Insert) -> str:
        path, added = read_path(command), read_text(command, "insert_text")
        number = getattr(command, "insert_line", None)
        async with self._lock:
            file = await self._file(path)
            text = insert_text(file.text, number, added) if isinstance(number, int) else None
            if text is None:
                valid_range = f"It should be within the range [0, {count_lines(file.text)}]."
                raise ToolError(f"Invalid `insert_line` parameter: {number}. {valid_range}")
            await self._write(replace(file, text=text))
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
            for file in move_files(chosen, old, new):
                await self._write(file)
        return f"Successfully renamed {old} to {new}"

    async def clear(self) -> str:
        """Forget all files. Claude has no command for this; it is for the application."""
        async with self._lock:
            await self._forget((await self._read_files()).values())
        return "All memory cleared"

    async def _read_files(self) -> dict[str, File]:
        return select_latest(await read_memories(self._engine, self._scope, ACTIVE, ("note",)))

    async def _file(self, path: str) -> File:
        files = await self._read_files()
        if path in files:
            return files[path]
        if path == ROOT or any(is_below(other, path) for other in files):
            raise ToolError(f"The path {path} is not a file.")
        raise make_missing_error(path)

    async def _write(self, file: File) -> None:
        """Store the new version before ending the old one: an interruption must not lose the file."""
        before = await self._versions(file.keys)
        try:
            await self._engine.learn(self._scope, make_lesson(file, before))
        except InvalidInput as error:
            raise ToolError(str(error)) from None
        for memory in list_memories(before):
            if memory.status == "active":
                await self._engine.close(self._scope, memory.id, owner="user")

    async def _versions(self, keys: Iterable[str]) -> list[File]:
        pages = [await self._engine.memories(self._scope, key=key, status=None, limit=PAGE_SIZE) for key in keys]
        return select_files(memory for page in pages for memory in page)

    async def _forget(self, chosen: Collection[File]) -> None:
        """Forget files with all their versions."""
        ids, paths = {file.id for file in chosen}, {file.path for file in chosen}
        versions = [
            file
            for file in select_files(await read_memories(self._engine, self._scope, None, ("note",)))
            if file.id in ids or (file.is_current and file.path in paths)
        ]
        await forget_versions(self._engine, self._scope, list_memories(versions))


def read_text(command: object, name: str) -> str:
    """Return a text of a command. The SDK does not check what a model sends."""
    value = getattr(command, name, None)
    if not isinstance(value, str):
        raise ToolError(f"The command needs the text `{name}`")
    return value


def read_path(command: object, name: str = "path") -> str:
    try:
        return parse_path(read_text(command, name))
    except InvalidInput as error:
        raise ToolError(str(error)) from None


def check_free(path: str, files: Mapping[str, File], problem: str) -> None:
    """Raise an error if a file or folder cannot be created at this path."""
    if path == ROOT or path in files or any(is_below(other, path) for other in files):
        raise ToolError(problem)
    for parent in list_parents(path):
        if parent in files:
            raise ToolError(f"The path {parent} is a file; nothing can be below it")


def select_at_or_below(path: str, files: Mapping[str, File]) -> list[File]:
    found = [file for file in files.values() if file.path == path or is_below(file.path, path)]
    if not found:
        raise ToolError(f"The path {path} does not exist")
    return found


def move_files(chosen: Iterable[File], old: str, new: str) -> list[File]:
    """Return the moved files; a path that would become too long is an error before any is written."""
    try:
        return [move_file(file, old, new) for file in chosen]
    except InvalidInput as error:
        raise ToolError(str(error)) from None


def find_only_line(file: File, part: str) -> int:
    """Return the line of the only occurrence of a part."""
    lines = find_lines(file.text, part)
    if not lines:
        raise ToolError(f"No replacement was performed, old_str `{part}` did not appear verbatim in {file.path}.")
    if len(lines) > 1:
        places = ", ".join(map(str, lines))
        problem = f"Multiple occurrences of old_str `{part}` in lines: {places}. Please ensure it is unique"
        raise ToolError(f"No replacement was performed. {problem}")
    return lines[0]


def make_missing_error(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def list_memories(files: Iterable[File]) -> list[Memory]:
    return [file.memory for file in files if file.memory is not None]


class EngineTool:
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
        self._loop = EngineLoop(engine)
        self._files = Files(self._loop.engine, Scope(user, project=project))


def wait_for(verb: Callable[Concatenate[Files, P], Coroutine[Any, Any, str]]) -> Callable[Concatenate[Any, P], str]:
    def wait(tool: EngineTool, /, *args: P.args, **kwargs: P.kwargs) -> str:
        return tool._loop.wait(verb(tool._files, *args, **kwargs))

    return wait


def run(
    verb: Callable[Concatenate[Files, P], Coroutine[Any, Any, str]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, str]]:
    async def call(tool: EngineTool, /, *args: P.args, **kwargs: P.kwargs) -> str:
        return await tool._loop.run(verb(tool._files, *args, **kwargs))

    return call


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

    view = run(Files.view)
    create = run(Files.create)
    str_replace = run(Files.str_replace)
    insert = run(Files.insert)
    delete = run(Files.delete)
    rename = run(Files.rename)
    clear_all_memory = run(Files.clear)
