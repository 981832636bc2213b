"""Teaching: what people say about answers, and what is learned from it: an answer to a question back, a corrected
statement, a thumb up or down, an approved question. Everything becomes a memory with its evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from recollect.apps.ask.corrections import Change, Correction, compare_queries
from recollect.apps.ask.corrections.lessons import draw_lessons
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret import SchemaIndex, Word, link_question
from recollect.apps.ask.interpret.definitions import find_head, read_meaning
from recollect.apps.ask.interpret.link import CLEAR, Link, link_names, link_operators, link_values, named_targets
from recollect.apps.ask.interpret.periods import find_fiscal_start
from recollect.apps.ask.memories.patterns import Pattern, check_pattern, fill_examples, shape_of
from recollect.apps.ask.memories.vocabulary import (
    AGGREGATE,
    CALLS,
    OPENER,
    has_words,
    make_words,
    shorten_term,
    strip_courtesy,
    write_arithmetic,
)  # fmt: skip
from recollect.apps.ask.question import Answer, Choice, Learned, find_category
from recollect.apps.ask.source_registry import OpenSource
from recollect.apps.ask.words import Token, stem_phrase, tokenize
from recollect.errors import InvalidInput
from recollect.learning.definitions import find_definition, find_definition_in_fact
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import Memory, MemoryKind
from recollect.values.resolution import Resolution
from recollect.values.scope import MAX_NAME, MemoryId, Scope
from recollect.values.sensitive_data import mask_text

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst

EQUATION = re.compile(
    r"^(?:an? |the |our |my )?(?P<term>[^=:?!]{1,60}?)"
    r"(?:\s*(?P<sign>[=＝:：]|是指|指的是|改为|改成)|\s+(?P<copula>is|are)\s|(?<=[\u3400-\u9fff])是)\s*"
    r"(?P<meaning>[^?？]{2,})$",
    re.IGNORECASE,
)
SIGNS, COLONS = ("=", "＝", "是指", "指的是", "改为", "改成"), (":", "：")
STRUCTURE = frozenset(
    ("select", "where", "count", "group", "order", "when", "compare", "versus", "grain")
)  # of a question
PRONOUNS = ("them", "these", "those", "it", "this")
POINTERS = ("those", "these", "ones", "one", "any", "anyone", "all", "who")  # that a meaning can begin with
YES_OR_NO = ("true", "false", "yes", "no")
MAX_TERM_WORDS = 6
NUMBER = re.compile(r"(?<![a-z\d])\d[\d.,]*(?:[km]\b)?", re.IGNORECASE)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MEANINGS: tuple[MemoryKind, ...] = ("definition", "terminology")
QUIET = 0.3  # importance of what is found when it is looked for, and is in no context otherwise
ASKERS = 3  # users that must have asked alike before a question is proposed to the project


# Meanings ------------------------------------------------------------------------------------------------------------


def find_taught_meaning(inquiry: Inquiry) -> tuple[str, str] | None:
    """Return the term and the meaning that a message gives ("active means logged in within 30 days", "VIP: customers
    with ..."); None if it says something else."""
    text, index = strip_courtesy(inquiry.question), inquiry.view.index
    if called := CALLS.match(text):
        meant, last = called["meant"], inquiry.last_frame
        if last and meant.casefold() in PRONOUNS:  # what the last answer was about
            meant = index.tables[last.subject].title
        # "Call the clients in Rome" is no definition unless it names something in the database.
        return (called["said"], f"refers to {meant}") if named_targets(meant, index) else None
    if found := find_definition(text):
        return found
    if (bounds := find_definition_in_fact(text)) and find_fiscal_start(bounds[1]):
        return bounds
    said = EQUATION.match(text)
    if said is None or not defines(said["term"], said["sign"], said["meaning"], index):
        return None
    return said["term"].strip("\"'“” "), said["meaning"].rstrip(" .。!")


def defines(term: str, sign: str | None, meaning: str, index: SchemaIndex) -> bool:
    """Return whether "term sign meaning" says what a term means: "tier = gold" and "orders are late" do not."""
    tokens, said = tokenize(term), tokenize(meaning)
    if not is_term(tokens, index) or is_value(said, index):
        return False
    if sign in SIGNS or write_arithmetic(meaning, index):
        return True
    if sign in COLONS:
        return bool(link_clearly(said, index)) and has_new_word(tokens, index)
    is_new = not named_targets(term, index) and not is_value(tokens, index)
    return describes_rows(meaning, index) or (is_new and is_condition(meaning, index))


def link_clearly(tokens: Sequence[Token], index: SchemaIndex) -> list[Link]:
    return [link for link in link_names(tokens, index) if link.score > CLEAR]


def describes_rows(text: str, index: SchemaIndex) -> bool:
    """Return whether a meaning names the rows that are meant: first in English, last in Chinese."""
    said = tokenize(text)
    is_last = any(link.kind == "entity" and link.end == len(said) for link in link_clearly(said, index))
    return said[0].lower in POINTERS or is_last or bool(find_head(text, index))


def is_condition(text: str, index: SchemaIndex) -> bool:
    """Return whether several words are a condition on some rows: "tier gold"."""
    fragments = read_meaning(Word(("",), meaning=text), link_question("", index))
    return len(tokenize(text)) > 1 and any(score == 1 for _, score in fragments)


def is_term(tokens: Sequence[Token], index: SchemaIndex) -> bool:
    """Return whether words can be a term: they are few, and none of them gives a question its form."""
    operators = (link.operator for link in link_operators(tokens, index))
    has_form = any(operator and operator.kind in STRUCTURE for operator in operators)
    return 0 < len(tokens) <= MAX_TERM_WORDS and not has_form


def is_value(said: Sequence[Token], index: SchemaIndex) -> bool:
    """Return whether words are a value of the data, a number, or yes or no: what a column can be equal to."""
    texts = " ".join(token.lower for token in said)
    is_plain = texts in ("", *YES_OR_NO) or all(token.number is not None for token in said)
    return is_plain or any(link.end - link.start == len(said) for link in link_values(said, index, index.values))


def has_new_word(tokens: Sequence[Token], index: SchemaIndex) -> bool:
    """Return whether a word is vague, or nothing in the database is called so. Otherwise what comes before a colon may
    be a heading."""
    names = link_clearly(tokens, index)
    names += [link for link in link_values(tokens, index, index.values) if link.score > CLEAR]
    known = {at for link in names for at in range(link.start, link.end)}
    return any(at not in known or find_category(token.lower) != "unknown" for at, token in enumerate(tokens))


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
    lesson = replace(lesson, owner=lesson.owned_by if may_share else "user")
    sources = await analyst.sources.choose(scope, source)
    shorter = (shorten_lesson(lesson, each, analyst.today()) for each in sources)
    plain = OPENER.sub("", answer, count=1)
    default = lesson if plain == answer else replace(lesson, value=plain, data={"answer": answer})
    indexes = [each.view("admin").index for each in sources]
    return await learn_for(analyst, scope, next(filter(None, shorter), default), indexes)


def shorten_lesson(lesson: Lesson, source: OpenSource, today: date) -> Lesson | None:
    """Return the lesson with the condition or the name alone, if this source has its columns."""
    answer, index = lesson.value, source.view("admin").index
    for text in dict.fromkeys((OPENER.sub("", answer, count=1), answer)):
        [word, *_] = make_words(Resolution(lesson.key, text, "user", 1.0), "", index, today)
        if word.condition:
            return replace(lesson, value=text, data={"answer": answer, "sql_hint": text})
        if word.target:
            return replace(lesson, value=text, data={"answer": answer})
    return None


async def learn_for(
    analyst: Analyst, scope: Scope, lesson: Lesson, indexes: Sequence[SchemaIndex] = ()
) -> Learned:  # fmt: skip
    """Learn a meaning. What the user taught about the term before, for themselves, ends: otherwise it would hide what
    they say now. A new meaning that only says another number changes that number in the old one. A term is the same
    with the rows that it describes: "recent" and "recent orders"."""
    owned = await analyst.engine.memories(scope, kinds=MEANINGS, status=("active",))
    known = [each for each in owned if is_same_term(each.key, lesson.key, indexes)]
    before = next((each.value for each in known), "")
    if changed := change_number(before, lesson.value):
        lesson = replace(lesson, value=changed, data=None)
    replaced = before if before != lesson.value else ""
    if replaced:
        lesson = replace(lesson, data={**(lesson.data or {}), "replaces": replaced})
    memory = await analyst.engine.learn(scope, lesson)
    await end_meanings(analyst, scope, {each.id for each in known} - {memory.id})
    return Learned(str(memory.id), memory.key, memory.value, lesson.owner or "user", replaced)


async def end_meanings(analyst: Analyst, scope: Scope, earlier: set[MemoryId]) -> None:
    """End those of these meanings that learning another one has not ended already."""
    for memory in await analyst.engine.memories(scope, kinds=MEANINGS, status=("active",)):
        if memory.id in earlier:
            await analyst.engine.close(scope, memory.id, owner="user")


def is_same_term(one: str, other: str, indexes: Sequence[SchemaIndex]) -> bool:
    """Return whether two terms are the same, the names of rows after them aside."""

    def list_forms(term: str) -> set[tuple[str, ...]]:
        return {stem_phrase(term), *(stem_phrase(shorten_term(term, index)) for index in indexes)}

    return not list_forms(one).isdisjoint(list_forms(other))


def change_number(old: str, new: str) -> str:
    """Return an old meaning with the number of a new one, if that says nothing else: "logged in within 30 days" and "60
    days" give "logged in within 60 days"; else an empty text."""
    before, after = NUMBER.findall(old), NUMBER.findall(new)
    words = set(stem_phrase(NUMBER.sub(" ", new)))
    if len(before) != 1 or len(after) != 1 or not words <= set(stem_phrase(NUMBER.sub(" ", old))):
        return ""
    return NUMBER.sub(lambda _: after[0], old)


async def learn_choice(
    analyst: Analyst, scope: Scope, inquiry: Inquiry, choice: Choice, sql: str
) -> tuple[Learned, ...]:
    """Learn, for this user, what words mean according to the choice that they made. If it teaches no word, it becomes
    their answer to the same question, unless it depends on the day or on what always holds for them."""
    learned, source, taught = list[Learned](), inquiry.source, inquiry.taught
    depends = DAY.search(sql) or taught.filters or taught.time_focus
    if choice.question and not choice.teaches and not depends:
        lesson = make_statement_lesson(source, choice.question, sql, choice=choice.label, frame=choice.frame)
        memory = await analyst.engine.learn(scope, replace(lesson, source="clarification"))
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
            question=inquiry.question[:MAX_VALUE_CHARS],
        )
        learned.append(await learn_for(analyst, scope, lesson))
    return tuple(learned)


