"""Asking a language model: prompts for SQL, its replies, other prompts where a statement fails, and answers in words.

The prompt has the schema first, so that a server can keep it between questions, then what the question's words mean and
match, then the question. It fits the model's context window: memory is left out first. A failed statement is never
argued about: a new prompt of another form shows the columns of the tables concerned. A model that does not answer is
not asked again for the same question, and the answer's notes name the failure.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import msgspec

from recollect.apps.ask.gate.check import list_tables
from recollect.apps.ask.memory import may_see
from recollect.apps.ask.patterns import pattern_of, with_examples
from recollect.apps.ask.proposals import Case, Ran, is_said, list_vetted
from recollect.apps.ask.question import Clarification, OnText, Spent
from recollect.apps.ask.schema_prompt import DIALECTS, SAMPLES, choose_tables, link_tables, quote, write_schema
from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.wording import csv_text
from recollect.errors import InvalidInput, ReasonerFailed
from recollect.ports import Message, Reasoner, StreamingReasoner
from recollect.prompts import mark_data, render_prompt
from recollect.recall.lexemes import lexemes
from recollect.recall.tokens import count_tokens
from recollect.values.memory import Memory

log = logging.getLogger("recollect.ask")
SQL_TOKENS = 600
ANSWER_TOKENS = 1200
FACT_TOKENS = 800  # of what the project knows
MARGIN = 1.15  # tokens are counted roughly
MOST_EXAMPLES, ALIKE = 3, 0.4  # vetted questions that are shown, and the share of words that they have in common
MOST_VALUES = 10
REPAIRS = 2  # per question
WARM = 0.7  # temperature of samples after the first of a form
THOUGHTS = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL)
FENCED = re.compile(r"```\w*\s*(.*?)(?:```|$)", re.DOTALL)
STATEMENT = re.compile(r"\b(?:SELECT|WITH)\b.*", re.DOTALL | re.IGNORECASE)
RELATED = "related questions"
RELATED_LINE = re.compile(rf"\n[ \t*#]*{RELATED}[ \t:*]*(?:\n|$)", re.IGNORECASE)


class Asked(msgspec.Struct):
    term: str = ""
    question: str = ""
    suggestions: list[str] = []


class Written(msgspec.Struct):
    """A reply: SQL, or what the model asks back. Models that reply in JSON use these names."""

    sql: str = ""
    clarifications: list[Asked] = []

    @property
    def questions(self) -> tuple[Clarification, ...]:
        return tuple(
            Clarification(each.term, each.question, tuple(each.suggestions))
            for each in self.clarifications
            if each.term.strip() and each.question.strip()
        )


@dataclass(frozen=True, slots=True)
class Room:
    """How much a prompt shows; each level shows less."""

    rows: int = SAMPLES
    tables: int | None = None  # the best linked; None: as chosen
    has_memory: bool = True
    has_knowledge: bool = True  # examples and project facts


LEVELS = (
    Room(), Room(has_memory=False), Room(has_memory=False, has_knowledge=False), Room(0, None, False, False),
    Room(0, 5, False, False), Room(0, 2, False, False),
)  # fmt: skip


@dataclass(slots=True)
class Talk:
    """What one question costs at the model, the attempts that failed, and notes about the model itself. `window` is
    its context in tokens, 0 if unknown; `until` is when no further attempt begins."""

    reasoner: Reasoner
    case: Case
    window: int = 0
    until: float = float("inf")
    spent: Spent = field(default_factory=Spent)
    tried: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: Ran | None = None  # the last statement that the database refused
    refused: set[str] = field(default_factory=set)  # statements that failed or found nothing
    repairs: int = 0
    is_away: bool = False

    @property
    def is_over(self) -> bool:
        return self.is_away or time.perf_counter() > self.until

    async def send(
        self, messages: Sequence[Message], max_tokens: int, temperature: float = 0.0, on_text: OnText | None = None
    ) -> str | None:
        """Return the reply; None, with a note, if the model fails. `on_text` gets pieces as they come."""
        began, ask = time.perf_counter(), self.case.ask
        most, heat = min(max_tokens, ask.max_tokens), max(ask.temperature, temperature)
        try:
            if on_text is not None and isinstance(self.reasoner, StreamingReasoner):
                text, read = "", sum(count_tokens(each.text) for each in messages)
                async for piece in self.reasoner.stream(messages, max_tokens=most, temperature=heat):
                    text += piece
                    await on_text(piece)
                given = count_tokens(text)
            else:
                reply = await self.reasoner.answer(messages, max_tokens=most, temperature=heat)
                text, read, given = reply.text, reply.input_tokens, reply.output_tokens
        except ReasonerFailed as error:
            log.warning("the language model failed: %s", error)
            self.is_away = True
            self.notes.append(f"the language model did not answer: {error}")
            return None
        spent = self.spent
        self.spent = replace(
            spent,
            input_tokens=spent.input_tokens + read,
            output_tokens=spent.output_tokens + given,
            llm=spent.llm + time.perf_counter() - began,
        )
        return THOUGHTS.sub("", text).strip()

    def note_failure(self, sql: str, problem: str) -> None:
        self.refused.add(sql)
        self.tried.append(f"Attempt {len(self.tried) + 1}: {sql}\nIt failed: {problem}")


# SQL -----------------------------------------------------------------------------------------------------------------


async def sample_sql(talk: Talk, sample: int = 0) -> Written | None:
    """Return a sample of the model's SQL. Odd samples have a short prompt; those after the second are warm."""
    messages = short_prompt(talk) if sample % 2 else whole_prompt(talk)
    return read_reply(talk, await talk.send(messages, SQL_TOKENS, WARM if sample > 1 else 0.0))


