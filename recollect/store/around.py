"""What stands around a question: memories of the user and of the project, episodes, turns that were overtaken, and the
end of the session; all in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.model.conversation import Turn
from recollect.model.episode import Episode
from recollect.model.ids import ScopeId
from recollect.model.memory import Memory
from recollect.model.ontology import Term
from recollect.model.rank import Overtaken
from recollect.model.sketch import quoted
from recollect.model.window import Window
from recollect.store.database import Database, Row, Statement
from recollect.store.episodes import as_episode
from recollect.store.memories import Lookup, as_memory, known_by
from recollect.store.rows import as_turn
from recollect.store.terms import as_term, terms_by
from recollect.store.wire_format import VectorArray, Vectors

EPISODES = 6  # candidates


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Memories and episodes each with the lexemes of the question that they have."""

    mine: Sequence[tuple[Memory, Sequence[str]]] = ()
    project: Sequence[tuple[Memory, Sequence[str]]] = ()
    episodes: Sequence[tuple[Episode, float | None, Sequence[str]]] = ()
    overtaken: Sequence[Overtaken] = ()
    recent: Sequence[Turn] = ()
    terms: Sequence[Term] = ()
    window: Window | None = None  # `recent` as a cache may keep it


@dataclass(frozen=True, slots=True)
class Around:
    """What to look for. `session` limits episodes; `recent` turns are read from the end of `current`, or for a cache
    (`is_cached`) only those after what it `kept`."""

    look: Lookup
    vector: Vectors | None
    model: int | None
    session: str | None
    current: str | None
    recent: int
    now: datetime
    memories: bool = True
    episodes: bool = True
    is_cached: bool = False
    kept: Window | None = None


class AroundStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, scope: ScopeId, project: ScopeId, around: Around) -> Surroundings:
        wanted = dict(_statements(project, around))
        rows = dict(zip(wanted, await self._database.run(scope, *wanted.values(), planned=False), strict=True))
        window = _window(rows.get("window", ()), around)
        recent = window.turns if window else [as_turn(*row) for row in reversed(rows.get("recent", ()))]
        return Surroundings(
            mine=[(as_memory(row[:-1]), row[-1] or ()) for row in rows.get("mine", ())],
            project=[(as_memory(row[:-1]), row[-1] or ()) for row in rows.get("project", ())],
            episodes=[(as_episode(row), row[12], row[13] or ()) for row in rows.get("episodes", ())],
            overtaken=[_overtaken(row) for row in rows.get("overtaken", ())],
            terms=[as_term(row) for row in rows.get("terms", ())],
            recent=recent,
            window=window,
        )


def _statements(project: ScopeId, around: Around) -> list[tuple[str, Statement]]:
    """The user's first: opening the project's scope closes the user's."""
    statements: list[tuple[str, Statement]] = [("overtaken", ("memory.overtaken", known_by(around.look)[1]))]
    if around.recent and around.current is not None:
        statements.append(("window", _since(around)) if around.is_cached else ("recent", _last(around)))
    if around.episodes:
        statements.append(("episodes", ("episode.score", _near(around))))
    if around.memories:
        name, parameters = known_by(around.look)
        statements += [
            ("mine", (name, parameters)),
            ("open", ("server.open_scope", {"scope": project})),
            ("project", (name, {**parameters, "scope": project})),
            ("terms", terms_by(project, around.look.terms)),
        ]
    return statements


def _last(around: Around) -> Statement:
    return "turn.recent", {"session": around.current, "limit": around.recent, "now": around.now, "before": None}


def _since(around: Around) -> Statement:
    kept = around.kept
    known = {
        "known": kept and kept.conversation,
        "redactions": kept and kept.redactions,
        "last": kept and kept.turns[-1].index,
        "at": kept and kept.turns[-1].at,
    }
    return "turn.window", {"session": around.current, "limit": around.recent, "now": around.now, **known}


def _window(rows: Sequence[Row], around: Around) -> Window | None:
    """The last turns: those that were kept, if the database says that they hold, and those since."""
    if not rows:
        return None
    conversation, redactions, holds = rows[0][:3]
    kept = around.kept if around.kept and holds else Window(conversation, redactions, ())
    return kept.with_later([as_turn(*row[3:]) for row in reversed(rows) if row[4] is not None], around.recent)


def _near(around: Around) -> dict[str, object]:
    return {
        "session": around.session,
        "as_of": around.look.as_of,
        "words": " | ".join(quoted(word) for word in around.look.words),
        "lexemes": list(around.look.words),
        "vector": None if around.vector is None else VectorArray(around.vector[None, :]),
        "model": around.model,
        "limit": EPISODES,
    }


def _overtaken(row: Row) -> Overtaken:
    return (row[0], row[1]), None if row[2] is None else (row[2], row[3])
