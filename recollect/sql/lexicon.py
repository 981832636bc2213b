"""Lexicon: every name of a semantic model and every value of its catalog, ready to be found in a question.

Built once per model and kept by the caller (`lexicon_of`); what memory adds to one request lies over it (`with_known`).
Names are found by their stems, values as they are written, whatever the case and the accents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from recollect.sql.catalog import Catalog
from recollect.sql.known import FoundValue, Known, Target
from recollect.sql.lexer import Key, key_of, stem_key
from recollect.sql.lexicon_values import catalog_values, kinds_of, nouns_of_kinds, of_a_state, said_otherwise
from recollect.sql.phrases import phrases
from recollect.sql.recent import Recent
from recollect.sql.semantic import Definition, Join, SemanticModel
from recollect.sql.vocabulary import vocabulary

SOLD_AS = ("sale", "type", "order", "booking", "purchase")
SUBORDINATES = ("direct report", "direct reports", "subordinate", "subordinates")
MOST_WORDS = 16  # of a value that can be named in a question
Index = Mapping[Key, tuple[Target, ...]]


@dataclass(frozen=True, slots=True)
class Lexicon:
    names: Index
    values: Index
    more: tuple[Index, ...] = ()  # of this request, stems
    more_values: tuple[Index, ...] = ()
    longest: int = 8
    words: Index = field(default_factory=dict)  # names as they are written
    letters: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)  # first letter -> names of one word
    kinds: frozenset[tuple[str, str]] = frozenset()  # columns of kinds and states, few values each

    def name(self, key: Key) -> tuple[Target, ...]:
        """What memory knows of the word wins over the model."""
        for index in self.more:
            if key in index:
                return index[key]
        return self.names.get(key, ())

    def exact(self, key: Key) -> tuple[Target, ...]:
        """Written just so: "purchases" are not the "purchasers", although they have one stem."""
        return () if any(stem_key(" ".join(key)) in index for index in self.more) else self.words.get(key, ())

    def value(self, key: Key) -> tuple[Target, ...]:
        extra = [target for index in self.more_values for target in index.get(key, ())]
        return tuple(dict.fromkeys((*self.values.get(key, ()), *extra)))


def made_lexicon(model: SemanticModel, catalog: Catalog) -> Lexicon:
    names = gathered((stem_key(name), target) for name, target in named(model))
    kinds = gathered(nouns_of_kinds(model, catalog))
    names = {**kinds, **gathered((*partly(model, names), *loosely(model, names))), **names}
    words = gathered((key_of(name), target) for name, target in named(model))
    states = ((key, target) for key, target in of_a_state(catalog) if stem_key(" ".join(key)) not in names)
    said = (*said_otherwise(catalog), *states)
    values = gathered((*((key_of(each.value), each) for each in catalog_values(catalog)), *said))
    letters: dict[str, list[Key]] = defaultdict(list)
    for key in names:
        if len(key) == 1:
            letters[key[0][0]].append(key)
    longest = max((len(key) for key in (*names, *values)), default=1)
    return Lexicon(
        names, values, longest=min(longest, MOST_WORDS), words=words, letters={a: tuple(b) for a, b in letters.items()},
        kinds=kinds_of(catalog),
    )  # fmt: skip


def with_known(lexicon: Lexicon, known: Known, values: Iterable[FoundValue]) -> Lexicon:
    said = [(stem_key(word), target) for word, target in known.synonyms.items()]
    defined = [(stem_key(name), defined_as(each, name)) for each in known.definitions for name in each.names]
    found = [(key_of(each.value), Target("value", each.table, each.column, each.value)) for each in values]
    synonyms = gathered((key, target) for key, target in said if target.kind != "value")
    as_values = gathered((key_of(word), t) for word, t in known.synonyms.items() if t.kind == "value")
    indexes = tuple(index for index in (gathered(defined), synonyms) if index)
    return replace(lexicon, more=indexes, more_values=(gathered(found), as_values))


def gathered(pairs: Iterable[tuple[Key, Target]]) -> dict[Key, tuple[Target, ...]]:
    found: dict[Key, list[Target]] = defaultdict(list)
    for key, target in pairs:
        if key and len(key) <= MOST_WORDS and target not in found[key]:
            found[key].append(target)
    return {key: tuple(targets) for key, targets in found.items() if targets}


def named(model: SemanticModel) -> Iterator[tuple[str, Target]]:
    for entity in model.entities:
        yield from ((name, Target("entity", entity.table, name=entity.names[0])) for name in entity.names)
    for d in model.dimensions:
        yield from ((name, Target("dimension", d.table, d.column, name=d.names[0])) for name in d.names)
    for m in model.measures:
        target = Target("measure", m.table, "", "", m.expression, m.aggregate, m.names[0])
        yield from ((name, target) for name in m.names)
    for moment in model.moments:
        yield from (
            (name, Target("moment", moment.table, moment.column, name=moment.names[0])) for name in moment.names
        )
    for join in model.joins:
        via = join_id(join.table, join.columns)
        below = next((e for e in model.entities if e.table == join.table), None) if superior_of(join) else None
        yield from ((name, Target("entity", e.table, name=e.names[0])) for e in (below,) if e for name in SUBORDINATES)
        said = (name for name in join.names if not is_function(stem_key(name)))  # "to" alone is no name
        yield from ((name, Target("join", join.to, name=name, via=via)) for name in said)
    for definition in model.definitions:
        yield from ((name, defined_as(definition, name)) for name in definition.names)


def superior_of(join: Join) -> bool:
    """Whether it leads from somebody to his manager."""
    return join.table == join.to and any(stem_key(name) in phrases().events["manage"] for name in join.names)


def partly(model: SemanticModel, whole: Mapping[Key, object]) -> Iterator[tuple[Key, Target]]:
    """A part of a column's name, where nothing is called just so: "fare" for "fare amount", "city" for "pat city"."""
    for name, target in named(model):
        key = stem_key(name)
        if target.kind in ("dimension", "measure", "moment") and len(key) > 1 and name == target.name:
            for part in (key[1:], key[:1] if target.kind == "measure" else key[1:]):
                is_word = part not in whole and not all(len(word) < 3 for word in part) and not is_function(part)
                if is_word and not is_beside(key, part):
                    yield part, replace(target, is_partial=True)


