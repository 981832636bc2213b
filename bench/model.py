"""`python -m bench model`: the language model named by RECOLLECT_MODEL_URL and RECOLLECT_MODEL, with real requests.

Messages for learning are JSON lines {"text", "facts": [{"value": "what must be kept"}]}; without a fact nothing may be
kept. Each is read by the rules alone and by the model; a fact is found if one value contains the other, ignoring case.
Then a user tells the assistant a few things and asks about them in other sessions (`QUESTIONS`): an answer counts if it
is a sentence with the expected word and a source. Some are asked in quiet first, then all of them while other
conversations wait to be learned from: replies that take about as long did not wait for learning.
"""

from __future__ import annotations

import asyncio
import json as json_text
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any
from uuid import uuid4

import typer

from bench.evaluation import read_numbered_lines, track_progress
from recollect import connect
from recollect.apps.chat.assistant import Assistant
from recollect.apps.chat.message import Ask
from recollect.bootstrap import make_reasoner, open_assistant
from recollect.cli.options import Json
from recollect.cli.output import print_json, print_text
from recollect.engine import Engine
from recollect.errors import InvalidInput, InvalidSetting, ReasonerConfused
from recollect.flows.reason import extract_facts
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.ports import Reasoner
from recollect.settings import Settings, read_settings
from recollect.values.conversation import Turn
from recollect.values.scope import Scope

STATEMENTS = (
    "My name is Petra and I live in Gdansk.",
    "I work as a bridge inspector for the port authority.",
    "I'm allergic to walnuts.",
    "My dog is called Bruno.",
    "My sister Hannah teaches physics in Graz.",
    "My laptop is a ThinkPad X230.",
    "Our budget for the kitchen is 9,000 euros.",
    "I ride a red Gazelle bicycle to work.",
    "My anniversary is on 14 June.",
    "I'm learning Portuguese on Tuesdays.",
    "My favourite author is Olga Tokarczuk.",
    "The spare key is at the bakery downstairs.",
    "We decided to paint the hallway green.",
)
QUESTIONS = (
    ("Where do I live?", "Gdansk"),
    ("What is my job?", "bridge"),
    ("What am I allergic to?", "walnut"),
    ("What is my dog's name?", "Bruno"),
    ("What does my sister teach?", "physics"),
    ("Which laptop do I have?", "ThinkPad"),
    ("How much can we spend on the kitchen?", "9,000"),
    ("What colour is my bicycle?", "red"),
    ("When is my anniversary?", "14 June"),
    ("Which language am I learning?", "Portuguese"),
    ("Who is my favourite author?", "Tokarczuk"),
    ("Where is the spare key?", "bakery"),
    ("What colour will the hallway be?", "green"),
)
QUIET = 3  # questions that are asked before
WAITING = 6  # conversations to learn from while questions are asked
MIN_WORDS = 3  # of a sentence
Facts = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="JSON lines, one message each.", exists=True, dir_okay=False)
]
NoChat = Annotated[bool, typer.Option("--no-chat", help="Measure learning only.")]


def model(files: Facts = None, no_chat: NoChat = False, json: Json = False) -> None:
    """Measure the configured language model: facts that it learns from messages, and questions about memory in chat."""
    settings = read_settings()
    results = asyncio.run(measure(settings, files or [], with_chat=not no_chat))
    for result in results:
        if json:
            print_json(result)
        else:
            print_text("\n".join(f"{name}: {value}" for name, value in result.items()))


async def measure(settings: Settings, files: Sequence[Path], *, with_chat: bool) -> list[dict[str, Any]]:
    reasoner = make_reasoner(settings)
    if reasoner is None:
        raise InvalidSetting("RECOLLECT_MODEL_URL", "name a server with a language model")
    try:
        results = [await measure_facts(reasoner, path) for path in files]
    finally:
        await reasoner.close()
    return [*results, await measure_chat(settings)] if with_chat else results


