"""What the page that asks a database shows of an answer, and suggested questions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import chain, islice, pairwise
from secrets import token_hex
from typing import Any

from recollect.apps.ask import charts
from recollect.apps.ask.answers.answer_log import read_answer
from recollect.apps.ask.answers.wording import EMPTY, EMPTY_ZH, describe_row_count, format_cell
from recollect.apps.ask.candidates.interpretation import is_clear
from recollect.apps.ask.interpret.explain import plural, singular
from recollect.apps.ask.question import Answer
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.sources.running import Rows
from recollect.errors import describe_missing_extra
from recollect.server.console.render import get_ref_index
from recollect.server.console.visit import Visit
from recollect.values.conversation import Turn

MAX_ROWS = 100  # rows on a page
MAX_CELL = 300  # characters of a value
SUGGESTIONS = 4  # questions
SQL_TOKENS = ("Keyword", "String", "Number", "Comment")  # coloured
MAX_GROUPS = 20  # a suggested grouping has at most this many values


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer.

    `question` is the standalone form. `turn` is the answer's index in the session, None where it was not logged.
    `is_clarified`: the clarification it asked for was given.
    `is_visible` is False where the caller may not see its tables.
    """

    answer: Answer
    question: str
    key: str  # HTML id
    turn: int | None = None
    at: datetime | None = None
    images: Mapping[str, str] | None = None  # its chart for a light and a dark page, as data addresses
    rating: str | None = None
    is_logged: bool = False
    is_clarified: bool = False
    is_visible: bool = True

    @property
    def rows(self) -> Rows | None:
        return self.answer.rows

    @property
    def single_value(self) -> str | None:
        """The value of a result that is a single one."""
        if self.rows is None or (len(self.rows.rows), len(self.rows.columns)) != (1, 1):
            return None
        text = format_cell(self.rows.rows[0][0])
        return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"

    @property
    def has_table(self) -> bool:
        """Whether its rows are shown as a table: there are some, and more than a single value."""
        return bool(self.rows and self.rows.rows) and self.single_value is None

    @property
    def number_columns(self) -> set[int]:
        """The columns to align on the right."""
        rows = self.rows.rows if self.rows else ()
        return {n for n, values in enumerate(zip(*rows, strict=True)) if charts.is_figures(values)}

    @property
    def choices(self) -> list[str]:
        return [choice.label for each in self.answer.clarifications for choice in each.choices]

    @property
    def title(self) -> str:
        return self.answer.title or self.question

    @property
    def summary(self) -> str:
        """The answer's sentence, without the rows or the clarifications that the page shows apart."""
        text = self.answer.text.replace("**", "")
        if self.answer.needs_clarification:
            return text.partition("\n")[0]
        for sentence in (self.answer.title, self.answer.explanation.rpartition("\n")[2].rstrip(".。 ")):
            if sentence and (text.startswith(f"{sentence}:\n\n") or text == f"{sentence}: {self.single_value}"):
                return sentence
        return text

    @property
    def sql(self) -> str:
        return format_sql(self.answer.sql, self.answer.dialect)

    @property
    def chart(self) -> dict[str, Any] | None:
        """The chart of the rows; None where none suits, or where the log has only some of the rows."""
        if self.rows is None or (self.is_logged and self.rows.is_truncated):
            return None
        return charts.chart_answer(self.answer)


def build_new_exchange(answer: Answer) -> Exchange:
    """Return the exchange of an answer that was just made; where it was not logged, under a random id."""
    standalone = answer.standalone if answer.way == "edit" else ""
    index = get_ref_index(answer.ref)
    turn = int(index) if index else None
    return Exchange(answer, standalone or answer.question, index or token_hex(4), turn)


# SQL ------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def format_sql(sql: str, dialect: str) -> str:
    """Return SQL with one clause per line; unchanged where it cannot be parsed."""
    import sqlglot

    try:
        return sqlglot.parse_one(sql, dialect=dialect or None).sql(dialect=dialect or None, pretty=True)
    except (sqlglot.errors.SqlglotError, ValueError):
        return sql


