"""Evaluation of updates: does learning notice that something changed, and does recall then put what is so before what
was? On files of the form that retrieval.py reads, through the public verbs, in a project that is forgotten afterwards.

An update is a memory that was ended by another one. It is confirmed when its old and its new turn are both evidence of
one question about a change; it is in order when recall has a turn of the new value before every turn of the old one.
For the file's questions about changes the evidence turn with the figures of the answer counts as new (the last, where
they do not tell), and those before it as old. No label says that an update is wrong, so all are listed, to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recollect.engine import Engine
from recollect.evals.retrieval import Result as Loaded
from recollect.evals.retrieval import load, read
from recollect.model.ids import uuid7
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.model.search import MAX_HITS, Query
from recollect.model.text import lexemes

CHANGES = ("knowledge_update", "contradiction_resolution")  # categories of questions about something that changed
MOST_MEMORIES = 10_000
MOST_SHARED = 6  # words
NEUTRAL = "What is my {}?"
FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class Update:
    """One memory that ended, with the one that took its place, and the turns that said them."""

    conversation: str
    key: str
    old: str
    new: str
    reason: str
    old_turns: Sequence[str]
    new_turns: Sequence[str]
    confirmed: bool
    in_order: bool | None  # unknown if one turn said both, or recall found neither


@dataclass(slots=True)
class Orders:
    """How often recall had the new before the old, of how many times there were both."""

    asked: int = 0
    in_order: int = 0

    def count(self, in_order: bool | None) -> None:
        if in_order is not None:
            self.asked += 1
            self.in_order += in_order

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "share": round(self.in_order / self.asked, 4) if self.asked else None}


@dataclass(slots=True)
class Result:
    """One file's updates, and the order of its questions' evidence without learning and with it."""

    updates: list[Update] = field(default_factory=list)
    memories: int = 0
    plain: dict[str, Orders] = field(default_factory=lambda: {name: Orders() for name in CHANGES})
    learned: dict[str, Orders] = field(default_factory=lambda: {name: Orders() for name in CHANGES})

    def to_dict(self) -> dict[str, Any]:
        orders = Orders()
        for update in self.updates:
            orders.count(update.in_order)
        return {
            "memories": self.memories,
            "caught": len(self.updates),
            "confirmed": sum(update.confirmed for update in self.updates),
            "by_key": dict(Counter(update.key for update in self.updates).most_common()),
            "caught_in_order": orders.to_dict(),
            "questions": {
                name: {"plain": self.plain[name].to_dict(), "learned": self.learned[name].to_dict()}
                for name in CHANGES
            },
            "updates": [asdict(update) for update in self.updates],
        }  # fmt: skip


async def evaluate(
    memory: Engine,
    path: Path,
    *,
    conversations: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """`progress` is told how many conversations of how many are done."""
    chosen = list(read(path))[:conversations]
    result, project = Result(), f"eval-{uuid7()}"
    for done, conversation in enumerate(chosen, 1):
        scope = Scope(user=str(conversation["id"]), project=project)
        questions = [q for q in conversation["questions"] if q["category"] in CHANGES]
        try:
            names = await load(memory, scope, conversation["turns"], Loaded())
            asked = [(q["category"], q["text"], *new_and_old(q, conversation["turns"])) for q in questions]
            await order_evidence(memory, scope, asked, names, result.plain)
            await memory.settle(scope)
            await order_evidence(memory, scope, asked, names, result.learned)
            texts = {str(turn["id"]): turn["text"] for turn in conversation["turns"]}
            await collect(memory, scope, questions, names, texts, result)
        finally:
            await memory.forget(scope)
        if progress:
            progress(done, len(chosen))
    return result


def new_and_old(question: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """The evidence turn that says what is so now, and those before it."""
    evidence = set(map(str, question["evidence"]))
    said = [turn for turn in turns if str(turn["id"]) in evidence]
    figures = set(FIGURES.findall(str(question.get("answer", ""))))
    stated = [len(figures.intersection(FIGURES.findall(turn["text"]))) for turn in said]
    newest = max(range(len(said)), key=lambda n: (stated[n], n), default=0)
    names = [str(turn["id"]) for turn in said]
    return names[newest : newest + 1], names[:newest]


async def order_evidence(
    memory: Engine,
    scope: Scope,
    asked: Sequence[tuple[str, str, Collection[str], Collection[str]]],
    names: Mapping[str, str],
    orders: Mapping[str, Orders],
) -> None:
    for category, text, new, old in asked:
        if old:
            orders[category].count(is_in_order(await ranked(memory, scope, text, names), new, old))


async def collect(
    memory: Engine,
    scope: Scope,
    questions: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    texts: Mapping[str, str],
    result: Result,
) -> None:
    known = await memory.memories(scope, status=None, limit=MOST_MEMORIES)
    by_id = {one.id: one for one in known}
    result.memories += len(known)
    evidence = [set(map(str, question["evidence"])) for question in questions]
    for old in known:
        new = by_id.get(old.replaced_by) if old.replaced_by else None
        if new is not None:
            said = [[texts[names[ref]] for ref in one.refs if ref in names] for one in (old, new)]
            found = await ranked(memory, scope, neutral(new.key, *said), names)
            result.updates.append(as_update(scope.user, old, new, names, evidence, found))


def as_update(
    user: str,
    old: Memory,
    new: Memory,
    names: Mapping[str, str],
    evidence: Sequence[Collection[str]],
    found: Sequence[str],
) -> Update:
    old_turns, new_turns = ([names[ref] for ref in one.refs if ref in names] for one in (old, new))
    return Update(
        conversation=user,
        key=f"{new.kind}/{new.key}",
        old=old.value,
        new=new.value,
        reason=old.reason or "",
        old_turns=old_turns,
        new_turns=new_turns,
        confirmed=any(set(old_turns) & set(turns) and set(new_turns) & set(turns) for turns in evidence),
        in_order=is_in_order(found, new_turns, old_turns),
    )


def neutral(key: str, old: Sequence[str], new: Sequence[str]) -> str:
    """A question that favours neither value: the key, and words that old and new turns share."""
    before = lexemes(" ".join(old))
    shared = [word for word in lexemes(" ".join(new)) if word in before]
    return NEUTRAL.format(" ".join([*key.replace("_", " ").split(), *shared[:MOST_SHARED]]))


async def ranked(memory: Engine, scope: Scope, question: str, names: Mapping[str, str]) -> list[str]:
    recall = await memory.recall(scope, Query(question, scope="user", limit=MAX_HITS))
    return [names[hit.source] for hit in recall.hits]


def is_in_order(found: Sequence[str], new: Collection[str], old: Collection[str]) -> bool | None:
    """None where there is nothing to order: one turn said both, or neither was found."""
    place = {name: n for n, name in enumerate(found)}
    first_new, first_old = (min((place[turn] for turn in turns if turn in place), default=None) for turns in (new, old))
    if first_new == first_old:
        return None
    return first_new is not None and (first_old is None or first_new < first_old)
