"""The schema as a model reads it: CREATE TABLE text with keys, some rows of each table, and which tables a question is
about.

`choose_tables` takes the whole schema if it is short, else the tables that share words with the question, closed under
join paths. `fetch_samples` reads the rows; everything else is pure.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from recollect.apps.ask.gate.check import check_sql
from recollect.apps.ask.interpret.words import split_name, stem_phrase
from recollect.apps.ask.question import SchemaLimits
from recollect.apps.ask.semantic.access import restrict_sql
from recollect.apps.ask.semantic.catalog import Column, Table
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source
from recollect.errors import InvalidInput, QueryFailed
from recollect.recall.lexemes import lexemes

log = logging.getLogger("recollect.ask")
WHOLE_CHARS = 30_000  # of a schema that is limits whole
CELL_CHARS = 40
SAMPLE_SECONDS = 3.0
SAMPLES = 3  # rows that are read of a table
DIALECTS = {"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "duckdb": "DuckDB"}
PLAIN = re.compile(r"[A-Za-z_]\w*")


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
    asked = set(lexemes(question))
    scores = Counter({table.name: score_table(view, table, asked) for table in view.catalog.tables})
    best = [name for name, points in scores.most_common(limits.tables) if points > 0]
    chosen = best or [table.name for table in view.catalog.tables[: limits.tables]]
    paths = [view.index.joins.path(chosen[0], name) or () for name in chosen[1:]]
    between = [name for path in paths for step in path for name in (step.source, step.target)]
    found = (view.catalog.table(name) for name in dict.fromkeys((*chosen, *between)))
    return [table for table in found if table is not None][: limits.most]


def score_table(view: View, table: Table, asked: set[str]) -> float:
    words = set(lexemes(" ".join([table.name, table.comment, *list_names(view, table.name)])))
    columns = set(lexemes(" ".join(f"{column.name} {column.comment}" for column in table.columns)))
    values = set(lexemes(" ".join(value for column in table.columns for value in column.values[:200])))
    return 3 * len(words & asked) + 2 * len(columns & asked) + len(values & asked)


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
            made = check_sql(f"SELECT {', '.join(columns)} FROM {name}", source.dialect, view.allowed, rows=SAMPLES)
            sql = restrict_sql(made.sql, source.dialect, view.access)
            view.samples[table.name] = await source.run(sql, rows=SAMPLES, timeout=SAMPLE_SECONDS, user=user)
        except (InvalidInput, QueryFailed) as error:
            log.info("no rows of %s are limits to the model: %s", table.name, error)
            view.samples[table.name] = Rows((), ())


# Text ----------------------------------------------------------------------------------------------------------------


def write_schema(view: View, tables: Sequence[Table], limits: SchemaLimits, rows: int) -> str:
    """Return CREATE TABLE statements, each with up to `rows` of its rows as a comment."""
    samples: Mapping[str, Rows] = view.samples if rows else {}
    return "\n\n".join(write_table(view, table, limits, samples.get(table.name), rows) for table in tables)


def write_table(view: View, table: Table, limits: SchemaLimits, sample: Rows | None, rows: int = SAMPLES) -> str:
    entity = next((each for each in view.model.entities if each.table == table.name), None)
    about = (entity.description if entity else "") or table.comment
    notes = [about[: limits.table_chars], write_synonyms(table.name, entity.names if entity else ())]
    parts = list(write_columns(view, table, limits))
    parts += [(f"PRIMARY KEY ({', '.join(table.primary_key)})", "")] if len(table.primary_key) > 1 else []
    parts += [
        (f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.table}({', '.join(key.refers)})", "")
        for key in table.foreign_keys
        if len(key.columns) > 1 and view.catalog.table(key.table)
    ]
    lines = [f"{part}{',' * (n < len(parts))}{note}" for n, (part, note) in enumerate(parts, 1)]
    measures = [
        f"-- {each.names[0]} = {each.aggregate}({each.expression})"
        for each in view.model.measures
        if each.table == table.name and each.names and table.column(each.expression) is None
    ]
    head = f"CREATE TABLE {table.name} ({comment(notes)}"
    return "\n".join([head, *lines, *measures, ");", *write_rows(sample, rows)])


def write_columns(view: View, table: Table, limits: SchemaLimits) -> Iterator[tuple[str, str]]:
    """Yield each column with its type and keys, and as a comment what is known about it."""
    single = [key for key in table.foreign_keys if len(key.columns) == 1 and view.catalog.table(key.table)]
    keys = {key.columns[0]: f" REFERENCES {key.table}({key.refers[0]})" for key in single}
    joins = [join for join in view.model.joins if join.table == table.name and join.columns[0] not in keys]
    inferred = {join.columns[0]: f"joins {join.to}.{join.to_columns[0]}" for join in joins}
    main = find_main_date(view, table)
    for column in table.columns:
        info = view.index.column(table.name, column.name)
        notes = [
            *describe_column(view, table, column, limits),
            inferred.get(column.name, ""),
            "the main date" if column.name == main else "",
            "has blanks around its values, use TRIM" if info and info.needs_trim else "",
        ]
        primary = " PRIMARY KEY" if table.primary_key == (column.name,) else ""
        kind = column.native or column.type
        yield f"{quote(column.name, view)} {kind}{primary}{keys.get(column.name, '')}", comment(notes)


def find_main_date(view: View, table: Table) -> str:
    """Return the column of a table's main date, if it has several dates."""
    moments = [each for each in view.model.moments if each.table == table.name]
    return next((each.column for each in moments if each.is_main), "") if len(moments) > 1 else ""


def describe_column(view: View, table: Table, column: Column, limits: SchemaLimits) -> tuple[str, str]:
    """Return the description of a column, and its other names."""
    described: list[Any] = [*view.model.dimensions, *view.model.moments]
    same = [each for each in described if (each.table, each.column) == (table.name, column.name)]
    about = column.comment or next((getattr(each, "description", "") for each in same), "")
    return about[: limits.column_chars], write_synonyms(column.name, [name for each in same for name in each.names])


def write_synonyms(name: str, others: Iterable[str]) -> str:
    """Return other names of something, without those that its own name already says."""
    own = set(stem_phrase(" ".join(split_name(name))))
    said = [other for other in dict.fromkeys(others) if not own.issuperset(stem_phrase(other))]
    return f"also {', '.join(said)}" if said else ""


def comment(notes: Iterable[str]) -> str:
    said = "; ".join(filter(None, notes)).replace("\n", " ")
    return f" -- {said}" if said else ""


def name_dialect(view: View) -> str:
    return DIALECTS.get(view.catalog.dialect, view.catalog.dialect)


def quote(name: str, view: View) -> str:
    from sqlglot import exp

    return name if PLAIN.fullmatch(name) else exp.to_identifier(name, quoted=True).sql(view.catalog.dialect)


def write_rows(sample: Rows | None, most: int) -> list[str]:
    if sample is None or not sample.rows:
        return []
    lines = ["\t".join(write_cell(cell) for cell in row) for row in sample.rows[:most]]
    return ["/* rows:", "\t".join(sample.columns), *lines, "*/"]


def write_cell(value: Any) -> str:
    text = "NULL" if value is None else re.sub(r"\s", " ", str(value)).replace("*/", "* /")
    return text if len(text) <= CELL_CHARS else text[:CELL_CHARS] + "…"


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


def describe_database(view: View, question: str, *, markdown: bool = True) -> str:
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
