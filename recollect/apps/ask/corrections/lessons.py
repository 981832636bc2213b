"""From the changes of a correction to lessons. `draw_lessons` is the entry point.

The pair of queries is always kept, as an example. In addition, names become terminology, a changed filter explains the
vague word of the question, and an added filter, a measure, a grouping or a unit becomes a preference. If the question
asked for it, the first query was wrong about this question only, and no preference is learned.

`add_question_word` finds the word of the question that a wrong name came from, or that a condition explains. The word
lists are in question_words.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Any

from recollect.apps.ask.corrections import Change, Correction
from recollect.apps.ask.words import split_name, stem_word
from recollect.values.lesson import MAX_VALUE_CHARS, Lesson
from recollect.values.memory import MemoryKind
from recollect.values.scope import MAX_NAME
from recollect.values.text import WORD, check_text, is_cjk, shorten, stem_term

MAX_CHANGES = 3  # a query that was rewritten says nothing about any one change
CONFIDENCE = {"terminology": 0.95, "definition": 0.9, "preference": 0.7, "correction": 0.95}
EXAMPLE_IMPORTANCE = 0.4  # found when a question is like it, not shown in every context
TYPES = {"table_substitution": "wrong_table", "column_substitution": "wrong_column"}
MEASURE = re.compile(r"\b(?:COUNT|SUM|AVG|MIN|MAX)\(")  # a condition on groups is not a filter of a table
NOT_TERMS = ("id",)  # says nothing about what was meant
STRING = re.compile(r"'((?:[^']|'')*)'")
NUMBER = re.compile(r"(?<![\w.'])\d+(?:\.\d+)?(?![\w.'])")
YEAR = re.compile(r"^(\d{4})-\d\d(?:-\d\d)?")
MIN_PREFIX = 3  # letters from which on the beginning of a word stands for it
TIME = re.compile(
    r"'\d{4}-\d\d|\bCURRENT_|\bNOW\(|\bINTERVAL\b|\bDATE\(|\bGRAIN\(|'now'|\bDATETIME\(|\bAGE\(", re.IGNORECASE
)
AMOUNT = re.compile(r"[<>]=?\s*\(?-?\d|\b(?:COUNT|SUM|AVG|MIN|MAX)\(")
YES_OR_NO = re.compile(r"(?:= |<> )(?:TRUE|FALSE|0|1)$|\bIS NULL$", re.IGNORECASE)
HAS_VALUE = re.compile(r"^NOT .*(?<!_at)(?<!_on)(?<!_date) IS NULL$", re.IGNORECASE)  # says no state, only a value
COLUMN = re.compile(r'(?:"?([\w.]+)"?\.)?"?(\w+)"?')


def draw_lessons(
    correction: Correction, question: str, generated_sql: str, corrected_sql: str, source: str | None = None
) -> list[Lesson]:
    """Return the lessons for `Engine.learn`, the pair first. `source` names the database, if there are several."""
    if correction.equivalent:
        return []
    check_text("question", question, MAX_VALUE_CHARS)
    found = [_make_example(correction.changes, question, generated_sql, corrected_sql)]
    if len(correction.changes) <= MAX_CHANGES:
        found += [lesson for change in correction.changes for lesson in _draw_from_change(change, question)]
    unique = {(lesson.kind, lesson.key): lesson for lesson in reversed(found)}
    place = {"source": source} if source else {}
    return [replace(lesson, data={**(lesson.data or {}), **place}) for lesson in reversed(unique.values())]


def _make_example(changes: tuple[Change, ...], question: str, generated_sql: str, corrected_sql: str) -> Lesson:
    mappings = (f"{change.before or 'nothing'} → {change.after or 'nothing'}" for change in changes[:MAX_CHANGES])
    kind = "filter" if changes[0].kind.startswith("filter_") else changes[0].kind
    data = {
        "original_query": question,
        "generated_sql": generated_sql,
        "corrected_sql": corrected_sql,
        "correction_type": TYPES.get(kind, f"wrong_{kind}"),
        "learned_mapping": "; ".join(shorten(each, MAX_NAME) for each in mappings),
        "changes": [change.kind for change in changes],
    }
    lesson = _make_lesson("correction", " ".join(question.split()), corrected_sql, question, data)
    return replace(lesson, importance=EXAMPLE_IMPORTANCE)


def _draw_from_change(change: Change, question: str) -> Iterator[Lesson]:
    after = change.after or ""
    if change.kind == "table_substitution":
        yield from _draw_terms(change, question, "table", f"refers to {after} table")
    elif change.kind == "column_substitution":
        full = ".".join(filter(None, (change.table, after)))
        yield from _draw_terms(change, question, "column", f"refers to {full}")
    elif change.word:
        yield _make_lesson("definition", change.word, after, question, {"sql_hint": after})
    elif after and (key := _name_preference(change, after, QuestionWords.of(question))):
        value = f"by {after}" if change.kind == "grouping" else after
        yield _make_lesson("preference", key, value, question, {"table_name": change.table})


def _draw_terms(change: Change, question: str, entity: str, value: str) -> Iterator[Lesson]:
    data = {"entity_type": entity, "canonical_term": change.after, "table_name": change.table}
    for term in dict.fromkeys(filter(None, (change.before, change.word))):
        if term.lower() not in NOT_TERMS:
            yield _make_lesson("terminology", term.lower(), value, question, data)


def _name_preference(change: Change, after: str, question: QuestionWords) -> str | None:
    """Return the key of the preference that a change shows, or None if the question asked for it."""
    columns, known = list_qualified_columns(after), list_qualified_columns(change.before or "")
    key, is_asked = "", True
    match change.kind:
        case "filter_addition" if columns and not MEASURE.search(after):
            key, is_asked = f"default_filter:{columns[0]}", is_condition_asked(after, question)
        case "aggregation":
            key, is_asked = f"aggregation:{[*columns, *known, after.lower()][0]}", is_measure_asked(after, question)
        case "grain":
            key, is_asked = "time_grain", question.has_any(load_vocabulary()["units"].get(after, ()))
        case "grouping":
            new = {*map(drop_table, columns)} - {*map(drop_table, known)}
            key, is_asked = f"grouping:{change.table}", all(is_column_asked(name, question) for name in new)
    return None if is_asked else key


def _make_lesson(kind: MemoryKind, key: str, value: str, question: str, data: dict[str, Any]) -> Lesson:
    return Lesson(
        shorten(value, MAX_VALUE_CHARS),
        key=shorten(key, MAX_NAME),
        kind=kind,
        source="correction",
        owner="user",
        confidence=CONFIDENCE[kind],
        data=data,
        question=question,
    )


# Words of the question ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """A question in lower case, its words and their stems."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]

    @classmethod
    def of(cls, question: str) -> QuestionWords:
        text = question.lower()
        words = tuple(WORD.findall(text))
        return cls(text, words, tuple(map(stem_word, words)))

    def has(self, word: str) -> bool:
        return word in self.text if is_cjk(word) else stem_word(word) in self.stems

    def has_any(self, words: Iterable[str]) -> bool:
        return any(map(self.has, words))

    def find_spelling(self, word: str) -> str | None:
        """Return a word as the question writes it, or None if it is not there."""
        if not self.has(word):
            return None
        return word if is_cjk(word) else self.words[self.stems.index(stem_word(word))]


