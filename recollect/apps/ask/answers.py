"""Telling: an answer made of what was found: a result, an error, a question back, or why there is none; with the tables
that the question is about and what it took. The analyst calls this last, before the answer is recorded. Pure."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

from recollect.apps.ask.headers import describe_columns, make_title
from recollect.apps.ask.interpret.explain import label_frame
from recollect.apps.ask.llm import Talk
from recollect.apps.ask.proposals import Case, Proposal, Ran
from recollect.apps.ask.question import Answer, Spent
from recollect.apps.ask.schema_prompt import link_tables
from recollect.apps.ask.wording import answer_text, asked_back


def answer_of(case: Case, ran: Ran, talk: Talk | None) -> Answer:
    proposal = ran.proposal
    frame, index = proposal.frame, case.view.index
    title = make_title(case.question, label_frame(frame, index, case.question) if frame else "")
    headers = describe_columns(ran.rows.columns, frame, index, case.question) if ran.rows else ()
    return Answer(
        case.question,
        text_of(case, ran, headers),
        source=case.shelf.kept.name,
        dialect=case.shelf.source.dialect,
        sql=ran.checked.sql,
        explanation="\n".join([*(talk.tried if talk else ()), proposal.explanation]),
        title=title,
        headers=headers,
        rows=ran.rows,
        full_sql=ran.checked.full_sql,
        error=ran.error,
        tables=ran.checked.tables,
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
            *cut_notes(case, ran.checked.tables),
            *list_unused_filters(case, ran.checked.tables),
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
        source=case.shelf.kept.name,
        dialect=case.shelf.source.dialect,
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
    tables = tuple(table.name for table in link_tables(case.view, asked, case.ask.shown))
    spent = replace(answer.spent, search=time.perf_counter() - began)
    return replace(answer, related_tables=tables, standalone=asked if case.memory else None, spent=spent)


def timed(case: Case, answer: Answer, began: float) -> Answer:
    memory = case.memory.seconds if case.memory else 0.0
    return replace(answer, spent=replace(answer.spent, memory=memory, whole=time.perf_counter() - began))


def spent_on(answer: Answer, talk: Talk | None) -> Answer:
    return answer if talk is None else replace(answer, spent=replace(talk.spent, sql=answer.spent.sql))


def model_of(talk: Talk | None) -> str | None:
    return talk.reasoner.name if talk else None
