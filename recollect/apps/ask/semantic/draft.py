"""Draft a semantic model from a catalog: entities, dimensions, measures, moments and joins.

`draft_model` is general on purpose: it uses types, keys, names and sampled values, never a domain. People edit the
result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from recollect.apps.ask.interpret.words import Phrase, split_name, stem_word
from recollect.apps.ask.semantic.catalog import Catalog, Column, Table
from recollect.apps.ask.semantic.model import Dimension, Entity, Join, Measure, Moment, MomentType, SemanticModel

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
    ("first", "last"),
    ("fname", "lname"),
    ("given", "family"),
    ("forename", "surname"),
    ("firstname", "lastname"),
)
SECONDARY = frozenset(("due", "update", "modifi", "birth", "end", "expir", "delet", "ship", "deliveri", "close", "to"))
PRICES, QUANTITIES = frozenset(("price", "cost", "rate")), frozenset(("quantity", "qty", "units"))
TOTALS = frozenset(("total", "amount"))
OVERLAP = 0.8
# Tables whose name stands for their amount: "sales by region" is a sum, "orders by region" a count.
AMOUNT_TABLES = frozenset(("sale", "payment", "expens", "donat", "refund", "revenu", "purchas", "cost", "turnov"))
AMOUNTS = frozenset(("amount", "total", "value", "sum"))


def draft_model(catalog: Catalog) -> SemanticModel:
    """Return a first semantic model of the catalog."""
    joins = tuple(find_joins(catalog))
    entities = tuple(make_entity(table, joins) for table in catalog.tables)
    dimensions: list[Dimension] = []
    measures: list[Measure] = []
    moments: list[Moment] = []
    for table in catalog.tables:
        keys = find_key_columns(table, joins)
        main = find_main_moment(table)
        for column in table.columns:
            names = name_column(table, column)
            if is_moment(column):
                kind: MomentType = "datetime" if column.type == "datetime" else "date"
                moments.append(Moment(table.name, column.name, names, kind, column.name == main))
            elif is_measure(column) and column.name not in keys:
                own = name_amount(table, column)
                measures.append(Measure(table.name, quote_name(column.name), (*own, *names)))
            else:
                dimensions.append(Dimension(table.name, column.name, names, column.type, column.comment))
        measures += find_line_totals(table, catalog)
    return SemanticModel(entities, tuple(dimensions), tuple(measures), tuple(moments), joins)


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
    words = split_name(column.name)
    short = words[len(table_words(table.name)) :] if starts_with(words, table_words(table.name)) else ()
    return tuple(dict.fromkeys(" ".join(each) for each in (words, short) if each))


def starts_with(words: Phrase, head: Phrase) -> bool:
    same = [stem_word(a) == stem_word(b) for a, b in zip(words, head, strict=False)]
    return len(words) > len(head) and all(same)


def make_entity(table: Table, joins: Iterable[Join]) -> Entity:
    words = " ".join(table_words(table.name))
    return Entity(
        table.name, (words,), find_key(table), find_label(table, find_key_columns(table, joins)), table.comment
    )


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
    stems = [stem_word(each) for each in own]
    same = [name for words, name in by_words.items() if [stem_word(each) for each in words] == stems]
    if same:
        return (same[0],)
    for label in LABELS:
        found = [(len(words), name) for words, name in by_words.items() if label in words]
        if found:
            return (min(found)[1],)
    return ()


def is_moment(column: Column) -> bool:
    if column.type in ("date", "datetime"):
        return True
    seen = column.values or tuple(each for each in (column.low, column.high) if each)
    return column.type == "text" and bool(seen) and all(ISO.fullmatch(each.strip()) for each in seen)


def find_main_moment(table: Table) -> str:
    """Return the column that says when a row happened, or an empty string."""
    own = {stem_word(word) for word in table_words(table.name)}

    def rank(column: Column) -> tuple[bool, bool]:
        stems = {stem_word(word) for word in split_name(column.name)}
        return (bool(stems & SECONDARY), not stems & own)

    found = sorted((each for each in table.columns if is_moment(each)), key=rank)
    return found[0].name if found else ""


def is_measure(column: Column) -> bool:
    is_flag = column.type == "integer" and (column.low, column.high) == ("0", "1")
    return (
        column.type in NUMBERS and not is_flag and not is_year(column) and not set(split_name(column.name)) & CODE_WORDS
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
    """Yield price times quantity where a table has both: what a line of an order is worth. Where another table has the
    sales themselves, it is only called a line total."""
    prices, quantities = find_numbers(table, PRICES), find_numbers(table, QUANTITIES)
    totals = [each for each in table.columns if TOTALS & set(split_name(each.name))]
    if len(quantities) != 1 or not prices or totals:
        return
    price = min(prices, key=lambda name: ("unit" not in split_name(name), name))
    tables = {stem_word(table_words(each.name)[-1]) for each in catalog.tables}
    parents = [catalog.table(key.table) for key in table.foreign_keys]
    has_total = any(find_numbers(each, TOTALS) for each in parents if each)
    has_sales = has_total or not tables.isdisjoint(map(stem_word, ("sales", "revenue")))
    names = ("line total", "line revenue") if has_sales else ("sales", "revenue")
    yield Measure(table.name, f"{quote_name(price)} * {quote_name(quantities[0])}", names)


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
    same_name = column.name.casefold() == key.name.casefold() and len(split_name(key.name)) > 1
    words = [stem_word(each) for each in split_name(name_role((column.name,))[0])]
    return same_name or words == [stem_word(each) for each in table_words(other.name)]


def is_inside(column: Column, key: Column) -> bool:
    """Whether at least 80 % of the values are values of the key, as far as the catalog shows them."""
    if column.type != key.type:
        return False
    if column.values and key.values:
        own, known = fold_values(column), set(fold_values(key))
        return sum(each in known for each in own) >= OVERLAP * len(own)
    least, low, high, most = (read_number(each) for each in (key.low, column.low, column.high, key.high))
    if column.type == "integer" and None not in (least, low, high, most):
        return least <= low and high <= most  # type: ignore[operator]
    return not column.values and not key.values


def fold_values(column: Column) -> list[str]:
    return [each.strip().casefold() for each in column.values]


def read_number(text: str | None) -> float | None:
    return float(text) if text and NUMERIC.fullmatch(text) else None
