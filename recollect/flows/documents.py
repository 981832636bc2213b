"""Documents: taken in, listed, looked into and dropped. Reading them is the worker's business (read_document.py).

A document belongs to a user, or to his project, whose users share it. Who may add to the project, is for the door to
say. A file is first put aside on disk, so that no connection waits for whoever uploads it.
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
from recollect.flows.parts import Parts
from recollect.model.audit import Deed
from recollect.model.document import Chunk
from recollect.model.ids import ScopeId, uuid7
from recollect.model.lesson import Owner
from recollect.model.library import (
    Document,
    DocumentId,
    DocumentStatus,
    Passage,
    Upload,
    checked_upload,
    ends_of,
    joined,
)
from recollect.model.receipt import Receipt
from recollect.model.scope import Scope
from recollect.model.search import check_choice, check_range
from recollect.store.documents import NewDocument

PIECE = 1 << 20  # bytes; what is read, hashed and kept at a time
HEAD = 8_192
MAX_LISTED = 1_000
MAX_PASSAGE = 100_000  # characters
MAX_PLACE = 2**31 - 1
PAGE = 200  # chunks read at a time
OWNERS: tuple[Owner, ...] = get_args(Owner)


async def add_document(parts: Parts, scope: Scope, upload: Upload, owner: Owner) -> Document:
    upload = checked_upload(upload)
    check_choice("owner", owner, OWNERS)
    holder = holder_of(scope, owner)
    with TemporaryFile() as file:
        size, digest = await put_aside(upload, file)
        refuse(parts, upload, file)
        new = NewDocument(DocumentId(uuid7()), upload.title or upload.source, upload.source, scope.user, size, digest)
        deed = Deed(scope.user, "added", f"document:{new.id}", {"size": size})
        document, is_new = await parts.store.documents.add(holder, new, pieces_of(file), deed, parts.clock.now())
    if is_new:
        parts.hints.add_document(holder, document.id)
    return replace(document, owner=owner)


async def put_aside(upload: Upload, file: BinaryIO) -> tuple[int, bytes]:
    """The bytes on disk; how many, and their digest."""
    size, digest = 0, hashlib.sha256()
    async for piece in bytes_of(upload):
        size += len(piece)
        if size > upload.most:
            raise TooLarge("upload", f"the file has more than {upload.most:,} bytes; split it and upload the parts")
        digest.update(piece)
        file.write(piece)
    file.flush()
    return size, digest.digest()


async def bytes_of(upload: Upload) -> AsyncIterator[bytes]:
    if isinstance(upload.parts, bytes):
        yield upload.parts
    elif isinstance(upload.parts, AsyncIterable):
        async for piece in upload.parts:
            yield piece
    else:
        async for piece in bytes_at(upload.parts):
            yield piece


async def bytes_at(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    """Not of a pipe or a device: that might never end."""
    if not await asyncio.to_thread(Path(path).is_file):
        raise InvalidInput("upload.parts", f"{os.fspath(path)!r} is not a file")
    try:
        with await asyncio.to_thread(open, path, "rb") as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece
    except OSError as error:
        raise InvalidInput("upload.parts", f"{os.fspath(path)!r} cannot be read: {error.strerror}") from error


def refuse(parts: Parts, upload: Upload, file: BinaryIO) -> None:
    """What can be seen at once need not wait for a worker."""
    file.seek(0)
    failure = parts.files.glance(file.read(HEAD), upload.source)
    if failure is not None:
        raise UnsupportedFile("upload", failure.sentence)


def pieces_of(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


async def documents(
    parts: Parts,
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
    for whose in owners(owner):
        found += await parts.store.documents.listed(holder_of(scope, whose), whose, status, limit, after, ids)
    return sorted(found, key=lambda document: document.id, reverse=True)[:limit]


async def document(parts: Parts, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Document:
    for whose in owners(owner):
        found = await parts.store.documents.find(holder_of(scope, whose), wanted, whose)
        if found is not None:
            return found
    raise NotFound(f"neither user {scope.user!r} nor the project has a document {wanted}")


async def drop_document(parts: Parts, scope: Scope, wanted: DocumentId, owner: Owner | None) -> Receipt:
    found = await document(parts, scope, wanted, owner)
    deed = Deed(scope.user, "dropped", f"document:{wanted}", {"chunks": found.chunks})
    now = parts.clock.now()
    rows = await parts.store.documents.drop(holder_of(scope, found.owner), wanted, deed, now)
    if rows is None:
        raise NotFound(f"document {wanted} was dropped at this moment")
    return Receipt(scope.user, None, now, rows)


async def passage(parts: Parts, scope: Scope, wanted: DocumentId, start: int, end: int) -> Passage:
    check_range("start", start, 0, MAX_PLACE)
    check_range("end", end, start + 1, min(start + MAX_PASSAGE, MAX_PLACE))
    found = await document(parts, scope, wanted, None)
    chunks: list[Chunk] = []
    if found.status == "processed":
        chunks = await parts.store.chunks.between(holder_of(scope, found.owner), wanted, start, end)
    if not chunks:
        raise NotFound(f"document {wanted} has no text at {start}; it has {found.characters:,} characters")
    text, low, high = joined(chunks, start, end)
    first, last = ends_of(chunks, low, high)
    pages = first.pages(low, high)[0], last.pages(low, high)[1]
    return Passage(found, text, low, high, *pages, first.headings)


async def kept_chunks(parts: Parts, holder: ScopeId, wanted: DocumentId) -> AsyncIterator[Chunk]:
    """All chunks of a document, a page at a time."""
    start = 0
    while page := await parts.store.chunks.from_index(holder, wanted, start, PAGE):
        for chunk in page:
            yield chunk
        start = page[-1].index + 1


def owners(owner: Owner | None) -> tuple[Owner, ...]:
    if owner is None:
        return OWNERS
    check_choice("owner", owner, OWNERS)
    return (owner,)


def holder_of(scope: Scope, owner: Owner) -> ScopeId:
    return scope.id if owner == "user" else scope.project_id
