"""Trace: what a frame's SQL is made of, in the terms of the question: its tables, its columns, and the words of all of
them as roots. Made once per frame by grounds.py; the other grounds read it too. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from recollect.sql.context import Context
from recollect.sql.frame import Frame, Metric, Period, Ref
from recollect.sql.known import Target
from recollect.sql.lexer import root_of
from recollect.sql.naming import words_of
from recollect.sql.phrases import phrases
from recollect.sql.sketch import Sketch
from recollect.sql.spans import Piece
from recollect.sql.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Trace:
    """`last` is the frame that was edited, if one was: what it had already was answered for."""

    context: Context
    sketch: Sketch
    frame: Frame
    last: Frame | None
    tables: frozenset[str]  # those on the ways, too
    refs: tuple[Ref, ...]
    roots: frozenset[str]  # of everything in the SQL
    said: frozenset[str]  # of everything in the question, with what its verbs are about
    dates: tuple[Ref, ...] = field(default=())  # that are new

    @property
    def pieces(self) -> list[Piece]:
        return self.sketch.pieces

    @property
    def is_edit(self) -> bool:
        return self.last is not None

    @property
    def is_less(self) -> bool:
        """Whether an edit took something away."""
        return self.last is not None and parts(self.frame) < parts(self.last)

    @property
    def figures(self) -> tuple[Metric, ...]:
        return (*self.frame.metrics, *(each.metric for each in self.frame.having))

    @property
    def met(self) -> frozenset[tuple[str, str]]:
        """Columns that conditions are about."""
        refs = (*(each.of for each in self.frame.filters), *(each.of for each in self.frame.periods))
        return frozenset((ref.table, ref.column) for ref in refs)

    @property
    def entity_roots(self) -> frozenset[str]:
        return roots_of(name for entity in self.context.model.entities for name in entity.names)

    def has(self, target: Target) -> bool:
        """Whether the SQL uses what the word was taken for."""
        if target.kind in ("entity", "join"):
            return target.table in self.tables
        if target.kind == "definition":
            return any(target.expression in value for f in self.frame.filters for value in f.values)
        column = target.column or target.expression.strip('"')
        refs = self.refs if target.kind != "value" else [f.of for f in self.frame.filters]
        return any(
            ref.table == target.table and (column in (ref.column, ref.expression.strip('"'))
                                           or (target.expression and is_scaled(ref.expression, target.expression)))
            for ref in refs
        )  # fmt: skip

    def unused_column(self, root: str) -> str | None:
        """A column of these tables that is called so. The main date of a table, where no period is said, adds nothing:
        claims are filed."""
        for name in sorted(self.frame.tables):
            table, main = self.context.catalog.table(name), self.context.main_moment(name)
            for column in table.columns if table else ():
                is_plain = main is not None and main.column == column.name and not self.dates
                if root in roots_of(words_of(column.name)) and not is_plain:
                    return " ".join(words_of(column.name))
        return None


def trace_of(context: Context, sketch: Sketch, frame: Frame, last: Frame | None) -> Trace:
    refs = (*frame.refs(), *(order.of for order in frame.order if order.of))
    tables = frozenset((*frame.tables, *on_the_ways(context, frame, refs)))
    said = roots_of(piece.text for piece in sketch.pieces)
    acts = roots_of(word for verb in sketch.verbs for key in phrases().events.get(verb, ()) for word in key)
    return Trace(
        context, sketch, frame, last, tables, refs, used_roots(context, frame, refs, tables), said | acts,
        tuple(dict.fromkeys(ref for ref in dates_of(frame) if last is None or ref not in dates_of(last))),
    )  # fmt: skip


def parts(frame: Frame) -> int:
    return sum(map(len, (frame.filters, frame.periods, frame.groups, frame.having, frame.existence)))


def dates_of(frame: Frame) -> list[Ref]:
    inner = [each.of for each in inner_periods(frame)]
    return [*(each.of for each in frame.periods), *(each.of for each in frame.groups if each.grain), *inner]


def inner_periods(frame: Frame) -> list[Period]:
    """When there must be a row, or none; when a figure is compared."""
    rows = [one for each in frame.existence for one in each.periods]
    return [*rows, *(one for each in frame.having for one in each.periods)]


def on_the_ways(context: Context, frame: Frame, refs: Iterable[Ref]) -> Iterable[str]:
    ends = [*((ref.table, ref.via) for ref in refs), *((each.table, ()) for each in frame.existence)]
    for table, via in ends:
        for way in context.graph.ways(frame.subject, table, via)[:1]:
            yield from (step.table for step in way)


def used_roots(context: Context, frame: Frame, refs: Iterable[Ref], tables: Iterable[str]) -> frozenset[str]:
    columns = [word for ref in refs for word in (*words_of(ref.column or ref.expression), ref.name)]
    ways = [word for ref in refs for each in ref.via for word in words_of(each.replace(".", "_"))]
    named = [word for table in tables for word in (context.called(table), *words_of(table))]
    values = [word for each in frame.filters for value in each.values for word in (value, *words_of(value))]
    return roots_of((*columns, *ways, *named, *values)) | frozenset(context.used)


def is_scaled(told: str, kept: str) -> bool:
    """The same figure, or the same in hours instead of days."""
    return told == kept or told.startswith(f"({kept}) * ")


def roots_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(root_of(word) for text in texts for word in text.lower().split())


def roots(text: str) -> frozenset[str]:
    return roots_of((text,))


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of [grounds] in words.toml."""
    return roots_of(vocabulary().words("grounds", name))
