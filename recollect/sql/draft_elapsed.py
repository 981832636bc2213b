"""Elapsed: what two dates of one row say together: how long it took ("time to settle"), how late it was ("departure
delay"), and whether it was in time ("delivered late").

Drafted as measures in days and as definitions, and found only by these names: no "longest" and no "over 30" means them,
so `is_elapsed` keeps them apart (context.py). Times are kept in days; the reader says them in another unit where asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import moment_type, phrase, said
from recollect.sql.draft_subjects import Subject
from recollect.sql.naming import distinct
from recollect.sql.semantic import Definition, Measure, Moment
from recollect.sql.vocabulary import vocabulary

SQLITE, MYSQL, OTHERS = "JULIANDAY(", "TIMESTAMPDIFF(SECOND, ", "EXTRACT(EPOCH FROM "
HARD = ("ere", "ene", "ele", "ite", "she", "cke", "rne", "sse", "cte", "ste", "nte", "rte", "we", "ye")  # no verbs
FILLER = ("at", "on", "date", "time", "timestamp", "actual")


def is_elapsed(expression: str) -> bool:
    return expression.startswith((SQLITE, MYSQL, OTHERS))


def elapsed(subject: Subject, found: Sequence[Moment]) -> Iterator[Measure]:
    """From the main date of a row to each that may follow it, and from what was planned to what came."""
    main = next((moment.column for moment in found if moment.is_main), None)
    columns = [column for column in subject.table.columns if moment_type(column)]
    taken = {phrase(column) for column in subject.table.columns}
    start = next((column for column in columns if column.name == main), None)
    for end in columns if start else []:
        names = [name for name in names_of(subject, end) if name not in taken]
        if start and end is not start and end.nullable and names:
            yield Measure(subject.table.name, days(subject, start, end), distinct(names), "avg")
    for planned, actual in pairs(columns):
        noun = " ".join(word for word in said(actual) if word not in FILLER)
        yield Measure(subject.table.name, days(subject, planned, actual), (f"{noun} delay", f"delay of {noun}"), "avg")


def pairs(columns: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
    """A planned and an actual departure."""
    words = set(vocabulary().words("moments", "planned"))
    for planned in (column for column in columns if set(said(column)) & words):
        rest = set(said(planned)) - words - set(FILLER)
        for actual in columns:
            if rest and actual is not planned and set(said(actual)) - set(FILLER) == rest:
                yield planned, actual


def names_of(subject: Subject, end: Column) -> list[str]:
    words = [word for word in said(end) if word not in FILLER]
    if not words or set(words) & {*vocabulary().words("moments", "planned"), "due", "next", "trial", "last", "expiry"}:
        return []
    known = vocabulary().table("moments", "takes")
    names = []
    if words[-1] in vocabulary().words("moments", "ends") and not has_length(subject):
        names += [f"{subject.name} length", f"{subject.name} duration", f"length of {subject.name}"]
    names += [f"{noun} time" for word in words for noun in known.get(word, ())]
    names += [f"days to {verb}" for word in words for verb in verbs(word)]
    names += [f"{' '.join(words)} time"] if not words[-1].endswith("ed") else []
    return names


def has_length(subject: Subject) -> bool:
    """It is kept in a column of its own."""
    kept = {"duration", "length", "minutes", "hours", "nights", "days", "seconds", "runtime"}
    return any(kept & set(said(column)) for column in subject.table.columns if not moment_type(column))


def verbs(done: str) -> list[str]:
    """To "settle" for settled, to "deliver" for delivered, to "pay" for paid."""
    irregular = vocabulary().table("moments", "verbs").get(done)
    forms = [done[:-2], done[:-1]] if done[:-1].endswith(HARD) else [done[:-1], done[:-2]]
    return [irregular] if irregular else forms if done.endswith("ed") else []


def days(subject: Subject, start: Column, end: Column) -> str:
    first, last = subject.quoted(start.name), subject.quoted(end.name)
    if subject.dialect == "sqlite":
        return f"{SQLITE}{last}) - JULIANDAY({first})"
    if subject.dialect == "mysql":
        return f"{MYSQL}{first}, {last}) / 86400.0"
    return f"{OTHERS}(CAST({last} AS TIMESTAMP) - CAST({first} AS TIMESTAMP))) / 86400.0"


def in_time(subject: Subject) -> Iterator[Definition]:
    """ "Delivered late", "paid on time", where a row has a day by which it was due."""
    columns = [column for column in subject.table.columns if moment_type(column)]
    due = [column for column in columns if "due" in said(column)]
    for done in columns if len(due) == 1 else []:
        words = [word for word in said(done) if word not in FILLER]
        if len(words) != 1 or not words[0].endswith(("ed", "paid")):
            continue
        own, limit = subject.quoted(done.name), subject.quoted(due[0].name)
        for ends, op in ((LATE, ">"), (ON_TIME, "<=")):
            meaning = f"{done.name} {op} {due[0].name}"
            names = tuple(f"{words[0]} {end}" for end in ends)
            yield Definition(names, subject.table.name, f"{own} {op} {limit}", "schema", 0.8, meaning)


LATE = ("late", "too late", "after the due date", "after due date", "after it was due", "after they were due")
ON_TIME = ("on time", "in time", "by the due date", "before the due date")