async def repair_sql(talk: Talk, sql: str, problem: str) -> str | None:
    """Return another statement for the question, if it has a repair left: by a new prompt, with the columns of the
    tables that the failed one names, and warm from the second time on. One that was refused already is not returned."""
    catalog = talk.case.view.catalog
    names = {name.casefold() for name in list_tables(sql, catalog.dialect)}
    joins = [{join.table.casefold(), join.to.casefold()} for join in talk.case.view.model.joins]
    near = names.union(*(pair for pair in joins if pair & names))
    tables = sorted(
        (each for each in catalog.tables if each.name.casefold() in near),
        key=lambda each: each.name.casefold() not in names,
    )
    text = f"\nThis query is not the answer:\n{sql}\nReason: {problem}"
    messages = short_prompt(talk, tables, mark_data("problem", text))
    while talk.repairs < REPAIRS and not talk.is_over:
        talk.repairs += 1
        made = read_reply(talk, await talk.send(messages, SQL_TOKENS, WARM if talk.repairs > 1 else 0.0))
        if made and made.sql and made.sql not in talk.refused:
            return made.sql
    return None


def read_reply(talk: Talk, text: str | None) -> Written | None:
    """Return the statement in a reply: JSON with `sql`, a fenced block, or bare."""
    if text is None:
        return None
    made, start, end = Written(), text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            made = msgspec.json.decode(text[start : end + 1], type=Written)
        except msgspec.DecodeError:
            made = Written()
    if not made.sql and not made.questions:
        fenced = FENCED.search(text)
        found = STATEMENT.search(fenced[1] if fenced else text.partition("\n\n")[0])
        made = Written(found[0]) if found else made
    made.sql = made.sql.strip().rstrip(";").strip()
    if not made.sql and not made.questions:
        talk.notes = ["the language model's reply had no SQL in it"]
        return None
    return made


def whole_prompt(talk: Talk) -> list[Message]:
    """Return the prompt with CREATE TABLE statements and rows, as much as fits the model's window."""
    case, messages = talk.case, list[Message]()
    view, shown, question = case.view, case.ask.shown, standalone(case)
    for room in LEVELS:
        if room.tables is None:
            tables = choose_tables(view, question, shown)
        else:
            tables = link_tables(view, question, replace(shown, tables=room.tables, most=room.tables + 1))
        schema = write_schema(view, tables, shown, min(room.rows, shown.values))
        system = render_prompt(
            "text2sql", dialect=name_dialect(case), date=case.today.isoformat(), schema=mark_data("schema", schema)
        )
        asked = render_prompt(
            "text2sql_question", context=write_context(case, room), question=question, dialect=name_dialect(case)
        )
        messages = [Message("system", system), Message("user", asked)]
        if not talk.window or MARGIN * count_tokens(system + asked) + SQL_TOKENS <= talk.window:
            break
    return messages


