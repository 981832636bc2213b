"""`recollect keys`: made once and shown once, listed without secrets, revoked."""

from __future__ import annotations

import pytest

from recollect.values.identity import parse_key

from .cli_program import Cli


def test_a_key_is_printed_alone_once_and_never_again(cli: Cli) -> None:
    made = cli("keys", "create", "--role", "user", "--user", "blake", "--project", "shop", "--name", "laptop")
    secret = made.out.strip()

    assert made.code == 0
    assert parse_key(secret) is not None
    assert "not shown again" in made.err
    listed = cli("keys", "list")
    assert [word in listed.out for word in (secret[:11], "laptop", "shop", "blake", "good")] == [True] * 5
    assert secret.split("_")[-1] not in listed.out + cli("keys", "list", "--json").out


def test_programs_get_objects(cli: Cli) -> None:
    made = cli("keys", "create", "--role", "service", "--expires-days", "30", "--json").json
    assert parse_key(made["secret"]) is not None
    assert (made["role"], made["name"], made["project"], made["user"]) == ("service", "service", "default", None)
    assert (made["created_by"], made["expires_at"] > made["created_at"]) == ("command line", True)

    every = cli("keys", "create", "--role", "admin", "--every-project", "--json").json
    assert every["project"] is None
    assert [key["id"] for key in cli("keys", "list", "--json").json["keys"]] == [made["id"], every["id"]]
    assert [key["id"] for key in cli("keys", "list", "--project", "default", "--json").json["keys"]] == [made["id"]]

    assert cli("keys", "revoke", made["id"], "--json").json["revoked_by"] == "command line"
    assert [key["id"] for key in cli("keys", "list", "--json").json["keys"]] == [every["id"]]
    assert len(cli("keys", "list", "--all", "--json").json["keys"]) == 2
    assert "was revoked" in cli("keys", "list", "--all").out


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("create", "--role", "root"), 2, "role"),
        (("create", "--role", "user"), 2, "user"),
        (("create", "--role", "data", "--every-project"), 2, "project"),
        (("create", "--role", "admin", "--every-project", "--project", "shop"), 2, "either"),
        (("create", "--role", "admin", "--expires-days", "0"), 2, "expires"),
        (("revoke", "nonsense"), 2, "not a key id"),
        (("revoke", "01890000-0000-7000-8000-000000000000"), 3, "no key"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(cli: Cli, arguments: tuple[str, ...], code: int, problem: str) -> None:
    ran = cli("keys", *arguments, "--json")

    assert (ran.code, ran.out) == (code, "")
    assert problem in ran.error["message"]


def test_without_keys_it_says_how_to_make_one(cli: Cli) -> None:
    assert "recollect keys create" in cli("keys", "list").out
