"""Draft: a catalog in, a semantic model out: a first guess that people correct as YAML. Pure.

One entity per table that is about something, its numbers as measures, its texts as dimensions, its dates as moments,
and the joins. Words come from identifiers (naming.py), comments and words.toml; nothing is known of any one database.
The rest is in the draft_*.py files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.sql.catalog import Catalog, Column
from recollect.sql.draft_codes import definitions
from recollect.sql.draft_columns import (
    column_names,
    commented,
    is_dimension,
    is_yes_no,
    phrase,
    with_plurals,
)
from recollect.sql.draft_complete import completed
from recollect.sql.draft_due import in_time, running_low
from recollect.sql.draft_elapsed import elapsed
from recollect.sql.draft_joins import joins
from recollect.sql.draft_labels import label
from recollect.sql.draft_measures import earned, measures, of_wholes
from recollect.sql.draft_moments import moments
from recollect.sql.draft_subjects import Subject, is_link, named, subjects
from recollect.sql.naming import distinct, without
from recollect.sql.semantic import Definition, Dimension, Entity, Measure, SemanticModel
from recollect.sql.vocabulary import vocabulary


def draft(catalog: Catalog) -> SemanticModel:
    """What the source seems to be about."""
    names = named(catalog)
    catalog = completed(catalog, names)
    found = joins(catalog, names)
    everything = subjects(catalog, names, found)
    taken = own_words(catalog, names)
    taken_names = frozenset(names.values())
    told = [subject for subject in everything if not is_link(subject)]
    return SemanticModel(
        entities=tuple(entity(subject, taken) for subject in told),
        dimensions=tuple(each for subject in told for each in dimensions(subject, taken_names)),
        measures=tuple(
            of_wholes(
                earned(
                    [each for subject in told for each in (*measures(subject, names), *taken_time(subject, taken))],
                    names,
                ),
                found,
                names,
            )
        ),
        moments=tuple(each for subject in told for each in moments(subject)),
        joins=tuple(found),
        definitions=tuple(each for subject in told for each in defined(subject)),
    )


def defined(subject: Subject) -> list[Definition]:
    return [*definitions(subject), *in_time(subject), *running_low(subject)]


def taken_time(subject: Subject, taken: frozenset[str]) -> list[Measure]:
    return [] if subject.table.is_view else list(elapsed(subject, moments(subject), taken))


def own_words(catalog: Catalog, names: Mapping[str, str]) -> frozenset[str]:
    """What the source itself calls its tables and columns: no synonym may take such a word away."""
    columns = (phrase(column) for table in catalog.tables for column in table.columns)
    return frozenset((*names.values(), *columns))


def entity(subject: Subject, taken: frozenset[str]) -> Entity:
    table = subject.table
    key = table.primary_key or unique_key(table.columns)
    return Entity(table.name, entity_names(subject, taken), key, label(subject), table.comment)


def entity_names(subject: Subject, taken: frozenset[str]) -> tuple[str, ...]:
    """Its own words, then the comment's, then what people say instead."""
    known = [] if subject.table.is_view else [*synonyms_of(subject.name), *line_names(subject.name)]
    instead = [name for name in known if name not in taken]
    own = with_plurals([subject.name])
    return distinct([*own, *commented(subject.table.comment), *with_plurals(instead)])


def synonyms_of(name: str) -> list[str]:
    return list(vocabulary().table("synonyms", "entities").get(name, ()))


def line_names(name: str) -> list[str]:
    """ "order detail" is said "order line", "order item" and "line item" as well; a product line is none."""
    whole, _, last = name.rpartition(" ")
    lines, sales = vocabulary().words("money", "line_words"), vocabulary().words("money", "sale_tables")
    is_line = last in lines and whole.rpartition(" ")[2] in sales
    return [f"{whole} line", f"{whole} item", "line item"] if is_line else []


def unique_key(columns: Sequence[Column]) -> tuple[str, ...]:
    return next(((column.name,) for column in columns if column.is_unique and not column.nullable), ())


def dimensions(subject: Subject, taken: frozenset[str]) -> list[Dimension]:
    return [dimension(subject, column, taken) for column in subject.table.columns if is_dimension(subject, column)]


def things(subject: Subject, column: Column, taken: frozenset[str]) -> list[str]:
    """ "Customer" for customer_id and customer_name, where no table has the customers."""
    first, _, last = phrase(column).rpartition(" ")
    is_thing = last in ("id", "name") and first and first not in taken and not subject.is_key(column)
    beside = {phrase(each) for each in subject.table.columns}
    is_id = last == "id" and " " not in first and first not in vocabulary().words("no_things")
    is_known = (
        is_id or first in vocabulary().table("synonyms", "entities") or {f"{first} id", f"{first} name"} <= beside
    )
    return [first, *synonyms_of(first)] if is_thing and is_known and first not in beside else []


def is_own(subject: Subject, column: Column, name: str) -> bool:
    """The city of a city is called so; a course's code is not the course."""
    return name in (phrase(column), without(subject.name, phrase(column)))


def dimension(subject: Subject, column: Column, taken: frozenset[str]) -> Dimension:
    named = column_names(subject, column, "dimensions")
    own = (
        *(name for name in named if name not in taken or is_own(subject, column, name)),
        *things(subject, column, taken),
    )
    plain = tuple(name for name in own if not name.startswith(f"{subject.name} "))  # "orders paid": those that are
    names = plain or own if is_yes_no(column) else with_plurals(own)
    return Dimension(subject.table.name, column.name, names, column.type, column.comment)
