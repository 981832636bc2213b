"""Extraction, pure: texts in, facts out. What single rules find is tested beside the rules, in tests/learning/rules."""

from __future__ import annotations

import time

import pytest

from recollect.learning.extract import MOST_FACTS, extract
from recollect.learning.rules import rulebooks
from recollect.values.memory import KEPT_CONFIDENCE, KEPT_IMPORTANCE, Extraction, Fact


def read(text: str, role: str = "user") -> Extraction:
    return extract(text, role, rulebooks())


def values(text: str) -> dict[str, str]:
    return {fact.key: fact.value for fact in read(text).facts}


def only(text: str) -> Fact:
    (fact,) = read(text).facts
    return fact


def reasons(text: str) -> list[str]:
    return [rejection.reason for rejection in read(text).rejected]


def test_several_facts_in_one_sentence() -> None:
    found = {"name": "Anna", "age": "34", "job": "nurse", "hometown": "Leeds"}
    assert values("I'm Anna, 34, a nurse from Leeds") == found


def test_a_fact_is_cited_where_it_was_said() -> None:
    text = "Hello there! My name’s Zoë, and I live in Köln."
    facts = read(text).facts
    assert [(fact.key, text[slice(*fact.span)]) for fact in facts] == [("name", "Zoë"), ("location", "Köln")]


def test_both_languages_in_one_text() -> None:
    assert values("我叫Alex，I live in Berlin") == {"name": "Alex", "location": "Berlin"}


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_the_user_is_believed(role: str) -> None:
    made = read("My name is Alex", role)
    assert made.facts == ()
    assert [rejection.reason for rejection in made.rejected] == ["not the user"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hi there!", "small talk"),
        ("do you know where I live", "question"),
        ("if I lived in Rome, my name would be Luca", "hypothetical"),
        ("she said she is vegan", "reported"),
        ("I'm at the airport", "temporary"),
        ("I used to live in Rome", "past"),
        ("write me a poem about Rome", "request"),
        ("let's pretend I'm a doctor", "role play"),
        ("my name is Batman, just kidding", "joke"),
        ('he sang "my name is Luca and I live upstairs"', "quoted"),
        ("```\nmy name is Luca\n```", "quoted"),
        ("> I live in Rome", "quoted"),
        ("Recalled from earlier: my name is Luca.", "quoted"),
        ("<memory>I live in Rome</memory>", "quoted"),
        ("Translate: I live in Rome", "quoted"),
        ("你好", "small talk"),
        ("你知道我住在哪里吗", "question"),
        ("如果我住在北京", "hypothetical"),
        ("她说她吃素", "reported"),
    ],
)
def test_what_states_nothing_is_turned_away_with_its_reason(text: str, reason: str) -> None:
    assert read(text).facts == []
    assert reason in reasons(text)


def test_a_statement_before_a_question_counts() -> None:
    assert values("I'm allergic to peanuts and shellfish, can you suggest a dish?") == {
        "allergy": "peanuts and shellfish"
    }


def test_a_negation_is_not_its_opposite() -> None:
    assert read("I am not vegetarian").facts == []
    assert only("I don't eat meat").value == "I don't eat meat"


def test_the_facts_of_relatives_are_not_his_own() -> None:
    fact = only("my wife is allergic to nuts")
    assert (fact.category, fact.key, fact.value) == ("fact", "family", "my wife is allergic to nuts")
    assert [fact.key for fact in read("我表姐在银行工作，是个柜员").facts] == ["family"]


@pytest.mark.parametrize(
    "text",
    [
        *("Actually I live in Porto", "call me Al", "I moved to Rome", "No, that's wrong. My name is Rob."),
        *("my name isn't Bob, it's Rob", "其实我住在杭州", "我不是工程师，是设计师"),
    ],
)
def test_a_correction_says_so(text: str) -> None:
    assert only(text).corrects


def test_a_correction_names_what_it_replaces() -> None:
    assert only("We've switched from Jenkins to GitHub Actions").old == "Jenkins"
    assert not only("I live in Porto").corrects


def test_what_is_told_to_be_remembered_is_explicit() -> None:
    fact = only("Please remember that I'm vegan")
    assert (fact.key, fact.explicit, fact.confidence) == ("diet", True, 0.95)
    note = only("请记住，仓库的门禁码是5566")
    assert (note.category, note.key, note.value) == ("fact", "note", "仓库的门禁码是5566")


