"""Values of the catalog as words of a question: what stands in the data, and how else the same is said: "Germany" and
"German" for "DE", "California" for "CA", "canceled" for "Cancelled", a bike for "Bikes". Called by lexicon.py.

Only what cannot mean another value of its column is added; a word that stands in the data itself is never an adjective
of a country ("French" films are in French, where that is a language here).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from recollect.sql.catalog import Catalog, Column, Table
from recollect.sql.known import Target
from recollect.sql.lexer import Key, key_of, stem_key
from recollect.sql.naming import table_words, words_of
from recollect.sql.phrases import phrases
from recollect.sql.semantic import SemanticModel
from recollect.sql.vocabulary import vocabulary

MOST_STATES = 40  # values of a column that is a list of kinds or states, rather than of names
MOSTLY = 0.8
FEWEST_KINDS = 3  # that share a noun
NAMED = ("name", "code", "title", "description")
SPELLINGS = (("lled", "led"), ("lling", "ling"), ("our", "or"), ("ise", "ize"), ("isation", "ization"))


def catalog_values(catalog: Catalog) -> Iterator[Target]:
    for table, column in texts(catalog):
        yield from (Target("value", table.name, column.name, value, name=value) for value in column.values)


def texts(catalog: Catalog) -> Iterator[tuple[Table, Column]]:
    for table in catalog.tables:
        yield from ((table, column) for column in table.columns if column.type in ("text", "boolean", "other"))


def kinds_of(catalog: Catalog) -> frozenset[tuple[str, str]]:
    """Columns that say which kind or in what state a row is: few values, all of them known."""
    return frozenset((table.name, column.name) for table, column in texts(catalog) if is_kind(column))


def is_kind(column: Column) -> bool:
    return column.is_complete and len(column.values) <= MOST_STATES


def said_otherwise(catalog: Catalog) -> Iterator[tuple[Key, Target]]:
    """Further keys of values; those that are values themselves are left to them."""
    own = {key_of(value) for _, column in texts(catalog) for value in column.values}
    yield from shortened(catalog, own)
    for table, column in texts(catalog):
        told = [Target("value", table.name, column.name, value, name=value) for value in column.values]
        for target in told:
            yield from ((key, target) for key in paces(target.value))
            yield from ((key, target) for key in of_country(table, column, target.value, own))
            if is_kind(column):
                yield from ((key, target) for key in spelt(target.value) if key not in own)
        yield from of_states(table, column, told)


def of_a_state(catalog: Catalog) -> Iterator[tuple[Key, Target]]:
    """ "Cancellations" for what is in the state "cancelled"."""
    nouns = vocabulary().table("moments", "states")
    for table, column in texts(catalog):
        for value in column.values if is_kind(column) else ():
            target = Target("value", table.name, column.name, value, name=value)
            yield from ((key_of(noun), target) for noun in nouns.get(value.casefold(), ()))


def paces(value: str) -> Iterator[Key]:
    """ "Yearly" for the value "year", what is paid or done at that pace."""
    low, known = value.casefold(), grains()
    yield from ((word,) for word, grain in known.items() if grain == known.get(low) and word != low)


def grains() -> Mapping[str, str]:
    known = ((key, word) for key, words in phrases().words.items() for word in words)
    return {key[0]: word.value for key, word in known if word.kind == "grain" and len(key) == 1}


def of_country(table: Table, column: Column, value: str, own: set[Key]) -> Iterator[Key]:
    """ "Germany" and "German" for the code; "United States" for "USA"."""
    if not is_about(table, column, ("country", "nation", "nationality")):
        return
    low = value.casefold()
    for code, names in vocabulary().table("countries").items():
        if low == code or low in names:
            yield from (key_of(name) for name in names if name != low)
            said = (key_of(name) for name in vocabulary().table("demonyms").get(code, ()))
            yield from (key for key in said if key not in own)


def of_states(table: Table, column: Column, told: list[Target]) -> Iterator[tuple[Key, Target]]:
    """ "California" for "CA", and the code for the name, if nearly all values of the column are such."""
    if len(told) < 2 or not is_about(table, column, ("state", "province")):
        return
    names: Mapping[str, str] = vocabulary().table("states")
    codes = {name: code for code, name in names.items()}
    for known in (names, codes):
        fits = [(target, known[low]) for target in told if (low := target.value.casefold()) in known]
        if len(fits) >= MOSTLY * len(told):
            yield from ((key_of(name), target) for target, name in fits)


def is_about(table: Table, column: Column, nouns: tuple[str, ...]) -> bool:
    """A column `ship_country`; the name in a table of countries."""
    words = words_of(column.name)
    is_own = words[-1:] and words[-1] in NAMED and set(stem_key(" ".join(table_words(table.name)))) & set(nouns)
    return bool(set(words) & set(nouns) or is_own)


def spelt(value: str) -> Iterator[Key]:
    """ "Canceled" for "Cancelled", "mountain bike" for "Mountain Bikes"."""
    key, low = key_of(value), " ".join(key_of(value))
    for one, other in (*SPELLINGS, *((b, a) for a, b in SPELLINGS)):
        changed = re.sub(rf"(?<=\w\w\w){one}\b", other, low)
        if changed != low:
            yield key_of(changed)
    yield from ((other,) for other in vocabulary().table("said_of_people").get(low, ()))
    if key and stem_key(value) != key and len(key[-1]) > 3:
        yield stem_key(value)
    if len(key) == 1 and low.isalpha() and low.isascii() and len(low) > 3:
        yield (f"{low}d" if low.endswith("e") else f"{low}ed",)  # "failed" for "fail"


def shortened(catalog: Catalog, own: set[Key]) -> Iterator[tuple[Key, Target]]:
    """ "Weber Tools" for "Weber Tools GmbH", "Ingrid Berg" for "Dr. Ingrid Berg", if no other is called so."""
    ends, titles = (set(vocabulary().words("labels", part)) for part in ("company_forms", "person_titles"))
    found: dict[Key, list[Target]] = {}
    for target in catalog_values(catalog):
        key = key_of(target.value)
        short = key[:-1] if key and key[-1] in ends else key[1:] if key and key[0] in titles else ()
        if short and short not in own and sum(map(len, short)) > 3:
            found.setdefault(short, []).append(target)
    yield from ((key, targets[0]) for key, targets in found.items() if len(targets) == 1)


def nouns_of_kinds(model: SemanticModel, catalog: Catalog) -> Iterator[tuple[Key, Target]]:
    """ "Bikes" for products whose kinds are mountain bikes, road bikes, city bikes and no others."""
    told = {entity.table: entity for entity in model.entities}
    for table, column in texts(catalog):
        ends = {key[-1:] for value in column.values if (key := stem_key(value))}
        is_shared = is_kind(column) and len(column.values) >= FEWEST_KINDS and len(ends) == 1
        if not is_shared or not all(len(key_of(value)) > 1 for value in column.values):
            continue
        near = {join.table for join in model.joins if join.to == table.name} - {table.name} or {table.name}
        noun = ends.pop()
        if len(near) == 1 and (entity := told.get(near.pop())) and noun[0].isalpha() and not phrases().of(noun):
            yield noun, Target("entity", entity.table, name=entity.names[0])
