"""Metadata: questions about the database itself: which tables, which columns. Answered from the catalog, in a model's
words where there is one; nothing is run."""

from __future__ import annotations

import re
from typing import Any

from recollect.apps.ask.schema_prompt import list_names, score_table
from recollect.apps.ask.semantic.catalog import Table
from recollect.apps.ask.source_registry import View
from recollect.recall.lexemes import lexemes

MOST_TABLES = 30
MOST_COLUMNS = 40
ABOUT = re.compile(
    r"\b(?:what|which|list|show|describe|explain|tell me about)\b.{0,40}\b(?:tables?|columns?|fields?|views?|schema"
    r"|metadata|data ?(?:sources?|bases?|sets?)|databases?)\b|\bwhat (?:data|information) (?:do|does|is|are|can)\b"
    r"|(?:哪些|什么|有几|列出).{0,8}(?:表|字段|列|数据库|视图)",
    re.IGNORECASE,
)


def is_about_metadata(question: str) -> bool:
    return ABOUT.search(question) is not None


def metadata_text(view: View, question: str, *, markdown: bool = True) -> str:
    """The tables that the question names, with their columns; or all of them, if it names none."""
    asked = set(lexemes(question))
    named = [table for table in view.catalog.tables if asked & set(lexemes(" ".join(list_names(view, table.name))))]
    if named:
        return "\n\n".join(table_words(view, table, markdown) for table in named[:MOST_TABLES])
    lines = [f"- {name_of(table, markdown)}: {summary(view, table)}" for table in view.catalog.tables[:MOST_TABLES]]
    return "\n".join([f"There are {len(view.catalog.tables)} tables:", *lines])


def table_words(view: View, table: Table, markdown: bool) -> str:
    columns = [
        f"- {column.name} ({column.type})" + (f": {column.comment}" if column.comment else "")
        for column in table.columns[:MOST_COLUMNS]
    ]
    return "\n".join([f"{name_of(table, markdown)}: {summary(view, table)}", *columns])


def summary(view: View, table: Table) -> str:
    about = next((each.description for each in view.model.entities if each.table == table.name), "") or table.comment
    size = f"{table.rows:,} rows" if table.rows is not None else "rows not counted"
    return f"{about + '; ' if about else ''}{len(table.columns)} columns, {size}"


def name_of(table: Table, markdown: bool) -> str:
    return f"**{table.name}**" if markdown else table.name


def similar_tables(source: str, view: View, text: str, most: int) -> list[dict[str, Any]]:
    """The tables that share words with a text, each with how much."""
    asked = set(lexemes(text))
    scored = [(score_table(view, table, asked), table) for table in view.catalog.tables]
    best = sorted((each for each in scored if each[0]), key=lambda each: -each[0])[:most]
    return [
        {"view_name": f"{source}.{table.name}", "view_text": table_words(view, table, False), "score": points}
        for points, table in best
    ]
