"""Verification of JSON Web Tokens with PyJWT. `make_token_reader` makes a `TokenReader` from the settings.

A token is verified with the algorithms that both the settings and the key allow; its own header only chooses among our
keys. A caller whose signature is not valid learns no reason; the log has it, and never a token. Public keys come from a
PEM file, a JWKS file, or the address of a JWKS. They are read when a token needs them, at most once a minute; if that
fails, the known keys stay valid for a day.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.errors import InvalidSetting, Unauthorized, describe_missing_extra

if TYPE_CHECKING:
    import jwt

    from recollect.settings import Settings

log = logging.getLogger("recollect.identity")

LEEWAY = 30  # seconds that clocks may differ
SHORTEST = {"HS256": 32, "HS384": 48, "HS512": 64}  # bytes of the secret (RFC 7518, 3.2)
PUBLIC = (
    *("RS256", "ES256", "EdDSA"),  # by default; the others when they are named
    *("RS384", "RS512", "PS256", "PS384", "PS512", "ES384", "ES512"),
)
BY_DEFAULT = PUBLIC[:3]
REFUSED = "the token is not valid here; get a new one from where you sign in"
FRESH_FOR = 600.0  # seconds until keys are read again
USABLE_FOR = 86_400.0  # seconds for which they are used if that fails
PAUSE = 60.0  # seconds between two readings
TIMEOUT = 5.0
LARGEST = 1_000_000  # bytes
PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)
# Algorithms by kind of key: the names of PyCryptography, and those of a JWKS.
BY_KIND = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    **dict.fromkeys(("secp256r1", "P-256"), ("ES256",)),
    **dict.fromkeys(("secp384r1", "P-384"), ("ES384",)),
    **dict.fromkeys(("secp521r1", "P-521"), ("ES512",)),
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
        """Return whether it may have signed a token. A key without an id fits any; the signature decides."""
        return algorithm in self.algorithms and (self.kid is None or kid is None or self.kid == kid)

    async def candidates(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        """Return the key alone, if it may have signed such a token."""
        return [self] if self.fits(algorithm, kid) else []


@dataclass(frozen=True, slots=True)
class Jwks:
    keys: list[Any]


class PublicKeys:
    def __init__(self, place: str, algorithms: Sequence[str]) -> None:
        self._place = place
        self._allowed = frozenset(algorithms)
        self._is_remote = place.startswith(("http://", "https://"))
        self._keys: list[VerifyingKey] = []
        self._read_at = self._tried_at = -USABLE_FOR
        self._reading = asyncio.Lock()
        if not self._is_remote:
            try:
                self._take(read_key_file(place))
            except KeysUnavailable as error:
                raise InvalidSetting("RECOLLECT_JWT_KEYS", str(error)) from None

    async def candidates(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        """Return the keys that may have signed such a token."""
        if not self._select(algorithm, kid) or (self._age() > FRESH_FOR and not self._reading.locked()):
            await self._refresh()
        return self._select(algorithm, kid) if self._age() < USABLE_FOR else []

    def _select(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        return [key for key in self._keys if key.fits(algorithm, kid)]

    def _age(self) -> float:
        return time.monotonic() - self._read_at

    async def _refresh(self) -> None:
        """Read the keys once for all who wait."""
        async with self._reading:
            if time.monotonic() - self._tried_at < PAUSE:
                return
            self._tried_at = time.monotonic()
            try:
                reading = fetch_keys(self._place) if self._is_remote else asyncio.to_thread(read_key_file, self._place)
                self._take(await reading)
            except KeysUnavailable as error:
                log.warning("the keys of tokens could not be read: %s", error)

    def _take(self, text: str) -> None:
        """Take the keys of a file. A JWKS without a key counts too: that is how an issuer withdraws its keys."""
        found = parse_pem(text) if "-----BEGIN" in text else parse_jwks(text)
        usable = [replace(key, algorithms=key.algorithms & self._allowed) for key in found]
        self._keys = [key for key in usable if key.algorithms]
        if not self._keys:
            raise KeysUnavailable(f"no public key for {', '.join(sorted(self._allowed))} is there")
        self._read_at = time.monotonic()


def read_key_file(place: str) -> str:
    try:
        return Path(place).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise KeysUnavailable(f"{place} cannot be read ({type(error).__name__}); name a PEM or JWKS file") from None


async def fetch_keys(url: str) -> str:
    import httpx2

    try:
        async with asyncio.timeout(TIMEOUT), httpx2.AsyncClient() as client:
            response = await client.get(url)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise KeysUnavailable(f"{url}: {type(error).__name__} {error}".strip()) from None
    if response.status_code != 200 or len(response.content) > LARGEST:
        raise KeysUnavailable(f"{url}: HTTP {response.status_code}, {len(response.content)} bytes")
    return response.text


def parse_pem(text: str) -> list[VerifyingKey]:
    """Return each public key and certificate of a file."""
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
        kind = getattr(getattr(key, "curve", None), "name", type(key).__name__.removesuffix("PublicKey").lstrip("_"))
        found.append(VerifyingKey(key, frozenset(BY_KIND.get(kind, ()))))
    return found


def parse_jwks(text: str) -> list[VerifyingKey]:
    try:
        listed = msgspec.json.decode(text, type=Jwks).keys
    except (msgspec.DecodeError, RecursionError):
        raise KeysUnavailable("it holds neither PEM keys nor a JWKS") from None
    keys = [parse_jwk(entry) for entry in listed if isinstance(entry, dict)]
    return [key for key in keys if key is not None]


def parse_jwk(entry: Mapping[str, Any]) -> VerifyingKey | None:
    """Return None for an entry that verifies no signature, such as a shared secret, which does not belong in a JWKS."""
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


def make_token_reader(settings: Settings) -> TokenReader | None:
    """Return a reader, or None if no tokens are configured."""
    secret, keys = settings.jwt_secret, settings.jwt_keys
    if not secret and not keys:
        return None
    if find_spec("jwt") is None:
        setting = "RECOLLECT_JWT_SECRET" if secret else "RECOLLECT_JWT_KEYS"
        raise InvalidSetting(setting, describe_missing_extra("verification of tokens", "server"))
    if secret and keys:
        raise InvalidSetting("RECOLLECT_JWT_KEYS", "give public keys or RECOLLECT_JWT_SECRET, never both")
    algorithms = re.findall(r"[^\s,]+", settings.jwt_algorithms)
    if secret:
        source: VerifyingKey | PublicKeys = VerifyingKey(secret, choose_hmac_algorithms(secret, algorithms))
    else:
        check_algorithms(algorithms, PUBLIC, "RECOLLECT_JWT_KEYS")
        source = PublicKeys(keys, algorithms or BY_DEFAULT)
    return TokenReader(source, issuer=settings.jwt_issuer, audience=settings.jwt_audience)


def choose_hmac_algorithms(secret: str, named: Sequence[str]) -> frozenset[str]:
    """Return those for which the secret is long enough; it must be for all that are named."""
    if "-----BEGIN" in secret:
        raise InvalidSetting("RECOLLECT_JWT_SECRET", "is a key file; put its path into RECOLLECT_JWT_KEYS")
    check_algorithms(named, SHORTEST, "RECOLLECT_JWT_SECRET")
    length = len(secret.encode())
    for name in named or ["HS256"]:
        if length < SHORTEST[name]:
            problem = f"has {length} bytes, {name} needs {SHORTEST[name]}; make one with `openssl rand -base64 64`"
            raise InvalidSetting("RECOLLECT_JWT_SECRET", problem)
    return frozenset(named or (name for name, shortest in SHORTEST.items() if length >= shortest))


def check_algorithms(named: Sequence[str], known: Iterable[str], configured: str) -> None:
    for name in named:
        if name not in known:
            problem = f"{name!r} cannot be used with {configured}; that takes {', '.join(known)}"
            raise InvalidSetting("RECOLLECT_JWT_ALGORITHMS", problem)


class TokenReader:
    """Returns the claims of valid tokens. Raises Unauthorized for others."""

    def __init__(self, source: VerifyingKey | PublicKeys, *, issuer: str = "", audience: str = "") -> None:
        self._source = source
        self._issuer = issuer or None
        self._audience = audience or None

    async def claims(self, token: str) -> Mapping[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            keys = await self._source.candidates(str(header.get("alg")), header.get("kid"))
            return self._verify(token, keys)  # in the loop: a thread would cost more than the signature
        except jwt.PyJWTError as error:
            # What PyJWT says names claims and algorithms, never their values.
            log.warning("a token was refused: %s", f"{type(error).__name__}: {error}"[:200])
            raise Unauthorized(describe_refusal(error)) from None

    def _verify(self, token: str, keys: Sequence[VerifyingKey]) -> Mapping[str, Any]:
        """Return the claims, by the first of the keys whose signature it is."""
        import jwt

        failed: jwt.PyJWTError = jwt.InvalidKeyError("no key fits its algorithm and kid")
        for key in keys:
            try:
                return jwt.decode(
                    token,
                    key.material,
                    algorithms=sorted(key.algorithms),
                    issuer=self._issuer,
                    audience=self._audience,
                    leeway=LEEWAY,
                    options={"require": ["exp"]},
                )
            except jwt.InvalidSignatureError as error:
                failed = error
        raise failed


def describe_refusal(error: jwt.PyJWTError) -> str:
    """Return what the caller is told. All cases but the last are found after the signature was verified."""
    import jwt

    match error:
        case jwt.ExpiredSignatureError():
            return "the token has expired; get a new one"
        case jwt.ImmatureSignatureError():
            return "the token is not valid yet; is the clock of whoever made it right?"
        case jwt.InvalidAudienceError() | jwt.InvalidIssuerError():
            return "the token was made for or by somebody else (aud, iss)"
        case jwt.MissingRequiredClaimError():
            return f"the token lacks the claim {error.claim!r}"
        case _:
            return REFUSED
