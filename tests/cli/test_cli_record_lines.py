"""Many turns at once: JSON lines from a file or a pipe, checked before the first one is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.cli import log

from .cli_program import Cli

LINES = """
{"role": "user", "text": "one", "session": "a", "speaker": "Kim", "at": "2026-05-01T10:00:00Z", "data": {"sql": "x"}}
{"role": "user", "text": "two", "session": "b", "high_value": true}

{"role": "assistant", "text": "three", "session": "a"}
{"role": "user", "text": "four"}
"""


def test_lines_are_grouped_by_session_in_order(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text(LINES)
    ran = cli("record", "--file", str(tmp_path / "turns.jsonl"), "--session", "rest")
    assert ran.out.split() == ["a#0", "a#1", "b#0", "rest#0"]
    first = cli("history", "--session", "a", "--json").json["turns"][0]
    assert (first["speaker"], first["data"], first["at"]) == ("Kim", {"sql": "x"}, "2026-05-01T10:00:00+00:00")
    assert cli("history", "--session", "b", "--json").json["turns"][0]["high_value"] is True


def test_a_dash_reads_stdin(cli: Cli) -> None:
    assert cli(
        "record",
        "-",
        "--session",
        "rest",
        stdin=LINES,
    ).out.split() == ["a#0", "a#1", "b#0", "rest#0"]


def test_a_long_session_stays_one_session(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "BATCH_SIZE", 2)
    lines = "\n".join(json.dumps({"role": "user", "text": f"turn {n}"}) for n in range(5))
    done = cli("record", "-", "--key", "import", "--json", stdin=lines).json
    assert len({part["session"] for part in done["sessions"]}) == 1
    assert [ref.split("#")[1] for ref in done["refs"]] == list("01234")
    again = cli("record", "-", "--key", "import", "--json", stdin=lines).json
    assert again["refs"] == done["refs"]
    assert all(part["replayed"] for part in again["sessions"])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{not json", "line 2: JSON: "),
        ("[1]", "line 2: JSON: '[1]' is not an object"),
        ('{"role": "user"}', "line 2: text: is missing"),
        ('{"role": "usr", "text": "x"}', "line 2: role: 'usr' is not one of user, assistant, system, tool"),
        ('{"role": "user", "text": " "}', "line 2: text: is empty"),
        ('{"role": "user", "text": "x", "at": "noon"}', "line 2: at: 'noon' is not an ISO time"),
        ('{"role": "user", "text": "x", "at": 5}', "line 2: at: 5 is not an ISO time"),
        ('{"role": "user", "text": "x", "data": 5}', "line 2: data: must be a mapping, got int"),
        ('{"role": "user", "text": "x", "high_value": "yes"}', "line 2: high_value: 'yes' is neither"),
        ('{"role": "user", "text": "x", "session": 5}', "line 2: session: must be a string, got int"),
        ('{"role": "user", "text": "x", "txt": "y"}', "line 2: txt: unknown; a line may have role, text"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_kept(cli: Cli, line: str, complaint: str) -> None:
    good = '{"role": "user", "text": "good", "session": "a"}'
    ran = cli("record", "-", stdin=f"{good}\n{line}\n{good}\n")
    assert ran.code == 2
    assert ran.err.startswith(f"recollect: {complaint}")
    assert len(ran.err.splitlines()) == 1
    assert cli("history", "--session", "a").code == 3


def test_a_file_that_cannot_be_read_says_why(cli: Cli, tmp_path: Path) -> None:
    assert "No such file" in cli("record", "--file", str(tmp_path / "none")).err
    (tmp_path / "latin").write_bytes(b'{"role": "user", "text": "caf\xe9"}')
    assert "is not UTF-8" in cli("record", "--file", str(tmp_path / "latin")).err
    assert cli("record", "-", stdin="\n").err == "recollect: --file: has no turns\n"