def make_statement_lesson(source: OpenSource, question: str, sql: str, **data: Any) -> Lesson:
    """Return the lesson that a statement answers a question, as long as the database keeps its shape."""
    if len(sql) > MAX_VALUE_CHARS:
        raise InvalidInput("sql", f"has {len(sql):,} characters; at most {MAX_VALUE_CHARS:,} are kept")
    return Lesson(
        sql,
        key=question[:MAX_NAME],
        kind="question",
        owner="user",
        importance=QUIET,
        data={"source": source.name, "fingerprint": source.entry.fingerprint, **data},
        question=question[:MAX_VALUE_CHARS],
    )


# Corrections and ratings ---------------------------------------------------------------------------------------------


async def correct(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, generated: str, corrected: str
) -> tuple[Correction, list[Memory]]:
    """Compare two statements, learn what the difference says, and return both. The right one must be allowed to run."""
    found, _ = await analyst.check_sql(scope, source, role, corrected)
    question = analyst.mask(question)
    correction = compare_statements(found, question, generated, corrected)
    if correction.equivalent:
        return correction, [await rate(analyst, scope, source, role, question, corrected, good=True)]
    memories = list[Memory]()
    for lesson in draw_lessons(correction, question, generated, corrected, source):
        if lesson.kind == "terminology" and not is_word(lesson.key, question, found):
            continue
        if lesson.kind == "correction":  # a whole statement holds as long as the database keeps its shape
            lesson = replace(lesson, data={**(lesson.data or {}), "fingerprint": found.entry.fingerprint})
        memories.append(await analyst.engine.learn(scope, lesson))
    return correction, memories


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
    return name not in known or has_words([name.replace("_", " ")], question)


