"""Deciding: direct answers, choices, unclear words, and what a choice teaches."""

from __future__ import annotations

import json

from recollect.apps.ask.interpret import candidate_from, decide, render_frame, teaches
from recollect.apps.ask.interpret.decide import Result
from recollect.apps.ask.interpret.explain import label_frame, make_distinct
from tests.apps.ask.interpret.interpret_shop import Shop


def test_clear_question_is_answered(shop: Shop) -> None:
    decision = shop.ask("How many customers are from Germany?")
    assert decision.kind in ("answer", "assume")
    assert decision.confidence < 1


def test_unexplained_word_is_named_and_not_answered(shop: Shop) -> None:
    decision = shop.ask("How many flamboyant customers are from Germany?")
    assert decision.kind == "choices"
    assert decision.unexplained == ("flamboyant",)


def test_unexplained_words_leave_choices_without_them(shop: Shop) -> None:
    decision = shop.ask("which flamboyant customers juggle")
    assert decision.kind == "choices"
    assert decision.candidates[0].frame.subject == "customers"
    assert set(decision.unexplained) == {"flamboyant", "juggle"}


def test_period_alone_offers_figures_of_that_period(shop: Shop) -> None:
    decision = shop.ask("what was our goodwill in 2024")
    assert decision.kind == "choices"
    assert decision.unexplained == ("goodwill",)
    assert all(each.frame.metrics and each.frame.periods for each in decision.candidates[:1])


def test_two_averages_are_no_contradiction(shop: Shop) -> None:
    assert shop.candidates("orders with amount above average and amount below average")


def test_choices_differ_in_results_and_labels(shop: Shop) -> None:
    choices = shop.ask("orders of Aberdeen customers by name").candidates
    results = [shop.run(each.sql) for each in choices]
    assert len(choices) <= 4
    assert len(set(results)) == len(results)
    labels = make_distinct([each.label for each in choices], [each.frame for each in choices], shop.index)
    assert len(set(labels)) == len(labels)


def test_stored_choice_answers_without_the_question(shop: Shop) -> None:
    for choice in shop.ask("best customers").candidates:
        stored = candidate_from(json.loads(json.dumps(choice.to_data())))
        assert stored is not None
        assert stored.id == choice.id
        assert shop.run(render_frame(stored.frame, shop.index)) == shop.run(choice.sql)


def test_failed_candidates_are_never_offered(shop: Shop) -> None:
    candidates = shop.candidates("How many customers are from Germany?")
    results = {each.id: Result(error="no such table") for each in candidates[1:]} | {candidates[0].id: Result(((2,),))}
    assert [each.id for each in decide(candidates, results).candidates] == [candidates[0].id]


def test_choice_teaches_what_a_word_means(shop: Shop) -> None:
    candidates = shop.candidates("list the name of products and customers")
    links = [dict(each.links) for each in candidates]
    pair = next((a, b) for a in range(len(links)) for b in range(len(links)) if teaches(candidates[a], candidates[b]))
    [(word, target), *_] = teaches(candidates[pair[0]], candidates[pair[1]])
    assert links[pair[0]][word] == target != links[pair[1]][word]


def test_choice_of_a_grain_teaches_nothing(shop: Shop) -> None:
    last = shop.best("total amount of orders in 2024").frame
    month, year = shop.best("by month", last), shop.best("by year", last)
    assert teaches(month, year) == []


def test_titles_are_plain(shop: Shop) -> None:
    frame = shop.best("total amount of orders by country in 2024").frame
    assert label_frame(frame, shop.index) == "Total order amount by country, 2024"
    assert "2024年" in label_frame(frame, shop.index, "2024年的销售额")
