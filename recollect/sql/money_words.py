"""Money words: "revenue" may stand for the one amount that there is; "commission", "salary" and "fee" say which amount
is meant, and stand for none that is not called so. Called by metrics.py for what a word means that is no name here.
"""

from __future__ import annotations

from recollect.sql.context import Context, Unclear, target_of
from recollect.sql.known import Target
from recollect.sql.lexer import root_of
from recollect.sql.naming import singular, table_words, words_of
from recollect.sql.semantic import Measure
from recollect.sql.sketch import Ask
from recollect.sql.vocabulary import vocabulary

SPENDING = "spending"  # what goes out, as opposed to what comes in


def called_so(context: Context, ask: Ask, targets: list[Target]) -> list[Target]:
    """Those that the word may mean: all, unless it is a word for one kind of money."""
    kinds = [kind for word in ask.text.lower().split() if (kind := kind_of(word))]
    is_each = ask.aggregate != "sum"  # what one thing costs is its price; what all of them cost together is not
    wanted = [kind for kind in kinds if not (is_each and "cost" in kind)]
    return [t for t in targets if all(kind & said_of(context, t) for kind in wanted)]


def spent(context: Context, ask: Ask) -> list[Target]:
    """What went out: the amounts of purchases, expenses and the like. Asked, where nothing of that kind is kept."""
    listed = {*vocabulary().words("money", "spending_tables"), *vocabulary().words("money", "buying_tables")}
    tables = [e.table for e in context.model.entities if listed & set(map(singular, table_words(e.table)))]
    costs = [target_of(m) for m in context.model.measures if m.table in tables and is_cost(m)]
    found = [t for table in tables for t in context.measures("money", {table})] or costs
    if not found:
        names = [m.names[0] for m in context.model.measures]
        raise Unclear(ask.text, "What was spent is not kept here. Which figure is meant?", names, "aggregation")
    things = [m for m in context.model.measures if m.table in context.mentioned and has_price(m)]
    if others := [m.names[0] for m in things if m.table not in {t.table for t in found}]:
        raise Unclear(ask.text, "What they cost, or what was spent on them later?", others, "aggregation")
    context.used.update(map(root_of, vocabulary().words("money", "spending_verbs")))
    return found


def has_price(measure: Measure) -> bool:
    return bool({"price", "cost"} & set(measure.names[0].split()))


def is_cost(measure: Measure) -> bool:
    return measure.aggregate == "sum" and bool({"cost", "price", "amount", "total"} & set(measure.names[0].split()))


def kind_of(word: str) -> frozenset[str]:
    """The roots of all words for the same kind of money; empty for a general one."""
    root = root_of(word)
    kinds = vocabulary().table("money", "kinds")
    same = [(name, *others) for name, others in kinds.items() if root in map(root_of, (name, *others))]
    return frozenset(root_of(each) for names in same for each in names)


def said_of(context: Context, target: Target) -> frozenset[str]:
    """What the column and its table are called; not what a draft says they may be called too."""
    column = (target.expression or target.column).strip('"`[]')
    table = (context.called(target.table), target.table, target.name)
    return frozenset(root_of(word) for name in (column, *table) for word in (*words_of(name), *name.split()))
