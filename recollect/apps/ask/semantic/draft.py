"""Draft a semantic model from a catalog: entities, dimensions, measures, moments and joins.

`draft_model` is general on purpose: it uses types, keys, names and sampled values, never a domain. People edit the
result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from operator import itemgetter

from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.model import Dimension, Entity, Join, Measure, Moment, MomentType, SemanticModel
from recollect.apps.ask.words import Phrase, split_name, stem_word

ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d.*)?")
NUMERIC = re.compile(r"[+-]?\d+(\.\d+)?")
NUMBERS = ("integer", "number")
PREFIXES = ("tbl", "ref", "dim", "fact", "vw", "tb", "t")
SUFFIXES = ("data", "info", "table", "tbl", "dim", "fact")
KEY_WORDS = ("id", "uid", "key", "code", "uuid", "guid", "pk", "no", "nr")
CODE_WORDS = frozenset(
    ("id", "uid", "key", "code", "no", "number", "nr", "zip", "postal", "postcode", "phone", "fax", "isbn")
)
LABELS = ("name", "title", "label", "full", "symbol", "subject", "description", "model")
PERSON = (
    *(("first", "last"), ("fname", "lname"), ("given", "family")),
    *(("forename", "surname"), ("firstname", "lastname")),
)
# Dates that say when a row was entered, and dates of what comes after the event or has nothing to do with it.
ENTERED = frozenset(map(stem_word, ("created", "booked", "entered", "inserted", "recorded", "reported", "added")))
ENDINGS = frozenset(map(stem_word, (
    "end", "ended", "delivery", "delivered", "shipped", "closed", "left", "finished", "paid", "cancelled", "returned",
    "resolved", "completed", "settled", "checkout", "deceased", "died", "retired", "terminated",
)))  # fmt: skip
SECONDARY = ENDINGS | frozenset(map(stem_word, (
    "due", "updated", "modified", "changed", "birth", "born", "dob", "expires", "expiry", "deleted", "to", "last",
    "next", "until", "valid", "final",
)))  # fmt: skip
PRICES, QUANTITIES = frozenset(("price", "cost", "rate")), frozenset(("quantity", "qty", "units"))
TOTALS, RATES = frozenset(("total", "amount")), frozenset(("percent", "percentage", "rate"))
DAYS = {
    "sqlite": "julianday({1}) - julianday({0})",
    "postgres": "EXTRACT(EPOCH FROM CAST({1} AS TIMESTAMP) - CAST({0} AS TIMESTAMP)) / 86400.0",
    "mysql": "TIMESTAMPDIFF(SECOND, {0}, {1}) / 86400.0",
    "duckdb": "date_diff('second', CAST({0} AS TIMESTAMP), CAST({1} AS TIMESTAMP)) / 86400.0",
}
OVERLAP = 0.8
MOST_MISSING = 0.2  # share of rows that may lack the date that says when they happened
OTHER = 3  # rank of a date that hardly says when a row happened
# What happened to the rows of a table that is named for it, where the stems differ.
PASTS = {"payment": "paid", "sale": "sold", stem_word("delivery"): stem_word("delivered")}
MONTHS = 12
# Tables whose name stands for their amount: "sales by region" is a sum, "orders by region" a count.
AMOUNT_TABLES = frozenset(("sale", "payment", "expens", "donat", "refund", "revenu", "purchas", "cost", "turnov"))
SALES = frozenset(("sale", "revenu"))
AMOUNTS = frozenset(("amount", "total", "value", "sum"))


def draft_model(catalog: Catalog) -> SemanticModel:
    """Return a first semantic model of the catalog."""
    joins = tuple(find_joins(catalog))
    entities: list[Entity] = []
    dimensions: list[Dimension] = []
    measures: list[Measure] = []
    moments: list[Moment] = []
    for table in catalog.tables:
        words, keys, main = table_words(table.name), find_key_columns(table, joins), find_main_moment(table)
        label = find_label(table, keys)
        entities.append(Entity(table.name, (" ".join(words),), find_key(table), label, table.comment))
        for column in table.columns:
            names = name_column(table, column)
            if is_moment(column):
                kind: MomentType = "datetime" if column.type == "datetime" else "date"
                moments.append(Moment(table.name, column.name, names, kind, column.name == main))
            elif is_measure(column) and column.name not in keys:
                own = name_amount(table, column)  # "sales" for sales.amount
                measures.append(Measure(table.name, quote_name(column.name), (*own, *names)))
            else:
                dimensions.append(Dimension(table.name, column.name, names, column.type, column.comment))
        measures += [*find_line_totals(table, catalog), *find_durations(table, catalog.dialect)]
    return SemanticModel(tuple(entities), tuple(dimensions), tuple(measures), tuple(moments), joins)


def quote_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"' + name.replace('"', '""') + '"'


def table_words(table: str) -> Phrase:
    """Return the words of a table's name, without schema and technical prefixes or suffixes."""
    words = split_name(table.rpartition(".")[2])
    while len(words) > 1 and words[0] in PREFIXES:
        words = words[1:]
    while len(words) > 1 and words[-1] in SUFFIXES:
        words = words[:-1]
    return words


