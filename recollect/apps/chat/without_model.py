"""Replies from memory alone, and the corrections that a plain statement makes. answers.py decides what to say; this
module loads what that needs.

Learning is awaited only if the message taught or changed something, so that the reply can report it
(learning/amendments.py decides what). If it is unclear which memory is meant, nothing changes, and the reply says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.apps.chat.answers import (
    MAX_PROFILE,
    answer_from_memory,
    answer_profile,
    confirm_changes,
    explain_reply,
    find_unanswered_keys,
    format_learned,
    quote_turn,
)
from recollect.apps.chat.message import ChatReply, Message, has_question, has_request, is_small_talk
from recollect.apps.chat.phrases import Phrases
from recollect.apps.chat.window import LATEST, find_messages, read_window_question
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.learning.amendments import DoneReport, find_finished, find_report, find_swap, reports_change
from recollect.learning.reconcile import ENDED_IN
from recollect.learning.rules import rulebooks
from recollect.values.audit import Explanation
from recollect.values.conversation import Turn
from recollect.values.memory import Memory, classify_fact
from recollect.values.query import Context
from recollect.values.scope import Scope

MAX_RETRACTED = 1000
MAX_MEMORIES = 1000
MAX_WINDOW = 200  # turns of a session that are counted
MAX_SESSIONS = 20  # of a day
MAX_TASKS = 10  # in a reply


async def reply_from_memory(
    engine: Engine, scope: Scope, message: Message, context: Context | None, history: Sequence[Turn], words: Phrases
) -> ChatReply:
    """Return the reply. `history` ends with the message itself."""
    match message.intent:
        case "small talk":
            return ChatReply(words.small_talk(message.text))
        case "profile":
            return answer_profile(await engine.memories(scope, status=("active",), limit=MAX_PROFILE), words)
        case "why":
            last = next((turn for turn in reversed(history) if turn.role == "assistant"), None)
            return explain_reply(last, await load_explanation(engine, scope, last), words)
        case "window":
            return await reply_from_window(engine, scope, message, history[-1], words)
        case "order":
            return ChatReply(words.no_action)
        case "teaching":
            return await reply_to_teaching(engine, scope, message, context, history[-1], words)
        case "question":
            if context is None:
                return ChatReply(words.unreachable, error_stage="retrieval")
            return answer_from_memory(
                message, context, words, rulebooks(), await load_ended_values(engine, scope, context)
            )
        case "statement":
            return await report_changes(engine, scope, message, history, words) or ChatReply(words.kept)


async def reply_from_window(
    engine: Engine, scope: Scope, message: Message, question: Turn, words: Phrases
) -> ChatReply:
    """Return the messages that a question about the conversation means; if there are none, the latest ones."""
    asked, books = read_window_question(message.text), rulebooks()
    if asked is None:
        return ChatReply(words.unknown)
    history = await load_window(engine, scope, question, asked.is_today)
    said = [turn for turn in history if not is_small_talk(turn.text, books)]
    meant = find_messages(asked, said, lambda text: has_question(text, books) or has_request(text, books))
    shown = meant or find_messages(LATEST, said, bool)
    lines = [quote_turn(turn, words, books) for turn in shown]
    if shown and not meant:
        lines = [words.no_such_message, *lines]
    return ChatReply("\n".join(lines) or words.unknown, tuple(turn.ref for turn in shown))


async def load_window(engine: Engine, scope: Scope, question: Turn, is_today: bool) -> list[Turn]:
    """Return what was said before a question, oldest first: in its session, or on its day in all sessions."""
    if not is_today or question.at is None:
        return await engine.history(scope, limit=MAX_WINDOW, before=question.index)
    day, turns = question.at.date(), list[Turn]()
    for conversation in await engine.conversations(scope, limit=MAX_SESSIONS):
        if conversation.updated_at.date() >= day:
            turns += await engine.history(replace(scope, session=conversation.session), limit=MAX_WINDOW)
    before = [turn for turn in turns if turn.at and turn.at.date() == day and turn.at < question.at]
    return sorted(before, key=lambda turn: (turn.at, turn.index or 0))


async def reply_to_teaching(
    engine: Engine, scope: Scope, message: Message, context: Context | None, turn: Turn, words: Phrases
) -> ChatReply:
    """Return what was learned or forgotten, and the answer if the message also asks. A command is not a question."""
    await engine.settle(scope)
    done = confirm_changes(message, turn, await load_affected_memories(engine, scope, message), words)
    if message.read.commands or not message.asks or context is None:
        return done
    answer = answer_from_memory(message, context, words, rulebooks())
    return ChatReply(f"{done.text}\n{answer.text}", done.sources + answer.sources) if answer.sources else done


async def load_ended_values(engine: Engine, scope: Scope, context: Context) -> list[Memory]:
    """Return earlier values of the requested keys that have no value now, the latest first."""
    keys = find_unanswered_keys(context.recall, rulebooks())
    ended = await engine.memories(scope, key=keys, status=("superseded",)) if keys else []
    return sorted(ended, key=lambda memory: memory.valid_to or memory.valid_from, reverse=True)


async def load_affected_memories(engine: Engine, scope: Scope, message: Message) -> list[Memory]:
    """Return current and earlier memories under the keys of a message, and all retracted ones if it forgets
    something."""
    keys = dict.fromkeys(classify_fact(fact)[1] for fact in message.read.facts)
    known = [memory for key in keys for memory in await engine.memories(scope, key=key, status=None)]
    if any(command.verb == "forget" for command in message.read.commands):
        known += await engine.memories(scope, status=("retracted",), limit=MAX_RETRACTED)
    return list({memory.id: memory for memory in known}.values())


async def load_explanation(engine: Engine, scope: Scope, last: Turn | None) -> Explanation | None:
    """Return the explanation of the request behind a reply, if it is still stored."""
    request = ((last.data or {}).get("memory") or {}).get("request_id") if last else None
    try:
        return await engine.explain(scope, request) if request else None
    except NotFound:
        return None


async def report_changes(
    engine: Engine, scope: Scope, message: Message, history: Sequence[Turn], words: Phrases
) -> ChatReply | None:
    """Return what a statement changed in memory; None if it changed nothing. `history` ends with the message."""
    if not reports_change(message.text):
        return None
    await engine.settle(scope)
    turn = history[-1]
    known = await engine.memories(scope, status=("active", "superseded"), limit=MAX_MEMORIES)
    made = next((memory for memory in known if memory.status == "active" and turn.ref in memory.refs[:1]), None)
    if made is not None:
        return ChatReply(format_learned(made, known, turn, words), (made.ref,))
    if ended := [memory for memory in known if (memory.data or {}).get(ENDED_IN) == turn.ref]:
        return report_endings(ended, turn, words)
    if (swap := find_swap(message.text, rulebooks())) is not None:
        return ChatReply(words.not_corrected.format(old=swap.old))
    if (report := find_report(message.text, rulebooks())) is not None:
        return await close_reported_task(engine, scope, report, history[:-1], words)
    return None


def report_endings(ended: Sequence[Memory], turn: Turn, words: Phrases) -> ChatReply:
    """Return which tasks are closed and which values hold no longer."""
    refs, lines = tuple(memory.ref for memory in ended), list[str]()
    for memory in ended:
        closed = words.closed.format(task=memory.value)
        lines.append(closed if memory.kind == "todo" else words.ended.format(fact=words.brief(memory), ref=turn.ref))
    return ChatReply("\n".join(lines), refs, ended=refs)


async def close_reported_task(
    engine: Engine, scope: Scope, report: DoneReport, before: Sequence[Turn], words: Phrases
) -> ChatReply | None:
    tasks = await engine.memories(scope, kinds=("todo",), status=("active",))
    done = find_finished(report, tasks) if report.what else find_mentioned_tasks(tasks, before)
    if len(done) == 1:
        closed = await engine.close(scope, done[0].id, owner="user")
        return ChatReply(words.closed.format(task=closed.value), (closed.ref,), ended=(closed.ref,))
    if not tasks or (report.is_plain and not done):
        return None
    shown = (done or tasks)[:MAX_TASKS]
    return ChatReply("\n".join([words.which_task, *(f"- {task.value}" for task in shown)]), tuple(t.ref for t in shown))


def find_mentioned_tasks(tasks: Sequence[Memory], before: Sequence[Turn]) -> list[Memory]:
    """Return the tasks that the last reply named or suggested."""
    last = next((turn for turn in reversed(before) if turn.role == "assistant"), None)
    if last is None:
        return []
    said = "\n".join([last.text, *(last.data or {}).get("suggestions", ())])
    return [task for task in tasks if task.value.rstrip(".。") in said]
