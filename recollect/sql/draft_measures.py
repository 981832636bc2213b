"""Measures: the numbers of a table, and what two of them make: price times quantity, less the discount.

An order's own total and its lines' products are two measures that share the names "sales" and "revenue": whoever reads
a question takes the total where it can, and the product where a split by product would count a total twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import column_names, is_measure, moment_type, phrase, said, short_of
from recollect.sql.draft_subjects import Subject, has_any, shortened
from recollect.sql.naming import distinct, singular
from recollect.sql.semantic import Aggregate, Measure
from recollect.sql.vocabulary import vocabulary


def measures(subject: Subject, others: Mapping[str, str]) -> list[Measure]:
    """`others` are the names of what each table is about."""
    sells = is_about_sales(subject, others) and not subject.table.is_view
    own = [measure(subject, column, sells) for column in subject.table.columns if is_measure(subject, column)]
    return own if subject.table.is_view else [*own, *products(subject, sells, others)]


def measure(subject: Subject, column: Column, sells: bool) -> Measure:
    names = column_names(subject, column, "measures")
    if sells and column is best_total(subject):
        names = distinct([*names, *vocabulary().words("money", "revenue_names"), f"{subject.name} value"])
    return Measure(subject.table.name, subject.quoted(column.name), names, aggregate(column), column.comment)


def best_total(subject: Subject) -> Column | None:
    """Of a total and a subtotal the total."""
    listed = list(vocabulary().words("money", "totals"))
    numbers = [column for column in subject.table.columns if is_measure(subject, column)]
    ranked = [(min(map(listed.index, named)), n) for n, c in enumerate(numbers) if (named := total_names(subject, c))]
    return numbers[min(ranked)[1]] if ranked else None


def total_names(subject: Subject, column: Column) -> list[str]:
    own = phrase(column)
    said = (own, shortened(subject, own), *short_of(own, shortened(subject, own)))
    return [name for name in said if name in vocabulary().words("money", "totals")]


def aggregate(column: Column) -> Aggregate:
    words = tuple(singular(word) for word in said(column))
    if any(has_any(form, vocabulary().words("aggregates", "sum")) for form in (words, said(column))):
        return "avg" if "unit" in words or "per" in words else "sum"
    return (
        "avg"
        if any(has_any(form, vocabulary().words("aggregates", "avg")) for form in (words, said(column)))
        else "sum"
    )


def is_total(subject: Subject, column: Column) -> bool:
    return bool(total_names(subject, column))


def is_about_sales(subject: Subject, others: Mapping[str, str]) -> bool:
    """Its own name says so, or it has the lines of a table whose name does."""
    words = vocabulary().words("money", "sale_tables")
    if has_any(tuple(map(singular, subject.name.split())), vocabulary().words("money", "spending_tables")):
        return False
    if any(singular(word) in words for word in subject.name.split()) or has_any([subject.name], words):
        return True
    return any(singular(others[join.to].split()[-1]) in words for join in subject.joins)


def products(subject: Subject, sells: bool, others: Mapping[str, str]) -> Iterator[Measure]:
    """What the columns of one row make together."""
    price, cost = first_of(subject, "prices"), first_of(subject, "costs")
    quantity, stock = first_of(subject, "quantities"), first_of(subject, "stock")
    name = subject.table.name
    if price and quantity and not any(is_total(subject, each) for each in subject.table.columns):
        listed = vocabulary().words("money", "product_names" if sells else "plain_product_names")
        names = distinct([*listed, f"{subject.name} total", f"{subject.name} value"])
        yield Measure(name, discounted(subject, times(subject, price, quantity)), names, "sum")
    if price and not quantity and is_sold_singly(subject, others):
        names = tuple(vocabulary().words("money", "revenue_names"))
        yield Measure(name, subject.quoted(price.name), names, "sum")
    if cost and quantity:
        yield Measure(name, times(subject, cost, quantity), tuple(vocabulary().words("money", "cost_names")), "sum")
    if price and cost and quantity:
        gained = f"{discounted(subject, times(subject, price, quantity))} - {times(subject, cost, quantity)}"
        yield Measure(name, gained, tuple(vocabulary().words("money", "profit_names")), "sum")
    if (price or cost) and stock and not quantity:
        yield Measure(
            name,
            times(subject, price or cost or stock, stock),
            tuple(vocabulary().words("money", "stock_names")),
            "sum",
        )


def is_sold_singly(subject: Subject, others: Mapping[str, str]) -> bool:
    """Each row was sold to somebody on some day for its price: a parcel, a ticket, a lesson."""
    buyers = {others[join.to].split()[-1] for join in subject.joins if join.to != subject.table.name}
    dated = any(moment_type(column) for column in subject.table.columns)
    totals = any(is_measure(subject, each) and is_total(subject, each) for each in subject.table.columns)
    return dated and not totals and bool(buyers & set(vocabulary().words("money", "buyers")))


def first_of(subject: Subject, part: str) -> Column | None:
    """The column that the list names first."""
    numbers = {phrase(column): column for column in subject.table.columns if is_measure(subject, column)}
    shorter = {shortened(subject, own): column for own, column in numbers.items()}
    plain = {name: column for own, column in numbers.items() for name in short_of(own)}
    found = {**plain, **shorter, **numbers}
    return next((found[name] for name in vocabulary().words("money", part) if name in found), None)


def times(subject: Subject, one: Column, other: Column) -> str:
    return f"{subject.quoted(one.name)} * {subject.quoted(other.name)}"


def discounted(subject: Subject, expression: str) -> str:
    if share := first_of(subject, "discounts"):
        return f"{expression}{reduction(subject, share)}"
    if amount := first_of(subject, "discount_amounts"):
        return f"{expression} - {filled(subject, amount)}"
    return expression


def reduction(subject: Subject, discount: Column) -> str:
    """A fraction, or percent; nothing if neither its name nor its values say which."""
    high = float(discount.high) if discount.high is not None else None
    if has_any(said(discount), ("percent", "percentage")) or (
        high is not None and 1 < high <= 100 and is_whole(discount)
    ):
        return f" * (1 - {filled(subject, discount)} / 100.0)"
    return f" * (1 - {filled(subject, discount)})" if high is not None and high <= 1 else ""


def is_whole(discount: Column) -> bool:
    return discount.type == "integer"


def filled(subject: Subject, column: Column) -> str:
    return f"COALESCE({subject.quoted(column.name)}, 0)" if column.nullable else subject.quoted(column.name)