@lru_cache(maxsize=500)
def highlight_sql(sql: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of CSS class and text; templates escape the text as any other."""
    from pygments.lexers.sql import SqlLexer

    tokens = SqlLexer(stripnl=False, ensurenl=False).get_tokens(sql)
    classes = {"String.Symbol": "sql-name", **{name: f"sql-{name.lower()}" for name in SQL_TOKENS}}  # names are quoted
    return tuple(
        (next((each for name, each in classes.items() if name in str(kind)), ""), text) for kind, text in tokens
    )


def can_teach(visit: Visit, answer: Answer) -> bool:
    return bool(answer.sql) and not answer.error and (visit.can("learn") or visit.can("learn_project"))


def find_missing_charts() -> str:
    """Return what is missing to draw charts."""
    return "" if charts.can_draw() else describe_missing_extra("the chart", "charts", ["vl_convert"])


TEMPLATE_NAMES: Mapping[str, Any] = {
    "highlight_sql": highlight_sql,
    "format_cell": format_cell,
    "describe_row_count": describe_row_count,
    "max_rows": MAX_ROWS,
    "empty_answers": (EMPTY, EMPTY_ZH),
    "can_teach": can_teach,
    "find_missing_charts": find_missing_charts,
}


# The log --------------------------------------------------------------------------------------------------------------


def read_exchanges(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Turn, Exchange]]:
    """Yield the database questions of a session: the question's turn, the reply's turn, and both as an exchange."""
    for question, reply in pairwise(turns):
        data: Mapping[str, Any] = reply.data or {}
        if (question.role, reply.role, data.get("host")) != ("user", "assistant", "sql"):
            continue
        with suppress(KeyError, TypeError, AttributeError):  # applications may write turns of their own under this name
            answer = replace(read_answer(question.text, reply.text, data), session=reply.session, ref=reply.ref)
            standalone = (question.data or {}).get("standalone") if answer.way == "edit" else None
            shown = standalone or question.text
            yield question, reply, Exchange(answer, shown, str(reply.index), reply.index, reply.at, is_logged=True)


# Suggestions ----------------------------------------------------------------------------------------------------------


def suggest_questions(view: View, today: date) -> list[str]:
    """Return questions that this database can answer; each was interpreted before it is suggested.

    Totals are of measures in tables that have a date; counts are of entities, those with a name column first.
    """
    totals = list_totals(view)
    entities = sorted(
        view.model.entities, key=lambda each: (bool(each.label), count_rows(view, each.table)), reverse=True
    )
    kinds = (  # how many of each
        (1, (f"{total} by {group}" for table, total in totals for group in list_groups(view, table))),
        (1, (f"{total} by month" for _, total in totals)),
        (SUGGESTIONS, (f"How many {plural(each.names[0])} are there?" for each in entities if each.names)),
    )
    found = (islice((text for text in texts if is_clear(text, view, today)), most) for most, texts in kinds)
    return [*islice(chain.from_iterable(found), SUGGESTIONS - 1), "What tables are there?"]


def list_totals(view: View) -> list[tuple[str, str]]:
    """Return the table and the total of each measure in a table that has a date, the largest tables first."""
    dated = {each.table for each in view.model.moments if each.is_main}
    measures = sorted(view.model.measures, key=lambda each: count_rows(view, each.table), reverse=True)
    return [(each.table, f"Total {each.names[0]}") for each in measures if each.table in dated]


def list_groups(view: View, table: str) -> Iterator[str]:
    """Yield what a table can be grouped by: joined tables and dimensions with few values."""
    joined = {join.to for join in view.model.joins if join.table == table}
    for entity in view.model.entities:
        if entity.table in joined and 1 < count_rows(view, entity.table) <= MAX_GROUPS:
            yield singular(entity.names[0])
    for each in view.model.dimensions:
        if each.table in joined | {table} and has_few_values(view, each.table, each.column):
            yield each.names[0]


def has_few_values(view: View, table: str, name: str) -> bool:
    known = view.catalog.table(table)
    column = known.column(name) if known else None
    return column is not None and column.is_complete and 1 < len(column.values) <= MAX_GROUPS


def count_rows(view: View, table: str) -> int:
    known = view.catalog.table(table)
    return (known.rows or 0) if known else 0
