"""`recollect learn`, `correct` and `memory`: what is known is shown, taught, corrected, shared, approved and erased."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .cli_program import Cli

SAID = {"session": "monday", "role": "user", "text": "I live in Leeds. Remind me to call Maria."}


def learned(cli: Cli) -> dict[str, str]:
    """Something learned from what was said; the ids by key."""
    assert cli("record", "-", stdin=json.dumps(SAID)).code == 0
    return {memory["key"]: memory["id"] for memory in listed(cli)}


def listed(cli: Cli, *options: str) -> list[dict[str, Any]]:
    return list(cli("memory", "list", *options, "--json").json["memories"])


def test_what_was_learned_is_listed_with_its_source(cli: Cli) -> None:
    ids = learned(cli)
    assert set(ids) == {"location", "todo"}
    shown = cli("memory", "list").out
    assert all(text in shown for text in (ids["location"], "Leeds", "0.95", "monday#0"))
    assert cli("memory", "list", "--user", "blake").out == "No memories.\n"


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ((), {"location", "todo"}),
        (("--kind", "todo"), {"todo"}),
        (("--kind", "todo", "--kind", "identity"), {"location", "todo"}),
        (("--key", "location"), {"location"}),
        (("--status", "superseded"), set()),
        (("--owner", "project"), set()),
        (("--as-of", "2020-01-01"), set()),
    ],
)
def test_a_list_can_be_narrowed(cli: Cli, options: tuple[str, ...], keys: set[str]) -> None:
    learned(cli)
    assert {memory["key"] for memory in listed(cli, *options)} == keys


def test_a_list_comes_in_pages(cli: Cli) -> None:
    ids = learned(cli)
    [first] = listed(cli, "--limit", "1")
    rest = listed(cli, "--after", first["id"])
    assert {first["id"], *(memory["id"] for memory in rest)} == set(ids.values())
    assert len(rest) == 1


def test_a_note_is_learned_outright(cli: Cli) -> None:
    ran = cli("learn", "The board meets on Thursday")
    assert (ran.code, ran.err) == (0, "")
    [note] = listed(cli)
    assert (note["kind"], note["value"], note["source"]) == ("note", "The board meets on Thursday", "explicit")
    assert note["id"] in ran.out
    assert note["refs"] == ["@alex"]


def test_a_value_is_learned_under_a_key(cli: Cli) -> None:
    done = cli("memory", "learn", "EUR", "--key", "currency", "--kind", "preference", "--json").json
    assert (done["text"], done["kind"], done["ref"]) == ("currency: EUR", "preference", f"memory:{done['id']}")


@pytest.mark.parametrize(
    ("answer", "options", "owner"),
    [
        ("I call them that when they ordered twice", (), "user"),
        ("our company means: ordered twice", (), "project"),
        ("our company means: ordered twice", ("--owner", "user"), "user"),
    ],
)
def test_an_answer_about_a_word_goes_to_whom_it_concerns(
    cli: Cli, answer: str, options: tuple[str, ...], owner: str
) -> None:
    asked = ("--term", "regular", "--question", "What is a regular?")
    done = cli("learn", answer, *asked, *options, "--json").json
    assert (done["kind"], done["source"], done["data"]) == (
        "definition",
        "clarification",
        {"question": "What is a regular?"} if owner == "user" else None,  # the question is its author's alone
    )
    assert [memory["id"] for memory in listed(cli, "--owner", owner)] == [done["id"]]
    [resolved] = cli("resolve", "regulars", "--json").json["resolutions"]
    assert (resolved["meaning"], resolved["tier"]) == (answer, owner)


def test_a_correction_ends_the_old_value_and_keeps_it(cli: Cli) -> None:
    old = learned(cli)["location"]
    new = cli("correct", f"memory:{old}", "York", "--json").json
    assert (new["value"], new["source"]) == ("York", "correction")
    assert [memory["value"] for memory in listed(cli, "--key", "location")] == ["York"]
    was = next(memory for memory in listed(cli, "--all", "--key", "location") if memory["id"] == old)
    assert (was["status"], was["reason"], was["replaced_by"]) == ("superseded", "corrected by the user", new["id"])
    shown = " ".join(cli("memory", "list", "--all").out.split())
    assert "Leeds (superseded: corrected by" in shown


def test_what_is_done_is_closed(cli: Cli) -> None:
    todo = learned(cli)["todo"]
    assert "call Maria (superseded: done)" in cli("memory", "close", todo).out
    assert [memory["key"] for memory in listed(cli)] == ["location"]


def test_a_promoted_memory_is_everybodys(cli: Cli) -> None:
    mine = cli("learn", "ordered twice", "--key", "regular", "--kind", "definition", "--json").json
    shared = cli("memory", "promote", mine["id"], "--json").json
    assert [memory["id"] for memory in listed(cli, "--owner", "project", "--user", "blake")] == [shared["id"]]
    assert listed(cli) == []


@pytest.mark.parametrize(("decision", "status"), [("approve", "active"), ("reject", "retracted")])
def test_a_pending_memory_waits_for_a_decision(cli: Cli, decision: str, status: str) -> None:
    proposed = cli("learn", "Ship on Friday", "--pending", "--json").json
    assert proposed["status"] == "pending"
    assert cli("memory", decision, proposed["id"], "--json").json["status"] == status
    again = cli("memory", decision, proposed["id"])
    assert (again.code, "only a pending memory waits" in again.err) == (2, True)


def test_a_redacted_value_is_gone_and_its_place_is_known(cli: Cli) -> None:
    home = learned(cli)["location"]
    assert cli("memory", "redact", home, types="n\n").code == 1
    ran = cli("memory", "redact", home, types="y\n")
    assert (ran.code, f"Redacted: memory {home} of alex" in ran.out) == (0, True)
    assert f"Redact memory {home} of user 'alex' in project 'default' permanently?" in ran.err
    assert "Leeds" not in cli("export").out
    assert "[redacted]" in cli("history", "--session", "monday").out


@pytest.mark.parametrize("command", [("memory", "forget"), ("forget", "--memory")])
def test_a_forgotten_memory_leaves_what_was_said(cli: Cli, command: tuple[str, ...]) -> None:
    home = learned(cli)["location"]
    assert f"Forget memory {home} of user 'alex'" in cli(*command, home, types="n\n").err
    receipt = cli(*command, home, "--yes", "--json").json
    assert (receipt["memory"], receipt["rows"], receipt["total"]) == (home, {"evidence": 1, "memory": 1}, 2)
    assert [memory["key"] for memory in listed(cli)] == ["todo"]
    assert "I live in Leeds" in cli("history", "--session", "monday").out


def test_the_trail_names_deeds_and_never_words(cli: Cli) -> None:
    ids = learned(cli)
    cli("correct", ids["location"], "York")
    cli("forget", "--session", "monday", "--yes")
    trail = cli("audit", "--json").json["audit"]
    assert {deed["actor"] for deed in trail} == {"rules", "user"}
    assert {"learned", "superseded", "forgot"} <= {deed["action"] for deed in trail}
    shown = cli("audit").out
    assert "turn 1" in shown
    assert not [word for word in ("Leeds", "York", "Maria") if word in shown]
    assert cli("audit", "--owner", "project").out == "Nothing was changed.\n"
