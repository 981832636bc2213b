"""Teaching: what people tell the analyst about its answers, and what is learned from it: an answer to a question back,
a corrected statement, a thumb up or down, an approved question. Everything becomes a memory with its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.corrections.correction import Change, Correction, compare_queries
from recollect.apps.ask.corrections.lessons import draw_lessons
from recollect.apps.ask.interpret.link import link_names
from recollect.apps.ask.interpret.words import tokenize
from recollect.apps.ask.patterns import Pattern, check_pattern, fill_examples
from recollect.apps.ask.proposals import is_said
from recollect.apps.ask.question import Choice, Learned
from recollect.apps.ask.question_shape import shape_of
from recollect.apps.ask.semantic.conditions import find_tables_for, ground_condition
from recollect.apps.ask.source_registry import OpenSource
from recollect.apps.ask.vocabulary import AGGREGATE, CALLS, OPENER, make_words
from recollect.errors import InvalidInput
from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson, Owner
from recollect.values.memory import Memory, MemoryKind
from recollect.values.resolution import Resolution
from recollect.values.scope import MAX_NAME, Scope
from recollect.values.sensitive_data import mask_text

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst

QUIET = 0.3  # importance of what is found when it is looked for, and is in no context otherwise
ASKERS = 3  # users that must have asked alike before a question becomes the project's


@dataclass(frozen=True, slots=True)
class TaughtCorrection:
    """What a correction came to."""

    correction: Correction
    memories: tuple[Memory, ...]


def owner_of(term: str, answer: str, *, may_share: bool = True) -> Owner:
    """Whose an answer to a question back is: by its wording the project's, if the caller may teach the project."""
    return Lesson.clarification(term, answer).owned_by if may_share else "user"


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
) -> Memory:
    """Learn what a term means, as the user said when asked; a condition or a name without the words around it. What
    they taught about the term before, for themselves, ends: otherwise it would hide what they say now."""
    answer, question = analyst.kept_text(answer), analyst.kept_text(question)
    lesson = replace(
        Lesson.clarification(term, answer, question or None), owner=owner_of(term, answer, may_share=may_share)
    )
    lesson = await shorten_lesson(analyst, scope, source, term, answer, lesson)
    memory = await analyst.engine.learn(scope, lesson)
    await end_own_meanings(analyst, scope, memory)
    return memory


async def shorten_lesson(
    analyst: Analyst, scope: Scope, source: str | None, term: str, answer: str, lesson: Lesson
) -> Lesson:
    """Return the lesson with the condition or the name alone, where a source has one."""
    for shelf in await analyst.sources.choose(scope, source):
        for text in dict.fromkeys((OPENER.sub("", answer, count=1), answer)):
            hint = {"sql_hint": text} if is_condition(analyst, shelf, text) else {}
            if hint or is_name(analyst, shelf, term, text):
                return replace(lesson, value=text, data={"answer": answer, **hint})
    return lesson


async def end_own_meanings(analyst: Analyst, scope: Scope, learned: Memory) -> None:
    """End what the user taught for themselves about the same term before."""
    kinds: tuple[MemoryKind, ...] = ("definition", "terminology")
    for memory in await analyst.engine.memories(scope, kinds=kinds, key=learned.key):
        if memory.status == "active" and memory.id != learned.id:
            await analyst.engine.close(scope, memory.id, owner="user")


def is_condition(analyst: Analyst, shelf: OpenSource, text: str) -> bool:
    """Return whether a text is a condition over the columns of some table; each question says of which."""
    fits = bool(find_tables_for(text, shelf.catalog))
    return fits and bool(ground_condition(text, shelf.catalog.dialect, analyst.today()))


def is_name(analyst: Analyst, shelf: OpenSource, term: str, text: str) -> bool:
    """Return whether a text names a table or a column."""
    said = Resolution(term, text, "user", 1.0)
    return any(word.target for word in make_words(said, "", shelf.view("admin").index, analyst.today()))


def is_naming(meaning: str) -> bool:
    """Return whether a choice says what a word names, not which rows it describes."""
    return meaning.startswith("refers to") or AGGREGATE.match(meaning) is not None


async def learn_choice(
    analyst: Analyst, scope: Scope, choice: Choice, question: str, source: str
) -> tuple[Learned, ...]:  # fmt: skip
    """Learn, for this user, what words mean according to the choice that they made."""
    learned = list[Learned]()
    for term, meaning in choice.teaches:
        kind: MemoryKind = "terminology" if is_naming(meaning) else "definition"
        lesson = Lesson(
            meaning, key=term[:MAX_NAME], kind=kind, source="clarification", owner="user",
            data={"source": source, "choice": choice.label}, question=question[:MAX_VALUE_CHARS],
        )  # fmt: skip
        memory = await analyst.engine.learn(scope, lesson)
        await end_own_meanings(analyst, scope, memory)
        learned.append(Learned(str(memory.id), memory.key, memory.value, "user"))
    return tuple(learned)


