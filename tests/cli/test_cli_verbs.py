"""Every verb on the command line, for people and for programs."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from recollect import Engine, Query
from recollect.cli.app import app
from recollect.cli.memories import context, recall

from .cli_program import Cli

# One waits, with nothing to see; the others are for doors and hosts.
HOST_ONLY = {
    "settle",
    "standalone",
    "once",
    "identify",
    "answered",
    "asked",
    "used",
    "brief",
    "sign_in",
    "server_identity",
}
TOP_LEVEL = {
    *("record", "recall", "context", "resolve", "learn", "correct"),
    *(
        "forget",
        "export",
        "explain",
        "history",
        "conversations",
        "rename",
        "episodes",
        "mark",
        "audit",
        "rejections",
        "report",
    ),
}
ELSEWHERE = {
    "resolve_all": "resolve",
    "conversation": "conversations",
    "memory": "memory list",
    "memories": "memory list",
    "close": "memory close",
    "promote": "memory promote",
    "approve": "memory approve",
    "reject": "memory reject",
    "redact": "memory redact",
    "import_ontology": "ontology import",
    "terms": "ontology list",
    "put_term": "ontology set",
    "drop_term": "ontology drop",
    "data_sources": "sources list",
    "data_source": "sources show",
    "put_data_source": "sources add",
    "drop_data_source": "sources drop",
    "add_document": "docs add",
    "documents": "docs list",
    "document": "docs show",
    "passage": "docs show",
    "drop_document": "docs rm",
    "search_documents": "docs ask",
    "health": "work status",
    "retry_work": "work retry",
    "create_key": "keys create",
    "list_keys": "keys list",
    "revoke_key": "keys revoke",
}

TOLD = """
{"session": "monday", "role": "user", "text": "I keep my bees in Wales", "at": "2026-05-01T10:00"}
{"session": "monday", "role": "assistant", "text": "Noted: bees in Wales"}
{"session": "tuesday", "role": "user", "text": "My car is blue", "speaker": "Alex"}
"""


MOVED = """
{"session": "monday", "role": "user", "text": "I live in Leeds.", "at": "2026-05-01T10:00"}
{"session": "tuesday", "role": "user", "text": "I moved to York last week.", "at": "2026-06-01T10:00"}
"""


def told(cli: Cli) -> None:
    """A little for the verbs to work on."""
    assert cli("record", "-", stdin=TOLD).code == 0


def verbs() -> list[str]:
    return [name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_")]


def command_of(path: str) -> object:
    command: Any = get_command(app)
    for word in path.split():
        command = command.commands[word]
    return command


@pytest.mark.parametrize("verb", sorted(set(verbs()) - HOST_ONLY))
def test_every_verb_has_a_command(verb: str) -> None:
    assert verb in TOP_LEVEL | set(ELSEWHERE), "a new verb: say where its command is"
    assert command_of(ELSEWHERE.get(verb, verb))


def test_every_option_of_a_query_is_an_option_of_recall_or_context() -> None:
    offered = {*inspect.signature(recall).parameters, *inspect.signature(context).parameters}
    named = {"text": "question", "kinds": "kind", "definitions": "define"}
    assert {named.get(field.name, field.name) for field in fields(Query)} <= offered


def test_recorded_text_gets_a_reference(cli: Cli) -> None:
    ran = cli("record", "I keep bees", "--session", "monday")
    assert (ran.code, ran.out, ran.err) == (0, "monday#0\n", "")


def test_a_record_without_session_opens_one_and_says_which(cli: Cli) -> None:
    ran = cli("record", "I keep bees", "--json").json
    [session] = ran["sessions"]
    assert ran["refs"] == session["refs"] == [f"{session['session']}#0"]
    assert session["replayed"] is False


def test_the_same_key_writes_once(cli: Cli) -> None:
    first = cli("record", "I keep bees", "--key", "k1")
    assert cli("record", "I keep bees", "--key", "k1").out == first.out
    refused = cli("record", "I keep wasps", "--key", "k1", "--json")
    assert (refused.code, refused.error["code"]) == (1, "conflict")


def test_users_and_projects_are_apart(cli: Cli) -> None:
    told(cli)
    assert cli("recall", "bees", "--json").json["hits"]
    assert cli("recall", "bees", "--user", "blake", "--json").json["hits"] == []
    assert cli("recall", "bees", "--project", "other", "--json").json["hits"] == []


def test_recall_shows_source_time_speaker_text_and_reason(cli: Cli) -> None:
    told(cli)
    ran = cli("recall", "where are the bees?")
    assert ran.code == 0
    assert all(
        text in ran.out for text in ("monday#0", "2026-05-01 10:00", "user", "I keep my bees in Wales", "words bee")
    )
    assert "request " in ran.out


def test_recall_says_why_it_left_the_session(cli: Cli) -> None:
    told(cli)
    ran = cli("recall", "bees", "--session", "tuesday")
    assert "widened: " in ran.out
    stayed = cli("recall", "bees", "--session", "tuesday", "--scope", "session", "--json").json
    assert stayed["scope_used"] == "session"
    assert all(hit["session"] == "tuesday" for hit in stayed["hits"])


def test_recall_for_programs_has_what_the_library_has(cli: Cli) -> None:
    told(cli)
    found = cli("recall", "bees in Wales", "--limit", "1", "--json").json
    [hit] = found["hits"]
    assert hit["rank"] == 1
    assert hit["source"] in ("monday#0", "monday#1")
    assert hit["arms"]["bm25"]["rank"] == 1
    assert hit["score"] == pytest.approx(sum(hit["parts"].values()), abs=0.001)


def test_recall_as_of_a_time_sees_nothing_later(cli: Cli) -> None:
    told(cli)
    hits = cli("recall", "bees and the car", "--as-of", "2026-05-02", "--json").json["hits"]
    assert [hit["source"] for hit in hits] == ["monday#0"]


def test_excluded_turns_are_not_found(cli: Cli) -> None:
    told(cli)
    everything, rest = (
        {hit["source"] for hit in cli("recall", "bees", "--json", *options).json["hits"]}
        for options in ((), ("--exclude", "monday#0"))
    )
    assert everything - rest == {"monday#0"}


def test_context_prints_the_text_alone_and_the_figures_beside_it(cli: Cli) -> None:
    told(cli)
    ran = cli("context", "bees", "--budget", "60")
    assert "I keep my bees in Wales" in ran.out
    assert ran.out == cli("context", "bees", "--budget", "60", "--json").json["text"] + "\n"
    assert " of 60 tokens, " in ran.err


def test_context_keeps_to_its_budget_and_names_what_it_left_out(cli: Cli) -> None:
    told(cli)
    packed = cli("context", "bees", "--budget", "25", "--json").json
    assert packed["tokens"] <= 25
    assert packed["truncated"]
    assert packed["left_out"][0]["reason"]


def test_history_is_in_order(cli: Cli) -> None:
    told(cli)
    ran = cli("history", "--session", "monday")
    assert ran.out.index("I keep my bees") < ran.out.index("Noted: bees")
    turns = cli("history", "--session", "monday", "--limit", "1", "--json").json["turns"]
    assert [turn["source"] for turn in turns] == ["monday#1"]


def test_explain_tells_what_a_request_found(cli: Cli) -> None:
    told(cli)
    found = cli("recall", "bees in Wales", "--json").json
    ran = cli("explain", found["request_id"])
    assert "recall: bees in Wales" in ran.out
    assert "arms: bm25 #1" in ran.out
    explained = cli("explain", found["request_id"], "--json").json
    assert [hit["source"] for hit in explained["hits"]] == [hit["source"] for hit in found["hits"]]
    assert explained["hits"][0]["why"] == found["hits"][0]["why"]


def test_export_comes_back_in_with_record(cli: Cli, tmp_path: Path) -> None:
    told(cli)
    exported = cli("export").out
    kinds = {json.loads(line)["kind"] for line in exported.splitlines()}
    assert kinds == {"conversation", "turn", "memory", "evidence", "rejection", "audit"}
    assert cli("record", "--file", "-", "--user", "blake", stdin=exported).code == 0
    again = [json.loads(line) for line in cli("export", "--user", "blake").out.splitlines()]
    turns = [line for line in map(json.loads, exported.splitlines()) if line["kind"] == "turn"]
    assert [line for line in again if line["kind"] == "turn"] == turns


def test_export_into_a_file(cli: Cli, tmp_path: Path) -> None:
    told(cli)
    target = tmp_path / "alex.jsonl"
    about = cli("export", "--output", str(target), "--json").json
    lines = target.read_text().splitlines()
    assert about == {"output": str(target), "lines": len(lines)}
    assert [json.loads(line)["kind"] for line in lines[:5]] == ["conversation", "turn", "turn", "conversation", "turn"]


def test_forget_asks_first(cli: Cli) -> None:
    told(cli)
    refused = cli("forget", types="n\n")
    assert (refused.code, refused.out.strip()) == (1, "")
    assert "everything of user 'alex'" in refused.err
    assert cli("history", "--session", "monday").code == 0
    done = cli("forget", types="y\n")
    assert (done.code, cli("history", "--session", "monday").code) == (0, 3)


def test_forget_where_nobody_can_answer_needs_yes(cli: Cli) -> None:
    assert cli("forget").code == 2


def test_explain_tells_what_was_known_and_what_was_believed_before(cli: Cli) -> None:
    cli("record", "-", stdin=MOVED)
    found = cli("context", "where did I live before?", "--json").json
    [first, *_] = cli("explain", found["request_id"], "--json").json["memories"]
    story = [(one["value"], one["valid_from"][:10], (one["valid_to"] or "")[:10]) for one in first["history"]]
    assert story == [("Leeds", "2026-05-01", "2026-06-01"), ("York", "2026-06-01", "")]
    assert [one["reason"] for one in first["history"]] == ["corrected by the user", None]
    shown = cli("explain", found["request_id"]).out
    assert shown.count("from 2026-05-01 10:00 to 2026-06-01 10:00, Leeds: corrected by the user") == 1
    assert "from 2026-06-01 10:00 on, York" in shown


def test_recall_shows_what_is_known_and_what_words_mean(cli: Cli) -> None:
    cli("record", "-", stdin=MOVED)
    asked = ("recall", "where do I live, and what is a client?", "--define", "client=who pays us")
    shown = cli(*asked).out
    assert all(text in shown for text in ("location: York", "tuesday#0", "client: who pays us", "asks for it"))
    found = cli(*asked, "--json").json
    assert {hit["memory"]["value"]: hit["tier"] for hit in found["memories"]} == {"York": "user"}
    assert [(one["term"], one["meaning"], one["tier"]) for one in found["resolved"]] == [
        ("client", "who pays us", "session")
    ]


def test_kinds_choose_what_is_found(cli: Cli) -> None:
    cli("record", "-", stdin=MOVED)
    only = cli("recall", "where do I live?", "--kind", "turn", "--json").json
    assert (bool(only["hits"]), only["memories"]) == (True, [])


def test_a_long_session_is_shown_in_episodes(cli: Cli) -> None:
    lines = [json.dumps({"role": "user", "text": f"Step {n}: we tune pump {n}", "session": "a"}) for n in range(20)]
    cli("record", "-", stdin="\n".join(lines))
    [episode] = cli("episodes", "--json").json["episodes"]
    assert (episode["ref"], episode["first"], episode["last"]) == ("a#0-9", 0, 9)
    assert "a#0-9" in cli("episodes", "--session", "a").out
    found = cli("recall", "which pump?", "--json").json
    assert [hit["source"] for hit in found["episodes"]] == ["a#0-9"]
    assert "a#0-9" in cli("explain", found["request_id"]).out
    assert "No session is long enough" in cli("episodes", "--session", "b").out


def test_a_marked_message_is_of_high_value_until_the_mark_is_taken_away(cli: Cli) -> None:
    told(cli)

    def worth() -> float:
        hits = cli("recall", "bees in Wales", "--json").json["hits"]
        return next(float(hit["parts"]["kind"]) for hit in hits if hit["source"] == "monday#0")

    before = worth()
    assert cli("mark", "monday#0", "--json").json == {"source": "monday#0", "high_value": True}
    assert worth() > before
    assert cli("mark", "monday#0", "--no-high-value").code == 0
    assert worth() == before


def test_what_learning_turned_away_is_counted(cli: Cli) -> None:
    told(cli)
    assert cli("rejections", "--json").json == {"rejections": {"not the user": 1}}
    assert "not the user" in cli("rejections").out
    assert cli("rejections", "--user", "blake").out == "Nothing was rejected.\n"


def test_forget_gives_a_receipt(cli: Cli) -> None:
    told(cli)
    receipt = cli("forget", "--session", "monday", "--yes", "--json").json
    assert (receipt["session"], receipt["rows"]["turn"], receipt["rows"]["conversation"]) == ("monday", 2, 1)
    ran = cli("forget", "--yes")
    assert "everything of alex" in ran.out
    assert "conversation" in ran.out
