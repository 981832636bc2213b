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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from sqlglot import exp

from recollect.apps.ask.answers.wording import csv_text
from recollect.apps.ask.candidates.proposals import list_vetted
from recollect.apps.ask.gate import list_tables
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.llm.schema_prompt import SAMPLES, choose_tables, name_dialect, quote, write_schema
from recollect.apps.ask.memories.patterns import fill_examples, read_pattern
from recollect.apps.ask.memories.reader import MemoryReader, can_see
from recollect.apps.ask.memories.vocabulary import has_words
from recollect.apps.ask.question import Answer, OnText, Spent
from recollect.apps.ask.semantic.catalog import Catalog, Table
from recollect.apps.ask.source_registry import View
from recollect.errors import InvalidInput, ReasonerFailed
from recollect.ports import Message, Reasoner, StreamingReasoner
from recollect.prompts import load_examples, mark_data, render_prompt
from recollect.recall.lexemes import count_tokens
from recollect.values.memory import Memory

log = logging.getLogger("recollect.ask")
SQL_TOKENS = 600
ANSWER_TOKENS = 1200
FACT_TOKENS = 800  # of what the project knows
MARGIN = 1.15  # tokens are counted roughly
MAX_EXAMPLES = 3  # vetted questions that are shown
MAX_VALUES = 5
SHORT_VALUE = 4  # characters
REPAIRS = 2  # per question
WARM = 0.7  # temperature of samples after the first of a form
THOUGHTS = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL)
FENCED = re.compile(r"```\w*\s*(.*?)(?:```|$)", re.DOTALL)
STATEMENT = re.compile(r"\b((?:SELECT|WITH)\b.*)", re.DOTALL | re.IGNORECASE)
RELATED = "related questions"
RELATED_LINE = re.compile(rf"\n[ \t*#]*{RELATED}[ \t:*]*(?:\n|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptSize:
    """How much a prompt shows; each level shows less."""

    rows: int = SAMPLES
    tables: int | None = None  # the best linked; None: as chosen
    has_memory: bool = True
    has_knowledge: bool = True  # examples and project facts


LEVELS = (
    PromptSize(), PromptSize(has_memory=False), PromptSize(has_memory=False, has_knowledge=False),
    PromptSize(0, None, False, False), PromptSize(0, 5, False, False), PromptSize(0, 2, False, False),
)  # fmt: skip


@dataclass(slots=True)
class ModelRun:
    """One question at a model: what it costs, the attempts that failed, and notes about the model itself. `window` is
    its context in tokens, 0 if unknown; `until` is when no further attempt begins."""

    reasoner: Reasoner
    inquiry: Inquiry
    window: int = 0
    until: float = float("inf")
    examples: tuple[Memory, ...] = ()
    spent: Spent = field(default_factory=Spent)
    attempts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: Answer | None = None  # the last statement that the database refused
    rejected: set[str] = field(default_factory=set)  # statements that failed or found nothing
    repairs: int = 0
    most_repairs: int = REPAIRS
    is_away: bool = False

    @property
    def is_over(self) -> bool:
        return self.is_away or time.perf_counter() > self.until

    async def send(
        self, messages: Sequence[Message], max_tokens: int, temperature: float = 0.0, on_text: OnText | None = None
    ) -> str | None:
        """Return the reply; None, with a note, if the model fails. `on_text` gets pieces as they come."""
        began, ask = time.perf_counter(), self.inquiry.ask
        most, heat = min(max_tokens, ask.max_tokens), max(ask.temperature, temperature)
        try:
            if on_text is not None and isinstance(self.reasoner, StreamingReasoner):
                text, read = "", sum(count_tokens(each.text) for each in messages)
                async for piece in self.reasoner.stream(messages, max_tokens=most, temperature=heat):
                    text += piece
                    await on_text(piece)
                written = count_tokens(text)
            else:
                reply = await self.reasoner.answer(messages, max_tokens=most, temperature=heat)
                text, read, written = reply.text, reply.input_tokens, reply.output_tokens
        except ReasonerFailed as error:
            log.warning("the language model failed: %s", error)
            self.is_away = True
            self.notes.append(f"the language model did not answer: {error}")
            return None
        self.spent = replace(
            self.spent,
            input_tokens=self.spent.input_tokens + read,
            output_tokens=self.spent.output_tokens + written,
            llm=self.spent.llm + time.perf_counter() - began,
        )
        return THOUGHTS.sub("", text).strip()

    def note_failure(self, sql: str, problem: str) -> None:
        self.rejected.add(sql)
        self.attempts.append(f"Attempt {len(self.attempts) + 1}: {sql}\nIt failed: {problem}")


# SQL -----------------------------------------------------------------------------------------------------------------


async def sample_sql(model: ModelRun, sample: int = 0) -> str | None:
    """Return a sample of the model's SQL, if there is time for it. Odd samples have a prompt with worked examples in
    place of rows; those after the second are warm."""
    if model.is_over:
        return None
    messages = write_example_prompt(model) if sample % 2 else write_schema_prompt(model)
    return read_sql(model, await model.send(messages, SQL_TOKENS, WARM if sample > 1 else 0.0))


async def repair_sql(model: ModelRun, sql: str, problem: str) -> str | None:
    """Return another statement for the question, if it has a repair left: by a new prompt, with the columns of the
    tables that the failed one names, and warm from the second time on. A rejected statement is not returned again."""
    text = f"This query is not the answer:\n{sql}\nReason: {problem}"
    messages = write_example_prompt(model, list_near_tables(model.inquiry.view, sql), "\n" + mark_data("problem", text))
    while model.repairs < model.most_repairs and not model.is_over:
        model.repairs += 1
        written = read_sql(model, await model.send(messages, SQL_TOKENS, WARM if model.repairs > 1 else 0.0))
        if written and written not in model.rejected:
            return written
    return None


def list_near_tables(view: View, sql: str) -> list[Table]:
    """Return the tables that a statement names, then those that join them."""
    names = {name.casefold() for name in list_tables(sql, view.catalog.dialect)}
    joins = [{join.table.casefold(), join.to.casefold()} for join in view.model.joins]
    near = names.union(*(pair for pair in joins if pair & names))
    tables = [each for each in view.catalog.tables if each.name.casefold() in near]
    return sorted(tables, key=lambda each: each.name.casefold() not in names)


def read_sql(model: ModelRun, reply: str | None) -> str | None:
    """Return the statement in a reply, in a fenced block or bare."""
    if reply is None:
        return None
    found = FENCED.search(reply) or STATEMENT.search(reply.partition("\n\n")[0])
    if found is None:
        model.notes = ["the language model's reply had no SQL in it"]
        return None
    return found[1].strip().rstrip(";").strip()


def write_schema_prompt(model: ModelRun) -> list[Message]:
    """Return the prompt with CREATE TABLE statements and rows, as much as fits the model's window."""
    inquiry, messages = model.inquiry, list[Message]()
    for size in LEVELS:
        limits = inquiry.ask.schema
        if size.tables is not None:
            limits = replace(limits, is_whole=False, tables=size.tables, most=size.tables + 1)
        tables = choose_tables(inquiry.view, inquiry.memory.standalone, limits)
        schema = mark_data("schema", write_schema(inquiry.view, tables, limits, min(size.rows, limits.values)))
        messages = [Message("system", write_task(model)), Message("user", write_question(model, schema, size))]
        tokens = count_tokens("".join(each.text for each in messages))
        if not model.window or MARGIN * tokens + SQL_TOKENS <= model.window:
            break
    return messages


def write_example_prompt(model: ModelRun, tables: Sequence[Table] = (), problem: str = "") -> list[Message]:
    """Return the prompt with worked examples and tables as lists of columns, and a problem to avoid."""
    inquiry = model.inquiry
    view, lines = inquiry.view, list[str]()
    for table in tables or choose_tables(view, inquiry.memory.standalone, inquiry.ask.schema):
        lines.append(f"{table.name}({', '.join(quote(each.name, view) for each in table.columns)})")
        joins = [join for join in view.model.joins if join.table == table.name]
        lines += [f"  {table.name}.{join.columns[0]} = {join.to}.{join.to_columns[0]}" for join in joins]
    asked = write_question(model, mark_data("schema", "\n".join(lines)), PromptSize(has_memory=False), problem)
    return [Message("system", write_task(model)), *load_examples("text2sql_examples"), Message("user", asked)]


def write_task(model: ModelRun) -> str:
    return render_prompt("text2sql", dialect=name_dialect(model.inquiry.view), date=model.inquiry.today.isoformat())


def write_question(model: ModelRun, schema: str, size: PromptSize, problem: str = "") -> str:
    context, question = write_context(model, size), model.inquiry.memory.standalone
    dialect = name_dialect(model.inquiry.view)
    asked = {"schema": schema, "context": context, "question": question, "problem": problem, "dialect": dialect}
    return render_prompt("text2sql_question", **asked)


# What is known about the question ------------------------------------------------------------------------------------


def write_context(model: ModelRun, size: PromptSize) -> str:
    """Return what the words of the question mean and match, and what is known beside it; sections without content are
    left out."""
    inquiry = model.inquiry
    sections = {"values in the data": list_values(inquiry), "terms": list_meanings(inquiry)}
    if size.has_knowledge:
        sections["facts"] = list_facts(inquiry)
        examples = [f"Question: {each.key}\nSQL: {each.value}" for each in model.examples]
        sections["earlier questions with their SQL"] = examples
    if size.has_memory and inquiry.memory.text:
        sections["the conversation so far"] = [inquiry.memory.text]
    parts = [mark_data(title, "\n".join(dict.fromkeys(lines))) for title, lines in sections.items() if lines]
    parts += [inquiry.ask.instructions] if inquiry.ask.instructions else []
    return "".join(f"{each}\n\n" for each in parts)


def list_values(inquiry: Inquiry) -> list[str]:
    """Return the values that the question names and that only one column has; others would suggest needless joins. Of
    short values only those that are spelled as in the question: "al" is not the state AL."""
    found = inquiry.interpretation.values if inquiry.interpretation else ()
    places = Counter(value.casefold() for _, _, value in found)
    lines = [
        f"{table}.{column} = {exp.Literal.string(value).sql()}" for table, column, value in found
        if places[value.casefold()] == 1 and (len(value) >= SHORT_VALUE or value in inquiry.question)
    ]  # fmt: skip
    return lines[:MAX_VALUES]


def list_meanings(inquiry: Inquiry) -> list[str]:
    """Return what words mean: other names, figures and conditions, with filters that always hold."""
    lines, taught = list[str](), inquiry.taught
    for said, word in taught.words:
        where = f" ({word.table} where {word.condition})" if word.condition else ""
        lines.append(f'- "{said.term}": {said.meaning}{where}')
    lines += [
        f'- "{each.names[0]}": {each.table} where {each.condition}'
        for each in inquiry.view.model.definitions
        if has_words(each.names, inquiry.question)
    ]
    lines += [f"- {each.table}: always where {each.condition}" for _, each in taught.filters]
    lines += [f"- where no period is said: {taught.time_focus}"] if taught.time_focus else []
    return [*lines, *([f"- over time, where no unit is said: by {taught.grain}"] if taught.grain else ())]


async def find_examples(reader: MemoryReader, inquiry: Inquiry) -> tuple[Memory, ...]:
    """Return questions that a person stands for and that are similar to this one, over what this role may see: the
    user's own first, then the most similar."""
    similar = await reader.find_similar_memories(inquiry.memory.standalone, list_vetted(inquiry))
    similar.sort(key=lambda each: (each[1] not in inquiry.memory.rated, -each[0]))
    return tuple(islice((memory for _, memory in similar if is_visible(inquiry, memory)), MAX_EXAMPLES))


def is_visible(inquiry: Inquiry, memory: Memory) -> bool:
    try:
        return can_see(inquiry.view, fill_examples(read_pattern(memory)))
    except InvalidInput:
        return False


def list_facts(inquiry: Inquiry) -> list[str]:
    """Return what the project knows about the words of the question, but for what stands among the terms already and
    what names something that this role may not see."""
    memory, view = inquiry.memory, inquiry.view
    hidden = frozenset[str]() if view.is_whole else list_names(inquiry.source.catalog) - list_names(view.catalog)
    resolved = {each.memory for each in memory.resolutions}
    left, lines = FACT_TOKENS, list[str]()
    for fact in memory.facts:
        words = re.findall(r"\w+", fact.text.casefold())
        # "order lines" could be the table order_lines.
        names = {*words, *("_".join(pair) for pair in pairwise(words))}
        if fact.id in resolved or names & hidden:
            continue
        line = f"- {fact.key.replace('_', ' ')}: {fact.value}"
        left -= count_tokens(line)
        if left < 0:
            break
        lines.append(line)
    return lines


def list_names(catalog: Catalog) -> frozenset[str]:
    columns = {column.name.casefold() for table in catalog.tables for column in table.columns}
    return frozenset(columns | {table.name.casefold() for table in catalog.tables})


# Answers in words ----------------------------------------------------------------------------------------------------


async def word_rows(model: ModelRun, answer: Answer, count: int) -> Answer:
    """Return the answer in the model's words, with questions that go on from it; unchanged if it has no rows, or the
    model fails."""
    if model.is_away or answer.rows is None or not answer.rows.rows:
        return answer
    shown = mark_data("rows", csv_text(answer.rows.columns, answer.rows.rows[: model.inquiry.ask.model_rows]))
    return await word_data(model, answer, "answer_rows", count, rows=shown)


async def word_schema(model: ModelRun, answer: Answer, count: int) -> Answer:
    """Return what the database contains in the model's words; unchanged if the model fails."""
    inquiry = model.inquiry
    tables = choose_tables(inquiry.view, inquiry.question, inquiry.ask.schema)
    schema = mark_data("schema", write_schema(inquiry.view, tables, inquiry.ask.schema, 0))
    return await word_data(model, answer, "answer_schema", count, schema=schema)


async def word_data(model: ModelRun, answer: Answer, prompt: str, count: int, **data: str) -> Answer:
    """Return the model's answer from some data, and the questions that it suggests. The caller of the question gets the
    answer piece by piece, if they want that."""
    ask, on_text = model.inquiry.ask, model.inquiry.ask.on_text
    form = ", as Markdown" if ask.markdown else ", as plain text"
    system = render_prompt(prompt, form=form, instructions=ask.instructions, count=str(count), **data)
    so_far = shown = ""

    async def pass_on(piece: str) -> None:
        nonlocal so_far, shown
        so_far += piece
        visible = visible_part(so_far)
        if on_text is not None and len(visible) > len(shown):
            await on_text(visible[len(shown) :])
            shown = visible

    messages = [Message("system", system), Message("user", model.inquiry.memory.standalone)]
    text = await model.send(messages, ANSWER_TOKENS, on_text=pass_on if on_text else None)
    if not text:
        return answer
    said, *more = RELATED_LINE.split(text, 1)
    related = [line.strip(" -*0123456789.") for line in "\n".join(more).splitlines()]
    return replace(answer, text=said.strip(), related=tuple(filter(None, related))[:count], model=model.reasoner.name)


def visible_part(text: str) -> str:
    """Return what of an unfinished text is surely the answer: not its thoughts, nor the related questions."""
    begun = THOUGHTS.sub("", text).lstrip()
    if "<think>".startswith(begun):
        return ""
    answer = RELATED_LINE.split(begun, 1)[0]
    head, newline, line = answer.rpartition("\n")
    is_marker = newline and RELATED.startswith(line.strip(" *#").casefold()[: len(RELATED)])
    return (head if is_marker else answer).rstrip()
