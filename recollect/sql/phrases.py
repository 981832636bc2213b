"""Phrases: the function words of questions, read from words_en.toml and words_zh.toml: what kind each is and its value.

"at least" is a `compare` with the value ">=". Everything that reads a question asks here; nothing is written in code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.sql.lexer import IRREGULAR, Key, key_of, stem_key


@dataclass(frozen=True, slots=True)
class Word:
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Unit:
    kind: str  # duration, bytes, money
    factor: float  # of the base unit


@dataclass(frozen=True, slots=True)
class Phrases:
    words: Mapping[Key, tuple[Word, ...]]
    periods: Mapping[str, frozenset[Key]]
    units: Mapping[Key, Unit]
    numbers: Mapping[Key, int]
    concepts: Mapping[str, tuple[Key, ...]]  # nouns of a concept, as stems
    events: Mapping[str, tuple[Key, ...]]
    linking: Mapping[str, str]  # forms of verbs that only join two things, and the verb
    longest: int

    def of(self, key: Key) -> tuple[Word, ...]:
        return self.words.get(key, ())

    def value(self, key: Key, kind: str) -> str | None:
        return next((word.value for word in self.of(key) if word.kind == kind), None)


@dataclass(frozen=True, slots=True)
class Chinese:
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    phrases: Mapping[str, str]
    longest: int


DOUBLED = ("log",)
APART = ("period", "number", "unit", "concept", "event", "rewritten", "linking")  # not looked up as words


@cache
def phrases() -> Phrases:
    data = read("words_en.toml")
    words: dict[Key, tuple[Word, ...]] = {}
    for kind, values in data.items():
        for value, said in values.items() if kind not in APART else ():
            for phrase in said:
                words[key_of(phrase)] = (*words.get(key_of(phrase), ()), Word(kind, value))
    units = {
        key_of(word): Unit(kind, float(factor))
        for kind, factors in data["unit"].items()
        for factor, said in factors.items()
        for word in said
    }
    return Phrases(
        words,
        {name: frozenset(map(key_of, said)) for name, said in data["period"].items()},
        units,
        {key_of(word): int(number) for number, said in data["number"].items() for word in said},
        {name: tuple(map(stem_key, said)) for name, said in data["concept"].items()},
        {name: tuple(map(stem_key, said)) for name, said in data["event"].items()},
        {form: verb for verb in data["linking"][""] for form in forms_of(verb)},
        max(map(len, words)),
    )


def forms_of(verb: str) -> tuple[str, ...]:
    """Study, studies, studied, studying; drive, drives, driving, drove, driven."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        third, past = f"{verb[:-1]}ies", f"{verb[:-1]}ied"
    else:
        third = f"{verb}es" if verb.endswith(("s", "x", "ch", "sh", "o")) else f"{verb}s"
        past = f"{verb.removesuffix('e')}ed"
    if verb in DOUBLED:
        return (verb, third, f"{verb}{verb[-1]}ing", f"{verb}{verb[-1]}ed")
    irregular = [form for form, each in IRREGULAR.items() if each == verb]
    return (verb, third, f"{verb.removesuffix('e')}ing", *(irregular or (past,)))


@cache
def rewritten() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Long ways to say it, and the short one."""
    return tuple((re.compile(long, re.IGNORECASE), short) for long, short in read("words_en.toml")["rewritten"].items())


@cache
def chinese() -> Chinese:
    data = read("words_zh.toml")
    found = {phrase: english for english, said in data["phrases"].items() for phrase in said}
    patterns = tuple((re.compile(pattern), text) for pattern, text in data["patterns"].items())
    return Chinese(patterns, found, max(map(len, found)))


def read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("recollect.sql").joinpath(name).read_text(encoding="utf-8"))
