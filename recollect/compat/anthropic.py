"""RecollectMemoryTool and its async twin: Claude's client-side memory tool (memory_20250818) over the Engine. The tool
runner of Anthropic's SDK calls `call`, which comes to one of the six commands. Needs the extra `recollect[anthropic]`.

    view                   a file with its lines numbered, or what is in a folder
    create                 a new file (files.py says how it is kept)
    str_replace, insert    a new version; the one before it ends, and stays in the history
    rename                 the same file under another path; its versions stay under the paths they had
    delete                 the file is forgotten, all its versions with it

All files are one user's. The commands are written once, in Files; the two tools wait for it, or await it. What Claude
did wrong is a ToolError, which the runner tells it; what went wrong here flies, and the runner logs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from recollect.compat.files import (
    ROOT,
    File,
    around,
    as_lesson,
    checked_path,
    content,
    files,
    is_below,
    latest,
    line_count,
    lines_with,
    listing,
    moved,
    new_file,
    parents,
    with_line,
)
from recollect.compat.loop import EngineLoop
from recollect.engine import Engine
from recollect.errors import InvalidInput, NotFound
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.sync import SyncEngine

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types import beta
except ImportError:
    raise ImportError(
        "RecollectMemoryTool needs Anthropic's SDK; `pip install recollect[anthropic]` brings it"
    ) from None

View = beta.BetaMemoryTool20250818ViewCommand
Create = beta.BetaMemoryTool20250818CreateCommand
StrReplace = beta.BetaMemoryTool20250818StrReplaceCommand
Insert = beta.BetaMemoryTool20250818InsertCommand
Delete = beta.BetaMemoryTool20250818DeleteCommand
Rename = beta.BetaMemoryTool20250818RenameCommand
PAGE = 10_000
ACTIVE: tuple[Status, ...] = ("active",)


class Files:
    """The commands, on one user's files."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine, self._scope = engine, scope
        self._lock = asyncio.Lock()  # what is read before a write must still be so when it is written

    async def view(self, command: View) -> str:
        path = asked_path(command)
        known = await self._known()
        if (file := known.get(path)) is not None:
            await self._used([file])
            return content(path, file.lines, getattr(command, "view_range", None))
        if path != ROOT and not any(is_below(other, path) for other in known):
            raise missing(path)
        return listing(path, known.values())

    async def create(self, command: Create) -> str:
        path, text = asked_path(command), asked(command, "file_text")
        async with self._lock:
            check_free(path, await self._known(), f"File {path} already exists")
            await self._write(new_file(path, text))
        return f"File created successfully at: {path}"

    async def str_replace(self, command: StrReplace) -> str:
        path, old, new = asked_path(command), asked(command, "old_str"), asked(command, "new_str")
        async with self._lock:
            file = await self._file(path)
            line = only_line(file, old)
            changed = replace(file, text=file.text.replace(old, new))
            await self._write(changed)
        told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{told}\n{around(changed.lines, line)}"

    async def insert(self, command: Insert) -> str:
        path, added = asked_path(command), asked(command, "insert_text")
        number = getattr(command, "insert_line", None)
        async with self._lock:
            file = await self._file(path)
            text = with_line(file.text, number, added) if isinstance(number, int) else None
            if text is None:
                range_told = f"It should be within the range [0, {line_count(file.text)}]."
                raise ToolError(f"Invalid `insert_line` parameter: {number}. {range_told}")
            await self._write(replace(file, text=text))
        return f"The file {path} has been edited."

    async def delete(self, command: Delete) -> str:
        path = asked_path(command)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        async with self._lock:
            await self._forget(at_or_below(path, await self._known()))
        return f"Successfully deleted {path}"

    async def rename(self, command: Rename) -> str:
        old, new = asked_path(command, "old_path"), asked_path(command, "new_path")
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        async with self._lock:
            known = await self._known()
            chosen = at_or_below(old, known)
            check_free(new, known, f"The destination {new} already exists")
            if is_below(new, old):
                raise ToolError(f"Cannot move {old} into itself")
            for file in all_moved(chosen, old, new):
                await self._write(file)
        return f"Successfully renamed {old} to {new}"

    async def clear(self) -> str:
        """For the application: no command of Claude's comes to this."""
        async with self._lock:
            await self._forget((await self._known()).values())
        return "All memory cleared"

    # The engine

    async def _known(self) -> dict[str, File]:
        return latest(await self._notes(ACTIVE))

    async def _notes(self, status: Sequence[Status] | None) -> list[Memory]:
        notes: list[Memory] = []
        while page := await self._engine.memories(
            self._scope, kinds=("note",), status=status, limit=PAGE, after=notes[-1].id if notes else None
        ):
            notes += page
            if len(page) < PAGE:
                break
        return notes

    async def _file(self, path: str) -> File:
        known = await self._known()
        if path in known:
            return known[path]
        if path == ROOT or any(is_below(other, path) for other in known):
            raise ToolError(f"The path {path} is not a file.")
        raise missing(path)

    async def _write(self, file: File) -> None:
        """The new version first: if this is broken off, the file is there twice and not gone."""
        before = await self._versions(file.keys)
        try:
            await self._engine.learn(self._scope, as_lesson(file, before))
        except InvalidInput as error:
            raise ToolError(str(error)) from None
        for memory in memories_of(before):
            if memory.status == "active":
                await self._engine.close(self._scope, memory.id, owner="user")

    async def _versions(self, keys: Iterable[str]) -> list[File]:
        listed = [await self._engine.memories(self._scope, key=key, status=None, limit=PAGE) for key in keys]
        return files(memory for page in listed for memory in page)

    async def _forget(self, chosen: Collection[File]) -> None:
        """The oldest first: what is forgotten must not bring back what it had replaced."""
        ids, paths = {file.id for file in chosen}, {file.path for file in chosen}
        versions = [
            file
            for file in files(await self._notes(None))
            if file.id in ids or (file.is_current and file.path in paths)
        ]
        for memory in sorted(memories_of(versions), key=lambda memory: (memory.valid_from, memory.id)):
            try:
                await self._engine.forget(self._scope, memory=memory.id, owner="user")
            except NotFound:
                continue  # another was faster

    async def _used(self, read: Iterable[File]) -> None:
        await self._engine.used(self._scope, [memory.id for memory in memories_of(read)])


