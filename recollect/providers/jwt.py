"""Verification of JSON Web Tokens with PyJWT. `token_reader` makes a `TokenReader` from the settings.

Unsafe settings are refused at the start: no algorithm, a secret together with public keys, a secret that is short or
is a public key. A token is verified with the algorithms that both the settings and the key allow; its own header only
chooses among our keys. A caller whose signature is not valid learns no reason; the log has it, and never a token.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidSetting, Unauthorized, describe_missing_extra
from recollect.providers.jwt_keys import PublicKeys, VerifyingKey

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


def token_reader(settings: Settings) -> TokenReader | None:
    """None when no tokens are configured."""
    secret, keys = settings.jwt_secret, settings.jwt_keys
    if not secret and not keys:
        return None
    if find_spec("jwt") is None:
        setting = "RECOLLECT_JWT_SECRET" if secret else "RECOLLECT_JWT_KEYS"
        raise InvalidSetting(setting, describe_missing_extra("verification of tokens", "server"))
    if secret and keys:
        raise InvalidSetting("RECOLLECT_JWT_KEYS", "give public keys or RECOLLECT_JWT_SECRET, never both")
    algorithms = [name.strip() for name in settings.jwt_algorithms.split(",") if name.strip()]
    source = Secret(secret, hmac_algorithms(secret, algorithms)) if secret else PublicKeys(keys, public(algorithms))
    return TokenReader(source, issuer=settings.jwt_issuer, audience=settings.jwt_audience)


def hmac_algorithms(secret: str, named: Sequence[str]) -> list[str]:
    """Those for which the secret is long enough; all that are named must be."""
    if "-----BEGIN" in secret:
        raise InvalidSetting("RECOLLECT_JWT_SECRET", "is a key file; put its path into RECOLLECT_JWT_KEYS")
    check_known(named, SHORTEST, "RECOLLECT_JWT_SECRET")
    length = len(secret.encode())
    for name in named or ["HS256"]:
        if length < SHORTEST[name]:
            problem = f"has {length} bytes, {name} needs {SHORTEST[name]}; make one with `openssl rand -base64 64`"
            raise InvalidSetting("RECOLLECT_JWT_SECRET", problem)
    return list(named) or [name for name, shortest in SHORTEST.items() if length >= shortest]


def public(named: Sequence[str]) -> list[str]:
    check_known(named, PUBLIC, "RECOLLECT_JWT_KEYS")
    return list(named) or list(BY_DEFAULT)


def check_known(named: Sequence[str], known: Sequence[str] | Mapping[str, int], configured: str) -> None:
    for name in named:
        if name not in known:
            problem = f"{name!r} cannot be used with {configured}; that takes {', '.join(known)}"
            raise InvalidSetting("RECOLLECT_JWT_ALGORITHMS", problem)


class Secret:
    """One secret that we share with the signer."""

    def __init__(self, secret: str, algorithms: Sequence[str]) -> None:
        self._key = VerifyingKey(secret, frozenset(algorithms))

    async def candidates(self, algorithm: str, kid: str | None) -> list[VerifyingKey]:
        return [self._key] if algorithm in self._key.algorithms else []


class TokenReader:
    """Tokens to their claims. Raises Unauthorized for any other than a good one."""

    def __init__(self, source: Secret | PublicKeys, *, issuer: str = "", audience: str = "") -> None:
        self._source = source
        self._issuer = issuer or None
        self._audience = audience or None

    async def claims(self, token: str) -> Mapping[str, Any]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            keys = await self._source.candidates(str(header.get("alg")), header.get("kid"))
            return self._verified(token, keys)  # in the loop: a thread would cost more than the signature
        except jwt.PyJWTError as error:
            log.warning("a token was refused: %s", reason(error))
            raise Unauthorized(advice(error)) from None

    def _verified(self, token: str, keys: Sequence[VerifyingKey]) -> Mapping[str, Any]:
        """By the first of the keys whose signature it is."""
        import jwt

        failed: jwt.PyJWTError = jwt.InvalidKeyError("no key fits its algorithm and kid")
        for key in keys:
            try:
                return self._decoded(token, key)
            except jwt.InvalidSignatureError as error:
                failed = error
        raise failed

    def _decoded(self, token: str, key: VerifyingKey) -> Mapping[str, Any]:
        import jwt

        return jwt.decode(
            token,
            key.material,
            algorithms=sorted(key.algorithms),
            issuer=self._issuer,
            audience=self._audience,
            leeway=LEEWAY,
            options={"require": ["exp"]},
        )


def reason(error: jwt.PyJWTError) -> str:
    """For the log: what PyJWT says names claims and algorithms, never their values."""
    return f"{type(error).__name__}: {error}"[:200]


def advice(error: jwt.PyJWTError) -> str:
    """For the caller; these four are found after the signature held."""
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
