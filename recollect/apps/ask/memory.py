"""Remembering: what memory has for a question to a database, read at once, before anything is decided.

The end of the session (with the last frame), similar questions of this user with the SQL they came to, what the words
of the question mean to them, their standing filters, and the questions that the project has approved. What is about
tables that they may not see now is left out (`within`). If memory fails or takes too long, the caller gets None, and
the answer's notes say why. What words mean then comes from the glossary as it was last read.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.apps.ask.gate.check import check_sql
from recollect.apps.ask.patterns import normal
from recollect.apps.ask.question import Ask
from recollect.apps.ask.session_context import list_contexts
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.vocabulary import list_terms
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import InvalidInput, RecollectError
from recollect.recall.tokens import count_tokens
from recollect.settings import Settings
from recollect.values.conversation import Turn
from recollect.values.memory import Memory, MemoryKind
from recollect.values.query import Hit, Query, Recall
from recollect.values.resolution import Brief, Briefing, Resolution, resolve_terms
from recollect.values.scope import RequestId, Scope, uuid7
from recollect.values.term import MAX_TERMS, Term
from recollect.values.text import stem_term

log = logging.getLogger("recollect.ask")
FRESH = 5.0  # seconds for which the approved questions are not read again; one that is used is looked at once more
GLOSSARY_FRESH = 60.0  # as above, for the glossary that is kept for when memory does not answer
MOST_SHARED = 1_000
MOST_OWN = 200
MOST_TERMS = 100
MOST_FACTS = 10
LOOKED_AT = 8  # hits among which similar questions are looked for
HABITS = ("default_filter", "time_grain", "aggregation")  # keys of preferences that say how a database is asked
VETTED: tuple[MemoryKind, ...] = ("question", "correction")  # statements that a person stands for


@dataclass(frozen=True, slots=True)
class Past:
    """A question that was asked before, and its SQL."""

    question: str
    sql: str
    tables: tuple[str, ...]
    source: str
    ref: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """`rated` are this user's statements that were found right or put right; `rejected`, those found wrong. `facts` are
    what the project knows about the words of the question."""

    standalone: str
    turns: tuple[Turn, ...] = ()
    similar: tuple[Past, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    preferences: tuple[tuple[str, Memory], ...] = ()
    rated: tuple[Memory, ...] = ()
    rejected: frozenset[str] = frozenset()
    facts: tuple[Memory, ...] = ()
    is_summarized: bool = False
    request_id: RequestId | None = None
    tokens: int = 0
    truncated: bool = False
    text: str = ""
    seconds: float = 0.0

    @property
    def interactions(self) -> int:
        return sum(turn.role == "user" for turn in self.turns)

    @property
    def last(self) -> Mapping[str, Any] | None:
        """What the last answer of the session kept of its question, if it was one of ours."""
        answers = [turn.data for turn in self.turns if turn.role == "assistant"]
        return answers[-1] if answers else None

    def last_answer(self, source: str) -> Mapping[str, Any] | None:
        """Return what was kept of the session's last answered question to a source."""
        for turn in reversed(self.turns):
            data = turn.data or {}
            if turn.role == "assistant" and data.get("source") == source and data.get("sql") and data.get("frame"):
                return data
        return None


