"""Linking: which tables a question is about, and how a model is told of them: by the words that both share,
values included, and by what joins them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from recollect.apps.ask.question import Shown
from recollect.apps.ask.semantic.catalog import Column, Table
from recollect.apps.ask.source_registry import View
from recollect.prompts import mark_data
from recollect.recall.lexemes import lexemes
from recollect.values.memory import Memory

VALUE_CHARS = 40


def linked(view: View, question: str, shown: Shown) -> list[Table]:
    """The tables that speak to it, best first, with what they need to be joined."""
    asked = set(lexemes(question))
    scores = Counter({table.name: score(view, table, asked) for table in view.catalog.tables})
    best = [name for name, points in scores.most_common(shown.tables) if points > 0]
    chosen = best or [table.name for table in view.catalog.tables[: shown.tables]]
    between = [table for table in bridges(view, chosen) if table not in chosen]
    found = (view.catalog.table(name) for name in (*chosen, *between))
    return [table for table in found if table is not None][: shown.most]


def score(view: View, table: Table, asked: set[str]) -> float:
    words = set(lexemes(" ".join([table.name, table.comment, *names_of(view, table.name)])))
    columns = set(lexemes(" ".join(f"{column.name} {column.comment}" for column in table.columns)))
    values = set(lexemes(" ".join(value for column in table.columns for value in column.values[:200])))
    return 3 * len(words & asked) + 2 * len(columns & asked) + len(values & asked)


def names_of(view: View, table: str) -> Iterable[str]:
    model = view.model
    everything: list[Any] = [*model.entities, *model.dimensions, *model.measures, *model.moments]
    return (name for each in everything if each.table == table for name in each.names)


def bridges(view: View, chosen: Sequence[str]) -> list[str]:
    """Tables that stand between two chosen ones."""
    neighbours: dict[str, set[str]] = {}
    for join in view.model.joins:
        neighbours.setdefault(join.table, set()).add(join.to)
        neighbours.setdefault(join.to, set()).add(join.table)
    wanted = set(chosen)
    return [name for name, others in neighbours.items() if len(others & wanted) > 1]


def described(view: View, tables: Sequence[Table], shown: Shown) -> str:
    """The schema as a model reads it, as data."""
    return mark_data("schema", "\n\n".join(table_text(view, table, shown) for table in tables))


def table_text(view: View, table: Table, shown: Shown) -> str:
    about = next((each.description for each in view.model.entities if each.table == table.name), "") or table.comment
    head = f"table {table.name}" + (f" -- {about[: shown.table_chars]}" if about else "")
    keys = [f"  {', '.join(key.columns)} refers to {key.table}({', '.join(key.refers)})" for key in table.foreign_keys]
    measures = [
        f"  measure {each.names[0]}: {each.aggregate}({each.expression})"
        for each in view.model.measures
        if each.table == table.name and each.names
    ]
    return "\n".join([head, *(column_text(each, shown) for each in table.columns), *keys, *measures])


def column_text(column: Column, shown: Shown) -> str:
    samples = ", ".join(value[:VALUE_CHARS] for value in column.values[: shown.values])
    comment = column.comment[: shown.column_chars]
    extra = "; ".join(filter(None, [comment, f"e.g. {samples}" if samples else "", ranged(column)]))
    return f"  {column.name} {column.native or column.type}" + (f" -- {extra}" if extra else "")


def ranged(column: Column) -> str:
    return f"from {column.low} to {column.high}" if column.low is not None else ""


def examples_for(question: str, vetted: Iterable[Memory], most: int = 3) -> list[Memory]:
    """Of the statements that a person stands for, those whose questions share most words with this one."""
    asked = set(lexemes(question))
    shared = [(len(asked & set(lexemes(memory.key))), memory) for memory in vetted]
    ranked = sorted((each for each in shared if each[0]), key=lambda each: -each[0])
    return [memory for _, memory in ranked[:most]]


def example_text(vetted: Sequence[Memory]) -> str:
    lines = [f"Question: {memory.key}\nSQL: {memory.value}" for memory in vetted]
    return mark_data("examples", "\n".join(lines)) if lines else "(none)"
