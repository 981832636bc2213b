"""The store: what the flows ask of the database, one method per question. All SQL is in the .sql files beside this."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.model.candidates import Candidates, Chapters
from recollect.model.chapter import Run
from recollect.model.conversation import Conversation, Recorded, Turn
from recollect.model.ids import ConversationId, RequestId, ScopeId
from recollect.model.sketch import Flag, Sketch, quoted
from recollect.store.around import AroundStore
from recollect.store.background import BackgroundStore
from recollect.store.chunks import ChunkStore
from recollect.store.data_sources import DataSourceStore
from recollect.store.database import Database, Row, Statement, Transaction
from recollect.store.documents import DocumentStore
from recollect.store.episodes import EpisodeStore
from recollect.store.erasure import ErasureStore
from recollect.store.keys import KeyStore
from recollect.store.memories import MemoryStore
from recollect.store.redaction import RedactionStore
from recollect.store.report import ReportStore
from recollect.store.rows import as_turn
from recollect.store.terms import TermStore
from recollect.store.upkeep import UpkeepStore
from recollect.store.wire_format import VectorArray, Vectors, copied_vectors, copy_row, unpacked, unpacked_chapters
from recollect.store.work import WorkStore

BULK = 200  # from this many turns on, COPY beats one JSON statement
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Append:
    """Turns on their way into the log, with what is derived from them."""

    project: str
    user: str
    session: str
    name: str
    conversation: ConversationId  # its id if it does not exist yet
    turns: Sequence[Turn]
    sketches: Sequence[Sketch]
    vectors: Vectors | None  # a row per turn of `embedded`
    embedded: Sequence[int]  # positions in `turns`
    model: int | None
    covered: bool  # nothing is left for the worker to embed
    now: datetime
    expires: datetime | None

    @property
    def parameters(self) -> dict[str, Any]:
        """What both ways of writing need for the conversation's row."""
        return {
            "project": self.project,
            "user": self.user,
            "session": self.session,
            "name": self.name,
            "conversation": self.conversation,
            "count": len(self.turns),
            "interactions": sum(turn.role == "user" for turn in self.turns),
            "now": self.now,
            "expires": self.expires,
            "embedded_model": (self.model or 0) if self.covered else 0,
        }


@dataclass(frozen=True, slots=True)
class Arms:
    """What the arms look for."""

    terms: Sequence[str]
    vector: Vectors | None
    model: int | None
    session: str | None
    as_of: datetime | None
    now: datetime


