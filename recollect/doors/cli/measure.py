"""`recollect eval` and `recollect bench`: how good recall and learning are, and what they cost beside PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recollect.doors.cli.measure_corrections import corrections
from recollect.doors.cli.measure_documents import documents
from recollect.doors.cli.measure_questions import questions
from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import margin, paper, progress, say_json
from recollect.doors.cli.tables import table
from recollect.settings import Settings, read_settings

if TYPE_CHECKING:
    from rich.progress import Progress

    from recollect.evals.chat_report import ChatReport
    from recollect.evals.http_report import HttpReport, Soak

evaluations = typer.Typer(help="Measure how good recall and learning are.")
evaluations.command()(corrections)
evaluations.command()(questions)
evaluations.command()(documents)
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
Learn = Annotated[bool, typer.Option("--learn", help="Ask again after learning, and show what it changed.")]
Quick = Annotated[bool, typer.Option("--quick", help="A minute instead of many; the numbers are rougher.")]
What = Annotated[Literal["library", "http", "chat", "ask"], typer.Argument(help="What to measure.")]
Minutes = Annotated[float, typer.Option(min=0, help="Of `http`: load the server this long instead.")]


@evaluations.callback()
def measures() -> None:
    """Measure how good recall and learning are."""


@evaluations.command()
def retrieval(
    files: Files,
    exclude: Excluded = None,
    conversations: Conversations = None,
    learn: Learn = False,
    json: Json = False,
) -> None:
    """Record the conversations of each file, ask its questions, count what is found. Leaves nothing behind."""
    asyncio.run(evaluate_all(files, exclude or [], conversations, learn, json))


@evaluations.command()
def updates(files: Files, conversations: Conversations = None, json: Json = False) -> None:
    """Learn from the conversations of each file, list what was replaced by something newer, and see whether recall has
    the newer first. Leaves nothing behind."""
    asyncio.run(find_updates(files, conversations, json))


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


async def evaluate_all(
    files: Sequence[Path], exclude: Sequence[str], conversations: int | None, learn: bool, json: bool
) -> None:
    from recollect import connect
    from recollect.evals.retrieval import evaluate

    # Without a worker: it would learn beside the questions that are asked before learning.
    async with connect(worker=False) as memory:
        for path in files:
            with progress() as bars:
                moved = mover(bars, path.name)
                result = await evaluate(
                    memory, path, exclude=exclude, conversations=conversations, learn=learn, progress=moved
                )
            if json:
                say_json({"file": str(path), **result.to_dict()})
            else:
                show_result(path, result.to_dict())


def mover(bars: Progress, name: str) -> Any:
    bar = bars.add_task(name, total=None)
    return lambda done, total: bars.update(bar, completed=done, total=total)


async def find_updates(files: Sequence[Path], conversations: int | None, json: bool) -> None:
    from recollect import connect
    from recollect.evals.updates import evaluate

    async with connect(worker=False) as memory:
        for path in files:
            with progress() as bars:
                moved = mover(bars, path.name)
                result = await evaluate(memory, path, conversations=conversations, progress=moved)
            if json:
                say_json({"file": str(path), **result.to_dict()})
            else:
                show_updates(path, result.to_dict())


def show_updates(path: Path, result: Mapping[str, Any]) -> None:
    rows = table("key", "was", "is", "why", "in order", title=str(path))
    for update in result["updates"]:
        known = {None: "", True: "yes", False: "no"}[update["in_order"]]
        rows.add_row(update["key"], update["old"], update["new"], update["reason"], known)
    console = paper()
    console.print(rows)
    console.print(f"{result['caught']} updates among {result['memories']} memories, {result['confirmed']} confirmed")
    for name, orders in {**result["questions"], "caught": {"learned": result["caught_in_order"]}}.items():
        counted = [f"{order['in_order']} of {order['asked']} {how}" for how, order in orders.items()]
        console.print(f"{name}: the newer before the older in {', '.join(counted)}", style="dim")


def show_result(path: Path, result: Mapping[str, Any], title: str = "") -> None:
    rows = table("", "questions", *MEASURES, title=title or str(path))
    for name, values in [*result["by_category"].items(), ("all", result)]:
        if name == "all":
            rows.add_section()
        rows.add_row(str(name), str(values["questions"]), *(f"{values[measure]:.3f}" for measure in MEASURES))
    console = paper()
    console.print(rows)
    speed = f"p50 {result['p50_ms']:.1f} ms, p95 {result['p95_ms']:.1f} ms"
    console.print(f"{speed}; loaded {result['load_turns_per_s']:,.0f} turns/s", style="dim")
    if "learned" in result:
        show_result(path, result["learned"], f"{path}, after learning")


def bench(what: What = "library", quick: Quick = False, minutes: Minutes = 0, json: Json = False) -> None:
    """Measure what each verb costs beside bare psycopg on the same server. `http`: what a request over HTTP costs
    beside a bare route; with --minutes, whether the server bears the load. `chat`: what memory adds to a message;
    `ask`: to a question to a database."""
    if minutes and what != "http":
        raise typer.BadParameter("only `bench http` takes --minutes")
    match what:
        case "http":
            bench_http(quick, minutes, json)
        case "chat":
            bench_pairs(asyncio.run(measure_chat(read_settings(), quick)), json)
        case "ask":
            from recollect.doors.cli.measure_ask import measure_ask

            bench_pairs(asyncio.run(measure_ask(read_settings(), quick)), json)
        case _:
            bench_library(quick, json)


def bench_library(quick: bool, json: bool) -> None:
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


def bench_http(quick: bool, minutes: float, json: bool) -> None:
    report = asyncio.run(measure_http(read_settings(), quick, minutes))
    if json:
        say_json(report.to_dict())
    elif report.soak is not None:
        show_soak(report.soak)
    else:
        show_http(report)
    if report.failed:
        raise typer.Exit(1)


async def measure_http(settings: Settings, quick: bool, minutes: float) -> HttpReport:
    from recollect.evals.bench_http import run
    from recollect.wire import connect, find_server

    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(settings, worker=False))
        return await run(memory, settings, owner_dsn, minutes=minutes, quick=quick, progress=margin().print)


def bench_pairs(report: ChatReport, json: bool) -> None:
    if json:
        say_json(report.to_dict())
    else:
        show_chat(report)
    if report.failed:
        raise typer.Exit(1)


async def measure_chat(settings: Settings, quick: bool) -> ChatReport:
    """Two assistants that differ in one setting, and a model that costs nothing."""
    from recollect.evals.bench_chat import REPLY, run
    from recollect.providers.fake import FakeReasoner
    from recollect.wire import chatting, connect, find_server

    on, off = (replace(settings, enabled=enabled, model="", model_url="") for enabled in (True, False))
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(on, worker=False))
        without = await stack.enter_async_context(connect(off, worker=False))
        remembering = await stack.enter_async_context(chatting(memory, on, FakeReasoner(REPLY)))
        forgetful = await stack.enter_async_context(chatting(without, off, FakeReasoner(REPLY)))
        return await run(memory, remembering, forgetful, owner_dsn, quick=quick, progress=margin().print)


def show_chat(report: ChatReport) -> None:
    rows = table("CPU ms of a message", "median", "p95", title=f"{report.turns:,} turns of each user")
    for row in report.rows():
        rows.add_row(*row)
    console = paper()
    console.print(rows)
    verdict = "holds" if report.holds else "does not hold"
    if report.whole is not None:
        verdict += f", with at most {report.whole:g} in all"
    console.print(f"memory adds less than {report.limit:g} CPU ms to 95 % of {len(report.pairs)} messages: {verdict}")
    if report.failed:
        console.print(f"{report.failed} were not answered as they should be; the figures mean nothing", style="red")


def show_http(report: HttpReport) -> None:
    rows = table("what", "clients", "CPU ms", "PostgreSQL's", "clients'", "requests/s", "p50 ms", "p95 ms", "failed")
    for row in report.rows():
        rows.add_row(*row)
    console = paper()
    console.print(rows)
    for line in report.compared:
        console.print(
            f"{line.clients} clients: HTTP adds {line.added:.2f} CPU ms (<= {line.limit:g}) to the verb;"
            f" it takes {line.beside_bare:.1f} times the bare route",
            style="dim",
        )


def show_soak(soak: Soak) -> None:
    console = paper()
    console.print(
        f"{soak.requests:,} requests in {soak.seconds:,.0f} s, {soak.failed} failed; {soak.rate:,.0f} a second,"
        f" p50 {soak.p50:.1f} ms, p95 {soak.p95:.1f} ms"
    )
    rows = table("", "memory MB", "descriptors", "connections")
    for name, held in (("after the warm-up", soak.before), ("at the end", soak.after)):
        rows.add_row(name, f"{held.resident_mb:.0f}", str(held.descriptors), str(held.connections))
    console.print(rows)
    for problem in soak.problems:
        console.print(problem, style="dim")
