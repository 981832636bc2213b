"""`python -m bench updates`: does learning notice a changed value, and does recall rank the new value before the old?
It reads the files of retrieval.py and uses the public verbs in a project that is forgotten afterwards.

An update is a memory that was replaced by another one. It is confirmed if its old and its new turn are both evidence of
one question about a change; it is in order if recall ranks a turn of the new value before every turn of the old one. In
the file's questions about changes, the evidence turn with the figures of the answer is new (the last one if no turn has
them), and the turns before it are old. No label says that an update is wrong, so all are listed for review.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.evaluation import Progress, track_progress
from bench.retrieval import Files, MaxConversations, read_conversations, record_turns
from bench.retrieval import Result as LoadResult
from recollect import connect
from recollect.cli.options import Json
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.engine import Engine
from recollect.recall.lexemes import lexemes
from recollect.values.memory import Memory
from recollect.values.query import MAX_HITS, Query
from recollect.values.scope import Scope, uuid7

CHANGES = ("knowledge_update", "contradiction_resolution")  # categories of questions about something that changed
MAX_MEMORIES = 10_000
MAX_SHARED_WORDS = 6
NEUTRAL_QUESTION = "What is my {}?"
FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")


def updates(files: Files, conversations: MaxConversations = None, json: Json = False) -> None:
    """Learn from the conversations of each file, list the values that were replaced, and check that recall ranks the
    new value first. Leaves nothing behind."""

    async def run() -> None:
        async with connect(worker=False) as memory:
            for path in files:
                with track_progress(path.name) as progress:
                    result = await evaluate(memory, path, conversations=conversations, progress=progress)
                if json:
                    print_json({"file": str(path), **result.to_dict()})
                else:
                    show(path, result.to_dict())

    asyncio.run(run())


def show(path: Path, result: Mapping[str, Any]) -> None:
    table = make_table("key", "old", "new", "why", "in order", title=str(path))
    for update in result["updates"]:
        in_order = {None: "", True: "yes", False: "no"}[update["in_order"]]
        table.add_row(update["key"], update["old"], update["new"], update["reason"], in_order)
    console = stdout_console()
    console.print(table)
    console.print(f"{result['caught']} updates among {result['memories']} memories, {result['confirmed']} confirmed")
    for name, orders in {**result["questions"], "caught": {"learned": result["caught_in_order"]}}.items():
        counts = [f"{order['in_order']} of {order['asked']} {mode}" for mode, order in orders.items()]
        console.print(f"{name}: new before old in {', '.join(counts)}", style="dim")


@dataclass(frozen=True, slots=True)
class Update:
    """A replaced memory, its replacement, and the turns they were learned from."""

    conversation: str
    key: str
    old: str
    new: str
    reason: str
    old_turns: Sequence[str]
    new_turns: Sequence[str]
    confirmed: bool
    in_order: bool | None  # None if one turn has both, or recall found neither


@dataclass(slots=True)
class Orders:
    """How often recall ranked the new value before the old one."""

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
    """Updates of one file, and the order of its questions' evidence without and with learning."""

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
    progress: Progress = lambda done, total: None,
) -> Result:
    chosen = list(read_conversations(path))[:conversations]
    result, project = Result(), f"eval-{uuid7()}"
    for done, conversation in enumerate(chosen, 1):
        scope = Scope(user=str(conversation["id"]), project=project)
        questions = [q for q in conversation["questions"] if q["category"] in CHANGES]
        try:
            names = await record_turns(memory, scope, conversation["turns"], LoadResult())
            asked = [(q["category"], q["text"], *split_evidence(q, conversation["turns"])) for q in questions]
            await order_evidence(memory, scope, asked, names, result.plain)
            await memory.settle(scope)
            await order_evidence(memory, scope, asked, names, result.learned)
            texts = {str(turn["id"]): turn["text"] for turn in conversation["turns"]}
            await collect_updates(memory, scope, questions, names, texts, result)
        finally:
            await memory.forget(scope)
        progress(done, len(chosen))
    return result


def split_evidence(question: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the evidence turn with the current value, and the turns before it."""
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
            orders[category].count(is_in_order(await rank_turns(memory, scope, text, names), new, old))


async def collect_updates(
    memory: Engine,
    scope: Scope,
    questions: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    texts: Mapping[str, str],
    result: Result,
) -> None:
    known = await memory.memories(scope, status=None, limit=MAX_MEMORIES)
    by_id = {one.id: one for one in known}
    result.memories += len(known)
    evidence = [set(map(str, question["evidence"])) for question in questions]
    for old in known:
        new = by_id.get(old.replaced_by) if old.replaced_by else None
        if new is not None:
            said = [[texts[names[ref]] for ref in one.refs if ref in names] for one in (old, new)]
            found = await rank_turns(memory, scope, make_neutral_question(new.key, *said), names)
            result.updates.append(make_update(scope.user, old, new, names, evidence, found))


def make_update(
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


def make_neutral_question(key: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return a question that favours neither value: the key, and words that old and new turns share."""
    before = lexemes(" ".join(old))
    shared = [word for word in lexemes(" ".join(new)) if word in before]
    return NEUTRAL_QUESTION.format(" ".join([*key.replace("_", " ").split(), *shared[:MAX_SHARED_WORDS]]))


async def rank_turns(memory: Engine, scope: Scope, question: str, names: Mapping[str, str]) -> list[str]:
    recall = await memory.recall(scope, Query(question, scope="user", limit=MAX_HITS))
    return [names[hit.source] for hit in recall.hits]


def is_in_order(found: Sequence[str], new: Collection[str], old: Collection[str]) -> bool | None:
    """Return None if there is nothing to order: one turn has both, or neither was found."""
    place = {name: n for n, name in enumerate(found)}
    first_new, first_old = (min((place[turn] for turn in turns if turn in place), default=None) for turns in (new, old))
    if first_new == first_old:
        return None
    return first_new is not None and (first_old is None or first_new < first_old)