def name_column(table: Table, column: Column) -> tuple[str, ...]:
    """Return the words of a column's name, also without those of its table."""
    words, head = split_name(column.name), table_words(table.name)
    is_prefixed = all(stem_word(a) == stem_word(b) for a, b in zip(words, head, strict=False))
    short = words[len(head) :] if is_prefixed else ()
    return tuple(dict.fromkeys(" ".join(each) for each in (words, short) if each))


def find_key(table: Table) -> tuple[str, ...]:
    """Return the primary key, or else a unique column, preferably one named like a key."""
    if table.primary_key:
        return table.primary_key
    unique = [each.name for each in table.columns if each.is_unique]
    named = [each for each in unique if split_name(each)[-1] in KEY_WORDS]
    first = [each.name for each in table.columns[:1] if split_name(each.name)[-1] == "id"]
    return tuple((named or unique or first)[:1])


def find_key_columns(table: Table, joins: Iterable[Join]) -> frozenset[str]:
    own = table.primary_key if len(table.primary_key) == 1 else ()
    return frozenset((*own, *(name for join in joins if join.table == table.name for name in join.columns)))


def find_label(table: Table, keys: frozenset[str]) -> tuple[str, ...]:
    """Return the columns that people name a row by."""
    texts = [each for each in table.columns if each.type == "text" and each.name not in keys and not is_moment(each)]
    by_words = {split_name(each.name): each.name for each in texts}
    unique = tuple(each.name for each in texts if each.is_unique)
    return find_person_name(by_words) or find_name_column(by_words, table_words(table.name)) or unique[:1]


def find_person_name(by_words: Mapping[Phrase, str]) -> tuple[str, ...]:
    """Return the columns of a first and a last name."""
    for first, last in PERSON:
        pair = [name for part in (first, last) for words, name in by_words.items() if part in words][:2]
        if len(pair) == 2 and pair[0] != pair[1]:
            return tuple(pair)
    return ()


def find_name_column(by_words: Mapping[Phrase, str], own: Phrase) -> tuple[str, ...]:
    """Return the column that is called like its table, or like a name."""
    stems = list(map(stem_word, own))
    same = [name for words, name in by_words.items() if list(map(stem_word, words)) == stems]
    ranked = [
        (at, len(words), name) for words, name in by_words.items() for at, label in enumerate(LABELS) if label in words
    ]
    return tuple(same[:1]) or tuple(name for _, _, name in sorted(ranked)[:1])


def is_moment(column: Column) -> bool:
    if column.type in ("date", "datetime"):
        return True
    seen = column.values or tuple(each for each in (column.low, column.high) if each)
    return column.type == "text" and bool(seen) and all(ISO.fullmatch(each.strip()) for each in seen)


def find_main_moment(table: Table) -> str:
    """Return the column that says when a row happened, or an empty string."""
    return next(iter(list_moments(table)), "")


