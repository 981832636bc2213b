"""`python -m bench retrieval`: recall on public benchmarks, as (gzipped) JSON lines, one conversation per line.

    {"id": ..., "turns": [{"id", "session", "at", "speaker", "role", "text"}],
     "questions": [{"id", "text", "category", "evidence": [turn ids]}]}

The evaluation uses the public verbs in a separate project that is forgotten afterwards. Measures are averaged over
questions: recall@k, the share of a question's evidence among the first k hits; hit@10, any of it; recall@2000tok, the
share inside a context of 2,000 tokens, whole or as an excerpt of at least 300 characters. With --learn all questions
are asked before and after learning, so that one run shows the effect of learning on recall.
"""

from __future__ import annotations

import asyncio
import gzip
import json as json_text
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.evaluation import Progress, track_progress
from recollect import connect
from recollect.cli.options import Json
from recollect.cli.output import print_json, stdout_console
from recollect.cli.tables import make_table
from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.values.conversation import Turn
from recollect.values.query import Context, Query
from recollect.values.scope import Scope, uuid7

KS = (5, 10, 20)
BUDGET = 2000
EXCERPT_CHARS = 300
MEASURES = (*(f"recall@{k}" for k in KS), "hit@10", "recall@2000tok")
Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="JSON lines, also .gz, one conversation each.", exists=True, dir_okay=False),
]
Excluded = Annotated[
    list[str] | None, typer.Option("--exclude-category", metavar="C", help="Leave out this category; repeatable.")
]
MaxConversations = Annotated[int | None, typer.Option("--limit-conversations", min=1, help="Only the first ones.")]
Learn = Annotated[bool, typer.Option("--learn", help="Ask again after learning, and show the difference.")]


def retrieval(
    files: Files,
    exclude: Excluded = None,
    conversations: MaxConversations = None,
    learn: Learn = False,
    json: Json = False,
) -> None:
    """Record the conversations of each file, ask its questions, count what is found. Leaves nothing behind."""

    async def run() -> None:
        # Without a worker, which would learn while the questions before learning are asked.
        async with connect(worker=False) as memory:
            for path in files:
                with track_progress(path.name) as progress:
                    result = await evaluate(
                        memory,
                        path,
                        exclude=exclude or (),
                        conversations=conversations,
                        learn=learn,
                        progress=progress,
                    )
                if json:
                    print_json({"file": str(path), **result.to_dict()})
                else:
                    show(str(path), result.to_dict())

    asyncio.run(run())


def show(title: str, result: Mapping[str, Any]) -> None:
    table = make_table("", "questions", *MEASURES, title=title)
    for name, values in [*result["by_category"].items(), ("all", result)]:
        if name == "all":
            table.add_section()
        table.add_row(str(name), str(values["questions"]), *(f"{values[measure]:.3f}" for measure in MEASURES))
    console = stdout_console()
    console.print(table)
    speed = f"p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f} ms"
    console.print(f"{speed}; loaded {result['load_turns_per_s']:,.0f} turns/s", style="dim")
    if "learned" in result:
        show(f"{title}, after learning", result["learned"])


