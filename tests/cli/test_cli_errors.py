"""What goes wrong is one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

from typing import get_args

import pytest

from recollect.values.memory import MemoryKind

from .cli_program import PROGRAM, Cli, run_program

NO_SERVER = "postgresql://nobody:secret@127.0.0.1:1/none"
NO_REQUEST = "01a1e211-da63-7c98-8b36-b1c5cee31291"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["record", "  "], 2, "TEXT: is empty"),
        (["record", "x", "--role", "boss"], 2, "--role: 'boss' is not one of user, assistant, system, tool"),
        (["record", "x", "--user", " "], 2, "--user: is empty"),
        (["recall", ""], 2, "QUESTION: is empty"),
        (["recall", "x", "--scope", "world"], 2, "--scope: 'world' is not one of auto, session, user"),
        (["recall", "x", "--limit", "0"], 2, "--limit: 0 is not between 1 and 200"),
        (["context", "x", "--budget", "0"], 2, "--budget: 0 is not between 1 and 200,000"),
        (["history"], 2, "--session: is required"),
        (["history", "--session", "none"], 3, "user 'alex' has no session 'none'"),
        (["forget", "--session", "none", "--yes"], 3, "user 'alex' has no session 'none'"),
        (["learn", "x", "--kind", "dream"], 2, f"--kind: 'dream' is not one of {', '.join(get_args(MemoryKind))}"),
        (["learn", "x", "--owner", "all"], 2, "--owner: 'all' is not one of user, project"),
        (["correct", NO_REQUEST, "x"], 3, f"there is no memory {NO_REQUEST} of user 'alex' or project 'default'"),
        (["memory", "close", "this"], 2, "ID: 'this' is not a memory id"),
        (["memory", "list", "--limit", "0"], 2, "--limit: 0 is not between 1 and 10,000"),
        (["forget", "--memory", "this", "--yes"], 2, "--memory: 'this' is not a memory id"),
        (["mark", "monday"], 2, "REF: 'monday' is not a turn's ref, which has the form session#index, e.g. monday#3"),
        (["mark", "monday#7"], 3, "user 'alex' has no turn monday#7"),
        (["episodes", "--limit", "0"], 2, "--limit: 0 is not between 1 and 1,000"),
        (["audit", "--owner", "all"], 2, "--owner: 'all' is not one of user, project"),
        (["explain", NO_REQUEST], 3, f"user 'alex' has no request {NO_REQUEST}"),
        (["explain", "what"], 2, "REQUEST_ID: 'what' is not a request id"),
        (["export", "--output", "/nowhere/file"], 2, "--output: /nowhere/file: No such file or directory"),
    ],
)
def test_one_line_and_a_code(cli: Cli, arguments: list[str], code: int, said: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out, ran.err) == (code, "", f"recollect: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["record", "x", "--at", "yesterday"], "'yesterday' is not an ISO time"),
        (["recall", "x", "--as-of", "now"], "'now' is not an ISO time"),
        (["recall"], "Missing argument 'QUESTION'"),
        (["record"], "give either a text or --file"),
        (["record", "x", "--file", "y"], "give either a text or --file"),
        (["recall", "x", "--nothing"], "No such option: --nothing"),
        (["remember"], "No such command 'remember'"),
        (["db"], "Missing command"),
        (["memory"], "Missing command"),
        (["ontology"], "Missing command"),
        (["recall", "x", "--define", "y"], "'y' is not TERM=MEANING"),
        (["learn", "x", "--term", "y", "--key", "z"], "use either --term, or --key and --kind"),
        (["memory", "list", "--all", "--status", "active"], "use either --all or --status"),
        (["memory", "redact", NO_REQUEST], "use --yes to redact"),
        (["memory", "forget", NO_REQUEST], "use --yes to forget"),
        (["forget", "--memory", NO_REQUEST, "--session", "monday"], "use either --session or --memory"),
    ],
)
def test_a_wrong_command_line_is_said_in_one_line(bare_cli: Cli, arguments: list[str], said: str) -> None:
    ran = bare_cli(*arguments)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert ran.err.startswith("recollect: ")
    assert said in ran.err


def test_programs_get_the_error_as_an_object(bare_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bare_cli("recall", " ", "--json").error == {
        "code": "invalid_request",
        "message": "QUESTION: is empty",
        "field": "QUESTION",
    }
    assert bare_cli("recall", "--json").error["code"] == "usage"
    monkeypatch.setenv("MEMORY_DB_POOL_SIZE", "many")
    wrong = bare_cli("recall", "x", "--json")
    assert (wrong.code, wrong.error["code"], wrong.error["field"]) == (2, "invalid_setting", "MEMORY_DB_POOL_SIZE")


@pytest.mark.parametrize("command", [["record", "x"], ["recall", "x"], ["db", "status"], ["db", "migrate"]])
def test_a_server_that_does_not_answer(bare_cli: Cli, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", NO_SERVER)
    ran = bare_cli(*command)
    assert (ran.code, len(ran.err.splitlines())) == (4, 1)
    assert ran.err.startswith("recollect: PostgreSQL does not answer (")
    assert "secret" not in ran.err


def test_a_connection_string_that_is_none(bare_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", "not a dsn")
    ran = bare_cli("db", "check")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "MEMORY_DB_CONNECTION_STRING: is not a connection string" in ran.err


def test_a_real_process_says_the_same_without_a_traceback() -> None:
    ran = run_program(PROGRAM, "recall", "x", MEMORY_DB_CONNECTION_STRING=NO_SERVER)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (4, "", 1)
