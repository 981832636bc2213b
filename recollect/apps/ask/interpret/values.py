"""Value index: which values of the data a span of words names. Trimmed, without case; built once per source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.words import Token, stem_word, tokenize

LONGEST = 8  # words in a value that can be named
PLURAL, INFLECTED = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class Entry:
    words: tuple[str, ...]
    stems: tuple[str, ...]
    table: str
    column: str
    value: str


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value that the caller looked up in the database, because the catalog does not hold all of them."""

    table: str
    column: str
    value: str


@dataclass(slots=True)
class ValueIndex:
    """Values by the stem of their first word, and the values of a column by their last word."""

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    last: dict[str, dict[tuple[str, str], list[str]]] = field(default_factory=dict)

    @classmethod
    def build(cls, catalog: Catalog) -> ValueIndex:
        index = cls()
        for table in catalog.tables:
            for column in table.columns:
                if column.type == "text" and not column.is_sensitive:
                    index.add(FoundValue(table.name, column.name, value) for value in column.values)
        return index

    def add(self, values: Iterable[FoundValue]) -> None:
        for each in values:
            words = tuple(token.lower for token in tokenize(each.value.replace("_", " ")))
            if 0 < len(words) <= LONGEST:
                stems = tuple(stem_word(word) for word in words)
                entry = Entry(words, stems, each.table, each.column, each.value.strip())
                self.entries.setdefault(stems[0], []).append(entry)
                if len(stems) > 1:
                    self.last.setdefault(stems[-1], {}).setdefault((each.table, each.column), []).append(entry.value)

    def with_values(self, values: Sequence[FoundValue]) -> ValueIndex:
        """Return an index that also knows these values."""
        if not values:
            return self
        made = ValueIndex({key: list(entries) for key, entries in self.entries.items()})
        made.add(values)
        made.last = self.last
        return made

    def list_stems(self) -> Iterator[tuple[str, ...]]:
        """Yield the stems of each value."""
        return (entry.stems for entries in self.entries.values() for entry in entries)

    def match(self, tokens: Sequence[Token], at: int) -> Iterator[tuple[int, Entry, float]]:
        """Yield (end, value, how much the words differ from it) for the values named from this token on."""
        for entry in self.entries.get(tokens[at].stem, ()):
            span = tokens[at : at + len(entry.words)]
            if tuple(token.stem for token in span) == entry.stems:
                yield at + len(span), entry, max(map(compare_forms, (token.lower for token in span), entry.words))


def compare_forms(word: str, other: str) -> float:
    """Return how much two words of one stem differ: a plural is a form of the value, a verb ("opened") hardly."""
    if word == other:
        return 0.0
    return PLURAL if word.endswith("s") or other.endswith("s") else INFLECTED
