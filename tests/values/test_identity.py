"""Who calls, for whom, and what they may do: headers in, an answer or a refusal out."""

from __future__ import annotations

import base64
import inspect
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args
from uuid import uuid4

import pytest

from recollect import Engine
from recollect.errors import Forbidden, InvalidInput, Unauthorized
from recollect.values.identity import (
    ALLOWED,
    LOCAL,
    LONGEST,
    OF_PROJECT,
    ROLES,
    Action,
    Credentials,
    Grant,
    Identity,
    KeyId,
    Role,
    UserSource,
    authorize_scope,
    check_permission,
    choose_project,
    choose_user,
    generate_key,
    parse_credentials,
    parse_key,
    read_identity,
)
from recollect.values.scope import Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVICE = Identity("service", "shop", name="host")
ALEX = Identity("user", "shop", "alex", "alex")


@dataclass(frozen=True)
class Defaults:
    project: str = "default"
    user_source: str = "token"


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


# Credentials ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, None),
        ({"authorization": "Bearer abc"}, Credentials("bearer", "abc")),
        ({"AUTHORIZATION": "bearer  abc "}, Credentials("bearer", "abc")),
        ({"X-Api-Key": " rk_1 "}, Credentials("key", "rk_1")),
        ({"X-API-Key": "rk_1", "Authorization": "Bearer abc"}, Credentials("bearer", "abc")),
        (basic("alex:rk_1"), Credentials("basic", "rk_1", "alex")),
        (basic("李雷:rk:1"), Credentials("basic", "rk:1", "李雷")),
    ],
)
def test_credentials_are_found_in_the_usual_headers(headers: dict[str, str], found: Credentials | None) -> None:
    assert parse_credentials(headers) == found


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer  "},
        {"Authorization": "Bearer hush hush"},
        {"Authorization": "Bearer hush\x00"},
        {"Authorization": "Bearer hüsh"},
        {"Authorization": "Bearer " + "hush" * LONGEST},
        {"Authorization": "Digest hush"},
        {"Authorization": "hush"},
        {"Authorization": "Basic hush!"},
        {"Authorization": "Basic aHVzaA=="},
        {"Authorization": "Basic /////w=="},
        basic("alex:"),
        basic(":hush"),
        {"X-API-Key": ""},
        {"X-API-Key": "hush hush"},
    ],
)
def test_malformed_credentials_are_refused_with_the_header_s_name_and_not_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthorized) as refused:
        parse_credentials(headers)

    assert str(refused.value).startswith(next(iter(headers)))
    assert "hush" not in str(refused.value)


# Keys ----------------------------------------------------------------------------------------------------------------


def test_a_key_reads_as_it_was_made_and_shows_its_secret_to_nobody() -> None:
    new = generate_key(KeyId(uuid4()), Grant(role="service", name="host"), "me", NOW)
    shown = parse_key(new.secret)
    secret = new.secret.removeprefix(f"{new.key.shown}_")

    assert new.secret.startswith("rk_")
    assert new.secret.replace("_", "").isalnum()
    assert len(secret) == 43
    assert shown is not None
    assert (shown.prefix, len(shown.digest)) == (new.key.prefix, 32)
    told = repr((new, shown, Credentials("key", new.secret)))
    assert secret not in told
    assert shown.digest.hex() not in told
    assert repr(shown.digest) not in told


def test_no_two_keys_are_alike() -> None:
    grant = Grant(role="admin", name="a")

    assert len({generate_key(KeyId(uuid4()), grant, "me", NOW).secret for _ in range(1000)}) == 1000


@pytest.mark.parametrize("text", ["", "rk_", "rk_abcdefgh_short", "rk_ABCDEFGH_" + "a" * 43, "rk_abcdefgh_" + "a" * 44])
def test_what_has_not_the_form_of_a_key_is_none(text: str) -> None:
    assert parse_key(text) is None
    assert parse_key("rk_abcdefgh_" + "a" * 43 + "\n") is None


