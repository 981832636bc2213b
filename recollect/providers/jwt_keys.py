"""Public keys that verify tokens: from a PEM file, a JWKS file, or the address of a JWKS.

They are read when a token needs them (a file also at the start, so that a mistake shows), and again after ten minutes,
or for a key id that is not among them, but at most once a minute: nobody can make us ask by sending nonsense. If that
fails, the known keys stay good for a day. Never at import.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.errors import InvalidSetting

log = logging.getLogger("recollect.identity")

FRESH_FOR = 600.0  # seconds until keys are read again
USABLE_FOR = 86_400.0  # seconds for which they are used if that fails
PAUSE = 60.0  # seconds between two readings
TIMEOUT = 5.0
LARGEST = 1_000_000  # bytes
PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)
CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
BY_KIND = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
}


class KeysUnavailable(Exception):
    """The keys could not be read; says why."""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A key, and the algorithms that may be used with it."""

    material: Any = field(repr=False)
    algorithms: frozenset[str]
    kid: str | None = None

    def fits(self, algorithm: str, kid: str | None) -> bool:
        """A key without an id fits any; the signature decides."""
        return algorithm in self.algorithms and (self.kid is None or kid is None or self.kid == kid)


class PublicKeys:
    def __init__(self, place: str, algorithms: Sequence[str]) -> None:
        self._place = place
        self._allowed = frozenset(algorithms)
        self._is_remote = place.startswith(("http://", "https://"))
        self._keys: list[VerifyingKey] = []
        self._read_at = self._tried_at = -USABLE_FOR
        self._reading = asyncio.Lock()
        if not self._is_remote:
            self._start()

    def _start(self) -> None:
        try:
            self._take(_file(self._place))
        except KeysUnavailable as error:
            raise InvalidSetting("RECOLLECT_JWT_KEYS", str(error)) from None

    async def candidates(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        """Keys that may have signed such a token."""
        if not self._fitting(algorithm, kid) or (self._age() > FRESH_FOR and not self._reading.locked()):
            await self._refresh()
        return self._fitting(algorithm, kid) if self._age() < USABLE_FOR else []

    def _fitting(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        return [key for key in self._keys if key.fits(algorithm, kid)]

    def _age(self) -> float:
        return time.monotonic() - self._read_at

    async def _refresh(self) -> None:
        """One reading for all who wait for it."""
        async with self._reading:
            if time.monotonic() - self._tried_at < PAUSE:
                return
            self._tried_at = time.monotonic()
            try:
                self._take(await (_fetched(self._place) if self._is_remote else asyncio.to_thread(_file, self._place)))
            except KeysUnavailable as error:
                log.warning("the keys of tokens could not be read: %s", error)

    def _take(self, text: str) -> None:
        """A JWKS is believed also when no key is left in it: that is how an issuer takes its keys back."""
        found = _in_pem(text) if "-----BEGIN" in text else _in_jwks(text)
        usable = [VerifyingKey(k.material, k.algorithms & self._allowed, k.kid) for k in found]
        self._keys = [key for key in usable if key.algorithms]
        if not self._keys:
            raise KeysUnavailable(f"no public key for {', '.join(sorted(self._allowed))} is there")
        self._read_at = time.monotonic()


def _file(place: str) -> str:
    try:
        return Path(place).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise KeysUnavailable(f"{place} cannot be read ({type(error).__name__}); name a PEM or JWKS file") from None


async def _fetched(url: str) -> str:
    import httpx2

    try:
        async with asyncio.timeout(TIMEOUT), httpx2.AsyncClient() as client:
            response = await client.get(url)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise KeysUnavailable(f"{url}: {type(error).__name__} {error}".strip()) from None
    if response.status_code != 200 or len(response.content) > LARGEST:
        raise KeysUnavailable(f"{url}: HTTP {response.status_code}, {len(response.content)} bytes")
    return response.text


def _in_pem(text: str) -> list[VerifyingKey]:
    """Each public key and certificate of a file."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from cryptography.x509 import load_pem_x509_certificate

    found = []
    for block in PEM.finditer(text):
        if "PRIVATE" in block[1]:
            raise KeysUnavailable("there is a private key in it; only the public one belongs here")
        try:
            pem = block[0].encode()
            key = load_pem_x509_certificate(pem).public_key() if "CERT" in block[1] else load_pem_public_key(pem)
        except ValueError:
            raise KeysUnavailable(f"a {block[1]} in it cannot be read") from None
        found.append(VerifyingKey(key, frozenset(BY_KIND.get(_kind(key), ()))))
    return found


def _kind(key: object) -> str:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    match key:
        case RSAPublicKey():
            return "RSA"
        case Ed25519PublicKey():
            return "Ed25519"
        case EllipticCurvePublicKey():
            return (
                key.curve.name.replace("secp256r1", "P-256").replace("secp384r1", "P-384").replace("secp521r1", "P-521")
            )
        case _:
            return ""


def _in_jwks(text: str) -> list[VerifyingKey]:
    try:
        listed = json.loads(text)["keys"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise KeysUnavailable("it holds neither PEM keys nor a JWKS") from None
    if not isinstance(listed, list):
        raise KeysUnavailable("it holds neither PEM keys nor a JWKS")
    keys = [_jwk(entry) for entry in listed if isinstance(entry, dict)]
    return [key for key in keys if key is not None]


def _jwk(entry: Mapping[str, Any]) -> VerifyingKey | None:
    """None for what verifies no signature, a shared secret among others: that does not belong into a JWKS."""
    import jwt

    kind = entry["kty"] if entry.get("kty") == "RSA" else entry.get("crv")
    algorithms = frozenset(BY_KIND.get(str(kind), ()))
    if isinstance(entry.get("alg"), str):
        algorithms &= {entry["alg"]}
    if not algorithms or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    try:
        key = jwt.PyJWK(dict(entry), min(algorithms)).key
    except jwt.PyJWTError as error:
        log.warning("a key of the JWKS was passed over: %s", type(error).__name__)
        return None
    kid = entry.get("kid")
    return VerifyingKey(key, algorithms, kid if isinstance(kid, str) else None)
