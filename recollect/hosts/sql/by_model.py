"""The model's way: it is told the tables that the question is about, what words mean here, what was asked before and
approved, and writes SQL; the same gate checks it, the database's error goes back to it at most twice. What it asks back
is asked; what it assumed is told. A model that fails or talks nonsense gives None, and the rules go on."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from recollect.errors import InvalidInput, ReasonerFailed
from recollect.hosts.sql.asking import Ask, Spent
from recollect.hosts.sql.linking import described, example_text, examples_for, linked
from recollect.hosts.sql.remembering import may_see
from recollect.hosts.sql.running import Rows
from recollect.hosts.sql.ways import Case, Proposal, Ran, known_assumptions, valid
from recollect.hosts.sql.wording import csv_text
from recollect.model.memory import Memory
from recollect.ports import Message, Reasoner, Reply
from recollect.prompts import marked, prompt
from recollect.sql.patterns import pattern_of, with_examples
from recollect.sql.reading import Assumption, Clarification

log = logging.getLogger("recollect.ask")
SQL_TOKENS = 1500
ANSWER_TOKENS = 1200
SURE = 0.9  # of a model's statement
ASSUMED = 0.8  # where it had to assume something
PER_ASKED = 0.25  # what each word costs that it asks back for
NONE = "(none)"


class Asked(msgspec.Struct):
    term: str = ""
    question: str = ""
    suggestions: list[str] = []


class Supposed(msgspec.Struct):
    term: str = ""
    meaning: str = ""


class Written(msgspec.Struct):
    sql: str = ""
    explanation: str = ""
    clarifications: list[Asked] = []
    assumptions: list[Supposed] = []


class Spoken(msgspec.Struct):
    answer: str
    related_questions: list[str] = []


SCHEMA = msgspec.json.schema(Written)
SPOKEN = msgspec.json.schema(Spoken)


@dataclass(slots=True)
class Talk:
    """One question's conversation with the model, what it has cost, and the attempts that failed. A model that did not
    answer is not asked a second time."""

    reasoner: Reasoner
    messages: list[Message]
    ask: Ask
    spent: Spent = field(default_factory=Spent)
    tried: list[str] = field(default_factory=list)
    failed: Ran | None = None
    is_away: bool = False

    async def say(self, schema: Any, max_tokens: int) -> Reply:
        began = time.perf_counter()
        most = min(max_tokens, self.ask.max_tokens)
        try:
            reply = await self.reasoner.answer(
                self.messages, schema=schema, max_tokens=most, temperature=self.ask.temperature
            )
        except ReasonerFailed:
            self.is_away = True
            raise
        self.messages.append(Message("assistant", reply.text))
        self.spent = replace(
            self.spent,
            input_tokens=self.spent.input_tokens + reply.input_tokens,
            output_tokens=self.spent.output_tokens + reply.output_tokens,
            llm=self.spent.llm + time.perf_counter() - began,
        )
        return reply


def begun(reasoner: Reasoner, case: Case) -> Talk:
    return Talk(reasoner, [Message("system", instructed(case)), Message("user", asked_alone(case))], case.ask)


def asked_alone(case: Case) -> str:
    alone = case.memory.standalone if case.memory else case.question
    return case.question if alone == case.question else f"{case.question}\n(that is: {alone})"


def instructed(case: Case) -> str:
    view, memory, shown = case.view, case.memory, case.ask.shown
    question = memory.standalone if memory else case.question
    return prompt(
        "text2sql",
        dialect=view.catalog.dialect,
        date=case.today.isoformat(),
        schema=described(view, linked(view, question, shown), shown),
        terminology=terminology(case),
        definitions=definitions(case),
        memory=marked("memory", memory.text) if memory and memory.text else NONE,
        examples=example_text(examples_of(case)),
        instructions=case.ask.instructions or NONE,
    )


def examples_of(case: Case) -> list[Memory]:
    """Approved questions, and those that this user found or put right, over what he may see."""
    own = case.memory.rated if case.memory else ()
    question = case.memory.standalone if case.memory else case.question
    return [
        memory for memory in examples_for(question, valid(case, (*own, *case.approved))) if is_visible(case, memory)
    ]


def is_visible(case: Case, memory: Memory) -> bool:
    data = memory.data or {}
    try:
        sql = with_examples(pattern_of(memory.key, memory.value, data.get("parameters") or ()))
    except InvalidInput:
        return False
    return may_see(case.view, sql)


def terminology(case: Case) -> str:
    lines = [f'- "{word}": {target.meaning or target.name}' for word, target in case.told.known.synonyms.items()]
    lines += [f"- {each.table}: always where {each.condition}" for each in case.told.known.default_filters]
    return marked("terminology", "\n".join(lines)) if lines else NONE


def definitions(case: Case) -> str:
    lines = [f"- {each.names[0]}: {each.table} where {each.condition}" for each in case.told.known.definitions]
    lines += [f"- {each.term}: {each.meaning}" for each in case.told.open]
    focus = case.told.known.time_focus
    lines += [f"- where no period is said: {focus}"] if focus else []
    return marked("definitions", "\n".join(lines)) if lines else NONE


async def written(talk: Talk, case: Case) -> Proposal | None:
    """What the model proposes; None if it has nothing to say that can be used."""
    try:
        reply = await talk.say(SCHEMA, SQL_TOKENS)
        made = msgspec.json.decode(unfenced(reply.text), type=Written)
    except (ReasonerFailed, msgspec.DecodeError) as error:
        log.warning("the model's SQL cannot be used: %s", error)
        return None
    asked = tuple(
        Clarification(a.term, a.question, tuple(a.suggestions), "unknown")
        for a in made.clarifications
        if a.term.strip() and a.question.strip()
    )
    if not made.sql.strip() and not asked:
        return None
    return Proposal(
        "model",
        made.sql.strip().rstrip(";"),
        made.explanation,
        SURE - PER_ASKED * len(asked) if not made.sql.strip() else ASSUMED if made.assumptions else SURE,
        asked,
        (*known_assumptions(case), *(Assumption(s.term, s.meaning, "model", ASSUMED) for s in made.assumptions)),
        examples=len(examples_of(case)),
    )


def note_failure(talk: Talk, proposal: Proposal, ran: Ran | None, problem: str) -> None:
    """For the explanation: what was tried, why, and what came of it."""
    why = f"\nBecause: {proposal.explanation}" if proposal.explanation else ""
    talk.tried.append(f"Attempt {len(talk.tried) + 1}: {proposal.sql}{why}\nIt failed: {problem}")
    talk.failed = ran or talk.failed


async def fixed(talk: Talk, case: Case, error: str) -> Proposal | None:
    """Another try, with what was wrong about the last."""
    talk.messages.append(Message("user", prompt("fix_sql", error=marked("error", error))))
    return await written(talk, case)


async def spoken(talk: Talk, case: Case, rows: Rows, count: int) -> tuple[str, tuple[str, ...]] | None:
    """The answer in the model's words, and questions that go on from here."""
    system = prompt(
        "answer_rows",
        form=", as Markdown" if case.ask.markdown else ", as plain text",
        rows=marked("rows", csv_text(rows.columns, rows.rows[: case.ask.told_rows])),
        instructions=case.ask.instructions,
        count=str(count),
    )
    talk.messages = [Message("system", system), Message("user", asked_alone(case))]
    return await _spoken(talk, count)


async def _spoken(talk: Talk, count: int) -> tuple[str, tuple[str, ...]] | None:
    try:
        reply = await talk.say(SPOKEN, ANSWER_TOKENS)
        made = msgspec.json.decode(unfenced(reply.text), type=Spoken)
    except (ReasonerFailed, msgspec.DecodeError) as error:
        log.warning("the model's words cannot be used: %s", error)
        return None
    return made.answer, tuple(made.related_questions[:count])


async def spoken_of_schema(talk: Talk, case: Case, count: int) -> tuple[str, tuple[str, ...]] | None:
    """What the database contains, in the model's words."""
    system = prompt(
        "answer_schema",
        form=", as Markdown" if case.ask.markdown else ", as plain text",
        schema=described(case.view, linked(case.view, case.question, case.ask.shown), case.ask.shown),
        instructions=case.ask.instructions,
        count=str(count),
    )
    talk.messages = [Message("system", system), Message("user", case.question)]
    return await _spoken(talk, count)


def unfenced(text: str) -> str:
    """The JSON object in what a model said around it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text
