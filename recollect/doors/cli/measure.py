"""`recollect eval` and `recollect bench`: how good recall and learning are, and what they cost beside PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import margin, paper, progress, say_json
from recollect.doors.cli.tables import table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from rich.progress import Progress

evaluations = typer.Typer(help="Measure how good recall and learning are.")
EXTRACTED = ("facts", "extracted", "found", "precision", "recall", "f1")
MEASURES = ("recall@5", "recall@10", "recall@20", "hit@10", "recall@2000tok")

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="JSON lines, also .gz, one conversation each.", exists=True, dir_okay=False),
]
Labelled = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="JSON lines, one labelled sentence each.", exists=True, dir_okay=False),
]
Excluded = Annotated[list[str] | None, typer.Option("--exclude-category", metavar="C", help="Leave out; repeatable.")]
Conversations = Annotated[int | None, typer.Option("--limit-conversations", min=1, help="Only the first ones.")]
Quick = Annotated[bool, typer.Option("--quick", help="A minute instead of many; the numbers are rougher.")]


@evaluations.callback()
def measures() -> None:
    """Measure how good recall and learning are."""


@evaluations.command()
def retrieval(files: Files, exclude: Excluded = None, conversations: Conversations = None, json: Json = False) -> None:
    """Record the conversations of each file, ask its questions, count what is found. Leaves nothing behind."""
    asyncio.run(evaluate_all(files, exclude or [], conversations, json))


@evaluations.command()
def extraction(files: Labelled, json: Json = False) -> None:
    """Learn from the sentences of each file by rules alone, and count the facts that are right. Stores nothing."""
    from recollect.evals.extraction import evaluate

    for path in files:
        result = evaluate(path).to_dict()
        if json:
            say_json({"file": str(path), **result})
        else:
            show_extraction(path, result)


def show_extraction(path: Path, result: Mapping[str, Any]) -> None:
    rows = table("", *EXTRACTED, title=str(path))
    for group in (result["by_category"], result["by_language"], {"all": result}):
        for name, values in group.items():
            rows.add_row(name, *(f"{values[measure]:.4g}" for measure in EXTRACTED))
        rows.add_section()
    console = paper()
    console.print(rows)
    turned_away = ", ".join(f"{reason} {count}" for reason, count in result["rejected"].items())
    sentences = f"{result['sentences']} sentences, {result['junk']} of them junk"
    console.print(f"{sentences}; {result['ms_per_turn']:.2f} ms per turn", style="dim")
    console.print(f"keys that agree: {result['key_agreement']:.3f}; turned away: {turned_away}", style="dim")


async def evaluate_all(files: Sequence[Path], exclude: Sequence[str], conversations: int | None, json: bool) -> None:
    from recollect import connect
    from recollect.evals.retrieval import evaluate

    async with connect() as memory:
        for path in files:
            with progress() as bars:
                moved = mover(bars, path.name)
                result = await evaluate(memory, path, exclude=exclude, conversations=conversations, progress=moved)
            if json:
                say_json({"file": str(path), **result.to_dict()})
            else:
                show_result(path, result.to_dict())


def mover(bars: Progress, name: str) -> Any:
    bar = bars.add_task(name, total=None)
    return lambda done, total: bars.update(bar, completed=done, total=total)


def show_result(path: Path, result: Mapping[str, Any]) -> None:
    rows = table("", "questions", *MEASURES, title=str(path))
    for name, values in [*result["by_category"].items(), ("all", result)]:
        if name == "all":
            rows.add_section()
        rows.add_row(str(name), str(values["questions"]), *(f"{values[measure]:.3f}" for measure in MEASURES))
    console = paper()
    console.print(rows)
    speed = f"p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f} ms"
    console.print(f"{speed}; loaded {result['load_turns_per_s']:,.0f} turns/s", style="dim")


def bench(quick: Quick = False, json: Json = False) -> None:
    """Measure what each verb costs beside bare psycopg on the same server."""
    from recollect.admin import measure_cost

    console = margin()
    report = asyncio.run(measure_cost(read_settings(), quick=quick, progress=console.print))
    if json:
        say_json(report.to_dict())
        return
    rows = table("what", "ours", "floor", "ratio", "limit")
    for row in report.rows():
        rows.add_row(*row)
    paper().print(rows)