@dataclass(slots=True)
class FactCounts:
    file: str
    messages: int = 0
    facts: int = 0
    by_rules: int = 0
    by_model: int = 0
    by_both: int = 0
    false_by_rules: int = 0
    false_by_model: int = 0
    unreadable: int = 0  # replies that are no list of facts
    seconds: float = 0.0
    missed: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)  # other values of messages with a fact

    def count(self, text: str, value: str, ruled: Sequence[str], modelled: Sequence[str]) -> None:
        self.messages += 1
        if not value:
            self.false_by_rules += bool(ruled)
            self.false_by_model += bool(modelled)
            self.invented += [f"{text} -> {each}" for each in modelled]
            return
        self.beside += [f"{text} -> {each}" for each in modelled if not is_among(value, [each])]
        by_rules, by_model = is_among(value, ruled), is_among(value, modelled)
        self.facts += 1
        self.by_rules += by_rules
        self.by_model += by_model
        self.by_both += by_rules or by_model
        if not (by_rules or by_model):
            self.missed.append(f"{text} -> {', '.join(modelled) or 'nothing'} ({value})")


def is_among(value: str, found: Sequence[str]) -> bool:
    wanted = value.casefold()
    return any(wanted in each.casefold() or each.casefold() in wanted for each in found)


async def measure_facts(reasoner: Reasoner, path: Path) -> dict[str, Any]:
    counts, lines = FactCounts(path.name), list(read_numbered_lines(path))
    started = time.perf_counter()
    with track_progress(path.name) as progress:
        for number, line in lines:
            try:
                given = json_text.loads(line)
                text, value = str(given["text"]), str(given["facts"][0]["value"]) if given["facts"] else ""
            except (ValueError, KeyError, TypeError):
                raise InvalidInput("file", f"{path}:{number}: needs text and facts") from None
            ruled = [fact.value for fact in extract(text, "user", rulebooks()).facts]
            try:
                read = await extract_facts(reasoner, [Turn("user", text)], (), rulebooks())
                modelled = [fact.value for fact in read[0].facts]
            except ReasonerConfused:
                counts.unreadable += 1
                modelled = []
            counts.count(text, value, ruled, modelled)
            progress(number, len(lines))
    counts.seconds = round(time.perf_counter() - started, 1)
    return {name: getattr(counts, name) for name in FactCounts.__dataclass_fields__}


async def measure_chat(settings: Settings) -> dict[str, Any]:
    """Ask about what was told in an earlier session, first in quiet, then while other conversations wait."""
    async with connect(settings) as engine, open_assistant(engine, settings) as assistant:
        scope = Scope(f"eval {uuid4()}")
        try:
            await engine.record(Scope(scope.user, "told"), [Turn("user", text) for text in STATEMENTS])
            await engine.settle(scope)
            quiet = [
                (await ask(assistant, scope, f"quiet {word}", question))[1] for question, word in QUESTIONS[:QUIET]
            ]
            await add_waiting(engine, scope)
            right, wrong, seconds = 0, list[str](), list[float]()
            for question, word in QUESTIONS:
                answer, taken = await ask(assistant, scope, f"asked {word}", question)
                seconds.append(taken)
                is_right = word.casefold() in answer.response.casefold() and len(answer.response.split()) >= MIN_WORDS
                right += is_right and bool(answer.memory.sources)
                if not is_right or not answer.memory.sources:
                    wrong.append(f"{question} -> {answer.response}")
            status = await engine.health()
            return {
                "questions": len(QUESTIONS),
                "answered with a sentence and a source": right,
                "median seconds in quiet": median(quiet),
                "median seconds with conversations waiting": median(seconds),
                "slowest reply in seconds": max(seconds),
                "conversations still waiting": status.work.due if status.work else 0,
                "wrong": wrong,
            }
        finally:
            await engine.forget(scope)


async def ask(assistant: Assistant, scope: Scope, session: str, question: str) -> tuple[Any, float]:
    """Return the answer in a session of its own, and the seconds that it took."""
    started = time.perf_counter()
    answer = await assistant.answer(Scope(scope.user, session), Ask(question))
    return answer, round(time.perf_counter() - started, 1)


async def add_waiting(engine: Engine, scope: Scope) -> None:
    for number in range(WAITING):
        turns = [Turn("user", f"{text} That was in week {number}.") for text in STATEMENTS]
        await engine.record(Scope(scope.user, f"waiting {number}"), turns)
