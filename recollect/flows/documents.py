"""Documents: store, list, read and drop them. Workers read the files (read_document.py).

A document belongs to a user or to their project, whose users share it; the caller checks who may add to the project. An
upload is first written to a temporary file, so that no database connection waits for the uploader.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, get_args

from recollect.errors import InvalidInput, NotFound, TooLarge, UnsupportedFile
from recollect.flows.dependencies import Dependencies
from recollect.store.documents import NewDocument
from recollect.store.upkeep import Usage
from recollect.values.audit import AuditEntry, Receipt
from recollect.values.blocks import Chunk
from recollect.values.document import (
    Document,
    DocumentId,
    DocumentStatus,
    Passage,
    Upload,
    check_upload,
    find_end_chunks,
    join_chunks,
)
from recollect.values.lesson import Owner
from recollect.values.query import check_choice, check_range
from recollect.values.scope import Scope, ScopeId, uuid7
from recollect.values.sensitive_data import mask_text

PIECE = 1 << 20  # bytes; what is read, hashed and kept at a time
HEAD = 8_192
MAX_LISTED = 1_000
MAX_PASSAGE = 100_000  # characters
MAX_PLACE = 2**31 - 1
PAGE = 200  # chunks read at a time
OWNERS: tuple[Owner, ...] = get_args(Owner)


async def add_document(deps: Dependencies, scope: Scope, upload: Upload, owner: Owner) -> Document:
    """Store an upload and return its document."""
    upload = check_upload(upload)
    if deps.settings.mask_sensitive:
        name, dot, ending = upload.source.rpartition(".")  # the ending says what the file is
        upload = replace(upload, title=mask_text(upload.title), source=f"{mask_text(name)}{dot}{mask_text(ending)}")
    check_choice("owner", owner, OWNERS)
    holder = get_holder_id(scope, owner)
    with TemporaryFile() as file:
        size, digest = await spool_upload(upload, file)
        refuse_unreadable(deps, upload, file)
        await deps.quota.check(scope, Usage(document_bytes=size), is_shared=owner == "project")
        new = NewDocument(DocumentId(uuid7()), upload.title or upload.source, upload.source, scope.user, size, digest)
        entry = AuditEntry(get_actor(scope, owner), "added", f"document:{new.id}", {"size": size})
        document, is_new = await deps.store.documents.add(holder, new, iter_pieces(file), entry, deps.clock.now())
    if is_new:
        deps.wake_ups.add_document(holder, document.id)
    return replace(document, owner=owner)


def get_actor(scope: Scope, owner: Owner) -> str:
    """Return who the audit log names: in their own scope users need no name, which would outlive what they forget."""
    return "user" if owner == "user" else scope.user


async def spool_upload(upload: Upload, file: BinaryIO) -> tuple[int, bytes]:
    """Write the upload to a file; return its size and digest."""
    size, digest = 0, hashlib.sha256()
    async for piece in iter_upload(upload):
        size += len(piece)
        if size > upload.most:
            raise TooLarge("upload", f"the file has more than {upload.most:,} bytes; split it and upload the parts")
        digest.update(piece)
        file.write(piece)
    file.flush()
    return size, digest.digest()


async def iter_upload(upload: Upload) -> AsyncIterator[bytes]:
    if isinstance(upload.parts, bytes):
        yield upload.parts
    elif isinstance(upload.parts, AsyncIterable):
        async for piece in upload.parts:
            yield piece
    else:
        async for piece in iter_file(upload.parts):
            yield piece


async def iter_file(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    """Yield the bytes of a file, but not of a pipe or device, which might never end."""
    if not await asyncio.to_thread(Path(path).is_file):
        raise InvalidInput("upload.parts", f"{os.fspath(path)!r} is not a file")
    try:
        with await asyncio.to_thread(open, path, "rb") as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece
    except OSError as error:
        raise InvalidInput("upload.parts", f"{os.fspath(path)!r} cannot be read: {error.strerror}") from error


def refuse_unreadable(deps: Dependencies, upload: Upload, file: BinaryIO) -> None:
    """Raise UnsupportedFile if the first bytes show that the file cannot be read."""
    file.seek(0)
    failure = deps.files.glance(file.read(HEAD), upload.source)
    if failure is not None:
        raise UnsupportedFile("upload", failure.sentence)


def iter_pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


async def list_documents(
    deps: Dependencies,
    scope: Scope,
    status: Sequence[DocumentStatus] | None,
    owner: Owner | None,
    limit: int,
    after: DocumentId | None,
    ids: Sequence[DocumentId] | None,
) -> list[Document]:
    check_range("limit", limit, 1, MAX_LISTED)
    check_range("ids", len(ids or ()), 0, MAX_LISTED)
    for each in status or ():
        check_choice("status", each, get_args(DocumentStatus))
    found: list[Document] = []
    for whose in list_owners(owner):
        found += await deps.store.documents.list_documents(
            get_holder_id(scope, whose), whose, status, limit, after, ids
        )
    return sorted(found, key=lambda document: document.id, reverse=True)[:limit]


async def get_document(deps: Dependencies, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Document:
    for whose in list_owners(owner):
        found = await deps.store.documents.find(get_holder_id(scope, whose), wanted, whose)
        if found is not None:
            return found
    raise NotFound(f"neither user {scope.user!r} nor the project has a document {wanted}")


async def drop_document(deps: Dependencies, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Receipt:
    found = await get_document(deps, scope, wanted, owner)
    entry = AuditEntry(get_actor(scope, found.owner), "dropped", f"document:{wanted}", {"chunks": found.chunks})
    now = deps.clock.now()
    rows = await deps.store.documents.drop(get_holder_id(scope, found.owner), wanted, entry, now)
    if rows is None:
        raise NotFound(f"document {wanted} was dropped meanwhile")
    return Receipt(scope.user, None, now, rows)


async def read_passage(deps: Dependencies, scope: Scope, wanted: DocumentId, start: int, end: int) -> Passage:
    check_range("start", start, 0, MAX_PLACE)
    check_range("end", end, start + 1, min(start + MAX_PASSAGE, MAX_PLACE))
    found = await get_document(deps, scope, wanted, None)
    chunks: list[Chunk] = []
    if found.status == "processed":
        chunks = await deps.store.chunks.load_between(get_holder_id(scope, found.owner), wanted, start, end)
    if not chunks:
        raise NotFound(f"document {wanted} has no text at {start}; it has {found.characters:,} characters")
    text, low, high = join_chunks(chunks, start, end)
    first, last = find_end_chunks(chunks, low, high)
    pages = first.pages(low, high)[0], last.pages(low, high)[1]
    return Passage(found, text, low, high, *pages, first.headings)


async def iter_chunks(deps: Dependencies, holder: ScopeId, wanted: DocumentId) -> AsyncIterator[Chunk]:
    """Yield all chunks of a document, read a page at a time."""
    start = 0
    while page := await deps.store.chunks.load_from(holder, wanted, start, PAGE):
        for chunk in page:
            yield chunk
        start = page[-1].index + 1


def list_owners(owner: Owner | None) -> tuple[Owner, ...]:
    """Return the owners to search: the given one, or both."""
    if owner is None:
        return OWNERS
    check_choice("owner", owner, OWNERS)
    return (owner,)


def get_holder_id(scope: Scope, owner: Owner) -> ScopeId:
    return scope.id if owner == "user" else scope.project_id
