"""Money words: "revenue" may stand for the one amount that there is; "commission", "salary" and "fee" say which amount
is meant, and stand for none that is not called so. Called by metrics.py for what a word means that is no name here.
"""

from __future__ import annotations

from recollect.sql.context import Context
from recollect.sql.known import Target
from recollect.sql.lexer import root_of
from recollect.sql.naming import words_of
from recollect.sql.sketch import Ask
from recollect.sql.vocabulary import vocabulary


def called_so(context: Context, ask: Ask, targets: list[Target]) -> list[Target]:
    """Those that the word may mean: all, unless it is a word for one kind of money."""
    kinds = [kind for word in ask.text.lower().split() if (kind := kind_of(word))]
    is_each = ask.aggregate != "sum"  # what one thing costs is its price; what all of them cost together is not
    wanted = [kind for kind in kinds if not (is_each and "cost" in kind)]
    return [t for t in targets if all(kind & said_of(context, t) for kind in wanted)]


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
