"""Teaching: what people say about answers, and what is learned from it: an answer to a question back, a corrected
statement, a thumb up or down, an approved question. Everything becomes a memory with its evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.corrections.correction import Change, Correction, compare_queries
from recollect.apps.ask.corrections.lessons import draw_lessons
from recollect.apps.ask.interpret.link import link_names
from recollect.apps.ask.interpret.words import tokenize
from recollect.apps.ask.patterns import Pattern, check_pattern, fill_examples
from recollect.apps.ask.proposals import Inquiry, has_words
from recollect.apps.ask.question import Choice, Learned
from recollect.apps.ask.question_shape import shape_of
from recollect.apps.ask.semantic.conditions import find_tables_for, ground_condition
from recollect.apps.ask.source_registry import OpenSource
from recollect.apps.ask.vocabulary import AGGREGATE, CALLS, OPENER, make_words
from recollect.errors import InvalidInput
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import Memory
from recollect.values.resolution import Resolution
from recollect.values.scope import MAX_NAME, Scope
from recollect.values.sensitive_data import mask_text

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
QUIET = 0.3  # importance of what is found when it is looked for, and is in no context otherwise
ASKERS = 3  # users that must have asked alike before a question is proposed to the project


@dataclass(frozen=True, slots=True)
class TaughtCorrection:
    """What a correction came to."""

    correction: Correction
    memories: tuple[Memory, ...]


# Meanings ------------------------------------------------------------------------------------------------------------


def find_definition(text: str) -> tuple[str, str] | None:
    """Return the term and the meaning that a message gives ("active means logged in within 30 days"); None if it says
    something else."""
    called = CALLS.match(text.strip())
    if called:
        return called["said"], f"refers to {called['meant']}"
    for fact in extract(text, "user", rulebooks()).facts:
        kind, _, term = fact.key.partition(":")
        if kind == "definition" and term and fact.value.casefold() != text.strip().casefold():
            return term, fact.value
    return None


async def learn_meaning(
    analyst: Analyst,
    scope: Scope,
    source: str | None,
    term: str,
    answer: str,
    question: str,
    *,
    may_share: bool = True,
) -> Learned:
    """Learn what a term means, as the user said when asked: for the project if its wording says so and the caller may
    teach the project, else for the user. A condition or a name is stored without the words around it."""
    answer, question = analyst.mask(answer), analyst.mask(question)
    lesson = Lesson.clarification(term, answer, question or None)
    owner = lesson.owned_by if may_share else "user"
    lesson = replace(lesson, owner=owner)
    for open_source in await analyst.sources.choose(scope, source):
        shorter = shorten_lesson(analyst, open_source, term, answer, lesson)
        if shorter is not None:
            lesson = shorter
            break
    return await learn_for(analyst, scope, lesson)


def shorten_lesson(
    analyst: Analyst, source: OpenSource, term: str, answer: str, lesson: Lesson
) -> Lesson | None:  # fmt: skip
    """Return the lesson with the condition or the name alone, if this source has its columns."""
    for text in dict.fromkeys((OPENER.sub("", answer, count=1), answer)):
        is_known = bool(find_tables_for(text, source.catalog))
        if is_known and ground_condition(text, source.dialect, analyst.today()):
            return replace(lesson, value=text, data={"answer": answer, "sql_hint": text})
        if names_something(analyst, source, term, text):
            return replace(lesson, value=text, data={"answer": answer})
    return None


async def learn_for(analyst: Analyst, scope: Scope, lesson: Lesson) -> Learned:
    """Learn a meaning. What the user taught about the term before, for themselves, ends: otherwise it would hide what
    they say now."""
    memory = await analyst.engine.learn(scope, lesson)
    for other in await analyst.engine.memories(scope, kinds=("definition", "terminology"), key=memory.key):
        if other.status == "active" and other.id != memory.id:
            await analyst.engine.close(scope, other.id, owner="user")
    return Learned(str(memory.id), memory.key, memory.value, lesson.owner or "user")


def names_something(analyst: Analyst, source: OpenSource, term: str, text: str) -> bool:
    """Return whether a text names a table or a column."""
    resolution = Resolution(term, text, "user", 1.0)
    return any(word.target for word in make_words(resolution, "", source.view("admin").index, analyst.today()))


async def learn_choice(
    analyst: Analyst, scope: Scope, inquiry: Inquiry, choice: Choice, sql: str
) -> tuple[Learned, ...]:
    """Learn, for this user, what words mean according to the choice that they made. If it teaches no word, it becomes
    their answer to the same question, unless it depends on the day or on what always holds for them."""
    learned = list[Learned]()
    source, question = inquiry.source, inquiry.question
    depends = DAY.search(sql) or inquiry.taught.filters or inquiry.taught.time_focus
    if choice.question and not choice.teaches and not depends:
        lesson = Lesson(
            check_length(sql),
            key=choice.question[:MAX_NAME],
            kind="question",
            source="clarification",
            owner="user",
            importance=QUIET,
            data={
                "source": source.name,
                "fingerprint": source.entry.fingerprint,
                "choice": choice.label,
                "frame": choice.frame,
            },
            question=choice.question[:MAX_VALUE_CHARS],
        )
        memory = await analyst.engine.learn(scope, lesson)
        learned.append(Learned(str(memory.id), memory.key, choice.label, "user"))
    for term, meaning in choice.teaches:
        is_name = meaning.startswith("refers to") or AGGREGATE.match(meaning) is not None
        lesson = Lesson(
            meaning,
            key=term[:MAX_NAME],
            kind="terminology" if is_name else "definition",
            source="clarification",
            owner="user",
            data={"source": source.name, "choice": choice.label},
            question=question[:MAX_VALUE_CHARS],
        )
        learned.append(await learn_for(analyst, scope, lesson))
    return tuple(learned)


# Corrections and ratings ---------------------------------------------------------------------------------------------


async def correct(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, generated: str, corrected: str
) -> TaughtCorrection:
    """Compare two statements and learn what the difference says. The right one must be one that may run."""
    found, _ = await analyst.check_sql(scope, source, role, corrected)
    question = analyst.mask(question)
    correction = compare_statements(found, question, generated, corrected)
    if correction.equivalent:
        return TaughtCorrection(correction, (await rate(analyst, scope, source, role, question, corrected, good=True),))
    memories = list[Memory]()
    for lesson in draw_lessons(correction, question, generated, corrected, source):
        if lesson.kind == "terminology" and not is_word(lesson.key, question, found):
            continue
        if lesson.kind == "correction":  # a whole statement holds as long as the database keeps its shape
            lesson = replace(lesson, data={**(lesson.data or {}), "fingerprint": found.entry.fingerprint})
        memories.append(await analyst.engine.learn(scope, lesson))
    return TaughtCorrection(correction, tuple(memories))


def compare_statements(source: OpenSource, question: str, generated: str, corrected: str) -> Correction:
    """Return the difference of two statements, with the words by which the question called a wrong table."""
    schema = {table.name: [column.name for column in table.columns] for table in source.catalog.tables}
    found = compare_queries(generated, corrected, source.dialect, question, schema)
    return replace(found, changes=tuple(add_word(change, question, source) for change in found.changes))


def add_word(change: Change, question: str, source: OpenSource) -> Change:
    if change.kind != "table_substitution" or change.word is not None:
        return change
    tokens = tokenize(question)
    links = [
        link for link in link_names(tokens, source.view("admin").index)
        if link.target.kind == "entity" and link.target.table == change.before
    ]  # fmt: skip
    best = max(links, key=lambda link: (link.score, link.end - link.start), default=None)
    word = " ".join(token.lower for token in tokens[best.start : best.end]) if best else None
    return replace(change, word=word)


def is_word(name: str, question: str, source: OpenSource) -> bool:
    """Return whether a name is the user's word: one that the database has was wrong for this question only, unless the
    question said it."""
    tables = source.catalog.tables
    known = {each.casefold() for table in tables for each in (table.name, *(column.name for column in table.columns))}
    return name not in known or has_words(name.replace("_", " "), question)


async def rate(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, sql: str, *, good: bool
) -> Memory:
    """Learn a rating: a thumb up makes the statement this user's answer to the question; a thumb down takes that
    back."""
    found, _ = await analyst.check_sql(scope, source, role, sql)
    question = analyst.mask(question)
    lesson = Lesson(
        check_length(sql),
        key=question[:MAX_NAME],
        kind="question",
        owner="user",
        importance=QUIET,
        data={"source": source, "fingerprint": found.entry.fingerprint, "rating": "up" if good else "down"},
        question=question[:MAX_VALUE_CHARS],
    )
    if good:
        return await analyst.engine.learn(scope, lesson)
    for memory in await analyst.engine.memories(scope, kinds=("question", "correction"), key=question[:MAX_NAME]):
        if memory.status == "active" and memory.value == sql:
            await analyst.engine.close(scope, memory.id, owner="user")
    proposed = await analyst.engine.learn(scope, replace(lesson, pending=True))
    return await analyst.engine.reject(scope, proposed.id) if proposed.status == "pending" else proposed


def check_length(sql: str) -> str:
    if len(sql) > MAX_VALUE_CHARS:
        raise InvalidInput("sql", f"has {len(sql):,} characters; at most {MAX_VALUE_CHARS:,} are kept")
    return sql


# Approved questions --------------------------------------------------------------------------------------------------


async def propose(
    analyst: Analyst,
    scope: Scope,
    source: str,
    prompt: str,
    sql: str,
    parameters: Sequence[Mapping[str, Any]] = (),
    *,
    note: str = "",
) -> Memory:
    """Store a question with its SQL for the whole project, pending approval."""
    pattern = check_pattern(prompt, check_length(sql), parameters)
    found = await analyst.sources.find(scope, source)
    await validate(analyst, scope, source, pattern)
    data = {
        "source": source,
        "fingerprint": found.entry.fingerprint,
        "parameters": [dict(each) for each in parameters],
        **({"note": note} if note else {}),
    }
    lesson = Lesson(
        sql, key=prompt, kind="question", source="manual", owner="project", importance=QUIET, data=data, pending=True
    )
    return await analyst.engine.learn(scope, lesson)


async def validate(analyst: Analyst, scope: Scope, source: str, pattern: Pattern) -> tuple[str, ...]:
    """Return the tables that the SQL reads. Raises InvalidInput unless it passes the gate, with some value for each
    parameter."""
    _, statement = await analyst.check_sql(scope, source, "admin", fill_examples(pattern))
    return statement.tables


async def approve(analyst: Analyst, scope: Scope, query: Memory, *, good: bool) -> Memory:
    """Approve or reject a proposed question; rejecting an approved one takes it back."""
    if not good and query.status == "active":
        memory = await analyst.engine.close(scope, query.id, owner="project")
    else:
        memory = await (analyst.engine.approve if good else analyst.engine.reject)(scope, query.id)
    analyst.reader.clear_approved(scope.project)
    return memory


async def propose_shared_question(
    analyst: Analyst, scope: Scope, source: str, question: str, sql: str
) -> Memory | None:  # fmt: skip
    """Propose a question to the project when several users have asked it alike, its literals removed."""
    found = await analyst.sources.find(scope, source)
    shape = shape_of(question, sql, found.dialect)
    if shape is None or mask_text(shape.prompt) != shape.prompt:
        return None
    if await analyst.engine.sources.count_askers(scope, f"{source}\n{shape.prompt}\n{shape.sql}") != ASKERS:
        return None
    try:
        return await propose(
            analyst, scope, source, shape.prompt, shape.sql, shape.parameters, note="asked by several users"
        )
    except InvalidInput:
        return None
