"""Claude's memory tool keeps the promises of Anthropic's own, and those of Recollect: owner, history, forgetting.

The SDK's tool over a folder is the reference: the same commands must get the same answers, errors included.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError

from recollect import Engine, Lesson, Query, Scope, SyncEngine, connect_sync
from recollect.integrations.anthropic import AsyncRecollectMemoryTool, RecollectMemoryTool, format_size, parse_path
from recollect.settings import Settings

from .anthropic_server import Claude, claude_serving

ALEX = Scope("alex")
NOTES = "/memories/notes.md"
DEEP = "/memories/deep/below_the_sea.md"
Command = dict[str, Any]


@pytest.fixture(scope="module")
def claude() -> Iterator[Claude]:
    with claude_serving() as server:
        yield server


@pytest.fixture
def tool(plain: SyncEngine) -> RecollectMemoryTool:
    return RecollectMemoryTool(plain, user="alex")


def view(path: str, **more: Any) -> Command:
    return {"command": "view", "path": path, **more}


def create(path: str, text: str) -> Command:
    return {"command": "create", "path": path, "file_text": text}


def replacing(path: str, old: str, new: str) -> Command:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Command:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Command:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Command:
    return {"command": "rename", "old_path": old, "new_path": new}


def told(tool: RecollectMemoryTool | BetaLocalFilesystemMemoryTool, command: Command) -> str:
    """The answer; of a folder only the places, a folder on a disk has another size."""
    try:
        answer = str(tool.call(command))
    except ToolError as error:
        return f"error: {error}"
    return "\n".join(line.split("\t")[-1] for line in answer.split("\n")) if "levels deep" in answer else answer


def test_every_command_answers_as_anthropics_own_tool_does(tool: RecollectMemoryTool, tmp_path: Path) -> None:
    own = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in (
        view("/memories"),
        create(NOTES, "Likes noodles.\nTunes pumps.\n"),
        create(NOTES, "again"),
        create("/memories/empty", ""),
        create("/memories/work/deep/er/plan.md", "Ship it."),
        create("/memories/.hidden", "Secret."),
        view("/memories"),
        view("/memories/work"),
        view(NOTES),
        view(NOTES, view_range=[2, 2]),
        view(NOTES, view_range=[2, -1]),
        view("/memories/empty"),
        view("/memories/nowhere"),
        replacing(NOTES, "noodles", "rice\nand peas"),
        replacing(NOTES, "noodles", "rice"),
        replacing(NOTES, "s", "z"),
        replacing("/memories/nowhere", "a", "b"),
        replacing("/memories/work", "a", "b"),
        insert(NOTES, 0, "First.\n"),
        insert(NOTES, 4, "Last."),
        insert(NOTES, 9, "Beyond."),
        insert(NOTES, -1, "Before."),
        insert("/memories/empty", 0, "Not empty."),
        insert("/memories/nowhere", 0, "a"),
        view(NOTES),
        view("/memories/empty"),
        rename(NOTES, "/memories/work/notes.md"),
        rename(NOTES, "/memories/b.md"),
        rename("/memories/work", "/memories/empty"),
        rename("/memories/work", "/memories/job"),
        rename("/memories", "/memories/b"),
        view("/memories/job"),
        view("/memories/job/notes.md"),
        view(NOTES),
        create(NOTES, "Anew."),
        view(NOTES),
        delete("/memories/job"),
        delete("/memories/job"),
        delete(NOTES),
        delete("/memories"),
        view("/memories"),
    ):
        assert told(tool, command) == told(own, command), command


def test_what_anthropics_tool_would_not_explain_is_a_clear_error(tool: RecollectMemoryTool) -> None:
    tool.call(create(NOTES, "Kept."))
    tool.call(create(DEEP, "Kept."))
    long = "x" * 30_000
    for command, problem in (
        ({"command": "view"}, "needs the text `path`"),
        ({"command": "create", "path": "/memories/a"}, "needs the text `file_text`"),
        ({"command": "insert", "path": NOTES, "insert_line": None, "insert_text": "a"}, "Invalid `insert_line`"),
        ({"command": "insert", "path": NOTES, "insert_text": "a"}, "within the range [0, 1]"),
        (view(NOTES, view_range=["a", None]), "1\tKept."),
        (rename("/memories/deep", "/memories/" + "a" * 480), "at most 500"),
        (rename("/memories/deep", "/memories/deep/er"), "into itself"),
        (view("/etc/passwd"), "must start with /memories"),
        (create("/memories/../a", "a"), "would escape"),
        (create(f"{NOTES}/below", "a"), "is a file"),
        (rename("/memories/notes.md", f"{NOTES}/x"), "is a file"),
        (create("/memories/nul", "a\0b"), "NUL"),
        (create("/memories/long", long), "Split it into several files"),
        (replacing(NOTES, "Kept.", long), "at most 20,000"),
    ):
        assert problem in told(tool, command), command
    assert told(tool, view("/memories")).splitlines()[1:] == ["/memories", "/memories/deep/", DEEP, NOTES]
    assert told(tool, view(NOTES)).endswith("1\tKept.")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "memories/a",
        "/memoriesx",
        "/memories/..",
        "/memories/a/../../b",
        "/memories/%2e%2e/a",
        "/memories/%252e%252e%252fa",
        "/memories/..\\a",
        "/memories/" + "a" * 500,
    ],
)
def test_no_path_leads_out_of_the_folder(path: str) -> None:
    with pytest.raises(ToolError):
        parse_path(path)


def test_paths_and_sizes_are_written_in_one_way() -> None:
    assert parse_path("/memories//a/./b..c/") == "/memories/a/b..c"
    assert [format_size(size) for size in (0, 1023, 1024, 1536, 2**20)] == ["0B", "1023B", "1K", "1.5K", "1M"]


def test_claude_finds_in_another_conversation_what_it_wrote_in_one(plain: SyncEngine, claude: Claude) -> None:
    def ask(user: str, *script: str | Command) -> list[tuple[str, bool]]:
        claude.hears(*script)
        client = Anthropic(api_key="none", base_url=claude.url, max_retries=0)
        runner = client.beta.messages.tool_runner(
            model="claude",
            max_tokens=100,
            messages=[{"role": "user", "content": "Hello."}],
            tools=[RecollectMemoryTool(plain, user=user)],
            betas=["context-management-2025-06-27"],
        )
        runner.until_done()
        assert [tool["type"] for tool in claude.bodies[0]["tools"]] == ["memory_20250818"]
        return claude.results

    made = (f"File created successfully at: {NOTES}", False)
    assert ask("alex", create(NOTES, "Likes noodles."), "Noted.") == [made]
    [(listed, _), (read, _)] = ask("alex", view("/memories"), view(NOTES), "You like noodles.")
    assert listed.endswith(f"14B\t/memories\n14B\t{NOTES}")
    assert read == f"Here's the content of {NOTES} with line numbers:\n     1\tLikes noodles."
    assert ask("bo", view(NOTES), "Nothing.") == [
        (f"The path {NOTES} does not exist. Please provide a valid path.", True)
    ]


async def test_the_async_tool_serves_the_async_client(memory: Engine, claude: Claude) -> None:
    tool = AsyncRecollectMemoryTool(memory, user="alex", cache_control={"type": "ephemeral"})
    others = [insert(NOTES, 1, "Tunes pumps."), rename(NOTES, "/memories/a"), delete("/memories/a")]
    claude.hears(create(NOTES, "Likes rice."), replacing(NOTES, "rice", "noodles"), view(NOTES), *others, "Done.")
    async with AsyncAnthropic(api_key="none", base_url=claude.url, max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="claude", max_tokens=100, messages=[{"role": "user", "content": "Hello."}], tools=[tool]
        )
        last = await runner.until_done()
    assert [block.text for block in last.content if block.type == "text"] == ["Done."]
    assert claude.bodies[0]["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert [error for _, error in claude.results] == [False] * 6
    assert "Likes noodles." in claude.results[2][0]
    await tool.create(tool_command(NOTES, "Anew."))
    assert await tool.clear_all_memory() == "All memory cleared"
    assert await memory.memories(ALEX, status=None) == []


def tool_command(path: str, text: str) -> Any:
    from anthropic.types.beta import BetaMemoryTool20250818CreateCommand

    return BetaMemoryTool20250818CreateCommand(command="create", path=path, file_text=text)


def test_old_contents_stay_in_the_history_until_the_file_is_deleted(
    tool: RecollectMemoryTool, plain: SyncEngine
) -> None:
    tool.call(create(NOTES, "Likes noodles."))
    tool.call(replacing(NOTES, "noodles", "rice"))
    tool.call(replacing(NOTES, "rice", "noodles"))
    versions = plain.memories(ALEX, key=f"file:{NOTES}", status=None)
    assert [(each.status, each.refs) for each in versions] == [
        ("active", ("@alex",)),
        ("superseded", ("@alex",)),
        ("superseded", ("@alex",)),
    ]
    texts = [(each.data or {})["anthropic"]["text"] for each in versions]
    assert texts == ["Likes noodles.", "Likes rice.", "Likes noodles."]
    assert sum("Likes rice." in line for line in plain.export(ALEX) if '"kind": "memory"' in line) == 1

    tool.call(rename(NOTES, "/memories/food.md"))
    tool.call(create(NOTES, "Another file."))
    tool.call(delete("/memories/food.md"))
    assert told(tool, view(NOTES)).endswith("Another file.")
    assert not [line for line in plain.export(ALEX) if "rice" in line or "noodles" in line]
    assert [deed.action for deed in plain.audit(ALEX)].count("forgot") == 4


def test_files_are_in_a_context_only_when_they_speak_to_the_question(
    tool: RecollectMemoryTool, plain: SyncEngine
) -> None:
    for number in range(5):
        tool.call(create(f"/memories/{number}.md", f"Sailing trip number {number}."))
    plain.learn(ALEX, "Speak plainly.")
    everyday = plain.context(ALEX, Query("How is the weather?", scope="user")).text
    assert "Speak plainly." in everyday
    assert "Sailing" not in everyday
    assert "/memories/3.md: Sailing trip" in plain.context(ALEX, Query("Which sailing trip?", scope="user")).text


def test_a_redacted_value_is_in_no_file(tool: RecollectMemoryTool, plain: SyncEngine) -> None:
    tool.call(create(NOTES, "Lives in Leeds."))
    tool.call(create(DEEP, "Likes noodles."))
    home = plain.learn(ALEX, Lesson("Leeds", key="location", kind="fact"))
    plain.redact(ALEX, home.id)
    assert told(tool, view("/memories")).splitlines()[2:] == ["/memories/deep/", DEEP]
    assert not [line for line in plain.export(ALEX) if "Leeds" in line]


def test_what_is_masked_is_still_one_file(settings: Settings) -> None:
    with connect_sync(replace(settings, mask_sensitive=True), worker=False) as engine:
        tool = RecollectMemoryTool(engine, user="alex")
        tool.call(create("/memories/bo@example.org.md", "Write to bo@example.org."))
        [path] = told(tool, view("/memories")).splitlines()[2:]
        assert path == "/memories/[e-mail]"
        tool.call(replacing(path, "Write", "Talk"))
        assert told(tool, view(path)).endswith("Talk to [e-mail].")
        tool.call(delete(path))
        assert engine.memories(ALEX, status=None) == []


def test_without_the_sdk_the_extra_is_named() -> None:
    code = "import sys; sys.modules['anthropic'] = None; import recollect.integrations.anthropic"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == "ImportError: RecollectMemoryTool needs Anthropic's SDK; run `pip install recollect[anthropic]`"
