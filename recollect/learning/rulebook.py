"""Rulebook: what the extraction knows about one language, read from a data file. The code contains no words.

A rule finds a value by a regular expression with a group `value` (and perhaps `old`, `term` or `key`). A gate rejects
what is no statement of the user. `{name}` in a pattern stands for the macro of that name. Patterns are compiled when
first needed, so a process that only sees English never compiles Chinese ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from recollect.values.memory import Category, Verb

# How important what a rule finds is, unless it says otherwise.
IMPORTANCE: Mapping[Category, float] = {
    "constraint": 0.85,
    "instruction": 0.75,
    "identity": 0.75,
    "todo": 0.65,
    "decision": 0.65,
    "fact": 0.55,
    "preference": 0.5,
}
Reach = Literal["text", "sentence", "rest", "clause"]
MACRO = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """`words`: at least one of them is in every text the rule can match. `despite`: gates that do not stop it."""

    name: str
    category: Category
    key: str
    importance: float
    pattern: str
    words: Sequence[str]
    confidence: float = 0.95
    corrects: bool = False
    by_topic: bool = False
    despite: frozenset[str] = frozenset()
    most: int = 0
    stop: str = ""
    examples: Sequence[Sequence[str]] = ()
    never: Sequence[str] = ()

    @property
    def defines(self) -> bool:
        return self.key.startswith("definition:")


@dataclass(frozen=True, slots=True)
class Gate:
    """What `pattern` finds in a clause (or, for `text` and `sentence`, in those) is rejected that far."""

    reason: str
    reach: Reach
    pattern: str
    words: Sequence[str] = ()
    examples: Sequence[str] = ()
    never: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """How a user tells the memory to remember or to forget; the group `value` is what."""

    verb: Verb
    pattern: str
    words: Sequence[str]
    examples: Sequence[Sequence[str]] = ()
    never: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rulebook:
    language: str
    script: str  # a sentence with a match of this is read by this book
    clause: str  # what stands between clauses
    abbreviations: frozenset[str]
    rules: Sequence[Rule]
    gates: Sequence[Gate]
    orders: Sequence[Order]
    injected: str  # text that is data, up to the end of the match
    correction: str
    hedge: str
    negation: str  # a value that begins so says the opposite
    vague: str  # a value that is nothing but this says nothing
    subject: str  # a clause that begins so has a subject of its own: the user, or what is theirs
    predicates: str  # a `subject` and several `parts` that say something of it
    coordinator: str  # what is between such parts
    pointing: str  # a clause that begins so is about something that was named before
    referring: str  # a word for something that may have been named before
    leading: str  # trimmed from the beginning of a value
    trailing: str  # trimmed from its end
    shortest: int
    longest: int
    naming: str  # a key without its value, as orders name it; `word` is what it is called
    everything: str  # all that is known at once
    done: str  # a report that something is done; the one group that matched is what
    it: str  # a `what` that only points at what was mentioned
    swaps: Sequence[str]  # corrections that name nothing but the new `value` and the `old` one
    cues: Mapping[str, str]  # what says that a statement ends, changes, corrects or adds to what was said before
    aliases: Mapping[str, tuple[Category, str]] = field(default_factory=dict)  # word -> category and canonical key
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # category -> key -> pattern of its values
    asked: Mapping[str, str] = field(default_factory=dict)  # key -> pattern of questions that ask for it

    @property
    def vocabulary(self) -> frozenset[str]:
        """The words that keys are called by."""
        topics = (key for keys in self.topics.values() for key in keys)
        keys = {*self.aliases, *self.asked, *topics, *(rule.key for rule in self.rules)}
        return frozenset(key for key in keys if key.isalpha())

    def find_topic(self, said: str, category: str) -> str:
        """Return the key of what a text of a category is about, or "" if it has none of its own."""
        topics = self.topics.get(category, {})
        return next((key for key, pattern in topics.items() if compile_pattern(pattern).search(said)), "")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def list_books(text: str, books: Iterable[Rulebook]) -> list[Rulebook]:
    """Return the rulebooks of the scripts that a text is written in."""
    return [book for book in books if compile_pattern(book.script).search(text)]


def read_rulebook(table: Mapping[str, Any]) -> Rulebook:
    """Return the rulebook of a data file; a mistake in our own file is a plain exception."""
    aliases = {
        word: (category, key)
        for category, keys in table["aliases"].items()
        for key, words in keys.items()
        for word in words
    }
    macros = dict(table["macros"]) | {"alias": "|".join(sorted(map(re.escape, aliases), key=len, reverse=True))}
    value: dict[str, Any] = {
        name: expand_macros(given, macros) if isinstance(given, str) else given
        for name, given in table["value"].items()
    }
    return Rulebook(
        language=table["language"],
        script=table["script"],
        clause=expand_macros(table["clause"], macros),
        abbreviations=frozenset(table["abbreviations"]),
        rules=[Rule(**read_rule(entry, macros)) for entry in table["rule"]],
        gates=[Gate(**read_entry(entry, macros)) for entry in table["gate"]],
        orders=[Order(**read_entry(entry, macros)) for entry in table["order"]],
        injected=expand_macros(table["injected"], macros),
        correction=expand_macros(table["correction"], macros),
        aliases=aliases,
        topics={category: expand_all(keys, macros) for category, keys in table["topics"].items()},
        asked=table["asked"],
        cues=expand_all(table["cues"], macros),
        **value,
    )


def read_rule(entry: Mapping[str, Any], macros: Mapping[str, str]) -> dict[str, Any]:
    """Return a rule's fields. It is of the user's identity and has the key that it is named by, unless it says
    otherwise."""
    category = entry.get("category", "identity")
    usual = {"category": category, "key": entry["name"], "importance": IMPORTANCE[category]}
    return usual | read_entry(entry, macros)


def read_entry(entry: Mapping[str, Any], macros: Mapping[str, str]) -> dict[str, Any]:
    """An entry's fields, its macros expanded."""
    made = {"never" if name == "not" else name: value for name, value in entry.items()}
    for name in {"pattern", "stop"} & entry.keys():
        made[name] = expand_macros(entry[name], macros)
    if "despite" in entry:
        made["despite"] = frozenset(entry["despite"])
    return made


def expand_all(patterns: Mapping[str, str], macros: Mapping[str, str]) -> dict[str, str]:
    return {name: expand_macros(pattern, macros) for name, pattern in patterns.items()}


def expand_macros(pattern: str, macros: Mapping[str, str]) -> str:
    """Return the pattern with macros expanded, also nested ones; `re` reports unknown names."""
    while (found := MACRO.search(pattern)) is not None:
        pattern = pattern[: found.start()] + macros[found[1]] + pattern[found.end() :]
    return pattern
