"""Teaching: what people tell the analyst about its answers, and what is learned from it: an answer to a question back,
a corrected statement, a thumb up or down, an approved question. Everything becomes a memory with its evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.hosts.sql.library import Shelf
from recollect.hosts.sql.ways import is_said
from recollect.model.lesson import MAX_VALUE_CHARS, Lesson, Owner
from recollect.model.memory import Memory
from recollect.model.resolution import Resolution
from recollect.model.scope import MAX_NAME, Scope
from recollect.model.sensitive import masked
from recollect.sql.change import Change
from recollect.sql.conditions import grounded, home_of
from recollect.sql.correction import Correction, compared
from recollect.sql.correction_lessons import lessons
from recollect.sql.patterns import Pattern, checked_pattern, with_examples
from recollect.sql.shapes import shape_of
from recollect.sql.told import meant

if TYPE_CHECKING:
    from recollect.hosts.sql.analyst import Analyst

QUIET = 0.3  # importance of what is found when it is looked for, and is in no context otherwise
ASKERS = 3  # users that must have asked alike before a question becomes the project's
# "I mean", "active means", "it is defined as": what follows is the meaning itself.
OPENER = re.compile(
    r"^.{0,80}?\b(?:i (?:mean|call)(?: by (?:it|that))?|means?|(?:is |are )?defined as|refers? to)\b[:,]?\s+(?:that )?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Taught:
    """What a correction came to."""

    correction: Correction
    memories: tuple[Memory, ...]


def owner_of(term: str, answer: str, *, may_share: bool = True) -> Owner:
    """Whose an answer to a question back is: by its wording the project's, if he who gives it may teach the project."""
    return Lesson.clarification(term, answer).owned_by if may_share else "user"


async def clarify(
    analyst: Analyst,
    scope: Scope,
    source: str | None,
    term: str,
    answer: str,
    question: str,
    *,
    may_share: bool = True,
) -> Memory:
    """What a word means, as somebody said when asked. Where the answer names a condition, it is kept as SQL."""
    lesson = replace(
        Lesson.clarification(term, answer, question or None), owner=owner_of(term, answer, may_share=may_share)
    )
    for shelf in await analyst.library.choose(scope, source):
        for text in dict.fromkeys((answer, OPENER.sub("", answer, count=1))):
            hint = {"sql_hint": text} if is_condition(analyst, shelf, text) else {}
            if hint or is_name(analyst, shelf, term, text):
                return await analyst.engine.learn(scope, replace(lesson, value=text, data={"answer": answer, **hint}))
    return await analyst.engine.learn(scope, lesson)


def is_condition(analyst: Analyst, shelf: Shelf, text: str) -> bool:
    """Over the columns of some table; of which one, each question says."""
    fits = any(home_of(text, shelf.catalog.only([table.name])) for table in shelf.catalog.tables)
    return fits and bool(grounded(text, shelf.catalog.dialect, analyst.today()))


def is_name(analyst: Analyst, shelf: Shelf, term: str, text: str) -> bool:
    """Whether a table or a column is named."""
    said = Resolution(term, text, "user", 1.0)
    return meant(said, shelf.model, shelf.catalog, analyst.today()) is not None


async def correct(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, generated: str, corrected: str
) -> Taught:
    """Compares two statements and learns what the difference says. The right one must be one that may run."""
    shelf, _ = await analyst.checked(scope, source, role, corrected)
    found = difference(shelf, question, generated, corrected)
    if found.equivalent:
        return Taught(found, (await rate(analyst, scope, source, role, question, corrected, good=True),))
    learned = [
        await analyst.engine.learn(scope, for_shape(lesson, shelf))
        for lesson in lessons(found, question, generated, corrected, source)
        if lesson.kind != "terminology" or is_word(lesson.key, question, shelf)
    ]
    return Taught(found, tuple(learned))


def difference(shelf: Shelf, question: str, generated: str, corrected: str) -> Correction:
    schema = {table.name: [column.name for column in table.columns] for table in shelf.catalog.tables}
    found = compared(generated, corrected, shelf.catalog.dialect, question, schema)
    return replace(found, changes=tuple(with_word(change, question, shelf) for change in found.changes))


def with_word(change: Change, question: str, shelf: Shelf) -> Change:
    """The question may have called the wrong table by another of its names."""
    if change.kind != "table_substitution" or change.word is not None:
        return change
    names = (name for each in shelf.model.entities if each.table == change.before for name in each.names)
    return replace(change, word=next((name for name in names if is_said(name, question)), None))


def is_word(name: str, question: str, shelf: Shelf) -> bool:
    """A name that the database has was wrong for this question only, unless the question said it."""
    there = {name for each in shelf.catalog.tables for name in (each.name, *(column.name for column in each.columns))}
    return is_said(name.replace("_", " "), question) or name not in {each.casefold() for each in there}


def for_shape(lesson: Lesson, shelf: Shelf) -> Lesson:
    """A whole statement holds as long as the database keeps its shape."""
    if lesson.kind != "correction":
        return lesson
    return replace(lesson, data={**(lesson.data or {}), "fingerprint": shelf.kept.fingerprint})


async def rate(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, sql: str, *, good: bool
) -> Memory:
    """A thumb up makes the statement this user's answer to the question; a thumb down takes that back."""
    shelf, _ = await analyst.checked(scope, source, role, sql)
    data = {"source": source, "fingerprint": shelf.kept.fingerprint, "rating": "up" if good else "down"}
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
    pattern = checked_pattern(prompt, checked_sql(sql), parameters)
    shelf = await analyst.library.find(scope, source)
    await validate(analyst, scope, source, pattern)
    data = {
        "source": source,
        "fingerprint": shelf.kept.fingerprint,
        "parameters": [dict(each) for each in parameters],
        **({"note": note} if note else {}),
    }
    lesson = Lesson(
        sql, key=prompt, kind="question", source="manual", owner="project", importance=QUIET, data=data, pending=True
    )
    return await analyst.engine.learn(scope, lesson)


async def validate(analyst: Analyst, scope: Scope, source: str, pattern: Pattern) -> tuple[str, ...]:
    """Whether the SQL passes the gate, with some value for each parameter; the tables it reads."""
    _, made = await analyst.checked(scope, source, "admin", with_examples(pattern))
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
    shape = shape_of(question, sql, (await analyst.library.find(scope, source)).catalog.dialect)
    if shape is None or masked(shape.prompt) != shape.prompt:
        return None
    if await analyst.engine.asked(scope, f"{source}\n{shape.prompt}\n{shape.sql}") != ASKERS:
        return None
    try:
        return await propose(
            analyst, scope, source, shape.prompt, shape.sql, shape.parameters, note="asked by several users"
        )
    except InvalidInput:
        return None
