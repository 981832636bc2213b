"""Engine: the public API. Each method checks its arguments and calls one function of flows/, or of the store if there
is nothing to decide. Servers and applications use nothing below this module."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, get_args, overload

from recollect.deadline import Deadline, deadline
from recollect.errors import InvalidInput
from recollect.flows import documents as _documents
from recollect.flows import forget as _forget
from recollect.flows import identify as _identify
from recollect.flows import lookup as _lookup
from recollect.flows import maintain as _maintain
from recollect.flows import ontology as _ontology
from recollect.flows import reason as _reason
from recollect.flows import recall as _recall
from recollect.flows import record as _record
from recollect.flows import teach as _teach
from recollect.flows.dependencies import Dependencies
from recollect.flows.embed import Vectors
from recollect.flows.request_log import build_message_row
from recollect.flows.teach import MemoryFilter
from recollect.values.audit import Audit, Explanation, Outcome, Receipt
from recollect.values.conversation import Conversation, Episode, Recorded, Turn, TurnLike
from recollect.values.data_source import DataSource, ServerIdentity
from recollect.values.document import ChunkHit, Document, DocumentId, DocumentQuery, DocumentStatus, Passage, Upload
from recollect.values.identity import ApiKey, Credentials, Grant, Identity, KeyId, NewKey
from recollect.values.lesson import Lesson, Owner
from recollect.values.memory import Memory, MemoryKind, Status
from recollect.values.query import Context, Query, Recall, check_choice, check_range
from recollect.values.report import Report
from recollect.values.resolution import Brief, Briefing, Resolution
from recollect.values.scope import MemoryId, RequestId, Scope, parse_id
from recollect.values.term import ImportReport, Term, TermKind
from recollect.values.work import Health


class Engine:
    """Long-term memory for the users of a project. `recollect.connect()` returns one."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self.terms = Terms(deps)
        self.sources = Sources(deps)
        self.documents = Documents(deps)
        self.keys = Keys(deps)
        self.runtime = Runtime(deps)

    async def record(
        self, scope: Scope, turns: Turn | Iterable[TurnLike], *, idempotency_key: str | None = None
    ) -> Recorded:
        """Append messages, given as Turns or (role, text) pairs, to the log. They are durable and visible to the next
        read when this returns. Without a session in the scope, a new session is opened and its id returned. A repeated
        idempotency key with the same body returns the first answer and writes nothing; with another body it raises
        Conflict."""
        return await _record.record(self._deps, as_scope(scope), turns, idempotency_key)

    async def recall(self, scope: Scope, query: Query | str) -> Recall:
        """Return the turns relevant to a question, best first, each with an explanation."""
        return await _recall.recall(self._deps, as_scope(scope), as_query(query))

    async def context(self, scope: Scope, query: Query | str) -> Context:
        """Return text for a prompt: relevant memories, episodes and turns and the latest turns, cited, within the
        query's token budget."""
        return await _recall.build_context(self._deps, as_scope(scope), as_query(query))

    async def history(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Turn]:
        """Return the last turns of the scope's session, oldest first; `before` an index, to page backwards."""
        return await _lookup.read_history(self._deps, as_scope(scope), limit, before)

    async def conversation(self, scope: Scope) -> Conversation | None:
        """Return the scope's session, or None if the user has no such session."""
        return await _lookup.get_conversation(self._deps, as_scope(scope))

    async def conversations(
        self, scope: Scope, *, limit: int = 50, offset: int = 0, host: str | None = None
    ) -> list[Conversation]:
        """Return the user's conversations, most recently used first; with `host`, those in which that application
        recorded a turn (`data["host"]`)."""
        return await _lookup.list_conversations(self._deps, as_scope(scope), limit, offset, host)

    async def rename(self, scope: Scope, name: str) -> Conversation:
        """Rename the scope's session, which is named after its first question by default."""
        return await _record.rename_session(self._deps, as_scope(scope), name)

    async def resolve(self, scope: Scope, term: str, *, definitions: Mapping[str, str] | None = None) -> Resolution:
        """Return what a word means: in this session (`definitions`), to the user, in the project or in its ontology."""
        [found] = await self.resolve_all(scope, [term], definitions=definitions)
        return found

    async def resolve_all(
        self, scope: Scope, terms: Sequence[str], *, definitions: Mapping[str, str] | None = None
    ) -> list[Resolution]:
        """Resolve many terms in one round trip."""
        return await _ontology.resolve(self._deps, as_scope(scope), terms, definitions)

    async def standalone(self, question: str, previous: Sequence[str]) -> str:
        """Return a follow-up rewritten so that it can be understood without the user's `previous` messages, oldest
        first. A model rewrites where one is configured, otherwise rules do."""
        return await _reason.rewrite_followup(self._deps.reasoner, question, previous)

    @overload
    async def learn(self, scope: Scope, lesson: Lesson | str, *, ending: Iterable[MemoryId | str] = ()) -> Memory: ...

    @overload
    async def learn(
        self, scope: Scope, lesson: Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> list[Memory]: ...

    async def learn(
        self, scope: Scope, lesson: Lesson | str | Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> Memory | list[Memory]:
        """Store what a person states explicitly. A text is stored as a note; a Lesson names kind, key and owner.
        Several lessons are stored in one change. `ending` are memories of the same keys that end in that change,
        because the new ones replace them."""
        ended = {as_memory_id(memory) for memory in ending}
        if isinstance(lesson, Sequence) and not isinstance(lesson, str):
            return await _teach.learn(self._deps, as_scope(scope), [as_lesson(each) for each in lesson], ended)
        [learned] = await _teach.learn(self._deps, as_scope(scope), [as_lesson(lesson)], ended)
        return learned

    async def correct(self, scope: Scope, memory: MemoryId | str, value: str, *, owner: Owner | None = None) -> Memory:
        """Replace a memory's value. The old value ends and stays in the history with the reason. `owner` None, here and
        below, means the user's memory of that id, or else the project's."""
        return await _teach.correct_memory(self._deps, as_scope(scope), as_memory_id(memory), value, owner)

    async def memories(
        self,
        scope: Scope,
        *,
        kinds: Sequence[MemoryKind] | None = None,
        key: str | Sequence[str] | None = None,
        status: Sequence[Status] | None = ("active", "pending"),
        owner: Owner = "user",
        as_of: datetime | None = None,
        limit: int = 200,
        after: MemoryId | str | None = None,
    ) -> list[Memory]:
        """Return memories, most important first; `key` limits them to one or several keys. `status=None` includes ended
        memories; `as_of` returns what was believed at that time; `after` is the last memory of the previous page."""
        last = None if after is None else as_memory_id(after)
        wanted = MemoryFilter(kinds=kinds, key=key, status=status, owner=owner, as_of=as_of, limit=limit, after=last)
        return await _teach.list_memories(self._deps, as_scope(scope), wanted)

    async def memory(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Memory:
        """Return one memory by its id, whatever its status."""
        return (await _teach.find_memory(self._deps, as_scope(scope), as_memory_id(memory), owner))[1]

    async def close(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Memory:
        """End a memory, such as a completed todo or a decision that no longer holds."""
        return await _teach.close_memory(self._deps, as_scope(scope), as_memory_id(memory), owner)

    async def promote(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """Move a user's memory to the project. The caller checks permissions."""
        return await _teach.promote_memory(self._deps, as_scope(scope), as_memory_id(memory))

    async def approve(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """Approve a pending memory: it becomes active."""
        return await _teach.decide_proposal(self._deps, as_scope(scope), as_memory_id(memory), approve=True)

    async def reject(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """Reject a pending memory: it never becomes active."""
        return await _teach.decide_proposal(self._deps, as_scope(scope), as_memory_id(memory), approve=False)

    async def episodes(self, scope: Scope, *, limit: int = 100) -> list[Episode]:
        """Return the episodes of the scope's session, or of all the user's sessions, oldest first."""
        check_range("limit", limit, 1, _lookup.MAX_HISTORY)
        return await self._deps.store.episodes.list_episodes(as_scope(scope).id, scope.session, limit)

    async def mark(self, scope: Scope, ref: str, *, high_value: bool = True) -> None:
        """Mark the turn with this ref as high value: it ranks higher and is always embedded."""
        await _record.mark_turn(self._deps, as_scope(scope), ref, high_value)

    async def forget(
        self, scope: Scope, *, memory: MemoryId | str | None = None, owner: Owner | None = None
    ) -> Receipt:
        """Erase one memory, or the scope's session, or the whole user if the scope has no session, with all derived
        data. Memories that also have other evidence are rebuilt from it."""
        chosen = None if memory is None else as_memory_id(memory)
        return await _forget.forget(self._deps, as_scope(scope), chosen, owner)

    async def redact(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Receipt:
        """Blank a memory's value everywhere, including the turns that mention it. The record that a value existed
        stays."""
        return await _forget.redact(self._deps, as_scope(scope), as_memory_id(memory), owner)

    def export(self, scope: Scope) -> AsyncIterator[str]:
        """Yield everything stored about the scope's user, as JSON lines."""
        return _lookup.export_user(self._deps, as_scope(scope))

    async def explain(self, scope: Scope, request_id: RequestId | str) -> Explanation:
        """Return what a past recall or context found, and why. The request id is part of its result."""
        return await _lookup.explain_request(self._deps, as_scope(scope), as_request_id(request_id))

    async def audit(self, scope: Scope, *, owner: Owner = "user") -> list[Audit]:
        """Return who changed or erased what, and when, without content. `owner` "project" returns the project's audit
        log."""
        check_choice("owner", owner, get_args(Owner))
        return await self._deps.store.memories.list_audit(_teach.get_holder(as_scope(scope), owner).id)

    async def rejections(self, scope: Scope) -> dict[str, int]:
        """Return how many statements were not remembered, by reason."""
        return await _lookup.count_rejections(self._deps, as_scope(scope))

    async def report(self, project: Scope | str = "default", *, days: int = 7) -> Report:
        """Return usage figures of a project over all its users, without texts, each compared with its limit. The caller
        checks permissions."""
        return await _maintain.build_report(
            self._deps, project.project if isinstance(project, Scope) else project, days
        )

    async def health(self) -> Health:
        """Return the state of the store, the embedder, the language model and the background work."""
        return await _maintain.check_health(self._deps)

    async def settle(self, scope: Scope) -> None:
        """Wait until the scope's user is fully indexed and learned from, for example after a large import."""
        await _maintain.settle(self._deps, as_scope(scope))


class VerbGroup:
    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps


class Terms(VerbGroup):
    """The terms of a project: what its tables, columns, values and words mean."""

    async def load(self, scope: Scope, source: str | Mapping[str, Any], *, replace: bool = False) -> ImportReport:
        """Import tables, columns, values, relationships and a glossary from YAML, JSON or a mapping; `replace` removes
        terms that are not in it."""
        return await _ontology.import_ontology(self._deps, as_scope(scope), source, replace)

    async def find(
        self, scope: Scope, search: str | None = None, *, kind: TermKind | None = None, limit: int = 100
    ) -> list[Term]:
        """Return the ontology's terms, all or those that match a search."""
        return await _ontology.list_terms(self._deps, as_scope(scope), search, kind, limit)

    async def put(self, scope: Scope, term: Term) -> Term:
        """Add a term to the ontology, or change it."""
        return await _ontology.put_term(self._deps, as_scope(scope), term)

    async def drop(self, scope: Scope, name: str, *, kind: TermKind | None = None) -> None:
        """Remove a term and the terms below it; `kind` is needed if several terms have this name."""
        await _ontology.drop_term(self._deps, as_scope(scope), name, kind)


class Sources(VerbGroup):
    """The data sources of a project: databases that its users query."""

    async def find(self, scope: Scope) -> list[DataSource]:
        """Return the project's data sources, without catalogs and models."""
        return await self._deps.store.data_sources.list_sources(as_scope(scope).project_id)

    async def get(self, scope: Scope, name: str) -> DataSource:
        """Return one data source, with its catalog and model."""
        return await _ontology.get_data_source(self._deps, as_scope(scope), name)

    async def put(
        self,
        scope: Scope,
        source: DataSource,
        *,
        terms: Mapping[str, Any] | None = None,
        hidden: Collection[tuple[TermKind, str]] = (),
    ) -> DataSource:
        """Add a database to the project, or change what is stored about it, without opening it. In the same
        transaction, load `terms` and remove the terms of `hidden` tables and columns."""
        return await _ontology.put_data_source(self._deps, as_scope(scope), source, terms, hidden)

    async def drop(self, scope: Scope, name: str) -> None:
        """Remove a data source; the database itself is not touched."""
        await _ontology.drop_data_source(self._deps, as_scope(scope), name)

    async def count_askers(self, scope: Scope, shape: str) -> int:
        """Record that the user asked a question of this shape, of which only a digest is stored; return how many users
        of the project have."""
        digest, now = hashlib.sha256(shape.encode()).digest(), self._deps.clock.now()
        return await self._deps.store.data_sources.count_askers(as_scope(scope).project_id, digest, scope.id, now)


class Documents(VerbGroup):
    """The documents of a user and of their project."""

    async def add(self, scope: Scope, upload: Upload, *, owner: Owner = "user") -> Document:
        """Store a file, which a worker then reads. The same bytes are one document; if reading them failed before, they
        are read again. `owner` "project" shares it with all users of the project."""
        return await _documents.add_document(self._deps, as_scope(scope), upload, owner)

    async def find(
        self,
        scope: Scope,
        *,
        status: Sequence[DocumentStatus] | None = None,
        owner: Owner | None = None,
        limit: int = 100,
        after: DocumentId | str | None = None,
        ids: Sequence[DocumentId | str] | None = None,
    ) -> list[Document]:
        """Return the user's and the project's documents, newest first; `after` is the last document of the previous
        page; `ids` selects documents."""
        last = None if after is None else as_document_id(after)
        some = None if ids is None else [as_document_id(each) for each in ids]
        return await _documents.list_documents(self._deps, as_scope(scope), status, owner, limit, last, some)

    async def get(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Document:
        """Return one document: its progress, its size, or why reading failed."""
        return await _documents.get_document(self._deps, as_scope(scope), as_document_id(document), owner)

    async def drop(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        """Erase a document with all derived data."""
        return await _documents.drop_document(self._deps, as_scope(scope), as_document_id(document), owner)

    async def passage(self, scope: Scope, document: DocumentId | str, start: int, end: int) -> Passage:
        """Return the text of a document around a citation, by character positions."""
        return await _documents.read_passage(self._deps, as_scope(scope), as_document_id(document), start, end)

    async def search(self, scope: Scope, query: DocumentQuery | str) -> list[ChunkHit]:
        """Return the passages relevant to a question from the user's and the project's documents, best first, each with
        an explanation."""
        asked = query if isinstance(query, DocumentQuery) else DocumentQuery(query)
        return await _documents.search_documents(self._deps, as_scope(scope), asked)


class Keys(VerbGroup):
    """API keys, and the identity of the caller that presents one."""

    async def identify(self, credentials: Credentials | None) -> Identity:
        """Return the identity that these credentials belong to. While no key exists and no tokens are configured, every
        caller is the local admin. Other methods check no identity: `values.identity` says who may call them."""
        return await _identify.identify(self._deps, credentials)

    async def sign_in(self, secret: str) -> NewKey:
        """Return a key for a browser session, derived from the key whose secret is given. It has the same rights,
        expires after half a day, and is revoked with its parent."""
        return await _identify.sign_in(self._deps, secret)

    async def create(self, grant: Grant, *, by: str = "local") -> NewKey:
        """Create an API key. Its secret is returned once and never stored. `by` is stored with the key."""
        return await _identify.create_key(self._deps, grant, by)

    async def find(self, project: str | None = None) -> list[ApiKey]:
        """Return the keys of a project, or all keys, including revoked and expired ones, oldest first."""
        return await self._deps.store.keys.list_keys(project)

    async def revoke(self, key: KeyId | str, *, project: str | None = None, by: str = "local") -> ApiKey:
        """Revoke a key: at once in this process, within half a minute in others. With a project, only one of its
        keys."""
        return await _identify.revoke_key(self._deps, KeyId(parse_id("key", key, "key")), project, by)


class Runtime(VerbGroup):
    """Calls for applications and servers that are built on the engine."""

    async def brief(self, scope: Scope, wanted: Brief) -> Briefing:
        """Return the end of the session, the memories of user and project and the meaning of a question's words, in one
        round trip."""
        return await _ontology.brief(self._deps, as_scope(scope), wanted)

    def deadline(self) -> AbstractContextManager[Deadline]:
        """Bound how long the calls inside, each made with `run_in_time`, wait for the memory database."""
        return deadline(self._deps.settings.deadline, self._deps.breaker)

    async def count_use(self, scope: Scope, memories: Iterable[MemoryId]) -> None:
        """Count these memories of the user or the project as used."""
        noted = list(memories)
        for holder in (as_scope(scope).id, scope.project_id):
            self._deps.usage.add(holder, noted)  # a scope counts nothing for an id of the other

    async def record_outcome(self, scope: Scope, request_id: RequestId | str, outcome: Outcome) -> None:
        """Add the outcome of a request, such as the model and its latency, to the request's metrics."""
        await self._deps.request_log.record_outcome(as_scope(scope).id, as_request_id(request_id), outcome)

    async def record_message(self, scope: Scope, text: str, outcome: Outcome) -> None:
        """Add a row to the metrics for a message that was answered without a search."""
        scope = as_scope(scope)
        self._deps.request_log.add(scope.id, build_message_row(scope, text, self._deps.clock.now(), outcome))

    async def run_once(
        self, scope: Scope, key: str, body: bytes, work: Callable[[bool], Awaitable[Any]]
    ) -> tuple[Any, bool]:
        """Run some work once per idempotency key; return its answer and whether it was replayed. `body` is a digest of
        the request. `work` returns a JSON value; its argument says whether an earlier attempt may have been carried
        out without an answer."""
        return await _record.run_once(self._deps, as_scope(scope), key, body, work)

    async def embed(self, texts: Sequence[str]) -> Vectors | None:
        """Return a unit vector for each text; None if no embedder is configured, or it fails."""
        return await self._deps.embedding.embed_for_comparison(texts)

    async def server_identity(self) -> ServerIdentity:
        """Return which PostgreSQL server and database this engine uses."""
        return await self._deps.store.data_sources.server_identity()

    async def retry_work(self) -> int:
        """Retry parked work of all projects; return the number of conversations."""
        return await self._deps.store.work.retry_parked()


def as_scope(scope: Scope) -> Scope:
    if not isinstance(scope, Scope):
        raise InvalidInput("scope", f"must be a Scope, got {type(scope).__name__}")
    return scope


def as_query(query: Query | str) -> Query:
    return query if isinstance(query, Query) else Query(query)


def as_lesson(lesson: Lesson | str) -> Lesson:
    return lesson if isinstance(lesson, Lesson) else Lesson(lesson)


def as_request_id(value: RequestId | str) -> RequestId:
    return RequestId(parse_id("request_id", value, "request"))


def as_memory_id(value: MemoryId | str) -> MemoryId:
    """Parse an id, or the `memory:<id>` form used in citations."""
    if isinstance(value, str):
        value = value.removeprefix("memory:")
    return MemoryId(parse_id("memory", value, "memory"))


def as_document_id(value: DocumentId | str) -> DocumentId:
    return DocumentId(parse_id("document", value, "document"))
