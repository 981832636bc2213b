"""Due: what one column of a row promised and another one tells: "shipped late", "paid on time", "before the due date",
"below their reorder level". Drafted as definitions (draft.py), one for each pair of columns that can be meant.

A row that has not come yet is neither late nor on time: the comparison passes it over. Where a row has two promises,
or two days on which it may have come, "late" alone says nothing, and is not defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.sql.catalog import Column
from recollect.sql.draft_codes import is_stock
from recollect.sql.draft_columns import is_measure, moment_type, phrase, said
from recollect.sql.draft_elapsed import FILLER
from recollect.sql.draft_moments import moments
from recollect.sql.draft_subjects import Subject, has_any
from recollect.sql.naming import distinct
from recollect.sql.semantic import Definition, Moment
from recollect.sql.vocabulary import vocabulary

LATE = (">", ("late", "too late", "behind schedule", "after it was due", "after they were due"), ("after",))
IN_TIME = ("<=", ("on time", "in time", "on schedule"), ("by", "on or before", "no later than"))
EARLY = ("<", ("early", "ahead of schedule"), ("before",))
BELOW = ("<", ("below", "under", "less than", "lower than"))
AT_MOST = ("<=", ("at or below", "at or under"))


def in_time(subject: Subject) -> Iterator[Definition]:
    """ "Delivered late", "paid on time", where a row has one day by which it was due."""
    found = moments(subject)
    columns = {column.name: column for column in subject.table.columns}
    due = [m for m in found if promised(columns[m.column])]
    done = [(m, deeds(m)) for m in found if m not in due and not m.is_main]
    done = [(m, words) for m, words in done if words] or [(m, deeds(m)) for m in found if m.is_main and len(found) == 2]
    for moment, words in done if len(due) == 1 else []:
        is_alone = len(done) == 1
        for op, ends, leads in (LATE, IN_TIME, EARLY):
            said_so = [*ends, *(f"{lead} {each}" for lead in leads for each in called(columns[due[0].column]))]
            names = [f"{word} {end}" for word in words for end in said_so]
            names += [end for end in said_so if is_alone and end != "early"]
            yield definition(subject, columns[moment.column], op, columns[due[0].column], names)


def promised(column: Column) -> bool:
    words = vocabulary().words("moments", "promised")
    return bool(set(said(column)) & set(words))


def deeds(moment: Moment) -> list[str]:
    """ "Shipped", "paid": what is said to have happened then."""
    done = vocabulary().words("moments", "done")
    never = set(vocabulary().words("moments", "never"))
    if set(moment.names[0].split()) & never:
        return []
    return [name for name in moment.names if " " not in name and (name.endswith("ed") or name in done)]


def called(column: Column) -> list[str]:
    """ "The required date", "required date", "required"."""
    own = phrase(column)
    words = [word for word in own.split() if word not in FILLER and word != "for"]
    dated = [" ".join((*words, end)) for end in ("date", "day", "time")] if words else []
    return list(distinct([form for name in (own, *dated, " ".join(words)) if name for form in (f"the {name}", name)]))


def definition(subject: Subject, one: Column, op: str, other: Column, names: Sequence[str]) -> Definition:
    meaning = f"{one.name} {op} {other.name}"
    return Definition(distinct(names), subject.table.name, compared(subject, one, op, other), "schema", 0.8, meaning)


def compared(subject: Subject, one: Column, op: str, other: Column) -> str:
    """By day, where only one of them has a time: what came at ten on the last day came in time."""
    kinds = {moment_type(one), moment_type(other)}
    terms = [subject.quoted(each.name) for each in (one, other)]
    if kinds == {"date", "datetime"}:
        cast = "DATE({})" if subject.dialect in ("sqlite", "mysql") else "CAST({} AS DATE)"
        pairs = zip((one, other), terms, strict=True)
        terms = [cast.format(term) if moment_type(column) == "datetime" else term for column, term in pairs]
    return f"{terms[0]} {op} {terms[1]}"


def running_low(subject: Subject) -> Iterator[Definition]:
    """ "Below their reorder level", where a row has a stock and such a level."""
    numbers = [column for column in subject.table.columns if is_measure(subject, column)]
    levels = [column for column in numbers if has_any(said(column), vocabulary().words("money", "reorder"))]
    stock = [column for column in numbers if column not in levels and is_stock(subject, column)]
    if len(levels) != 1 or len(stock) != 1:
        return
    for op, leads in (BELOW, AT_MOST):
        names = [f"{lead} {each}" for lead in leads for each in (f"the {phrase(levels[0])}", phrase(levels[0]))]
        yield definition(subject, stock[0], op, levels[0], names)
