"""Without a model: the reply from memory alone. What to say is decided in answers.py; here is what has to be asked of
the engine for it. Learning is waited for only where the message taught something, so that the reply can say what is
known now."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.hosts.chat.amend import amended
from recollect.hosts.chat.answers import MOST_PROFILE, confirmed, from_memory, profile, reasons, unanswered
from recollect.hosts.chat.phrases import Phrases
from recollect.model.chat import Message, Said
from recollect.model.conversation import Turn
from recollect.model.explanation import Explanation
from recollect.model.memory import Memory, kind_and_key
from recollect.model.scope import Scope
from recollect.model.search import Context
from recollect.rules import rulebooks

MOST_RETRACTED = 1000


async def recited(
    engine: Engine, scope: Scope, message: Message, context: Context | None, history: Sequence[Turn], words: Phrases
) -> Said:
    """`history` ends with the message itself."""
    match message.intent:
        case "small talk":
            return Said(words.small_talk(message.text))
        case "profile":
            return profile(await engine.memories(scope, status=("active",), limit=MOST_PROFILE), words)
        case "why":
            last = next((turn for turn in reversed(history) if turn.role == "assistant"), None)
            return reasons(last, await explained(engine, scope, last), words)
        case "teaching":
            return await taught(engine, scope, message, context, history[-1], words)
        case "question":
            if context is None:
                return Said(words.unreachable, error_stage="retrieval")
            return from_memory(message, context, words, rulebooks(), await outlived(engine, scope, context))
        case "statement":
            return await amended(engine, scope, message, history, words) or Said(words.kept)


async def taught(
    engine: Engine, scope: Scope, message: Message, context: Context | None, turn: Turn, words: Phrases
) -> Said:
    """What was done, and, where the message also asks, the answer. An order is not a question, however polite."""
    await engine.settle(scope)
    done = confirmed(message, turn, await concerned(engine, scope, message), words)
    if message.read.commands or not message.asks or context is None:
        return done
    answer = from_memory(message, context, words, rulebooks())
    return Said(f"{done.text}\n{answer.text}", done.sources + answer.sources) if answer.sources else done


async def outlived(engine: Engine, scope: Scope, context: Context) -> list[Memory]:
    """What was so before, of a key that is asked for and has no value any more; the last first."""
    keys = unanswered(context.recall, rulebooks())
    ended = await engine.memories(scope, key=keys, status=("superseded",)) if keys else []
    return sorted(ended, key=lambda memory: memory.valid_to or memory.valid_from, reverse=True)


async def concerned(engine: Engine, scope: Scope, message: Message) -> list[Memory]:
    """What is and was known under the keys of a message, and what was ever taken back if it takes something back."""
    keys = dict.fromkeys(kind_and_key(fact)[1] for fact in message.read.facts)
    known = [memory for key in keys for memory in await engine.memories(scope, key=key, status=None)]
    if any(command.verb == "forget" for command in message.read.commands):
        known += await engine.memories(scope, status=("retracted",), limit=MOST_RETRACTED)
    return list({memory.id: memory for memory in known}.values())


async def explained(engine: Engine, scope: Scope, last: Turn | None) -> Explanation | None:
    """The request behind a reply, as long as it is kept."""
    request = ((last.data or {}).get("memory") or {}).get("request_id") if last else None
    try:
        return await engine.explain(scope, request) if request else None
    except NotFound:
        return None
