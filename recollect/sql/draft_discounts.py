"""Discounts: what was given away, and what would have been earned without it, where the lines of a sale keep a rate or
an amount of discount. Drafted beside the other measures (draft_measures.py); a rate itself is averaged, never added up.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import said
from recollect.sql.draft_subjects import Subject, has_any
from recollect.sql.semantic import Measure
from recollect.sql.vocabulary import vocabulary


def given_away(subject: Subject, gross: str, rate: Column | None, amount: Column | None) -> Iterator[Measure]:
    """`gross` is price times quantity, before any discount."""
    share = part_of_price(subject, rate) if rate else ""
    if not share and not amount:
        return
    yield Measure(subject.table.name, gross, tuple(vocabulary().words("money", "gross_names")), "sum")
    if share:
        names = tuple(vocabulary().words("money", "discount_names"))
        yield Measure(subject.table.name, f"{gross} * {share}", names, "sum")


def part_of_price(subject: Subject, discount: Column) -> str:
    """A fraction, or percent; nothing if neither its name nor its values say which."""
    high = float(discount.high) if discount.high is not None else None
    own = filled(subject, discount)
    is_whole = discount.type == "integer" and high is not None and 1 < high <= 100
    if has_any(said(discount), ("percent", "percentage")) or is_whole:
        return f"{own} / 100.0"
    return own if high is not None and high <= 1 else ""


def filled(subject: Subject, column: Column) -> str:
    return f"COALESCE({subject.quoted(column.name)}, 0)" if column.nullable else subject.quoted(column.name)
