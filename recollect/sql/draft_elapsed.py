"""Elapsed: what two dates of one row say together: how long it took ("time to settle"), how late it was ("departure
delay").

Drafted as measures in days, and found only by these names: no "longest" and no "over 30" means them,
so `is_elapsed` keeps them apart (context.py). Times are kept in days; the reader says them in another unit where asked.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import is_person, moment_type, phrase, said
from recollect.sql.draft_subjects import Subject
from recollect.sql.naming import distinct
from recollect.sql.semantic import Measure, Moment
from recollect.sql.vocabulary import vocabulary

SQLITE, MYSQL, OTHERS = "JULIANDAY(", "TIMESTAMPDIFF(SECOND, ", "EXTRACT(EPOCH FROM "
HARD = ("ere", "ene", "ele", "ite", "she", "cke", "rne", "sse", "cte", "ste", "nte", "rte", "we", "ye")  # no verbs
FILLER = ("at", "on", "date", "time", "timestamp", "actual")


def is_elapsed(expression: str) -> bool:
    return expression.startswith((SQLITE, MYSQL, OTHERS))


def elapsed(subject: Subject, found: Sequence[Moment], others: Container[str] = ()) -> Iterator[Measure]:
    """From where it began, or from the main date of a row, to each that may follow; from what was planned to what
    came. `others` are names that columns have."""
    main = next((moment.column for moment in found if moment.is_main), None)
    columns = [column for column in subject.table.columns if moment_type(column)]
    spans = [(start, end) for end in columns if (start := start_of(end, columns, main))]
    for start, end in spans:
        names = [name for name in names_of(subject, start, end, len(spans) == 1) if name not in others]
        if names:
            yield Measure(subject.table.name, days(subject, start, end), distinct(names), "avg")
    for planned, actual in pairs(columns):
        late = (f"{core(actual)} delay", f"delay of {core(actual)}")
        yield Measure(subject.table.name, days(subject, planned, actual), late, "avg")


def start_of(end: Column, columns: Sequence[Column], main: str | None) -> Column | None:
    """Where what ends then began: the date that belongs to it (check-in and check-out), or the main one."""
    if is_outside(end):
        return None
    begun = vocabulary().table("moments", "spans").get(core(end), ())
    own = next((c for name in begun for c in columns if core(c) == name and not is_outside(c)), None)
    start = own or next((c for c in columns if c.name == main and end.nullable and not is_outside(c)), None)
    return start if start is not end else None


def core(column: Column) -> str:
    return " ".join(word for word in said(column) if word not in FILLER)


def is_outside(column: Column) -> bool:
    """What was planned, or has nothing to do with what the row is about: a birthday, a warranty."""
    words = set(said(column))
    listed = ("planned", "never", "promised", "outside")
    return not core(column) or any(words & set(vocabulary().words("moments", part)) for part in listed)


def pairs(columns: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
    """A planned and an actual departure."""
    words = set(vocabulary().words("moments", "planned"))
    for planned in (column for column in columns if set(said(column)) & words):
        rest = set(said(planned)) - words - set(FILLER)
        for actual in columns:
            if rest and actual is not planned and set(said(actual)) - set(FILLER) == rest:
                yield planned, actual


def names_of(subject: Subject, start: Column, end: Column, is_only: bool) -> list[str]:
    words = core(end).split()
    known = vocabulary().table("moments", "takes")
    nouns = [noun for word in words for noun in known.get(word, ())]
    is_end = words[-1] in vocabulary().words("moments", "ends")
    if not (nouns or is_end or words[-1].endswith("ed") or core(end) in vocabulary().table("moments", "spans")):
        return []
    names = [f"{noun} time" for noun in nouns]
    names += [f"{' '.join(words)} time"] if nouns and not words[-1].endswith("ed") else []
    alike = vocabulary().table("moments", "alike")
    names += [f"days to {verb}" for word in words for verb in (*verbs(word), *alike.get(word, ()))]
    names += [f"days to be {word}" for word in words if word.endswith("ed")]
    names = [*lengths(subject, start, is_end), *names] if is_end else [*names, *lengths(subject, start, is_end)]
    names += vocabulary().words("moments", "processing") if is_only and not is_end else []
    return [*names, *(f"days from {one} to {other}" for one in (*called(start), subject.name) for other in called(end))]


def lengths(subject: Subject, start: Column, is_end: bool) -> Iterator[str]:
    """ "Rental length": how long one is, where its end is kept; the length of a parcel would be another. A person has
    none, and what keeps its length in a column has that one."""
    if has_length(subject) or is_person(subject):
        return
    if {subject.name, *core(start).split()} & set(vocabulary().words("moments", "stays")):
        yield from vocabulary().words("moments", "stay_names")
    for noun in vocabulary().words("moments", "lengths") if is_end else ("duration",):
        yield f"{subject.name} {noun}"
        yield f"{noun} of {subject.name}"


def called(column: Column) -> list[str]:
    """What is said of that day: order, order date; shipped, shipping, shipment."""
    plain = core(column)
    known = vocabulary().table("moments", "takes")
    nouns = [noun for word in plain.split() for noun in known.get(word, ())]
    deeds = [verb for word in plain.split() for verb in verbs(word)]
    return list(
        distinct([plain, phrase(column), *nouns, *deeds, *(f"{each} date" for each in (plain, *nouns, *deeds))])
    )


def has_length(subject: Subject) -> bool:
    """It is kept in a column of its own."""
    kept = {"duration", "length", "minutes", "hours", "nights", "days", "seconds", "runtime"}
    return any(kept & set(said(column)) for column in subject.table.columns if not moment_type(column))


def verbs(done: str) -> list[str]:
    """To "settle" for settled, to "deliver" for delivered, to "ship" for shipped, to "pay" for paid."""
    irregular = vocabulary().table("moments", "verbs").get(done)
    if irregular or not done.endswith("ed"):
        return [irregular] if irregular else []
    if done[-3] == done[-4:-3] and done[-3] not in "ls":
        return [done[:-3]]
    return [done[:-2], done[:-1]] if done[:-1].endswith(HARD) else [done[:-1], done[:-2]]


def days(subject: Subject, start: Column, end: Column) -> str:
    first, last = subject.quoted(start.name), subject.quoted(end.name)
    if subject.dialect == "sqlite":
        return f"{SQLITE}{last}) - JULIANDAY({first})"
    if subject.dialect == "mysql":
        return f"{MYSQL}{first}, {last}) / 86400.0"
    return f"{OTHERS}(CAST({last} AS TIMESTAMP) - CAST({first} AS TIMESTAMP))) / 86400.0"
