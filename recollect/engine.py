"""Engine: the verbs. Each is a docstring and one call into flows/; doors and hosts use nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, overload
from uuid import UUID

from recollect.errors import InvalidInput
from recollect.flows import brief as _brief
from recollect.flows import context as _context
from recollect.flows import data_sources as _data_sources
from recollect.flows import documents as _documents
from recollect.flows import forget as _forget
from recollect.flows import health as _health
from recollect.flows import identify as _identify
from recollect.flows import lookup as _lookup
from recollect.flows import maintain as _maintain
from recollect.flows import metrics as _metrics
from recollect.flows import once as _once
from recollect.flows import ontology as _ontology
from recollect.flows import recall as _recall
from recollect.flows import record as _record
from recollect.flows import redact as _redact
from recollect.flows import report as _report
from recollect.flows import resolve as _resolve
from recollect.flows import search_documents as _search_documents
from recollect.flows import switched_off as _off
from recollect.flows import teach as _teach
from recollect.flows.parts import Parts
from recollect.flows.teach import Listing
from recollect.model.api_key import ApiKey, Grant, KeyId, NewKey
from recollect.model.audit import Audit
from recollect.model.briefing import Brief, Briefing
from recollect.model.conversation import Conversation, Recorded, Turn, TurnLike
from recollect.model.data_source import DataSource
from recollect.model.document_search import ChunkHit, DocumentQuery
from recollect.model.episode import Episode
from recollect.model.explanation import Explanation, Outcome
from recollect.model.health import Health
from recollect.model.identity import Credentials, Identity
from recollect.model.ids import MemoryId, RequestId
from recollect.model.lesson import Lesson, Owner
from recollect.model.library import Document, DocumentId, DocumentStatus, Passage, Upload
from recollect.model.memory import Memory, MemoryKind, Status
from recollect.model.ontology import ImportReport, Term, TermKind
from recollect.model.receipt import Receipt
from recollect.model.report import Report
from recollect.model.resolution import Resolution
from recollect.model.scope import Scope
from recollect.model.search import Context, Query, Recall


class Engine:
    """Memory for one project's users. Get one from `recollect.connect()`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def record(
        self, scope: Scope, turns: Turn | Iterable[TurnLike], *, idempotency_key: str | None = None
    ) -> Recorded:
        """Appends what was said: Turns, or (role, text) pairs. It is durable, and visible to the next read, when this
        returns. Without a session in the scope a new one is opened; its id is in the answer. The same key and body
        again get the same answer and write nothing; another body is a Conflict."""
        return await _record.record(self._parts, as_scope(scope), turns, idempotency_key)

    async def recall(self, scope: Scope, query: Query | str) -> Recall:
        """The turns that speak to a question, best first, each with why."""
        if not self._parts.settings.enabled:
            return _off.recall(as_query(query))
        return await _recall.recall(self._parts, as_scope(scope), as_query(query))

    async def context(self, scope: Scope, query: Query | str) -> Context:
        """Text for a prompt: what was recalled and what was just said, cited, within the query's budget of tokens."""
        if not self._parts.settings.enabled:
            return _off.context(as_query(query))
        return await _context.context(self._parts, as_scope(scope), as_query(query))

    async def history(self, scope: Scope, *, limit: int = 50, before: int | None = None) -> list[Turn]:
        """The last turns of the scope's session, oldest first; `before` an index, to page backwards."""
        return await _lookup.history(self._parts, as_scope(scope), limit, before)

    async def conversations(self, scope: Scope, *, limit: int = 50, offset: int = 0) -> list[Conversation]:
        """The user's conversations, the last one first."""
        return await _lookup.conversations(self._parts, as_scope(scope), limit, offset)

    async def rename(self, scope: Scope, name: str) -> Conversation:
        """Gives the scope's session another name than its first question."""
        return await _record.rename(self._parts, as_scope(scope), name)

    async def resolve(self, scope: Scope, term: str, *, definitions: Mapping[str, str] | None = None) -> Resolution:
        """What a word means here: in this session (`definitions`), to the user, in the project, in its ontology."""
        [found] = await self.resolve_all(scope, [term], definitions=definitions)
        return found

    async def resolve_all(
        self, scope: Scope, terms: Sequence[str], *, definitions: Mapping[str, str] | None = None
    ) -> list[Resolution]:
        """As `resolve`, for many terms in one round trip."""
        if not self._parts.settings.enabled:
            return _off.resolve(terms, definitions)
        return await _resolve.resolve(self._parts, as_scope(scope), terms, definitions)

    @overload
    async def learn(self, scope: Scope, lesson: Lesson | str, *, ending: Iterable[MemoryId | str] = ()) -> Memory: ...

    @overload
    async def learn(
        self, scope: Scope, lesson: Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> list[Memory]: ...

    async def learn(
        self, scope: Scope, lesson: Lesson | str | Sequence[Lesson], *, ending: Iterable[MemoryId | str] = ()
    ) -> Memory | list[Memory]:
        """Remembers what a person says outright. A text is a note; a Lesson says kind, key and whose it is. Several are
        learned in one change. `ending` are memories of the same keys whose place it takes: they end in that change."""
        ended = {as_memory_id(memory) for memory in ending}
        if isinstance(lesson, Sequence) and not isinstance(lesson, str):
            return await _teach.learn(self._parts, as_scope(scope), [as_lesson(each) for each in lesson], ended)
        [learned] = await _teach.learn(self._parts, as_scope(scope), [as_lesson(lesson)], ended)
        return learned

    async def correct(self, scope: Scope, memory: MemoryId | str, value: str, *, owner: Owner | None = None) -> Memory:
        """Gives a memory another value. The old one ends, and stays in the history with the reason. `owner` None, here
        and below: the user's memory of that id, or else his project's."""
        return await _teach.correct(self._parts, as_scope(scope), as_memory_id(memory), value, owner)

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
        """What is known, the important first; `key`: of one or several. `status=None` has the ended ones too; `as_of`
        what was believed then; `after` the last of a page, to go on from."""
        last = None if after is None else as_memory_id(after)
        wanted = Listing(kinds=kinds, key=key, status=status, owner=owner, as_of=as_of, limit=limit, after=last)
        return await _teach.memories(self._parts, as_scope(scope), wanted)

    async def close(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Memory:
        """Ends a memory: a todo is done, a decision no longer stands."""
        return await _teach.close(self._parts, as_scope(scope), as_memory_id(memory), owner)

    async def promote(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """Makes a user's memory the project's. Who may, is for the caller to know."""
        return await _teach.promote(self._parts, as_scope(scope), as_memory_id(memory))

    async def approve(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """A pending memory counts from now on."""
        return await _teach.decide(self._parts, as_scope(scope), as_memory_id(memory), approve=True)

    async def reject(self, scope: Scope, memory: MemoryId | str) -> Memory:
        """A pending memory will not count."""
        return await _teach.decide(self._parts, as_scope(scope), as_memory_id(memory), approve=False)

    async def episodes(self, scope: Scope, *, limit: int = 100) -> list[Episode]:
        """The episodes of the scope's session, or of all the user's, oldest first."""
        return await _lookup.episodes(self._parts, as_scope(scope), limit)

    async def mark(self, scope: Scope, ref: str, *, high_value: bool = True) -> None:
        """Marks a turn, named by its ref, as of high value: it is always embedded and ranks as such."""
        await _record.mark(self._parts, as_scope(scope), ref, high_value)

    async def import_ontology(
        self, scope: Scope, source: str | Mapping[str, Any], *, replace: bool = False
    ) -> ImportReport:
        """Takes tables, columns, values, relationships and a glossary from YAML, JSON or a mapping; `replace` drops
        what is not in it."""
        return await _ontology.import_ontology(self._parts, as_scope(scope), source, replace)

    async def terms(
        self, scope: Scope, search: str | None = None, *, kind: TermKind | None = None, limit: int = 100
    ) -> list[Term]:
        """The ontology's terms, all or those that a search finds."""
        return await _ontology.terms(self._parts, as_scope(scope), search, kind, limit)

    async def put_term(self, scope: Scope, term: Term) -> Term:
        """Adds a term to the ontology, or changes it."""
        return await _ontology.put_term(self._parts, as_scope(scope), term)

    async def drop_term(self, scope: Scope, name: str, *, kind: TermKind | None = None) -> None:
        """Takes a term out of the ontology, with what belongs to it; `kind` where several have the name."""
        await _ontology.drop_term(self._parts, as_scope(scope), name, kind)

    async def data_sources(self, scope: Scope) -> list[DataSource]:
        """The databases that the project asks, without their catalogs and models."""
        return await _data_sources.data_sources(self._parts, as_scope(scope))

    async def data_source(self, scope: Scope, name: str) -> DataSource:
        """One of them, whole."""
        return await _data_sources.data_source(self._parts, as_scope(scope), name)

    async def put_data_source(self, scope: Scope, source: DataSource) -> DataSource:
        """Adds a database to the project, or changes what is kept of it. Nothing is opened: hosts do that."""
        return await _data_sources.put_data_source(self._parts, as_scope(scope), source)

    async def drop_data_source(self, scope: Scope, name: str) -> None:
        """Forgets a database; nothing in it is touched."""
        await _data_sources.drop_data_source(self._parts, as_scope(scope), name)

    async def add_document(self, scope: Scope, upload: Upload, *, owner: Owner = "user") -> Document:
        """Takes a file in: it is kept when this returns, and a worker reads it. The same bytes are one document; if
        reading them failed before, it is tried again. `owner` "project": all users of the project find it."""
        return await _documents.add_document(self._parts, as_scope(scope), upload, owner)

    async def documents(
        self,
        scope: Scope,
        *,
        status: Sequence[DocumentStatus] | None = None,
        owner: Owner | None = None,
        limit: int = 100,
        after: DocumentId | str | None = None,
        ids: Sequence[DocumentId | str] | None = None,
    ) -> list[Document]:
        """The user's documents and the project's, the newest first; `after` the last of a page, to go on from; `ids`
        only those of these that there are."""
        last = None if after is None else as_document_id(after)
        some = None if ids is None else [as_document_id(each) for each in ids]
        return await _documents.documents(self._parts, as_scope(scope), status, owner, limit, last, some)

    async def document(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Document:
        """One of them: how far it is, what it has, or why it failed."""
        return await _documents.document(self._parts, as_scope(scope), as_document_id(document), owner)

    async def drop_document(self, scope: Scope, document: DocumentId | str, *, owner: Owner | None = None) -> Receipt:
        """Erases a document with all that was made of it."""
        return await _documents.drop_document(self._parts, as_scope(scope), as_document_id(document), owner)

    async def passage(self, scope: Scope, document: DocumentId | str, start: int, end: int) -> Passage:
        """The text of a document around a citation, by characters."""
        return await _documents.passage(self._parts, as_scope(scope), as_document_id(document), start, end)

    async def search_documents(self, scope: Scope, query: DocumentQuery | str) -> list[ChunkHit]:
        """The passages of the user's documents and the project's that speak to a question, best first, with why."""
        asked = query if isinstance(query, DocumentQuery) else DocumentQuery(query)
        return await _search_documents.search_documents(self._parts, as_scope(scope), asked)

    async def brief(self, scope: Scope, wanted: Brief) -> Briefing:
        """For hosts: the end of the session, what user and project hold, and what the words of a question mean, in one
        round trip."""
        if not self._parts.settings.enabled:
            return _off.brief(wanted)
        return await _brief.brief(self._parts, as_scope(scope), wanted)

    async def asked(self, scope: Scope, shape: str) -> int:
        """For hosts: notes that the user asked a question of this shape; how many users of the project have."""
        return await _data_sources.asked(self._parts, as_scope(scope), shape)

    async def used(self, scope: Scope, memories: Iterable[MemoryId]) -> None:
        """For hosts: counts that these memories were of use."""
        _data_sources.used(self._parts, as_scope(scope), memories)

    async def forget(
        self, scope: Scope, *, memory: MemoryId | str | None = None, owner: Owner | None = None
    ) -> Receipt:
        """Erases one memory, or the scope's session, or the whole user if the scope has none; with everything
        derived. What also rests on something else is made anew from that."""
        chosen = None if memory is None else as_memory_id(memory)
        return await _forget.forget(self._parts, as_scope(scope), chosen, owner)

    async def redact(self, scope: Scope, memory: MemoryId | str, *, owner: Owner | None = None) -> Receipt:
        """Blanks a memory's value everywhere, the turns it was said in included; that it was there stays known."""
        return await _redact.redact(self._parts, as_scope(scope), as_memory_id(memory), owner)

    def export(self, scope: Scope) -> AsyncIterator[str]:
        """Everything kept about the scope's user, as JSON lines."""
        return _lookup.export(self._parts, as_scope(scope))

    async def explain(self, scope: Scope, request_id: RequestId | str) -> Explanation:
        """What a past recall or context found, and why. The id is in its answer."""
        return await _lookup.explain(self._parts, as_scope(scope), as_request_id(request_id))

    async def answered(self, scope: Scope, request_id: RequestId | str, outcome: Outcome) -> None:
        """For hosts: adds to a request's metrics what came of it after memory had answered."""
        await _metrics.answered(self._parts, as_scope(scope), as_request_id(request_id), outcome)

    async def audit(self, scope: Scope, *, owner: Owner = "user") -> list[Audit]:
        """Who changed or erased what, when; never what it said. `owner` "project": of what the project knows."""
        return await _lookup.audit(self._parts, as_scope(scope), owner)

    async def rejections(self, scope: Scope) -> dict[str, int]:
        """What learning turned away, counted by reason."""
        return await _lookup.rejections(self._parts, as_scope(scope))

    async def report(self, project: Scope | str = "default", *, days: int = 7) -> Report:
        """How memory did in a project: counts over all its users, never a text, each judged against its limit. Who may
        see that, is for the caller to know."""
        return await _report.report(self._parts, project.project if isinstance(project, Scope) else project, days)

    async def health(self) -> Health:
        """Whether memory works: the store, the embedder, the model, and the work that is behind, failing or parked."""
        return await _health.health(self._parts)

    async def retry_work(self) -> int:
        """Has parked work of all projects tried again at the workers' next look; how many conversations that is."""
        return await _maintain.retry_work(self._parts)

    async def once(self, scope: Scope, key: str, body: bytes, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """For doors: does some work once per idempotency key, and says whether its answer was given before. `body` is
        a digest of the request; `work` gives what JSON can keep."""
        return await _once.once(self._parts, as_scope(scope), key, body, work)

    async def identify(self, credentials: Credentials | None) -> Identity:
        """Who shows these credentials, for doors; while there are no keys and no tokens are configured, everybody is
        the local admin. The other verbs ask for no identity: `model.permissions` says who may call them."""
        return await _identify.identify(self._parts, credentials)

    async def sign_in(self, secret: str) -> NewKey:
        """For doors that people look at: a key for a browser, under the one whose secret is shown. It may as much, ends
        after half a day, and with that one."""
        return await _identify.sign_in(self._parts, secret)

    async def create_key(self, grant: Grant, *, by: str = "local") -> NewKey:
        """Makes an API key. Its secret is in the answer and nowhere else, ever. `by` is kept with the key."""
        return await _identify.create_key(self._parts, grant, by)

    async def list_keys(self, project: str | None = None) -> list[ApiKey]:
        """The keys of a project, or all, also those that are no longer good; the oldest first."""
        return await _identify.list_keys(self._parts, project)

    async def revoke_key(self, key: KeyId | str, *, project: str | None = None, by: str = "local") -> ApiKey:
        """Ends a key: at once here, within half a minute in other processes. With a project: only one of its keys."""
        return await _identify.revoke_key(self._parts, KeyId(as_uuid("key", key, "key")), project, by)

    async def settle(self, scope: Scope) -> None:
        """Waits until everything said by the scope's user is learned from and indexed, e.g. after a large import."""
        await _maintain.settle(self._parts, as_scope(scope))


def as_scope(scope: Scope) -> Scope:
    if not isinstance(scope, Scope):
        raise InvalidInput("scope", f"a {type(scope).__name__} is not a Scope")
    return scope


def as_query(query: Query | str) -> Query:
    if isinstance(query, Query):
        return query
    return Query(query)


def as_lesson(lesson: Lesson | str) -> Lesson:
    return lesson if isinstance(lesson, Lesson) else Lesson(lesson)


def as_request_id(value: RequestId | str) -> RequestId:
    return RequestId(as_uuid("request_id", value, "request"))


def as_memory_id(value: MemoryId | str) -> MemoryId:
    """An id, or the `memory:<id>` by which citations name it."""
    if isinstance(value, str):
        value = value.removeprefix("memory:")
    return MemoryId(as_uuid("memory", value, "memory"))


def as_document_id(value: DocumentId | str) -> DocumentId:
    return DocumentId(as_uuid("document", value, "document"))


def as_uuid(field: str, value: object, noun: str) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(field, f"{value!r} is not a {noun} id") from None
