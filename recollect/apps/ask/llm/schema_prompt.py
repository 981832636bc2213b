"""The schema as a model reads it: CREATE TABLE text with keys, some rows of each table, and which tables a question is
about.

`choose_tables` takes the whole schema if it is short, else the tables that share words with the question, closed under
join paths. `fetch_samples` reads the rows; everything else is pure.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from recollect.apps.ask.question import SchemaLimits
from recollect.apps.ask.semantic.catalog import Column, Table
from recollect.apps.ask.semantic.model import Entity
from recollect.apps.ask.source_registry import View, run_sql
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source
from recollect.apps.ask.words import split_name, stem_phrase
from recollect.errors import InvalidInput, QueryFailed
from recollect.recall.lexemes import lexemes

log = logging.getLogger("recollect.ask")
WHOLE_CHARS = 30_000  # of a schema that is shown whole
CELL_CHARS = 40
SAMPLE_SECONDS = 3.0
SAMPLES = 3  # rows that are read of a table
DIALECTS = {"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "duckdb": "DuckDB"}
PLAIN = re.compile(r"[A-Za-z_]\w*")
MAX_TABLES, MAX_COLUMNS = 30, 40  # in a description
ABOUT = re.compile(
    r"\b(?:what|which|list|show|describe|explain|tell me about)\b.{0,40}\b(?:tables?|columns?|fields?|views?|schema"
    r"|metadata|data ?(?:sources?|bases?|sets?)|databases?)\b|\bwhat (?:data|information) (?:do|does|is|are|can)\b"
    r"|(?:哪些|什么|有几|列出).{0,8}(?:表|字段|列|数据库|视图)",
    re.IGNORECASE,
)


# Which tables --------------------------------------------------------------------------------------------------------


def choose_tables(view: View, question: str, limits: SchemaLimits) -> list[Table]:
    """Return all tables if their text is short and the request does not limit them; else those linked to the
    question."""
    tables = list(view.catalog.tables)
    if limits.is_whole and sum(len(write_table(view, table, limits, None)) for table in tables) <= WHOLE_CHARS:
        return tables
    return link_tables(view, question, limits)


def link_tables(view: View, question: str, limits: SchemaLimits) -> list[Table]:
    """Return the tables that share words with a question, best first, with those on the join paths between them."""
    ranked = [table for _, table in rank_tables(view, question)] or view.catalog.tables
    chosen = ranked[: limits.tables]
    names = dict.fromkeys(table.name for table in chosen)
    for table in chosen[1:]:
        for step in view.index.joins.path(chosen[0].name, table.name) or ():
            names |= {step.source: None, step.target: None}
    return list(filter(None, map(view.catalog.table, names)))[: limits.most]


def rank_tables(view: View, text: str) -> list[tuple[float, Table]]:
    """Return the tables that share words with a text, best first: words of names count more than those of values."""
    asked = set(lexemes(text))
    scored = [(score_table(view, table, asked), table) for table in view.catalog.tables]
    return sorted((each for each in scored if each[0]), key=lambda each: -each[0])


def score_table(view: View, table: Table, asked: set[str]) -> float:
    words = [table.name, table.comment, *list_names(view, table.name)]
    columns = [f"{column.name} {column.comment}" for column in table.columns]
    values = [value for column in table.columns for value in column.values[:200]]
    weights = zip((3, 2, 1), (words, columns, values), strict=True)
    return sum(weight * len(asked.intersection(lexemes(" ".join(texts)))) for weight, texts in weights)


def list_names(view: View, table: str) -> Iterable[str]:
    model = view.model
    everything: list[Any] = [*model.entities, *model.dimensions, *model.measures, *model.moments]
    return (name for each in everything if each.table == table for name in each.names)


# Rows ----------------------------------------------------------------------------------------------------------------


async def fetch_samples(source: Source, view: View, tables: Sequence[Table], user: str | None) -> None:
    """Read the first rows of tables that were not read yet, as this role may see them, without sensitive columns."""
    for table in tables:
        columns = [quote(each.name, view) for each in table.columns if not each.is_sensitive]
        if table.name in view.samples or not columns:
            continue
        name = ".".join(quote(part, view) for part in table.name.split("."))
        try:
            sql = f"SELECT {', '.join(columns)} FROM {name}"
            view.samples[table.name] = await run_sql(source, view, sql, SAMPLES, user, SAMPLE_SECONDS)
        except (InvalidInput, QueryFailed) as error:
            log.info("no rows of %s are shown to the model: %s", table.name, error)
            view.samples[table.name] = Rows((), ())


# Text ----------------------------------------------------------------------------------------------------------------


def write_schema(view: View, tables: Sequence[Table], limits: SchemaLimits, rows: int) -> str:
    """Return CREATE TABLE statements, each with up to `rows` of its rows as a comment."""
    samples: Mapping[str, Rows] = view.samples if rows else {}
    return "\n\n".join(write_table(view, table, limits, samples.get(table.name), rows) for table in tables)


def write_table(view: View, table: Table, limits: SchemaLimits, sample: Rows | None, rows: int = SAMPLES) -> str:
    entity = find_entity(view, table)
    notes = [describe_table(view, table)[: limits.table_chars], write_synonyms(table.name, entity.names)]
    parts = [*write_columns(view, table, limits), *((key, "") for key in write_long_keys(view, table))]
    lines = [f"  {part}{',' * (n < len(parts))}{note}" for n, (part, note) in enumerate(parts, 1)]
    measures = [each for each in view.model.measures if each.table == table.name and each.names]
    computed = [each for each in measures if table.column(each.expression) is None]
    lines += [f"-- {each.names[0]} = {each.aggregate}({each.expression})" for each in computed]
    return "\n".join(
        [f"CREATE TABLE {table.name} ({write_comment(notes)}", *lines, ");", *write_rows(table, sample, rows)]
    )


def write_rows(table: Table, sample: Rows | None, rows: int) -> list[str]:
    """Return the lines of a comment with some rows; none if there are no rows."""
    if sample is None or not sample.rows:
        return []
    cells = ["\t".join(map(write_cell, row)) for row in sample.rows[:rows]]
    return [f"/* {len(cells)} rows of {table.name}:", "\t".join(sample.columns), *cells, "*/"]


def find_entity(view: View, table: Table) -> Entity:
    return next((each for each in view.model.entities if each.table == table.name), Entity(table.name, ()))


def describe_table(view: View, table: Table) -> str:
    return find_entity(view, table).description or table.comment


def write_long_keys(view: View, table: Table) -> Iterator[str]:
    """Yield the keys of more than one column."""
    if len(table.primary_key) > 1:
        yield f"PRIMARY KEY ({', '.join(table.primary_key)})"
    for key in table.foreign_keys:
        if len(key.columns) > 1 and view.catalog.table(key.table):
            yield f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.table}({', '.join(key.refers)})"


def write_columns(view: View, table: Table, limits: SchemaLimits) -> Iterator[tuple[str, str]]:
    """Yield each column with its type and keys, and as a comment what is known about it."""
    joins = {join.columns: (join.to, join.to_columns) for join in view.model.joins if join.table == table.name}
    joins |= {key.columns: (key.table, key.refers) for key in table.foreign_keys if view.catalog.table(key.table)}
    for column in table.columns:
        key = " PRIMARY KEY" if table.primary_key == (column.name,) else ""
        if (column.name,) in joins:
            other, columns = joins[column.name,]
            key += f" REFERENCES {other}({columns[0]})"
        notes = describe_column(view, table, column, limits)
        yield f"{quote(column.name, view)} {column.native or column.type}{key}", write_comment(notes)


def describe_column(view: View, table: Table, column: Column, limits: SchemaLimits) -> Iterator[str]:
    """Yield the description of a column, its other names, and whether it is the main date."""
    place = (table.name, column.name)
    described: list[Any] = [*view.model.dimensions, *view.model.moments]
    same = [each for each in described if (each.table, each.column) == place]
    about = column.comment or next((getattr(each, "description", "") for each in same), "")
    yield about[: limits.column_chars]
    yield write_synonyms(column.name, [name for each in same for name in each.names])
    yield "the main date" if column.name == find_main_date(view, table) else ""


def find_main_date(view: View, table: Table) -> str:
    """Return the column of a table's main date, if it has several dates."""
    moments = [each for each in view.model.moments if each.table == table.name]
    return next((each.column for each in moments if each.is_main), "") if len(moments) > 1 else ""


