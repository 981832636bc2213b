"""Shapes of the ask room: an answer as its page shows it. SQL in coloured pieces, rows as text with the figures marked,
one figure alone in large type, questions worth trying. Pure: ask.py reads and asks, templates print and escape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any

from recollect.hosts.sql.asking import Answer
from recollect.hosts.sql.charts import chart_kind, figure_columns, label_columns
from recollect.hosts.sql.keeping import answer_from
from recollect.hosts.sql.library import View
from recollect.hosts.sql.running import Rows
from recollect.hosts.sql.wording import EMPTY, EMPTY_ZH, shown
from recollect.model.conversation import Turn
from recollect.model.lesson import Owner
from recollect.model.memory import Memory
from recollect.sql.naming import many
from recollect.sql.reading import read_question

ROWS = 100  # of a result that a page shows
CELL = 300  # characters of a value
FEW = 20  # things that are compared at a glance
WAYS: Mapping[str, tuple[str, str]] = {
    "repeat": ("known answer", "This very question was found right, put right or approved before."),
    "pattern": ("approved question", "A question approved for the project, with your values in it."),
    "frame": ("read by rules", "The words of the question were found in the database; no model took part."),
    "edit": ("follow-up", "The last question, with one thing changed."),
    "model": ("written by a model", "A language model wrote the SQL; it passed the same gate as any other."),
    "given": ("given", "Somebody gave this SQL."),
}
CHARTS = {"line": "Line chart", "bar": "Bar chart", "barh": "Bar chart", "pie": "Pie chart", "scatter": "Scatter chart"}
# Assumptions that rest on something that can be looked at: a memory, or a word of the project.
REMEMBERED = frozenset(("user", "project", "ontology"))


@dataclass(frozen=True, slots=True)
class Table:
    """A result as text. `figures` are the columns of numbers; `count` is how many rows there were."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: frozenset[int]
    count: int

    @property
    def is_whole(self) -> bool:
        return self.count <= len(self.rows)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what came of it. `turn` is the answer's place in the session, None where nothing was kept;
    `asked` is the question as it stands alone; `learned`, what was taught with it; `is_settled`: what it
    asked back was answered; `may_see` False: about tables that are closed to whoever looks now."""

    answer: Answer
    asked: str
    key: str  # in the page
    turn: int | None = None
    at: datetime | None = None
    count: int | None = None
    chart: str = ""
    opinion: str | None = None
    learned: Memory | None = None
    learned_for: Owner = "user"
    is_kept: bool = False
    is_settled: bool = False
    may_see: bool = True

    @property
    def rows(self) -> Rows | None:
        return self.answer.rows

    @property
    def figure(self) -> str | None:
        return only_figure(self.rows)

    @property
    def table(self) -> Table | None:
        return None if self.rows is None or self.figure is not None else table_of(self.rows, self.count)

    @property
    def lead(self) -> str:
        return lead(self.answer)

    @property
    def way(self) -> tuple[str, str] | None:
        return WAYS.get(self.answer.way or "")

    @property
    def sql(self) -> str:
        return laid_out(self.answer.sql, self.answer.dialect)

    @property
    def charted(self) -> str:
        """What a picture would show; empty where none would say more than the table, or where rows are missing."""
        is_whole = self.rows is not None and (self.count or 0) <= len(self.rows.rows)
        return chart_told(self.rows) if self.rows is not None and is_whole else ""


def table_of(rows: Rows, count: int | None = None) -> Table:
    some = tuple(tuple(cell(value) for value in row) for row in rows.rows[:ROWS])
    return Table(rows.columns, some, frozenset(figure_columns(rows)), max(count or 0, len(rows.rows)))


def cell(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"


def only_figure(rows: Rows | None) -> str | None:
    is_one = rows is not None and len(rows.rows) == 1 and len(rows.columns) == 1
    return cell(rows.rows[0][0]) if rows is not None and is_one else None


def lead(answer: Answer) -> str:
    """The answer in words, without what stands beside it anyhow: the rows, or the questions back."""
    text = answer.text.replace("**", "")
    if answer.needs_clarification:
        return text.partition("\n")[0]
    told = answer.explanation.rpartition("\n")[2].rstrip(".。 ")
    figure = only_figure(answer.rows)
    is_plain = figure is not None and text == f"{told}: {figure}"
    return told if told and (is_plain or text.startswith(f"{told}:\n\n")) else text


def is_empty(answer: Answer) -> bool:
    return answer.text in (EMPTY, EMPTY_ZH)


def chart_told(rows: Rows) -> str:
    """What a chart of these rows shows, for those who do not see it."""
    kind = chart_kind(rows)
    if kind is None:
        return ""
    figures, labels = ([rows.columns[n] for n in found(rows)] for found in (figure_columns, label_columns))
    over = f"{figures[1]} over {figures[0]}" if kind == "scatter" else f"{', '.join(figures)} by {', '.join(labels)}"
    return f"{CHARTS[kind]}: {over}, {len(rows.rows)} values. The table has the same figures."


# SQL ------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def laid_out(sql: str, dialect: str) -> str:
    """A clause a line; as it is where it cannot be read."""
    import sqlglot

    try:
        return sqlglot.parse_one(sql, dialect=dialect or None).sql(dialect=dialect or None, pretty=True)
    except (sqlglot.errors.SqlglotError, ValueError):
        return sql


@lru_cache(maxsize=500)
def tokens(sql: str) -> tuple[tuple[str, str], ...]:
    """Pieces of a statement with the class that colours them; a template escapes them like any text."""
    from pygments.lexers.sql import SqlLexer

    return tuple((colour(str(kind)), text) for kind, text in SqlLexer(stripnl=False, ensurenl=False).get_tokens(sql))


def colour(kind: str) -> str:
    if kind == "Token.Literal.String.Symbol":  # a name in quotes
        return "sql-name"
    for name in ("Keyword", "String", "Number", "Comment"):
        if name in kind:
            return f"sql-{name.lower()}"
    return ""


# The log --------------------------------------------------------------------------------------------------------------


def exchanges(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Turn, Exchange]]:
    """The questions to databases among the turns of a session, each with its answer, and both as they were kept."""
    for asked, said in pairwise(turns):
        if asked.role == "user" and said.role == "assistant" and (found := from_log(asked, said)):
            yield asked, said, found


def from_log(asked: Turn, said: Turn) -> Exchange | None:
    data: Mapping[str, Any] = said.data or {}
    if data.get("host") != "sql":
        return None
    try:
        answer, count = answer_from(asked.text, said.text, data), (data.get("result") or {}).get("count")
    except (KeyError, TypeError, AttributeError):  # an application may have written our name on turns of its own
        return None
    alone = (asked.data or {}).get("standalone") if answer.way == "edit" else None
    answer = replace(answer, session=said.session, ref=said.ref)
    return Exchange(answer, alone or asked.text, str(said.index), said.index, said.at, count, is_kept=True)


# What to ask ----------------------------------------------------------------------------------------------------------


def examples(view: View, today: date, most: int = 4) -> list[str]:
    """Questions that this database can be asked; each was read before it is shown."""
    by = [islice((text for text in texts if can_be_read(view, text, today)), 1) for texts in sums(view)]
    counts = islice((text for text in counted(view) if can_be_read(view, text, today)), most)
    return [*islice(chain(*by, counts), most - 1), "What tables are there?"]


def sums(view: View) -> tuple[Iterator[str], Iterator[str]]:
    """What happens and has a figure: by what there are a few of, and over time."""
    happens = {each.table for each in view.model.moments if each.is_main}
    sized = sorted(view.model.measures, key=lambda each: size_of(view, each.table), reverse=True)
    told = [(each.table, each.names[0]) for each in sized if each.table in happens]
    some = (f"Total {name} by {group}" for table, name in told for group in groups(view, table))
    return some, (f"Total {name} by month" for _, name in told)


def groups(view: View, table: str) -> Iterator[str]:
    near = {join.to for join in view.model.joins if join.table == table}
    for entity in view.model.entities:
        if entity.table in near and 1 < size_of(view, entity.table) <= FEW:
            yield entity.names[0]
    for each in view.model.dimensions:
        there = view.catalog.table(each.table)
        column = there.column(each.column) if there else None
        if each.table in near | {table} and column and column.is_complete and 1 < len(column.values) <= FEW:
            yield each.names[0]


def counted(view: View) -> Iterator[str]:
    """What has a name, before lines and links; the many before the few."""
    known = sorted(view.model.entities, key=lambda each: (bool(each.label), size_of(view, each.table)), reverse=True)
    return (f"How many {many(entity.names[0])} are there?" for entity in known if entity.names)


def size_of(view: View, table: str) -> int:
    there = view.catalog.table(table)
    return (there.rows or 0) if there else 0


def can_be_read(view: View, text: str, today: date) -> bool:
    read = read_question(text, view.model, view.catalog, today=today)
    return read.frame is not None and not read.clarifications
