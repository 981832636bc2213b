"""Tokens: good ones are read, every way we know to cheat is refused; with keys from files and a real JWKS server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from recollect.errors import InvalidSetting, Unauthorized
from recollect.providers import jwt as jwt_provider
from recollect.providers.jwt import LEEWAY, TokenReader, make_token_reader
from recollect.settings import read_settings

SECRET = "a secret of more than sixty-four bytes, which is enough for HS512, too"
RSA, OTHER_RSA = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
SIGNERS: dict[str, tuple[Any, Any]] = {
    "RS256": (RSA, RSAAlgorithm),
    "ES256": (EC, ECAlgorithm),
    "EdDSA": (ED, OKPAlgorithm),
}


def reader(**given: str) -> TokenReader:
    made = make_token_reader(read_settings({}, **given))
    assert made is not None
    return made


def claims(**other: Any) -> dict[str, Any]:
    return {"sub": "alex", "exp": int(time.time()) + 300, **other}


def signed(key: Any = SECRET, algorithm: str = "HS256", kid: str | None = None, **other: Any) -> str:
    return jwt.encode(claims(**other), key, algorithm, {"kid": kid} if kid else None)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def pem(key: Any) -> str:
    return str(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode())


def private_pem(key: Any) -> str:
    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def jwk(algorithm: str, kid: str | None = None, key: Any = None, **other: Any) -> dict[str, Any]:
    made, form = SIGNERS[algorithm]
    entry = dict(form.to_jwk((key or made).public_key(), as_dict=True))
    return {**entry, **({"kid": kid} if kid else {}), **other}


class Keys:
    """A server of a JWKS; counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.status = 200
        self.keys: Any = []

        def respond(handler: BaseHTTPRequestHandler) -> None:
            self.asked += 1
            handler.send_response(self.status)
            handler.end_headers()
            handler.wfile.write(json.dumps({"keys": self.keys}).encode())

        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_GET": respond, "log_message": lambda *_: None})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/jwks.json"

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def keys() -> Iterator[Keys]:
    one = Keys()
    thread = threading.Thread(target=one.http.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.stop()
    thread.join()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys may be read again without waiting a minute."""
    monkeypatch.setattr(jwt_provider, "PAUSE", 0.0)


async def is_good(by: TokenReader, token: str) -> bool:
    try:
        return bool((await by.claims(token))["sub"] == "alex")
    except Unauthorized:
        return False


# What is good --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_a_token_signed_with_the_secret_is_read(algorithm: str) -> None:
    assert await reader(jwt_secret=SECRET).claims(signed(algorithm=algorithm, name="Alex")) == claims(name="Alex")


@pytest.mark.parametrize("algorithm", SIGNERS)
async def test_a_token_signed_with_a_private_key_is_read_by_a_pem_or_a_jwks(
    algorithm: str, tmp_path: Path, keys: Keys
) -> None:
    key, _ = SIGNERS[algorithm]
    (tmp_path / "all.pem").write_text("\n".join(pem(key) for key, _ in SIGNERS.values()))
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [jwk(name) for name in SIGNERS]}))
    keys.keys = [jwk(name, kid=name) for name in SIGNERS]

    for place in (str(tmp_path / "all.pem"), str(tmp_path / "jwks.json"), keys.url):
        by = reader(jwt_keys=place)
        assert await is_good(by, signed(key, algorithm, kid=algorithm))
        assert await is_good(by, signed(key, algorithm))
    assert keys.asked == 1


async def test_of_two_keys_without_an_id_the_signature_decides(tmp_path: Path) -> None:
    (tmp_path / "two.pem").write_text(pem(OTHER_RSA) + pem(RSA))
    by = reader(jwt_keys=str(tmp_path / "two.pem"))

    assert await is_good(by, signed(RSA, "RS256"))
    assert await is_good(by, signed(OTHER_RSA, "RS256", kid="of a server that we do not ask"))


async def test_issuer_and_audience_are_held_to_what_is_set() -> None:
    by = reader(jwt_secret=SECRET, jwt_issuer="https://id.example.com", jwt_audience="recollect")

    assert await is_good(by, signed(iss="https://id.example.com", aud=["web", "recollect"]))
    for other in (
        {"iss": "https://id.example.com"},
        {"aud": "recollect"},
        {"iss": "https://id.example.com", "aud": "web"},
        {"iss": "https://id.example.com.evil", "aud": "recollect"},
    ):
        assert not await is_good(by, signed(**other))
    assert not await is_good(reader(jwt_secret=SECRET), signed(aud="another application"))


async def test_clocks_may_differ_by_half_a_minute_and_no_more() -> None:
    by, now = reader(jwt_secret=SECRET), int(time.time())

    assert await is_good(by, signed(exp=now - LEEWAY + 10))
    assert await is_good(by, signed(nbf=now + LEEWAY - 10))
    assert not await is_good(by, signed(exp=now - LEEWAY - 10))
    assert not await is_good(by, signed(nbf=now + LEEWAY + 10))


# What is not ---------------------------------------------------------------------------------------------------------


def hmac_signed(key: bytes, header: dict[str, Any]) -> str:
    """By hand: PyJWT refuses to do the silly thing for us."""
    signing = f"{part(header)}.{part(claims())}"
    signature = hmac.new(key, signing.encode(), hashlib.sha256).digest()
    return f"{signing}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def cheats() -> dict[str, str]:
    """Tokens for a reader that trusts the RSA key `a` and the elliptic key `b`."""
    good = signed(RSA, "RS256", kid="a")
    head, body, signature = good.split(".")
    return {
        "unsigned": f"{part({'alg': 'none'})}.{part(claims())}.",
        "unsigned in capitals": f"{part({'alg': 'NONE'})}.{part(claims())}.",
        "says none beside a signature": f"{part({'alg': 'none', 'kid': 'a'})}.{body}.{signature}",
        "without an algorithm": f"{part({'kid': 'a'})}.{body}.{signature}",
        "signature taken off": f"{head}.{body}.",
        "signature of another body": f"{head}.{part(claims(sub='blake'))}.{signature}",
        "another's key": signed(OTHER_RSA, "RS256", kid="a"),
        "another key's id": signed(EC, "ES256", kid="a"),
        "key id of the other kind": signed(RSA, "RS256", kid="b"),
        "an id nobody has": signed(RSA, "RS256", kid="c"),
        "an id that is a path": signed(RSA, "RS256", kid="../../dev/null"),
        "an id that is no text": f"{part({'alg': 'RS256', 'kid': ['a']})}.{body}.{signature}",
        "the public key as a secret": hmac_signed(pem(RSA).encode(), {"alg": "HS256", "kid": "a"}),
        "the empty secret": hmac_signed(b"", {"alg": "HS256"}),
        "a key of its own in the header": jwt.encode(
            claims(), OTHER_RSA, "RS256", {"jwk": jwk("RS256", key=OTHER_RSA), "kid": "a"}
        ),
        "an address of its own in the header": jwt.encode(
            claims(), OTHER_RSA, "RS256", {"jku": "http://127.0.0.1:9/", "kid": "a"}
        ),
        "an algorithm that is not accepted": signed(RSA, "RS512", kid="a"),
        "an extension that must be understood": jwt.encode(claims(), RSA, "RS256", {"crit": ["exp"], "kid": "a"}),
        "expired": signed(RSA, "RS256", kid="a", exp=int(time.time()) - 3600),
        "not yet valid": signed(RSA, "RS256", kid="a", nbf=int(time.time()) + 3600),
        "issued in the future": signed(RSA, "RS256", kid="a", iat=int(time.time()) + 3600),
        "without an end": jwt.encode({"sub": "alex"}, RSA, "RS256", {"kid": "a"}),
        "an end that is no time": signed(RSA, "RS256", kid="a", exp="tomorrow"),
        "not a token": "hunter2",
        "three dots": "...",
        "not an object": f"{part({'alg': 'RS256'})}.{part([])}.{signature}",
        "a long nothing": "A" * 12_000 + "..",
    }


@pytest.mark.parametrize("name", cheats())
async def test_every_way_to_cheat_that_we_know_is_refused_and_no_token_is_told(
    name: str, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    keys.keys = [jwk("RS256", "a"), jwk("ES256", "b"), {"kty": "oct", "k": "aHVudGVyMg", "kid": "c", "alg": "HS256"}]
    by, token = reader(jwt_keys=keys.url), cheats()[name]
    assert await is_good(by, signed(RSA, "RS256", kid="a"))

    with caplog.at_level(logging.DEBUG, "recollect"), pytest.raises(Unauthorized) as refused:
        await by.claims(token)

    assert "a token was refused: " in caplog.text
    for piece in [piece for piece in token.split(".") if len(piece) > 6]:
        assert piece not in caplog.text + str(refused.value)


@pytest.mark.parametrize(
    "name", ["unsigned", "the empty secret", "another's key", "expired", "the public key as a secret"]
)
async def test_a_reader_with_a_secret_refuses_the_same(name: str) -> None:
    assert not await is_good(reader(jwt_secret=SECRET), cheats()[name])
    assert not await is_good(reader(jwt_secret=SECRET, jwt_algorithms="HS512"), signed(algorithm="HS256"))


async def test_who_has_a_good_signature_is_told_what_else_is_wrong_and_nobody_else() -> None:
    by, now = reader(jwt_secret=SECRET), int(time.time())

    for token, told in (
        (signed(exp=now - 3600), "has expired"),
        (signed(nbf=now + 3600), "not valid yet"),
        (jwt.encode({"sub": "alex"}, SECRET), "lacks the claim 'exp'"),
        (signed(SECRET + "!", exp=now - 3600), "not valid here"),
    ):
        with pytest.raises(Unauthorized, match=told):
            await by.claims(token)


# Keys that change ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("at_once")
async def test_after_a_rotation_the_new_key_is_fetched_and_the_old_one_is_out(keys: Keys) -> None:
    keys.keys = [jwk("RS256", "monday")]
    by = reader(jwt_keys=keys.url)
    assert await is_good(by, signed(RSA, "RS256", kid="monday"))

    keys.keys = [jwk("RS256", "tuesday", OTHER_RSA)]
    assert await is_good(by, signed(OTHER_RSA, "RS256", kid="tuesday"))
    assert not await is_good(by, signed(RSA, "RS256", kid="monday"))


async def test_nonsense_makes_us_ask_at_most_once_a_minute_and_many_at_once_ask_once(keys: Keys) -> None:
    keys.keys = [jwk("RS256", "a")]
    by = reader(jwt_keys=keys.url)
    good = signed(RSA, "RS256", kid="a")

    assert keys.asked == 0
    assert all(await asyncio.gather(*(is_good(by, good) for _ in range(20))))
    for n in range(20):
        assert not await is_good(by, signed(RSA, "RS256", kid=f"unheard of {n}"))
    assert keys.asked == 1


async def test_a_server_that_is_down_from_the_start_means_no_token_is_good_and_the_log_says_why(
    keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    by = reader(jwt_keys=keys.url)
    keys.status = 500

    assert not await is_good(by, signed(RSA, "RS256", kid="a"))
    assert f"could not be read: {keys.url}: HTTP 500" in caplog.text


@pytest.mark.usefixtures("at_once")
async def test_a_server_that_goes_down_later_costs_new_keys_only_until_the_known_ones_are_too_old(
    keys: Keys, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.keys = [jwk("RS256", "a")]
    by = reader(jwt_keys=keys.url)
    good = signed(RSA, "RS256", kid="a")
    assert await is_good(by, good)

    keys.stop()
    monkeypatch.setattr(jwt_provider, "FRESH_FOR", 0.0)
    assert await is_good(by, good)
    assert "ConnectError" in caplog.text
    monkeypatch.setattr(jwt_provider, "USABLE_FOR", 0.0)
    assert not await is_good(by, good)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("served", "stays"),
    [({"a": 1}, True), (None, True), ([], False), ([{"kty": "RSA"}], False), (["x"], False)],
)
async def test_known_keys_outlive_an_answer_that_is_no_jwks_but_not_one_that_leaves_them_out(
    keys: Keys, served: Any, stays: bool
) -> None:
    keys.keys = [jwk("RS256", "a")]
    by = reader(jwt_keys=keys.url)
    assert await is_good(by, signed(RSA, "RS256", kid="a"))

    keys.keys = served
    assert not await is_good(by, signed(OTHER_RSA, "RS256", kid="b"))
    assert await is_good(by, signed(RSA, "RS256", kid="a")) is stays


async def test_a_key_is_used_for_what_it_says_it_is_for(keys: Keys) -> None:
    keys.keys = [jwk("RS256", "enc", use="enc"), jwk("RS256", "pss", alg="PS256"), jwk("ES256", "b")]
    by = reader(jwt_keys=keys.url, jwt_algorithms="RS256, PS256, ES256")

    assert not await is_good(by, signed(RSA, "RS256", kid="enc"))
    assert not await is_good(by, signed(RSA, "RS256", kid="pss"))
    assert await is_good(by, signed(RSA, "PS256", kid="pss"))


# Settings ------------------------------------------------------------------------------------------------------------


def test_without_settings_there_are_no_tokens() -> None:
    assert make_token_reader(read_settings({})) is None


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"jwt_secret": SECRET, "jwt_keys": "https://id.example.com/jwks"}, "RECOLLECT_JWT_KEYS"),
        ({"jwt_secret": SECRET, "jwt_algorithms": "none"}, "RECOLLECT_JWT_ALGORITHMS"),
        ({"jwt_secret": SECRET, "jwt_algorithms": "HS256,None"}, "RECOLLECT_JWT_ALGORITHMS"),
        ({"jwt_secret": SECRET, "jwt_algorithms": "HS256,RS256"}, "RECOLLECT_JWT_ALGORITHMS"),
        ({"jwt_keys": "https://id.example.com/jwks", "jwt_algorithms": "RS256,HS256"}, "RECOLLECT_JWT_ALGORITHMS"),
        ({"jwt_keys": "https://id.example.com/jwks", "jwt_algorithms": "none"}, "RECOLLECT_JWT_ALGORITHMS"),
        ({"jwt_secret": "hunter2"}, "RECOLLECT_JWT_SECRET"),
        ({"jwt_secret": "x" * 40, "jwt_algorithms": "HS512"}, "RECOLLECT_JWT_SECRET"),
        ({"jwt_secret": pem(RSA)}, "RECOLLECT_JWT_SECRET"),
        ({"jwt_keys": "nowhere.pem"}, "RECOLLECT_JWT_KEYS"),
    ],
)
def test_what_could_not_be_safe_is_refused_at_the_start(given: dict[str, str], setting: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        make_token_reader(read_settings({}, **given))

    assert refused.value.setting == setting
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "hunter2", "{}", '{"keys": {}}', "-----BEGIN PUBLIC KEY-----\nhunter2\n-----END PUBLIC KEY-----"]
)
def test_a_key_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    for content in (text, private_pem(RSA), json.dumps({"keys": [{"kty": "oct", "k": "aHVudGVyMg"}]})):
        (tmp_path / "keys").write_text(content)
        with pytest.raises(InvalidSetting) as refused:
            make_token_reader(read_settings({}, jwt_keys=str(tmp_path / "keys")))
        assert refused.value.setting == "RECOLLECT_JWT_KEYS"
        assert "hunter2" not in str(refused.value)


def test_the_secret_is_in_no_repr() -> None:
    settings = read_settings({}, jwt_secret=SECRET, model_key="sk-hunter2")

    assert "enough for HS512" not in repr(settings) + repr(make_token_reader(settings))
    assert "hunter2" not in repr(settings)
