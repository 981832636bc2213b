"""Codes: what a column's values mean, as definitions: what its comment says ("1 = open, 2 = closed", "0-正常，1-停用"),
and what a column that says yes or no is named after."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import is_stock_kept, is_yes_no, moment_type, said, yes_and_no_of
from recollect.sql.draft_subjects import Subject
from recollect.sql.naming import distinct
from recollect.sql.semantic import Definition
from recollect.sql.vocabulary import vocabulary

PAIR = re.compile(
    r"(?:^|[\s,，;；、(（\[:：/|])[\"']?(?P<code>-?\d{1,4}|[A-Za-z]{1,3})[\"']?\s*(?:=|:|：|->|→|-|–)\s*"
    r"(?P<meaning>[^\W\d][^,，;；、()（）\[\]=:：/|]{0,40})"
)
FEWEST = 2  # one alone may be anything


def definitions(subject: Subject) -> Iterator[Definition]:
    for column in subject.table.columns:
        if is_yes_no(column) and column.name.casefold() not in subject.refers:
            yield from yes_and_no(subject, column)
        yield from usual(subject, column)
        yield from undone(subject, column)
        yield from open_ended(subject, column)
        found = [(match["code"], match["meaning"].strip(" .。").lower()) for match in PAIR.finditer(column.comment)]
        if len(found) >= FEWEST and len({code for code, _ in found}) == len(found):
            for code, meaning in found:
                yield definition(subject, column, code, meaning)


def yes_and_no(subject: Subject, column: Column) -> Iterator[Definition]:
    """A column `is_active` makes "active" and "inactive" words of the table."""
    words = said(column)
    words = words[:-1] if len(words) > 1 and words[-1] in ("flag", "indicator") else words
    name = " ".join(words[1:] if len(words) > 1 and words[0] in ("is", "was", "has") else words)
    if words[0] == "has":
        yield from having(subject, column, name)
        return
    opposite = vocabulary().table("columns", "opposites").get(name) or (f"un{name}" if name.endswith("ed") else "")
    yes, no = written(subject, column)
    same = vocabulary().table("columns", "equivalents").get(name, ())
    for names, value in (
        (distinct([name, *same]), yes),
        (distinct([f"not {name}", opposite, f"non {name}"]), no),
    ):
        meaning = f"{column.name} is {'yes' if value == yes else 'no'}"
        yield Definition(names, subject.table.name, f"{subject.quoted(column.name)} = {value}", "schema", 0.8, meaning)


def written(subject: Subject, column: Column) -> tuple[str, str]:
    """Yes and no as the column has them."""
    if texts := yes_and_no_of(column):
        return repr(texts[0]), repr(texts[1])
    return ("TRUE", "FALSE") if column.type == "boolean" and subject.dialect == "postgres" else ("1", "0")


def having(subject: Subject, column: Column, name: str) -> Iterator[Definition]:
    """ "With a lift", "have a lift" and "without a lift" of `has_lift`."""
    yes, no = written(subject, column)
    there = [f"{lead} {form}" for lead in ("with", "have", "has", "having", "offer") for form in (name, f"a {name}")]
    gone = [f"{lead} {name}" for lead in ("without", "no", "with no", "without a", "have no", "has no", "not have")]
    for names, value, meaning in ((there, yes, "yes"), (gone, no, "no")):
        said_so = f"{subject.quoted(column.name)} = {value}"
        yield Definition(tuple(names), subject.table.name, said_so, "schema", 0.8, f"{column.name} is {meaning}")


def undone(subject: Subject, column: Column) -> Iterator[Definition]:
    """ "Unsettled" where `settled_on` is empty; "living" where nobody died."""
    words = [word for word in said(column) if word not in ("at", "on", "date", "time", "timestamp")]
    if moment_type(column) is None or not column.nullable or len(words) != 1:
        return
    empty = vocabulary().table("moments", "empty").get(words[0], ())
    filled = vocabulary().table("moments", "filled").get(words[0], ())
    names = distinct([f"un{words[0]}" if words[0].endswith(("ed", "paid")) else "", *empty])
    own = subject.quoted(column.name)
    if names:
        yield Definition(names, subject.table.name, f"{own} IS NULL", "schema", 0.8, f"{column.name} is empty")
    if filled:
        name = f"{column.name} is not empty"
        yield Definition(tuple(filled), subject.table.name, f"NOT {own} IS NULL", "schema", 0.8, name)


def open_ended(subject: Subject, column: Column) -> Iterator[Definition]:
    """ "The current price" is the one that is still valid: it has a beginning, and no end yet."""
    words = set(said(column))
    pairs = vocabulary().table("moments", "open_ended").items()
    begins = {word for end, starts in pairs if end in words for word in starts}
    others = [set(said(c)) for c in subject.table.columns if c is not column and moment_type(c)]
    if column.nullable and moment_type(column) and any(begins & other for other in others):
        own = subject.quoted(column.name)
        yield Definition(("current",), subject.table.name, f"{own} IS NULL", "schema", 0.8, f"{column.name} is empty")


def usual(subject: Subject, column: Column) -> Iterator[Definition]:
    """What everybody writes so: "M" and "F" for a gender, "Y" and "N", no units left in stock."""
    known = vocabulary().table("usual_codes", said(column)[-1]) if said(column) else {}
    if column.is_complete and known and {value.casefold() for value in column.values} <= set(known):
        for value in column.values:
            yield definition(subject, column, value, *known[value.casefold()])
    if column.type in ("integer", "number") and is_stock(subject, column):
        own = subject.quoted(column.name)
        for names, op in ((("out of stock", "sold out"), "<="), (("in stock", "available"), ">")):
            meaning = f"{column.name} {op} 0"
            yield Definition(names, subject.table.name, f"{own} {op} 0", "schema", 0.8, meaning)


def is_stock(subject: Subject, column: Column) -> bool:
    own = " ".join(said(column))
    names = {own, own.removeprefix(f"{subject.name} ")}
    return names & set(vocabulary().words("money", "stock")) != set() or is_stock_kept(subject, own)


def definition(subject: Subject, column: Column, code: str, *meanings: str) -> Definition:
    is_number = column.type in ("integer", "number")
    condition = f"{subject.quoted(column.name)} = {code if is_number else repr(code)}"
    meaning = f"{column.name} {code} is {meanings[0]}"
    return Definition(meanings, subject.table.name, condition, "comment", 0.8, meaning)
