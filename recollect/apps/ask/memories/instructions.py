"""Instructions: messages of a conversation that change what is learned. `find_retraction` reads "forget ..." and "undo
that", `find_standing_filter` reads "always exclude ..."; `retract` and `learn_filter` carry them out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret import Candidate, Frame, link_question, propose, render_frame
from recollect.apps.ask.interpret.explain import label_frame
from recollect.apps.ask.memories.reader import HABITS
from recollect.apps.ask.memories.vocabulary import strip_courtesy
from recollect.apps.ask.question import Learned, get_data
from recollect.apps.ask.sql_text import ground_condition
from recollect.apps.ask.words import split_name, stem_phrase
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import Memory, MemoryKind
from recollect.values.scope import MAX_NAME, Scope

if TYPE_CHECKING:
    from recollect.apps.ask.analyst import Analyst

RETRACTION = re.compile(
    r"^(?:(?:no|actually)[, ]+)*(?:forget|undo|unlearn)\b(?P<rest>.{0,80})$"
    r"|^(?:忘掉|忘记|忘了|撤销|取消)(?P<rest_zh>.{0,40})$",
    re.IGNORECASE,
)
# Words around the term: "what I said about ...", "the meaning of ...", "关于...的定义".
ABOUT = re.compile(
    r"^(?:about|(?:all |everything )?(?:what|that|which)? ?(?:i|you) (?:\w+ )?(?:said|told|taught|learned|know|meant)"
    r"(?: you)?(?: about| by| with)?|the|my|our|meaning of|definition of|(?:rule|filter|condition) (?:about|on|for|of)"
    r"|我说的|关于)\b\s*|\s*(?:rule|filter|definition|meaning|的定义|的意思|的含义|的规则)$",
    re.IGNORECASE,
)
LATEST = frozenset((
    "", "that", "it", "this", "that one", "last", "last one", "last thing", "that again", "那个", "这个", "刚才",
    "上一条",
))  # fmt: skip
STANDING = re.compile(
    r"^(?:(?:always|by default|from now on|in future|in general)[, ]+)(?P<always>.+)$"
    r"|^never (?:count|include|show|use|consider) (?P<never>.+)$"
    r"|^(?P<later>(?:exclude|ignore|leave out|skip|hide|only) .+?),? "
    r"(?:always|by default|from now on|in future)$",
    re.IGNORECASE,
)
EXCLUDING = re.compile(
    r"^(?:exclude|ignore|leave out|skip|hide|(?:do not|don't) (?:count|include|show))\b", re.IGNORECASE
)
WORDS = {
    "en": ('I have learned nothing about "{}".', "There is nothing to undo.", "Forgotten: ", " Again: ", "."),
    "zh": ("我没有学过“{}”。", "没有可以撤销的内容。", "已忘记：", "恢复：", "。"),
}
TAUGHT_KINDS: tuple[MemoryKind, ...] = ("definition", "terminology", "preference", "question")


async def follow_instruction(
    analyst: Analyst, scope: Scope, inquiry: Inquiry
) -> tuple[str, tuple[Learned, ...]] | None:  # fmt: skip
    """Forget what the message says, or learn the filter that it says always holds. Return what was done, in words, and
    what is learned; None if the message is no instruction."""
    if kept := find_standing_filter(inquiry):
        learned = await learn_filter(analyst, scope, inquiry, kept)
        return f"Saved for you, for every question: {'; '.join(each.meaning for each in learned)}.", learned
    term = find_retraction(inquiry.question)
    if term is None:
        return None
    ended, restored = await retract(analyst, scope, term)
    return word_retraction(ended, restored, term, inquiry.language), restored


def find_retraction(message: str) -> str | None:
    """Return the term whose meaning is to be forgotten, "" for what was learned last; None for any other message."""
    found = RETRACTION.match(strip_courtesy(message).rstrip(".!。！ "))
    if found is None:
        return None
    rest, before = (found["rest"] or found["rest_zh"] or "").strip(" \"'“”"), ""
    while rest != before:
        before, rest = rest, ABOUT.sub("", rest, count=1).strip(" \"'“”:,")
    return "" if rest.casefold() in LATEST else rest


async def retract(
    analyst: Analyst, scope: Scope, term: str
) -> tuple[list[Memory], tuple[Learned, ...]]:  # fmt: skip
    """End what the user taught about a term, or without one what they taught last. What that had replaced holds again
    if it was the last. Return what ended, and what holds again."""
    owned = await analyst.engine.memories(scope, kinds=TAUGHT_KINDS, status=("active",))
    known = [each for each in owned if each.kind != "preference" or each.key.partition(":")[0] in HABITS]
    latest = sorted(known, key=lambda each: (each.valid_from, each.place))[-1:]
    ended = find_about(term, known) if term else latest
    earlier = get_data(latest[0]).get("replaces") if latest and not term else None
    for memory in ended:
        await analyst.engine.close(scope, memory.id, owner="user")
    if not earlier:
        return ended, ()
    lesson = Lesson(earlier, key=ended[0].key, kind=ended[0].kind, source="clarification", owner="user")
    again = await analyst.engine.learn(scope, lesson)
    return ended, (Learned(str(again.id), again.key, again.value, "user"),)


def find_about(term: str, known: Sequence[Memory]) -> list[Memory]:
    """Return the memories whose term is named ("what active means"), the longest one; if there are none, those whose
    words include all words that are said."""
    said = set(stem_phrase(term))
    keys = [set(stem_phrase(each.key)) for each in known]
    longest = max((len(key) for key in keys if key <= said), default=0)
    if longest:
        return [each for each, key in zip(known, keys, strict=True) if key <= said and len(key) == longest]
    return [each for each in known if said and said <= set(stem_phrase(describe_memory(each)))]


def describe_memory(memory: Memory) -> str:
    data, key = get_data(memory), " ".join(split_name(memory.key.partition(":")[2] or memory.key))
    return " ".join(str(each) for each in (key, memory.value, data.get("answer", "")))


def word_retraction(
    ended: Sequence[Memory], restored: Sequence[Learned], term: str, language: Literal["en", "zh"]
) -> str:  # fmt: skip
    """Return what was taken back, in words."""
    unknown, nothing, forgotten, again, end = WORDS[language]
    if not ended:
        return unknown.format(term) if term else nothing
    names = [get_data(each).get("label") or f'"{each.key}" means {each.value}' for each in ended]
    kept = [f'"{each.term}" means {each.meaning}' for each in restored]
    return "".join(f"{opening}{'; '.join(said)}{end}" for opening, said in ((forgotten, names), (again, kept)) if said)


# Filters that always hold ---------------------------------------------------------------------------------------------


def find_standing_filter(inquiry: Inquiry) -> Candidate | None:
    """Return the rows that a message says are meant in every question, read like a question ("always exclude test
    customers" -> customers without tests); None for any other message."""
    found = STANDING.match(strip_courtesy(inquiry.question).rstrip(".!。 "))
    if found is None:
        return None
    said = f"exclude {found['never']}" if found["never"] else found["always"] or found["later"]
    said = EXCLUDING.sub("exclude", said)
    best = next(iter(propose(link_question(said, inquiry.view.index, today=inquiry.today), most=1)), None)
    return best if best and not best.unexplained and not best.guesses and is_row_filter(best.frame) else None


def is_row_filter(frame: Frame) -> bool:
    """Return whether a frame only says which rows of its subject are meant, by their own columns."""
    is_own = all(each.of.table == frame.subject and each.of.column for each in frame.filters)
    is_counted = {metric.aggregate for metric in frame.metrics} <= {"count"}
    others = (frame.periods, frame.having, frame.existence, frame.groups, frame.limit)
    return bool(frame.filters) and is_own and is_counted and not any(others)


async def learn_filter(analyst: Analyst, scope: Scope, inquiry: Inquiry, found: Candidate) -> tuple[Learned, ...]:
    """Learn the conditions of a candidate as filters of the user, one for each column."""
    index, learned = inquiry.view.index, list[Learned]()
    for each in found.frame.filters:
        frame = Frame(found.frame.subject, filters=(replace(each, either=0),))
        condition = write_condition(frame, inquiry)
        label = label_frame(frame, index, inquiry.question)
        lesson = Lesson(
            condition,
            key=f"default_filter:{frame.subject}.{each.of.column}"[:MAX_NAME],
            kind="preference",
            owner="user",
            data={"source": inquiry.source.name, "answer": inquiry.question[:MAX_VALUE_CHARS], "label": label},
        )
        memory = await analyst.engine.learn(scope, lesson)
        learned.append(Learned(str(memory.id), f"{frame.subject}.{each.of.column}", label, "user"))
    return tuple(learned)


def write_condition(frame: Frame, inquiry: Inquiry) -> str:
    """Return the condition of a frame over the columns of its subject."""
    from sqlglot import exp, parse_one

    dialect = inquiry.source.dialect
    where = parse_one(render_frame(frame, inquiry.view.index), dialect=dialect).find(exp.Where)
    condition = where.this.sql(dialect) if where is not None else ""
    return ground_condition(condition, dialect, inquiry.today) or condition
