"""Who calls: nobody in particular on an open laptop; keys that are made, used, expire and are revoked; Basic; tokens;
and what the database lets our role do with keys, which is little."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import jwt
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Engine, connect, connect_sync
from recollect.errors import InvalidInput, InvalidSetting, NotFound, StoreUnavailable, Unauthorized
from recollect.providers.fake import FakeClock, FakeEmbedder
from recollect.settings import Settings
from recollect.store import keys as key_store
from recollect.store.connection import format_session_options
from recollect.store.database import Database
from recollect.values.identity import LOCAL, ApiKey, Credentials, Grant, Identity, NewKey, Role, parse_key

SECRET = "a secret of more than sixty-four bytes, which is enough for HS512, too"
HOST = Grant(role="service", name="host", project="shop")


@pytest.fixture
async def memory(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    async with connect(settings, clock=clock, embedder=FakeEmbedder(), worker=False) as engine:
        yield engine


@pytest.fixture
async def elsewhere(settings: Settings, clock: FakeClock) -> AsyncIterator[Engine]:
    """Another process on the same database, as good as."""
    async with connect(settings, clock=clock, embedder=FakeEmbedder(), worker=False) as engine:
        yield engine


@pytest.fixture
def app(database: str, settings: Settings) -> Iterator[psycopg.Connection[Any]]:
    """A connection under our role."""
    with psycopg.connect(
        make_conninfo(database, options=format_session_options(settings)), autocommit=True
    ) as connection:
        yield connection


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the queries that were sent."""
    sent: list[str] = []
    ask = Database.ask

    async def listening(self: Database, name: str, **parameters: Any) -> Any:
        sent.append(name)
        return await ask(self, name, **parameters)

    monkeypatch.setattr(Database, "ask", listening)
    return sent


def bearer(new: NewKey | str) -> Credentials:
    return Credentials("bearer", new if isinstance(new, str) else new.secret)


def basic(user: str, new: NewKey) -> Credentials:
    return Credentials("basic", new.secret, user)


def grant(role: Role, user: str | None = None) -> Grant:
    return Grant(role=role, name=f"a {role}", project="shop", user=user)


def token(**claims: Any) -> Credentials:
    return bearer(jwt.encode({"sub": "alex", "exp": int(time.time()) + 300, **claims}, SECRET))


async def refused(memory: Engine, credentials: Credentials | None) -> str:
    with pytest.raises(Unauthorized) as refusal:
        await memory.keys.identify(credentials)
    return str(refusal.value)


# Open and closed -----------------------------------------------------------------------------------------------------


async def test_without_keys_and_tokens_everybody_is_the_local_admin(memory: Engine) -> None:
    assert await memory.keys.identify(None) == LOCAL == Identity("admin", None, None, "local")
    assert await memory.keys.identify(bearer("whatever a client sends")) == LOCAL


async def test_the_first_key_closes_the_door_and_revoking_it_does_not_open_it_again(
    memory: Engine, elsewhere: Engine
) -> None:
    new = await memory.keys.create(HOST)
    assert "authentication required" in await refused(memory, None)

    await memory.keys.revoke(new.key.id)
    for engine in (memory, elsewhere):
        assert "authentication required" in await refused(engine, None)


async def test_another_process_hears_of_the_first_key_when_its_five_seconds_are_over(
    memory: Engine, elsewhere: Engine, asked: list[str]
) -> None:
    for _ in range(3):
        assert await elsewhere.keys.identify(None) == LOCAL
    assert asked == ["key.any"]
    await memory.keys.create(HOST)

    elsewhere._deps.store.keys._had_none_at = -math.inf  # as if five seconds had passed
    for _ in range(3):
        await refused(elsewhere, None)
    assert asked == ["key.any", "key.any"]


async def test_identity_can_be_required_before_there_is_a_key(settings: Settings) -> None:
    async with connect(replace(settings, auth="required"), embedder=FakeEmbedder(), worker=False) as memory:
        assert "authentication required" in await refused(memory, None)
        new = await memory.keys.create(HOST)
        assert (await memory.keys.identify(bearer(new))).name == "host"


async def test_where_the_database_does_not_answer_nobody_is_let_in(settings: Settings) -> None:
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        await memory._deps.store.close()
        with pytest.raises(StoreUnavailable):
            await memory.keys.identify(None)


# Keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [grant("user", "alex"), grant("data"), grant("admin"), HOST, Grant(role="admin", name="root")],
    ids=lambda given: f"{given.role} of {given.project}",
)
@pytest.mark.parametrize("scheme", ["bearer", "key"])
async def test_a_key_is_who_it_was_made_for(memory: Engine, given: Grant, scheme: Any) -> None:
    new = await memory.keys.create(given, by="root")

    identity = await memory.keys.identify(Credentials(scheme, new.secret))
    assert identity == Identity(given.role, given.project, given.user, given.name, new.key.id)
    assert (new.key.created_by, new.key.created_at) == ("root", memory._deps.clock.now())


