"""The store: one method per read or write. All SQL is in the .sql files beside this."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.errors import Conflict
from recollect.recall.fuse import Candidates, Chapters, Run
from recollect.recall.sketch import Flag, Sketch, quoted
from recollect.store.database import Database, Row, Statement, Transaction
from recollect.store.documents import ChunkStore, DocumentStore
from recollect.store.erasure import ErasureStore, RedactionStore
from recollect.store.keys import KeyStore
from recollect.store.memories import MemoryStore
from recollect.store.question_context import Arms, QuestionContextStore
from recollect.store.terms import DataSourceStore, TermStore
from recollect.store.upkeep import ReportStore, UpkeepStore
from recollect.store.wire_format import (
    VectorArray,
    Vectors,
    as_turn,
    to_row,
    unpack_candidates,
    unpack_chapters,
    wrap_vector,
)
from recollect.store.work import EpisodeStore, WorkStore
from recollect.threads import run_in_thread
from recollect.values.conversation import Conversation, Recorded, Turn
from recollect.values.scope import ConversationId, RequestId, ScopeId

BATCH = 1000  # turns in one statement; it bounds the memory that the statement takes
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a request got its idempotency key. If so, `is_repetition` says whether an earlier attempt ended without
    an answer; if not, `body` and `answer` are those of the request that has it."""

    is_taken: bool
    is_repetition: bool
    body: bytes
    answer: Any


@dataclass(frozen=True, slots=True)
class Append:
    """Turns to append to the log, with the data derived from them."""

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