def test_what_is_to_be_forgotten_is_not_learned() -> None:
    made = read("Forget that I live in Porto. I'm a nurse.")
    assert [(command.verb, command.text) for command in made.commands] == [("forget", "I live in Porto")]
    assert [fact.key for fact in made.facts] == ["job"]


def test_what_is_said_twice_is_one_fact() -> None:
    assert only("I live in Rome. Yes, I live in Rome, Italy.").value.startswith("Rome")


def test_a_guess_is_believed_less() -> None:
    assert only("I think I live in Porto").confidence < only("I live in Porto").confidence


def test_one_turn_gives_a_handful() -> None:
    text = " ".join(f"My favourite {thing} is number {i}." for i, thing in enumerate("abcdefghij"))
    made = read(text.replace("favourite ", "favourite kind of "))
    assert len(made.facts) == MOST_FACTS
    assert "too many" in [rejection.reason for rejection in made.rejected]


def test_what_is_kept_is_above_the_threshold() -> None:
    facts = [fact for book in rulebooks() for rule in book.rules for fact in read(rule.examples[0][0]).facts]
    assert all(fact.confidence >= KEPT_CONFIDENCE and fact.importance >= KEPT_IMPORTANCE for fact in facts)


@pytest.mark.parametrize(
    "text",
    [
        *("k" * 20_000, "哈" * 20_000 + "x", "I am " * 4_000, "my name is " * 2_000, "我是" * 10_000, "," * 20_000),
        *(
            "I like tea and " * 1_400,
            '"' * 20_000,
            "<a>" * 7_000,
            "always use " * 2_000,
            "好的" * 9_000 + "?",
            "a. " * 7_000,
        ),
        *(
            "我住在" * 6_000,
            "i " + "really " * 2_000 + "x",
            "请你" * 5_000,
            "我" + "刚刚" * 5_000,
            "不要别" + "大" * 9_000,
            "一定要" + "好" * 9_000 + "我",
            "我对" + "花" * 9_000 + "过敏",
            "hi " * 6_000 + "x",
            "if " * 6_000,
            "we call our " * 1_500,
            "(" * 20_000,
            " " * 20_000 + "x",
        ),
    ],
)
def test_no_text_takes_long(text: str) -> None:
    read(text[:100])
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 2


def learned(text: str) -> list[tuple[str, str]]:
    return [(fact.key, fact.value) for fact in extract(text, "user", rulebooks()).facts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm vegetarian and lactose intolerant", [("diet", "vegetarian"), ("allergy", "lactose intolerant")]),
        ("Hi, I'm a nurse, 29 and vegan", [("job", "nurse"), ("age", "29"), ("diet", "vegan")]),
        ("I'm vegan and love cars", [("diet", "vegan")]),
        ("I'm a nurse and my wife is vegan", [("job", "nurse")]),
    ],
)
def test_predicates_of_one_subject_are_facts_of_their_own(text: str, expected: list[tuple[str, str]]) -> None:
    assert learned(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My favourite colour is green. Actually no, make that teal.", ("favourite_colour", "teal")),
        ("I live in Porto, no wait, Lisbon.", ("location", "Lisbon")),
        ("我叫李明，不对，是黎明", ("name", "黎明")),
        ("We decided on green. No, make that teal.", ("decision", "We decided on green. No, make that teal")),
        ("My name is Al. Sorry, I have to go.", ("name", "Al")),
    ],
)
def test_a_correction_in_the_same_message_is_applied(text: str, expected: tuple[str, str]) -> None:
    assert learned(text) == [expected]


@pytest.mark.parametrize("text", ["明年春天我们搬到成都", "I'll be based in Oslo next year"])
def test_a_plan_is_no_present_value(text: str) -> None:
    assert "location" not in dict(learned(text))


def test_what_follows_about_the_same_person_is_kept_with_its_subject() -> None:
    text = "My brother Callum moved to Auckland, he's a joiner there"
    assert learned(text) == [("family", text)]


@pytest.mark.parametrize(
    "text",
    [
        "The form for the day-care place isn't in yet, I must file it by 15 February",
        "I'm trying to set up a new project using Bootstrap and I prefer it over Foundation",
    ],
)
def test_what_refers_to_the_beginning_of_its_sentence_is_kept_with_it(text: str) -> None:
    assert [value for _, value in learned(text)] == [text]


def test_a_value_that_points_at_something_is_refused() -> None:
    assert "todo" not in dict(learned("Can you remind me that it's moved to Friday?"))