async def test_a_key_with_another_secret_prefix_or_form_is_not_known(memory: Engine) -> None:
    new = await memory.keys.create(HOST)
    last = "a" if new.secret[-1] != "a" else "b"
    for wrong in (
        new.secret[:-1] + last,
        new.secret[:-1],
        new.secret + "a",
        new.secret.upper(),
        new.secret.replace(new.key.prefix, "aaaaaaaa"),
        new.key.shown,
        "rk_",
        "a token, where none are configured",
    ):
        assert "is unknown" in await refused(memory, bearer(wrong))
    assert (await memory.keys.identify(bearer(new))).name == "host"


async def test_a_key_ends_when_it_was_to_end_also_for_those_who_know_it_already(
    memory: Engine, clock: FakeClock
) -> None:
    new = await memory.keys.create(replace(HOST, expires_at=clock.now() + timedelta(days=1)))
    clock.advance(hours=23)
    assert (await memory.keys.identify(bearer(new))).key == new.key.id

    clock.advance(hours=1)
    assert f"{new.key.shown} expired at 2026-01-02 00:00 UTC" in await refused(memory, bearer(new))
    with pytest.raises(InvalidInput, match="past"):
        await memory.keys.create(replace(HOST, expires_at=clock.now()))


async def test_a_revoked_key_is_out_at_once_here_and_elsewhere_after_half_a_minute(
    memory: Engine, elsewhere: Engine
) -> None:
    new = await memory.keys.create(HOST)
    for engine in (memory, elsewhere):
        await engine.keys.identify(bearer(new))

    revoked = await memory.keys.revoke(str(new.key.id), by="root")
    assert "was revoked" in await refused(memory, bearer(new))
    assert (await elsewhere.keys.identify(bearer(new))).key == new.key.id
    elsewhere._deps.store.keys._known.clear()  # as if thirty seconds had passed
    assert "was revoked" in await refused(elsewhere, bearer(new))
    assert (revoked.revoked_by, revoked.revoked_at) == ("root", memory._deps.clock.now())


