"""Interpreting a question at one source: link its words, look up names, propose candidates, run them, decide.

`interpret_question` is the entry point; interpret/ holds the pure parts. Candidates pass the gate and the role's row
rules and run with a small row cap, a few at a time and for a few seconds in all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

from recollect.apps.ask.candidates.suggested_meanings import Suggestion, find_vague_word, suggest_meanings
from recollect.apps.ask.interpret import (
    Candidate,
    Decision,
    FoundValue,
    Frame,
    Linked,
    Result,
    Vocabulary,
    Word,
    decide,
    link_question,
    propose,
)  # fmt: skip
from recollect.apps.ask.interpret.decide import result_features
from recollect.apps.ask.interpret.link import CLEAR, NAMING
from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.source_registry import View, run_sql
from recollect.apps.ask.sources.running import Rows
from recollect.apps.ask.sources.source import Source
from recollect.apps.ask.words import find_operators, split_name, stem_phrase, tokenize
from recollect.errors import InvalidInput, QueryFailed

log = logging.getLogger("recollect.ask")
MOST_WORDS = 60  # in a question; composing takes longer than linearly
PROBE_ROWS = 200
AT_ONCE = 3  # statements of one question at a time
PROBE_SECONDS = 5.0  # for all candidates together
MOST_MISSING = 5  # words that are named as not understood
MAX_SHOWN = 10  # values of a column that lacks the one in the question


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The decision about a question at a source. `rows` are what candidates gave, by their id; `missing` are words that
    nothing in the source explains; `unread` are taught words whose meaning fits nothing in it."""

    decision: Decision
    rows: Mapping[str, Rows] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()  # meanings for the first word that was not understood
    is_too_long: bool = False
    values: tuple[tuple[str, str, str], ...] = ()  # (table, column, value) that words of the question match
    absent: tuple[str, ...] = ()  # values of the question that the data do not have, in words
    unread: tuple[Word, ...] = ()


async def interpret_question(
    source: Source,
    view: View,
    question: str,
    vocabulary: Vocabulary,
    *,
    last: Frame | None,
    today: date,
    user: str | None,
    is_last_sure: bool = True,
) -> Interpretation:
    """Return the decision about a question, `last` being the frame of the last answer in the session, or the best one
    that was offered there: then `is_last_sure` is false, and what follows from it is offered, too."""
    if len(tokenize(question)) > MOST_WORDS:
        return Interpretation(Decision("unclear"), is_too_long=True)
    link = partial(link_question, question, view.index, vocabulary=vocabulary, today=today, last=last)
    link = partial(link, is_last_sure=is_last_sure)
    linked = await asyncio.to_thread(link)
    if unread := find_unread(linked):
        # A meaning that cannot be read is left out: the word is read as if nobody had explained it.
        words = (replace(each, meaning="") if each in unread else each for each in vocabulary.words)
        known = replace(vocabulary, words=tuple(words))
        link = partial(link, vocabulary=known)
        linked = await asyncio.to_thread(link)
    if linked.lookups and (found := await look_up(source, view, linked.lookups, user)):
        linked = await asyncio.to_thread(link, values=found)
    candidates = await asyncio.to_thread(propose, linked)
    rows, results = await run_candidates(candidates, source, view, user)
    decision = ask_about(unread, decide(candidates, results), view, today)
    suggestions = await suggest(decision, linked, source, view, user)
    missing = decision.unexplained or list_missing(linked)
    absent = list_absent(decision, view.catalog)
    return Interpretation(decision, rows, missing, suggestions, False, list_matches(linked), absent, unread)


def find_unread(linked: Linked) -> tuple[Word, ...]:
    """Return the taught words of the question whose meaning cannot be read as conditions."""
    links = [link for links in linked.links for link in links if link.kind == "definition"]
    unread = {stem_phrase(link.text) for link in links if link.fragment is None}
    return tuple(
        each for each in linked.vocabulary.words if each.meaning and not unread.isdisjoint(map(stem_phrase, each.names))
    )


def ask_about(unread: Sequence[Word], decision: Decision, view: View, today: date) -> Decision:
    """Return a decision to ask, instead of an answer, if a meaning that cannot be read is about this database: what a
    person taught is never replaced without asking. The glossary's texts for readers do not count."""
    taught = [each for each in unread if each.tier != "glossary" and is_about(each.meaning, view, today)]
    if not taught or decision.kind not in ("answer", "assume"):
        return decision
    return replace(decision, kind="choices", unexplained=taught[0].names[:1])


