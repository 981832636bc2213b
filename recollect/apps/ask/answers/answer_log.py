"""Answers: put in words, stored in the log with their question, and read from it again.

`word_answer` says what a result, an error or a question back is. `record_answer` stores an answer as two turns: the
first has the SQL, so that a similar question finds it; the second has the frame, so that a follow-up can change it, and
what else the same request gets when it is sent again (`load_answer`). Results are stored bounded.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from recollect.apps.ask.answers.wording import (
    ask_back,
    describe_columns,
    make_title,
    name_weekdays,
    note_running_periods,
    word_rows_plainly,
)
from recollect.apps.ask.inquiry import Inquiry
from recollect.apps.ask.interpret.explain import label_frame
from recollect.apps.ask.llm.model_run import ModelRun
from recollect.apps.ask.llm.schema_prompt import link_tables
from recollect.apps.ask.memories.reader import MemoryReader, QuestionMemory
from recollect.apps.ask.question import Answer, MemoryUsed, get_data, read_stored
from recollect.apps.ask.sources.running import Rows
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.values.audit import Outcome
from recollect.values.conversation import Conversation, Turn
from recollect.values.scope import Scope

STORED_ROWS = 20
STORED_CHARS = 4_000  # of rows
STORED_TEXT = 20_000
SUMMARIZED_FROM = 20  # turns
NOT_STORED = ("question", "text", "rows", "frame", "memory", "ref", "session", "used", "standalone")  # of an answer


def word_answer(inquiry: Inquiry, answer: Answer) -> Answer:
    """Return the answer in words: what its rows say, the error of the database, or the question back; with notes of
    what did not count."""
    question, frame, notes = inquiry.question, answer.frame, (*inquiry.taught.notes, *answer.notes)
    if not answer.sql:
        return replace(answer, text=answer.text or ask_back(answer.clarifications, question), notes=notes)
    label = label_frame(frame, inquiry.view.index, question) if frame else ""
    notes += tuple(list_notes(inquiry, answer.tables))
    answer = replace(answer, title=make_title(question, label), notes=notes, text=answer.explanation)
    if answer.error:
        return replace(answer, text=f"The database could not run this query: {answer.error}")
    if answer.rows is None:
        return answer
    rows = name_weekdays(answer.rows, frame, question)
    running = note_running_periods(rows, frame, inquiry.today, question)
    headers = describe_columns(rows.columns, frame, inquiry.view.index, question)
    heading = answer.title if frame else answer.explanation  # that says also what a follow-up kept and changed
    text = word_rows_plainly(question, rows, heading, markdown=inquiry.ask.markdown, headers=headers)
    spent = replace(answer.spent, sql=rows.seconds)
    return replace(answer, text=text, headers=headers, rows=rows, notes=(*notes, *running), spent=spent)


def add_model(answer: Answer, model: ModelRun | None) -> Answer:
    """Return the answer with the attempts of a model that failed, its notes, and what it cost."""
    if model is None:
        return answer
    spent = replace(model.spent, sql=answer.spent.sql)
    explanation = "\n".join(filter(None, (*model.attempts, answer.explanation)))
    name = model.reasoner.name if answer.way == "model" else answer.model
    return replace(answer, explanation=explanation, notes=(*answer.notes, *model.notes), model=name, spent=spent)


def list_notes(inquiry: Inquiry, tables: tuple[str, ...]) -> list[str]:
    """Return a note if a statement is answered from some rows only, and for each filter of the session that it does not
    need, because it reads none of the filter's tables."""
    used, homes = {name.casefold() for name in tables}, defaultdict[str, set[str]](set)
    for said, each in inquiry.taught.filters:
        if said.source == "session":
            homes[said.meaning].add(each.table)
    restricted = [table for table in tables if table.casefold() in inquiry.view.access.rows]
    notes = [f"of {', '.join(restricted)} only the rows count that you may see"] if restricted else []
    return notes + [
        f"the session's filter {condition} does not apply: the question is not about {', '.join(sorted(names))}"
        for condition, names in homes.items()
        if used.isdisjoint(map(str.casefold, names))
    ]


def add_tables(inquiry: Inquiry, answer: Answer) -> Answer:
    """Add the tables that the question is about, and how long it took to find them."""
    began = time.perf_counter()
    memory = inquiry.memory
    tables = tuple(table.name for table in link_tables(inquiry.view, memory.standalone, inquiry.ask.schema))
    spent = replace(answer.spent, search=time.perf_counter() - began)
    standalone = memory.standalone if memory.is_read else None
    return replace(answer, related_tables=tables, standalone=standalone, spent=spent)


# In the log ----------------------------------------------------------------------------------------------------------


