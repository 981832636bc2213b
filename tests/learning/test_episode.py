"""Episodes without a model: which turns are due, and a summary that quotes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.learning.extract import extract
from recollect.learning.rules import rulebooks
from recollect.learning.summary import MOST_TOKENS, NOTHING, Summary, summarize_by_quoting
from recollect.recall.entities import entities
from recollect.recall.lexemes import count_tokens
from recollect.values.conversation import Episode, Role, Turn, find_due_ranges
from recollect.values.memory import Extraction

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SETTINGS = st.integers(1, 40).flatmap(lambda every: st.tuples(st.just(every), st.integers(0, every - 1)))
QUOTED = re.compile(r'"(?:\.\.\.)?([^"]+?)(?:\.\.\.)?"')

PLANNING: list[tuple[Role, str]] = [
    ("user", "Hi there! I'm Anna, a nurse from Leeds."),
    ("assistant", "Hello Anna! Nice to meet you. How can I help?"),
    ("user", "What about sales by region for 2023? I need the numbers for Dr. Lee."),
    ("assistant", "Sales by region for 2023 grew most in the North. Let me know if you need anything else!"),
    ("user", "Thanks a lot!"),
    ("user", "We decided to use PostgreSQL for the report."),
    ("assistant", "Sure! PostgreSQL handles reports of that size well.\n```sql\nSELECT secret FROM orders;\n```"),
    ("user", "Remind me to send the draft to Maria on Friday."),
    ("user", "From now on, answer in short sentences."),
    ("assistant", "Understood."),
]
CHINESE: list[tuple[Role, str]] = [
    ("user", "你好！"),
    ("user", "我叫李明，住在上海。"),
    ("assistant", "你好，李明！很高兴认识你。"),
    ("user", "上个季度的销售额是多少？"),
    ("assistant", "上个季度的销售额是三百万元，比去年增长了百分之十。"),
    ("user", "我最近在读《三体》，是王老师推荐的。"),
    ("user", "我们决定用 PostgreSQL 存数据。"),
    ("user", "谢谢你！"),
]


def said(*pairs: tuple[Role, str]) -> list[Turn]:
    return [Turn(role, text, session="monday", index=index) for index, (role, text) in enumerate(pairs)]


def summarised(*pairs: tuple[Role, str], most: int = MOST_TOKENS) -> Summary:
    return summarize_by_quoting(said(*pairs), None, rulebooks(), most)


def quotations(summary: Summary) -> list[str]:
    return QUOTED.findall(summary.summary)


@given(SETTINGS, st.integers(0, 300), st.integers(0, 300))
def test_ranges_follow_each_other_from_what_is_covered_and_leave_the_window(
    settings: tuple[int, int], turns: int, covered: int
) -> None:
    every, window = settings
    ranges = find_due_ranges(turns, covered, every, window)
    assert all(first <= last for first, last in ranges)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(ranges))
    end = ranges[-1][1] + 1 if ranges else covered
    assert not ranges or (ranges[0][0] == covered and turns - end >= window)
    assert turns - end < every


@given(SETTINGS, st.integers(0, 200))
def test_ranges_are_the_same_after_every_turn_as_once_at_the_end(settings: tuple[int, int], turns: int) -> None:
    made: list[tuple[int, int]] = []
    for count in range(turns + 1):
        made += find_due_ranges(count, made[-1][1] + 1 if made else 0, *settings)
    assert made == find_due_ranges(turns, 0, *settings)


def test_at_twenty_turns_the_first_ten_are_due() -> None:
    assert find_due_ranges(19, 0) == []
    assert find_due_ranges(20, 0) == [(0, 9)]
    assert find_due_ranges(29, 10) == []
    assert find_due_ranges(45, 0) == [(0, 9), (10, 19), (20, 29)]


def test_an_episode_is_cited_by_its_turns_and_found_by_all_it_says() -> None:
    lists = (("name: Anna",), (), ("use PostgreSQL",), (), ("Anna",))
    episode = Episode(UUID(int=1), "monday", 0, 9, "User: hi", *lists, "rules", None, 12, NOON, NOON, NOON)
    assert episode.ref == "monday#0-9"
    assert episode.text == "User: hi\nFacts: name: Anna\nDecisions: use PostgreSQL\nNames: Anna"


@pytest.mark.parametrize("most", [80, 120, 200, 1000])
@pytest.mark.parametrize("conversation", [PLANNING, CHINESE, PLANNING + CHINESE])
def test_a_summary_quotes_verbatim_in_order_and_within_its_budget(
    conversation: list[tuple[Role, str]], most: int
) -> None:
    summary = summarised(*conversation, most=most)
    assert count_tokens(summary.summary) <= most
    everything = "\n".join(text for _, text in conversation)
    places = [everything.find(quoted) for quoted in quotations(summary)]
    assert places
    assert min(places) >= 0
    assert places == sorted(places)


def test_a_question_stands_with_its_answer_and_small_talk_code_and_courtesies_do_not() -> None:
    summary = summarised(*PLANNING).summary
    assert '"What about sales by region for 2023? I need the numbers for Dr. Lee."' in summary
    assert 'Assistant: "Sales by region for 2023 grew most in the North."' in summary
    assert "(code)" in summary
    for absent in ("Thanks a lot", "Hi there", "Nice to meet you", "Understood", "SELECT"):
        assert absent not in summary


def test_the_lists_hold_what_the_rules_found_in_the_user_s_words() -> None:
    summary = summarised(*PLANNING)
    assert "name: Anna" in summary.facts
    assert any("PostgreSQL" in decision for decision in summary.decisions)
    assert any("send the draft to Maria" in todo for todo in summary.todos)
    assert any("short sentences" in preference for preference in summary.preferences)
    assert {"PostgreSQL", "Maria"} <= set(summary.entities)


def test_chinese_is_quoted_labelled_and_listed() -> None:
    summary = summarised(*CHINESE)
    assert '用户问："上个季度的销售额是多少？"' in summary.summary
    assert '助手："上个季度的销售额是三百万元' in summary.summary
    assert "谢谢" not in summary.summary
    assert "name: 李明" in summary.facts
    assert any("PostgreSQL" in decision for decision in summary.decisions)
    assert set(summary.entities) == {"李明", "三体", "王老师", "PostgreSQL"}


@pytest.mark.parametrize(
    "text",
    [
        "<memory>Zebra keeper since 2019 in Oslo</memory> What should I cook for dinner tonight?",
        "What should I cook for dinner tonight?\n\nRecalled from earlier:\n[1] user: I am a zebra keeper in Oslo.\n",
        "What should I cook for dinner tonight?\n> zebra keeper in Oslo, they wrote",
        "What should I cook for dinner tonight?\n| animal | place |\n| zebra | Oslo |",
        "以下是之前的记忆：zebra 在 Oslo 工作。\n\nWhat should I cook for dinner tonight?",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_recalled_and_pasted_text_is_never_told(text: str, role: Role) -> None:
    summary = summarised((role, text))
    assert "What should I cook for dinner tonight?" in summary.summary
    assert "zebra" not in summary.summary.lower()
    assert not {"Oslo", "Zebra"} & set(summary.entities)


def test_tools_and_systems_are_not_quoted() -> None:
    assert summarised(("system", "You are a pirate captain."), ("tool", "rows: 41 red 42 blue")).summary == NOTHING


def test_what_is_to_be_forgotten_is_not_told_again() -> None:
    summary = summarised(("user", "I'm allergic to peanuts."), ("user", "Please forget that I'm allergic to peanuts."))
    assert not summary.preferences
    assert "forget" not in summary.summary


def test_of_a_key_with_one_value_the_last_one_counts() -> None:
    summary = summarised(("user", "I live in Leeds."), ("user", "Actually, I live in York."))
    assert summary.facts == ("location: York",)


def test_the_same_thing_said_twice_is_quoted_once() -> None:
    line = "The quarterly revenue report for Norway is late."
    assert quotations(summarised(("user", line), ("assistant", "Noted."), ("user", line))) == [line]


def test_a_long_sentence_is_quoted_in_parts_that_show_it() -> None:
    long = "We compared " + ", ".join(f"vendor number {n} with its price of {n * 37} dollars" for n in range(40)) + "."
    summary = summarised(("user", long))
    assert '..."' in summary.summary
    assert all(quoted in long for quoted in quotations(summary))


def test_a_named_speaker_is_named_and_goes_on_without_a_second_label() -> None:
    turns = [Turn("user", "The harvest festival starts in October.", speaker="Caroline")]
    turns += [Turn("user", "Tickets for the boat trip cost forty euros.", speaker="Caroline")]
    assert summarize_by_quoting(turns, None, rulebooks()).summary == (
        'Caroline: "The harvest festival starts in October." "Tickets for the boat trip cost forty euros."'
    )


def test_given_extractions_are_taken_by_index_and_make_the_same_summary() -> None:
    turns = said(*PLANNING)
    found = {turn.index or 0: extract(turn.text, turn.role, rulebooks()) for turn in turns}
    assert summarize_by_quoting(turns, found, rulebooks()) == summarize_by_quoting(turns, None, rulebooks())
    assert summarize_by_quoting(turns, {0: Extraction()}, rulebooks()).facts == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("🎉", NOTHING),
        ("Thanks!", NOTHING),
        ("```\nprint('hello')\n```", "User: (code)"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "User: (table)"),
        ("...", NOTHING),
    ],
)
def test_turns_that_cannot_be_quoted_still_give_a_summary(text: str, expected: str) -> None:
    assert summarised(("user", text)) == Summary(expected)


@pytest.mark.parametrize(
    "unit", ["x", "word ", "a, ", "「", '"', "`", "<a>", "{", "I like A. ", "好", "好，", "\n", "A "]
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_hundred_thousand_characters_are_no_trouble(unit: str, role: Role) -> None:
    summary = summarised(*[(role, unit * (100_000 // len(unit)))] * 10)
    assert count_tokens(summary.summary) <= MOST_TOKENS


def test_no_turns_no_summary() -> None:
    assert summarised() == Summary(NOTHING)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text(min_size=1)), max_size=5))
def test_any_text_gives_the_same_summary_again_within_the_budget(pairs: list[tuple[Role, str]]) -> None:
    summary = summarised(*pairs)
    assert count_tokens(summary.summary) <= MOST_TOKENS
    assert summary == summarised(*pairs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris is nice. We flew with Air France to New York.", ("Air France", "New York")),
        ("Marketing said so. They asked Marketing, and marketing agreed.", ()),
        ("Join order_items with `customers` on GitHub.", ("order_items", "customers", "GitHub")),
        ('The column is called "status" since May, on Monday, I think.', ("status",)),
        ("we watched The Lord of the Rings at the Café Zoë", ("The Lord of the Rings", "Café Zoë")),
        ("## Our Great Plan\n- Define Your Goals\n**Then** meet Bob", ()),
        ("我用Python和「星辰」项目，张经理同意了。产品经理没来。", ("星辰", "张经理", "Python")),
    ],
)
def test_names_are_known_by_how_they_are_written(text: str, expected: tuple[str, ...]) -> None:
    assert entities([text]) == expected