@cache
def load_vocabulary() -> Mapping[str, Mapping[str, Sequence[str]]]:
    file = files("recollect.apps.ask.corrections").joinpath("question_words.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def stem_name(identifier: str) -> list[str]:
    """Return the stems of the words in a name: clientNames and client_name are both client and name."""
    return list(map(stem_word, split_name(identifier)))


def add_question_word(change: Change, question: str) -> Change:
    """Return the change with the question's word for it, if there is one."""
    words = QuestionWords.of(question)
    if question and change.kind in ("table_substitution", "column_substitution"):
        return replace(change, word=find_name_word(change.before or "", change.after or "", words))
    if question and change.kind in ("filter_change", "filter_addition"):
        return replace(change, word=find_vague_word(change, words))
    return change


def find_name_word(wrong: str, right: str, question: QuestionWords) -> str | None:
    """Return the words of the question that the wrong name consists of, and that are not in the right name."""
    if is_cjk(wrong):
        return question.find_spelling(wrong)
    old, new = stem_name(wrong), stem_name(right)
    runs = _find_runs(question, old)
    fresh = [run for run in runs if not any(starts_with_any(new, stem_word(word)) for word in run)]
    longest = max(fresh, key=len, default=())
    word = " ".join(longest)
    return word if word and stem_term(word) != stem_term(right.replace("_", " ")) else None


def _find_runs(question: QuestionWords, parts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the neighbouring words of the question that are parts of a name."""
    marked = [(starts_with_any(parts, stem_word(word)), word) for word in question.words]
    return [tuple(word for _, word in run) for is_part, run in groupby(marked, itemgetter(0)) if is_part]


def starts_with_any(parts: Sequence[str], word: str) -> bool:
    """Whether a word is one of the parts, or begins with one that is long enough to stand for it."""
    return word in parts or word.startswith(tuple(part for part in parts if len(part) >= MIN_PREFIX))


def find_vague_word(change: Change, question: QuestionWords) -> str | None:
    """Return the vague word of the question that a condition of this kind can explain. A condition whose values the
    question names explains none."""
    condition = change.after or ""
    if all(_check_literals(condition, question) or [False]):
        return None
    kinds = ["temporal"] if TIME.search(condition) else ["quantitative"] if AMOUNT.search(condition) else []
    if change.kind == "filter_change":
        kinds += ["ranking", "state"] if kinds == ["quantitative"] else ["state"]
    vague = [word for kind in kinds for word in load_vocabulary()["vague"][kind]]
    return next(filter(None, map(question.find_spelling, vague)), None)


def is_condition_asked(condition: str, question: QuestionWords) -> bool:
    """Whether the question asked for this condition: by its value, by its flag, or by naming a time."""
    if any(_check_literals(condition, question)):
        return True
    if TIME.search(condition) and question.has_any(load_vocabulary()["time"]["words"]):
        return True
    is_state = YES_OR_NO.search(condition) and not HAS_VALUE.search(condition)
    columns = map(drop_table, list_qualified_columns(condition))
    return bool(is_state) and any(is_column_asked(name, question) for name in columns)


def _check_literals(condition: str, question: QuestionWords) -> list[bool]:
    """Return for each value in the condition whether the question has it. The two ends of a range of dates are one
    value."""
    strings = STRING.findall(condition)
    dates = [found[1] in question.text for value in strings if (found := YEAR.match(value))]
    others = [_is_text_asked(value, question) for value in strings if not YEAR.match(value)]
    numbers = [_is_number_asked(number, question) for number in NUMBER.findall(STRING.sub("''", condition))]
    return [any(dates)] * bool(dates) + others + numbers


def _is_text_asked(value: str, question: QuestionWords) -> bool:
    numbers = NUMBER.findall(value.replace("-", " "))
    if numbers:
        return any(_is_number_asked(number, question) for number in numbers)
    words = split_name(value)
    return bool(words) and all(map(question.has, words))


def _is_number_asked(number: str, question: QuestionWords) -> bool:
    amount = float(number)
    spelled = {number, f"{amount:g}", f"{amount / 1e3:g}k", f"{amount / 1e6:g}m"}
    return (
        not spelled.isdisjoint(word.replace(",", "") for word in question.words)
        or f"{amount / 1e4:g}万" in question.text
        or question.has_any(load_vocabulary()["numbers"].get(number, ()))
    )


def is_measure_asked(measure: str, question: QuestionWords) -> bool:
    """Whether the question asked for a function: "the average price" asks for AVG(price)."""
    measures = load_vocabulary()["measures"].items()
    return any(question.has_any(words) for name, words in measures if name in measure.upper())


def is_column_asked(column: str, question: QuestionWords) -> bool:
    filler = map(stem_word, load_vocabulary()["columns"]["filler"])
    return not ({*stem_name(column)} - {*filler}).isdisjoint(question.stems)


def drop_table(column: str) -> str:
    return column.rpartition(".")[2]


def list_qualified_columns(sql: str) -> list[str]:
    """Return the qualified columns as table.column."""
    return [f"{table}.{name}" for table, name in COLUMN.findall(STRING.sub("''", sql)) if table]
