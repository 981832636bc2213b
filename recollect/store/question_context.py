"""What recall and applications read for a question besides the turns found: memories of user and project, episodes,
replaced turns, terms and the end of the session; all in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.recall.lexemes import lexemes
from recollect.recall.rank import Overtaken
from recollect.recall.sketch import quoted
from recollect.store.database import Row, Statement, StorePart
from recollect.store.memories import Lookup, as_memory, known_statement
from recollect.store.terms import TermMeanings, as_term, meanings_statement, terms_statement
from recollect.store.wire_format import Vectors, as_turn, to_row, wrap_vector
from recollect.store.work import as_episode
from recollect.values.conversation import Episode, Turn, Window
from recollect.values.memory import FACTS, Memory
from recollect.values.resolution import Brief, Briefing
from recollect.values.scope import Scope, ScopeId
from recollect.values.term import Term

EPISODES = 6  # candidates


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """Memories and episodes, each with the question's lexemes that it contains, and the end of the session."""

    mine: Sequence[tuple[Memory, Sequence[str]]] = ()
    project: Sequence[tuple[Memory, Sequence[str]]] = ()
    episodes: Sequence[tuple[Episode, float | None, Sequence[str]]] = ()
    overtaken: Sequence[Overtaken] = ()
    recent: Sequence[Turn] = ()
    terms: Sequence[Term] = ()
    window: Window | None = None  # `recent` as a cache may keep it


@dataclass(frozen=True, slots=True)
class Arms:
    """What the search arms look for; in one session, or in all."""

    terms: Sequence[str]
    vector: Vectors | None
    model: int | None
    session: str | None
    as_of: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True)
class ContextLookup:
    """What to read. `recent` turns are read from the end of the session `current`, or for a cache (`is_cached`) only
    those after what it `kept`."""

    look: Lookup
    arms: Arms
    current: str | None
    recent: int
    memories: bool = True
    episodes: bool = True
    is_cached: bool = False
    kept: Window | None = None


class QuestionContextStore(StorePart):
    async def read(self, scope: ScopeId, project: ScopeId, around: ContextLookup) -> QuestionContext:
        wanted = _statements(project, around)
        rows = dict(zip(wanted, await self._database.run(scope, *wanted.values(), planned=False), strict=True))
        window = _build_window(rows.get("window", ()), around)
        recent = window.turns if window else [as_turn(*row) for row in reversed(rows.get("recent", ()))]
        return QuestionContext(
            mine=_read_memories(rows.get("mine", ())),
            project=_read_memories(rows.get("project", ())),
            episodes=[(as_episode(row), row[12], row[13] or ()) for row in rows.get("episodes", ())],
            overtaken=[(row[:2], None if row[2] is None else row[2:4]) for row in rows.get("overtaken", ())],
            terms=[as_term(row) for row in rows.get("terms", ())],
            recent=recent,
            window=window,
        )

    async def find_facts(self, project: ScopeId, words: Iterable[str], most: int) -> list[Memory]:
        """Return what the project knows about some words, best first."""
        [rows] = await self._database.run(project, facts_statement(words, most), planned=False)
        return [as_memory(row) for row in rows]

    async def read_briefing(
        self, scope: Scope, wanted: Brief, stems: Sequence[str], now: datetime
    ) -> tuple[Briefing, TermMeanings]:
        """Return the briefing without the meaning of its terms, and what may say it."""
        # The user's first: opening the project's scope closes the user's.
        statements = _user_statements(scope.session, wanted, stems, now)
        statements |= _project_statements(scope.project_id, wanted, stems)
        results = await self._database.run(scope.id, *statements.values(), planned=False)
        rows = dict(zip(statements, results, strict=True))
        lists = ("own", "shared", "mine", "ours", "facts")
        memories = {name: [as_memory(row) for row in rows.get(name, ())] for name in lists}
        briefing = Briefing(
            wanted.question,
            turns=[as_turn(*row) for row in reversed(rows.get("turns", ()))],
            own=memories["own"],
            shared=memories["shared"],
            is_summarized=bool(rows.get("summary")),
            facts=memories["facts"],
        )
        terms = [as_term(row) for row in rows.get("terms", ())]
        return briefing, TermMeanings(memories["mine"], memories["ours"], terms)


