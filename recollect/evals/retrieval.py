"""Evaluation of recall on public benchmarks in one plain form: gzipped JSON lines, one conversation per line.

    {"id": ..., "turns": [{"id", "session", "at", "speaker", "role", "text"}],
     "questions": [{"id", "text", "category", "evidence": [turn ids]}]}

Everything goes through the public verbs, in a project of its own that is forgotten afterwards. Measures are averaged
over questions: recall@k, the share of a question's evidence among the first k hits; hit@10, any of it; recall@2000tok,
the share inside a packed context of 2,000 tokens, whole or as an excerpt of at least 300 characters. With `learn` all
questions are asked twice, before anything is learned and after, so that one run shows what learning does to recall.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.model.conversation import Turn
from recollect.model.ids import uuid7
from recollect.model.scope import Scope
from recollect.model.search import Context, Query

KS = (5, 10, 20)
BUDGET = 2000
EXCERPT_CHARS = 300
MEASURES = (*(f"recall@{k}" for k in KS), "hit@10", "recall@2000tok")


@dataclass(slots=True)
class Result:
    """One file's measures, collected question by question."""

    scores: list[tuple[str, Mapping[str, float]]] = field(default_factory=list)  # (category, measure -> value)
    seconds: list[float] = field(default_factory=list)
    turns: int = 0
    load_seconds: float = 0.0
    tokens: list[int] = field(default_factory=list)  # of each context that what is known and episodes take
    learned: Result | None = None  # the same questions, asked after learning

    def to_dict(self) -> dict[str, Any]:
        return {
            "questions": len(self.scores),
            **averaged([score for _, score in self.scores]),
            "p50_ms": round(quantile(self.seconds, 0.5) * 1000, 2),
            "p95_ms": round(quantile(self.seconds, 0.95) * 1000, 2),
            "load_turns_per_s": round(self.turns / max(self.load_seconds, 1e-9)),
            "beside_turns_tokens": round(sum(self.tokens) / max(len(self.tokens), 1), 1),
            "by_category": self.by_category(),
            **({"learned": self.learned.to_dict()} if self.learned else {}),
        }

    def by_category(self) -> dict[str, dict[str, Any]]:
        groups: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for category, score in self.scores:
            groups[category].append(score)
        return {name: {"questions": len(group), **averaged(group)} for name, group in sorted(groups.items())}


async def evaluate(
    memory: Engine,
    path: Path,
    *,
    exclude: Collection[str] = (),
    conversations: int | None = None,
    learn: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """`progress` is told how many conversations of how many are done."""
    chosen = list(read(path))[:conversations]
    result, project = Result(learned=Result() if learn else None), f"eval-{uuid7()}"
    for done, conversation in enumerate(chosen, 1):
        scope = Scope(user=str(conversation["id"]), project=project)
        questions = [q for q in conversation["questions"] if q["category"] not in exclude and q["evidence"]]
        try:
            names = await load(memory, scope, conversation["turns"], result)
            await ask_all(memory, scope, questions, names, result)
            if result.learned:
                await settle(memory, scope, len(conversation["turns"]), result.learned)
                await ask_all(memory, scope, questions, names, result.learned)
        finally:
            await memory.forget(scope)
        if progress:
            progress(done, len(chosen))
    return result


def read(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf8") as lines:
            for number, line in enumerate(lines, 1):
                yield parsed(path, number, line)
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None


def parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        conversation = dict(json.loads(line))
        return {name: conversation[name] for name in ("id", "turns", "questions")}
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput(
            "file", f"{path}:{number} is not a conversation with id, turns and questions: {error}"
        ) from None


async def load(memory: Engine, scope: Scope, turns: Sequence[Mapping[str, Any]], result: Result) -> dict[str, str]:
    """Records the turns, a session at a time; the benchmark's name of each by our reference."""
    sessions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for turn in turns:
        sessions[str(turn["session"])].append(turn)
    names: dict[str, str] = {}
    started = time.perf_counter()
    for session, said in sessions.items():
        recorded = await memory.record(Scope(scope.user, session, scope.project), [as_turn(turn) for turn in said])
        names.update(zip(recorded.refs, (str(turn["id"]) for turn in said), strict=True))
    result.load_seconds += time.perf_counter() - started
    result.turns += len(turns)
    return names


def as_turn(turn: Mapping[str, Any]) -> Turn:
    at = datetime.fromisoformat(turn["at"]) if turn.get("at") else None
    return Turn(turn["role"], turn["text"], speaker=turn.get("speaker"), at=at)


async def settle(memory: Engine, scope: Scope, turns: int, result: Result) -> None:
    """Learns all there is to learn; it counts as loading."""
    started = time.perf_counter()
    await memory.settle(scope)
    result.load_seconds += time.perf_counter() - started
    result.turns += turns


async def ask_all(
    memory: Engine, scope: Scope, questions: Sequence[Mapping[str, Any]], names: Mapping[str, str], result: Result
) -> None:
    for question in questions:
        await ask(memory, scope, question, names, result)


async def ask(
    memory: Engine, scope: Scope, question: Mapping[str, Any], names: Mapping[str, str], result: Result
) -> None:
    started = time.perf_counter()
    recall = await memory.recall(scope, Query(question["text"], limit=max(KS)))
    result.seconds.append(time.perf_counter() - started)
    context = await memory.context(scope, Query(question["text"], budget=BUDGET))

    found = [names[hit.source] for hit in recall.hits]
    packed = packed_turns(context, names)
    result.tokens.append(sum(line.tokens for line in context.lines if line.source not in names))
    result.scores.append((str(question["category"]), measured(found, packed, set(map(str, question["evidence"])))))


def packed_turns(context: Context, names: Mapping[str, str]) -> set[str]:
    """The turns that are in the text, whole or as an excerpt long enough to count. What is known and episodes tell of
    turns, and count for none."""
    turns = [line for line in context.lines if line.source in names]
    return {names[line.source] for line in turns if not line.excerpt or len(line.text) >= EXCERPT_CHARS}


def measured(found: Sequence[str], packed: Collection[str], evidence: Collection[str]) -> dict[str, float]:
    def share(turns: Collection[str]) -> float:
        return len(set(turns) & set(evidence)) / len(set(evidence))

    return {
        **{f"recall@{k}": share(found[:k]) for k in KS},
        "hit@10": float(share(found[:10]) > 0),
        "recall@2000tok": share(packed),
    }


def averaged(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(sum(s[name] for s in scores) / max(len(scores), 1), 4) for name in MEASURES}


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