async def test_a_look_up_that_was_under_way_does_not_bring_a_revoked_key_back(
    memory: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = await memory.keys.create(HOST)
    answered, go_on = asyncio.Event(), asyncio.Event()
    ask = Database.ask

    async def slow(self: Database, name: str, **parameters: Any) -> Any:
        rows = await ask(self, name, **parameters)
        if name == "key.find" and not answered.is_set():
            answered.set()
            await go_on.wait()
        return rows

    monkeypatch.setattr(Database, "ask", slow)
    early = asyncio.create_task(memory.keys.identify(bearer(new)))
    await answered.wait()
    await memory.keys.revoke(new.key.id)
    go_on.set()

    assert (await early).key == new.key.id  # it came before the revocation
    assert "was revoked" in await refused(memory, bearer(new))


async def test_revoking_again_changes_nothing_and_only_within_the_project(memory: Engine, clock: FakeClock) -> None:
    new = await memory.keys.create(HOST)
    for other in ("bank", ""):
        with pytest.raises(NotFound, match="keys list"):
            await memory.keys.revoke(new.key.id, project=other)
    with pytest.raises(NotFound):
        await memory.keys.revoke(str(uuid4()))
    with pytest.raises(InvalidInput, match="not a key id"):
        await memory.keys.revoke(new.secret[:10])

    first = await memory.keys.revoke(new.key.id, project="shop", by="first")
    clock.advance(days=1)
    assert await memory.keys.revoke(new.key.id, by="second") == first


async def test_keys_are_listed_by_project_with_all_but_their_secrets(memory: Engine) -> None:
    shop, bank, every = [
        await memory.keys.create(Grant(role="admin", name="a", project=project)) for project in ("shop", "bank", None)
    ]
    await memory.keys.revoke(bank.key.id)

    assert {key.id for key in await memory.keys.find()} == {shop.key.id, bank.key.id, every.key.id}
    assert await memory.keys.find("shop") == [shop.key]
    assert [key.revoked_by for key in await memory.keys.find("bank")] == ["local"]


# Signing in ----------------------------------------------------------------------------------------------------------


async def test_a_browser_gets_a_key_of_its_own_that_may_as_much_and_is_not_listed(memory: Engine) -> None:
    new = await memory.keys.create(HOST)
    signed = await memory.keys.sign_in(new.secret)

    assert signed.secret != new.secret
    assert await memory.keys.identify(bearer(signed)) == Identity("service", "shop", None, "host", signed.key.id)
    assert [key.id for key in await memory.keys.find()] == [new.key.id]
    with pytest.raises(Unauthorized):
        await memory.keys.sign_in(new.secret[:-5] + "AAAAA")


async def test_it_ends_after_half_a_day_with_the_key_it_was_made_under_and_when_it_is_revoked(
    memory: Engine, clock: FakeClock
) -> None:
    new = await memory.keys.create(HOST)
    out, late, again = [await memory.keys.sign_in(secret) for secret in (new.secret, new.secret, new.secret)]
    with pytest.raises(Unauthorized, match="cannot sign in again"):
        await memory.keys.sign_in(again.secret)

    await memory.keys.revoke(out.key.id)
    await refused(memory, bearer(out))
    await memory.keys.identify(bearer(new))
    clock.advance(hours=11)
    for good in (late, again):
        await memory.keys.identify(bearer(good))
    clock.advance(hours=2)
    await refused(memory, bearer(late))

    last = await memory.keys.sign_in(new.secret)
    await memory.keys.revoke(new.key.id)
    await refused(memory, bearer(last))


# What it costs -------------------------------------------------------------------------------------------------------


async def test_a_key_is_looked_up_once_in_half_a_minute_and_a_guess_once_in_five_seconds(
    memory: Engine, asked: list[str]
) -> None:
    new = await memory.keys.create(HOST)
    for _ in range(10):
        await memory.keys.identify(bearer(new))
        await refused(memory, bearer(new.secret[:-5] + "AAAAA"))

    await asyncio.gather(*memory._deps.background_tasks._running.values())
    assert sorted(asked) == ["key.find", "key.find", "key.note_use"]


async def test_guesses_do_not_push_out_the_keys_of_those_who_belong_here(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.setattr(key_store, "MOST_UNKNOWN", 5)
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        new = await memory.keys.create(HOST)
        await memory.keys.identify(bearer(new))
        for n in range(20):
            await refused(memory, bearer(new.secret[:-5] + f"{n:05}"))
        asked.clear()

        await memory.keys.identify(bearer(new))
        assert asked == []
        assert len(memory._deps.store.keys._unknown._kept) == 5


def test_what_is_remembered_ends_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: moment)
    recent: key_store.RecentValues[str] = key_store.RecentValues(2)
    recent.put("a", "1")
    moment = 129.9
    assert recent.get("a", 30.0) == "1"
    moment = 130.0
    assert recent.get("a", 30.0) is None
    for name in "abc":
        recent.put(name, name)
    assert [recent.get(name, 30.0) for name in "abc"] == [None, "b", "c"]


async def test_the_last_use_is_kept_to_the_minute(memory: Engine, clock: FakeClock) -> None:
    new = await memory.keys.create(HOST)

    async def used() -> Any:
        memory._deps.store.keys._noted.clear()  # as if a minute had passed here
        await memory.keys.identify(bearer(new))
        await asyncio.gather(*memory._deps.background_tasks._running.values())
        [key] = await memory.keys.find()
        return key.last_used_at

    first = clock.now()
    assert await used() == first
    clock.advance(seconds=59)
    assert await used() == first
    clock.advance(seconds=1)
    assert await used() == first + timedelta(minutes=1)


# Basic ---------------------------------------------------------------------------------------------------------------


async def test_by_basic_a_user_is_vouched_for_by_his_own_key_or_by_that_of_his_application(memory: Engine) -> None:
    own, host = await memory.keys.create(grant("user", "alex")), await memory.keys.create(HOST)

    assert await memory.keys.identify(basic("alex", own)) == Identity("user", "shop", "alex", "a user", own.key.id)
    assert await memory.keys.identify(basic("blake", host)) == Identity("user", "shop", "blake", "host", host.key.id)
    assert "user name" in await refused(memory, basic("blake", own))
    assert "user" in await refused(memory, basic("x" * 201, host))


@pytest.mark.parametrize("role", ["admin", "data"])
async def test_basic_takes_no_key_of_a_mightier_role(memory: Engine, role: Role) -> None:
    assert "role user or service" in await refused(memory, basic("alex", await memory.keys.create(grant(role))))


async def test_a_token_is_no_password(settings: Settings) -> None:
    async with connect(replace(settings, jwt_secret=SECRET), embedder=FakeEmbedder(), worker=False) as memory:
        for scheme in ("basic", "key"):
            assert "is unknown" in await refused(memory, replace(token(), scheme=scheme, user="alex"))


# Tokens --------------------------------------------------------------------------------------------------------------


async def test_with_tokens_configured_the_door_is_closed_and_tokens_and_keys_open_it(settings: Settings) -> None:
    told = replace(settings, jwt_secret=SECRET, jwt_project_claim="org", jwt_role_claim="access.roles")
    async with connect(told, embedder=FakeEmbedder(), worker=False) as memory:
        assert "authentication required" in await refused(memory, None)
        assert await memory.keys.identify(token(org="shop")) == Identity("user", "shop", "alex", "alex")
        steward = token(org="shop", access={"roles": ["offline", "data"]})
        assert await memory.keys.identify(steward) == Identity("data", "shop", None, "alex")
        assert "claim 'org'" in await refused(memory, token())
        assert "expired" in await refused(memory, token(org="shop", exp=1))
        assert "not valid here" in await refused(memory, bearer("hunter2"))
        assert (await memory.keys.identify(bearer(await memory.keys.create(HOST)))).name == "host"


async def test_an_unsafe_token_setting_stops_the_start(settings: Settings) -> None:
    with pytest.raises(InvalidSetting, match="RECOLLECT_JWT_SECRET"):
        async with connect(replace(settings, jwt_secret="short"), worker=False):
            pass


# Secrets and walls ---------------------------------------------------------------------------------------------------


async def test_no_secret_is_in_a_row_a_log_an_error_or_a_repr(
    settings: Settings, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    async with connect(replace(settings, echo=True), embedder=FakeEmbedder(), worker=False) as memory:
        new = await memory.keys.create(HOST)
        told += [repr(await memory.keys.identify(bearer(new))), repr(bearer(new)), repr(await memory.keys.find())]
        told.append(await refused(memory, basic("alex", await memory.keys.create(grant("admin")))))
        await memory.keys.revoke(new.key.id)
        told += [await refused(memory, bearer(new)), repr(new)]
    with psycopg.connect(database) as owner:
        told.append(repr(owner.execute("SELECT k::text FROM recollect.api_key k").fetchall()))

    secret = new.secret.split("_")[-1]
    assert secret not in "".join(told) + caplog.text
    assert f"key {new.key.shown} ({new.key.id}) was revoked" in caplog.text


async def test_our_role_cannot_touch_the_table_and_learns_no_digest(
    memory: Engine, app: psycopg.Connection[Any]
) -> None:
    new = await memory.keys.create(HOST)
    shown = parse_key(new.secret)
    assert shown is not None

    for attempt in (
        "SELECT id FROM api_key",
        "DELETE FROM api_key",
        "UPDATE api_key SET role = 'admin'",
        "TABLE api_key",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute(attempt.encode())
    app.execute("SET ROLE recollect_operator")
    columns = {
        name: [column.name for column in app.execute(query.encode(), values).description or ()]
        for name, query, values in (
            ("list", "SELECT * FROM list_keys(NULL)", []),
            ("revoke", "SELECT * FROM revoke_key(%s, NULL, now(), 'x')", [new.key.id]),
        )
    }
    fields = [name.replace("user", "user_id") for name in inspect.signature(ApiKey).parameters]
    assert columns == dict.fromkeys(("list", "revoke"), fields)
    app.execute("SET ROLE recollect_app")
    found = app.execute("SELECT * FROM find_key(%s)", [shown.digest])
    assert [column.name for column in found.description or ()] == fields


@pytest.mark.parametrize(
    ("role", "project", "user"),
    [("root", "shop", None), ("user", "shop", None), ("data", None, None), ("admin", None, "alex")],
)
def test_the_database_refuses_a_key_that_makes_no_sense(
    app: psycopg.Connection[Any], role: str, project: str | None, user: str | None
) -> None:
    app.execute("SET ROLE recollect_operator")
    values = [uuid4(), b"x" * 32, "p", "n", role, project, user]
    with pytest.raises(psycopg.errors.CheckViolation):
        app.execute("SELECT add_key(%s, %s, %s, %s, %s, %s, %s, now(), 'x', NULL)", values)


def test_keys_for_code_that_does_not_await(settings: Settings) -> None:
    with connect_sync(settings, embedder=FakeEmbedder(), worker=False) as memory:
        assert memory.keys.identify(None) == LOCAL
        new = memory.keys.create(HOST)
        assert memory.keys.identify(bearer(new)).key == memory.keys.find("shop")[0].id
        assert memory.keys.revoke(new.key.id).revoked_at is not None


async def test_where_nothing_says_that_no_key_was_made_callers_need_one(memory: Engine, database: str) -> None:
    with psycopg.connect(database) as owner:
        owner.execute("DELETE FROM recollect.installation")

    with pytest.raises(Unauthorized):
        await memory.keys.identify(None)


async def test_the_first_key_is_remembered_when_its_row_is_gone(memory: Engine, database: str) -> None:
    await memory.keys.create(HOST)
    with psycopg.connect(database) as owner:
        owner.execute("DELETE FROM recollect.api_key")

    async with connect(memory._deps.settings, worker=False) as later:
        with pytest.raises(Unauthorized):
            await later.keys.identify(None)
