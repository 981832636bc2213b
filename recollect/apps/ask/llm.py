"""The model's way: it is told the tables that the question is about, what words mean here, what was asked before and
approved, and writes SQL; the same gate checks it, the database's error goes back to it at most twice. What it asks back
is asked; what it assumed is told. A model that fails or talks nonsense gives None, and the rules go on."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import msgspec

from recollect.apps.ask.memory import may_see
from recollect.apps.ask.patterns import pattern_of, with_examples
from recollect.apps.ask.proposals import Case, Proposal, Ran, list_known_words, valid
from recollect.apps.ask.question import Ask, Assumption, Clarification, Spent
from recollect.apps.ask.schema_prompt import described, example_text, examples_for, linked
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.wording import csv_text
from recollect.errors import InvalidInput, ReasonerFailed
from recollect.ports import Message, Reasoner, Reply
from recollect.prompts import mark_data, render_prompt
from recollect.recall.tokens import count_tokens
from recollect.values.memory import Memory

log = logging.getLogger("recollect.ask")
SQL_TOKENS = 1500
ANSWER_TOKENS = 1200
SURE = 0.9  # of a model's statement
ASSUMED = 0.8  # where it had to assume something
PER_ASKED = 0.25  # what each word costs that it asks back for
FACT_TOKENS = 800  # of what the project knows
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
    return render_prompt(
        "text2sql",
        dialect=view.catalog.dialect,
        date=case.today.isoformat(),
        schema=described(view, linked(view, question, shown), shown),
        terminology=terminology(case),
        definitions=definitions(case),
        facts=facts_text(facts_of(case)),
        memory=mark_data("memory", memory.text) if memory and memory.text else NONE,
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
    """Return other names of tables, columns and figures, and the filters that always hold."""
    words = [each for each in case.taught.words if each.word.target or each.word.expression]
    lines = [f'- "{each.term}": {each.meaning}' for each in words]
    lines += [f"- {each.filter.table}: always where {each.filter.condition}" for each in case.taught.filters]
    return mark_data("terminology", "\n".join(dict.fromkeys(lines))) if lines else NONE


def definitions(case: Case) -> str:
    """Return the words that stand for a condition, as SQL where that is known."""
    lines = list[str]()
    for each in case.taught.words:
        if each.word.condition:
            lines.append(f"- {each.term}: {each.word.table} where {each.word.condition}")
        elif each.word.meaning:
            lines.append(f"- {each.term}: {each.meaning}")
    focus = case.taught.time_focus
    lines += [f"- where no period is said: {focus}"] if focus else []
    return mark_data("definitions", "\n".join(dict.fromkeys(lines))) if lines else NONE


def facts_of(case: Case) -> list[Memory]:
    """Return what the project knows about the words of the question, but for what stands among the definitions already
    and what names something that this role may not see."""
    if case.memory is None:
        return []
    meant = {each.memory for each in case.memory.resolutions}
    hidden = hidden_names(case)
    return [fact for fact in case.memory.facts if fact.id not in meant and hidden.isdisjoint(words_in(fact.text))]


def hidden_names(case: Case) -> frozenset[str]:
    """Return the tables and columns of the source that this role does not see."""
    if case.view.is_whole:
        return frozenset()
    return names_in(case.shelf.catalog) - names_in(case.view.catalog)


def names_in(catalog: Catalog) -> frozenset[str]:
    columns = {column.name.casefold() for table in catalog.tables for column in table.columns}
    return frozenset(columns | {table.name.casefold() for table in catalog.tables})


def words_in(text: str) -> frozenset[str]:
    """Return what in a text could be the name of a table or a column; "order lines" could be order_lines."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset([*words, *("_".join(pair) for pair in pairwise(words))])


def facts_text(facts: Sequence[Memory]) -> str:
    room, lines = FACT_TOKENS, list[str]()
    for fact in facts:
        line = f"- {fact.key.replace('_', ' ')}: {fact.value}"
        room -= count_tokens(line)
        if room < 0:
            break
        lines.append(line)
    return mark_data("facts", "\n".join(lines)) if lines else NONE


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
        (*list_known_words(case), *(Assumption(s.term, s.meaning, "model", ASSUMED) for s in made.assumptions)),
        examples=len(examples_of(case)),
    )


def note_failure(talk: Talk, proposal: Proposal, ran: Ran | None, problem: str) -> None:
    """For the explanation: what was tried, why, and what came of it."""
    why = f"\nBecause: {proposal.explanation}" if proposal.explanation else ""
    talk.tried.append(f"Attempt {len(talk.tried) + 1}: {proposal.sql}{why}\nIt failed: {problem}")
    talk.failed = ran or talk.failed


async def fixed(talk: Talk, case: Case, error: str) -> Proposal | None:
    """Another try, with what was wrong about the last."""
    talk.messages.append(Message("user", render_prompt("fix_sql", error=mark_data("error", error))))
    return await written(talk, case)


async def spoken(talk: Talk, case: Case, rows: Rows, count: int) -> tuple[str, tuple[str, ...]] | None:
    """The answer in the model's words, and questions that go on from here."""
    system = render_prompt(
        "answer_rows",
        form=", as Markdown" if case.ask.markdown else ", as plain text",
        rows=mark_data("rows", csv_text(rows.columns, rows.rows[: case.ask.told_rows])),
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
    system = render_prompt(
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