class Store:
    """Access to the database; each noun has its own part."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.memories = MemoryStore(database)
        self.work = WorkStore(database)
        self.terms = TermStore(database)
        self.upkeep = UpkeepStore(database)
        self.episodes = EpisodeStore(database)
        self.question_context = QuestionContextStore(database)
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
        """Append turns to their conversation, which is created if it does not exist."""
        if len(new.turns) <= BATCH:
            [row] = await self._database.write_one(scope, "turn.append", _append_parameters(new))
            return _build_recorded(row, new)
        async with self._database.transaction(scope) as transaction:
            return await self._append_in(transaction, new)

    async def append_once(self, scope: ScopeId, new: Append, key: str, body: bytes) -> Recorded:
        """Append for the first request with this key. A later one returns the first answer, or raises Conflict if its
        body differs."""
        async with self._database.transaction(scope) as transaction:
            kept = hash_key(key)
            if await transaction.rows("idempotency.claim", key=kept, body=body, now=new.now):
                recorded = await self._append_in(transaction, new)
                await transaction.rows("idempotency.answer", key=kept, answer=recorded.to_json())
                return recorded
            [(first_body, answer)] = await transaction.rows("idempotency.answered", key=kept)
            if first_body != body:
                raise Conflict(f"idempotency key {key!r} was used for another request; use a new key for this one")
            return Recorded.replay(answer)

    async def _append_in(self, transaction: Transaction, new: Append) -> Recorded:
        """Return what was recorded. COPY is not faster, and it cannot write through row-level security: it takes
        temporary tables, which the application's role may not create."""
        for batch in _split_batches(new):
            [row] = await transaction.rows("turn.append", **(await run_in_thread(_append_parameters, batch)))
        return _build_recorded(row, new)

    # Other writes under a key

    async def claim_key(self, scope: ScopeId, key: str, body: bytes, now: datetime, abandoned: datetime) -> Claim:
        """Claim a key for a request; the result says whether it may go ahead."""
        parameters = {"key": hash_key(key), "body": body, "now": now, "abandoned": abandoned}
        look, take = ("idempotency.answered", parameters), ("idempotency.take", parameters)
        before, taken, [(first_body, answer)] = await self._database.run(scope, look, take, look, write=True)
        return Claim(bool(taken), bool(taken and before), first_body, answer)

    async def store_answer(self, scope: ScopeId, key: str, answer: str) -> None:
        await self._database.write(scope, "idempotency.answer", key=hash_key(key), answer=answer)

    async def release_key(self, scope: ScopeId, key: str) -> None:
        """Free the key of a request that changed nothing."""
        await self._database.write(scope, "idempotency.free", key=hash_key(key))

    async def leave_key(self, scope: ScopeId, key: str, abandoned: datetime) -> None:
        """Give up the key of a request that may have been carried out."""
        await self._database.write(scope, "idempotency.leave", key=hash_key(key), abandoned=abandoned)

    # Reading it

    async def find_conversation(self, scope: ScopeId, session: str, now: datetime) -> Conversation | None:
        rows = await self._database.read(scope, "conversation.find", session=session, now=now)
        return Conversation(*rows[0]) if rows else None

    async def find_latest_session(self, scope: ScopeId, since: datetime, now: datetime) -> str | None:
        rows = await self._database.read(scope, "conversation.latest", since=since, now=now)
        return rows[0][0] if rows else None

    async def read_recent(
        self, scope: ScopeId, session: str, limit: int, now: datetime, before: int | None = None
    ) -> list[Turn]:
        """Return the last turns of a session, oldest first."""
        rows = await self._database.read(scope, "turn.recent", session=session, limit=limit, now=now, before=before)
        return [as_turn(*row) for row in reversed(rows)]

    async def score_turns(self, scope: ScopeId, arms: Arms, most: int) -> tuple[Candidates, int]:
        """Return every turn that may be recalled with each arm's score, and how many there are. If those are more than
        `most`, none is read."""
        parameters = {**_score_parameters(arms), "most": most}
        known, sketches, cosines = await self._database.run(
            scope, ("conversation.searchable", parameters), *_arm_statements(arms, "score", parameters)
        )
        return _build_candidates(known, sketches, cosines, arms), sum(row[2] for row in known)

    async def score_chapters(self, scope: ScopeId, arms: Arms) -> tuple[Chapters, list[Run]]:
        """Return the chapters of a large scope, each scored as one document, and the runs of turns that have none."""
        parameters = _score_parameters(arms)
        scored, uncovered = await self._database.run(
            scope, ("chapter.score", parameters), ("chapter.uncovered", parameters)
        )
        return unpack_chapters(scored[0][0], len(arms.terms)), uncovered

    async def score_within(self, scope: ScopeId, arms: Arms, runs: Sequence[Run]) -> Candidates:
        """Score the turns within these runs."""
        listed = json.dumps([{"c": str(c), "first": first, "last": last} for c, first, last in runs])
        parameters = {**_score_parameters(arms), "runs": listed}
        known, sketches, cosines = await self._database.run(
            scope, ("conversation.searchable_of", parameters), *_arm_statements(arms, "score_within", parameters)
        )
        return _build_candidates(known, sketches, cosines, arms)

    async def list_unchaptered(self, scope: ScopeId) -> list[ConversationId]:
        return [row[0] for row in await self._database.read(scope, "chapter.unfinished")]

    async def write_chapters(self, scope: ScopeId, conversation: ConversationId, turns: int) -> None:
        """Write chapters of `turns` turns each, up to the end of the conversation."""
        parameters = {"conversation": conversation, "turns": turns}
        steps = ("conversation.lock", "chapter.drop_last", "chapter.write", "chapter.embed", "chapter.finish")
        async with self._database.transaction(scope) as transaction:
            for step in steps:
                await transaction.rows(step, **parameters)

    async def find_similar_words(
        self, scope: ScopeId, words: Sequence[str], unknown: Sequence[str], least: float
    ) -> dict[str, str]:
        """Return, for each word, the most similar one that was said; of the `unknown` ones another than itself."""
        initials = sorted({word[0] for word in words})
        rows = await self._database.read(
            scope, "sketch.similar_words", words=list(words), unknown=list(unknown), initials=initials, least=least
        )
        return dict(rows)

    async def load_turns(
        self, scope: ScopeId, keys: Sequence[tuple[ConversationId, int]], most_chars: int
    ) -> list[Turn]:
        """Return the turns at these positions, in this order; forgotten ones are left out."""
        listed = [{"n": n, "c": str(conversation), "i": index} for n, (conversation, index) in enumerate(keys)]
        [rows] = await self._database.run(
            scope, ("turn.chosen", {"keys": json.dumps(listed), "most_chars": most_chars}), planned=False
        )
        return [as_turn(*row) for row in rows]

    async def mark(self, scope: ScopeId, session: str, index: int, flag: int, marked: bool) -> bool:
        """Mark or unmark a turn as high value; False if there is none."""
        parameters = {"session": session, "index": index, "flag": flag, "marked": marked}
        rows, _ = await self._database.run(
            scope, ("sketch.mark", parameters), ("conversation.look_again", parameters), write=True
        )
        return bool(rows)

    async def list_all_conversations(self, scope: ScopeId) -> list[Conversation]:
        return [Conversation(*row) for row in await self._database.read(scope, "conversation.all")]

    async def list_conversations(
        self, scope: ScopeId, now: datetime, limit: int, offset: int, host: str | None
    ) -> list[Conversation]:
        """Return the conversations that have not expired, most recently used first."""
        rows = await self._database.read(scope, "conversation.listed", now=now, limit=limit, offset=offset, host=host)
        return [Conversation(*row) for row in rows]

    async def rename(self, scope: ScopeId, session: str, name: str, now: datetime) -> Conversation | None:
        rows = await self._database.write(scope, "conversation.rename", session=session, name=name, now=now)
        return Conversation(*rows[0]) if rows else None

    async def record_outcome(self, scope: ScopeId, values: Mapping[str, Any]) -> None:
        await self._database.write(scope, "request.answered", **values)

    async def iter_turns(self, scope: ScopeId, conversation: Conversation) -> AsyncIterator[Turn]:
        """Yield a conversation from its beginning, read a page at a time."""
        start = 0
        while start < conversation.turns:
            page = {"conversation": conversation.id, "from": start, "limit": PAGE}
            rows = await self._database.read(scope, "turn.of_conversation", **page)
            for row in rows:
                yield as_turn(conversation.session, *row)
            if len(rows) < PAGE:
                return
            start = rows[-1][0] + 1

    # Requests

    async def add_requests(self, scope: ScopeId, rows: Sequence[dict[str, Any]]) -> None:
        await self._database.run(scope, *(("request.add", row) for row in rows), write=True)

    async def find_request(self, scope: ScopeId, request: RequestId) -> Row | None:
        rows = await self._database.read(scope, "request.find", id=request)
        return rows[0] if rows else None

    async def list_requests(self, scope: ScopeId) -> list[Row]:
        return await self._database.read(scope, "request.all")

    # Vectors, kept up to date by the worker

    async def get_model_id(self, name: str, dimension: int) -> int:
        """Return the number under which a model's vectors are stored."""
        named = {"name": name, "dimension": dimension}
        if not (found := await self._database.ask("embedding.model", **named)):
            await self._database.ask("embedding.add_model", **named)
            found = await self._database.ask("embedding.model", **named)
        return int(found[0][0])

    async def list_unembedded(
        self, scope: ScopeId, conversation: ConversationId, model: int, high_value: bool, limit: int
    ) -> list[Turn]:
        wanted = {"conversation": conversation, "model": model, "limit": limit, "high_value": high_value}
        rows = await self._database.read(scope, "embedding.missing", **wanted, flag=int(Flag.HIGH_VALUE))
        return [as_turn("", *row) for row in rows]

    async def add_vectors(
        self, scope: ScopeId, conversation: ConversationId, model: int, turns: Sequence[int], vectors: Vectors
    ) -> None:
        places = json.dumps([{"i": turn, "v": n} for n, turn in enumerate(turns, 1)])
        parameters = {"conversation": conversation, "model": model, "places": places, "vectors": VectorArray(vectors)}
        # Under the conversation's lock: otherwise vectors could outlive a conversation that is forgotten meanwhile.
        await self._database.run(scope, ("conversation.lock", parameters), ("embedding.add", parameters), write=True)