@dataclass(slots=True)
class Reader:
    """Reads memory for the host; holds for a moment what a project has approved."""

    engine: Engine
    settings: Settings
    _approved: dict[str, tuple[float, tuple[Memory, ...]]] = field(default_factory=dict)
    _glossary: dict[str, tuple[float, tuple[Term, ...]]] = field(default_factory=dict)

    async def remember(self, scope: Scope, ask: Ask) -> Remembered | None:
        began = time.perf_counter()
        try:
            return await run_in_time(self._remember(scope, ask, began))
        # Whatever fails in memory must not fail the answer.
        except Exception as error:  # noqa: BLE001
            log_failure("memory could not be asked", error)
            return None

    async def approved(self, scope: Scope) -> tuple[Memory, ...]:
        """The questions that the project has approved; none where memory is switched off, or fails."""
        at, known = self._approved.get(scope.project, (0.0, ()))
        if not self.settings.enabled or time.monotonic() - at < FRESH:
            return known if self.settings.enabled else ()
        try:
            found = await run_in_time(self._of_project(scope, "question", MOST_SHARED))
        # As above.
        except Exception as error:  # noqa: BLE001
            log_failure("approved questions could not be read", error)
            return ()
        self._approved[scope.project] = (time.monotonic(), tuple(found))
        return tuple(found)

    async def is_current(self, scope: Scope, memory: Memory) -> bool:
        """Whether an approved question still is one: another may have ended it a moment ago."""
        try:
            found = await run_in_time(
                self.engine.memories(scope, kinds=(memory.kind,), owner="project", key=memory.key, status=("active",))
            )
        # As above: then the other ways are tried.
        except Exception as error:  # noqa: BLE001
            log_failure("an approved question could not be looked at", error)
            return False
        return any(each.id == memory.id for each in found)

    async def place(self, scope: Scope) -> Scope:
        """Return the scope with its session: the one that goes on where none is named, by the log's own rule, or a new
        one. It is named before memory is asked, so that the request belongs to it and is forgotten with it."""
        if scope.session is not None:
            return scope
        return replace(scope, session=await self._last_session(scope) or str(uuid7()))

    async def _last_session(self, scope: Scope) -> str | None:
        minutes = self.settings.session_window
        if not minutes or not self.settings.enabled:
            return None
        try:
            talks = await run_in_time(self.engine.conversations(scope, limit=1))
        # As above: then a new one begins.
        except Exception as error:  # noqa: BLE001
            log_failure("the last session could not be read", error)
            return None
        since = datetime.now(UTC) - timedelta(minutes=minutes)
        return talks[0].session if talks and talks[0].updated_at >= since else None

    def changed(self, project: str) -> None:
        """What the project has approved has changed: read it again next time."""
        self._approved.pop(project, None)

    async def words(self, scope: Scope, ask: Ask) -> tuple[Resolution, ...]:
        """What words mean where nobody's memory takes part: what the session and the glossary say."""
        try:
            found = await run_in_time(self.resolved(scope, ask.question, definitions_of(ask)))
        # As above; what the request itself says needs no memory.
        except Exception as error:  # noqa: BLE001
            log_failure("the glossary could not be asked", error)
            _, known = self._glossary.get(scope.project, (0.0, ()))
            terms = list_terms(ask.question, MOST_TERMS)
            found = tuple(resolve_terms(terms, definitions_of(ask), (), (), known))
        return tuple(each for each in found if each.tier in ("session", "ontology"))

    async def keep_glossary(self, scope: Scope) -> None:
        """Read the project's glossary now and then, for when memory does not answer."""
        at, _ = self._glossary.get(scope.project, (float("-inf"), ()))
        if not self.settings.enabled or time.monotonic() - at < GLOSSARY_FRESH:
            return
        try:
            found = await run_in_time(self.engine.terms.find(scope, limit=MAX_TERMS))
        # As above: the one that was read before stays.
        except Exception as error:  # noqa: BLE001
            log_failure("the glossary could not be read", error)
            return
        self._glossary[scope.project] = (time.monotonic(), tuple(found))

    async def resolved(self, scope: Scope, question: str, definitions: Mapping[str, str]) -> tuple[Resolution, ...]:
        terms = list_terms(question, MOST_TERMS)
        found = await self.engine.resolve_all(scope, terms, definitions=dict(definitions)) if terms else []
        return tuple(each for each in found if each.is_resolved)

    async def _of_project(self, scope: Scope, kind: MemoryKind, most: int) -> list[Memory]:
        return await self.engine.memories(scope, kinds=(kind,), owner="project", status=("active",), limit=most)

    async def _remember(self, scope: Scope, ask: Ask, began: float) -> Remembered:
        known = await self.engine.runtime.brief(scope, wanted_for(ask, self.settings))
        resolutions, recall = await asyncio.gather(
            self._meant(scope, ask, known), self._recalled(scope, ask, known.standalone)
        )
        active = [each for each in known.own if each.status == "active"]
        rejected = frozenset(each.value for each in known.own if each.status == "retracted" and each.kind == "question")
        habits = [("user", each) for each in active if each.kind == "preference"]
        return Remembered(
            known.standalone,
            turns=tuple(known.turns),
            similar=like(recall, known.turns, ask, self.settings, rejected) if recall else (),
            resolutions=resolutions,
            preferences=(*habits, *(("project", each) for each in known.shared)),
            rated=tuple(each for each in active if each.kind in VETTED),
            rejected=rejected,
            facts=tuple(known.facts),
            is_summarized=known.is_summarized,
            request_id=None if recall is None else recall.request_id,
            seconds=time.perf_counter() - began,
        )

    async def _meant(self, scope: Scope, ask: Ask, known: Briefing) -> tuple[Resolution, ...]:
        if known.resolved is None:
            return await self.resolved(scope, known.standalone, definitions_of(ask))
        return tuple(each for each in known.resolved if each.is_resolved)

    async def _recalled(self, scope: Scope, ask: Ask, question: str) -> Recall | None:
        most = self.settings.similar if ask.similar is None else ask.similar
        if most == 0:
            return None
        return await self.engine.recall(scope, Query(question, scope="user", kinds=("turn",), limit=LOOKED_AT))


def log_failure(what: str, error: Exception) -> None:
    """Log what failed in memory; a traceback only where it is not known what it means."""
    log.warning("%s: %s", what, error, exc_info=None if isinstance(error, RecollectError) else error)


