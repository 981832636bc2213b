"""What memory has for a question to a database, read at once, before anything is decided.

`MemoryReader.read` gives the end of the session, similar questions of this user with their SQL, what the words of the
question mean to them, and their standing filters. `restrict_memory` leaves out what is about tables that they may not
see now. If memory fails or takes too long (`try_memory`), the answer is made without it, and its notes say why; what
words mean then comes from the glossary as it was last read.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import nlargest
from itertools import accumulate
from typing import Any, TypeVar

from recollect.apps.ask.gate import check_sql
from recollect.apps.ask.memories.patterns import normalize_question
from recollect.apps.ask.memories.vocabulary import list_terms
from recollect.apps.ask.question import Ask, SessionContext, get_data, read_clarifications, read_stored_context
from recollect.apps.ask.source_registry import View
from recollect.apps.ask.words import stem_phrase
from recollect.deadline import run_in_time
from recollect.engine import Engine
from recollect.errors import InvalidInput, RecollectError
from recollect.recall.lexemes import count_tokens, lexemes
from recollect.settings import Settings
from recollect.values.conversation import Turn
from recollect.values.memory import Memory, MemoryKind
from recollect.values.query import Query, Recall
from recollect.values.resolution import Brief, Briefing, Resolution, resolve_terms
from recollect.values.scope import RequestId, Scope, uuid7
from recollect.values.term import MAX_TERMS, Term

log = logging.getLogger("recollect.ask")
T = TypeVar("T")
D = TypeVar("D")
Cache = dict[str, tuple[float, tuple[T, ...]]]  # when something was read, and what, by project
APPROVED_SECONDS = 5.0  # for which the approved questions are not read again; one that is used is checked once more
GLOSSARY_SECONDS = 60.0  # as above, for the glossary that is kept for when memory does not answer
MAX_APPROVED = 1_000
MAX_OWN = 200
MAX_WORDS = 100
MAX_FACTS = 10
MAX_HITS = 8  # among which similar questions are looked for
SIMILAR_EXAMPLE = 0.5  # cosine from which a question is an example for another
SAME_WORDS = 0.4  # share of words, likewise, where there is no embedder
MAX_COMPARED = 100  # vetted questions
MAX_SESSIONS = 10  # of which questions are listed; older ones are found by asking again
HABITS = ("default_filter", "time_grain", "aggregation")  # keys of preferences that say how a database is asked
TIERS = ("session", "user", "project", "ontology")  # of meanings, highest first
VETTED: tuple[MemoryKind, ...] = ("question", "correction")  # statements that a person stands for


@dataclass(frozen=True, slots=True)
class QuestionMemory:
    """`rated` are this user's statements that were found right or put right. `facts` are what the project knows about
    the words of the question. `text` is what a model is shown of the conversation. Empty where memory was not read."""

    standalone: str  # the question as it can be understood alone
    is_read: bool = False
    turns: tuple[Turn, ...] = ()
    similar: tuple[Turn, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    preferences: tuple[tuple[str, Memory], ...] = ()
    rated: tuple[Memory, ...] = ()
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
    def last_reply(self) -> Mapping[str, Any]:
        """The data of the session's last reply; empty if it was not one of ours."""
        return next(iter(list_replies(self.turns)), {})

    def find_last_frame(self, source: str) -> tuple[Mapping[str, Any], bool]:
        """Return the frame that a follow-up to a source changes, and whether no other may be meant: the best reading
        that the last reply offered, unless a word in it is not known; else that of the last answered question."""
        replies = [data for data in list_replies(self.turns) if data.get("source") == source]
        frames = (data.get("frame") for data in replies if data.get("sql"))
        answered: Mapping[str, Any] = next(filter(None, frames), {})
        offered = read_clarifications(self.last_reply) if self.last_reply in replies else ()
        ambiguous = next((each.choices[0].frame for each in offered if each.is_ambiguous), {})
        return ambiguous or answered, not (ambiguous and answered)


def list_replies(turns: Sequence[Turn]) -> list[Mapping[str, Any]]:
    """Return the data of the replies among some turns, the last one first; empty for those of other applications."""
    return [get_data(turn) for turn in reversed(turns) if turn.role == "assistant"]


