"""The form of an uploaded document."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.datastructures import UploadFile

CHUNK_BYTES = 1 << 20  # read at once


@dataclass(frozen=True, slots=True)
class UploadForm:
    file: UploadFile
    title: str
    is_shared: bool

    @property
    def name(self) -> str:
        return self.file.filename or "file"

    async def read_chunks(self) -> AsyncIterator[bytes]:
        await self.file.seek(0)
        while chunk := await self.file.read(CHUNK_BYTES):
            yield chunk

    async def digest(self) -> str:
        digest = hashlib.sha256()
        async for chunk in self.read_chunks():
            digest.update(chunk)
        return digest.hexdigest()
