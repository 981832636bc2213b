"""Write a syntax tree as SQL that every server of a dialect reads. `write_sql` is the entry point."""

from __future__ import annotations

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
