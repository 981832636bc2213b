"""The one gate of SQL: every statement that is run against a customer's database passes here.

`check_sql` parses the text, checks every part of it against lists of what is allowed, and returns a text of its own:
rendered from the tree that was checked, with each name bound to the table it was checked for, and with a row cap. Only
that text is run. What it promises: one statement, which only reads, only from the tables and columns in `Allowed`, with
functions that have no effect and read nothing else. A refusal is a StatementDenied that names the offending part.

It is one of several guards: sources/ runs the result in a read-only transaction with a time limit, under a role that
cannot write.

    statement.py   text to tree (size, one statement, placeholders, depth), the order of the checks, cost (cross joins,
                   endless recursion, the row cap), tree to text
    nodes.py       every node of the tree against the lists in functions.toml; sizes
    scopes.py      the tables that the caller may see, and what FROM names
    names.py       every column bound to its source; stars written out
"""

from recollect.apps.ask.gate.scopes import Allowed
from recollect.apps.ask.gate.statement import CheckedSql, check_sql, list_tables
from recollect.errors import StatementDenied

__all__ = ["Allowed", "CheckedSql", "StatementDenied", "check_sql", "list_tables"]
