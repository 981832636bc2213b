"""What the question itself says about a change: the word a wrong name came from, the vague word that a condition
explains, and whether the corrected part was asked for in so many words (then it is no habit of the user's).

All of it works on texts; the words are data, in asked.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from recollect.apps.ask.corrections.change import Change
from recollect.values.text import WORD, is_cjk, stem_term, stemmer

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+")
STRING = re.compile(r"'((?:[^']|'')*)'")
NUMBER = re.compile(r"(?<![\w.'])\d+(?:\.\d+)?(?![\w.'])")
YEAR = re.compile(r"^(\d{4})-\d\d(?:-\d\d)?")
SHORTENED = 3  # letters from which on the beginning of a word stands for it
TIME = re.compile(
    r"'\d{4}-\d\d|\bCURRENT_|\bNOW\(|\bINTERVAL\b|\bDATE\(|\bGRAIN\(|'now'|\bDATETIME\(|\bAGE\(", re.IGNORECASE
)
AMOUNT = re.compile(r"[<>]=?\s*\(?-?\d|\b(?:COUNT|SUM|AVG|MIN|MAX)\(")
YES_OR_NO = re.compile(r"(?:= |<> )(?:TRUE|FALSE|0|1)$|\bIS NULL$", re.IGNORECASE)
MERELY_KNOWN = re.compile(r"^NOT .*(?<!_at)(?<!_on)(?<!_date) IS NULL$", re.IGNORECASE)  # no state, only a value
COLUMN = re.compile(r'(?:"?([\w.]+)"?\.)?"?(\w+)"?')


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its words and their stems."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]

    def has(self, word: str) -> bool:
        return word in self.text if is_cjk(word) else stem(word) in self.stems

    def has_any(self, words: Iterable[str]) -> bool:
        return any(map(self.has, words))


def asked(question: str) -> Asked:
    text = question.lower()
    words = tuple(WORD.findall(text))
    return Asked(text, words, tuple(map(stem, words)))


def stem(word: str) -> str:
    return stemmer()(word)


@cache
def vocabulary() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return tomllib.loads(
        files("recollect.apps.ask.corrections").joinpath("question_words.toml").read_text(encoding="utf-8")
    )


def parts(identifier: str) -> list[str]:
    """clientNames and client_name are both client and name."""
    return [stem(piece.lower()) for piece in PIECE.findall(identifier)]


def named(change: Change, question: str) -> Change:
    """The change with the question's word for it, if there is one."""
    if not question:
        return change
    heard = asked(question)
    if change.kind in ("table_substitution", "column_substitution"):
        return replace(change, word=word_for(change.before or "", change.after or "", heard))
    if change.kind in ("filter_change", "filter_addition"):
        return replace(change, word=vague_word(change, heard))
    return change


def word_for(wrong: str, right: str, heard: Asked) -> str | None:
    """The words of the question that the wrong name is made of, best those that the right one is not made of."""
    if is_cjk(wrong):
        return wrong if wrong in heard.text else None
    old, new = parts(wrong), parts(right)
    runs = word_runs(heard, old)
    fresh = [run for run in runs if not any(begins(part, stem(word)) for word in run for part in new)]
    exact = [run for run in runs if all(stem(word) in old for word in run)]
    found = max(fresh or exact, key=len, default=())
    word = " ".join(found)
    return word if word and stem_term(word) != stem_term(right.replace("_", " ")) else None


def word_runs(heard: Asked, old: Sequence[str]) -> list[tuple[str, ...]]:
    """Neighbouring words that are parts of the name."""
    runs: list[tuple[str, ...]] = [()]
    for word, its_stem in zip(heard.words, heard.stems, strict=True):
        if any(begins(part, its_stem) for part in old):
            runs[-1] += (word,)
        elif runs[-1]:
            runs.append(())
    return [run for run in runs if run]


def begins(part: str, word: str) -> bool:
    return part == word or (len(part) >= SHORTENED and word.startswith(part))


def vague_word(change: Change, heard: Asked) -> str | None:
    """The vague word that a condition of this kind can explain. One that was asked for explains none."""
    condition = change.after or ""
    if all(literal_answers(condition, heard) or [False]):
        return None
    kinds = ["temporal"] if TIME.search(condition) else ["quantitative"] if AMOUNT.search(condition) else []
    if change.kind == "filter_change":
        kinds += ["ranking", "state"] if kinds == ["quantitative"] else ["state"]
    vague = vocabulary()["vague"]
    return next((said for kind in kinds for word in vague[kind] if (said := spoken(word, heard))), None)


def spoken(word: str, heard: Asked) -> str | None:
    """As the question writes it."""
    if is_cjk(word):
        return word if word in heard.text else None
    return next((said for said, its in zip(heard.words, heard.stems, strict=True) if its == stem(word)), None)


def is_asked(condition: str, question: str) -> bool:
    """Whether the question asked for this condition: by its value, by its flag, or by naming a time."""
    heard = asked(question)
    if any(literal_answers(condition, heard)):
        return True
    if TIME.search(condition) and heard.has_any(vocabulary()["time"]["words"]):
        return True
    is_state = YES_OR_NO.search(condition) and not MERELY_KNOWN.search(condition)
    return bool(is_state) and any(is_column_asked(name, heard) for name in columns(condition))


def literal_answers(condition: str, heard: Asked) -> list[bool]:
    """Of each value in the condition, whether the question has it. The two ends of a range of dates are one value."""
    strings = STRING.findall(condition)
    dates = [is_value_asked(value, heard) for value in strings if YEAR.match(value)]
    others = [is_value_asked(value, heard) for value in strings if not YEAR.match(value)]
    numbers = [is_number_asked(number, heard) for number in NUMBER.findall(STRING.sub("''", condition))]
    return [any(dates)] * bool(dates) + others + numbers


def is_value_asked(value: str, heard: Asked) -> bool:
    year = YEAR.match(value)
    if year:
        return year[1] in heard.text
    numbers = NUMBER.findall(value.replace("-", " "))
    if numbers:
        return any(is_number_asked(number, heard) for number in numbers)
    words = PIECE.findall(value)
    return bool(words) and all(heard.has(word.lower()) for word in words)


def is_number_asked(number: str, heard: Asked) -> bool:
    amount = float(number)
    spelled = {number, f"{amount:g}", f"{amount / 1e3:g}k", f"{amount / 1e6:g}m"}
    said = {word.replace(",", "") for word in heard.words}
    return (
        bool(spelled & said)
        or f"{amount / 1e4:g}万" in heard.text
        or heard.has_any(vocabulary()["numbers"].get(number, ()))
    )


def is_column_asked(column: str, heard: Asked) -> bool:
    about = [part for part in parts(column) if part not in map(stem, vocabulary()["columns"]["filler"])]
    return any(part in heard.stems for part in about)


def columns(sql: str) -> list[str]:
    """Names of the columns that are written with their table."""
    return [name for table, name in COLUMN.findall(STRING.sub("''", sql)) if table]


def is_unit_asked(unit: str, question: str) -> bool:
    return asked(question).has_any(vocabulary()["units"].get(unit, ()))


def is_measure_asked(measure: str, question: str) -> bool:
    """AVG(x), for "the average x"."""
    said = {name: words for name, words in vocabulary()["measures"].items() if name in measure.upper()}
    return any(map(asked(question).has_any, said.values()))
