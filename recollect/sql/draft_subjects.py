"""Subjects: what each table is about, while a model is drafted. The other draft files work on these.

A prefix that all tables share says nothing and is dropped. A link table (foreign keys and housekeeping, nothing else)
only joins others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recollect.sql.catalog import Catalog, Column, Table
from recollect.sql.naming import CHINESE, one, singular, table_words, without, words_of
from recollect.sql.semantic import Join
from recollect.sql.vocabulary import vocabulary

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FOLDING = ("postgres", "redshift", "oracle", "snowflake", "duckdb")  # a name without quotes changes its case
QUOTES = {"mysql": ("`", "`"), "bigquery": ("`", "`"), "tsql": ("[", "]")}

MODULE = 3  # letters


@dataclass(frozen=True, slots=True)
class Subject:
    """`name` is what a row is called; `joins` start here."""

    table: Table
    name: str
    joins: tuple[Join, ...] = ()
    is_referred: bool = False  # others name its rows
    dialect: str = ""

    @property
    def refers(self) -> frozenset[str]:
        """Columns that name a row of another table."""
        return frozenset(column.casefold() for join in self.joins for column in join.columns)

    def quoted(self, name: str) -> str:
        """As the dialect writes a name in SQL: in quotes only where it must."""
        is_plain = PLAIN.fullmatch(name) and (self.dialect not in FOLDING or name == name.lower())
        if is_plain and name.lower() not in vocabulary().words("reserved"):
            return name
        first, last = QUOTES.get(self.dialect, ('"', '"'))
        return f"{first}{name.replace(last, last * 2)}{last}"

    def is_key(self, column: Column) -> bool:
        return column.name.casefold() in {name.casefold() for name in self.table.primary_key}


def named(catalog: Catalog) -> dict[str, str]:
    """What a row of each table is called, in the singular."""
    words = {table.name: table_words(table.name) for table in catalog.tables}
    shared = shared_prefix(list(words.values()))
    modules = {found[0] for found in words.values() if is_module(found[0], list(words.values()))}
    return {name: one(found[shared or int(found[0] in modules and len(found) > 1) :]) for name, found in words.items()}


def is_module(word: str, names: Sequence[tuple[str, ...]]) -> bool:
    """A few letters before several tables, as in hr_employees and hr_departments, that are no word."""
    shared = sum(name[0] == word for name in names) > 1
    return shared and len(word) <= MODULE and word not in vocabulary().pieces and not CHINESE.search(word)


def shared_prefix(names: Sequence[tuple[str, ...]]) -> int:
    """How many first words all names share, if there are three names and something is left of each."""
    if len(names) < 3:
        return 0
    length = 0
    while all(len(name) > length + 1 for name in names) and len({name[length] for name in names}) == 1:
        length += 1
    return length


def subjects(catalog: Catalog, names: dict[str, str], joins: Sequence[Join]) -> list[Subject]:
    """Tables before views, each with its joins."""
    ordered = sorted(catalog.tables, key=lambda table: table.is_view)
    referred = {join.to for join in joins}
    own = defaultdict(list)
    for join in joins:
        own[join.table].append(join)
    taken: set[str] = set()
    made = []
    for table in ordered:
        name = names[table.name] if names[table.name] not in taken else f"{names[table.name]} {other_kind(table)}"
        taken.add(name)
        made.append(Subject(table, name, tuple(own[table.name]), table.name in referred, catalog.dialect))
    return made


def other_kind(table: Table) -> str:
    """What tells two tables of one name apart."""
    return "view" if table.is_view else one(words_of(table.name.rpartition(".")[0])) or "table"


def is_link(subject: Subject) -> bool:
    """Two tables are joined here, and no more is said."""
    told = [column for column in subject.table.columns if not is_housekeeping(subject, column)]
    return len(subject.joins) >= 2 and not (subject.table.is_view or subject.is_referred or told)


def is_housekeeping(subject: Subject, column: Column) -> bool:
    if column.name.casefold() in subject.refers:
        return True
    return (subject.is_key(column) and is_number_key(subject, column)) or is_upkeep(column)


def is_number_key(subject: Subject, column: Column) -> bool:
    """A key that a machine gave: a number, or said to be an id."""
    return column.type in ("integer", "number", "other") or ends_with(column, vocabulary().words("sure_key_words"))


def shortened(subject: Subject, phrase: str) -> str:
    """A column's name without the table's own word: "city" of "customer city", "name" of `dep_nm` in a table of
    depots."""
    first, _, rest = phrase.partition(" ")
    return rest if rest and is_own_mark(subject, first) else without(subject.name, phrase)


def is_own_mark(subject: Subject, word: str) -> bool:
    """A few letters of the table's name before its key or most of its columns."""
    name = subject.name.split()[-1]
    marked = [words_of(column.name)[:1] == (word,) for column in subject.table.columns]
    is_key = any(words_of(key)[:1] == (word,) for key in subject.table.primary_key)
    return is_letters_of(word, name) and (is_key or sum(marked) > len(marked) / 2)


def is_letters_of(word: str, name: str) -> bool:
    if not 2 <= len(word) < len(name) or word[0] != name[0] or not word.isascii():
        return False
    letters = iter(name)
    return all(letter in letters for letter in word)


def is_upkeep(column: Column) -> bool:
    phrase = " ".join(words_of(column.name))
    moment = column.type in ("date", "datetime") and any(
        word in vocabulary().words("moments", "never") or word in ("created", "creation") for word in phrase.split()
    )
    return moment or phrase in vocabulary().words("columns", "upkeep")


def ends_with(column: Column, words: Iterable[str]) -> bool:
    own = words_of(column.name)
    return bool(own) and singular(own[-1]) in words


def has_any(words: Sequence[str], listed: Iterable[str]) -> bool:
    """Whether one of the listed words or phrases is among the words."""
    text = f" {' '.join(words)} "
    return any(each == text.strip() or f" {each} " in text or is_inside(each, text) for each in listed)


def is_inside(listed: str, text: str) -> bool:
    """Chinese is written without spaces."""
    return not listed.isascii() and listed in text
