"""What the question says about a change: the word that a wrong name came from, the vague word that a condition
explains, and whether the question asked for the corrected part (then it is not a habit of the user).

All functions work on texts. The word lists are in question_words.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from recollect.apps.ask.corrections.correction import Change
from recollect.values.text import WORD, is_cjk, stem_term, stemmer

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+")
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
        return cls(text, words, tuple(map(stem, words)))

    def has(self, word: str) -> bool:
        return word in self.text if is_cjk(word) else stem(word) in self.stems

    def has_any(self, words: Iterable[str]) -> bool:
        return any(map(self.has, words))

    def find_spelling(self, word: str) -> str | None:
        """Return a word as the question writes it, or None if it is not there."""
        if not self.has(word):
            return None
        return word if is_cjk(word) else self.words[self.stems.index(stem(word))]


def stem(word: str) -> str:
    return stemmer()(word)


@cache
def load_vocabulary() -> Mapping[str, Mapping[str, Sequence[str]]]:
    file = files("recollect.apps.ask.corrections").joinpath("question_words.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def split_identifier(identifier: str) -> list[str]:
    """Return the stems of the words in a name: clientNames and client_name are both client and name."""
    return [stem(piece.lower()) for piece in PIECE.findall(identifier)]


def add_question_word(change: Change, question: str) -> Change:
    """Return the change with the question's word for it, if there is one."""
    words = QuestionWords.of(question)
    if question and change.kind in ("table_substitution", "column_substitution"):
        return replace(change, word=find_name_word(change.before or "", change.after or "", words))
    if question and change.kind in ("filter_change", "filter_addition"):
        return replace(change, word=find_vague_word(change, words))
    return change


def find_name_word(wrong: str, right: str, question: QuestionWords) -> str | None:
    """Return the words of the question that the wrong name consists of, preferring those that are not in the right
    name."""
    if is_cjk(wrong):
        return question.find_spelling(wrong)
    old, new = split_identifier(wrong), split_identifier(right)
    runs = _find_runs(question, old)
    fresh = [run for run in runs if not any(starts_with_any(new, stem(word)) for word in run)]
    exact = [run for run in runs if {*old}.issuperset(map(stem, run))]
    longest = max(fresh or exact, key=len, default=())
    word = " ".join(longest)
    return word if word and stem_term(word) != stem_term(right.replace("_", " ")) else None


def _find_runs(question: QuestionWords, parts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the neighbouring words of the question that are parts of a name."""
    runs: list[tuple[str, ...]] = [()]
    for word, its_stem in zip(question.words, question.stems, strict=True):
        if starts_with_any(parts, its_stem):
            runs[-1] += (word,)
        elif runs[-1]:
            runs.append(())
    return [run for run in runs if run]


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


def is_condition_asked(condition: str, question: str) -> bool:
    """Whether the question asked for this condition: by its value, by its flag, or by naming a time."""
    words = QuestionWords.of(question)
    if any(_check_literals(condition, words)):
        return True
    if TIME.search(condition) and words.has_any(load_vocabulary()["time"]["words"]):
        return True
    is_state = YES_OR_NO.search(condition) and not HAS_VALUE.search(condition)
    return bool(is_state) and any(is_column_asked(name, words) for name in list_columns(condition))


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
    words = PIECE.findall(value)
    return bool(words) and all(question.has(word.lower()) for word in words)


def _is_number_asked(number: str, question: QuestionWords) -> bool:
    amount = float(number)
    spelled = {number, f"{amount:g}", f"{amount / 1e3:g}k", f"{amount / 1e6:g}m"}
    return (
        not spelled.isdisjoint(word.replace(",", "") for word in question.words)
        or f"{amount / 1e4:g}万" in question.text
        or question.has_any(load_vocabulary()["numbers"].get(number, ()))
    )


def is_column_asked(column: str, question: QuestionWords) -> bool:
    filler = map(stem, load_vocabulary()["columns"]["filler"])
    return not ({*split_identifier(column)} - {*filler}).isdisjoint(question.stems)


def is_unit_asked(unit: str, question: str) -> bool:
    return QuestionWords.of(question).has_any(load_vocabulary()["units"].get(unit, ()))


def is_measure_asked(measure: str, question: str) -> bool:
    """Whether the question names the function of a measure, as in "the average price" for AVG(price)."""
    spoken = [
        word for name, words in load_vocabulary()["measures"].items() if name in measure.upper() for word in words
    ]
    return QuestionWords.of(question).has_any(spoken)


def list_columns(sql: str) -> list[str]:
    """Return the names of the columns that are qualified by their table."""
    return [column.rpartition(".")[2] for column in list_qualified_columns(sql)]


def list_qualified_columns(sql: str) -> list[str]:
    """Return the qualified columns as table.column."""
    return [f"{table}.{name}" for table, name in COLUMN.findall(STRING.sub("''", sql)) if table]