async def record_answer(reader: MemoryReader, scope: Scope, inquiry: Inquiry, answer: Answer) -> Answer:
    """Return the answer with its place in the log."""
    engine, memory = reader.engine, inquiry.memory
    stored = await engine.record(scope, make_turns(inquiry, answer))
    if answer.used:
        await engine.runtime.count_use(scope, answer.used)
    answer = replace(answer, ref=stored.refs[-1], session=stored.conversation.session)
    if not memory.is_read:
        return answer
    if memory.request_id is not None and (answer.model or answer.error):
        outcome = Outcome(answer.model, round(answer.spent.llm * 1000), "sql" if answer.error else None)
        await engine.runtime.record_outcome(scope, memory.request_id, outcome)
    talk = stored.conversation
    has_summary = talk.turns >= SUMMARIZED_FROM and memory.is_summarized
    if not has_summary and not reader.settings.async_storage:  # then recording it may have summarized it
        has_summary = await is_summarized(engine, replace(scope, session=talk.session), talk)
    used = MemoryUsed(
        **count_memory(memory), request_id=memory.request_id, conversation=talk, is_summarized=has_summary
    )
    return replace(answer, memory=used)


def count_memory(memory: QuestionMemory) -> dict[str, Any]:
    return {
        "history": memory.interactions,
        "similar": len(memory.similar),
        "tokens": memory.tokens,
        "truncated": memory.truncated,
    }


async def is_summarized(engine: Engine, scope: Scope, talk: Conversation) -> bool:
    """Return whether a conversation has a summary; short ones never have."""
    return talk.turns >= SUMMARIZED_FROM and bool(await engine.episodes(scope, limit=1))


def make_turns(inquiry: Inquiry, answer: Answer) -> list[Turn]:
    asked: dict[str, Any] = {"host": "sql", "source": answer.source}
    if answer.sql and not answer.error:
        asked |= {"sql": answer.sql, "tables": list(answer.tables), "standalone": answer.standalone}
    plain = msgspec.to_builtins(replace(answer, rows=None, frame=None, memory=None, used=()))
    stored = {name: value for name, value in plain.items() if name not in NOT_STORED} | {
        "host": "sql",
        "choice": getattr(inquiry.choice, "id", None),
        "context": msgspec.to_builtins(inquiry.ask.context),
        "frame": answer.frame.to_data() if answer.frame else None,
        "result": bound_rows(answer.rows) if answer.rows else None,
        "memory": count_memory(inquiry.memory) if inquiry.memory.is_read else None,
        "error_stage": "sql" if answer.error else None,
    }
    text = answer.text[:STORED_TEXT].replace("\0", "") or "(nothing)"
    return [Turn("user", inquiry.question, data=asked), Turn("assistant", text, data=stored)]


def bound_rows(rows: Rows) -> dict[str, Any]:
    """Return some rows of a result, never all of a large one."""
    some = [list(row) for row in rows.rows[:STORED_ROWS]]
    while some and len(json.dumps(some, default=str)) > STORED_CHARS:
        some = some[: len(some) // 2]
    return {
        "columns": list(rows.columns),
        "rows": some,
        "count": len(rows.rows),
        "total": rows.total,
        "is_truncated": rows.is_truncated,
    }


async def load_answer(engine: Engine, scope: Scope, ref: str) -> Answer:
    """Return an answer as it was given; of its rows those that were stored, and its conversation as it is now."""
    session, _, index = ref.rpartition("#")
    place = replace(scope, session=session)
    asked, reply = await engine.history(place, limit=2, before=int(index) + 1)
    data: Mapping[str, Any] = get_data(reply)
    answer = replace(read_answer(asked.text, reply.text, data), ref=ref, session=session)
    if not data.get("memory"):
        return answer
    talk = await engine.conversation(place)
    if talk is None:
        raise NotFound(f"session {session!r} no longer exists")
    used = MemoryUsed(**data["memory"], conversation=talk, is_summarized=await is_summarized(engine, place, talk))
    return replace(answer, memory=used)


def read_answer(question: str, text: str, data: Mapping[str, Any]) -> Answer:
    """Return the answer that is stored with a turn. Raises TypeError if it is not one of ours."""
    fields = {name: value for name, value in data.items() if name not in NOT_STORED and value is not None}
    answer = read_stored({**fields, "question": question, "text": text, "source": data["source"]}, Answer)
    rows = read_rows(data["result"]) if data.get("result") else None
    columns = rows.columns if rows else ()
    headers = answer.headers if len(answer.headers) == len(columns) else describe_columns(columns)
    return replace(answer, rows=rows, headers=headers)


def read_rows(result: Mapping[str, Any]) -> Rows:
    """Return stored rows. Raises TypeError if an application stored something else under this name."""
    columns, rows = tuple(map(str, result["columns"])), tuple(tuple(row) for row in result["rows"])
    count, total = result.get("count") or len(rows), result.get("total")
    is_well_formed = all(len(row) == len(columns) for row in rows)
    if not is_well_formed or not isinstance(count, int) or not isinstance(total, int | None):
        raise TypeError("the result of this turn is not one of ours")
    was_truncated = bool(result.get("is_truncated"))
    return Rows(columns, rows, was_truncated or count > len(rows), total=total if was_truncated else count)