# What was asked for


def asked(command: object, name: str) -> str:
    """A text of a command. The SDK checks nothing of what a model sends."""
    value = getattr(command, name, None)
    if not isinstance(value, str):
        raise ToolError(f"The command needs `{name}`, a text")
    return value


def asked_path(command: object, name: str = "path") -> str:
    try:
        return checked_path(asked(command, name))
    except InvalidInput as error:
        raise ToolError(str(error)) from None


def check_free(path: str, known: Mapping[str, File], problem: str) -> None:
    """Whether a file or folder may be made here."""
    if path == ROOT or path in known or any(is_below(other, path) for other in known):
        raise ToolError(problem)
    for parent in parents(path):
        if parent in known:
            raise ToolError(f"The path {parent} is a file; nothing can be below it")


def at_or_below(path: str, known: Mapping[str, File]) -> list[File]:
    found = [file for file in known.values() if file.path == path or is_below(file.path, path)]
    if not found:
        raise ToolError(f"The path {path} does not exist")
    return found


def all_moved(chosen: Iterable[File], old: str, new: str) -> list[File]:
    """Before any of them is written: a path may become too long."""
    try:
        return [moved(file, old, new) for file in chosen]
    except InvalidInput as error:
        raise ToolError(str(error)) from None


def only_line(file: File, part: str) -> int:
    """The line with the only occurrence of a part."""
    lines = lines_with(file.text, part)
    if not lines:
        raise ToolError(f"No replacement was performed, old_str `{part}` did not appear verbatim in {file.path}.")
    if len(lines) > 1:
        places = ", ".join(map(str, lines))
        problem = f"Multiple occurrences of old_str `{part}` in lines: {places}. Please ensure it is unique"
        raise ToolError(f"No replacement was performed. {problem}")
    return lines[0]


def missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def memories_of(known: Iterable[File]) -> list[Memory]:
    return [file.memory for file in known if file.memory is not None]


# The two tools


class RecollectMemoryTool(BetaAbstractMemoryTool):
    """For `Anthropic`, on the engine of `connect_sync`."""

    def __init__(
        self,
        engine: Engine | SyncEngine,
        *,
        user: str,
        project: str = "default",
        cache_control: beta.BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._at = EngineLoop(engine)
        self._files = Files(self._at.engine, Scope(user, project=project))

    def view(self, command: View) -> str:
        return self._at.wait(self._files.view(command))

    def create(self, command: Create) -> str:
        return self._at.wait(self._files.create(command))

    def str_replace(self, command: StrReplace) -> str:
        return self._at.wait(self._files.str_replace(command))

    def insert(self, command: Insert) -> str:
        return self._at.wait(self._files.insert(command))

    def delete(self, command: Delete) -> str:
        return self._at.wait(self._files.delete(command))

    def rename(self, command: Rename) -> str:
        return self._at.wait(self._files.rename(command))

    def clear_all_memory(self) -> str:
        return self._at.wait(self._files.clear())


class AsyncRecollectMemoryTool(BetaAsyncAbstractMemoryTool):
    """For `AsyncAnthropic`. With the engine of `connect`, make the tool where that was opened."""

    def __init__(
        self,
        engine: Engine | SyncEngine,
        *,
        user: str,
        project: str = "default",
        cache_control: beta.BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._at = EngineLoop(engine)
        self._files = Files(self._at.engine, Scope(user, project=project))

    async def view(self, command: View) -> str:
        return await self._at.there(self._files.view(command))

    async def create(self, command: Create) -> str:
        return await self._at.there(self._files.create(command))

    async def str_replace(self, command: StrReplace) -> str:
        return await self._at.there(self._files.str_replace(command))

    async def insert(self, command: Insert) -> str:
        return await self._at.there(self._files.insert(command))

    async def delete(self, command: Delete) -> str:
        return await self._at.there(self._files.delete(command))

    async def rename(self, command: Rename) -> str:
        return await self._at.there(self._files.rename(command))

    async def clear_all_memory(self) -> str:
        return await self._at.there(self._files.clear())