def list_moments(table: Table) -> list[str]:
    """Return the columns that may say when a row happened, likeliest first; other dates only if there are none. Every
    row has happened: a date that many rows lack says something else, unless it is named like the table ("paid_on" of
    payments)."""
    own = {stem_word(word) for word in table_words(table.name)}
    own |= {past for noun, past in PASTS.items() if noun in own}

    ranked = sorted(
        ((rank_moment(each, own), each.name) for each in table.columns if is_moment(each)), key=itemgetter(0)
    )
    return [name for place, name in ranked if place < OTHER] or [name for _, name in ranked[:1]]


def rank_moment(column: Column, own: Set[str]) -> int:
    """Return how unlikely a date says when a row happened. `own` are the stems of the table's name."""
    stems, missing = {stem_word(word) for word in split_name(column.name)}, column.missing or 0
    if (stems - own) & SECONDARY or (missing > MOST_MISSING and not stems & own):
        return OTHER
    return 0 if stems & own else 2 if stems & ENTERED else 1


def is_measure(column: Column) -> bool:
    is_flag = column.type == "integer" and (column.low, column.high) == ("0", "1")
    is_month = split_name(column.name)[-1] == "month" and (read_number(column.high) or 0) <= MONTHS
    return (
        column.type in NUMBERS
        and not is_flag
        and not is_month
        and not is_year(column)
        and not set(split_name(column.name)) & CODE_WORDS
    )


def is_year(column: Column) -> bool:
    """Whether a number is a year: 1948, not "years of work"."""
    if column.type not in NUMBERS or "year" not in {stem_word(word) for word in split_name(column.name)}:
        return False
    ends = [end for end in map(read_number, (column.low, column.high)) if end is not None]
    return bool(ends) and min(ends) >= 1000 and max(ends) < 2200


def name_amount(table: Table, column: Column) -> tuple[str, ...]:
    """Return the table's own name for its amount, where people use it so: "sales" for `sales.amount`."""
    words = table_words(table.name)
    is_amount = bool(AMOUNTS & set(split_name(column.name)))
    amounts = [each for each in table.columns if is_measure(each) and AMOUNTS & set(split_name(each.name))]
    is_named_so = stem_word(words[-1]) in AMOUNT_TABLES
    return (" ".join(words),) if is_amount and is_named_so and len(amounts) == 1 else ()


def find_line_totals(table: Table, catalog: Catalog) -> Iterator[Measure]:
    """Yield price times quantity where a table has both: what a line of an order is worth. It is called sales where the
    table is, or where no other table has sales or totals with a date."""
    prices, quantities = find_numbers(table, PRICES), find_numbers(table, QUANTITIES | find_units(table))
    has_total = any(TOTALS & set(split_name(each.name)) for each in table.columns)
    if len(quantities) != 1 or not prices or has_total:
        return
    price = min(prices, key=lambda name: ("unit" not in split_name(name), name))
    total = f"{quote_name(price)} * {quote_name(quantities[0])}{write_discount(table)}"
    yield Measure(table.name, total, ("sales", "revenue") if has_sales(table, catalog) else ("line total",))


def has_sales(table: Table, catalog: Catalog) -> bool:
    """Whether no other table says better what was sold."""
    others = [each for each in catalog.tables if each.name != table.name]
    return not any(map(has_totals, others)) and (is_named_sales(table) or not any(map(is_named_sales, others)))


def has_totals(table: Table) -> bool:
    return bool(find_numbers(table, TOTALS) and find_main_moment(table))


def is_named_sales(table: Table) -> bool:
    return not SALES.isdisjoint(map(stem_word, table_words(table.name)))


def find_units(table: Table) -> frozenset[str]:
    """Return what the prices of a table are for one of: the price per tonne is multiplied with the tonnes."""
    words = [split_name(name) for name in find_numbers(table, PRICES)]
    units = {each[-1] for each in words if "per" in each}
    columns = [split_name(each.name) for each in table.columns]
    return frozenset(each[0] for each in columns if len(each) == 1 and {each[0], each[0].removesuffix("s")} & units)


