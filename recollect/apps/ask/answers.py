"""Telling: an answer made of what was found: a result, an error, a question back, or why there is none; with the tables
that the question is about and what it took. The analyst calls this last, before the answer is recorded. Pure."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from recollect.apps.ask.choices import read_clarifications
from recollect.apps.ask.interpret.explain import label_frame
from recollect.apps.ask.llm import Talk
from recollect.apps.ask.memory import Reader, log_failure
from recollect.apps.ask.proposals import Case, Proposal, Ran
from recollect.apps.ask.question import Answer, Assumption, Learned, MemoryUsed, Spent
from recollect.apps.ask.schema_prompt import link_tables
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.wording import answer_text, asked_back, describe_columns, make_title
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import NotFound
from recollect.values.conversation import Conversation, Recorded, Turn
from recollect.values.explanation import Outcome
from recollect.values.scope import Scope


def answer_of(case: Case, ran: Ran, talk: Talk | None) -> Answer:
    proposal = ran.proposal
    frame, index = proposal.frame, case.view.index
    title = make_title(case.question, label_frame(frame, index, case.question) if frame else "")
    headers = describe_columns(ran.rows.columns, frame, index, case.question) if ran.rows else ()
    return Answer(
        case.question,
        text_of(case, ran, headers),
        source=case.source.name,
        dialect=case.source.dialect,
        sql=ran.passed.sql,
        explanation="\n".join([*(talk.tried if talk else ()), proposal.explanation]),
        title=title,
        headers=headers,
        rows=ran.rows,
        full_sql=ran.passed.full_sql,
        error=ran.error,
        tables=ran.passed.tables,
        way=proposal.way,
        pattern=proposal.pattern,
        examples=proposal.examples,
        confidence=proposal.confidence,
        clarifications=proposal.clarifications,
        assumptions=proposal.assumptions,
        frame=proposal.frame.to_data() if proposal.frame else None,
        notes=(
            *case.taught.notes,
            *(talk.notes if talk else ()),
            *cut_notes(case, ran.passed.tables),
            *list_unused_filters(case, ran.passed.tables),
        ),
        spent=Spent(sql=ran.rows.seconds if ran.rows else 0.0),
        used=(proposal.vetted.id,) if proposal.vetted else (),
        learned=ran.learned,
    )


def text_of(case: Case, ran: Ran, headers: tuple[str, ...]) -> str:
    if ran.error:
        return f"The database could not run this query: {ran.error}"
    if ran.rows is None:
        return ran.proposal.explanation
    explanation = ran.proposal.explanation
    return answer_text(case.question, ran.rows, explanation, markdown=case.ask.markdown, headers=headers)


def list_unused_filters(case: Case, tables: tuple[str, ...]) -> list[str]:
    """Return a note for each filter of the session that this statement does not need: it reads none of its tables."""
    used, homes = {name.casefold() for name in tables}, defaultdict[str, set[str]](set)
    for each in case.taught.filters:
        if each.source == "session":
            homes[each.filter.condition].add(each.filter.table)
    return [
        f"the session's filter {condition} does not apply: the question is not about {', '.join(sorted(names))}"
        for condition, names in homes.items()
        if used.isdisjoint(map(str.casefold, names))
    ]


def cut_notes(case: Case, tables: tuple[str, ...]) -> list[str]:
    cut = [table for table in tables if table.casefold() in case.view.access.rows]
    return [f"of {', '.join(cut)} only the rows count that you may see"] if cut else []


def unanswered(case: Case, proposal: Proposal, talk: Talk | None) -> Answer:
    """A question back, or why there is no answer."""
    answer = Answer(
        case.question,
        proposal.refused or asked_back(proposal.clarifications, case.question),
        source=case.source.name,
        dialect=case.source.dialect,
        confidence=proposal.confidence,
        clarifications=proposal.clarifications,
        assumptions=proposal.assumptions,
        explanation="\n".join(talk.tried if talk else ()),
        notes=(*case.taught.notes, *(talk.notes if talk else ())),
    )
    return spent_on(answer, talk)


def with_tables(case: Case, answer: Answer) -> Answer:
    """Add the tables that the question is about, and how long it took to find them."""
    began = time.perf_counter()
    asked = case.memory.standalone if case.memory else case.question
    tables = tuple(table.name for table in link_tables(case.view, asked, case.ask.schema))
    spent = replace(answer.spent, search=time.perf_counter() - began)
    return replace(answer, related_tables=tables, standalone=asked if case.memory else None, spent=spent)


def timed(case: Case, answer: Answer, began: float) -> Answer:
    memory = case.memory.seconds if case.memory else 0.0
    return replace(answer, spent=replace(answer.spent, memory=memory, whole=time.perf_counter() - began))


def spent_on(answer: Answer, talk: Talk | None) -> Answer:
    return answer if talk is None else replace(answer, spent=replace(talk.spent, sql=answer.spent.sql))


def model_of(talk: Talk | None) -> str | None:
    return talk.reasoner.name if talk else None


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


SUMMARISED_FROM = 20  # turns


async def recorded(reader: Reader, scope: Scope, case: Case, answer: Answer) -> Answer:
    """The answer with its place in the log; what could not be kept is not shown as memory."""
    if not case.ask.remembers:
        return answer
    try:
        done, used = await run_in_time(kept(reader, scope, case, answer))
    # As with reading: an answer that cannot be kept is still an answer.
    except Exception as error:  # noqa: BLE001
        log_failure("an answer could not be kept", error)
        return answer
    return replace(answer, memory=used, ref=done.refs[-1], session=done.conversation.session)


async def kept(reader: Reader, scope: Scope, case: Case, answer: Answer) -> tuple[Recorded, MemoryUsed | None]:
    done = await reader.engine.record(scope, kept_turns(case, answer))
    await counted(reader.engine, scope, case, answer)
    return done, await memory_used(reader, scope, case, done)


async def memory_used(reader: Reader, scope: Scope, case: Case, done: Recorded) -> MemoryUsed | None:
    memory, talk = case.memory, done.conversation
    if memory is None:
        return None
    is_told = talk.turns >= SUMMARISED_FROM and memory.is_summarized
    if not is_told and not reader.settings.async_storage:  # then recording it may have summed it up
        is_told = await is_summarized(reader.engine, replace(scope, session=talk.session), talk)
    return MemoryUsed(
        memory.interactions,
        len(memory.similar),
        memory.tokens,
        memory.truncated,
        memory.request_id,
        talk,
        is_told,
    )


async def is_summarized(engine: Engine, scope: Scope, talk: Conversation) -> bool:
    """Short conversations never are."""
    return talk.turns >= SUMMARISED_FROM and bool(await engine.episodes(scope, limit=1))


async def counted(engine: Engine, scope: Scope, case: Case, answer: Answer) -> None:
    if answer.used:
        await engine.runtime.count_use(scope, answer.used)
    request = case.memory.request_id if case.memory else None
    if request is not None and (answer.model or answer.error):
        outcome = Outcome(answer.model, round(answer.spent.llm * 1000), "sql" if answer.error else None)
        await engine.runtime.record_outcome(scope, request, outcome)


async def load_answer(engine: Engine, scope: Scope, ref: str) -> Answer:
    """An answer as it was given; of its rows those that were kept, and its conversation as it is now."""
    session, _, index = ref.rpartition("#")
    place = replace(scope, session=session)
    asked, said = await engine.history(place, limit=2, before=int(index) + 1)
    data: Mapping[str, Any] = said.data or {}
    answer = replace(read_answer(asked.text, said.text, data), ref=ref, session=session)
    if not data.get("memory"):
        return answer
    talk = await engine.conversation(place)
    if talk is None:
        raise NotFound(f"session {session!r} no longer exists")
    used = MemoryUsed(**data["memory"], conversation=talk, is_summarized=await is_summarized(engine, place, talk))
    return replace(answer, memory=used)
