"""The evaluations of change stories and dialogues: the measures mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import dialogues, updates
from bench.stories import Reply, Story, read_stories
from recollect import Engine
from recollect.apps.chat.assistant import Assistant
from recollect.errors import InvalidInput
from recollect.settings import Settings

MOVED: dict[str, Any] = {
    "id": "m",
    "language": "en",
    "kind": "moved",
    "turns": [{"role": "user", "text": "I live in Leeds."}, {"role": "user", "text": "I have moved to Hexham now."}],
    "questions": [{"text": "Where do I live?", "current": ["Hexham"], "stale": ["Leeds"], "answer": ["Hexham"]}],
}
STORY = Story("m", "en", "moved", MOVED["turns"], MOVED["questions"])


def write(tmp_path: Path, *stories: dict[str, Any]) -> Path:
    path = tmp_path / "stories.jsonl"
    path.write_text("\n".join(map(json.dumps, stories)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        (["location: Hexham"], "current"),
        (["“I have moved from Leeds to Hexham”"], "other"),
        (["location: Hexham", "location: Leeds"], "stale"),
        (["location: Hexham", "No longer: location: Leeds"], "current"),
        (["location: Porto"], "other"),
    ],
)
def test_a_reply_is_current_only_without_a_stale_value(statements: list[str], verdict: str) -> None:
    assert updates.judge_reply(Reply(statements, False), STORY, MOVED["questions"][0]) == verdict


def test_nothing_is_current_after_an_end_unless_the_old_value_is_shown() -> None:
    ended = {"current": [], "stale": ["Leeds"]}
    assert updates.judge_reply(Reply([], True), STORY, ended) == "current"
    assert updates.judge_reply(Reply(["“I live in Leeds.”"], False), STORY, ended) == "stale"


@pytest.mark.parametrize(
    ("reply", "answer", "verdict"),
    [
        (Reply(["“14 June”"], False), ["June"], "right"),
        (Reply(["“other”", "“14 June”"], True), ["June"], "later"),
        (Reply(["“other”"], True), ["June"], "refused"),
        (Reply(["“other”"], False), ["June"], "wrong"),
        (Reply(["“other”"], True), [], "right"),
        (Reply(["“other”"], False), [], "wrong"),
    ],
)
def test_an_answer_is_right_in_the_first_statement(reply: Reply, answer: list[str], verdict: str) -> None:
    assert dialogues.judge(reply, answer) == verdict


async def test_stories_are_told_asked_and_forgotten(memory: Engine, settings: Settings, tmp_path: Path) -> None:
    path, assistant = write(tmp_path, MOVED), Assistant(memory, settings)
    changed = await updates.evaluate(memory, assistant, path)
    assert (changed["chat"]["current"], changed["context"]["current"]) == (1, 1)
    told = await dialogues.evaluate(memory, assistant, path)
    assert told["answerable"]["right"] == 1
    assert told["context_before"] == told["context_after"] == 1


def test_a_line_that_is_no_story_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"stories\.jsonl:1 is not a story"):
        read_stories(write(tmp_path, {"id": "x"}))