def write_discount(table: Table) -> str:
    """Return the factor that a discount leaves of a price, if the first discount of a table is a share or a percentage;
    else an empty string."""
    names = find_numbers(table, frozenset(("discount",)))
    column = table.column(names[0]) if names else None
    if column is None:
        return ""
    most, is_named_share = read_number(column.high), bool(RATES & set(split_name(column.name)))
    is_share = most is not None and most <= 1
    share = quote_name(column.name) if is_share else f"{quote_name(column.name)} / 100.0"
    return f" * (1 - {share})" if is_share or is_named_share else ""


def find_durations(table: Table, dialect: str) -> Iterator[Measure]:
    """Yield the days from when a row happened to each date that may end it: delivered, paid, closed, ended."""
    start = find_main_moment(table)
    for column in table.columns if start else ():
        words = split_name(column.name)
        if is_moment(column) and ENDINGS & {stem_word(word) for word in words} and column.name != start:
            days = DAYS.get(dialect, DAYS["sqlite"]).format(quote_name(start), quote_name(column.name))
            until = " ".join(word for word in words if word not in ("at", "on", "date", "time"))
            yield Measure(table.name, days, (f"days to {until}", f"duration to {until}"), "avg")


def find_numbers(table: Table, words: frozenset[str]) -> list[str]:
    """Return the numeric columns whose name has one of the words."""
    return [each.name for each in table.columns if each.type in NUMBERS and words & set(split_name(each.name))]


def find_joins(catalog: Catalog) -> Iterator[Join]:
    """Yield declared foreign keys, then those that names and values suggest."""
    declared = [join for table in catalog.tables for join in find_declared_joins(catalog, table)]
    yield from declared
    known = {(join.table, join.columns) for join in declared}
    for table in catalog.tables:
        for column in table.columns:
            if (table.name, (column.name,)) not in known and (found := infer_join(catalog, table, column)):
                yield found


def find_declared_joins(catalog: Catalog, table: Table) -> Iterator[Join]:
    for key in table.foreign_keys:
        other = catalog.table(key.table)
        refers = key.refers or (other.primary_key if other else ())
        if other is not None and len(refers) == len(key.columns):
            columns = tuple(spell_column(table, each) for each in key.columns)
            to_columns = tuple(spell_column(other, each) for each in refers)
            yield Join(table.name, columns, other.name, to_columns, name_role(columns))


def spell_column(table: Table, name: str) -> str:
    """Return a column's name as the table spells it."""
    column = table.column(name)
    return column.name if column else name


def name_role(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the other row is to this one, from the name of the key: `SupportRepId` is a support rep."""
    if len(columns) != 1:
        return ()
    words = split_name(columns[0])
    while len(words) > 1 and words[-1] in KEY_WORDS:
        words = words[:-1]
    return (" ".join(words),)


def infer_join(catalog: Catalog, table: Table, column: Column) -> Join | None:
    """Return a join where a column is named like another table or its key and its values are found there."""
    if column.type not in ("integer", "text", "other") or table.primary_key == (column.name,):
        return None
    for other in catalog.tables:
        key = find_key(other)
        if other.name == table.name or len(key) != 1:
            continue
        target = other.column(key[0])
        if target and is_named_like(column, other, target) and is_inside(column, target):
            return Join(table.name, (column.name,), other.name, (target.name,), name_role((column.name,)))
    return None


def is_named_like(column: Column, other: Table, key: Column) -> bool:
    same_name = column.name.casefold() == key.name.casefold() and split_name(key.name)[0] not in KEY_WORDS
    words = map(stem_word, split_name(name_role((column.name,))[0]))
    return same_name or [*words] == [*map(stem_word, table_words(other.name))]


def is_inside(column: Column, key: Column) -> bool:
    """Whether at least 80 % of the values are values of the key, as far as the catalog shows them."""
    if column.type != key.type:
        return False
    if column.values and key.values:
        known = {each.strip().casefold() for each in key.values}
        return sum(each.strip().casefold() in known for each in column.values) >= OVERLAP * len(column.values)
    ends = list(filter(None, (key.low, column.low, column.high, key.high)))
    if column.type == "integer" and len(ends) == 4 and all(map(NUMERIC.fullmatch, ends)):
        return sorted(ends, key=float) == ends
    return not column.values and not key.values


def read_number(text: str | None) -> float | None:
    return float(text) if text and NUMERIC.fullmatch(text) else None