@pytest.mark.parametrize(
    ("grant", "field"),
    [
        ({"role": "root", "name": "x"}, "role"),
        ({"role": "admin", "name": " "}, "name"),
        ({"role": "user", "name": "x", "project": "shop"}, "user"),
        ({"role": "user", "name": "x", "user": "alex"}, "project"),
        ({"role": "data", "name": "x"}, "project"),
        ({"role": "service", "name": "x", "user": "alex"}, "user"),
        ({"role": "admin", "name": "x", "project": ""}, "project"),
        ({"role": "user", "name": "x", "project": "shop", "user": "x" * 201}, "user"),
    ],
)
def test_a_grant_that_makes_no_sense_is_refused(grant: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Grant(**grant)

    assert refused.value.field == field


# Tokens --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "names", "identity"),
    [
        ({"sub": "alex"}, {}, Identity("user", None, "alex", "alex")),
        ({"sub": "alex", "role": "admin"}, {}, Identity("user", None, "alex", "alex")),
        ({"sub": "alex"}, {"role_claim": "role"}, Identity("user", None, "alex", "alex")),
        ({"sub": "alex", "role": "root"}, {"role_claim": "role"}, Identity("user", None, "alex", "alex")),
        ({"sub": "alex", "role": {"admin": 1}}, {"role_claim": "role"}, Identity("user", None, "alex", "alex")),
        ({"sub": "alex", "role": "admin"}, {"role_claim": "role"}, Identity("admin", None, "alex", "alex")),
        ({"sub": "bot", "role": ["x", "data", "service"]}, {"role_claim": "role"}, Identity("service", name="bot")),
        ({"sub": "a", "org": "shop"}, {"project_claim": "org"}, Identity("user", "shop", "a", "a")),
        ({"who": {"mail": "a@b"}}, {"user_claim": "who.mail"}, Identity("user", None, "a@b", "a@b")),
        ({"sub": "a", "https://x.y/r": "data"}, {"role_claim": "https://x.y/r"}, Identity("data", name="a")),
    ],
)
def test_claims_say_who_it_is_and_a_role_only_if_we_ask_for_one(
    claims: dict[str, Any], names: dict[str, str], identity: Identity
) -> None:
    assert read_identity(claims, **names) == identity


@pytest.mark.parametrize(
    "claims", [{}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 201}, {"sub": "a\0b"}, {"sub": "a"}, {"sub": "a", "org": []}]
)
def test_a_token_that_does_not_name_user_and_project_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized, match="claim"):
        read_identity(claims, project_claim="org")


# For whom ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identity", "source", "request_names", "header", "user"),
    [
        (ALEX, "token", None, None, "alex"),
        (ALEX, "token", "alex", "alex", "alex"),
        (ALEX, "request", None, None, "alex"),
        (SERVICE, "token", "alex", None, "alex"),
        (SERVICE, "token", None, "alex", "alex"),
        (SERVICE, "request", "alex", None, "alex"),
        (SERVICE, "header", None, "alex", "alex"),
        (LOCAL, "token", "alex", None, "alex"),
        (Identity("admin", None, "root", "root"), "token", None, None, "root"),
        (Identity("admin", None, "root", "root"), "token", "alex", None, "alex"),
    ],
)
def test_the_user_is_the_caller_s_own_or_whom_a_host_names(
    identity: Identity, source: UserSource, request_names: str | None, header: str | None, user: str
) -> None:
    assert choose_user(identity, source, request=request_names, header=header) == user


