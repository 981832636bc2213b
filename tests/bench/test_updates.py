"""Evaluation of updates: the measures mean what they say, by rules and with a model whose answers are scripted."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.updates import evaluate, is_in_order, split_evidence
from recollect import Engine, Scope, connect
from recollect.ports import Message
from recollect.providers.fake import FakeReasoner
from recollect.settings import Settings

TURN = re.compile(r"⟦turn (\d+), user⟧\s*(.*?)\s*⟦end⟧", re.DOTALL)
# key, what was said first with its value, what was said later with its value, and the question about it
CHANGED = (
    ("sources", "My library holds 45 sources by now", "45 sources", "The library grew to 52 sources", "52 sources"),
    ("commits", "We merged 150 commits into main", "150 commits", "The main branch has 165 commits", "165 commits"),
    ("coverage", "Our test coverage is 65 percent", "65 percent", "The tests now cover 78 percent", "78 percent"),
    ("dentist", "I see the dentist on May 20", "May 20", "The dentist moved me to May 22", "May 22"),
    ("target", "I write 1200 words per week", "1200 words", "My weekly target is 1350 words from now on", "1350 words"),
    ("team_size", "Our choir has 14 singers", "14 singers", "Two joined, the choir has 16 singers", "16 singers"),
)
QUESTIONS = {
    "sources": "How many sources does my library hold?",
    "commits": "How many commits did we merge into main?",
    "coverage": "What is our test coverage?",
    "dentist": "When do I see the dentist?",
    "target": "How many words do I write per week?",
    "team_size": "How many singers does our choir have?",
}


def written(path: Path, said: Sequence[str], questions: Sequence[dict[str, Any]] = ()) -> Path:
    turns = [
        {"id": f"t{n}", "session": "1", "at": f"2026-01-{n + 1:02}T10:00:00", "role": "user", "text": text}
        for n, text in enumerate(said)
    ]
    path.write_text(json.dumps({"id": "kim", "turns": turns, "questions": list(questions)}))
    return path


def about(text: str, answer: str, *evidence: str) -> dict[str, Any]:
    return {"text": text, "category": "knowledge_update", "answer": answer, "evidence": list(evidence)}


@pytest.mark.parametrize(
    ("found", "in_order"),
    [
        (["new", "x", "old"], True),
        (["old", "new"], False),
        (["x", "new"], True),
        (["old"], False),
        (["x"], None),
        (["both"], None),
    ],
)
def test_in_order_is_the_new_before_every_old(found: list[str], in_order: bool | None) -> None:
    assert is_in_order(found, ["new", "both"], ["old", "older", "both"]) is in_order


def test_the_evidence_with_the_answer_s_figures_is_what_is_so_now() -> None:
    said = ["at 3 PM on April 21", "moved to April 22 at 11:30", "what else is on April 22?"]
    turns = [{"id": n, "text": text} for n, text in enumerate(said)]

    assert split_evidence(about("?", "April 22 at 11:30", "0", "1", "2"), turns) == (["1"], ["0"])
    assert split_evidence(about("?", "nobody knows", "0", "1", "2"), turns) == (["2"], ["0", "1"])


async def test_a_change_that_the_rules_notice_is_caught_confirmed_and_put_first(memory: Engine, tmp_path: Path) -> None:
    said = ["I live in Leeds.", "Lunch was soup.", "I live in York now.", "I live in Bath now."]
    path = written(tmp_path / "one.jsonl", said, [about("Where do I live?", "in Bath", "t0", "t2", "t3")])

    result = (await evaluate(memory, path)).to_dict()

    assert (result["caught"], result["confirmed"], result["by_key"]) == (2, 2, {"identity/location": 2})
    assert result["caught_in_order"] == {"asked": 2, "in_order": 2, "share": 1.0}
    assert result["questions"]["knowledge_update"]["learned"] == {"asked": 1, "in_order": 1, "share": 1.0}
    assert not [line async for line in memory.export(Scope("kim"))]


@pytest.mark.parametrize(
    "said",
    [
        ["I'm a 44-year-old colour technologist.", "I'm a colour technologist."],
        ["I love travelling to new places. Actually, I love reading novels."],
        ["I love travelling to new places.", *["Tell me more."] * 12, "Actually, I love reading novels."],
    ],
    ids=["in fewer words", "beside it in one turn", "long after it"],
)
async def test_what_is_no_change_ends_nothing(memory: Engine, tmp_path: Path, said: list[str]) -> None:
    result = (await evaluate(memory, written(tmp_path / "one.jsonl", said))).to_dict()

    assert result["memories"] > 0
    assert result["updates"] == []


def claims(messages: Sequence[Message]) -> str:
    """What a model would say of the turns it is shown: each value of CHANGED, the later ones as corrections."""
    facts = []
    for number, text in TURN.findall(messages[-1].text):
        for key, before, old, after, new in CHANGED:
            fact = {"turn": int(number), "category": "fact", "key": key}
            if text.startswith(before):
                facts.append({**fact, "value": old, "quote": before})
            if text.startswith(after):
                facts.append({**fact, "value": new, "quote": after, "corrects": True, "old": old})
    return json.dumps({"facts": facts})


@pytest.fixture
async def taught(settings: Settings) -> AsyncIterator[Engine]:
    async with connect(settings, reasoner=FakeReasoner(claims), worker=False) as engine:
        yield engine


async def test_changes_that_a_model_claims_are_caught_and_put_first(taught: Engine, tmp_path: Path) -> None:
    said = [f"{text}." for place in (1, 3) for text in [changed[place] for changed in CHANGED]]
    size = len(CHANGED)
    questions = [about(QUESTIONS[c[0]], c[4], f"t{n}", f"t{n + size}") for n, c in enumerate(CHANGED)]

    result = (await evaluate(taught, written(tmp_path / "one.jsonl", said, questions))).to_dict()

    assert (result["caught"], result["confirmed"]) == (size, size), result["updates"]
    assert result["caught_in_order"]["share"] >= 0.8
    assert result["questions"]["knowledge_update"]["learned"]["share"] >= 0.8
    plain = result["questions"]["knowledge_update"]["plain"]
    assert plain["in_order"] < size, "without learning some of these would come in the wrong order"