async def try_memory(what: str, work: Coroutine[Any, Any, T], default: D) -> T | D:
    """Return what memory gives in time, else the default: whatever fails in memory must not fail the answer."""
    try:
        return await run_in_time(work)
    except Exception as error:
        # A traceback only where it is not known what the error means.
        log.warning("%s: %s", what, error, exc_info=None if isinstance(error, RecollectError) else error)
        return default


@dataclass(slots=True)
class MemoryReader:
    """Reads memory for the analyst; caches what a project has approved, and its glossary."""

    engine: Engine
    settings: Settings
    _approved: Cache[Memory] = field(default_factory=dict)
    _glossary: Cache[Term] = field(default_factory=dict)

    async def read(self, scope: Scope, ask: Ask) -> QuestionMemory:
        """Return what memory has for a question."""
        began = time.perf_counter()
        wanted = Brief(
            ask.question,
            terms=list_terms(ask.question, MAX_WORDS),
            recent=2 * (ask.history or self.settings.history),
            kinds=VETTED,
            status=("active", "retracted"),
            habits=HABITS,
            limit=MAX_OWN,
            facts=MAX_FACTS,
        )
        known = await self.engine.runtime.brief(scope, wanted)
        active = [each for each in known.own if each.status == "active"]
        similar, request_id = await self._find_similar(scope, ask, known)
        own = [("user", each) for each in active if each.kind == "preference"]
        return QuestionMemory(
            known.standalone,
            is_read=True,
            turns=tuple(known.turns),
            similar=similar,
            resolutions=tuple(known.resolved or await self._resolve(scope, known.standalone)),
            preferences=(*own, *(("project", each) for each in known.shared)),
            rated=tuple(each for each in active if each.kind in VETTED),
            facts=tuple(known.facts),
            is_summarized=known.is_summarized,
            request_id=request_id,
            seconds=time.perf_counter() - began,
        )

    async def _find_similar(self, scope: Scope, ask: Ask, known: Briefing) -> tuple[tuple[Turn, ...], RequestId | None]:
        """Return the similar questions that are wanted, none that was found wrong, and the request that found them."""
        most = self.settings.similar if ask.similar is None else ask.similar
        if not most:
            return (), None
        recall = await self.engine.recall(scope, Query(known.standalone, scope="user", kinds=("turn",), limit=MAX_HITS))
        rejected = {each.value for each in known.own if (each.status, each.kind) == ("retracted", "question")}
        similar = find_similar(recall, known.turns, ask, self.settings.similarity, rejected)
        return similar[:most], recall.request_id

    async def _resolve(self, scope: Scope, question: str) -> Sequence[Resolution]:
        terms = list_terms(question, MAX_WORDS)
        return await self.engine.resolve_all(scope, terms) if terms else ()

    async def resolve_without_user(self, scope: Scope, question: str) -> list[Resolution]:
        """Return what words mean by the glossary alone, without any user's memory; while memory does not answer, by the
        glossary as it was last read."""
        found = await try_memory("the glossary could not be asked", self._resolve(scope, question), None)
        if found is None:
            _, known = self._glossary.get(scope.project, (0.0, ()))
            found = resolve_terms(list_terms(question, MAX_WORDS), {}, (), (), known)
        return [each for each in found if each.tier == "ontology"]

    async def read_approved(self, scope: Scope) -> tuple[Memory, ...]:
        """Return the questions that the project has approved; none where memory is switched off, or fails."""

        find = partial(
            self.engine.memories, scope, kinds=("question",), owner="project", status=("active",), limit=MAX_APPROVED
        )
        return await self._read_cached(self._approved, scope, APPROVED_SECONDS, find)

    async def keep_glossary(self, scope: Scope) -> None:
        """Read the project's glossary now and then, for when memory does not answer."""
        find = partial(self.engine.terms.find, scope, limit=MAX_TERMS)
        await self._read_cached(self._glossary, scope, GLOSSARY_SECONDS, find)

    async def _read_cached(
        self, cache: Cache[T], scope: Scope, seconds: float, find: Callable[[], Coroutine[Any, Any, list[T]]]
    ) -> tuple[T, ...]:
        at, known = cache.get(scope.project, (float("-inf"), ()))
        if not self.settings.enabled:
            return ()
        if time.monotonic() - at < seconds:
            return known
        found = await try_memory("what the project knows could not be read", find(), None)
        if found is None:
            return ()
        cache[scope.project] = (time.monotonic(), tuple(found))
        return tuple(found)

    async def is_current(self, scope: Scope, memory: Memory) -> bool:
        """Return whether an approved question still is one: somebody may have ended it a moment ago. If not, the
        approved questions are read again next time."""
        work = self.engine.memories(scope, kinds=(memory.kind,), owner="project", key=memory.key, status=("active",))
        found = await try_memory("an approved question could not be checked", work, list[Memory]())
        is_current = any(each.id == memory.id for each in found)
        if not is_current:
            self.clear_approved(scope.project)
        return is_current

    def clear_approved(self, project: str) -> None:
        """Read what the project has approved again next time."""
        self._approved.pop(project, None)

    async def find_similar_memories(self, question: str, vetted: Iterable[Memory]) -> list[tuple[float, Memory]]:
        """Return statements whose questions are similar to one, with the similarity: the cosine of their vectors, or,
        without an embedder, the share of words that they have in common. Of many, those with common words are
        compared."""
        asked, known = set(lexemes(question)), list(vetted)
        if not known:
            return []
        words = {memory.id: set(lexemes(read_question(memory))) for memory in known}
        some = nlargest(MAX_COMPARED, known, key=lambda memory: len(asked & words[memory.id]))
        work = self.engine.runtime.embed([question, *map(read_question, some)])
        vectors = await try_memory("questions could not be compared", work, None)
        if vectors is None:
            shares = [(len(asked & words[each.id]) / max(len(asked | words[each.id]), 1), each) for each in some]
            return [pair for pair in shares if pair[0] >= SAME_WORDS]
        scores = [(float(vectors[0] @ vector), memory) for vector, memory in zip(vectors[1:], some, strict=True)]
        return [pair for pair in scores if pair[0] >= SIMILAR_EXAMPLE]

    async def find_session(self, scope: Scope) -> Scope:
        """Return the scope with its session: if none is named, the last one within the session window, or a new one. It
        is named before memory is read, so that the request belongs to it and is forgotten with it."""
        if scope.session is not None:
            return scope
        session, minutes = str(uuid7()), self.settings.session_window
        if minutes and self.settings.enabled:
            work = self.engine.conversations(scope, limit=1)
            since = datetime.now(UTC) - timedelta(minutes=minutes)
            for talk in await try_memory("the last session could not be read", work, []):
                session = talk.session if talk.updated_at >= since else session
        return replace(scope, session=session)


