"""`recollect stats`: what each user has, and what waits."""

from __future__ import annotations

import json

from .cli_program import Cli


def test_stats_count_rows_bytes_vectors_and_waiting_work(cli: Cli) -> None:
    cli("record", "The heron nests in May.", "--user", "alex", "--session", "monday")
    cli("learn", "Invoices go out on Fridays.", "--user", "blake")

    listed = {each["user"]: each for each in json.loads(cli("stats", "--json").out)["users"]}

    assert set(listed) == {"alex", "blake", None}
    assert (listed["alex"]["conversations"], listed["alex"]["turns"]) == (1, 1)
    assert listed["alex"]["vectors"] == 1
    assert listed["alex"]["bytes"] > len("The heron nests in May.")
    assert listed["blake"]["memories"] == 1
    assert listed[None]["turns"] == 0
    assert "alex" in cli("stats").out
