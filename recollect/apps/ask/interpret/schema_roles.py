"""What tables and columns of any schema are for: figures of money, people, kinds of rows, and rows that do not count.

Everything is derived from names, types, keys and values; `SchemaIndex.build` calls it once per source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.apps.ask.interpret.frame import Filter, Ref
from recollect.apps.ask.semantic.catalog import Column
from recollect.apps.ask.semantic.model import Measure
from recollect.apps.ask.words import load_concepts, split_name, stem_word

if TYPE_CHECKING:
    from recollect.apps.ask.interpret.index import SchemaIndex

# Amounts that are not called revenue, and how well other words name it.
NOT_INCOME = frozenset(map(stem_word, (
    "refund", "discount", "tax", "vat", "shipping", "budget", "balance", "deposit", "credit", "salary", "wage", "limit",
    "target", "purchase", "stock",
)))  # fmt: skip
RATINGS = {"income": 1.0, "money": 0.9, "price": 0.7}
# The rating of amounts that do not come in, and what is taken off for other reasons.
OUTGOING, NAMED_ROWS, OF_PEOPLE, UNDATED, BELOW = 0.4, 0.15, 0.6, 0.4, 0.03
VOID = frozenset(
    map(stem_word, ("cancelled", "canceled", "void", "voided", "refunded", "rejected", "declined", "failed"))
)
MAX_STATES = 12  # values of a column that says what has become of a row
PERSONAL = frozenset(map(stem_word, ("email", "phone", "birth", "hired", "surname", "gender", "mobile", "birthdate")))
FEW_COLUMNS = 3


def rate_figure(measure: Measure, index: SchemaIndex) -> float:
    """Return how likely a measure is what people call revenue; 0 if it is no amount of money."""
    info, rating = index.tables[measure.table], rate_names(measure)
    parents = [join.to for join in index.model.joins if join.table == info.name]
    is_dated = rating > RATINGS["price"] and any(index.tables[parent].main_moment for parent in parents)
    deductions = NAMED_ROWS * bool(info.label)
    if (info.label and rating == RATINGS["price"]) or not (info.main_moment or is_dated):
        deductions += UNDATED  # a list price
    elif not info.main_moment:
        deductions += BELOW
    if is_people(measure.table, index):
        deductions += OF_PEOPLE  # what a customer is worth is no sale
    return max(0.0, rating - deductions)


def is_factor(measure: Measure, index: SchemaIndex) -> bool:
    """Whether a measure is a part of another one of its table, like the price in price times quantity."""
    return any(
        each.table == measure.table and each.expression != measure.expression and measure.expression in each.expression
        for each in index.model.measures
    )


def rate_names(measure: Measure) -> float:
    """Return how well the names of a measure say that it is an amount that comes in."""
    parts = [word for name in measure.names for part in name.split() for word in split_name(part)]
    words = {stem_word(word) for word in parts if not word.endswith("ing")}  # a rating is no rate
    concepts = frozenset[str]().union(*(load_concepts().get((word,), frozenset()) for word in words))
    rating = max((RATINGS[each] for each in concepts.intersection(RATINGS)), default=0.0)
    if words & NOT_INCOME or is_cost(measure, rating):
        return min(rating or OUTGOING, OUTGOING)
    return rating


def is_cost(measure: Measure, rating: float) -> bool:
    """Whether a measure is what rows cost, not what they bring in."""
    words = split_name(measure.expression)
    is_single = rating == RATINGS["price"] or "*" in measure.expression
    return is_single and "cost" in words and "price" not in words


def find_void_rows(table: str, index: SchemaIndex) -> Filter | None:
    """Return the condition that leaves out rows that were cancelled; None if no column says so."""
    kinds = [join.to for join in index.model.joins if join.table == table and is_kind(join.to, index)]
    for place in (table, *kinds):
        for column in list_columns(place, index):
            void = tuple(each for each in column.values if stem_word(each.strip().casefold()) in VOID)
            if void and sorts_rows(column) and len(void) < len(column.values):
                return Filter(Ref(place, column.name), "!=" if len(void) == 1 else "not in", void)
    return None


def list_columns(table: str, index: SchemaIndex) -> Sequence[Column]:
    known = index.catalog.table(table)
    return known.columns if known else ()


def sorts_rows(column: Column) -> bool:
    """Whether a column has a few texts, which say what kind of row it is or what has become of it."""
    return column.type == "text" and column.is_complete and 1 < len(column.values) <= MAX_STATES


def is_people(table: str, index: SchemaIndex) -> bool:
    """Whether the rows of a table are people, or customers of any kind."""
    info, known = index.tables[table], load_concepts()
    concepts = {each for word in split_name(info.title) for each in known.get((stem_word(word),), ())}
    words = {word for column in info.columns.values() for word in column.words}
    return bool(len(info.label) == 2 or {"person", "customer"} & concepts or (info.label and PERSONAL & words))


def is_kind(table: str, index: SchemaIndex) -> bool:
    """Whether the rows of a table are kinds or states that other rows have: a key, a name, and no date or owner."""
    info = index.tables[table]
    belongs = any(join.table == table for join in index.model.joins)
    has_rows = any(join.to == table for join in index.model.joins)
    return has_rows and not belongs and not info.main_moment and len(info.columns) <= FEW_COLUMNS