def short_prompt(talk: Talk, tables: Sequence[Table] = (), problem: str = "") -> list[Message]:
    """Return the prompt with tables as lists of columns, and a problem to avoid."""
    case = talk.case
    question = standalone(case)
    tables = tables or choose_tables(case.view, question, case.ask.shown)
    lines = list[str]()
    for table in tables:
        columns = ", ".join(quote(each.name, case.view) for each in table.columns)
        lines.append(f"{table.name}({columns})")
        lines += [
            f"  {table.name}.{join.columns[0]} = {join.to}.{join.to_columns[0]}"
            for join in case.view.model.joins
            if join.table == table.name
        ]
    text = render_prompt(
        "text2sql_short",
        context=write_context(case, Room(has_memory=False)),
        question=question,
        schema=mark_data("schema", "\n".join(lines)),
        problem=problem,
        dialect=name_dialect(case),
    )
    return [Message("user", text)]


def name_dialect(case: Case) -> str:
    dialect = case.view.catalog.dialect
    return DIALECTS.get(dialect, dialect)


def standalone(case: Case) -> str:
    return case.memory.standalone if case.memory else case.question


# What is known about the question ------------------------------------------------------------------------------------


def write_context(case: Case, room: Room) -> str:
    """Return what the words of the question mean and match, and what is known beside it; sections without content are
    left out."""
    memory = case.memory
    sections = {"values of the data that the question names": list_values(case), "terms": list_meanings(case)}
    if room.has_knowledge:
        sections["facts"] = list_facts(case)
        sections["earlier questions with their SQL"] = [
            f"Question: {each.key}\nSQL: {each.value}" for each in list_examples(case)
        ]
    if room.has_memory and memory and memory.text:
        sections["the conversation so far"] = [memory.text]
    made = [mark_data(title, "\n".join(dict.fromkeys(lines))) for title, lines in sections.items() if lines]
    made += [case.ask.instructions] if case.ask.instructions else []
    return "".join(f"{each}\n\n" for each in made)


def list_values(case: Case) -> list[str]:
    found = case.interpretation.values if case.interpretation else ()
    quoted = ((table, column, value.replace("'", "''")) for table, column, value in found[:MOST_VALUES])
    return [f"{table}.{column} = '{value}'" for table, column, value in quoted]


def list_meanings(case: Case) -> list[str]:
    """Return what words mean: other names, figures and conditions, with filters that always hold."""
    lines, taught = list[str](), case.taught
    for each in taught.words:
        word = each.word
        where = f" ({word.table} where {word.condition})" if word.condition else ""
        lines.append(f'- "{each.term}": {each.meaning}{where}')
    known = [each for each in case.view.model.definitions if any(is_said(name, case.question) for name in each.names)]
    lines += [f'- "{each.names[0]}": {each.table} where {each.condition}' for each in known]
    lines += [f"- {each.filter.table}: always where {each.filter.condition}" for each in taught.filters]
    lines += [f"- where no period is said: {taught.time_focus}"] if taught.time_focus else []
    return [*lines, *([f"- over time, where no unit is said: by {taught.grain}"] if taught.grain else ())]


def list_examples(case: Case) -> list[Memory]:
    """Return questions that a person stands for and that are like this one, over what this role may see: the user's
    own first."""
    asked = set(lexemes(standalone(case)))
    own = {memory.id for memory in case.memory.rated} if case.memory else set()
    found = list[tuple[bool, float, Memory]]()
    for memory in list_vetted(case):
        words = set(lexemes(memory.key))
        likeness = len(asked & words) / max(len(asked | words), 1)
        if likeness >= ALIKE and is_visible(case, memory):
            found.append((memory.id not in own, -likeness, memory))
    return [memory for _, _, memory in sorted(found, key=lambda each: each[:2])[:MOST_EXAMPLES]]


