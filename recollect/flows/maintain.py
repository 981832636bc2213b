"""Maintain: upkeep of what is derived from the log."""

from __future__ import annotations

import asyncio

from recollect.flows.derive import derive
from recollect.flows.parts import Parts
from recollect.flows.read_document import document_model, read_document
from recollect.model.chapter import TURNS
from recollect.model.ids import ScopeId
from recollect.model.library import DocumentId
from recollect.model.scope import Scope
from recollect.store.store import Store

PATIENCE = 20
PAUSE = 0.05  # seconds
READING_PATIENCE = 1500
READING_PAUSE = 0.1


async def write_chapters(store: Store, scope: ScopeId) -> None:
    """One short transaction per conversation, so that nobody waits long for its lock."""
    for conversation in await store.unchaptered(scope):
        await store.write_chapters(scope, conversation, TURNS)


async def settle(parts: Parts, scope: Scope) -> None:
    """Everything that is behind the log, unless another is at it for long or a stage of it fails."""
    await parts.diary.flush()
    await parts.usage.flush()
    model = await parts.embedding.current_model()
    for _ in range(PATIENCE):
        behind = await parts.store.work.of_scope(scope.id, model)
        if not [conversation for conversation in behind if not await derive(parts, scope.id, conversation)]:
            break
        await asyncio.sleep(PAUSE)
    await write_chapters(parts.store, scope.id)
    for holder in (scope.id, scope.project_id):
        await settle_documents(parts, holder)


async def settle_documents(parts: Parts, holder: ScopeId) -> None:
    """What is uploaded is read, by us or by whoever is at it, unless it is to be tried later."""
    for document in await parts.store.documents.work_of_scope(holder, await document_model(parts)):
        for _ in range(READING_PATIENCE):
            if await read_document(parts, holder, document) or not await is_being_read(parts, holder, document):
                break
            await asyncio.sleep(READING_PAUSE)


async def is_being_read(parts: Parts, holder: ScopeId, document: DocumentId) -> bool:
    found = await parts.store.documents.find(holder, document, "user")
    return found is not None and found.status == "processing"


async def retry_work(parts: Parts) -> int:
    return await parts.store.work.wake()
