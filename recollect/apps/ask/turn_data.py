"""Keeping: a question to a database and its answer as two turns of the log, and an answer read from them again. The
first has the SQL, so that a similar question finds it; the second has the frame, so that a follow-up can change it, and
what else the same request gets when it is sent again. Results are kept bounded. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from recollect.apps.ask.choices import read_clarifications
from recollect.apps.ask.headers import describe_columns
from recollect.apps.ask.proposals import Case
from recollect.apps.ask.question import Answer, Assumption, Learned, Spent
from recollect.apps.ask.sources.running import Rows
from recollect.values.conversation import Turn

KEPT_ROWS = 20
KEPT_CHARS = 4_000
KEPT_TEXT = 20_000
# As they are, and as they come back.
PLAIN = (
    "source",
    "dialect",
    "sql",
    "explanation",
    "error",
    "way",
    "pattern",
    "examples",
    "confidence",
    "frame",
    "model",
)
LISTS = ("tables", "related", "related_tables", "notes")
ADDED = ("title", "full_sql", "headers")  # turns of earlier versions do not have them


def kept_turns(case: Case, answer: Answer) -> list[Turn]:
    asked = {
        "host": "sql",
        "source": answer.source,
        "sql": answer.sql,
        "tables": list(answer.tables),
        "standalone": answer.standalone,
    }
    if not answer.sql or answer.error:
        asked = {"host": "sql", "source": answer.source}
    text = answer.text[:KEPT_TEXT].replace("\0", "") or "(nothing)"
    return [Turn("user", case.question, data=asked), Turn("assistant", text, data=answer_data(case, answer))]


def answer_data(case: Case, answer: Answer) -> dict[str, Any]:
    return {
        "host": "sql",
        **{name: getattr(answer, name) for name in PLAIN},
        **{name: list(getattr(answer, name)) for name in LISTS},
        **{name: getattr(answer, name) for name in ADDED},
        "assumptions": [asdict(each) for each in answer.assumptions],
        "clarifications": [asdict(each) for each in answer.clarifications],
        "learned": [asdict(each) for each in answer.learned],
        "choice": case.choice.id if case.choice else None,
        "context": asdict(case.ask.context) if case.ask.context else None,
        "result": bounded(answer),
        "spent": asdict(answer.spent),
        "memory": memory_data(case),
        "error_stage": "sql" if answer.error else None,
    }


def memory_data(case: Case) -> dict[str, Any] | None:
    memory = case.memory
    if memory is None:
        return None
    return {
        "history": memory.interactions,
        "similar": len(memory.similar),
        "tokens": memory.tokens,
        "truncated": memory.truncated,
    }


def bounded(answer: Answer) -> dict[str, Any] | None:
    """Some rows of a result, never all of it."""
    if answer.rows is None:
        return None
    rows = [list(row) for row in answer.rows.rows[:KEPT_ROWS]]
    while rows and len(json.dumps(rows, default=str)) > KEPT_CHARS:
        rows = rows[: len(rows) // 2]
    return {
        "columns": list(answer.rows.columns),
        "rows": rows,
        "count": len(answer.rows.rows),
        "total": answer.rows.total,
        "is_truncated": answer.rows.is_truncated,
    }


def read_answer(question: str, text: str, data: Mapping[str, Any]) -> Answer:
    """The answer that was kept in a turn."""
    plain: dict[str, Any] = {name: data[name] for name in PLAIN}
    rows = rows_from(data.get("result"))
    return Answer(
        question,
        text,
        title=str(data.get("title") or ""),
        headers=read_headers(data.get("headers"), rows),
        rows=rows,
        full_sql=str(data.get("full_sql") or ""),
        clarifications=read_clarifications(data),
        assumptions=tuple(Assumption(**each) for each in data["assumptions"]),
        learned=tuple(Learned(**each) for each in data.get("learned") or ()),
        spent=Spent(**data["spent"]),
        **plain | {name: tuple(data[name]) for name in LISTS},
    )


def read_headers(stored: Any, rows: Rows | None) -> tuple[str, ...]:
    """Return the stored headers, or new ones where the turn has none that fit the columns."""
    columns = rows.columns if rows else ()
    headers = tuple(map(str, stored)) if isinstance(stored, list) else ()
    return headers if len(headers) == len(columns) else describe_columns(columns)


def rows_from(result: Mapping[str, Any] | None) -> Rows | None:
    if result is None:
        return None
    columns, rows = tuple(map(str, result["columns"])), tuple(tuple(row) for row in result["rows"])
    count, total, was_truncated = (
        result.get("count") or len(rows),
        result.get("total"),
        bool(result.get("is_truncated")),
    )
    if any(len(row) != len(columns) for row in rows) or not isinstance(count, int) or not isinstance(total, int | None):
        raise TypeError("the result of this turn is not one of ours")
    return Rows(columns, rows, was_truncated or count > len(rows), total=total if was_truncated else count)
