"""`python -m bench dialogues`: dialogues with questions about them (see stories.py), answered in chat without a model.
A question has the values of which one answers it (`answer`, empty if it must be refused), and perhaps `misspelt`: the
same question with mistakes, which is asked too.

Right: the first statement has the answer. Later: another one has it. Wrong: none has it, and the question was not
refused. Hedged: the reply says that nothing in memory answers, and shows the closest messages; to a question with an
answer these are statements, to one without it is a refusal. All questions are then asked twice in one session, and the
contexts before and after are compared: questions must not push facts out of recall.
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
    open_chat,
    read_stories,
    tell_story,
)
from recollect.apps.chat.assistant import Assistant
from recollect.cli.options import Json
from recollect.cli.output import print_json, stdout_console
from recollect.engine import Engine
from recollect.values.query import Query
from recollect.values.scope import Scope

ASKED = "asked"  # the session of all questions
VERDICTS = ("right", "later", "refused", "wrong")


def dialogues(files: Files, details: Details = False, json: Json = False) -> None:
    """Tell each dialogue, ask its questions, and count the right answers. Leaves nothing behind."""

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
        console.print(
            f"{asked['id']} {asked['text']} {asked['answer']}: {asked['verdict']}", style="bold", markup=False
        )
        console.print("\n".join(f"    {line}" for line in asked["reply"]), markup=False)
    for name in ("answerable", "misspelt", "unanswerable"):
        counts = ", ".join(f"{verdict} {result[name][verdict]:.3f}" for verdict in (*VERDICTS, "hedged"))
        console.print(f"{path.name}, {name}: {result[name]['questions']} questions, {counts}")
    before, after = result["context_before"], result["context_after"]
    console.print(f"{path.name}: answer in the context {before:.3f}, after all questions were asked twice {after:.3f}")


async def evaluate(
    memory: Engine, assistant: Assistant, path: Path, progress: Progress = lambda done, total: None
) -> dict[str, Any]:
    stories = read_stories(path)
    asked: list[dict[str, Any]] = []
    held: list[tuple[bool, bool]] = []
    for done, story in enumerate(stories, 1):
        for question in [each for given in story.questions for each in list_spellings(given)]:
            async with tell_story(memory, story) as scope:
                reply = await ask_chat(assistant, scope, question["text"])
            asked.append({"id": story.id, **question, "verdict": judge(reply, question["answer"])})
            asked[-1] |= {"reply": reply.statements, "hedged": reply.is_refusal and bool(reply.statements)}
        held += await compare_contexts(memory, assistant, story)
        progress(done, len(stories))
    return {**count(asked), **count_contexts(held), "asked": asked}


def judge(reply: Reply, answer: Sequence[str]) -> str:
    """Return right, later, refused or wrong; of a question without an answer, right if it was refused."""
    if not answer:
        return "right" if reply.is_refusal else "wrong"
    places = [n for n, line in enumerate(reply.statements) if find_value(line, answer) is not None]
    if places:
        return "later" if places[0] else "right"
    return "refused" if reply.is_refusal else "wrong"


def count(asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    groups = {
        "answerable": [each["verdict"] for each in asked if each["answer"] and not each["misspelt"]],
        "misspelt": [each["verdict"] for each in asked if each["answer"] and each["misspelt"]],
        "unanswerable": [each["verdict"] for each in asked if not each["answer"]],
    }
    hedged = {
        "answerable": [each["hedged"] for each in asked if each["answer"] and not each["misspelt"]],
        "misspelt": [each["hedged"] for each in asked if each["answer"] and each["misspelt"]],
        "unanswerable": [each["hedged"] for each in asked if not each["answer"]],
    }
    return {
        name: {"questions": len(group), **shares(group), "hedged": share(sum(hedged[name]), len(group))}
        for name, group in groups.items()
    }


def list_spellings(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the question, and the same question misspelt if that is given."""
    plain = {**question, "misspelt": question.get("kind") == "misspelt"}
    text = question.get("misspelt")
    return [plain, {**plain, "text": text, "misspelt": True}] if isinstance(text, str) and text else [plain]


def shares(verdicts: Sequence[str]) -> dict[str, float]:
    counts = Counter(verdicts)
    return {name: share(counts[name], len(verdicts)) for name in VERDICTS}


async def compare_contexts(memory: Engine, assistant: Assistant, story: Story) -> list[tuple[bool, bool]]:
    """Return, for each question with an answer, whether a context has it before and after all were asked twice."""
    questions = [question for question in story.questions if question["answer"]]
    async with tell_story(memory, story) as scope:
        before = [await has_answer(memory, scope, question) for question in questions]
        for question in [*story.questions, *story.questions]:
            await ask_chat(assistant, Scope(scope.user, ASKED, scope.project), question["text"])
        after = [await has_answer(memory, scope, question) for question in questions]
    return list(zip(before, after, strict=True))


async def has_answer(memory: Engine, scope: Scope, question: Mapping[str, Any]) -> bool:
    """Return whether the context has the answer, apart from what was said while the questions were asked."""
    context = await memory.context(Scope(scope.user, None, scope.project), Query(question["text"]))
    lines = [line.text for line in context.lines if not line.source.startswith(f"{ASKED}#")]
    return any(find_value(line, question["answer"]) is not None for line in lines)


def count_contexts(held: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    names = ("context_before", "context_after")
    return {name: share(sum(pair[place] for pair in held), len(held)) for place, name in enumerate(names)}