async def correct(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, generated: str, corrected: str
) -> TaughtCorrection:
    """Compares two statements and learns what the difference says. The right one must be one that may run."""
    shelf, _ = await analyst.check_sql(scope, source, role, corrected)
    question = analyst.kept_text(question)
    found = difference(shelf, question, generated, corrected)
    if found.equivalent:
        return TaughtCorrection(found, (await rate(analyst, scope, source, role, question, corrected, good=True),))
    learned = [
        await analyst.engine.learn(scope, for_shape(lesson, shelf))
        for lesson in draw_lessons(found, question, generated, corrected, source)
        if lesson.kind != "terminology" or is_word(lesson.key, question, shelf)
    ]
    return TaughtCorrection(found, tuple(learned))


def difference(shelf: OpenSource, question: str, generated: str, corrected: str) -> Correction:
    schema = {table.name: [column.name for column in table.columns] for table in shelf.catalog.tables}
    found = compare_queries(generated, corrected, shelf.catalog.dialect, question, schema)
    return replace(found, changes=tuple(with_word(change, question, shelf) for change in found.changes))


def with_word(change: Change, question: str, shelf: OpenSource) -> Change:
    """Return the change with the words by which the question called the wrong table, if it used another name."""
    if change.kind != "table_substitution" or change.word is not None:
        return change
    tokens = tokenize(question)
    links = [
        link for link in link_names(tokens, shelf.view("admin").index)
        if link.target.kind == "entity" and link.target.table == change.before
    ]  # fmt: skip
    best = max(links, key=lambda link: (link.score, link.end - link.start), default=None)
    word = " ".join(token.lower for token in tokens[best.start : best.end]) if best else None
    return replace(change, word=word)


def is_word(name: str, question: str, shelf: OpenSource) -> bool:
    """A name that the database has was wrong for this question only, unless the question said it."""
    there = {name for each in shelf.catalog.tables for name in (each.name, *(column.name for column in each.columns))}
    return is_said(name.replace("_", " "), question) or name not in {each.casefold() for each in there}


def for_shape(lesson: Lesson, shelf: OpenSource) -> Lesson:
    """A whole statement holds as long as the database keeps its shape."""
    if lesson.kind != "correction":
        return lesson
    return replace(lesson, data={**(lesson.data or {}), "fingerprint": shelf.entry.fingerprint})


async def rate(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, sql: str, *, good: bool
) -> Memory:
    """A thumb up makes the statement this user's answer to the question; a thumb down takes that back."""
    shelf, _ = await analyst.check_sql(scope, source, role, sql)
    question = analyst.kept_text(question)
    data = {"source": source, "fingerprint": shelf.entry.fingerprint, "rating": "up" if good else "down"}
    lesson = Lesson(
        checked_sql(sql),
        key=question[:MAX_NAME],
        kind="question",
        owner="user",
        importance=QUIET,
        data=data,
        question=question[:MAX_VALUE_CHARS],
    )
    if good:
        return await analyst.engine.learn(scope, lesson)
    for memory in await analyst.engine.memories(scope, kinds=("question", "correction"), key=question[:MAX_NAME]):
        if memory.status == "active" and memory.value == sql:
            await analyst.engine.close(scope, memory.id, owner="user")
    proposed = await analyst.engine.learn(scope, replace(lesson, pending=True))
    return await analyst.engine.reject(scope, proposed.id) if proposed.status == "pending" else proposed


def checked_sql(sql: str) -> str:
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
    """A question with its SQL, for the whole project, once somebody approves it."""
    pattern = check_pattern(prompt, checked_sql(sql), parameters)
    shelf = await analyst.sources.find(scope, source)
    await validate(analyst, scope, source, pattern)
    data = {
        "source": source,
        "fingerprint": shelf.entry.fingerprint,
        "parameters": [dict(each) for each in parameters],
        **({"note": note} if note else {}),
    }
    lesson = Lesson(
        sql, key=prompt, kind="question", source="manual", owner="project", importance=QUIET, data=data, pending=True
    )
    return await analyst.engine.learn(scope, lesson)


async def validate(analyst: Analyst, scope: Scope, source: str, pattern: Pattern) -> tuple[str, ...]:
    """Whether the SQL passes the gate, with some value for each parameter; the tables it reads."""
    _, made = await analyst.check_sql(scope, source, "admin", fill_examples(pattern))
    return made.tables


async def approve(analyst: Analyst, scope: Scope, query: Memory, *, good: bool) -> Memory:
    """One that was approved can be taken back, too."""
    if not good and query.status == "active":
        done = await analyst.engine.close(scope, query.id, owner="project")
    else:
        done = await (analyst.engine.approve if good else analyst.engine.reject)(scope, query.id)
    analyst.reader.changed(scope.project)
    return done


async def share(analyst: Analyst, scope: Scope, source: str, question: str, sql: str) -> Memory | None:
    """A question that several users ask alike, its literals removed, becomes the project's, pending approval; only
    where that is switched on."""
    shape = shape_of(question, sql, (await analyst.sources.find(scope, source)).catalog.dialect)
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
