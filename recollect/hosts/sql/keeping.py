"""Keeping: a question to a database and its answer as two turns of the log, and an answer read from them again. The
first has the SQL, so that a similar question finds it; the second has the frame, so that a follow-up can change it, and
what else the same request gets when it is sent again. Results are kept bounded. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from recollect.hosts.sql.asking import Answer, Spent
from recollect.hosts.sql.running import Rows
from recollect.hosts.sql.ways import Case
from recollect.model.conversation import Turn
from recollect.sql.reading import Assumption, Clarification

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
        "assumptions": [asdict(each) for each in answer.assumptions],
        "clarifications": [asdict(each) for each in answer.clarifications],
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
    return {"columns": list(answer.rows.columns), "rows": rows, "count": len(answer.rows.rows)}


def answer_from(question: str, text: str, data: Mapping[str, Any]) -> Answer:
    """The answer that was kept in a turn."""
    plain: dict[str, Any] = {name: data[name] for name in PLAIN}
    return Answer(
        question,
        text,
        rows=rows_from(data.get("result")),
        clarifications=tuple(
            Clarification(**{**each, "suggestions": tuple(each["suggestions"])}) for each in data["clarifications"]
        ),
        assumptions=tuple(Assumption(**each) for each in data["assumptions"]),
        spent=Spent(**data["spent"]),
        **plain | {name: tuple(data[name]) for name in LISTS},
    )


def rows_from(result: Mapping[str, Any] | None) -> Rows | None:
    if result is None:
        return None
    return Rows(tuple(result["columns"]), tuple(tuple(row) for row in result["rows"]))