def hash_key(key: str) -> str:
    """Return what is stored of an idempotency key: callers may put anything into one, also somebody's name."""
    return hashlib.sha256(key.encode()).hexdigest()


def _build_recorded(row: Row, new: Append) -> Recorded:
    conversation = Conversation(*row)
    return Recorded(conversation, first=conversation.turns - len(new.turns), count=len(new.turns))


def _split_batches(new: Append) -> Iterator[Append]:
    """Yield the same turns in order, at most BATCH at a time."""
    for start in range(0, max(1, len(new.turns)), BATCH):
        end = start + BATCH
        rows = [n for n, position in enumerate(new.embedded) if start <= position < end]
        yield replace(
            new,
            turns=new.turns[start:end],
            sketches=new.sketches[start:end],
            vectors=None if new.vectors is None else new.vectors[rows],
            embedded=[new.embedded[n] - start for n in rows],
        )


def _append_parameters(new: Append) -> dict[str, Any]:
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
    return {
        **to_row(new),
        "count": len(new.turns),
        "interactions": sum(turn.role == "user" for turn in new.turns),
        "embedded_model": (new.model or 0) if new.covered else 0,
        "turns": json.dumps(turns),
        "vectors": VectorArray(new.vectors) if new.vectors is not None and place else None,
    }


def _arm_statements(arms: Arms, query: str, parameters: dict[str, Any]) -> tuple[Statement, Statement]:
    """Return the statements of the words arm and, if the question has a vector, of the vector arm."""
    vectors = "embedding." + query if arms.vector is not None else "embedding.nothing"
    return (f"sketch.{query}", parameters), (vectors, parameters)


def _build_candidates(known: list[Row], sketches: list[Row], cosines: list[Row], arms: Arms) -> Candidates:
    sessions = {ConversationId(row[0]): row[1] for row in known}
    found = unpack_candidates(sessions, sketches, cosines, len(arms.terms))
    redactions = {ConversationId(row[0]): row[3] for row in known if row[3]}
    return replace(found, redactions=redactions) if redactions else found


def _score_parameters(arms: Arms) -> dict[str, Any]:
    return {**to_row(arms), "terms": [quoted(term) for term in arms.terms], "vector": wrap_vector(arms.vector)}