def resume_context(ask: Ask, memory: QuestionMemory) -> Ask:
    """Return the question with the context of the session's last one, if it brings none."""
    stored = filter(None, map(read_stored_context, reversed(memory.turns)))
    return replace(ask, context=next(stored, None)) if ask.context is None else ask


def add_session_meanings(
    question: str, context: SessionContext | None, found: Sequence[Resolution]
) -> list[Resolution]:  # fmt: skip
    """Return what words mean in this session and otherwise, without the meanings of terms that contain, or are part of,
    a term of a higher tier: of "recent" for the user and "recent orders" in the glossary, the user's counts."""
    definitions = context.definitions if context else {}
    own = resolve_terms(list_terms(question, MAX_WORDS), definitions, (), (), ()) if definitions else []
    words = [(TIERS.index(each.tier), each) for each in (*own, *found) if each.tier]
    stems = {each.term: f" {' '.join(stem_phrase(each.term))} " for _, each in words}

    def is_overruled(tier: int, word: Resolution) -> bool:
        higher = [stems[each.term] for other, each in words if other < tier]
        return any(term in stems[word.term] or stems[word.term] in term for term in higher)

    return [word for tier, word in words if not is_overruled(tier, word)]


def find_similar(
    recall: Recall, turns: Sequence[Turn], ask: Ask, similarity: float, rejected: Collection[str]
) -> tuple[Turn, ...]:
    """Return questions that came to SQL: the same text first, then those of similar meaning, each statement once; none
    that was found wrong. A recall leaves out the last turn of the session that says just this, so it is added."""
    wanted = {normalize_question(ask.question), normalize_question(recall.query.text)}
    same = [turn for turn in (*turns, *(hit.turn for hit in recall.hits)) if normalize_question(turn.text) in wanted]
    near = [hit.turn for hit in recall.hits if "vector" in hit.arms and hit.arms["vector"].score >= similarity]
    once = {get_data(turn)["sql"]: turn for turn in reversed(list(filter(is_answered, (*same, *near))))}
    return tuple(turn for sql, turn in reversed(once.items()) if sql not in rejected)


