"""What of a message is worth remembering: runs of open clauses, judged by their words."""

from __future__ import annotations

import pytest

from recollect.learning.extract import extract
from recollect.learning.gates import Clause
from recollect.learning.rules import rulebooks
from recollect.learning.worth import (
    KINDS,
    Statement,
    judge_statement,
    list_features,
    list_statements,
    load_weights,
)


def learned(text: str) -> list[tuple[str, str]]:
    return [(fact.category, fact.value) for fact in extract(text, "user", rulebooks()).facts]


def test_neighbouring_open_clauses_are_one_statement() -> None:
    clauses = [Clause((0, 10)), Clause((10, 20), ("request",)), Clause((20, 30), ("question",)), Clause((30, 40))]
    assert list_statements(clauses, 5) == [Statement((5, 25), is_requested=True), Statement((35, 45))]


def test_a_clause_that_a_rule_took_is_no_statement() -> None:
    assert list_statements([Clause((0, 10)), Clause((10, 20))], 0, [(2, 4)]) == [Statement((10, 20))]


def test_every_feature_has_a_weight_for_each_kind() -> None:
    assert {len(row) for row in load_weights().values()} == {len(KINDS)}
    assert {"^ i", "my", "我"} <= load_weights().keys()


def test_features_are_the_words_their_pairs_and_what_stands_beside() -> None:
    text = "Hello there. I own 2 boats, right?"
    found = list_features(text, Statement((13, 27)))
    assert {"own", "own #", "^ i", "# boats", ", $", "< there"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(("text", "is_pointing"), [("We raised it", True), ("My sister Ada raised it", False)])
def test_what_points_at_something_that_it_does_not_name_has_a_feature_of_its_own(text: str, is_pointing: bool) -> None:
    found = list_features(text, Statement((0, len(text))))
    assert any(feature.startswith("~points") for feature in found) == is_pointing


def test_names_are_one_word() -> None:
    assert "in @" in list_features("We live in Ghent", Statement((0, 16)))


def test_an_unknown_text_is_judged_by_what_is_known_of_it() -> None:
    judged = judge_statement("qwxz", Statement((0, 4)))
    assert 0 <= judged.probability < 0.5


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The spare key is with the florist downstairs", "fact"),
        ("I can't do stairs since the accident", "constraint"),
        ("I need to send the accountant my receipts before Friday", "todo"),
        ("We decided to hold the offsite in Ghent", "decision"),
        ("From now on put the total at the top of every list", "instruction"),
        ("我上午十点前不能开会", "constraint"),
        ("我们决定把年会放在成都", "decision"),
    ],
)
def test_a_plain_statement_is_kept_in_the_users_words(text: str, kind: str) -> None:
    assert learned(text) == [(kind, text)]


@pytest.mark.parametrize(
    "text",
    [
        "It's pouring outside again",
        "Make the second paragraph shorter",
        "I had a sandwich earlier and now I'm sleepy",
        "wow, that is so funny",
        "今天外面风好大",
        "再帮我改短一点",
    ],
)
def test_what_is_over_tomorrow_is_not_kept(text: str) -> None:
    assert learned(text) == []


def test_what_a_rule_names_and_what_is_said_beside_it_are_both_kept() -> None:
    assert learned("I live in Leeds, and our cat Pip only eats tuna") == [
        ("identity", "Leeds"),
        ("fact", "our cat Pip only eats tuna"),
    ]


def test_clauses_that_say_something_each_are_memories_of_their_own() -> None:
    assert learned("I can't do stairs since the accident, and our cat Pip only eats tuna") == [
        ("constraint", "I can't do stairs since the accident"),
        ("fact", "our cat Pip only eats tuna"),
    ]


def test_several_tasks_are_kept_one_by_one() -> None:
    assert [value for _, value in learned("I still have to book the dentist and pay the window cleaner")] == [
        "I still have to book the dentist",
        "pay the window cleaner",
    ]


@pytest.mark.parametrize("text", ["I've got two cats, Miso and Soy", "I have two kids, Anna and Tom, and a dog"])
def test_a_list_is_kept_whole(text: str) -> None:
    assert [value for _, value in learned(text)] == [text]


def test_a_definition_in_quotation_marks_is_known_by_its_term() -> None:
    [fact] = extract('In our department a "yellow" is an invoice without an order number', "user", rulebooks()).facts
    assert fact.key == "definition:yellow"
