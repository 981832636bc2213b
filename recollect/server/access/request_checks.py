"""Checks of a request that come before any route: host, addresses, content type, origin of a form; the headers that
name a user, session or project; and the form of an uploaded document."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from fastapi import HTTPException, Request
from starlette.datastructures import UploadFile

from recollect.errors import Forbidden, InvalidInput
from recollect.values.identity import LOCAL, Identity

USER, SESSION = "x-recollect-user", "x-recollect-session"
PROJECT, MEMORY = "x-recollect-project", "x-recollect-memory"
RETRIES = "x-stainless-retry-count"  # set by OpenAI's clients when they repeat a request
CHUNK_BYTES = 1 << 20  # of a file, read at once
HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::\d*)?")


def read_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers that this server defines, decoded as UTF-8."""
    return {name: decode_utf8(headers[name]) for name in (USER, SESSION, PROJECT, MEMORY, RETRIES) if headers.get(name)}


def read_user_header(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return `X-User-Id`, decoded as UTF-8, if the request has it."""
    given = headers.get("x-user-id")
    return {} if given is None else {"x-user-id": decode_utf8(given)}


def decode_utf8(header: str) -> str:
    """Return a header as UTF-8 where possible; ASGI servers decode headers as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(request: Request, identity: Identity) -> None:
    """Refuse other host names than the loopback ones while sign-in is off.

    Otherwise a page could read memory through a DNS name that it points at this machine. The header itself is checked:
    `request.url` falls back to the server's own name for a host that it cannot parse.
    """
    if identity is LOCAL and not is_loopback(parse_host(request.headers.get("host", ""))):
        raise Forbidden(
            "without a key this server answers as 127.0.0.1 or localhost only; for other names create a key with"
            " `recollect keys create`"
        )


def parse_host(header: str) -> str:
    """Return the host of a Host header without its port; an IPv6 address stands in brackets there."""
    found = HOST.fullmatch(header.lower())
    return (found[1] or found[2]) if found else ""


def check_address(request: Request) -> None:
    """Refuse NUL characters in the path or query: PostgreSQL has none, and its error would not name the parameter."""
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        if "\0" in value:
            raise InvalidInput(name, "contains a NUL character, which PostgreSQL cannot store")


def read_content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def check_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON: a form posted by a foreign page cannot declare that."""
    kind = read_content_type(request)
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    if request.method not in ("GET", "HEAD") and not is_json and await request.body():
        raise HTTPException(415, f"the body is {kind or 'of no type'}; send JSON as Content-Type: application/json")


def check_form(request: Request) -> None:
    """Refuse a form that another site may have posted through the user's browser.

    A form cannot set an `Authorization` or `X-API-Key` header, and a browser says which site a form comes from.
    """
    kind = read_content_type(request)
    if kind != "multipart/form-data":
        raise HTTPException(415, f"the body is {kind or 'of no type'}; send a form as multipart/form-data")
    headers = request.headers
    if "x-api-key" in headers or headers.get("authorization", "").lower().startswith("bearer "):
        return
    origin, fetch_site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    if is_foreign or fetch_site not in ("none", "same-origin"):
        raise Forbidden("forms of other sites are refused; send a key as Authorization: Bearer")


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
