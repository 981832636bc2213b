"""Suggestions: what the user may say next: that a task is done, or a question. Each is about something that is
remembered beside the answer, so that there is an answer; nothing awaited."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from recollect.hosts.chat.answers import told
from recollect.hosts.chat.phrases import Phrases
from recollect.model.chat import asks
from recollect.model.entities import entities
from recollect.model.rulebook import Rulebook
from recollect.model.search import Context


def suggestions(
    context: Context, words: Phrases, most: int, books: Sequence[Rulebook], ended: Collection[str] = ()
) -> tuple[str, ...]:
    """Open tasks first, then names from what was found; none that the question already has, or that is `ended` now."""
    asked = context.recall.query.text.casefold()
    found = (text for name, text in worded(context, words, books, ended) if name.casefold() not in asked)
    return tuple(dict.fromkeys(found))[:most]


def worded(
    context: Context, words: Phrases, books: Sequence[Rulebook], ended: Collection[str]
) -> Iterator[tuple[str, str]]:
    recall = context.recall
    todos = [hit.memory for hit in recall.memories if hit.memory.kind == "todo" and hit.source not in ended]
    for name in dict.fromkeys(todo.value for todo in todos if todo.status == "active"):
        yield name, words.suggest_todo.format(name=name.rstrip(".。"))
    texts = [hit.text for hit in told(recall, books) if not asks(hit.text, books)]
    for name in entities(texts):
        yield name, words.suggest_entity.format(name=name)
