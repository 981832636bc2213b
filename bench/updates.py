"""`python -m bench updates`: stories in which a value changes (see stories.py), asked in chat without a model and as a
context. A question has `current` values (none if nothing holds any more) and `stale` ones.

Current: the first statement has a current value and no stale one before it; if nothing is current, no statement shows a
stale value as true. Stale: a statement shows a stale value as true, that is without a current value beside it and
without saying that it ended. Of a context, the lines before the current value count.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.evaluation import Progress, share, track_progress
from bench.stories import (
    Details,
    Files,
    Reply,
    Story,
    ask_chat,
    find_value,
    is_ended,
    open_chat,
    quotes_later,
    read_context,
    read_stories,
    tell_story,
)
from recollect.apps.chat.assistant import Assistant
from recollect.cli.options import Json
from recollect.cli.output import print_json, stdout_console
from recollect.engine import Engine
from recollect.values.scope import Scope


def updates(files: Files, details: Details = False, json: Json = False) -> None:
    """Tell each story, ask its questions, and count current and stale answers. Leaves nothing behind."""

    async def run() -> None:
        async with open_chat() as (memory, assistant):
            for path in files:
                with track_progress(path.name) as progress:
                    result = await evaluate(memory, assistant, path, progress)
                show(path, result, details, json)

    asyncio.run(run())


def show(path: Path, result: Mapping[str, Any], details: bool, json: bool) -> None:
    if json:
        print_json({"file": str(path), **{name: value for name, value in result.items() if details or name != "asked"}})
        return
    console = stdout_console()
    for asked in result["asked"] if details else ():
        console.print(f"{asked['id']} {asked['text']}: chat {asked['chat']}, context {asked['context']}", style="bold")
        console.print("\n".join(f"    {line}" for line in asked["reply"]), markup=False)
    for where in ("chat", "context"):
        counts = result[where]
        console.print(
            f"{path.name}, {where}: {counts['questions']} questions, current {counts['current_share']:.3f},"
            f" stale shown as true {counts['stale_share']:.3f}, refused {counts['refused']}, other {counts['other']}"
        )


async def evaluate(
    memory: Engine, assistant: Assistant, path: Path, progress: Progress = lambda done, total: None
) -> dict[str, Any]:
    stories = read_stories(path)
    asked: list[dict[str, Any]] = []
    for done, story in enumerate(stories, 1):
        for question in story.questions:
            async with tell_story(memory, story) as scope:
                lines = await read_context(memory, scope, question["text"])
                reply = await ask_chat(assistant, Scope(scope.user, None, scope.project), question["text"])
            verdicts = {"chat": judge_reply(reply, story, question), "context": judge_context(lines, story, question)}
            asked.append(
                {"id": story.id, "kind": story.kind, "text": question["text"], **verdicts, "reply": reply.statements}
            )
        progress(done, len(stories))
    return {**{where: count([each[where] for each in asked]) for where in ("chat", "context")}, "asked": asked}


def count(verdicts: Sequence[str]) -> dict[str, Any]:
    counts, total = Counter(verdicts), len(verdicts)
    names = {name: counts[name] for name in ("current", "stale", "refused", "other")}
    shares = {f"{name}_share": share(counts[name], total) for name in ("current", "stale")}
    return {"questions": total, **names, **shares}


def judge_reply(reply: Reply, story: Story, question: Mapping[str, Any]) -> str:
    """Return current, stale, refused or other. Stale wins: a stale value beside the current one is shown as true."""
    current, stale = question["current"], question["stale"]
    if any(is_stale(line, story, current, stale) for line in reply.statements):
        return "stale"
    if not current:
        return "current"
    if reply.statements and is_current(reply.statements[0], current, stale):
        return "current"
    return "refused" if reply.is_refusal else "other"


def judge_context(lines: Sequence[str], story: Story, question: Mapping[str, Any]) -> str:
    current, stale = question["current"], question["stale"]
    for line in lines:
        if current and find_value(line, current) is not None:
            return "current" if is_current(line, current, stale) else "other"
        if is_stale(line, story, current, stale):
            return "stale"
    return "refused" if current else "current"


def is_current(line: str, current: Sequence[str], stale: Sequence[str]) -> bool:
    now, old = find_value(line, current), find_value(line, stale)
    return now is not None and (old is None or now <= old)


def is_stale(line: str, story: Story, current: Sequence[str], stale: Sequence[str]) -> bool:
    if find_value(line, stale) is None or find_value(line, current) is not None or is_ended(line):
        return False
    return bool(current) or not quotes_later(line, story, stale)
