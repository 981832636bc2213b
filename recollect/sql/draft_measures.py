"""Measures: the numbers of a table, and what two of them make: price times quantity, less the discount.

An order's own total and its lines' products are two measures that share the names "sales" and "revenue": whoever reads
a question takes the total where it can, and the product where a split by product would count a total twice.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from recollect.sql.catalog import Column
from recollect.sql.draft_columns import column_names, is_measure, moment_type, phrase, said, short_of
from recollect.sql.draft_discounts import filled, given_away, part_of_price
from recollect.sql.draft_subjects import Subject, has_any, shortened
from recollect.sql.naming import distinct, singular
from recollect.sql.semantic import Aggregate, Join, Measure
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


def earned(found: Sequence[Measure], others: Mapping[str, str]) -> list[Measure]:
    """What was sold is the revenue; what was paid for it is so only where nothing says what was sold."""
    words = set(vocabulary().words("money", "revenue_names"))
    paid = [each for each in found if others[each.table].split()[-1] in vocabulary().words("money", "paid_tables")]
    if not any(words & set(each.names) for each in found if each not in paid):
        return list(found)
    return [replace(each, names=unearned(each.names, words)) if each in paid else each for each in found]


def of_wholes(found: Sequence[Measure], joins: Sequence[Join], others: Mapping[str, str]) -> list[Measure]:
    """The lines of an order say its value, where it has no total of its own."""
    named = {name for each in found for name in each.names}
    return [replace(each, names=distinct([*each.names, *whole_names(each, joins, others, named)])) for each in found]


def whole_names(
    measure: Measure, joins: Sequence[Join], others: Mapping[str, str], named: Container[str]
) -> Iterator[str]:
    if " * " not in measure.expression or not set(measure.names) & set(vocabulary().words("money", "revenue_names")):
        return
    for join in joins:
        if join.table == measure.table and others[join.to].split()[-1] in vocabulary().words("money", "sale_tables"):
            names = [f"{others[join.to]} {noun}" for noun in vocabulary().words("money", "whole_names")]
            yield from (name for name in names if names[0] not in named and name not in named)


def unearned(names: Sequence[str], words: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in words)


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
        net = discounted(subject, times(subject, price, quantity))
        is_net = sells and net != times(subject, price, quantity)
        told = vocabulary().words("money", "net_names") if is_net else ()
        names = distinct([*listed, f"{subject.name} total", f"{subject.name} value", *told])
        yield Measure(name, net, names, "sum")
    if price and quantity:
        gross = times(subject, price, quantity)
        yield from given_away(subject, gross, first_of(subject, "discounts"), first_of(subject, "discount_amounts"))
    if price and not quantity and is_sold_singly(subject, others):
        names = tuple(vocabulary().words("money", "revenue_names"))
        yield Measure(name, subject.quoted(price.name), names, "sum")
    if pay := salary_of(subject):
        yield Measure(name, subject.quoted(pay.name), payroll_names(pay), "sum")
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


def salary_of(subject: Subject) -> Column | None:
    """The one column of what people earn."""
    found = [c for c in subject.table.columns if is_measure(subject, c) and said(c)[-1] in ("salary", "wage")]
    found = [c for c in found if not set(said(c)) & {"hourly", "minimum", "maximum", "min", "max", "hour"}]
    return found[0] if len(found) == 1 else None


def payroll_names(pay: Column) -> tuple[str, ...]:
    """A monthly salary makes no annual payroll."""
    other = {"monthly": "annual", "annual": "monthly", "yearly": "monthly"}
    wrong = {other[word] for word in said(pay) if word in other} or set(other.values())
    return tuple(n for n in vocabulary().words("money", "payroll_names") if not wrong & set(n.split()))


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
    if rate := first_of(subject, "discounts"):
        share = part_of_price(subject, rate)
        return f"{expression} * (1 - {share})" if share else expression
    if amount := first_of(subject, "discount_amounts"):
        return f"{expression} - {filled(subject, amount)}"
    return expression