def is_about(text: str, view: View, today: date) -> bool:
    """Return whether a text names something in the database, or a period."""
    links = link_question(text, view.index, today=today).links
    return any(link.kind in NAMING and link.score > CLEAR for each in links for link in each)


def list_absent(decision: Decision, catalog: Catalog) -> tuple[str, ...]:
    """Return "no city Berlin; city is one of Leeds, York" for each value that a column, all of whose values are known,
    does not have."""
    texts = list[str]()
    for each in decision.candidates[0].frame.filters if decision.candidates else ():
        column = catalog.column(each.of.table, each.of.column)
        if column is None or not column.is_complete or each.op != "=" or not each.is_text:
            continue
        known = {value.strip().casefold() for value in column.values}
        name = " ".join(split_name(column.name))
        shown = ", ".join(column.values[:MAX_SHOWN])
        texts += [
            f"no {name} {value}; {name} is one of {shown}" for value in each.values if value.casefold() not in known
        ]
    return tuple(texts)


def list_matches(linked: Linked) -> tuple[tuple[str, str, str], ...]:
    """Return the values of the data that words of the question match, the longest match of each word first."""
    found = [link for links in linked.links for link in links if link.kind == "value" and link.value]
    found.sort(key=lambda link: (link.start - link.end, -link.score))
    made = ((link.target.table, link.target.column, link.value) for link in found)
    return tuple(each for each in dict.fromkeys(made) if each[1])


async def suggest(
    decision: Decision, linked: Linked, source: Source, view: View, user: str | None
) -> tuple[Suggestion, ...]:
    """Return meanings for a word that was not understood; those that select some of the rows come first."""
    word, most = find_vague_word(decision, linked)
    if not most:
        return ()
    found = await asyncio.to_thread(suggest_meanings, word, decision.candidates[0].frame.subject, linked)
    _, results = await run_candidates([each.candidate for each in found], source, view, user)
    runnable = [each for each in found if not results[each.candidate.id].error]
    return tuple(sorted(runnable, key=lambda each: bool(result_features(results[each.candidate.id])))[:most])


def is_clear(question: str, view: View, today: date, last: Frame | None = None) -> bool:
    """Return whether a question would be answered at once, judged without running anything."""
    candidates = propose(link_question(question, view.index, today=today, last=last), most=4)
    decision = decide(candidates, {each.id: not_run(each) for each in candidates})
    return decision.kind in ("answer", "assume") and decision.candidates[0].frame != last


def list_missing(linked: Linked) -> tuple[str, ...]:
    """Return the words that nothing explains, neither a name, a value nor an operator."""
    read = {at for links in linked.links for link in links for at in range(link.start, link.end)}
    rest = (token for at, token in enumerate(linked.tokens) if at not in read and token.number is None)
    return tuple(dict.fromkeys(token.text for token in rest if not find_operators([token])))[:MOST_MISSING]


async def look_up(source: Source, view: View, names: Sequence[str], user: str | None) -> list[FoundValue]:
    """Return where names stand in text columns of which the catalog does not show all values, under the row rules."""
    places = [
        (table.name, column.name)
        for table in view.catalog.tables
        for column in table.columns
        if column.type == "text" and not column.is_complete and not column.is_sensitive
    ]
    if not places:
        return []
    try:
        return await source.find_values(places, names, rules=view.access.rows, user=user)
    except QueryFailed as error:
        log.warning("names could not be looked up: %s", error)
        return []


async def run_candidates(
    candidates: Sequence[Candidate], source: Source, view: View, user: str | None
) -> tuple[dict[str, Rows], dict[str, Result]]:
    """Return the rows of the candidates that ran, and the results that are decided by. A candidate that did not run in
    time counts as different from all others."""
    turn, rows, results = asyncio.Semaphore(AT_ONCE), dict[str, Rows](), dict[str, Result]()

    async def run(candidate: Candidate) -> None:
        async with turn:
            try:
                found = await run_sql(source, view, candidate.sql, PROBE_ROWS, user, PROBE_SECONDS)
            except (InvalidInput, QueryFailed) as error:
                results[candidate.id] = Result(error=str(error), is_denied=isinstance(error, InvalidInput))
                return
        rows[candidate.id] = found
        results[candidate.id] = Result(found.rows, is_truncated=found.is_truncated)

    tasks = [asyncio.create_task(run(each)) for each in candidates]
    try:
        done, _ = await asyncio.wait(tasks, timeout=PROBE_SECONDS) if tasks else (set(), set())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()  # a source that cannot be reached is an error of the question
    return rows, {each.id: results.get(each.id) or not_run(each) for each in candidates}


def not_run(candidate: Candidate) -> Result:
    return Result((("not run", candidate.id),))