def is_beside(key: Key, part: Key) -> bool:
    """A "value" is that of the order, not the value of its discount."""
    beside, general = vocabulary().words("money", "beside"), vocabulary().words("money", "general")
    return key[0] in beside and " ".join(part) in general


def is_function(key: Key) -> bool:
    return any(
        word.kind in ("skip", "prep", "or", "not", "no", "has", "which", "list", "howmany")
        for word in phrases().of(key)
    )


def loosely(model: SemanticModel, whole: Mapping[Key, object]) -> Iterator[tuple[Key, Target]]:
    """ "Comments" for ticket comments; "people" for those who are."""
    people = phrases().events["person"]
    for entity in model.entities:
        target, key = Target("entity", entity.table, name=entity.names[0], is_partial=True), stem_key(entity.names[0])
        if len(key) > 1 and key[-1:] not in whole and is_noun(key[-1:]):
            yield key[-1:], target
        if len(key) == 2 and key[:1] not in whole and key[1] in SOLD_AS and not phrases().of(key[:1]):
            yield key[:1], target  # "tickets" for ticket sales
        if ("person",) not in whole and any(stem_key(name) in people for name in entity.names):
            yield ("person",), target


def is_noun(key: Key) -> bool:
    """No word of the language of questions; what says of which kind a thing is ("plan") may name it too."""
    return all(word.kind in ("kind_of", "verb", "concept") for word in phrases().of(key))


def defined_as(definition: Definition, name: str) -> Target:
    return Target(
        "definition", definition.table, expression=definition.condition, name=name, source=definition.source,
        confidence=definition.confidence, meaning=definition.meaning or definition.condition,
    )  # fmt: skip


def join_id(table: str, columns: Iterable[str]) -> str:
    return f"{table}.{','.join(columns)}"


lexicon_of = Recent(made_lexicon)
