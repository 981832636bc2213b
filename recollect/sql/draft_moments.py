"""Moments: the columns that say when, and which of them is meant when only a period is said."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import commented, moment_type, phrase, said
from recollect.sql.draft_subjects import Subject
from recollect.sql.naming import distinct, many, of, without
from recollect.sql.semantic import Moment
from recollect.sql.vocabulary import vocabulary

NEVER = 1_000


def moments(subject: Subject) -> list[Moment]:
    found = [column for column in subject.table.columns if moment_type(column)]
    ranked = sorted((rank(subject, column), n) for n, column in enumerate(found))
    main = ranked[0][1] if ranked and ranked[0][0] < NEVER else None
    return [moment(subject, column, n == main) for n, column in enumerate(found)]


def moment(subject: Subject, column: Column, is_main: bool) -> Moment:
    return Moment(subject.table.name, column.name, names(subject, column), moment_type(column) or "date", is_main)


def names(subject: Subject, column: Column) -> tuple[str, ...]:
    own = phrase(column)
    known = vocabulary().table("moments", "said")
    heard = [name for word in said(column) for name in known.get(word, ())]
    plain = own.removesuffix(" at").removesuffix(" on")
    done = own.removesuffix(" date").removesuffix(" time")
    heard += [done] if done.endswith("ed") or done in vocabulary().words("moments", "done") else []
    heard += [many(each) for each in (plain, done) if each in vocabulary().words("moments", "nominal")]
    qualified = of(subject.name, without(subject.name, own))
    return distinct([own, *commented(column.comment), plain, *heard, qualified])


def rank(subject: Subject, column: Column) -> int:
    """The less, the more likely the main one."""
    words = set(said(column))
    main, late = vocabulary().words("moments", "main"), vocabulary().words("moments", "late")
    if is_any(words, column, vocabulary().words("moments", "never")):
        return NEVER
    if is_any(words, column, late):
        return len(main) + 10 + late_rank(words, late)
    if words & set(subject.name.split()):
        return -1
    return min((main.index(word) for word in words if word in main), default=len(main))


def late_rank(words: set[str], late: Sequence[str]) -> int:
    return min((late.index(word) for word in words if word in late), default=len(late))


def is_any(words: set[str], column: Column, listed: Sequence[str]) -> bool:
    return bool(words & set(listed)) or any(not each.isascii() and each in column.name for each in listed)