async def rate(
    analyst: Analyst, scope: Scope, source: str, role: str, question: str, sql: str, *, good: bool
) -> Memory:
    """Learn a rating: a thumb up makes the statement this user's answer to the question; a thumb down takes that
    back."""
    found, _ = await analyst.check_sql(scope, source, role, sql)
    lesson = make_statement_lesson(found, analyst.mask(question), sql, rating="up" if good else "down")
    if good:
        return await analyst.engine.learn(scope, lesson)
    for memory in await analyst.engine.memories(scope, kinds=("question", "correction"), key=lesson.key):
        if memory.status == "active" and memory.value == sql:
            await analyst.engine.close(scope, memory.id, owner="user")
    proposed = await analyst.engine.learn(scope, replace(lesson, pending=True))
    return await analyst.engine.reject(scope, proposed.id) if proposed.status == "pending" else proposed


# Approved questions --------------------------------------------------------------------------------------------------


async def propose(
    analyst: Analyst,
    scope: Scope,
    source: str,
    prompt: str,
    sql: str,
    parameters: Sequence[Mapping[str, Any]] = (),
    **data: Any,
) -> Memory:
    """Store a question with its SQL for the whole project, pending approval."""
    found = await analyst.sources.find(scope, source)
    lesson = make_statement_lesson(found, prompt, sql, parameters=[dict(each) for each in parameters], **data)
    await validate(analyst, scope, source, check_pattern(prompt, sql, parameters))
    lesson = replace(lesson, key=prompt, source="manual", owner="project", question=None, pending=True)
    return await analyst.engine.learn(scope, lesson)