class Store:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.memories = MemoryStore(database)
        self.work = WorkStore(database)
        self.terms = TermStore(database)
        self.upkeep = UpkeepStore(database)
        self.episodes = EpisodeStore(database)
        self.around = AroundStore(database)
        self.background = BackgroundStore(database)
        self.erasure = ErasureStore(database)
        self.data_sources = DataSourceStore(database)
        self.documents = DocumentStore(database)
        self.chunks = ChunkStore(database)
        self.redaction = RedactionStore(database)
        self.keys = KeyStore(database)
        self.report = ReportStore(database)

    async def close(self) -> None:
        await self._database.close()

    # Writing the log

    async def append(self, scope: ScopeId, new: Append) -> Recorded:
        """Turns at the end of their conversation, which is made if need be."""
        if len(new.turns) < BULK:
            [row] = await self._database.write_one(scope, "turn.append", _appended(new))
            return _recorded(row, new)
        async with self._database.transaction(scope) as transaction:
            return await self._append_in(transaction, new)

    async def append_once(self, scope: ScopeId, new: Append, key: str, body: bytes) -> Recorded | None:
        """As `append` for the first request with this key. A later one gets the first one's answer, or None when its
        body is another."""
        async with self._database.transaction(scope) as transaction:
            if await transaction.rows("idempotency.claim", key=key, body=body, now=new.now):
                recorded = await self._append_in(transaction, new)
                await transaction.rows("idempotency.answer", key=key, answer=recorded.to_json())
                return recorded
            [(first_body, answer)] = await transaction.rows("idempotency.answered", key=key)
            return Recorded.replay(answer) if first_body == body else None

    async def _append_in(self, transaction: Transaction, new: Append) -> Recorded:
        if len(new.turns) < BULK:
            [row] = await transaction.rows("turn.append", **_appended(new))
            return _recorded(row, new)
        [row] = await transaction.rows("conversation.reserve", **new.parameters)
        recorded = _recorded(row, new)
        await self._copy(transaction, recorded.conversation.id, recorded.first, new)
        return recorded

    async def _copy(self, transaction: Transaction, conversation: ConversationId, first: int, new: Append) -> None:
        """COPY cannot pass row-level security, so it fills temporary tables, and INSERT passes them on."""
        await transaction.rows("turn.make_incoming")
        await transaction.copy(
            "turn.copy_incoming",
            (
                copy_row((i, *_logged(turn), *_sketched(s)))
                for i, (turn, s) in enumerate(zip(new.turns, new.sketches, strict=True), first)
            ),
        )
        await transaction.rows("turn.insert_incoming", conversation=conversation, now=new.now)
        await transaction.rows("sketch.insert_incoming", conversation=conversation)
        if new.vectors is not None and new.embedded:
            await transaction.rows("embedding.make_incoming")
            places = [first + position for position in new.embedded]
            await transaction.copy("embedding.copy_incoming", [copied_vectors(places, new.vectors)])
            await transaction.rows("embedding.insert_incoming", conversation=conversation, model=new.model)

    # Other writes under a key

    async def begin_once(
        self, scope: ScopeId, key: str, body: bytes, now: datetime, abandoned: datetime
    ) -> tuple[bytes, Any] | None:
        """None for the first request with this key; otherwise the first one's body and, if it is done, its answer."""
        parameters = {"key": key, "body": body, "now": now, "abandoned": abandoned}
        taken, answered = await self._database.run(
            scope, ("idempotency.take", parameters), ("idempotency.answered", parameters), write=True
        )
        return None if taken else (answered[0][0], answered[0][1])

    async def end_once(self, scope: ScopeId, key: str, answer: str) -> None:
        await self._database.run(scope, ("idempotency.answer", {"key": key, "answer": answer}), write=True)

    async def abandon_once(self, scope: ScopeId, key: str) -> None:
        await self._database.run(scope, ("idempotency.free", {"key": key}), write=True)

    # Reading it

    async def conversation(self, scope: ScopeId, session: str, now: datetime) -> Conversation | None:
        [rows] = await self._database.run(scope, ("conversation.find", {"session": session, "now": now}))
        return Conversation(*rows[0]) if rows else None

    async def latest_session(self, scope: ScopeId, since: datetime, now: datetime) -> str | None:
        [rows] = await self._database.run(scope, ("conversation.latest", {"since": since, "now": now}))
        return rows[0][0] if rows else None

    async def recent(
        self, scope: ScopeId, session: str, limit: int, now: datetime, before: int | None = None
    ) -> list[Turn]:
        """The last turns of a session, oldest first."""
        parameters = {"session": session, "limit": limit, "now": now, "before": before}
        [rows] = await self._database.run(scope, ("turn.recent", parameters))
        return [as_turn(*row) for row in reversed(rows)]

    async def score(self, scope: ScopeId, arms: Arms, most: int) -> tuple[Candidates, int]:
        """Every turn that may be recalled, with what each arm thinks of it, and how many there are. If those are more
        than `most`, none is read."""
        parameters = {**_scoring(arms), "most": most}
        known, sketches, cosines = await self._database.run(
            scope, ("conversation.searchable", parameters), *_arms(arms, "score", parameters)
        )
        return _candidates(known, sketches, cosines, arms), sum(row[2] for row in known)

    async def score_chapters(self, scope: ScopeId, arms: Arms) -> tuple[Chapters, list[Run]]:
        """The chapters of a giant scope, each scored as one document, and the runs of turns that none covers."""
        scored, uncovered = await self._database.run(
            scope, ("chapter.score", _scoring(arms)), ("chapter.uncovered", _scoring(arms))
        )
        return unpacked_chapters(scored[0][0], len(arms.terms)), [(row[0], row[1], row[2]) for row in uncovered]

    async def score_within(self, scope: ScopeId, arms: Arms, runs: Sequence[Run]) -> Candidates:
        """As `score`, within these runs of turns."""
        listed = json.dumps([{"c": str(c), "first": first, "last": last} for c, first, last in runs])
        parameters = {**_scoring(arms), "runs": listed}
        known, sketches, cosines = await self._database.run(
            scope, ("conversation.searchable_of", parameters), *_arms(arms, "score_within", parameters)
        )
        return _candidates(known, sketches, cosines, arms)

    async def unchaptered(self, scope: ScopeId) -> list[ConversationId]:
        [rows] = await self._database.run(scope, ("chapter.unfinished", {}))
        return [row[0] for row in rows]

    async def write_chapters(self, scope: ScopeId, conversation: ConversationId, turns: int) -> None:
        """Chapters of `turns` turns each, up to the end of the conversation."""
        parameters = {"conversation": conversation, "turns": turns}
        async with self._database.transaction(scope) as transaction:
            await transaction.rows("conversation.lock", **parameters)
            await transaction.rows("chapter.drop_last", **parameters)
            await transaction.rows("chapter.write", **parameters)
            await transaction.rows("chapter.finish", **parameters)

    async def similar_words(self, scope: ScopeId, words: Sequence[str], least: float) -> dict[str, str]:
        """For each word that nobody said, the most similar one that somebody did."""
        parameters = {"words": list(words), "initials": sorted({word[0] for word in words}), "least": least}
        [rows] = await self._database.run(scope, ("sketch.similar_words", parameters))
        return dict(rows)

    async def chosen(self, scope: ScopeId, keys: Sequence[tuple[ConversationId, int]], most_chars: int) -> list[Turn]:
        """The turns at these positions, in this order; one that was forgotten meanwhile is left out."""
        listed = [{"n": n, "c": str(conversation), "i": index} for n, (conversation, index) in enumerate(keys)]
        [rows] = await self._database.run(
            scope, ("turn.chosen", {"keys": json.dumps(listed), "most_chars": most_chars}), planned=False
        )
        return [as_turn(*row) for row in rows]

    async def mark(self, scope: ScopeId, session: str, index: int, flag: int, marked: bool) -> bool:
        """Marks a turn as of high value, or no longer; False if there is none."""
        parameters = {"session": session, "index": index, "flag": flag, "marked": marked}
        rows, _ = await self._database.run(
            scope, ("sketch.mark", parameters), ("conversation.look_again", parameters), write=True
        )
        return bool(rows)

    async def conversations(self, scope: ScopeId) -> list[Conversation]:
        [rows] = await self._database.run(scope, ("conversation.all", {}))
        return [Conversation(*row) for row in rows]

    async def listed(self, scope: ScopeId, now: datetime, limit: int, offset: int) -> list[Conversation]:
        """Those that have not expired, the last used first."""
        parameters = {"now": now, "limit": limit, "offset": offset}
        [rows] = await self._database.run(scope, ("conversation.listed", parameters))
        return [Conversation(*row) for row in rows]

    async def rename(self, scope: ScopeId, session: str, name: str, now: datetime) -> Conversation | None:
        parameters = {"session": session, "name": name, "now": now}
        [rows] = await self._database.run(scope, ("conversation.rename", parameters), write=True)
        return Conversation(*rows[0]) if rows else None

    async def answered(self, scope: ScopeId, values: Mapping[str, Any]) -> None:
        await self._database.run(scope, ("request.answered", dict(values)), write=True)

    async def turns(self, scope: ScopeId, conversation: Conversation) -> AsyncIterator[Turn]:
        """A conversation from its beginning, a page at a time."""
        start = 0
        while start < conversation.turns:
            parameters = {"conversation": conversation.id, "from": start, "limit": PAGE}
            [rows] = await self._database.run(scope, ("turn.of_conversation", parameters))
            for row in rows:
                yield as_turn(conversation.session, *row)
            if len(rows) < PAGE:
                return
            start = rows[-1][0] + 1

    # Requests

    async def add_requests(self, scope: ScopeId, rows: Sequence[dict[str, Any]]) -> None:
        await self._database.run(scope, *(("request.add", row) for row in rows), write=True)

    async def request(self, scope: ScopeId, request: RequestId) -> Row | None:
        [rows] = await self._database.run(scope, ("request.find", {"id": request}))
        return rows[0] if rows else None

    async def requests(self, scope: ScopeId) -> list[Row]:
        [rows] = await self._database.run(scope, ("request.all", {}))
        return rows

    # Vectors, kept up to date by the worker

    async def model_id(self, name: str, dimension: int) -> int:
        """The number under which a model's vectors are kept."""
        await self._database.ask("embedding.add_model", {"name": name, "dimension": dimension})
        [(model,)] = await self._database.ask("embedding.model", {"name": name, "dimension": dimension})
        return int(model)

    async def unembedded(
        self, scope: ScopeId, conversation: ConversationId, model: int, high_value: bool, limit: int
    ) -> list[Turn]:
        parameters = {
            "conversation": conversation,
            "model": model,
            "high_value": high_value,
            "flag": int(Flag.HIGH_VALUE),
            "limit": limit,
        }
        [rows] = await self._database.run(scope, ("embedding.missing", parameters))
        return [as_turn("", *row) for row in rows]

    async def add_vectors(
        self, scope: ScopeId, conversation: ConversationId, model: int, turns: Sequence[int], vectors: Vectors
    ) -> None:
        places = json.dumps([{"i": turn, "v": n} for n, turn in enumerate(turns, 1)])
        parameters = {"conversation": conversation, "model": model, "places": places, "vectors": VectorArray(vectors)}
        # Under the conversation's lock, or vectors could outlive a conversation that is forgotten meanwhile.
        await self._database.run(scope, ("conversation.lock", parameters), ("embedding.add", parameters), write=True)


