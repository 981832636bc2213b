"""Moments: the columns that say when, and which of them is meant when only a period is said."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import commented, is_person, moment_type, phrase, said
from recollect.sql.draft_subjects import Subject, shortened
from recollect.sql.lexer import root_of
from recollect.sql.naming import distinct, many, of, singular
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
    heard = [name for word in said(column) if is_alone(subject, column, word) for name in known_of(word)]
    heard += [name for key, names in known.items() if " " in key and f" {key} " in f" {own} " for name in names]
    if is_planned(column):
        heard = []  # what was planned to depart has not departed
    plain = own.removesuffix(" at").removesuffix(" on")
    done = own.removesuffix(" date").removesuffix(" time")
    heard += [done] if done.endswith("ed") or done in vocabulary().words("moments", "done") else []
    heard += [many(each) for each in (plain, done) if each in vocabulary().words("moments", "nominal")]
    heard += counted(subject, column, done if done != own else plain)
    qualified = of(subject.name, shortened(subject, own))
    return distinct([own, *commented(column.comment), plain, *heard, qualified])


def counted(subject: Subject, column: Column, done: str) -> list[str]:
    """ "Arrivals" for those who checked in then; a device that is registered is no signup."""
    names = vocabulary().table("moments", "counted").get(done, ())
    is_somebody = is_person(subject) or subject.name.split()[-1] in vocabulary().words("money", "buyers")
    is_said = is_somebody or set(said(column)) & {"signup", "sign"}
    kept = [name for name in names if is_said or not set(name.split()) & {"sign", "signups"}]
    return [] if is_planned(column) else kept


def is_planned(column: Column) -> bool:
    return bool(set(said(column)) & set(vocabulary().words("moments", "planned")))


def known_of(word: str) -> Sequence[str]:
    known = vocabulary().table("moments", "said")
    found: Sequence[str] = known.get(singular(word), known.get(word, ()))
    return found


def is_alone(subject: Subject, column: Column, word: str) -> bool:
    """A trial that ends is not the end of what it belongs to."""
    plain = {word, *subject.name.split(), *vocabulary().words("moments", "plain")}
    return all(each in plain or singular(each) in plain or each in known_of(word) for each in said(column))


def rank(subject: Subject, column: Column) -> int:
    """The less, the more likely the main one."""
    words = {form for word in said(column) for form in (word, singular(word))}
    main, late = vocabulary().words("moments", "main"), vocabulary().words("moments", "late")
    if is_any(words, column, vocabulary().words("moments", "never")):
        return NEVER
    if is_any(words, column, late):
        return len(main) + 10 + late_rank(words, late)
    if set(map(root_of, words)) & set(map(root_of, subject.name.split())):
        return -1
    return min((main.index(word) for word in words if word in main), default=len(main))


def late_rank(words: set[str], late: Sequence[str]) -> int:
    return min((late.index(word) for word in words if word in late), default=len(late))


def is_any(words: set[str], column: Column, listed: Sequence[str]) -> bool:
    return bool(words & set(listed)) or any(not each.isascii() and each in column.name for each in listed)
