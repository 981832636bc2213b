"""Columns: what each is for: a key, a measure, a dimension, a moment. Decided by type, name and the values seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.sql.catalog import Column, ColumnType
from recollect.sql.draft_subjects import Subject, ends_with, has_any, is_number_key, shortened
from recollect.sql.lexer import stem_key
from recollect.sql.naming import CAMEL, CHINESE, chinese_stem, distinct, many, of, singular, words_of
from recollect.sql.phrases import phrases
from recollect.sql.vocabulary import vocabulary

DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
DATETIME = re.compile(DATE.pattern + r"[ T][0-2]\d:[0-5]\d(?::[0-6]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
FEW_WORDS, FEW_CHARS = 4, 40
NUMBERS = ("integer", "number")
EARLIEST, LATEST = 1000, 2200  # years


def said(column: Column) -> tuple[str, ...]:
    """The words of its name. `dist` is a district, but a distance where it is a number; `delay_min` are minutes, and
    `dep_ts` is a departure."""
    words = words_of(column.name)
    raw = tuple(each.lower() for each in CAMEL.findall(column.name))
    if len(raw) != len(words):
        return words
    if moment_type(column):
        dated = vocabulary().table("moment_abbreviations")
        return tuple(dated.get(r, w) for r, w in zip(raw, words, strict=True))
    if column.type not in NUMBERS:
        return words
    known, timed = vocabulary().table("number_abbreviations"), vocabulary().words("moments", "timed")
    is_timed = bool(set(words) & set(timed)) or any(word.endswith("time") for word in words)
    return tuple(known[r] if r in known and (r != "min" or is_timed) else w for r, w in zip(raw, words, strict=True))


def phrase(column: Column) -> str:
    return " ".join(said(column))


def moment_type(column: Column) -> ColumnType | None:
    """A text counts if every value seen is a date as ISO writes it."""
    if column.type in ("date", "datetime"):
        return column.type
    seen = column.values or tuple(end for end in (column.low, column.high) if end)
    if column.type != "text" or not seen:
        return None
    if all(DATE.fullmatch(value) for value in seen):
        return "date"
    return "datetime" if all(DATE.fullmatch(value) or DATETIME.fullmatch(value) for value in seen) else None


def is_secret(column: Column) -> bool:
    return has_any(said(column), vocabulary().words("columns", "secret"))


def is_measure(subject: Subject, column: Column) -> bool:
    if column.type not in NUMBERS or subject.is_key(column) or column.name.casefold() in subject.refers:
        return False
    return not (is_yes_no(column) or is_code(column) or is_period(column) or is_secret(column))


def is_yes_no(column: Column) -> bool:
    """0 and 1 and nothing else, in a column whose name asks a question, or at least counts nothing; "Y" and "N"."""
    if column.type == "text":
        return yes_and_no_of(column) is not None
    if column.type != "integer":
        return column.type == "boolean"
    asks = has_any(said(column), vocabulary().words("columns", "yes_no"))
    fits = column.low in ("0", "1", None) and column.high in ("0", "1", None)
    return (asks and fits) or ((column.low, column.high) == ("0", "1") and not counts(column))


def yes_and_no_of(column: Column) -> tuple[str, str] | None:
    """The two texts that a column says yes and no with, if it has just these."""
    if not column.is_complete or len(column.values) != 2:
        return None
    found = {value.casefold(): value for value in column.values}
    pairs = vocabulary().words("columns", "yes_no_texts")
    return next(((found[yes], found[no]) for yes, no in pairs if {yes, no} == set(found)), None)


def counts(column: Column) -> bool:
    """ "Children", "quantity" and "goals" may well be 0 or 1."""
    words = said(column)
    is_several = bool(words) and singular(words[-1]) != words[-1]
    listed = (vocabulary().words("aggregates", "sum"), vocabulary().words("aggregates", "avg"))
    return is_several or is_code(column) or is_period(column) or any(has_any(words, each) for each in listed)


def is_code(column: Column) -> bool:
    """A number that is a label. "Number of rooms" and "rooms count" are not."""
    words = said(column)
    is_count = words[:2] == ("number", "of") or phrase(column) in vocabulary().words("aggregates", "avg")
    if is_count or has_any(words, vocabulary().words("aggregates", "sum")):
        return False
    return ends_with(column, vocabulary().words("columns", "codes")) or phrase(column) in vocabulary().words(
        "columns", "codes"
    )


def is_period(column: Column) -> bool:
    """A year, a month as a number; "days" are a duration. A "year built" is one if its numbers are years."""
    if column.type != "integer" or not said(column):
        return False
    return said(column)[-1] in vocabulary().words("columns", "periods") or ("year" in said(column) and is_years(column))


def is_years(column: Column) -> bool:
    ends = [float(end) for end in (column.low, column.high) if end is not None]
    return len(ends) == 2 and ends[0] >= EARLIEST and ends[1] <= LATEST


def is_dimension(subject: Subject, column: Column) -> bool:
    if column.name.casefold() in subject.refers or is_secret(column) or moment_type(column):
        return False
    if subject.is_key(column) and is_number_key(subject, column):
        return False
    if column.type in ("text", "boolean"):
        return True
    return column.type in NUMBERS and (is_yes_no(column) or is_code(column) or is_period(column) or is_rated(column))


def is_rated(column: Column) -> bool:
    """Few whole numbers: 1 to 5 stars are averaged, and grouped by as well."""
    return column.type == "integer" and ends_with(column, ("rating", "score", "stars", "star", "age"))


def column_names(subject: Subject, column: Column, kind: str) -> tuple[str, ...]:
    """What people call it, the plain name first."""
    own = phrase(column)
    short = shortened(subject, own)
    known = vocabulary().table("synonyms", kind)
    if subject.table.is_view:
        return distinct([of(subject.name, short), *commented(column.comment)])
    base = [
        own,
        *commented(column.comment),
        short,
        of(subject.name, short),
        *known.get(own, ()),
        *known.get(short, ()),
    ]
    plain = short_of(short, own)
    base += [*plain, *(name for each in plain for name in known.get(each, ()))]  # "length" for "duration seconds"
    base += turned(own) if kind == "measures" else []
    base += vocabulary().words("money", "stock_said") if is_stock_kept(subject, own) else []
    mine = {phrase(each) for each in subject.table.columns} - {own}
    return tuple(name for name in distinct([*base, *job_title(subject, own), *loosely(own)]) if name not in mine)


def is_stock_kept(subject: Subject, own: str) -> bool:
    """The quantity of a table of stock."""
    is_quantity = own in vocabulary().words("money", "quantities")
    return is_quantity and subject.name in vocabulary().words("money", "stock_tables")


def turned(own: str) -> list[str]:
    """ "Amount paid" for "paid amount", "daily capacity" for "capacity daily"."""
    first, _, last = own.partition(" ")
    is_said = first.endswith(("ed", "paid")) or last in ("daily", "weekly", "monthly", "yearly", "annual", "hourly")
    return [f"{last} {first}"] if is_said and last and " " not in last else []


def short_of(*names: str) -> list[str]:
    """ "Floor" for "floor no", "country" for "country code", "height" for "height cm"."""
    ends = (*vocabulary().words("left_out_at_end"), *vocabulary().words("units"))
    return [first for name in names for first, _, last in [name.rpartition(" ")] if first and last in ends]


def job_title(subject: Subject, own: str) -> list[str]:
    """A person's title is not a book's."""
    people = {phrase(column) for column in subject.table.columns} & set(vocabulary().words("labels", "people"))
    return list(vocabulary().words("labels", "title_names")) if own == "title" and people else []


def is_person(subject: Subject) -> bool:
    """A row is somebody: it has a family name, or is called so."""
    people = set(vocabulary().words("labels", "people"))
    is_named = bool({phrase(column) for column in subject.table.columns} & people)
    return is_named or stem_key(subject.name)[-1:] in phrases().events["person"]


def loosely(own: str) -> list[str]:
    """Without a word that people leave out: "country" for "billing country"."""
    first, _, rest = own.partition(" ")
    is_left_out = first in vocabulary().words("qualifiers", "left_out") and rest not in vocabulary().words("key_words")
    return [rest] if rest and is_left_out else []


def commented(comment: str) -> list[str]:
    """A comment that is a name, not a sentence: "客户名称", "net weight (kg)"."""
    head = re.split(r"[(（\[:：;；,，。\n]", comment.strip(), maxsplit=1)[0].strip()
    if not head or len(head) > FEW_CHARS or len(head.split()) > FEW_WORDS or head.endswith((".", "!", "?")):
        return []
    return [chinese_stem(head) if CHINESE.search(head) else head]


def with_plurals(names: Sequence[str]) -> tuple[str, ...]:
    return distinct([*names, *(many(name) for name in names if name.isascii())])