def is_answered(turn: Turn) -> bool:
    return turn.role == "user" and bool(get_data(turn).get("sql"))


def read_question(memory: Memory) -> str:
    """Return the question of a vetted statement; as a key it may have been too long."""
    data = get_data(memory)
    return str(data.get("original_query") or data.get("question") or memory.key)


# What may be seen now -------------------------------------------------------------------------------------------------


def restrict_memory(memory: QuestionMemory, source: str, view: View, budget: int) -> QuestionMemory:
    """Return what was said and asked before about this source and about what may be seen of it, with the text that a
    model is shown: the newest first, within the budget of tokens."""
    turns = tuple(turn for turn in memory.turns if can_see_turn(turn, source, view))
    similar = tuple(turn for turn in memory.similar if is_about(turn, source, view))
    asked = [f"Asked before: {get_data(turn).get('standalone') or turn.text}\n{write_sql(turn)}" for turn in similar]
    lines = list(filter(None, (*asked, *map(write_line, reversed(turns)))))
    spent = list(accumulate(count_tokens(line) + 1 for line in lines))
    shown = bisect_right(spent, budget)
    text = "\n".join(lines[:shown])
    tokens = count_tokens(text) if text else 0
    return replace(memory, turns=turns, similar=similar, text=text, tokens=tokens, truncated=shown < len(lines))


def can_see_turn(turn: Turn, source: str, view: View) -> bool:
    """Return whether a turn is about what may be seen: of another source only what the user said; turns of other
    applications are about no table."""
    data = get_data(turn)
    if data.get("host") != "sql":
        return True
    if data.get("source") != source:
        return turn.role == "user"
    return not data.get("sql") or can_see(view, str(data["sql"]), data.get("tables") or ())


def can_see(view: View, sql: str, tables: Iterable[str] = ()) -> bool:
    if any(table.casefold() not in view.names for table in tables):
        return False
    if view.is_whole:
        return True
    try:
        check_sql(sql, view.catalog.dialect, view.allowed)
    except InvalidInput:
        return False
    return True


def write_line(turn: Turn) -> str:
    """Return a turn as a model is shown it. Of our own answers it is the statement or the question back: a description
    of tables may name more than may be seen now."""
    data = get_data(turn)
    if turn.role != "assistant":
        return f"User: {turn.text}" if turn.role == "user" else ""
    if data.get("sql"):
        return write_sql(turn)
    is_shown = data.get("host") != "sql" or data.get("clarifications")
    return f"Assistant: {turn.text[:300]}" if is_shown else ""


def write_sql(turn: Turn) -> str:
    return f"SQL: {get_data(turn)['sql']}"


# Earlier questions ----------------------------------------------------------------------------------------------------


async def list_questions(engine: Engine, scope: Scope, source: str, view: View, limit: int) -> list[dict[str, Any]]:
    """Return what a user asked of a source lately, over their sessions, the last question first, with how they rated
    the answers; only questions over what may be seen now."""
    talks = await engine.conversations(scope, limit=MAX_SESSIONS)
    places = [replace(scope, session=talk.session) for talk in talks]
    histories = await asyncio.gather(*(engine.history(place, limit=min(200, 2 * limit)) for place in places))
    ratings = {
        (normalize_question(read_question(each)), each.value): get_data(each).get("rating")
        for each in reversed(await engine.memories(scope, kinds=("question",), status=("active", "retracted")))
    }

    def describe(turn: Turn) -> dict[str, Any]:
        data = get_data(turn)
        question = {"ref": turn.ref, "session": turn.session, "question": turn.text, "at": turn.at}
        rating = ratings.get((normalize_question(turn.text), data["sql"]))
        return {**question, "sql": data["sql"], "tables": data.get("tables") or [], "feedback": rating}

    asked = [turn for turns in histories for turn in turns if is_answered(turn) and is_about(turn, source, view)]
    asked.sort(key=lambda turn: str(turn.at), reverse=True)
    return [describe(turn) for turn in asked[:limit]]


def is_about(turn: Turn, source: str, view: View) -> bool:
    data = get_data(turn)
    return (data.get("host"), data.get("source")) == ("sql", source) and can_see_turn(turn, source, view)
