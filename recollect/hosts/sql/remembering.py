"""Remembering: what memory has for a question to a database, read at once, before anything is decided.

The end of the session (with the last frame), similar questions of this user with the SQL they came to, what the words
of the question mean to him, his standing filters, and the questions that the project has approved. What is about tables
that he may not see now is taken out before it is used (`within`). Memory that fails is done without: the caller gets
None, and the answer says nothing of memory.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.engine import Engine
from recollect.errors import InvalidInput
from recollect.hosts.sql.asking import Ask
from recollect.hosts.sql.library import View
from recollect.model.briefing import Brief, Briefing
from recollect.model.conversation import Turn
from recollect.model.ids import RequestId
from recollect.model.memory import Memory, MemoryKind
from recollect.model.resolution import Resolution, resolve_terms
from recollect.model.scope import Scope
from recollect.model.search import Hit, Query, Recall
from recollect.model.tokens import count_tokens
from recollect.settings import Settings
from recollect.sql.gate import passed
from recollect.sql.patterns import normal
from recollect.sql.told import phrases

log = logging.getLogger("recollect.ask")
FRESH = 5.0  # seconds for which the approved questions are not read again; one that is used is looked at once more
MOST_SHARED = 1_000
MOST_OWN = 200
MOST_TERMS = 100
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
    """`rated` are this user's statements that were found right or put right; `rejected`, those found wrong."""

    standalone: str
    turns: tuple[Turn, ...] = ()
    similar: tuple[Past, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    preferences: tuple[tuple[str, Memory], ...] = ()
    rated: tuple[Memory, ...] = ()
    rejected: frozenset[str] = frozenset()
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

    @property
    def asked(self) -> str:
        """What the user said last in the session."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")


@dataclass(slots=True)
class Reader:
    """Reads memory for the host; holds for a moment what a project has approved."""

    engine: Engine
    settings: Settings
    _approved: dict[str, tuple[float, tuple[Memory, ...]]] = field(default_factory=dict)

    async def remember(self, scope: Scope, ask: Ask) -> Remembered | None:
        began = time.perf_counter()
        try:
            return await self._remember(scope, ask, began)
        # Whatever fails in memory must not fail the answer.
        except Exception:
            log.exception("memory could not be asked")
            return None

    async def approved(self, scope: Scope) -> tuple[Memory, ...]:
        """The questions that the project has approved; none where memory is switched off, or fails."""
        at, known = self._approved.get(scope.project, (0.0, ()))
        if not self.settings.enabled or time.monotonic() - at < FRESH:
            return known if self.settings.enabled else ()
        try:
            found = await self._of_project(scope, "question", MOST_SHARED)
        # As above.
        except Exception:
            log.exception("approved questions could not be read")
            return ()
        self._approved[scope.project] = (time.monotonic(), tuple(found))
        return tuple(found)

    async def is_current(self, scope: Scope, memory: Memory) -> bool:
        """Whether an approved question still is one: another may have ended it a moment ago."""
        try:
            found = await self.engine.memories(
                scope, kinds=(memory.kind,), owner="project", key=memory.key, status=("active",)
            )
        # As above: then the other ways are tried.
        except Exception:
            log.exception("an approved question could not be looked at")
            return False
        return any(each.id == memory.id for each in found)

    async def place(self, scope: Scope) -> Scope:
        """With the session that goes on where none is named, so that its end is read; by the log's own rule."""
        minutes = self.settings.session_window
        if scope.session is not None or not minutes or not self.settings.enabled:
            return scope
        try:
            talks = await self.engine.conversations(scope, limit=1)
        # As above: then a new one begins.
        except Exception:
            log.exception("the last session could not be read")
            return scope
        since = datetime.now(UTC) - timedelta(minutes=minutes)
        return replace(scope, session=talks[0].session) if talks and talks[0].updated_at >= since else scope

    def changed(self, project: str) -> None:
        """What the project has approved has changed: read it again next time."""
        self._approved.pop(project, None)

    async def words(self, scope: Scope, ask: Ask) -> tuple[Resolution, ...]:
        """What words mean where nobody's memory takes part: what the session and the glossary say."""
        try:
            found = await self.resolved(scope, ask.question, ask.context.definitions)
        # As above; what the request itself says needs no memory.
        except Exception:
            log.exception("the glossary could not be asked")
            found = tuple(resolve_terms(phrases(ask.question, MOST_TERMS), ask.context.definitions, (), (), ()))
        return tuple(each for each in found if each.tier in ("session", "ontology"))

    async def resolved(self, scope: Scope, question: str, definitions: Mapping[str, str]) -> tuple[Resolution, ...]:
        terms = phrases(question, MOST_TERMS)
        found = await self.engine.resolve_all(scope, terms, definitions=dict(definitions)) if terms else []
        return tuple(each for each in found if each.is_resolved)

    async def _of_project(self, scope: Scope, kind: MemoryKind, most: int) -> list[Memory]:
        return await self.engine.memories(scope, kinds=(kind,), owner="project", status=("active",), limit=most)

    async def _remember(self, scope: Scope, ask: Ask, began: float) -> Remembered:
        known = await self.engine.brief(scope, wanted_for(ask, self.settings))
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
            is_summarized=known.is_summarized,
            request_id=None if recall is None else recall.request_id,
            seconds=time.perf_counter() - began,
        )

    async def _meant(self, scope: Scope, ask: Ask, known: Briefing) -> tuple[Resolution, ...]:
        if known.resolved is None:
            return await self.resolved(scope, known.standalone, ask.context.definitions)
        return tuple(each for each in known.resolved if each.is_resolved)

    async def _recalled(self, scope: Scope, ask: Ask, question: str) -> Recall | None:
        most = self.settings.similar if ask.similar is None else ask.similar
        if most == 0:
            return None
        return await self.engine.recall(scope, Query(question, scope="user", kinds=("turn",), limit=LOOKED_AT))


def wanted_for(ask: Ask, settings: Settings) -> Brief:
    return Brief(
        ask.question,
        terms=phrases(ask.question, MOST_TERMS),
        definitions=dict(ask.context.definitions),
        recent=2 * (ask.history or settings.history),
        kinds=VETTED,
        status=("active", "retracted"),
        habits=HABITS,
        limit=MOST_OWN,
    )


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
    """Of another source only what the user himself said; what other hosts logged is no table's."""
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
        passed(sql, view.catalog.dialect, view.allowed)
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