def wanted_for(ask: Ask, settings: Settings) -> Brief:
    return Brief(
        ask.question,
        terms=list_terms(ask.question, MOST_TERMS),
        definitions=dict(definitions_of(ask)),
        recent=2 * (ask.history or settings.history),
        kinds=VETTED,
        status=("active", "retracted"),
        habits=HABITS,
        limit=MOST_OWN,
        facts=MOST_FACTS,
    )


def definitions_of(ask: Ask) -> Mapping[str, str]:
    return ask.context.definitions if ask.context else {}


def resume_context(ask: Ask, memory: Remembered) -> tuple[Ask, Remembered]:
    """Return both with the context of the session's last question, where this one brings none."""
    found = [each for turn in memory.turns if turn.role == "assistant" for each in list_contexts(turn.data)]
    if ask.context is not None or not found:
        return ask, memory
    terms = list_terms(memory.standalone, MOST_TERMS)
    own = [each for each in resolve_terms(terms, found[-1].definitions, (), (), ()) if each.is_resolved]
    said = {stem_term(each.term) for each in own}
    others = (each for each in memory.resolutions if stem_term(each.term) not in said)
    return replace(ask, context=found[-1]), replace(memory, resolutions=(*own, *others))


def like(
    recall: Recall, turns: Sequence[Turn], ask: Ask, settings: Settings, rejected: frozenset[str]
) -> tuple[Past, ...]:
    """Questions that came to SQL: the same text first, then those that mean about the same, each statement once; none
    that was found wrong. A recall leaves out the last turn of the session that says just this, so it is added."""
    most = settings.similar if ask.similar is None else ask.similar
    wanted = {normal(ask.question), normal(recall.query.text)}
    hits = [hit for hit in recall.hits if is_answered(hit.turn)]
    same = [turn for turn in (*turns, *(hit.turn for hit in hits)) if is_answered(turn) and normal(turn.text) in wanted]
    near = [hit.turn for hit in hits if hit.turn not in same and meaning(hit) >= settings.similarity]
    found = [past_of(turn) for turn in (*same, *near)]
    once = {past.sql: past for past in reversed(found) if past.sql not in rejected}
    return tuple(reversed(once.values()))[:most]


def is_answered(turn: Turn) -> bool:
    return turn.role == "user" and bool((turn.data or {}).get("sql"))


def meaning(hit: Hit) -> float:
    return hit.arms["vector"].score if "vector" in hit.arms else 0.0


def past_of(turn: Turn) -> Past:
    data = turn.data or {}
    asked = str(data.get("standalone") or turn.text)
    return Past(asked, str(data["sql"]), tuple(data.get("tables") or ()), str(data.get("source") or ""), turn.ref)


# What may be seen now -------------------------------------------------------------------------------------------------


def within(memory: Remembered, source: str, view: View, budget: int) -> Remembered:
    """Of what was said and asked before, what is about this source, and about what may be seen of it; packed as a model
    is told of it."""
    turns = tuple(turn for turn in memory.turns if is_seen(turn, source, view))
    similar = tuple(past for past in memory.similar if past.source == source and may_see(view, past.sql, past.tables))
    text, cut = packed(turns, similar, budget)
    tokens = count_tokens(text) if text else 0
    return replace(memory, turns=turns, similar=similar, text=text, tokens=tokens, truncated=cut)


def is_seen(turn: Turn, source: str, view: View) -> bool:
    """Of another source only what the user said; what other hosts logged is no table's."""
    data = turn.data or {}
    if data.get("host") != "sql":
        return True
    if data.get("source") != source:
        return turn.role == "user"
    return not data.get("sql") or may_see(view, str(data["sql"]), data.get("tables") or ())


def may_see(view: View, sql: str, tables: Iterable[str] = ()) -> bool:
    if any(table.casefold() not in view.names for table in tables):
        return False
    if view.is_whole:
        return True
    try:
        check_sql(sql, view.catalog.dialect, view.allowed)
    except InvalidInput:
        return False
    return True


def packed(turns: Sequence[Turn], similar: Sequence[Past], budget: int) -> tuple[str, bool]:
    """What a model is told of memory, the newest first kept, within the budget; whether something was cut."""
    said = [line for turn in turns if turn.role in ("user", "assistant") and (line := line_of(turn))]
    wanted = [f"Asked before: {past.question}\nSQL: {past.sql}" for past in similar] + said[::-1]
    room, kept = budget, list[str]()
    for text in wanted:
        room -= count_tokens(text) + 1
        if room < 0:
            return "\n".join(kept), True
        kept.append(text)
    return "\n".join(kept), False


def line_of(turn: Turn) -> str:
    """Of our own answers the statement or the question back: a description of tables may tell of more than may be seen
    now."""
    data = turn.data or {}
    if turn.role == "user":
        return f"User: {turn.text}"
    if data.get("sql"):
        return f"SQL: {data['sql']}"
    is_told = data.get("host") != "sql" or data.get("clarifications")
    return f"Assistant: {turn.text[:300]}" if is_told else ""
