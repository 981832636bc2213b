"""`python -m bench`: evaluations of recall, learning, asking and documents (one module each), the cost of the verbs
(`cost`), and what survives faults and restarts (`faults`, `restarts`)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from bench import http_cost, memory_cost, verb_cost
from bench.ask_model import ask_model
from bench.corrections import corrections
from bench.dialogues import dialogues
from bench.documents import documents
from bench.extraction import extraction
from bench.faults import faults
from bench.model import model
from bench.questions import questions
from bench.restarts import restarts
from bench.retrieval import retrieval
from bench.updates import updates
from recollect.cli.app import run_command
from recollect.cli.options import Json
from recollect.cli.output import FAILED, stderr_console
from recollect.settings import read_settings

app = typer.Typer(help="Measure the quality of recall, learning and answers, and their cost.")
Subject = Annotated[Literal["library", "http", "chat", "ask"], typer.Argument(help="What to measure.")]
Quick = Annotated[bool, typer.Option("--quick", help="Take a minute instead of many; the figures are rougher.")]
Minutes = Annotated[float, typer.Option(min=0, help="With `http`: load the server for this long instead.")]


def cost(what: Subject = "library", quick: Quick = False, minutes: Minutes = 0, json: Json = False) -> None:
    """Measure the cost of each verb compared with bare psycopg. `http`: of a request compared with a bare route; with
    --minutes, load the server. `chat`: what memory adds to a message; `ask`: to a question to a database."""
    if minutes and what != "http":
        raise typer.BadParameter("only `http` takes --minutes")
    settings, progress = read_settings(), stderr_console().print
    failed = 0
    match what:
        case "library":
            verb_cost.show_verbs(asyncio.run(verb_cost.measure_verbs(settings, quick=quick, progress=progress)), json)
        case "http":
            requests = http_cost.measure_http(settings, minutes=minutes, quick=quick, progress=progress)
            http_report = asyncio.run(requests)
            http_cost.show_http(http_report, json)
            failed = http_report.failed
        case "chat" | "ask":
            measure = memory_cost.measure_chat if what == "chat" else memory_cost.measure_ask
            report = asyncio.run(measure(settings, quick=quick, progress=progress))
            memory_cost.show_memory_cost(report, json)
            failed = report.failed
    if failed:
        raise typer.Exit(FAILED)


COMMANDS = (
    retrieval,
    updates,
    dialogues,
    extraction,
    corrections,
    questions,
    documents,
    model,
    ask_model,
    faults,
    restarts,
    cost,
)
for command in COMMANDS:
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one evaluation or benchmark and return the exit code."""
    return run_command(app, "bench", arguments)


if __name__ == "__main__":
    sys.exit(main())