def is_visible(case: Case, memory: Memory) -> bool:
    try:
        sql = with_examples(pattern_of(memory.key, memory.value, (memory.data or {}).get("parameters") or ()))
    except InvalidInput:
        return False
    return may_see(case.view, sql)


def list_facts(case: Case) -> list[str]:
    """Return what the project knows about the words of the question, but for what stands among the terms already and
    what names something that this role may not see."""
    meant = {each.memory for each in case.memory.resolutions} if case.memory else set()
    hidden = frozenset[str]()
    if not case.view.is_whole:
        hidden = names_in(case.shelf.catalog) - names_in(case.view.catalog)
    room, lines = FACT_TOKENS, list[str]()
    for fact in case.memory.facts if case.memory else ():
        words = re.findall(r"\w+", fact.text.casefold())
        # "order lines" could be the table order_lines.
        is_hidden = not hidden.isdisjoint([*words, *("_".join(pair) for pair in pairwise(words))])
        line = f"- {fact.key.replace('_', ' ')}: {fact.value}"
        if fact.id in meant or is_hidden:
            continue
        room -= count_tokens(line)
        if room < 0:
            break
        lines.append(line)
    return lines


def names_in(catalog: Catalog) -> frozenset[str]:
    columns = {column.name.casefold() for table in catalog.tables for column in table.columns}
    return frozenset(columns | {table.name.casefold() for table in catalog.tables})


# Answers in words ----------------------------------------------------------------------------------------------------


async def word_rows(talk: Talk, rows: Rows, count: int, on_text: OnText | None) -> tuple[str, tuple[str, ...]] | None:
    """Return the answer in the model's words, and questions that go on from it; None if the model fails."""
    shown = mark_data("rows", csv_text(rows.columns, rows.rows[: talk.case.ask.told_rows]))
    return await word_answer(talk, "answer_rows", count, on_text, rows=shown)


async def word_schema(talk: Talk, count: int, on_text: OnText | None) -> tuple[str, tuple[str, ...]] | None:
    """Return what the database contains in the model's words; None if the model fails."""
    case = talk.case
    tables = choose_tables(case.view, case.question, case.ask.shown)
    schema = mark_data("schema", write_schema(case.view, tables, case.ask.shown, 0))
    return await word_answer(talk, "answer_schema", count, on_text, schema=schema)


async def word_answer(
    talk: Talk, prompt: str, count: int, on_text: OnText | None, **parts: str
) -> tuple[str, tuple[str, ...]] | None:
    ask = talk.case.ask
    form = ", as Markdown" if ask.markdown else ", as plain text"
    system = render_prompt(prompt, form=form, instructions=ask.instructions, count=str(count), **parts)
    so_far = shown = ""

    async def pass_on(piece: str) -> None:
        nonlocal so_far, shown
        so_far += piece
        answer = visible_part(so_far)
        if on_text is not None and len(answer) > len(shown):
            await on_text(answer[len(shown) :])
            shown = answer

    messages = [Message("system", system), Message("user", standalone(talk.case))]
    text = await talk.send(messages, ANSWER_TOKENS, on_text=pass_on if on_text else None)
    if not text:
        return None
    answer, *more = RELATED_LINE.split(text, 1)
    related = [line.strip(" -*0123456789.") for line in "\n".join(more).splitlines()]
    return answer.strip(), tuple(filter(None, related))[:count]


def visible_part(text: str) -> str:
    """Return what of an unfinished text is surely the answer: not its thoughts, nor the related questions."""
    begun = THOUGHTS.sub("", text).lstrip()
    if "<think>".startswith(begun):
        return ""
    answer = RELATED_LINE.split(begun, 1)[0]
    head, newline, line = answer.rpartition("\n")
    is_marker = newline and RELATED.startswith(line.strip(" *#").casefold()[: len(RELATED)])
    return (head if is_marker else answer).rstrip()
