"""`*` and `t.*`, written out for the tables of the catalog: the database knows columns that may not be seen.

Called by gate_names. What comes from a subquery, a CTE or a function was checked there, so its star may stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from recollect.apps.ask.gate.from_sources import Scope, Source
from recollect.errors import StatementDenied


@dataclass(slots=True)
class Expansion:
    projections: list[exp.Expr] = field(default_factory=list)
    outputs: list[exp.Identifier | None] = field(default_factory=list)
    reads: list[tuple[Source, exp.Identifier]] = field(default_factory=list)


def expanded(star: exp.Expr, scope: Scope, dialect: str) -> Expansion:
    found = Expansion()
    qualifier = star.args.get("table")
    if qualifier:
        add_all(found, source_named(scope, qualifier))
    elif not scope.sources:
        raise StatementDenied("* needs a FROM")
    elif scope.merged:
        add_merged(found, scope, dialect)
    elif any(source.table for source in scope.sources):
        for source in scope.sources:
            add_all(found, source)
    else:
        found.projections.append(star)
        found.outputs += [column for source in scope.sources for column in source.columns]
    return found


def source_named(scope: Scope, name: exp.Identifier) -> Source:
    source = scope.named(name)
    if not source:
        raise StatementDenied(f"{name.this}.*: there is no table or alias {name.this} here")
    return source


def add_all(found: Expansion, source: Source) -> None:
    if not source.table:
        found.projections.append(exp.Column(this=exp.Star(), table=source.alias.copy()))
        found.outputs += source.columns
        return
    if not source.columns:
        raise StatementDenied(f"{source.alias.this}.*: you may not see any column of {source.table.name}")
    for column in source.columns:
        add_one(found, source, column)


def add_one(found: Expansion, source: Source, column: exp.Identifier | None) -> None:
    if column is None:
        raise StatementDenied(f"* over {source.alias.this} with USING: give each of its columns a name")
    found.projections.append(exp.Column(this=column.copy(), table=source.alias.copy()))
    found.outputs.append(column)
    found.reads.append((source, column))


def add_merged(found: Expansion, scope: Scope, dialect: str) -> None:
    """Columns of USING come once: first of all, or in SQLite where the first table has them."""
    pending = dict(scope.merged)
    if dialect != "sqlite":
        for name in scope.merged:
            add_bare(found, pending.pop(name))
    for source in scope.sources:
        for column in source.columns:
            if column is None or column.this.lower() not in scope.merged:
                add_one(found, source, column)
            elif column.this.lower() in pending:
                add_bare(found, pending.pop(column.this.lower()))


def add_bare(found: Expansion, column: exp.Identifier) -> None:
    found.projections.append(exp.Column(this=column.copy()))
    found.outputs.append(column)