@pytest.mark.parametrize(
    ("identity", "source", "request_names", "header", "error"),
    [
        (ALEX, "token", "blake", None, Forbidden),
        (ALEX, "request", "blake", None, Forbidden),
        (ALEX, "header", None, "blake", Forbidden),
        (ALEX, "header", "alex", "blake", Forbidden),
        (Identity("data", "shop", name="d"), "request", "blake", None, Forbidden),
        (SERVICE, "token", None, None, InvalidInput),
        (SERVICE, "request", None, "alex", InvalidInput),
        (SERVICE, "header", "alex", None, InvalidInput),
        (SERVICE, "header", "alex", "blake", InvalidInput),
    ],
)
def test_nobody_becomes_another_by_naming_him(
    identity: Identity, source: UserSource, request_names: str | None, header: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        choose_user(identity, source, request=request_names, header=header)


def test_the_project_is_the_identity_s_the_request_s_or_the_default_in_this_order() -> None:
    assert choose_project(LOCAL, None, "default") == "default"
    assert choose_project(LOCAL, "bank", "default") == "bank"
    assert choose_project(ALEX, None, "default") == "shop"
    assert choose_project(ALEX, "shop", "default") == "shop"
    with pytest.raises(Forbidden, match="belongs to project 'shop'"):
        choose_project(ALEX, "bank", "default")


# What they may do ----------------------------------------------------------------------------------------------------

ACTIONS: tuple[Action, ...] = get_args(Action)
# Said once more and in another way than the table says it: who may do it with his own, and who with another's.
MAY: dict[Role, set[str]] = {
    "user": {
        *("record", "recall", "context", "history", "explain", "resolve", "resolve_all", "learn", "correct"),
        *("memories", "close", "episodes", "mark", "forget", "redact", "export", "rejections", "settle"),
        *("terms", "memories_project", "data_sources", "ask", "documents", "add_document", "drop_document"),
    },
    "data": {
        *("terms", "memories_project", "learn_project", "change_project", "import_ontology", "put_term", "drop_term"),
        *("report", "metrics", "data_sources", "put_data_source", "ask", "change_documents"),
    },
    "service": {
        *("record", "recall", "context", "history", "explain", "resolve", "resolve_all", "learn", "correct"),
        *("memories", "close", "episodes", "mark", "forget", "redact", "export", "rejections", "settle"),
        *("terms", "memories_project", "learn_project", "metrics", "data_sources", "ask"),
        *("documents", "add_document", "drop_document"),
    },
    "admin": set(ACTIONS),
}
# Of a user's, what he may do in another's name: nothing is his there.
OTHERS = {"user": {"terms", "memories_project", "data_sources", "ask"}}


def identity_of(role: Role, project: str | None = "shop") -> Identity:
    return Identity(role, project, "alex" if role == "user" else None, role)


def is_allowed(identity: Identity, action: Action, scope: Scope | None) -> bool:
    try:
        check_permission(identity, action, scope)
    except Forbidden as refused:
        return "take" not in str(refused)  # a refusal that does not say what it takes is none
    return True


def permitted(identity: Identity, scope: Scope | None) -> set[str]:
    return {action for action in ACTIONS if is_allowed(identity, action, scope)}


@pytest.mark.parametrize("role", ROLES)
def test_every_role_may_do_what_it_is_for_with_its_own_and_with_another_s(role: Role) -> None:
    identity = identity_of(role)
    counts = MAY[role] & {"metrics"}  # of nobody in particular, so of any project

    assert permitted(identity, Scope("alex", project="shop")) == MAY[role]
    assert permitted(identity, Scope("blake", project="shop")) == OTHERS.get(role, MAY[role])
    assert permitted(identity, Scope("alex", project="bank")) == counts
    assert permitted(identity, Scope("blake", project="bank")) == counts
    assert permitted(identity, None) == counts


@pytest.mark.parametrize("role", ROLES)
def test_an_identity_of_all_projects_may_the_same_in_each(role: Role) -> None:
    identity = identity_of(role, project=None)

    assert permitted(identity, Scope("alex", project="bank")) == MAY[role]
    assert permitted(identity, Scope("blake", project="bank")) == OTHERS.get(role, MAY[role])
    assert permitted(identity, None) == OTHERS.get(role, MAY[role])


def test_the_table_has_every_verb_of_the_engine_and_no_action_is_without_a_rule() -> None:
    verbs = {name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_")}
    beside = {"health", "once", "identify", "sign_in"}
    beside |= {"create_key", "list_keys", "revoke_key", "retry_work"}  # "keys" and "work"
    beside |= {"conversations", "rename", "answered"}  # "history" and "record"
    beside |= {"data_source", "drop_data_source", "asked", "used", "brief"}  # "data_sources", "put_data_source", "ask"
    beside |= {"document", "passage", "search_documents"}  # "documents"
    beside |= {"conversation", "standalone", "memory"}  # "history", "context", "memories"

    assert verbs - beside <= set(ALLOWED)
    assert set(ALLOWED) == set(ACTIONS)
    assert set(ACTIONS) >= OF_PROJECT
    assert all("admin" in who for who in ALLOWED.values())


def test_a_refusal_names_the_role_that_it_takes() -> None:
    with pytest.raises(Forbidden, match=r"^put_term takes the role data or admin; this identity has the role user$"):
        check_permission(ALEX, "put_term", Scope("alex", project="shop"))
    with pytest.raises(Forbidden, match=r"^recall for another user takes the role service or admin$"):
        check_permission(ALEX, "recall", Scope("blake", project="shop"))
    with pytest.raises(
        Forbidden, match=r"^record takes the role user, service or admin; this identity has the role data"
    ):
        check_permission(identity_of("data"), "record", Scope("alex", project="shop"))


def test_a_scope_is_made_of_who_calls_and_what_was_asked() -> None:
    assert authorize_scope(ALEX, "record", Defaults(), {}, None, "monday") == Scope("alex", "monday", "shop")
    assert authorize_scope(SERVICE, "record", Defaults(), {"x-user-id": "blake"}) == Scope("blake", None, "shop")
    assert authorize_scope(LOCAL, "record", Defaults(), {}, "blake") == Scope("blake", None, "default")
    # Of what all share nobody has to be named: the author is whoever does it.
    assert authorize_scope(identity_of("data"), "put_term", Defaults(), {}) == Scope("data", None, "shop")
    assert authorize_scope(SERVICE, "learn_project", Defaults(), {}, "alex") == Scope("alex", None, "shop")
    for identity, action, user in (
        (ALEX, "terms", "blake"),
        (ALEX, "audit", None),
        (identity_of("data"), "recall", None),
    ):
        with pytest.raises(Forbidden):
            authorize_scope(identity, action, Defaults(), {}, user)  # type: ignore[arg-type]
