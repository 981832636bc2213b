"""Amend: what a plain statement changes where the rules learn nothing from it. It may report a task done, or correct a
value by naming the old one (model/amends.py decides which memory is meant); here it is done, and said. Where it cannot
be told what is meant, nothing is changed, and the reply says that. Called by without_model.py."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.engine import Engine
from recollect.hosts.chat.phrases import Phrases
from recollect.model.amends import Report, Swap, finished, replaced, report_in, swap_in
from recollect.model.chat import Message, Said
from recollect.model.conversation import Turn
from recollect.model.lesson import Lesson
from recollect.model.memory import Memory, is_single
from recollect.model.scope import Scope
from recollect.rules import rulebooks

MOST_KNOWN = 1000
MOST_OPEN = 10  # tasks that a reply lists


async def amended(
    engine: Engine, scope: Scope, message: Message, history: Sequence[Turn], words: Phrases
) -> Said | None:
    """The reply, or None where the statement changes nothing. `history` ends with the message."""
    if (swap := swap_in(message.text, rulebooks())) is not None:
        return await corrected(engine, scope, swap, history[-1], words)
    if (report := report_in(message.text, rulebooks())) is not None:
        return await reported(engine, scope, report, history[:-1], words)
    return None


async def corrected(engine: Engine, scope: Scope, swap: Swap, turn: Turn, words: Phrases) -> Said:
    await engine.settle(scope)
    meant = replaced(swap, await engine.memories(scope, status=("active",), limit=MOST_KNOWN))
    if len(meant) != 1:
        return Said(words.not_corrected.format(old=swap.old))
    [old] = meant
    ending = () if is_single(old.kind, old.key) else (old.id,)
    lesson = Lesson(swap.value, old.key, old.kind, "correction", "user", importance=old.importance, said_in=turn.ref)
    new = await engine.learn(scope, lesson, ending=ending)
    fact = words.brief(new)
    return Said(words.corrected.format(fact=fact, ref=turn.ref, old=old.value), (new.ref,))


async def reported(engine: Engine, scope: Scope, report: Report, before: Sequence[Turn], words: Phrases) -> Said | None:
    if not report.is_plain:
        await engine.settle(scope)
    tasks = await engine.memories(scope, kinds=("todo",), status=("active",))
    done = finished(report, tasks) if report.what else spoken_of(tasks, before)
    if len(done) == 1:
        closed = await engine.close(scope, done[0].id, owner="user")
        return Said(words.closed.format(task=closed.value), (closed.ref,), ended=(closed.ref,))
    if not tasks or (report.is_plain and not done):
        return None
    shown = (done or tasks)[:MOST_OPEN]
    return Said("\n".join([words.which_task, *(f"- {task.value}" for task in shown)]), tuple(t.ref for t in shown))


def spoken_of(tasks: Sequence[Memory], before: Sequence[Turn]) -> list[Memory]:
    """The tasks that the last reply named or offered."""
    last = next((turn for turn in reversed(before) if turn.role == "assistant"), None)
    if last is None:
        return []
    said = "\n".join([last.text, *(last.data or {}).get("suggestions", ())])
    return [task for task in tasks if task.value.rstrip(".。") in said]