def write_synonyms(name: str, others: Iterable[str]) -> str:
    """Return other names of something, without those that its own name already says."""
    own = set(stem_phrase(" ".join(split_name(name))))
    new = [other for other in dict.fromkeys(others) if not own.issuperset(stem_phrase(other))]
    return f"also {', '.join(new)}" if new else ""


def write_comment(notes: Iterable[str]) -> str:
    text = "; ".join(filter(None, notes)).replace("\n", " ")
    return f" -- {text}" if text else ""


def name_dialect(view: View) -> str:
    return DIALECTS.get(view.catalog.dialect, view.catalog.dialect)


def quote(name: str, view: View) -> str:
    return name if PLAIN.fullmatch(name) else exp.to_identifier(name, quoted=True).sql(view.catalog.dialect)


def write_cell(value: Any) -> str:
    # Stray blanks are left out here and trimmed in the model's statement (llm/fitting.py).
    text = "NULL" if value is None else re.sub(r"\s", " ", str(value)).replace("*/", "* /").strip()
    return text if len(text) <= CELL_CHARS else text[:CELL_CHARS] + "…"


# Questions about the database itself ---------------------------------------------------------------------------------


def is_about_metadata(question: str) -> bool:
    return ABOUT.search(question) is not None


def describe_database(view: View, question: str, *, markdown: bool = True) -> str:
    """Return the tables that the question names, with their columns; or all of them, if it names none."""
    asked, tables = set(lexemes(question)), view.catalog.tables
    named = [table for table in tables if asked.intersection(lexemes(" ".join(list_names(view, table.name))))]
    if named:
        return "\n\n".join(list_columns(view, table, markdown=markdown) for table in named[:MAX_TABLES])
    lines = [f"- {summarize_table(view, table, markdown=markdown)}" for table in tables[:MAX_TABLES]]
    return "\n".join([f"There are {len(tables)} tables:", *lines])


def list_columns(view: View, table: Table, *, markdown: bool) -> str:
    columns = [
        f"- {column.name} ({column.type})" + (f": {column.comment}" if column.comment else "")
        for column in table.columns[:MAX_COLUMNS]
    ]
    return "\n".join([summarize_table(view, table, markdown=markdown), *columns])


def summarize_table(view: View, table: Table, *, markdown: bool) -> str:
    name = f"**{table.name}**" if markdown else table.name
    about = describe_table(view, table)
    size = f"{table.rows:,} rows" if table.rows is not None else "rows not counted"
    return f"{name}: {about + '; ' if about else ''}{len(table.columns)} columns, {size}"


def similar_tables(source: str, view: View, text: str, most: int) -> list[dict[str, Any]]:
    """Return the tables that share words with a text, each with how much."""
    return [
        {"view_name": f"{source}.{table.name}", "view_text": list_columns(view, table, markdown=False), "score": points}
        for points, table in rank_tables(view, text)[:most]
    ]