def _recorded(row: Row, new: Append) -> Recorded:
    conversation = Conversation(*row)
    return Recorded(conversation, first=conversation.turns - len(new.turns), count=len(new.turns))


def _appended(new: Append) -> dict[str, Any]:
    place = {position: n for n, position in enumerate(new.embedded, 1)}
    turns = [
        {
            "i": i,
            "role": turn.role,
            "speaker": turn.speaker,
            "text": turn.text,
            "at": str(turn.at),
            "data": turn.data,
            "hv": turn.high_value,
            "flags": sketch.flags,
            "tokens": sketch.tokens,
            "length": sketch.length,
            "speaker_key": sketch.speaker_key,
            "terms": sketch.tsvector,
            "v": place.get(i),
        }
        for i, (turn, sketch) in enumerate(zip(new.turns, new.sketches, strict=True))
    ]
    vectors = VectorArray(new.vectors) if new.vectors is not None and place else None
    return {**new.parameters, "turns": json.dumps(turns), "model": new.model, "vectors": vectors}


def _logged(turn: Turn) -> tuple[Any, ...]:
    data = None if turn.data is None else json.dumps(turn.data)
    return turn.role, turn.speaker, turn.text, turn.at, data, turn.high_value


def _sketched(sketch: Sketch) -> tuple[Any, ...]:
    return sketch.speaker_key, sketch.flags, sketch.tokens, sketch.length, sketch.tsvector


def _arms(arms: Arms, query: str, parameters: dict[str, Any]) -> tuple[Statement, Statement]:
    """The words arm and, where the question has a vector, the vector arm."""
    vectors = "embedding." + query if arms.vector is not None else "embedding.nothing"
    return (f"sketch.{query}", parameters), (vectors, parameters)


def _candidates(known: list[Row], sketches: list[Row], cosines: list[Row], arms: Arms) -> Candidates:
    sessions = {ConversationId(row[0]): row[1] for row in known}
    found = unpacked(sessions, _packed(sketches), _packed(cosines), len(arms.terms))
    redactions = {ConversationId(row[0]): row[3] for row in known if row[3]}
    return replace(found, redactions=redactions) if redactions else found


def _packed(rows: list[Row]) -> list[tuple[ConversationId, bytes]]:
    return [(row[0], row[1]) for row in rows]


def _scoring(arms: Arms) -> dict[str, Any]:
    return {
        "terms": [quoted(term) for term in arms.terms],
        "vector": None if arms.vector is None else VectorArray(arms.vector[None, :]),
        "model": arms.model,
        "session": arms.session,
        "as_of": arms.as_of,
        "now": arms.now,
    }