async def validate(analyst: Analyst, scope: Scope, source: str, pattern: Pattern) -> tuple[str, ...]:
    """Return the tables that the SQL reads. Raises InvalidInput unless it passes the gate, with some value for each
    parameter."""
    return (await analyst.check_sql(scope, source, "admin", fill_examples(pattern)))[1].tables


async def approve(analyst: Analyst, scope: Scope, query: Memory, *, good: bool) -> Memory:
    """Approve or reject a proposed question; rejecting an approved one takes it back."""
    if not good and query.status == "active":
        memory = await analyst.engine.close(scope, query.id, owner="project")
    else:
        memory = await (analyst.engine.approve if good else analyst.engine.reject)(scope, query.id)
    analyst.reader.clear_approved(scope.project)
    return memory


async def propose_shared_question(analyst: Analyst, scope: Scope, inquiry: Inquiry, answer: Answer) -> Memory | None:
    """Propose a question to the project when several users have asked it alike, its literals removed."""
    is_alone = inquiry.memory.is_read and inquiry.memory.standalone == inquiry.question
    if not is_alone or not answer.sql or answer.error or answer.way not in ("frame", "model"):
        return None
    shape = shape_of(inquiry.question, answer.sql, answer.dialect)
    if shape is None or mask_text(shape.prompt) != shape.prompt:
        return None
    source = answer.source
    if await analyst.engine.sources.count_askers(scope, f"{source}\n{shape.prompt}\n{shape.sql}") != ASKERS:
        return None
    try:
        parameters = list(map(asdict, shape.parameters))
        return await propose(analyst, scope, source, shape.prompt, shape.sql, parameters, note="asked by several users")
    except InvalidInput:
        return None