def _statements(project: ScopeId, around: ContextLookup) -> dict[str, Statement]:
    """Return the statements, the user's first: opening the project's scope closes the user's."""
    name, parameters = known_statement(around.look)
    statements: dict[str, Statement] = {"overtaken": ("memory.overtaken", parameters)}
    if around.recent and around.current is not None:
        if around.is_cached:
            statements["window"] = _window_statement(around)
        else:
            statements["recent"] = _recent_statement(around.current, around.recent, around.arms.now)
    if around.episodes:
        words = {key: parameters[key] for key in ("words", "lexemes")}
        vector = wrap_vector(around.arms.vector)
        statements["episodes"] = (
            "episode.score",
            {**to_row(around.arms), **words, "vector": vector, "limit": EPISODES},
        )
    if around.memories:
        statements["mine"] = (name, parameters)
        statements["open"] = ("server.open_scope", {"scope": project})
        statements["project"] = (name, {**parameters, "scope": project})
        statements["terms"] = terms_statement(project, around.look.terms)
    return statements


def _recent_statement(session: str, limit: int, now: datetime) -> Statement:
    return "turn.recent", {"session": session, "limit": limit, "now": now, "before": None}


def _window_statement(around: ContextLookup) -> Statement:
    kept = around.kept
    known = {
        "known": kept and kept.conversation,
        "redactions": kept and kept.redactions,
        "last": kept and kept.turns[-1].index,
        "at": kept and kept.turns[-1].at,
    }
    return "turn.window", {"session": around.current, "limit": around.recent, "now": around.arms.now, **known}


def _build_window(rows: Sequence[Row], around: ContextLookup) -> Window | None:
    """Return the last turns: the cached ones, if the database says that they are valid, and those since."""
    if not rows:
        return None
    conversation, redactions, holds = rows[0][:3]
    kept = around.kept if around.kept and holds else Window(conversation, redactions, ())
    return kept.extend_with([as_turn(*row[3:]) for row in reversed(rows) if row[4] is not None], around.recent)


def _read_memories(rows: Sequence[Row]) -> list[tuple[Memory, Sequence[str]]]:
    return [(as_memory(row[:-1]), row[-1] or ()) for row in rows]


def _user_statements(session: str | None, wanted: Brief, stems: Sequence[str], now: datetime) -> dict[str, Statement]:
    standing = _standing_parameters(wanted) | {"kinds": list(wanted.kinds)}
    statements: dict[str, Statement] = {"own": ("memory.standing", standing)}
    if session is not None:
        statements["turns"] = _recent_statement(session, wanted.recent, now)
        statements["summary"] = ("episode.first", {"session": session})
    if stems:
        statements["mine"] = meanings_statement(stems)
    return statements


def _project_statements(project: ScopeId, wanted: Brief, stems: Sequence[str]) -> dict[str, Statement]:
    shared = _standing_parameters(wanted) | {"scope": project, "kinds": [], "status": ["active"]}
    statements: dict[str, Statement] = {
        "open": ("server.open_scope_to_write", {"scope": project}),
        "shared": ("memory.standing", shared),
    }
    if wanted.facts and (words := lexemes(wanted.question)):
        name, parameters = facts_statement(words, wanted.facts)
        statements["facts"] = (name, {**parameters, "scope": project})
    if stems:
        statements["ours"] = meanings_statement(stems, project)
        statements["terms"] = terms_statement(project, stems)
    return statements


def facts_statement(words: Iterable[str], most: int) -> Statement:
    listed = list(words)
    asked = " | ".join(quoted(word) for word in listed)
    return "memory.facts", {"kinds": list(FACTS), "words": asked, "lexemes": listed, "limit": most}


def _standing_parameters(wanted: Brief) -> dict[str, object]:
    return {"habits": list(wanted.habits), "status": list(wanted.status), "limit": wanted.limit}
