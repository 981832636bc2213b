"""Write a syntax tree as SQL that every server of a dialect reads. `write_sql` is the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.generator import Generator


def write_sql(tree: exp.Expr, dialect: str | Dialect, **options: Any) -> str:
    """Return the statement in this dialect; `options` are those of sqlglot's generator."""
    from sqlglot.dialects.dialect import Dialect

    chosen = Dialect.get_or_raise(dialect)
    return generator_class(type(chosen))(dialect=chosen, **options).generate(tree)


@cache
def generator_class(dialect: type[Dialect]) -> type[Generator]:
    """sqlglot writes REGEXP_LIKE for MySQL, which MariaDB does not have; both have the operator."""
    from sqlglot import exp

    base: type[Generator] = dialect.generator_class
    if dialect.__name__ != "MySQL":
        return base

    def write_regexp(writer: Generator, node: exp.RegexpLike) -> str:
        return writer.binary(node, "REGEXP")

    return type(base.__name__, (base,), {"TRANSFORMS": {**base.TRANSFORMS, exp.RegexpLike: write_regexp}})


def describe_sql(sql: str, dialect: str) -> str:
    """Return what a statement gives, in a line: its columns, tables, conditions, groups and limit."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return sql
    first: Any = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return sql
    # Table names say nothing more where there is one table, and aliases never do.
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(tables.get(column.table, "")) if len(tables) > 1 else None)
    shown = ", ".join(each.unalias().sql(dialect) for each in first.selects)
    parts = [f"{shown} from {', '.join(dict.fromkeys(tables.values()))}"]
    for clause, word in (("where", "where"), ("group", "by"), ("having", "having"), ("order", "ordered by")):
        if node := first.args.get(clause):
            inside = [node.this] if clause in ("where", "having") else node.expressions
            parts.append(f"{word} {', '.join(each.sql(dialect) for each in inside)}")
    limit = tree.args.get("limit")
    parts += [f"first {limit.expression.sql(dialect)}"] if limit else []
    return ", ".join(parts)


def add_conditions(sql: str, dialect: str, conditions: Mapping[str, str]) -> str:
    """Return a statement with a condition on the rows of each of these tables, wherever it reads them."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, dialect=dialect)
    for table in list(tree.find_all(exp.Table)):
        condition = conditions.get(table.name.casefold())
        select = table.parent_select
        if condition is None or not isinstance(select, exp.Select):
            continue
        made = sqlglot.parse_one(condition, dialect=dialect)
        for column in made.find_all(exp.Column):
            column.set("table", exp.to_identifier(table.alias_or_name))
        join = table.parent
        if isinstance(join, exp.Join) and join.side:  # in WHERE it would leave out the rows without a match
            join.on(made, copy=False)
        else:
            select.where(made, copy=False)
    return write_sql(tree, dialect)