@dataclass(slots=True)
class Result:
    """Measures of one file."""

    scores: list[tuple[str, Mapping[str, float]]] = field(default_factory=list)  # (category, measure -> value)
    seconds: list[float] = field(default_factory=list)
    turns: int = 0
    load_seconds: float = 0.0
    tokens: list[int] = field(default_factory=list)  # of each context, used by memories and episodes
    learned: Result | None = None  # the same questions, asked after learning

    def to_dict(self) -> dict[str, Any]:
        return {
            "questions": len(self.scores),
            **average_scores([score for _, score in self.scores]),
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
        return {name: {"questions": len(group), **average_scores(group)} for name, group in sorted(groups.items())}


async def evaluate(
    memory: Engine,
    path: Path,
    *,
    exclude: Collection[str] = (),
    conversations: int | None = None,
    learn: bool = False,
    progress: Progress = lambda done, total: None,
) -> Result:
    chosen = list(read_conversations(path))[:conversations]
    result, project = Result(learned=Result() if learn else None), f"eval-{uuid7()}"
    for done, conversation in enumerate(chosen, 1):
        scope = Scope(user=str(conversation["id"]), project=project)
        questions = [q for q in conversation["questions"] if q["category"] not in exclude and q["evidence"]]
        try:
            names = await record_turns(memory, scope, conversation["turns"], result)
            await ask_questions(memory, scope, questions, names, result)
            if result.learned:
                await settle(memory, scope, len(conversation["turns"]), result.learned)
                await ask_questions(memory, scope, questions, names, result.learned)
        finally:
            await memory.forget(scope)
        progress(done, len(chosen))
    return result


def read_conversations(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf8") as lines:
            for number, line in enumerate(lines, 1):
                yield parse_conversation(path, number, line)
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror or error}") from None


def parse_conversation(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        conversation = dict(json_text.loads(line))
        return {name: conversation[name] for name in ("id", "turns", "questions")}
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput(
            "file", f"{path}:{number} is not a conversation with id, turns and questions: {error}"
        ) from None


async def record_turns(
    memory: Engine, scope: Scope, turns: Sequence[Mapping[str, Any]], result: Result
) -> dict[str, str]:
    """Record the turns session by session, and return the benchmark's turn id by our reference."""
    sessions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for turn in turns:
        sessions[str(turn["session"])].append(turn)
    names: dict[str, str] = {}
    started = time.perf_counter()
    for session, session_turns in sessions.items():
        recorded = await memory.record(
            Scope(scope.user, session, scope.project), [make_turn(turn) for turn in session_turns]
        )
        names.update(zip(recorded.refs, (str(turn["id"]) for turn in session_turns), strict=True))
    result.load_seconds += time.perf_counter() - started
    result.turns += len(turns)
    return names


def make_turn(turn: Mapping[str, Any]) -> Turn:
    at = datetime.fromisoformat(turn["at"]) if turn.get("at") else None
    return Turn(turn["role"], turn["text"], speaker=turn.get("speaker"), at=at)


async def settle(memory: Engine, scope: Scope, turns: int, result: Result) -> None:
    """Learn from the conversation; the time counts as loading."""
    started = time.perf_counter()
    await memory.settle(scope)
    result.load_seconds += time.perf_counter() - started
    result.turns += turns


async def ask_questions(
    memory: Engine, scope: Scope, questions: Sequence[Mapping[str, Any]], names: Mapping[str, str], result: Result
) -> None:
    for question in questions:
        started = time.perf_counter()
        recall = await memory.recall(scope, Query(question["text"], limit=max(KS)))
        result.seconds.append(time.perf_counter() - started)
        context = await memory.context(scope, Query(question["text"], budget=BUDGET))

        found = [names[hit.source] for hit in recall.hits]
        packed = list_packed_turns(context, names)
        result.tokens.append(sum(line.tokens for line in context.lines if line.source not in names))
        evidence = set(map(str, question["evidence"]))
        result.scores.append((str(question["category"]), compute_measures(found, packed, evidence)))


def list_packed_turns(context: Context, names: Mapping[str, str]) -> set[str]:
    """Return the turns in the text, whole or as a long enough excerpt. Memories and episodes do not count as turns."""
    turns = [line for line in context.lines if line.source in names]
    return {names[line.source] for line in turns if not line.excerpt or len(line.text) >= EXCERPT_CHARS}


def compute_measures(found: Sequence[str], packed: Collection[str], evidence: Collection[str]) -> dict[str, float]:
    def share(turns: Collection[str]) -> float:
        return len(set(turns) & set(evidence)) / len(set(evidence))

    return {
        **{f"recall@{k}": share(found[:k]) for k in KS},
        "hit@10": float(share(found[:10]) > 0),
        "recall@2000tok": share(packed),
    }


def average_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(sum(s[name] for s in scores) / max(len(scores), 1), 4) for name in MEASURES}


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0
